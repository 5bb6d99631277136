"""Candidates for a context: recent messages, facts, summaries and digest, each in order of preference."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from lamina.context.equal_turns import collapse
from lamina.context.items import Item
from lamina.context.rendering import fact_day, fact_line
from lamina.context.repetition import Wording
from lamina.context.summary_excerpts import summary_excerpt
from lamina.folding.layouts import unframe
from lamina.knowledge.conflicts import true_at
from lamina.language.trim import trim
from lamina.log.records import head_hash
from lamina.log.transcript import line
from lamina.log.window import MOST_OPEN, newest_of, units
from lamina.profiles import Profile
from lamina.protocols.models import TokenCounter
from lamina.protocols.store import LastSession, View
from lamina.values.fact import Fact
from lamina.values.hit import Hit
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

MESSAGE_OVERHEAD = 6  # tokens that a message costs beside its words
REPLY_OVERHEAD = 3  # tokens that open the model's reply
_SPARE = "fits beside the rest"

Hits = Sequence[tuple[Hit, float]]  # each with how much it is worth beside the others
Omitted = list[tuple[Item, str]]  # each with the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class NearSummary:
    """A summary of any session of the user, and how far it is from the current message."""

    summary: Summary
    distance: float
    sentence: str = ""  # of it, that is nearest


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a context is asked for, and what it is built from."""

    profile: Profile
    view: View
    budget: int
    asked: str  # the current message
    query: str | None  # the same, if it is not stored
    system: str | None
    sources: tuple[str, ...]
    now: datetime
    seen_from: int | None  # the model sees the session from this message on anyway
    counter: TokenCounter
    shown_facts: dict[tuple[str, str], tuple[Fact, Item]] = field(
        default_factory=dict
    )  # layout and id -> as shown before
    ended: Sequence[Fact] = ()  # facts of the user that were true once
    near: tuple[NearSummary, ...] | None = None  # nearest first; None: no summary was looked for

    @cached_property
    def wording(self) -> Wording:
        return Wording()

    @cached_property
    def base_tokens(self) -> int:
        """What system prompt, query and sources take."""
        texts = [self.system or "", self.query or "", *self.sources]
        return sum(self.counter.count(text) + MESSAGE_OVERHEAD + REPLY_OVERHEAD for text in texts if text)

    def is_seen(self, session_id: str | None, seq: int) -> bool:
        """Whether the model sees a message anyway."""
        own = self.view.session is not None and session_id == self.view.session.id
        return own and self.seen_from is not None and seq >= self.seen_from


def recent(draft: Draft, omitted: Omitted, *, whole: bool = True) -> list[Item]:
    """Units of the window, newest first; with `close_gaps` back to the fold cursor, with `fill` as far as read.

    In a window that is filled, turns that say the same are one; the others are omitted. A window of turns counts those
    that are complete; turns without a reply come on top. Unless `whole`, the newest
    turn alone is a unit, though a tool call of it may be in an earlier turn.
    """
    tail, window = draft.view.tail, draft.profile.window
    if not tail or draft.view.session is None:
        return []
    newest = tail[-1].turn
    now = [message for message in tail if message.turn == newest]
    split = [unit for part in ([tail] if whole else [tail[: -len(now)], now]) for unit in units(part, window.unit)]
    most_open = 1 if window.fill else MOST_OPEN  # what is filled has room for the others anyway
    start = newest_of(split, window.unit, window.size, most_open=most_open)[0][0].seq
    items = []
    for unit in reversed(split):
        reason = _why(draft, unit[-1], start, draft.view.session.counters.cursor)
        if reason is None:
            break
        if unseen := [message for message in unit if not draft.is_seen(message.session_id, message.seq)]:
            item = Item(
                section="recent",
                kind="messages",
                tokens=sum(message.tokens + MESSAGE_OVERHEAD for message in unseen),
                reason=reason,
                session_id=unseen[0].session_id,
                messages=tuple(unseen),
                span=Span(first=unseen[0].seq, last=unseen[-1].seq),
                required=unit[-1].turn == newest and not draft.is_seen(tail[-1].session_id, tail[-1].seq),
                spare=reason == _SPARE,
            )
            items.append(item)
    if not window.fill:
        return items
    shown, equal = collapse(items, draft.counter.count)
    omitted += equal
    return shown


def _why(draft: Draft, last: Message, start: int, cursor: int) -> str | None:
    """Why a unit that ends with this message is wanted, where the window starts at `start`; None if it is not."""
    max_turns = draft.profile.short_term_retention_turns
    if max_turns is not None and draft.view.tail[-1].turn - last.turn >= max_turns:
        return None
    if last.seq >= start:
        return "in the verbatim window"
    if draft.profile.close_gaps and last.seq > cursor:
        return "not folded yet"
    return _SPARE if draft.profile.window.fill else None


def facts(draft: Draft) -> list[Item]:
    """The facts that are true now, the user's own before those about others, the most important first."""
    shown = [fact for fact in true_at(draft.view.facts, draft.now) if fact.importance >= draft.profile.shown_importance]
    return [_fact(draft, fact) for fact in sorted(shown, key=lambda fact: fact.about is not None)]


def shows_told_facts(draft: Draft) -> bool:
    """Whether facts are shown that are in no message, so that only a search among facts finds those asked for."""
    shown = any(step.section == "facts" for step in draft.profile.steps)
    return shown and any(fact.origin == "told" for fact in draft.view.facts)


