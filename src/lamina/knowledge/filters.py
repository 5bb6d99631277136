"""What callers give to choose facts and episodes, checked."""

from collections.abc import Sequence
from typing import Any

from lamina.errors import InputError
from lamina.knowledge.fact_filter import Filter
from lamina.language.times import moment
from lamina.values.fact import FACT_STATUSES, FACT_TYPES
from lamina.values.message import Span


def as_filter(
    *,
    types: Sequence[str] = (),
    categories: Sequence[str] = (),
    tags: Sequence[str] = (),
    statuses: Sequence[str] = (),
    since: Any = None,
    until: Any = None,
    min_importance: float = 0.0,
) -> Filter:
    """A filter from what a caller gave, checked."""
    if isinstance(min_importance, bool) or not isinstance(min_importance, int | float) or not 0 <= min_importance <= 1:
        raise InputError(f"the least importance is a number from 0 to 1, not {min_importance!r}")
    return Filter(
        types=one_of(types, tuple(FACT_TYPES), "type"),
        categories=as_words(categories, "categories"),
        tags=as_words(tags, "tags"),
        statuses=one_of(statuses, FACT_STATUSES, "status"),
        since=None if since is None else moment(since, "since"),
        until=None if until is None else moment(until, "until"),
        min_importance=float(min_importance),
    )


def as_span(first: Any, last: Any) -> Span:
    numbers = isinstance(first, int) and isinstance(last, int)
    if not numbers or not 1 <= first <= last:
        raise InputError(f"first and last are numbers from 1 on, first before last, not {first!r} and {last!r}")
    return Span(first=first, last=last)


def one_of(given: Any, known: Sequence[str], name: str) -> frozenset[str]:
    words = as_words(given, f"{name}s")
    if unknown := sorted(words - set(known)):
        raise InputError(f"no {name} {unknown[0]!r}; there are {list(known)}")
    return words


def as_words(given: Any, name: str) -> frozenset[str]:
    if isinstance(given, str):
        return frozenset((given,))
    try:
        words = frozenset(given)
    except TypeError:
        raise InputError(f"{name} must be a list of words, not {type(given).__name__}") from None
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"{name} must be a list of words")
    return words
