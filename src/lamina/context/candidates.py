"""Candidates for a context: recent messages, facts, summaries and digest, each in order of preference."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from lamina.context.items import Item
from lamina.context.rendering import fact_day, fact_line
from lamina.knowledge.conflicts import holding
from lamina.log.records import head_hash
from lamina.log.window import newest_of, units
from lamina.profiles import Profile
from lamina.protocols.models import TokenCounter
from lamina.protocols.store import View
from lamina.values.hit import Hit
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

MESSAGE_OVERHEAD = 6  # tokens that a message costs beside its words
REPLY_OVERHEAD = 3  # tokens that open the model's reply
_SPARE = "fits beside the rest"

Hits = Sequence[tuple[Hit, float]]  # each with how much it is worth beside the others
Omitted = list[tuple[Item, str]]  # each with the reason


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

    @cached_property
    def base_tokens(self) -> int:
        """What system prompt, query and sources take."""
        texts = [self.system or "", self.query or "", *self.sources]
        return sum(self.counter.count(text) + MESSAGE_OVERHEAD + REPLY_OVERHEAD for text in texts if text)

    def is_seen(self, session_id: str | None, seq: int) -> bool:
        """Whether the model sees a message anyway."""
        own = self.view.session is not None and session_id == self.view.session.id
        return own and self.seen_from is not None and seq >= self.seen_from


def recent(draft: Draft, *, whole: bool = True) -> list[Item]:
    """Units of the window, newest first; with `close_gaps` back to the fold cursor, with `fill` as far as read.

    Unless `whole`, the newest turn alone is a unit, though a tool call of it may be in an earlier turn.
    """
    tail, window = draft.view.tail, draft.profile.window
    if not tail or draft.view.session is None:
        return []
    newest = tail[-1].turn
    now = [message for message in tail if message.turn == newest]
    split = [unit for part in ([tail] if whole else [tail[: -len(now)], now]) for unit in units(part, window.unit)]
    start = newest_of(split, window.unit, window.size)[0][0].seq
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
    return items


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
    items = []
    for fact in sorted(holding(draft.view.facts, draft.now), key=lambda fact: fact.about is not None):
        if fact.importance >= draft.profile.shown_importance:
            text = fact_line(draft.profile.layout, fact)
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
                heading=fact_day(draft.profile.layout, fact),
            )
            items.append(item)
    return items


def summaries(draft: Draft, hits: Hits, omitted: Omitted) -> list[Item]:
    """Summaries in the profile's order; of those that begin alike the first, the others are omitted."""
    profile = draft.profile
    first: dict[str, Summary] = {}
    for summary in draft.view.summaries:
        if summary.covers and draft.is_seen(summary.session_id, summary.covers.first):
            continue
        twin = first.setdefault(head_hash(summary.text), summary)
        if twin is not summary:
            omitted.append((_summary(draft, summary), f"begins like {twin.id}"))
    ordered = sorted(first.values(), key=lambda s: s.covers.first if s.covers else 0, reverse=True)
    if profile.summary_order == "relevance" and draft.asked:
        near = 1 - (profile.episode_distance or 0.0)
        values = {
            hit.id: (hit.parts["cosine"] if hit.parts["cosine"] > near else 0.0, value)
            for hit, value in hits
            if hit.kind == "summary"
        }
        ordered.sort(key=lambda summary: values.get(summary.id, (0.0, 0.0)), reverse=True)
    elif profile.summary_order == "coverage":
        ordered.sort(key=lambda summary: -(len(summary.covers or ()) / max(1, summary.tokens)))
    return [_summary(draft, summary) for summary in ordered]


def _summary(draft: Draft, summary: Summary) -> Item:
    label = ""
    if summary.kind != "rolling" and summary.covers is not None:
        label = f"messages {summary.covers.first}-{summary.covers.last}, up to {summary.updated_at.date()}"
    if draft.profile.layout == "assistant" and summary.turns is not None:
        label = f"turns {summary.turns.first}-{summary.turns.last}"
    return Item(
        section="summaries",
        kind=f"summary:{summary.kind}",
        text=summary.text,
        tokens=summary.tokens + draft.counter.count(label) + 4,
        reason=f"layer {summary.layer}, version {summary.version}",
        id=summary.id,
        session_id=summary.session_id,
        span=summary.covers,
        label=label,
    )


def digest(draft: Draft, omitted: Omitted) -> list[Item]:
    """The summary over earlier sessions, unless it covers this one."""
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