def _fact(draft: Draft, fact: Fact) -> Item:
    """How a fact is shown: as before, if it is the same."""
    layout = draft.profile.layout
    known, item = draft.shown_facts.get((layout, fact.id), (None, None))
    if item is not None and known is fact:
        return item
    text = fact_line(layout, fact)
    item = Item(
        section="facts",
        kind="fact",
        text=text,
        tokens=draft.counter.count(text) + 3,
        reason=f"{fact.category}, importance {fact.importance:g}, {fact.status}",
        id=fact.id,
        session_id=fact.session_id,
        message_ids=(fact.message_id,) if fact.message_id else (),
        quote=fact.quote,
        verbatim=fact.key is None and fact.about is None,
        heading=fact_day(layout, fact),
    )
    draft.shown_facts[layout, fact.id] = fact, item
    return item


def summaries(draft: Draft, omitted: Omitted) -> list[Item]:
    """Summaries in the profile's order; of those that begin alike the first, the others are omitted."""
    profile = draft.profile
    if draft.near is not None:
        return _near_summaries(draft, draft.near, omitted)
    ordered = sorted(draft.view.summaries, key=lambda s: s.covers.first if s.covers else 0, reverse=True)
    if profile.summary_order == "coverage":
        ordered.sort(key=lambda summary: -(len(summary.covers or ()) / max(1, summary.tokens)))
    return [_summary(draft, summary) for summary in _distinct(draft, ordered, omitted)]


def _distinct(draft: Draft, ordered: Sequence[Summary], omitted: Omitted) -> list[Summary]:
    """Summaries that the model does not see anyway; of those that begin alike, the oldest."""
    first: dict[str, Summary] = {}
    for summary in sorted(ordered, key=lambda one: (one.updated_at, one.covers.first if one.covers else 0)):
        if summary.covers and draft.is_seen(summary.session_id, summary.covers.first):
            continue
        twin = first.setdefault(head_hash(summary.text), summary)
        if twin is not summary:
            omitted.append((_summary(draft, summary), f"begins like {twin.id}"))
    shown = {summary.id for summary in first.values()}
    return [summary for summary in ordered if summary.id in shown]


def _near_summaries(draft: Draft, near: Sequence[NearSummary], omitted: Omitted) -> list[Item]:
    """Summaries of all sessions of the user that are near enough to the current message, nearest first."""
    limit, found = draft.profile.episode_distance, {one.summary.id: one for one in near}
    rest = [summary for summary in draft.view.summaries if summary.id not in found]
    if limit is not None:
        far = [one for one in near if one.distance >= limit]
        omitted += [(_summary(draft, one.summary), f"distance {one.distance:.2f}, not below {limit:g}") for one in far]
        omitted += [(_summary(draft, summary), "has nothing to do with the query") for summary in rest]
        near, rest = [one for one in near if one.distance < limit], []
    items = []
    for summary in _distinct(draft, [*(one.summary for one in near), *rest], omitted):
        one = found.get(summary.id)
        why = "" if one is None else f", distance {one.distance:.2f}"
        items.append(_summary(draft, summary, why, "" if one is None else one.sentence))
    return items


def _summary(draft: Draft, summary: Summary, why: str = "", sentence: str = "") -> Item:
    profile, label, text = draft.profile, "", summary.text
    own = draft.view.session is not None and summary.session_id == draft.view.session.id
    if summary.kind != "rolling" and summary.covers is not None:
        label = f"messages {summary.covers.first}-{summary.covers.last}, up to {summary.updated_at.date()}"
    if profile.layout == "assistant" and summary.turns is not None:
        label = f"turns {summary.turns.first}-{summary.turns.last}"
        label += "" if own else f", {summary.updated_at.date()}"
    if profile.excerpt is not None:
        text = summary_excerpt(text, draft.asked, profile.excerpt, sentence)
    tokens = summary.tokens if text is summary.text else draft.counter.count(text)
    return Item(
        section="summaries",
        kind=f"summary:{summary.kind}",
        text=text,
        tokens=tokens + draft.counter.count(label) + 4,
        reason=f"layer {summary.layer}, version {summary.version}{why}",
        id=summary.id,
        session_id=summary.session_id,
        span=summary.covers,
        label=label,
    )


def digest(draft: Draft, omitted: Omitted) -> list[Item]:
    """The summary over earlier sessions, unless it covers this one, and the last session if it is in none."""
    latest = draft.view.latest
    return [*_digest(draft, omitted), *([_last_session(draft, latest)] if latest is not None else ())]


def _last_session(draft: Draft, latest: LastSession) -> Item:
    """A session that nobody ended: its summary, and as many of its newest messages as there is room for beside it."""
    count, cap, day = draft.counter.count, draft.profile.digest_cap, latest.session.last_at.date()
    whole = "\n".join(unframe(draft.profile.title, summary.text) for summary in latest.summaries)
    lines = [trim(whole, cap * 2 // 3, count)] if whole else []
    room, said = cap - sum(map(count, lines)), list[Message]()
    for message in reversed(latest.messages):
        room -= count(line(message)) + 1
        if room < 0:
            break
        said.insert(0, message)
    text = "\n".join([*lines, *map(line, said)])
    return Item(
        section="digest",
        kind="last_session",
        text=text,
        tokens=count(text) + 8,
        reason="the last session, which no digest has yet",
        id=latest.session.id,
        session_id=latest.session.id,
        message_ids=tuple(message.id for message in said),
        label=f"last session, {day}",
    )


def _digest(draft: Draft, omitted: Omitted) -> list[Item]:
    found = draft.view.digest
    if found is None or not draft.profile.digest_sessions:
        return []
    item = Item(
        section="digest",
        kind="digest",
        text=found.text,
        tokens=found.tokens + 2,
        reason=f"{len(found.sources)} earlier sessions, version {found.version}",
        id=found.id,
    )
    own = draft.view.session.id if draft.view.session else None
    if any(source.session_id == own for source in found.sources):
        omitted.append((item, "covers this session itself"))
        return []
    return [item]
