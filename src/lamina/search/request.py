"""What is asked of recall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.knowledge.fact_filter import Filter
from lamina.knowledge.filters import as_filter, one_of
from lamina.language.times import moment
from lamina.log.messages import check_text, checked_id
from lamina.profiles import Profile
from lamina.search.weights import checked_weights
from lamina.values.message import ROLES

HIT_KINDS = ("message", "summary", "fact", "episode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A search: the query, whose memory, and what is wanted of it."""

    query: str
    user_id: str
    top_k: int
    kinds: frozenset[str] = frozenset(HIT_KINDS)
    wanted: Filter = field(default_factory=Filter)
    session_id: str | None = None
    role: str | None = None
    at: datetime | None = None  # when it is asked; None: now
    as_of: datetime | None = None  # facts that held then; None: that hold when it is asked
    archived: bool = False  # also what is archived
    before: Sequence[str] = ()  # the last turns, for a question that makes no sense without them
    weights: Mapping[str, float] | None = None  # of document 001; None: the calibrated sum
    least: float = 0.0  # score: what has less is no hit
    strict: bool = True  # nothing that has neither the words nor the meaning; False: all that may help


def build_request(
    query: str,
    profile: Profile,
    *,
    user_id: str,
    top_k: int,
    kinds: Sequence[str] = HIT_KINDS,
    types: Sequence[str] = (),
    categories: Sequence[str] = (),
    tags: Sequence[str] = (),
    since: Any = None,
    until: Any = None,
    min_importance: float = 0.0,
    session_id: str | None = None,
    role: str | None = None,
    as_of: Any = None,
    archived: bool = False,
    weights: Mapping[str, float] | None = None,
    min_score: float = 0.0,
    at: Any = None,
) -> Request:
    """A search from what a caller gave, checked."""
    check_text("query", query)
    if not isinstance(top_k, int) or top_k < 1:
        raise InputError(f"top_k must be a whole number of at least 1, not {top_k!r}")
    if role is not None and role not in ROLES:
        raise InputError(f"no role {role!r}; there are {list(ROLES)}")
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InputError(f"min_score must be a number from 0 to 1, not {min_score!r}")
    mixed = profile.weights if weights is None else checked_weights(weights)
    return Request(
        query=query,
        user_id=checked_id(user_id, "user_id"),
        top_k=top_k,
        kinds=one_of(kinds, HIT_KINDS, "kind"),
        wanted=as_filter(
            types=types, categories=categories, tags=tags, since=since, until=until, min_importance=min_importance
        ),
        session_id=None if session_id is None else checked_id(session_id, "session_id"),
        role=role,
        at=None if at is None else moment(at, "at"),
        as_of=None if as_of is None else moment(as_of, "as_of"),
        archived=bool(archived),
        weights=mixed,
        least=max(min_score, profile.relevance_threshold if mixed is not None and weights is None else 0.0),
    )
