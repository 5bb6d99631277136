"""A search as a caller asks for it: the query and its filters, described once and checked.

`FILTERS` has the name, kind, choices and meaning of each. `Memory.search` checks by it. The fields of REST, the tools
of MCP and the options of the command line take their words, choices and bounds from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

from lamina.errors import InputError
from lamina.knowledge.fact_filter import Filter
from lamina.language.times import moment
from lamina.log.messages import check_id, check_text
from lamina.profiles import Profile
from lamina.values.fact import FACT_STATUSES, FACT_TYPES
from lamina.values.message import ROLES, Span

HIT_KINDS = ("message", "summary", "fact", "episode")
WEIGHT_NAMES = ("semantic", "keyword", "recency", "importance", "access")  # parts of the weighted sum
SEMANTICS = ("vectors", "tfidf")
MIN_SHARE, MAX_SHARE = 0, 1  # of scores and importances


@dataclass(frozen=True, slots=True)
class FilterField:
    """One filter: what it takes, what it means in words for a user, and what it may be."""

    kind: Literal["choices", "choice", "words", "id", "text", "time", "share", "flag", "weights"]
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
    "project_id": FilterField(
        "id", "Also memories of this project; `*`: of every project. Default: only those of no project."
    ),
    "context": FilterField(
        "text", "Text of the current conversation. Results that fit it rank higher; none is left out."
    ),
    "role": FilterField("choice", "Only messages of this role.", ROLES),
    "as_of": FilterField("time", "Facts that were true at this time. Default: now."),
    "archived": FilterField("flag", "Also archived facts and sessions."),
    "weights": FilterField("weights", "Rank by a weighted sum of these parts of the score.", WEIGHT_NAMES),
    "semantic": FilterField(
        "choice", "What `semantic` in the weights is: likeness of vectors, or of TF-IDF terms.", SEMANTICS
    ),
    "min_score": FilterField("share", "Only results with at least this score, from 0 to 1. 0.3 drops most misses."),
    "at": FilterField("time", 'When it is asked, for words such as "last week". Default: now.'),
}


def check(name: str, given: Any) -> Any:
    """What was given for a filter, as the search takes it; an error says what fits."""
    kind, choices = FILTERS[name].kind, FILTERS[name].choices
    if kind == "choices":
        return one_of(given, choices, name[:-2] if name == "statuses" else name[:-1])
    if kind == "flag":
        return bool(given)
    if given is None and kind not in {"words", "share"}:
        return None
    if kind == "choice" and given not in choices:
        raise InputError(f"no {name} {given!r}; there are {list(choices)}")
    readers: dict[str, Callable[[Any, str], Any]] = {
        "words": as_words, "share": _share, "time": moment, "id": check_id, "weights": check_weights,
        "text": _text,
    }  # fmt: skip
    return readers[kind](given, name) if kind in readers else given


def _text(given: Any, name: str) -> str:
    check_text(name, given)
    return str(given)


def _share(given: Any, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not MIN_SHARE <= given <= MAX_SHARE:
        raise InputError(f"{name} must be a number from {MIN_SHARE} to {MAX_SHARE}, not {given!r}")
    return float(given)


def check_weights(given: Any, _name: str = "weights") -> dict[str, float]:
    """Weights that sum to 1, from some that are given; those not named count nothing."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"weights must name some of {list(WEIGHT_NAMES)}, e.g. {{'semantic': 0.7, 'keyword': 0.3}}")
    if unknown := sorted(set(map(str, given)) - set(WEIGHT_NAMES)):
        raise InputError(f"no weight {unknown[0]!r}; there are {list(WEIGHT_NAMES)}")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise InputError(f"weight {name!r} must be a number of at least 0, not {value!r}")
    total = float(sum(given.values()))
    if not total:
        raise InputError("at least one weight must be above 0")
    return {name: float(given.get(name, 0.0)) / total for name in WEIGHT_NAMES}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A search: the query, whose memory, and what is wanted of it."""

    query: str
    user_id: str
    top_k: int
    kinds: frozenset[str] = frozenset(HIT_KINDS)
    wanted: Filter = field(default_factory=Filter)
    session_id: str | None = None
    project_id: str | None = None  # what belongs to it is found, too; "*": to any
    context: str | None = None  # what fits this text comes higher
    role: str | None = None
    at: datetime | None = None  # when it is asked; None: now
    as_of: datetime | None = None  # facts that held then; None: that hold when it is asked
    archived: bool = False  # also what is archived
    before: Sequence[str] = ()  # the last turns, for a question that makes no sense without them
    weights: Mapping[str, float] | None = None  # of the weighted sum; None: the calibrated sum
    semantic: str = "vectors"  # what the weighted sum takes for likeness in meaning
    min_score: float = 0.0  # what has less is no hit
    strict: bool = True  # nothing that has neither the words nor the meaning; False: all that may help
    room: int | None = None  # tokens for all hits together: what will hardly fit is not read


def build_request(query: str, profile: Profile, *, user_id: str, top_k: int, **filters: Any) -> Request:
    """A search from what a caller gave, checked; the filters are some of FILTERS."""
    check_text("query", query)
    if not isinstance(top_k, int) or top_k < 1:
        raise InputError(f"top_k must be a whole number of at least 1, not {top_k!r}")
    given = {name: check(name, value) for name, value in filters.items()}
    weights, min_score = given.pop("weights", None), given.pop("min_score", 0.0)
    semantic = given.pop("semantic", None) or profile.semantic
    if weights is None and profile.weights is not None:
        weights, min_score = profile.weights, max(min_score, profile.relevance_threshold)
    return Request(
        query=query,
        user_id=check_id(user_id, "user_id"),
        top_k=top_k,
        wanted=Filter(**{entry.name: given.pop(entry.name) for entry in fields(Filter) if entry.name in given}),
        weights=weights,
        semantic=semantic,
        min_score=min_score,
        **given,
    )
