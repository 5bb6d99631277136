"""Where words stand in a text, however it is written: case, width, spaces, what does not show, escapes."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from lamina.knowledge.fact_words import plain_text, strip_punctuation
from lamina.language.unicode import normalise, without_unseen

_MAX_DECODINGS = 8  # times that a text is decoded: JSON in JSON, or an address in an address
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SPACES = {"b": " ", "f": " ", "n": " ", "r": " ", "t": " "}
_CODE = 2  # where the digits of an escape begin
# Dotless i and dotted i are written for each other.
_ALIKE = str.maketrans({"\u0131": "i"})
_DOTTED = "i\u0307"
# Latin, Greek, Cyrillic, Armenian, digits: what has a letter of theirs beside it is a part of a longer word.
_SET_APART = re.compile("[\u0000-\u058f\u1e00-\u1fff]")
# Signs that may become one with the sign before them though they are no marks.
_JOINING = re.compile("[\u1160-\u11ff\u3099\u309a\uff9e\uff9f]")


def comparable(text: str) -> str:
    """A text without what does not count when it is looked for."""
    if text.isascii():
        return plain_text(text)
    return plain_text(without_unseen(normalise("NFKC", without_unseen(text)))).translate(_ALIKE).replace(_DOTTED, "i")


def needle(text: str) -> str:
    """What is looked for when a text is: without punctuation at its ends."""
    return strip_punctuation(comparable(text))


def forms(text: str) -> Iterator[str]:
    """A text, and what it is once escapes of JSON and of addresses in it are read."""
    for _ in range(_MAX_DECODINGS):
        yield text
        plain = _ESCAPE.sub(_unescape, text) if "\\" in text else text
        if "%" in plain or _ADDRESS.match(plain):
            plain = unquote(plain.replace("+", " ") if _ADDRESS.match(plain) else plain, errors="replace")
        if plain == text:
            return
        text = plain


def _unescape(found: re.Match[str]) -> str:
    code = found[0]
    if code[1] != "u":
        return _SPACES.get(code[1], code[1])
    units = [int(part, 16) for part in code[_CODE:].split("\\u")]
    return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "replace")


def is_in(wanted: str, text: str) -> bool:
    """Whether a text has a needle, in any form."""
    return any(wanted in comparable(form) for form in forms(text))


def is_word_in(wanted: str, text: str) -> bool:
    """Whether a text has a needle that is no part of a longer word there, in a script that sets words apart."""
    return any(_stands_alone(wanted, comparable(form)) for form in forms(text))


def _stands_alone(wanted: str, text: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_is_one_word(text[at - 1 : at], wanted[0]) or _is_one_word(wanted[-1], text[end : end + 1])):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_one_word(before: str, after: str) -> bool:
    return all(sign.isalnum() and _SET_APART.match(sign) is not None for sign in (before, after))


def spans(text: str, needles: Iterable[str]) -> list[tuple[int, int]]:
    """Where needles stand in a text as it is written, in order and apart; all of it where that cannot be told."""
    plain, places = _align(text)
    if plain != comparable(text):
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for wanted in filter(None, needles):
        at = plain.find(wanted)
        while at >= 0:
            found.append((places[at][0], places[at + len(wanted) - 1][1]))
            at = plain.find(wanted, at + len(wanted))
    apart: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _align(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text made comparable, and for each of its signs from where to where it was written."""
    signs: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end in _letters(text):
        letter = text[start:end]
        plain = " " if letter.isspace() else comparable(letter)
        if plain == " " and (not signs or signs[-1] == " "):
            continue
        signs += plain
        places += [(start, end)] * len(plain)
    if signs and signs[-1] == " ":
        signs.pop()
        places.pop()
    return "".join(signs), places


def _letters(text: str) -> Iterator[tuple[int, int]]:
    """From where to where each letter goes, with its marks and what does not show behind it."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not _belongs(text[at]):
            yield start, at
            start = at


def _belongs(sign: str) -> bool:
    if sign.isascii():
        return False
    return bool(unicodedata.combining(sign) or _JOINING.match(sign)) or not without_unseen(sign)
