"""Tokens: the words of a text with their spans, contractions written out."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MASK = "\ufffc"  # stands for each character of what is not the writer's own

_TOKEN = re.compile(
    rf"[A-Z]\w{{0,2}}\.(?=\s[A-Z])|\d{{1,2}}\.(?=\s[^\W\d_])|[$€£¥]?\d(?:\w|[.,:/'\u2019+-](?=\w))*[%€£$]?"
    r"|[^\W_](?:\w|[^\w\s\ufffc](?<=[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff])"
    r"|[-.'\u2019\u2010\u2011&/@_](?=\w)|\+(?=\d))*(?:[+#]{1,2}+(?!\w))?"
    rf"|\.(?=[A-Za-z])\w+|{MASK}+|[^\s\w{MASK}]"
)
_PLAIN = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'", "\u2010": "-", "\u2011": "-"})


class Token(NamedTuple):
    """One word as the grammar sees it; it stands in the text from `start` to `end`. A tuple, since many are made."""

    word: str
    start: int
    end: int
    capital: bool = False  # begins with a capital letter, or with a letter of a script that has none


Merges = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]


def fold(word: str) -> str:
    """The word in lower case with plain apostrophes and hyphens."""
    return word.lower().translate(_PLAIN)


def tokenise(
    text: str,
    start: int,
    whole: Mapping[str, tuple[str, ...]],
    endings: Mapping[str, str],
    beginnings: Mapping[str, str] | None = None,
) -> list[Token]:
    """The tokens of a piece that begins at `start`: `whole` words, beginnings and endings are written out in full."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        form = match.group()
        word = fold(form)
        first, last = start + match.start(), start + match.end()
        capital = _is_capital(form[0])
        if word in whole:
            found.extend([Token(part, first, last, capital) for part in whole[word]])
        elif "'" in word or "-" in word:
            for token in _split(form, Token(word, first, last, capital), beginnings or {}, endings):
                parts = whole.get(token.word, (token.word,))
                found.extend([Token(part, token.start, token.end, token.capital) for part in parts])
        else:
            found.append(Token(word, first, last, capital))
    return found


def _is_capital(letter: str) -> bool:
    return letter.isalpha() and letter == letter.upper()


def _split(form: str, token: Token, beginnings: Mapping[str, str], endings: Mapping[str, str]) -> list[Token]:
    """The parts of a word with an apostrophe or a hyphen; `form` is the word as written."""
    word, first, last, capital = token
    begin, apostrophe, rest = word.partition("'")
    full = beginnings.get(begin + apostrophe)
    if full and rest:
        cut = first + len(begin) + 1
        return [Token(full, first, cut), Token(rest, cut, last, _is_capital(form[len(begin) + 1]))]
    for ending, full in endings.items():
        if word.endswith(ending) and len(word) > len(ending) and len(word) == last - first:
            cut = last - len(ending)
            return [Token(word[: -len(ending)], first, cut, capital), Token(full, cut, last)]
    return [Token(word, first, last, capital)]


def merge_phrases(tokens: list[Token], merges: Merges) -> list[Token]:
    """The tokens, with each phrase that is read as another word, or as a few, merged into that."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        for phrase, word in merges.get(tokens[at].word, ()):
            if tuple(token.word for token in tokens[at : at + len(phrase)]) == phrase:
                end = tokens[at + len(phrase) - 1].end
                found.extend([Token(part, tokens[at].start, end) for part in word.split()])
                at += len(phrase)
                break
        else:
            found.append(tokens[at])
            at += 1
    return found


def join_words(tokens: Sequence[Token]) -> str:
    """The words as one string, each followed by a space: what patterns are matched against."""
    return "".join([f"{token.word} " for token in tokens])
