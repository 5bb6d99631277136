"""Shortens a sentence without changing what it says: openers, names called, and remarks that add nothing go. Pure."""

import re
from functools import cache

from lamina.language.words import fold, stem, tokenise
from lamina.models.offline.summarisation.lexicon import lexicon, match_start

ANSWERS = frozenset((word,) for word in ("yes", "no", "yep", "nope", "yeah", "nah", "yup"))
_REFUSALS = frozenset((word,) for word in ("no", "nope", "nah"))
_MAX_OPENER_WORDS = 3
_MIN_NAME = 3
_MAX_ANSWER = 12  # characters of a first word that answers
_MIN_TOLD = 2  # content words with which a yes says itself what it agrees to
_MIN_LEFT = 4  # words that a sentence keeps when a remark goes
_CALLED = re.compile(r",\s+(?P<name>[^\W\d_]+)(?P<mark>[.!?…]+)\Z")
_BREAK = re.compile(r"(?:[,;]|\s[-\u2013—]{1,2}|—|(?<=[a-z])[-\u2013](?=\s))\s*(?:and\s+)?|\s+and\s+")
_THANKED = re.compile(r"(?:for|to|that)\b", re.IGNORECASE)  # goes on from the thanks before it
_FINAL = re.compile(r"[.!…]+\Z")


def shorten(text: str, names: frozenset[str], *, asked: bool) -> str:
    """The sentence without what only opens, calls or admires; a bare answer to what was asked keeps its first word."""
    if not asked or not _keeps_answer(text, names):
        text = without_opener(text, names)
    return _without_remarks(_without_call(_without_preamble(text), names))


def without_opener(text: str, names: frozenset[str] = frozenset()) -> str:
    """The sentence without "Well," or "Hey Ana," at its front."""
    for _ in range(3):
        head, comma, rest = text.partition(", ")
        tokens = [fold(word) for word in head.split()]
        if not comma or not tokens or len(tokens) > _MAX_OPENER_WORDS or not rest or _THANKED.match(rest):
            return text
        skipped = match_start(tokens, lexicon().openers)
        if not all(_is_name(token, names) for token in tokens[skipped:]):
            return text
        text = rest
    return text


def _keeps_answer(text: str, names: frozenset[str]) -> bool:
    """Whether a sentence begins with a yes or no that the rest of it does not spell out."""
    first = tokenise(text[:_MAX_ANSWER])[:1]
    if first not in ANSWERS or first in _REFUSALS:
        return first in ANSWERS
    rest, lex = tokenise(without_opener(text, names)), lexicon()
    stands = not match_start(rest, lex.leaning) or match_start(rest, lex.standing) > 0
    return not stands or sum(map(has_content, rest)) < _MIN_TOLD


def _is_name(token: str, names: frozenset[str]) -> bool:
    """Whether it is one of the names, or the beginning of one."""
    return token in names or (len(token) >= _MIN_NAME and any(name.startswith(token) for name in names))


def _without_preamble(text: str) -> str:
    """The sentence without "I just wanted to tell you that" before what is told."""
    announced = _preamble().match(text)
    return text[announced.end() :] if announced else text


@cache
def _preamble() -> re.Pattern[str]:
    phrases = "|".join(re.escape(phrase) for phrase in lexicon().preambles).replace("'", "['\u2019]")
    selves = "|".join(re.escape(word) for word in sorted(lexicon().selves))
    return re.compile(rf"(?:{phrases})(?:\s?[,:!\u2013-]+)?\s+(?:that\s+)?(?=(?:{selves})\b)", re.IGNORECASE)


def _without_call(text: str, names: frozenset[str]) -> str:
    """The sentence without the name at its end of whom it is said to."""
    called = _CALLED.search(text) if names else None
    return text[: called.start()] + called["mark"] if called and _is_name(fold(called["name"]), names) else text


def _without_remarks(text: str) -> str:
    """The sentence without clauses at its ends that only admire: "and it was so great", "which is cool"."""
    breaks = list(_BREAK.finditer(text))
    end = len(text)
    for cut in reversed(breaks):
        if not _is_remark(text[cut.end() : end]):
            break
        end = cut.start()
    left = text[:end].rstrip(" ,;-\u2013—")
    if end < len(text) and len(left.split()) >= _MIN_LEFT:
        mark = _FINAL.search(text)
        text = left + (mark.group() if mark else "")
    if breaks and breaks[0].end() < end and _is_remark(text[: breaks[0].start()]):
        rest = text[breaks[0].end() :]
        if len(rest.split()) >= _MIN_LEFT and tokenise(rest)[:1] and tokenise(rest)[0] in lexicon().selves:
            return rest
    return text


def _is_remark(piece: str) -> bool:
    tokens, lex = tokenise(piece), lexicon()
    if "?" in piece or not match_start(tokens, lex.remarks):
        return False
    return not any(has_content(token) or token in lex.selves or token.endswith("n't") for token in tokens)


def has_content(token: str) -> bool:
    """Whether a word says something by itself."""
    return token not in lexicon().stop and stem(token) not in lexicon().common
