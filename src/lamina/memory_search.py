"""The verbs that search: what answers a question, and how it was found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from lamina.errors import InputError
from lamina.knowledge.accesses import Accesses
from lamina.language.times import moment
from lamina.log.messages import check_text, checked_id
from lamina.memory_knowledge import DEFAULT_USER, as_filter, one_of
from lamina.parts import Parts
from lamina.search.lazy_search import Retrieval
from lamina.search.request import HIT_KINDS, Request
from lamina.search.weights import checked_weights
from lamina.tracing import traced
from lamina.values.hit import Explained, Hit
from lamina.values.message import ROLES

MEMORABLE = frozenset(("fact", "episode"))  # kinds of things whose use is counted


class Filters(TypedDict, total=False):
    """What `search` takes besides the query, whose memory, and how many."""

    kinds: Sequence[str]
    types: Sequence[str]
    categories: Sequence[str]
    tags: Sequence[str]
    since: Any
    until: Any
    min_importance: float
    session_id: str | None
    role: str | None
    as_of: Any
    archived: bool
    weights: Mapping[str, float] | None
    min_score: float
    at: Any


class SearchVerbs:
    """What a memory finds."""

    _parts: Parts
    _accesses: Accesses
    _retrieval: Retrieval

    @traced("search_memory")
    async def search(
        self,
        query: str,
        *,
        user_id: str = DEFAULT_USER,
        top_k: int = 10,
        explain: bool = False,
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
    ) -> list[Hit]:
        """Messages, summaries, facts and episodes that answer the query, best first.

        `explain` adds the parts of the scores. `at` is when it is asked, if not now: "last week" is counted from
        there. `weights` are those of the weighted sum (semantic, keyword, recency, importance, access) for this
        query. `min_score` leaves out what is less likely to answer. The rest are filters: kinds of hits; types,
        categories, tags and least importance of facts (with one of the first three, only facts are found); times; a
        session; the role of messages; facts that held at `as_of`; and `archived`: also archived facts and what is in
        archived sessions.
        """
        request = self._request(
            query,
            user_id=user_id,
            top_k=top_k,
            kinds=kinds,
            types=types,
            categories=categories,
            tags=tags,
            since=since,
            until=until,
            min_importance=min_importance,
            session_id=session_id,
            role=role,
            as_of=as_of,
            archived=archived,
            weights=weights,
            min_score=min_score,
            at=at,
        )
        hits = await self._retrieval.search(request)
        self._accesses.note(hit.id for hit in hits if hit.kind in MEMORABLE)
        return hits if explain else [replace(hit, parts={}) for hit in hits]

    @traced("search_memory")
    async def search_explained(
        self, query: str, *, user_id: str = DEFAULT_USER, top_k: int = 10, **filters: Unpack[Filters]
    ) -> Explained:
        """A search with how it went: also hits below the least score, with their parts, the counts and the times.

        `filters` are those of `search`, as are `weights` and `at`. Looking at it is no use of what is found.
        """
        request = self._request(query, user_id=user_id, top_k=top_k, **filters)
        found = await self._retrieval.explained(replace(request, least=0.0))
        return replace(found, least=request.least)

    def _request(
        self,
        query: str,
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
        """What is asked of recall, checked."""
        check_text("query", query)
        if not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k must be a whole number of at least 1, not {top_k!r}")
        if role is not None and role not in ROLES:
            raise InputError(f"no role {role!r}; there are {list(ROLES)}")
        if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
            raise InputError(f"min_score must be a number from 0 to 1, not {min_score!r}")
        profile = self._parts.profile
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
