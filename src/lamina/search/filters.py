"""The filters of a search, described once, and what callers give for them, checked.

`FILTERS` has the name, kind, choices and meaning of each. `Memory.search` checks by it. The fields of REST, the tools
of MCP and the options of the command line take their words, choices and bounds from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lamina.errors import InputError
from lamina.knowledge.fact_filter import Filter
from lamina.language.times import moment
from lamina.log.messages import check_id
from lamina.search.weights import MIXED, checked_weights
from lamina.values.fact import FACT_STATUSES, FACT_TYPES
from lamina.values.message import ROLES, Span

HIT_KINDS = ("message", "summary", "fact", "episode")
MIN_SHARE, MAX_SHARE = 0, 1  # of scores and importances


@dataclass(frozen=True, slots=True)
class FilterField:
    """One filter: what it takes, what it means in words for a user, and what it may be."""

    kind: Literal["choices", "choice", "words", "id", "time", "share", "flag", "weights"]
    about: str
    choices: tuple[str, ...] = ()


FILTERS: Mapping[str, FilterField] = {
    "kinds": FilterField("choices", "Only results of these kinds.", HIT_KINDS),
    "types": FilterField("choices", "Only facts of these types.", tuple(FACT_TYPES)),
    "categories": FilterField("words", "Only facts of these categories."),
    "tags": FilterField("words", "Only facts with one of these tags."),
    "statuses": FilterField("choices", "All facts with one of these statuses, true or not.", FACT_STATUSES),
    "since": FilterField("time", "Only from this time onwards."),
    "until": FilterField("time", "Only before this time."),
    "min_importance": FilterField("share", "Only facts that are at least this important, from 0 to 1."),
    "session_id": FilterField("id", "Only in this conversation."),
    "role": FilterField("choice", "Only messages of this role.", ROLES),
    "as_of": FilterField("time", "Facts that were true at this time. Default: now."),
    "archived": FilterField("flag", "Also archived facts and sessions."),
    "weights": FilterField("weights", "Rank by a weighted sum of these parts of the score.", MIXED),
    "min_score": FilterField("share", "Only results with at least this score, from 0 to 1. 0.3 drops most misses."),
    "at": FilterField("time", 'When it is asked, for words such as "last week". Default: now.'),
}


def check(name: str, given: Any) -> Any:
    """What was given for a filter, as the search takes it; an error says what fits."""
    field = FILTERS[name]
    if field.kind == "choices":
        return one_of(given, field.choices, name[:-2] if name == "statuses" else name[:-1])
    if field.kind == "words":
        return as_words(given, name)
    if field.kind == "share":
        return _share(name, given)
    if field.kind == "flag":
        return bool(given)
    return None if given is None else _check_value(name, field, given)


def _check_value(name: str, field: FilterField, given: Any) -> Any:
    if field.kind == "time":
        return moment(given, name)
    if field.kind == "id":
        return check_id(given, name)
    if field.kind == "weights":
        return checked_weights(given)
    if given not in field.choices:
        raise InputError(f"no {name} {given!r}; there are {list(field.choices)}")
    return given


def _share(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not MIN_SHARE <= given <= MAX_SHARE:
        raise InputError(f"{name} must be a number from {MIN_SHARE} to {MAX_SHARE}, not {given!r}")
    return float(given)


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
    """Which facts and episodes a caller wants, checked."""
    given = {
        "types": types, "categories": categories, "tags": tags, "statuses": statuses,
        "since": since, "until": until, "min_importance": min_importance,
    }  # fmt: skip
    return Filter(**{name: check(name, value) for name, value in given.items()})


def as_span(first: Any, last: Any) -> Span:
    numbers = isinstance(first, int) and isinstance(last, int)
    if not numbers or not 1 <= first <= last:
        raise InputError(f"first and last are numbers from 1 on, first before last, not {first!r} and {last!r}")
    return Span(first=first, last=last)


def one_of(given: Any, known: Sequence[str], name: str) -> frozenset[str]:
    words = as_words(given, f"{name}es" if name.endswith("s") else f"{name}s")
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
