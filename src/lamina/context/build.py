"""Context out: what the model should see for the next message, within the budget, with a manifest."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from lamina.context.budget import CUT_MARK, Filled, Item, fill, reserve
from lamina.context.passages import excerpt, worth
from lamina.context.rendering import Blocks, Rendered, Selection, fact_line, render
from lamina.errors import BudgetTooSmall, InputError
from lamina.folding import coverage
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.conflicts import holding
from lamina.language.times import moment
from lamina.language.trim import trim
from lamina.language.words import query_terms
from lamina.log.messages import check_id, check_text, main_session, message_tokens
from lamina.log.records import head_hash
from lamina.log.window import newest_of, take_back, units
from lamina.parts import Parts, beside_loop
from lamina.profiles import Profile, as_profile
from lamina.protocols.store import Reach, View
from lamina.search.filters import HIT_KINDS
from lamina.search.lazy_search import Retrieval
from lamina.search.request import Request
from lamina.tracing import span
from lamina.values.fact import Fact
from lamina.values.hit import Hit
from lamina.values.manifest import Context, Manifest, Omission, Piece, TokenBudget
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

logger = logging.getLogger("lamina.context")

MESSAGE_OVERHEAD = 6  # tokens that a message costs beside its words
REPLY_OVERHEAD = 3  # tokens that open the model's reply
_PASSAGE_TOKENS = 240  # a recalled passage longer than this, and than half of the budget, is cut
_CUT_TOKENS = 120  # to about this
_LINE_TOKENS = 1  # of a passage's line beside its words and who said them
_SUMMARIES = 50  # that are ranked by how near they are to the query
_SHORTEST = 12  # tokens that a passage takes at the least, about
_TOP_UPS = 3  # times that more passages are tried where room is left
_READ = 8  # budgets that are read of a window, so that what does not fit can be named
_LARGE = 8_000  # tokens of a budget, or characters that are given: above, others have their turn meanwhile
_MANY = 500  # facts and messages, likewise
_SPARE = "fits beside the rest"


class Built(NamedTuple):
    """A context, and the blocks that it consists of."""

    context: Context
    blocks: Blocks


class ContextBuilder:
    """Builds contexts; reads only."""

    def __init__(self, parts: Parts, retrieval: Retrieval, accesses: Accesses) -> None:
        self._parts = parts
        self._retrieval = retrieval
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
            for name, text in (("query", query), ("system", system)):
                if text is not None:
                    check_text(name, text)
            if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
                raise InputError("sources must be a list of texts")
            built = await self._build(
                query,
                user_id=check_id(user_id, "user_id"),
                session_id=main_session(user_id) if session_id is None else check_id(session_id, "session_id"),
                budget=chosen.budget if budget is None else budget,
                profile=chosen,
                system=system,
                sources=sources,
                at=None if at is None else moment(at, "at"),
                seen_from=seen_from,
                view=view,
            )
            if record_access:
                items = built.context.manifest.items
                self._accesses.note(item.id for item in items if item.id and item.kind in {"fact", "episode"})
            return built

    async def _build(
        self,
        query: str | None,
        *,
        user_id: str,
        session_id: str,
        budget: int,
        profile: Profile,
        system: str | None,
        sources: Sequence[str],
        at: datetime | None,
        seen_from: int | None,
        view: View | None,
    ) -> Built:
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
            raise InputError(f"budget must be a whole number of tokens above 0, not {budget!r}")
        if seen_from is not None and (not isinstance(seen_from, int) or isinstance(seen_from, bool) or seen_from < 1):
            raise InputError(f"seen_from must be the number of a message, 1 or above, not {seen_from!r}")
        if view is None:
            view = await self.read(user_id, session_id, profile, budget)
        view = _narrow(view, user_id, _reach(profile, budget))
        hits = await self._search(query, profile, view, user_id, budget, at)

        async def build(view: View) -> Built:
            draft = _Draft(self._parts, profile, view, query, budget, system, sources, at, seen_from)
            words = sum(map(len, (query or "", system or "", *sources)))
            large = budget > _LARGE or words > _LARGE or len(view.facts) + len(view.tail) > _MANY
            return await beside_loop(lambda: draft.build(hits)) if large else draft.build(hits)

        try:
            return await build(view)
        except BudgetTooSmall as error:  # reading as far as the smallest budget may find a way that costs less
            wider = await self.read(user_id, session_id, profile, error.smallest)
            return await build(_narrow(wider, user_id, _reach(profile, error.smallest)))

    async def read(
        self, user_id: str, session_id: str, profile: Profile, budget: int, *, min_messages: int = 0
    ) -> View:
        """What a context is built from, in one read, with at least so many of the newest messages."""
        reach = replace(_reach(profile, budget), min_messages=min_messages)
        return await self._parts.store.view(user_id, session_id, reach)

    def facts_in(self, view: View) -> set[str]:
        """The ids of the facts that hold now."""
        return {fact.id for fact in holding(view.facts, self._parts.now())}

    async def _search(
        self, query: str | None, profile: Profile, view: View, user_id: str, budget: int, at: datetime | None
    ) -> list[tuple[Hit, float]]:
        wants = {step.section for step in profile.steps}
        newest = view.tail[-1] if view.tail else None
        asked = query or (newest.text if newest is not None and newest.role == "user" else "")
        if not asked:
            return []
        before = [message.text for message in view.tail[-3:] if message.text != asked]
        found = Request(query=asked, user_id=user_id, top_k=1, before=before, at=at, weights=profile.weights)
        hits: list[tuple[Hit, float]] = []
        if "recalled" in wants:
            known = any(step.section == "facts" for step in profile.steps)  # facts have their own section
            hits += await self._retrieval.weighed(
                replace(
                    found,
                    top_k=min(profile.retrieval_top_k, max(10, budget // _SHORTEST)),
                    kinds=frozenset(("message",) if known else HIT_KINDS),
                    least=profile.relevance_threshold,
                    strict=profile.weights is not None,
                )
            )
        if profile.summary_order == "relevance":
            hits += await self._retrieval.weighed(replace(found, top_k=_SUMMARIES, kinds=frozenset(("summary",))))
        return hits


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


class _Trial(NamedTuple):
    """A context as filled and rendered, and what it takes."""

    filled: Filled
    rendered: Rendered
    tokens: int


class _Draft:
    """One context while it is built."""

    def __init__(
        self,
        parts: Parts,
        profile: Profile,
        view: View,
        query: str | None,
        budget: int,
        system: str | None,
        sources: Sequence[str],
        at: datetime | None,
        seen_from: int | None,
    ) -> None:
        self._count = parts.counter.count
        self._counter = parts.counter
        self._profile = profile
        self._view = view
        self._budget = budget
        self._system = system
        self._sources = tuple(sources)
        self._duplicates: list[tuple[Item, str]] = []
        self._now = at or parts.now()
        self._seen_from = seen_from
        self._lengths: dict[str, int] = {}
        newest = view.tail[-1] if view.tail else None
        stored = newest is not None and newest.role == "user" and newest.text == query
        self._query = None if stored or not query else query
        self._asked = query or (newest.text if newest is not None else "")

    def build(self, hits: Sequence[tuple[Hit, float]]) -> Built:
        wanted = {"recent" if step.section == "gap" else step.section for step in self._profile.steps}
        candidates = {
            "recent": self._recent(whole=True),
            "facts": self._facts(),
            "summaries": self._summaries(hits),
            "digest": self._digest(),
            "recalled": self._passages(hits),
        }
        candidates = {section: items for section, items in candidates.items() if section in wanted}
        if not (any(candidates.values()) or self._query or self._system or self._sources):
            return self._finish(_Trial(Filled(), Rendered(Blocks(), [], ""), 0))
        try:
            return self._fit(candidates)
        except BudgetTooSmall as whole:
            try:
                return self._fit(candidates | {"recent": self._recent(whole=False)})
            except BudgetTooSmall as split:
                raise BudgetTooSmall(self._budget, min(whole.smallest, split.smallest)) from None

    def _fit(self, candidates: Mapping[str, Sequence[Item]]) -> Built:
        """Fill, render and count exactly; while it is too long, fill again with so much less room."""
        room = self._budget
        while True:
            trial = self._try(candidates, room)
            if trial.tokens <= self._budget:
                return self._finish(self._top_up(trial, candidates, room))
            if all(item.required for item in trial.filled.taken):
                raise BudgetTooSmall(self._budget, trial.tokens)
            room = min(room, self._spent + trial.filled.price) - (trial.tokens - self._budget)

    def _top_up(self, trial: _Trial, candidates: Mapping[str, Sequence[Item]], room: int) -> _Trial:
        """With more passages, since all together take less than each counted alone."""
        spare, limit = 0, self._budget - max(0, reserve(self._profile, self._budget).total - self._spent)
        for _ in range(_TOP_UPS):
            left = limit - trial.tokens
            if left < _SHORTEST or not trial.filled.lacks("recalled"):
                break
            spare += left
            more = self._try(candidates, room, spare)
            if more.tokens <= limit:
                trial = more
            else:
                spare -= left + more.tokens - limit
        return trial

    def _try(self, candidates: Mapping[str, Sequence[Item]], room: int, spare: int = 0) -> _Trial:
        cursor = self._view.session.counters.cursor if self._view.session else 0
        filled = fill(self._profile, candidates, room, self._spent, cursor, self._count, spare)
        rendered = render(self._profile.layout, self._select(filled))
        return _Trial(filled, rendered, max(self._count(rendered.text), self._chat_tokens(rendered.messages)))

    def _chat_tokens(self, messages: Sequence[dict[str, Any]]) -> int:
        cost = sum(MESSAGE_OVERHEAD + message_tokens(message, self._count) for message in messages)
        return cost + REPLY_OVERHEAD if messages else 0

    @cached_property
    def _spent(self) -> int:
        """What system prompt, query and sources take."""
        texts = [self._system or "", self._query or "", *self._sources]
        return sum(self._count(text) + MESSAGE_OVERHEAD + REPLY_OVERHEAD for text in texts if text)

    # candidates, in order of preference

    def _recent(self, *, whole: bool) -> list[Item]:
        """Units of the window, newest first; with `close_gaps` back to the fold cursor, with `fill` as far as read.

        Unless `whole`, the newest turn alone is a unit, though a tool call of it may be in an earlier turn.
        """
        tail, window = self._view.tail, self._profile.window
        if not tail or self._view.session is None:
            return []
        now = [message for message in tail if message.turn == tail[-1].turn]
        parts = [tail] if whole else [tail[: -len(now)], now]
        split = [unit for part in parts for unit in units(part, window.unit)]
        start = newest_of(split, window.unit, window.size)[0][0].seq
        items = []
        for unit in reversed(split):
            reason = self._why(unit, start, self._view.session.counters.cursor)
            if reason is None:
                break
            if unseen := [message for message in unit if not self._is_seen(message.session_id, message.seq)]:
                required = self._seen_from is None and unit[-1].turn == tail[-1].turn
                items.append(self._unit(unseen, reason, required=required))
        return items

    def _is_seen(self, session_id: str | None, seq: int) -> bool:
        """Whether the model sees a message anyway."""
        own = self._view.session is not None and session_id == self._view.session.id
        return own and self._seen_from is not None and seq >= self._seen_from

    def _why(self, unit: Sequence[Message], start: int, cursor: int) -> str | None:
        """Why a unit is wanted; None if it is not."""
        most = self._profile.short_term_retention_turns
        if most is not None and self._view.tail[-1].turn - unit[-1].turn >= most:
            return None
        if unit[-1].seq >= start:
            return "in the verbatim window"
        if self._profile.close_gaps and unit[-1].seq > cursor:
            return "not folded yet"
        return _SPARE if self._profile.window.fill else None

    def _unit(self, unit: Sequence[Message], reason: str, *, required: bool) -> Item:
        return Item(
            section="recent",
            kind="messages",
            tokens=sum(message.tokens + MESSAGE_OVERHEAD for message in unit),
            reason=reason,
            session_id=unit[0].session_id,
            messages=tuple(unit),
            span=Span(first=unit[0].seq, last=unit[-1].seq),
            required=required,
            spare=reason == _SPARE,
        )

    def _facts(self) -> list[Item]:
        """The facts that hold, the most important first."""
        held = holding(self._view.facts, self._now)
        return [self._fact(fact) for fact in held if fact.importance >= self._profile.shown_importance]

    def _fact(self, fact: Fact) -> Item:
        text = fact_line(self._profile.layout, fact)
        return Item(
            section="facts",
            kind="fact",
            text=text,
            tokens=self._count(text) + 3,
            reason=f"{fact.category}, importance {fact.importance:g}, {fact.status}",
            id=fact.id,
            session_id=fact.session_id,
            message_ids=(fact.message_id,) if fact.message_id else (),
        )

    def _summaries(self, hits: Sequence[tuple[Hit, float]]) -> list[Item]:
        near = 1 - (self._profile.episode_distance or 0.0)
        values = {
            hit.id: (hit.parts["cosine"] if hit.parts["cosine"] > near else 0.0, value)
            for hit, value in hits
            if hit.kind == "summary"
        }
        kept: dict[str, Summary] = {}
        for summary in self._view.summaries:
            if summary.covers and self._is_seen(summary.session_id, summary.covers.first):
                continue
            twin = kept.setdefault(head_hash(summary.text), summary)
            if twin is not summary:
                self._duplicates.append((self._summary(summary), f"begins like {twin.id}"))
        ordered = sorted(kept.values(), key=lambda s: s.covers.first if s.covers else 0, reverse=True)
        if self._profile.summary_order == "relevance" and self._asked:
            ordered.sort(key=lambda summary: values.get(summary.id, (0.0, 0.0)), reverse=True)
        elif self._profile.summary_order == "coverage":
            ordered.sort(key=lambda summary: -(len(summary.covers or ()) / max(1, summary.tokens)))
        return [self._summary(summary) for summary in ordered]

    def _summary(self, summary: Summary) -> Item:
        label = ""
        if summary.kind != "rolling" and summary.covers is not None:
            label = f"messages {summary.covers.first}-{summary.covers.last}, up to {summary.updated_at.date()}"
        if self._profile.layout == "assistant" and summary.turns is not None:
            label = f"turns {summary.turns.first}-{summary.turns.last}"
        return Item(
            section="summaries",
            kind=f"summary:{summary.kind}",
            text=summary.text,
            tokens=summary.tokens + self._count(label) + 4,
            reason=f"layer {summary.layer}, version {summary.version}",
            id=summary.id,
            session_id=summary.session_id,
            span=summary.covers,
            label=label,
        )

    def _digest(self) -> list[Item]:
        digest = self._view.digest
        if digest is None or not self._profile.digest_sessions:
            return []
        item = Item(
            section="digest",
            kind="digest",
            text=digest.text,
            tokens=digest.tokens + 2,
            reason=f"{len(digest.sources)} earlier sessions, version {digest.version}",
            id=digest.id,
        )
        own = self._view.session.id if self._view.session else None
        if any(source.session_id == own for source in digest.sources):
            self._duplicates.append((item, "covers this session itself"))
            return []
        return [item]

    def _passages(self, hits: Sequence[tuple[Hit, float]]) -> list[Item]:
        """What was recalled, what is worth most for its tokens first."""
        newest = self._view.tail[-1].turn if self._view.tail else None
        shown = {message.id for message in self._view.tail if message.turn == newest}
        shown |= {summary.id for summary in self._view.summaries}
        shown |= {self._view.digest.id} if self._view.digest else set()
        hidden = {hit.id for hit, _ in hits if hit.span and self._is_seen(hit.session_id, hit.span.first)} | shown
        items = [self._passage(hit, value) for hit, value in hits if hit.id not in hidden]
        return items if self._profile.weights is not None else sorted(items, key=worth, reverse=True)

    def _passage(self, hit: Hit, value: float) -> Item:
        text, tokens = hit.text, hit.tokens
        cut = tokens > max(_PASSAGE_TOKENS, self._budget // 2)
        if cut:
            text = excerpt(text, query_terms(self._asked), _CUT_TOKENS, self._count) or self._opening(text)
            tokens = self._count(text)
        who = hit.name or hit.role or hit.kind
        return Item(
            section="recalled",
            kind="passage" if hit.kind == "message" else hit.kind,
            text=" ".join(text.split("\n")),
            tokens=tokens + self._length(who) + _LINE_TOKENS,
            reason="",  # told of what is taken
            id=hit.id,
            session_id=hit.session_id,
            message_ids=hit.message_ids,
            span=hit.span if hit.kind == "message" else None,
            label=who,
            heading=str(hit.created_at.date()),
            value=value,
            score=hit.score,
            parts=hit.parts,
            cut=cut,
        )

    def _length(self, who: str) -> int:
        """Tokens of a name, which comes again and again."""
        if who not in self._lengths:
            self._lengths[who] = self._count(who)
        return self._lengths[who]

    def _opening(self, text: str) -> str:
        """The beginning of a text without a sentence short enough, marked as cut."""
        return f"{trim(text, _CUT_TOKENS, self._count)} {CUT_MARK.strip()}"

    def _unread(self) -> list[tuple[Item, str]]:
        """The messages of window and gap that were not even read, because what was read fills the budget."""
        session, tail, window = self._view.session, self._view.tail, self._profile.window
        if session is None or not tail:
            return []
        first, last = tail[0].seq, tail[0].seq - 1
        if window.unit == "messages":
            first = max(1, session.counters.messages - window.size + 1)
        elif tail[0].turn > max(1, tail[-1].turn - window.size + 1):
            first = last  # where the turns before begin is not known
        if self._profile.close_gaps:
            first = min(first, session.counters.cursor + 1)
        span = Span(first=first, last=min(last, (self._seen_from or last + 1) - 1))
        item = Item(section="recent", kind="messages", tokens=0, reason="", session_id=session.id, span=span)
        return [(item, "over budget, not read")] if span.first <= span.last else []

    # the result

    def _select(self, filled: Filled) -> Selection:
        sections: dict[str, list[Item]] = {}
        for item in filled.taken:
            sections.setdefault(item.section, []).append(item)
        for name in ("recent", "summaries"):
            if name in sections:
                sections[name].sort(key=lambda item: item.span.first if item.span else 0)
        if "recalled" in sections:
            sections["recalled"].sort(key=_reading_order)
        return Selection(
            sections=sections,
            system=self._system,
            sources=self._sources,
            query=self._query,
            number=(self._view.session.counters.messages if self._view.session else 0) + 1,
            excerpt=self._profile.excerpt,
        )

    def _finish(self, trial: _Trial) -> Built:
        filled, messages = trial.filled, trial.rendered.messages
        omitted = [*filled.left, *self._duplicates, *self._unread()]
        session = self._view.session
        own, count = (session.id, session.counters.messages) if session else (None, 0)
        verbatim = [item.span for item in filled.taken if item.span and _is_verbatim(item, own)]
        if self._seen_from is not None and self._seen_from <= count:
            verbatim.append(Span(first=self._seen_from, last=count))
        covered = coverage.of(
            count,
            verbatim=verbatim,
            summarised=[item.span for item in filled.taken if item.section == "summaries" and item.span],
            live=[summary.covers for summary in self._view.summaries if summary.covers],
        )
        sections: dict[str, int] = {}
        for item in filled.taken:
            sections[item.section] = sections.get(item.section, 0) + item.tokens
        if self._query is not None and messages:
            sections["query"] = self._count(self._query)
        if self._system and messages:
            sections["system"] = self._count(self._system)
        self._log(filled, trial.tokens, covered.blind_messages)
        context = Context(
            messages=messages,
            text=trial.rendered.text,
            tokens=trial.tokens,
            budget=self._token_budget(sections, trial.tokens),
            manifest=Manifest(
                profile=self._profile.name,
                counter=self._counter.name,
                exact=self._counter.exact,
                items=tuple(_piece(item) for item in filled.taken),
                omitted=tuple(_omission(item, reason) for item, reason in omitted),
                coverage=covered,
                warnings=filled.warnings,
                sections=sections,
            ),
        )
        return Built(context, trial.rendered.blocks)

    def _token_budget(self, sections: dict[str, int], tokens: int) -> TokenBudget:
        profile, total = self._profile, self._budget
        reserved = reserve(profile, total)
        free = total - reserved.total
        shares: dict[str, float] = {}
        for step in profile.steps:
            if step.share is not None:
                shares.setdefault(step.section, step.share)
        return TokenBudget(
            total=total,
            system_prompt=reserved.system_prompt or sections.get("system", 0),
            working_memory=reserved.working_memory or sections.get("query", 0),
            retrieved_context=int(free * shares.get("recalled", 0.0)) or sections.get("recalled", 0),
            recent_messages=int(free * shares.get("recent", 0.0)) or sections.get("recent", 0),
            used=tokens,
            available=total - tokens,
        )

    def _log(self, filled: Filled, tokens: int, blind: int) -> None:
        dropped = [item for item, _ in filled.left]
        logger.info(
            "context_built",
            extra={
                "profile": self._profile.name,
                "budget": self._budget,
                "tokens": tokens,
                "tail_dropped": sum(1 for item in dropped if item.section == "recent"),
                "summaries_dropped": sum(1 for item in dropped if item.section == "summaries"),
                "summary_cut": any(item.cut for item in filled.taken if item.section == "summaries"),
                "blind_messages": blind,
            },
        )


def _is_verbatim(item: Item, session_id: str | None) -> bool:
    if item.section == "recent":
        return True
    return item.kind == "passage" and not item.cut and item.session_id == session_id


def _reading_order(item: Item) -> tuple[str, str, int]:
    """By day, session and place: passages read like the conversations they are of."""
    return item.heading, item.session_id or "", item.span.first if item.span else 0


def _reason(item: Item) -> str:
    """What spoke most for a passage."""
    parts = [name for name in sorted(item.parts, key=lambda name: -item.parts[name]) if name != "cosine"]
    return f"answers the query: {' and '.join(parts[:2]).replace('_', ' ')}" if parts else "answers the query"


def _piece(item: Item) -> Piece:
    ids = tuple(message.id for message in item.messages) or item.message_ids
    return Piece(
        section=item.section,
        kind=item.kind,
        id=item.id,
        session_id=item.session_id,
        message_ids=ids,
        span=item.span,
        tokens=item.tokens,
        reason=item.reason or _reason(item),
        score=item.score,
        parts=item.parts,
        cut=item.cut,
    )


def _omission(item: Item, reason: str) -> Omission:
    return Omission(
        section=item.section,
        kind=item.kind,
        id=item.id,
        session_id=item.session_id,
        span=item.span,
        tokens=item.tokens,
        reason=reason,
    )
