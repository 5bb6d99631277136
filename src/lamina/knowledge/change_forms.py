"""Statements compared by their form: all but one place is the same, or all but a number."""

import re
from collections.abc import Sequence

from lamina.language import date_words
from lamina.language.changes import without_time
from lamina.language.words import STOP_WORDS, stem, words


def stems(text: str) -> frozenset[str]:
    """The stems of some words."""
    return frozenset(stem(word) for word in text.split())


_MAX_SPAN = 5  # words in which two statements of one form may differ
TIMES = frozenset(stem(word) for word in (*date_words.MONTHS, *date_words.WEEKDAYS, *date_words.UNITS))
# Verbs of which many values hold at a time: who plays padel now may still play tennis.
_MANY = stems(
    "like love enjoy dislike hate know speak read play own have use take eat drink learn watch visit collect avoid "
    "need listen follow see teach cook make prefer want try buy go"
)
_OFTEN = stems("every once twice each daily weekly monthly times")
_LIGHT = STOP_WORDS | {"i", "we"}
EXACT = re.compile(r"\d|@")
_MEASURE = re.compile(r"\d\s?(?P<unit>[^\W\d_]+|[%€$£])")


def form_of(text: str) -> list[str]:
    """The stems of a statement, in order, without who says it and when it is so."""
    every = [word for word in words(without_time(text)) if word not in {"i", "we", "am", "have", "the", "a", "an"}]
    return [stem(word) for word in every]


def differ_in_one_place(one: Sequence[str], other: Sequence[str], *, least: int) -> bool:
    """Whether two forms share all but one stretch; `least` terms where the verb may have many values at a time."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    end = next((at for at in range(shorter - start) if one[-1 - at] != other[-1 - at]), shorter - start)
    spans = (len(one) - start - end, len(other) - start - end)
    if not 1 <= min(spans) <= max(spans) <= _MAX_SPAN:
        return False
    here, there = one[start : len(one) - end], other[start : len(other) - end]
    if set(here) & set(there) or (_OFTEN & set(here[1:]) and _OFTEN & set(there[1:])):
        return False  # these differ in two places: in the thing, and in where or how often
    common = [term for term in (*one[:start], *one[len(one) - end :]) if term not in _LIGHT | TIMES]
    return bool(common) and (common[0] not in _MANY or len(common) >= least)


def units(text: str) -> frozenset[str]:
    """The units in which a text measures: "mg" of "20 mg"."""
    return frozenset(stem(match["unit"].casefold()) for match in _MEASURE.finditer(text)) - TIMES


def differ_in_number(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two forms differ in numbers only."""
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    return (
        len(one) == len(other) > 1
        and len(differing) >= 1
        and all(EXACT.search(word) for pair in differing for word in pair)
    )
