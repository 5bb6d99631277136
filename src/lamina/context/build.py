"""Context out: what the model should see for the next message, within the budget, with a manifest."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from lamina.context import candidates
from lamina.context.budget import Filled, fill, reserve
from lamina.context.candidates import MESSAGE_OVERHEAD, REPLY_OVERHEAD, Draft, Hits, Omitted
from lamina.context.items import Item
from lamina.context.manifest import finish
from lamina.context.passages import passages
from lamina.context.rendering import Blocks, Rendered, Selection, render
from lamina.errors import BudgetTooSmall, InputError
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.conflicts import holding
from lamina.language.times import moment
from lamina.log.messages import check_id, check_text, main_session, message_tokens
from lamina.log.window import take_back
from lamina.parts import Parts, beside_loop, load_beside_loop
from lamina.profiles import Profile, as_profile
from lamina.protocols.store import Reach, View
from lamina.search.filters import HIT_KINDS, Request
from lamina.search.lazy_search import LazySearch
from lamina.tracing import span
from lamina.values.hit import Hit
from lamina.values.manifest import Context

logger = logging.getLogger("lamina.context")

_SUMMARIES = 50  # that are ranked by how near they are to the query
_SHORTEST = 12  # tokens that a passage takes at the least, about
_TOP_UPS = 3  # times that more passages are tried where room is left
_READ = 8  # budgets that are read of a window, so that what does not fit can be named
_LARGE = 8_000  # tokens of a budget, or characters that are given: above, others have their turn meanwhile
_MANY = 500  # facts and messages, likewise


class Built(NamedTuple):
    """A context, and the blocks that it consists of."""

    context: Context
    blocks: Blocks


class ContextBuilder:
    """Builds contexts; reads only."""

    def __init__(self, parts: Parts, search: LazySearch, accesses: Accesses) -> None:
        self._parts = parts
        self._search = search
        self._accesses = accesses

    async def build(
        self,
        query: str | None = None,
        *,
        user_id: str,
        session_id: str | None = None,
        budget: int | None = None,
        profile: str | Profile | None = None,
        system: str | None = None,
        sources: Sequence[str] = (),
        at: Any = None,
        seen_from: int | None = None,
        record_access: bool = True,
        view: View | None = None,
    ) -> Built:
        """The context for the next message of a session; `view` is what `read` gave for this budget, if it was read."""
        with span("search_memory", "context", self._parts.store.tenant):
            chosen = self._parts.profile if profile is None else as_profile(profile)
            budget = chosen.budget if budget is None else budget
            _check(query, system, sources, budget, seen_from)
            user_id = check_id(user_id, "user_id")
            session_id = main_session(user_id) if session_id is None else check_id(session_id, "session_id")
            asked_at = None if at is None else moment(at, "at")
            await load_beside_loop(self._parts.counter)
            if view is None:
                view = await self.read(user_id, session_id, chosen, budget)
            view = _narrow(view, user_id, _reach(chosen, budget))
            newest = view.tail[-1] if view.tail else None
            is_stored = newest is not None and newest.role == "user" and newest.text == query
            draft = Draft(
                profile=chosen,
                view=view,
                budget=budget,
                asked=query or (newest.text if newest is not None else ""),
                query=None if is_stored or not query else query,
                system=system or None,
                sources=tuple(filter(None, sources)),
                now=asked_at or self._parts.now(),
                seen_from=seen_from,
                counter=self._parts.counter,
            )
            by_user = bool(query) or (newest is not None and newest.role == "user")
            hits = await self._find(draft, user_id, asked_at) if by_user and draft.asked else []
            try:
                built = await _assemble_beside_loop(draft, hits)
            except BudgetTooSmall as error:  # reading as far as the smallest budget may find a way that costs less
                wider = await self.read(user_id, session_id, chosen, error.smallest)
                wider = _narrow(wider, user_id, _reach(chosen, error.smallest))
                built = await _assemble_beside_loop(replace(draft, view=wider), hits)
            if record_access:
                items = built.context.manifest.items
                self._accesses.note(item.id for item in items if item.id and item.kind in {"fact", "episode"})
            return built

    async def read(
        self, user_id: str, session_id: str, profile: Profile, budget: int, *, min_messages: int = 0
    ) -> View:
        """What a context is built from, in one read, with at least so many of the newest messages."""
        reach = replace(_reach(profile, budget), min_messages=min_messages)
        return await self._parts.store.view(user_id, session_id, reach)

    def facts_in(self, view: View) -> set[str]:
        """The ids of the facts that are true now."""
        return {fact.id for fact in holding(view.facts, self._parts.now())}

    async def _find(self, draft: Draft, user_id: str, at: datetime | None) -> Hits:
        """What may answer the current message, as far as the profile shows such things."""
        profile = draft.profile
        before = [message.text for message in draft.view.tail[-3:] if message.text != draft.asked]
        request = Request(query=draft.asked, user_id=user_id, top_k=1, before=before, at=at, weights=profile.weights)
        wanted = {step.section for step in profile.steps}
        hits: list[tuple[Hit, float]] = []
        if "recalled" in wanted:
            hits += await self._search.rank(
                replace(
                    request,
                    top_k=min(profile.retrieval_top_k, max(10, draft.budget // _SHORTEST)),
                    kinds=frozenset(("message",) if "facts" in wanted else HIT_KINDS),  # facts have their own section
                    min_score=profile.relevance_threshold,
                    strict=profile.weights is not None,
                )
            )
        if profile.summary_order == "relevance":
            hits += await self._search.rank(replace(request, top_k=_SUMMARIES, kinds=frozenset(("summary",))))
        return hits


def _check(query: str | None, system: str | None, sources: Sequence[str], budget: int, seen_from: int | None) -> None:
    for name, text in (("query", query), ("system", system)):
        if text is not None:
            check_text(name, text)
    if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
        raise InputError("sources must be a list of texts")
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InputError(f"budget must be a whole number of tokens above 0, not {budget!r}")
    if seen_from is not None and (not isinstance(seen_from, int) or isinstance(seen_from, bool) or seen_from < 1):
        raise InputError(f"seen_from must be the number of a message, 1 or above, not {seen_from!r}")


def _reach(profile: Profile, budget: int) -> Reach:
    window = profile.window
    return Reach(
        messages=window.size if window.unit == "messages" else 0,
        turns=window.size if window.unit == "turns" else 1,
        back_to_cursor=profile.close_gaps,
        fill=window.fill,
        tokens=budget if window.fill else _READ * budget,
    )


def _narrow(view: View, user_id: str, reach: Reach) -> View:
    """A view with no more messages than a context needs, and without a session of somebody else."""
    if view.session is None or view.session.user_id != user_id:
        return replace(view, session=None, summaries=(), tail=())
    tail = take_back(reversed(view.tail), reach, view.session.counters.cursor)
    return view if len(tail) == len(view.tail) else replace(view, tail=tuple(tail))


async def _assemble_beside_loop(draft: Draft, hits: Hits) -> Built:
    """A context, in another thread if it is large."""
    words = sum(map(len, (draft.asked, draft.system or "", *draft.sources)))
    large = draft.budget > _LARGE or words > _LARGE or len(draft.view.facts) + len(draft.view.tail) > _MANY
    return await beside_loop(lambda: assemble(draft, hits)) if large else assemble(draft, hits)


class _Trial(NamedTuple):
    """A context as filled and rendered, and what it takes."""

    filled: Filled
    rendered: Rendered
    tokens: int


def assemble(draft: Draft, hits: Hits) -> Built:
    """A context from what was read and found."""
    omitted: Omitted = []
    sections = {
        "recent": candidates.recent(draft),
        "facts": candidates.facts(draft),
        "summaries": candidates.summaries(draft, hits, omitted),
        "digest": candidates.digest(draft, omitted),
        "recalled": passages(draft, hits),
    }
    wanted = {"recent" if step.section == "gap" else step.section for step in draft.profile.steps}
    sections = {name: items for name, items in sections.items() if name in wanted}
    try:
        trial = _fit(draft, sections)
    except BudgetTooSmall as whole:
        try:
            trial = _fit(draft, sections | {"recent": candidates.recent(draft, whole=False)})
        except BudgetTooSmall as split:
            raise BudgetTooSmall(draft.budget, min(whole.smallest, split.smallest)) from None
    context = finish(draft, trial.filled, trial.rendered, trial.tokens, omitted)
    dropped = [item.section for item, _ in trial.filled.left]
    logger.info(
        "context_built",
        extra={
            "profile": draft.profile.name,
            "budget": draft.budget,
            "tokens": trial.tokens,
            "tail_dropped": dropped.count("recent"),
            "summaries_dropped": dropped.count("summaries"),
            "summary_cut": any(item.cut for item in trial.filled.taken if item.section == "summaries"),
            "blind_messages": context.manifest.coverage.blind_messages,
        },
    )
    return Built(context, trial.rendered.blocks)


def _fit(draft: Draft, sections: Mapping[str, Sequence[Item]]) -> _Trial:
    """Fill, render and count exactly; while it is too long, fill again with so much less room."""
    room = draft.budget
    while (trial := _try(draft, sections, room)).tokens > draft.budget:
        if all(item.required for item in trial.filled.taken):
            raise BudgetTooSmall(draft.budget, trial.tokens)
        room = min(room, draft.base_tokens + trial.filled.price) - (trial.tokens - draft.budget)
    # more passages, since all together take less than each counted alone
    spare, limit = 0, draft.budget - max(0, sum(reserve(draft.profile, draft.budget)) - draft.base_tokens)
    for _ in range(_TOP_UPS):
        left = limit - trial.tokens
        if left < _SHORTEST or not trial.filled.lacks("recalled"):
            break
        spare += left
        more = _try(draft, sections, room, spare)
        if more.tokens <= limit:
            trial = more
        else:
            spare -= left + more.tokens - limit
    return trial


def _try(draft: Draft, sections: Mapping[str, Sequence[Item]], room: int, spare: int = 0) -> _Trial:
    count = draft.counter.count
    messages, cursor = (s.counters.messages, s.counters.cursor) if (s := draft.view.session) else (0, 0)
    filled = fill(draft.profile, sections, room, draft.base_tokens, cursor, count, spare, draft.query)
    taken: dict[str, list[Item]] = {}
    for item in sorted(filled.taken, key=_reading_order):
        taken.setdefault(item.section, []).append(item)
    selection = Selection(
        sections=taken,
        system=draft.system,
        sources=draft.sources,
        query=draft.query,
        number=messages + 1,
        excerpt=draft.profile.excerpt,
        asked=draft.asked,
    )
    rendered = render(draft.profile.layout, selection)
    chat = sum(MESSAGE_OVERHEAD + message_tokens(message, count) for message in rendered.messages)
    return _Trial(filled, rendered, max(count(rendered.text), chat + REPLY_OVERHEAD if rendered.messages else 0))


def _reading_order(item: Item) -> tuple[str, str, int]:
    """Passages by day, session and place, so that they read like the conversations; facts by day; others by place."""
    if item.section not in {"recent", "summaries", "recalled"}:
        return item.heading, "", 0
    day, session = (item.heading, item.session_id or "") if item.section == "recalled" else ("", "")
    return day, session, item.span.first if item.span else 0
