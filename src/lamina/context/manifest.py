"""The finished context: what is in it and why, what is not, and where the tokens went."""

from collections.abc import Mapping, Sequence

from lamina.context.budget import Filled, reserve
from lamina.context.candidates import MESSAGE_OVERHEAD, Draft, Omitted
from lamina.context.items import Item
from lamina.context.rendering import Rendered
from lamina.folding import coverage
from lamina.values.manifest import Context, Coverage, Manifest, Omission, Piece, TokenBudget
from lamina.values.message import Span

_OPTED_OUT = "the user has opted out: nothing is derived from what they say; `opt_in` ends that"
_NAMED = 5  # spans that a warning names


def finish(draft: Draft, filled: Filled, rendered: Rendered, tokens: int, omitted: Omitted) -> Context:
    """The context with its manifest."""
    count, shown = draft.counter.count, bool(rendered.messages)
    sections: dict[str, int] = {}
    for item in filled.taken:
        sections[item.section] = sections.get(item.section, 0) + item.tokens
    if draft.query is not None and shown:
        sections["query"] = count(draft.query)
    if draft.system and shown:
        sections["system"] = count(draft.system)
    places = _coverage(draft, filled.taken)
    return Context(
        messages=rendered.messages,
        text=rendered.text,
        tokens=tokens,
        budget=_token_budget(draft, sections, tokens),
        manifest=Manifest(
            profile=draft.profile.name,
            counter=draft.counter.name,
            exact=draft.counter.exact,
            items=tuple(_piece(item) for item in filled.taken),
            omitted=tuple(
                Omission(
                    section=item.section,
                    kind=item.kind,
                    id=item.id,
                    session_id=item.session_id,
                    span=item.span,
                    tokens=item.tokens,
                    reason=reason,
                )
                for item, reason in [*filled.left, *omitted, *_unread(draft)]
            ),
            coverage=places,
            warnings=(
                *filled.warnings,
                *_gap_warnings(draft, places, tokens),
                *([_OPTED_OUT] if draft.view.opted_out else ()),
            ),
            sections=sections,
        ),
    )


def _piece(item: Item) -> Piece:
    reason = item.reason
    if not reason:  # what spoke most for a passage
        parts = [name for name in sorted(item.parts, key=lambda name: -item.parts[name]) if name != "cosine"]
        reason = f"answers the query: {' and '.join(parts[:2]).replace('_', ' ')}" if parts else "answers the query"
    return Piece(
        section=item.section,
        kind=item.kind,
        id=item.id,
        session_id=item.session_id,
        message_ids=(*(message.id for message in (*item.messages, *item.equal)), *item.message_ids),
        span=item.span,
        tokens=item.tokens,
        reason=reason,
        score=item.score,
        parts=item.parts,
        cut=item.cut,
    )


def _coverage(draft: Draft, taken: Sequence[Item]) -> Coverage:
    """Where each message of the session is."""
    session = draft.view.session
    own, messages = (session.id, session.counters.messages) if session else (None, 0)
    verbatim = [
        item.span
        for item in taken
        if item.span
        and (item.section == "recent" or (item.kind == "passage" and not item.cut and item.session_id == own))
    ]
    verbatim += [Span(first=one.seq, last=one.seq) for item in taken for one in item.equal]
    if draft.seen_from is not None and draft.seen_from <= messages:
        verbatim.append(Span(first=draft.seen_from, last=messages))
    return coverage.of(
        messages,
        verbatim=verbatim,
        summarised=[
            item.span
            for item in taken
            if item.span and item.session_id == own and (item.section == "summaries" or item.kind == "summary")
        ],
        live=[summary.covers for summary in draft.view.summaries if summary.covers],
    )


def _gap_warnings(draft: Draft, places: Coverage, tokens: int) -> list[str]:
    """That the schedule leaves messages out though there is room for some of them."""
    session, blind = draft.view.session, places.blind_messages
    turns = draft.profile.short_term_retention_turns
    if session is None or not blind or (draft.profile.close_gaps and turns is None):
        return []
    counters = session.counters
    free = draft.budget - tokens - max(0, sum(reserve(draft.profile, draft.budget)) - draft.base_tokens)
    if free < counters.unfolded_tokens / max(1, counters.unfolded) + MESSAGE_OVERHEAD:  # that of one, about
        return []
    spans = [str(one.first) if one.first == one.last else f"{one.first}-{one.last}" for one in places.blind]
    named = ", ".join(spans if len(spans) <= _NAMED else [*spans[:_NAMED], "\u2026"])
    which = f"message {named} is" if blind == 1 else f"{blind:,} messages ({named}) are"
    where, how = "before the window", "close_gaps"
    if draft.profile.close_gaps:
        where, how = f"before the newest {turns} turns", "a higher short_term_retention_turns"
    room = f"{free:,} tokens are free: with {how}, as many of them as fit are shown"
    return [f"{which} not visible: {where} and in no summary yet. {room}"]


def _unread(draft: Draft) -> Omitted:
    """The messages of window and gap that were not even read, because what was read fills the budget."""
    session, tail, window = draft.view.session, draft.view.tail, draft.profile.window
    if session is None or not tail:
        return []
    first, last = tail[0].seq, tail[0].seq - 1
    if window.unit == "messages":
        first = max(1, session.counters.messages - window.size + 1)
    elif tail[0].turn > max(1, tail[-1].turn - window.size + session.counters.closed):
        first = last  # where the turns before begin is not known
    if draft.profile.close_gaps:
        first = min(first, session.counters.cursor + 1)
    span = Span(first=first, last=min(last, (draft.seen_from or last + 1) - 1))
    item = Item(section="recent", kind="messages", tokens=0, reason="", session_id=session.id, span=span)
    return [(item, "over budget, not read")] if span.first <= span.last else []


def _token_budget(draft: Draft, sections: Mapping[str, int], tokens: int) -> TokenBudget:
    total = draft.budget
    system, working = reserve(draft.profile, total)
    free = total - system - working
    shares: dict[str, float] = {}
    for step in draft.profile.steps:
        if step.share is not None:
            shares.setdefault(step.section, step.share)
    return TokenBudget(
        total=total,
        system_prompt=system or sections.get("system", 0),
        working_memory=working or sections.get("query", 0),
        retrieved_context=int(free * shares.get("recalled", 0.0)) or sections.get("recalled", 0),
        recent_messages=int(free * shares.get("recent", 0.0)) or sections.get("recent", 0),
        used=tokens,
        available=total - tokens,
    )
