"""What is asked of recall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.knowledge.fact_filter import Filter
from lamina.log.messages import check_id, check_text
from lamina.profiles import Profile
from lamina.search.filters import HIT_KINDS, as_filter, check


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
    mixed = profile.weights if weights is None else check("weights", weights)
    threshold = profile.relevance_threshold if mixed is not None and weights is None else 0.0
    given = {"kinds": kinds, "session_id": session_id, "role": role, "at": at, "as_of": as_of, "archived": archived}
    return Request(
        query=query,
        user_id=check_id(user_id, "user_id"),
        top_k=top_k,
        wanted=as_filter(
            types=types, categories=categories, tags=tags, since=since, until=until, min_importance=min_importance
        ),
        weights=mixed,
        least=max(check("min_score", min_score), threshold),
        **{name: check(name, value) for name, value in given.items()},
    )
