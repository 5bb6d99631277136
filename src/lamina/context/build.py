"""Context out: what the model should see for the next message, within the budget, with a manifest."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from lamina.context import candidates
from lamina.context.budget import Filling, fill, reserve
from lamina.context.candidates import MESSAGE_OVERHEAD, REPLY_OVERHEAD, Draft, Hits, NearSummary, Omitted
from lamina.context.ended import SUMMARIES, told_of, with_ends
from lamina.context.items import Item
from lamina.context.manifest import finish
from lamina.context.passages import passages
from lamina.context.rendering import Blocks, Rendered, Selection, render
from lamina.errors import BudgetTooSmall, InputError
from lamina.knowledge import projects
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.conflicts import by_importance, true_at
from lamina.language.times import moment
from lamina.log.erased import is_dropped
from lamina.log.messages import EVERY_PROJECT, check_id, check_text, main_session, message_tokens
from lamina.log.window import take_back
from lamina.parts import Parts, beside_loop, load_beside_loop
from lamina.profiles import Profile, as_profile
from lamina.protocols.store import Reach, View
from lamina.search.filters import Request
from lamina.search.lazy_search import LazySearch
from lamina.tracing import span
from lamina.values.fact import Fact
from lamina.values.manifest import Context

logger = logging.getLogger("lamina.context")

MODES = ("active", "passive")  # passive: the conversation alone, nothing is retrieved
_SUMMARIES = 50  # that are ranked by how near they are to the query
_SHORTEST = 12  # tokens that a passage takes at the least, about
_TOP_UPS = 3  # times that more passages are tried where room is left
_READ = 8  # budgets that are read of a window, so that what does not fit can be named
_LARGE = 8_000  # tokens of a budget, or characters that are given or recalled: above, others have their turn meanwhile
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
        project_id: str | None = None,
        budget: int | None = None,
        profile: str | Profile | None = None,
        system: str | None = None,
        sources: Sequence[str] = (),
        at: Any = None,
        seen_from: int | None = None,
        mode: str = "active",
        record_access: bool = True,
        view: View | None = None,
    ) -> Built:
        """The context for the next message of a session; `view` is what `read` gave for this budget, if it was read."""
        with span("search_memory", "context", self._parts.store.tenant):
            chosen = _in_mode(self._parts.profile if profile is None else as_profile(profile), mode)
            budget = chosen.budget if budget is None else budget
            _check(query, system, sources, budget, seen_from)
            user_id = check_id(user_id, "user_id")
            project_id = None if project_id is None else check_id(project_id, "project_id")
            if session_id is None:
                session_id = main_session(user_id, project_id=None if project_id == EVERY_PROJECT else project_id)
            session_id = check_id(session_id, "session_id")
            asked_at = None if at is None else moment(at, "at")
            await load_beside_loop(self._parts.counter)
            if view is None:
                view = await self.read(user_id, session_id, chosen, budget)
            view = _narrow(view, user_id, project_id, _reach(chosen, budget))
            if view.opted_out:
                chosen = _in_mode(chosen, "passive")
            newest = view.tail[-1] if view.tail and view.tail[-1].role == "user" else None
            is_stored = newest is not None and newest.text == query
            known = self._search.standing_facts(user_id)
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
                shown_facts={} if known is None else known.shown,
            )
            draft = await self._read_past_repetition(draft, user_id, session_id, project_id)
            hits: Hits = []
            if draft.asked:
                request = _request(draft, user_id, _asked_in(view, project_id), asked_at)
                hits, ended = await self._find(draft, request)
                draft = replace(draft, ended=ended, near=await self._find_near(draft, request))
            try:
                built = await _assemble_beside_loop(draft, hits)
            except BudgetTooSmall as error:  # reading as far as the smallest budget may find a way that costs less
                wider = await self.read(user_id, session_id, chosen, error.smallest)
                wider = _narrow(wider, user_id, project_id, _reach(chosen, error.smallest))
                built = await _assemble_beside_loop(replace(draft, view=wider), hits)
            if record_access:
                items = built.context.manifest.items
                self._accesses.note(item.id for item in items if item.id and item.kind in {"fact", "episode"})
            return built

    async def read(
        self, user_id: str, session_id: str, profile: Profile, budget: int, *, min_messages: int = 0
    ) -> View:
        """What a context is built from, in one read, with at least so many of the newest messages.

        The most important facts come first.
        """
        reach = replace(_reach(profile, budget), min_messages=min_messages)
        if (known := self._search.standing_facts(user_id)) is None:
            view = await self._parts.store.view(user_id, session_id, reach)
        else:
            view = await self._parts.store.view(user_id, session_id, replace(reach, facts_at=known.at))
            if view.derived == known.at:
                return replace(view, facts=known.facts)
        return replace(view, facts=tuple(sorted(view.facts, key=by_importance)))

    async def _read_past_repetition(self, draft: Draft, user_id: str, session_id: str, project_id: str | None) -> Draft:
        """A draft that reaches further back, by as much as turns take that say the same."""
        read, most = draft.budget, _READ * draft.budget
        while read < most and draft.profile.window.fill and draft.view.tail[:1] and draft.view.tail[0].seq > 1:
            said = [message.text for message in draft.view.tail if message.role == "user"]
            equal: Omitted = []
            if len(set(said)) < len(said):
                candidates.recent(draft, equal)
            wanted = min(most, draft.budget + sum(item.tokens for item, _ in equal))
            if wanted <= read:
                break
            read = wanted
            view = await self.read(user_id, session_id, draft.profile, read)
            draft = replace(draft, view=_narrow(view, user_id, project_id, _reach(draft.profile, read)))
        return draft

    def facts_in(self, view: View) -> set[str]:
        """The ids of the facts that are true now."""
        return {fact.id for fact in true_at(view.facts, self._parts.now())}

    async def _find(self, draft: Draft, request: Request) -> tuple[Hits, Sequence[Fact]]:
        """What may answer the current message, as far as the profile shows such things, and the facts that ended."""
        profile = draft.profile
        if all(step.section != "recalled" for step in profile.steps):
            return [], ()
        kinds = frozenset(profile.recalled_kinds)
        told = "fact" not in kinds and candidates.shows_told_facts(draft)
        found = await self._search.search(
            replace(
                request,
                top_k=min(profile.retrieval_top_k, max(10, draft.budget // _SHORTEST)),
                kinds=kinds | {"fact"} if told else kinds,
                min_score=profile.relevance_threshold,
                strict=profile.weights is not None,
                room=draft.budget if profile.weights is None else None,
            )
        )
        return [one for one in found.hits if not told or one[0].kind != "fact" or not one[0].message_ids], found.ended

    async def _find_near(self, draft: Draft, request: Request) -> tuple[NearSummary, ...] | None:
        """The summaries of all sessions of the user, nearest first, if the profile orders them so."""
        profile = draft.profile
        if profile.summary_order != "relevance" or all(step.section != "summaries" for step in profile.steps):
            return None
        found = await self._search.nearest(replace(request, top_k=_SUMMARIES, kinds=frozenset(("summary",))))
        if found is None:
            return None
        own = {summary.id: summary for summary in draft.view.summaries}
        others = [hit.id for hit, *_ in found if hit.id not in own and hit.session_id is not None]
        if others:
            own |= {summary.id: summary for summary in await self._parts.store.summaries(ids=others)}
        return tuple(
            NearSummary(summary=own[hit.id], distance=distance, sentence=sentence)
            for hit, distance, sentence in found
            if hit.id in own
        )


def _request(draft: Draft, user_id: str, project_id: str | None, at: datetime | None) -> Request:
    return Request(
        query=draft.asked,
        user_id=user_id,
        project_id=project_id,
        top_k=1,
        before=[message.text for message in draft.view.tail[-3:] if message.text != draft.asked],
        at=at,
        weights=draft.profile.weights,
        semantic=draft.profile.semantic,
    )


def _in_mode(profile: Profile, mode: str) -> Profile:
    """A profile as it is, or without all that comes from long-term memory."""
    if mode not in MODES:
        raise InputError(f"no mode {mode!r}; there are {list(MODES)}")
    if mode == "active":
        return profile
    return replace(profile, steps=tuple(step for step in profile.steps if step.section in {"recent", "gap"}))


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
        turns=window.size if window.unit == "turns" else 0,
        back_to_cursor=profile.close_gaps,
        fill=window.fill,
        tokens=budget if window.fill else _READ * budget,
        latest=profile.last_session_messages,
    )


def _asked_in(view: View, project_id: str | None) -> str | None:
    """The project whose memories are recalled: the one that is named, else that of the session."""
    return view.session.project_id if project_id is None and view.session is not None else project_id


def _narrow(view: View, user_id: str, project_id: str | None, reach: Reach) -> View:
    """A view with no more messages than a context needs, without a session of somebody else and other projects."""
    if view.session is None or view.session.user_id != user_id:
        view = replace(view, session=None, summaries=(), tail=())
    asked = _asked_in(view, project_id)
    own = view.session.project_id if view.session is not None else None if asked == EVERY_PROJECT else asked
    digests = tuple(one for one in view.digests if one.project_id == own)
    latest = view.latest if view.latest is not None and view.latest.session.project_id == own else None
    view = replace(view, facts=tuple(projects.seen(view.facts, asked)), digests=digests, latest=latest)
    if view.session is None:
        return view
    tail = take_back(reversed(view.tail), reach, view.session.counters.cursor)
    dropped = max((at for at, message in enumerate(tail, 1) if is_dropped(message)), default=0)
    tail = tail[dropped:]  # what was dropped has no words to show
    return view if len(tail) == len(view.tail) else replace(view, tail=tuple(tail))


async def _assemble_beside_loop(draft: Draft, hits: Hits) -> Built:
    """A context, in another thread if it is large."""
    words = sum(map(len, (draft.asked, draft.system or "", *draft.sources, *(hit.text for hit, _ in hits))))
    large = draft.budget > _LARGE or words > _LARGE or len(draft.view.facts) + len(draft.view.tail) > _MANY
    return await beside_loop(lambda: assemble(draft, hits)) if large else assemble(draft, hits)


class _Trial(NamedTuple):
    """A context as filled and rendered, and what it takes."""

    filling: Filling
    taken: Sequence[Item]
    rendered: Rendered
    tokens: int


def assemble(draft: Draft, hits: Hits) -> Built:
    """A context from what was read and found."""
    omitted: Omitted = []
    equal: Omitted = []
    sections = {
        "recent": candidates.recent(draft, equal),
        "facts": candidates.facts(draft),
        "summaries": candidates.summaries(draft, omitted),
        "digest": candidates.digest(draft, omitted),
        "recalled": passages(draft, hits),
    }
    if draft.ended:
        summaries = [item for name in SUMMARIES for item in sections[name]]
        draft = replace(draft, ended=told_of(draft.ended, summaries))
    wanted = {"recent" if step.section == "gap" else step.section for step in draft.profile.steps}
    sections = {name: items for name, items in sections.items() if name in wanted}
    try:
        trial = _fit(draft, sections)
    except BudgetTooSmall as whole:
        equal.clear()
        try:
            trial = _fit(draft, sections | {"recent": candidates.recent(draft, equal, whole=False)})
        except BudgetTooSmall as split:
            raise BudgetTooSmall(draft.budget, min(whole.smallest, split.smallest)) from None
    filled = trial.filling.result()
    context = finish(draft, filled, trial.rendered, trial.tokens, [*omitted, *equal])
    dropped = [item.section for item, _ in filled.left]
    logger.info(
        "context_built",
        extra={
            "profile": draft.profile.name,
            "budget": draft.budget,
            "tokens": trial.tokens,
            "tail_dropped": dropped.count("recent"),
            "summaries_dropped": dropped.count("summaries"),
            "summary_cut": any(item.cut for item in filled.taken if item.section == "summaries"),
            "blind_messages": context.manifest.coverage.blind_messages,
        },
    )
    return Built(context, trial.rendered.blocks)


def _fit(draft: Draft, sections: Mapping[str, Sequence[Item]]) -> _Trial:
    """Fill, render and count exactly; while it is too long, fill again with so much less room."""
    room = draft.budget
    while (trial := _try(draft, _fill(draft, sections, room))).tokens > draft.budget:
        if all(item.required for item in trial.taken):
            raise BudgetTooSmall(draft.budget, trial.tokens)
        room = min(room, draft.base_tokens + trial.filling.price) - (trial.tokens - draft.budget)
    # more passages, since all together take less than each counted alone
    filling, spare, limit = (
        trial.filling,
        0,
        draft.budget - max(0, sum(reserve(draft.profile, draft.budget)) - draft.base_tokens),
    )
    for _ in range(_TOP_UPS):
        left = limit - trial.tokens
        if left < _SHORTEST or not trial.filling.lacks("recalled"):
            break
        spare += left
        more = _try(draft, filling.with_spare(spare))
        if more.tokens <= limit:
            trial = more
        else:
            spare -= left + more.tokens - limit
    return trial


def _fill(draft: Draft, sections: Mapping[str, Sequence[Item]], room: int) -> Filling:
    cursor = draft.view.session.counters.cursor if draft.view.session else 0
    count = draft.counter.count
    return fill(draft.profile, sections, room, draft.base_tokens, cursor, count, draft.query, draft.wording)


def _try(draft: Draft, filling: Filling) -> _Trial:
    count, chosen = draft.counter.count, filling.taken()
    messages = draft.view.session.counters.messages if draft.view.session else 0
    taken: dict[str, list[Item]] = {}
    for item in sorted(chosen, key=lambda item: _reading_order(item, by_distance=draft.near is not None)):
        taken.setdefault(item.section, []).append(with_ends(item, draft.ended))
    selection = Selection(
        sections=taken,
        system=draft.system,
        sources=draft.sources,
        query=draft.query,
        number=messages + 1,
    )
    rendered = render(draft.profile.layout, selection)
    chat = sum(MESSAGE_OVERHEAD + message_tokens(message, count) for message in rendered.messages)
    return _Trial(
        filling, chosen, rendered, max(count(rendered.text), chat + REPLY_OVERHEAD if rendered.messages else 0)
    )


def _reading_order(item: Item, *, by_distance: bool) -> tuple[str, str, int]:
    """Passages by day, session and place, so that they read like the conversations; facts by day; others by place.

    Summaries that were looked for stay as they were taken, the nearest first.
    """
    if item.section not in {"recent", "summaries", "recalled"} or (item.section == "summaries" and by_distance):
        return item.heading, "", 0
    day, session = (item.heading, item.session_id or "") if item.section == "recalled" else ("", "")
    return day, session, item.span.first if item.span else 0
