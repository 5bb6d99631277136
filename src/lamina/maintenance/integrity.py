"""Whether what is stored of a session is whole: digests, places, counters, coverage, provenance, word index."""

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise

from lamina.knowledge.circular_links import circles
from lamina.log import chain, records
from lamina.log.erased import is_dropped
from lamina.protocols.store import Audit, MessageRow, SummaryRow
from lamina.values.message import Message, Span
from lamina.values.report import Problem
from lamina.values.summary import Summary


def problems(audit: Audit) -> Iterator[Problem]:
    """Everything wrong with a session."""
    yield from _messages(audit)
    yield from _counters(audit)
    yield from _summaries(audit)
    yield from _coverage(audit)
    yield from _facts(audit)
    yield from _episodes(audit)
    for item in audit.unindexed:
        yield Problem(kind="index", where=item, text="the word index does not agree with what is stored", derived=True)


def _messages(audit: Audit) -> Iterator[Problem]:
    digest = chain.first_hash(audit.session.id)
    turn = last = 0
    for row in audit.rows:
        damage = _damage(row)
        follows = row.seq == last + 1
        turn = turn + (row.role == "user") if follows and not damage else row.turn
        if damage:
            yield _problem("log", row, damage)
        if not follows:
            yield _missing("log", audit, Span(first=last + 1, last=row.seq - 1))
        elif row.digest != _next_hash(digest, chain.link_of(row)):
            yield _problem("chain", row, "breaks the chain of digests")
        if row.turn != turn:
            yield _problem("log", row, f"is in turn {row.turn}, not {turn}")
        digest, last = row.digest, row.seq
    if _is_cut_short(audit):
        yield _missing("lost", audit, Span(first=last + 1, last=audit.session.counters.messages))
    elif audit.last_digest != digest:
        where = f"session {audit.session.id}"
        yield Problem(kind="chain", where=where, text="its last digest is not that of its last message", derived=True)


def _damage(row: MessageRow) -> str | None:
    try:
        chain.decode_message(row)
    except chain.Damaged as damage:
        return str(damage)
    return None


def _next_hash(previous: bytes, leaf: bytes) -> bytes | None:
    try:
        return chain.extend_chain(previous, leaf)
    except TypeError:  # damaged into something that is not bytes
        return None


def _is_cut_short(audit: Audit) -> bool:
    """Whether the newest messages are gone: both the count and the last digest know of more."""
    last = audit.rows[-1] if audit.rows else None
    seq, digest = (last.seq, last.digest) if last else (0, chain.first_hash(audit.session.id))
    return audit.session.counters.messages > seq and audit.last_digest != digest


def _missing(kind: str, audit: Audit, span: Span) -> Problem:
    where = f"session {audit.session.id}"
    return Problem(kind=kind, where=where, text=f"messages {span.first} to {span.last} are gone", derived=False)


def _problem(kind: str, row: MessageRow, text: str) -> Problem:
    where = f"message {row.id} ({row.session_id} #{row.seq})"
    return Problem(kind=kind, where=where, text=text, derived=False)


def _counters(audit: Audit) -> Iterator[Problem]:
    """Counters that the messages do not bear out; those of a log that was cut short are left as evidence."""
    have, want = audit.session.counters, chain.recount(audit.rows)
    covered = [row for row in audit.rows if row.seq <= have.cursor]
    pairs = {
        "messages": (have.messages, want.messages),
        "turns": (have.turns, want.turns),
        "tokens": (have.tokens, want.tokens),
        "closed": (have.closed, want.closed),
        "cursor_turn": (have.cursor_turn, max((row.turn for row in covered), default=0)),
        "cursor_tokens": (have.cursor_tokens, sum(row.tokens for row in covered)),
    }
    if _is_cut_short(audit):
        return
    for name, (stored, counted) in pairs.items():
        if stored != counted:
            where = f"session {audit.session.id}"
            yield Problem(kind="counter", where=where, text=f"{name} is {stored}, counted {counted}", derived=True)


def _summaries(audit: Audit) -> Iterator[Problem]:
    known = {row.id for row in audit.summaries}
    whole: list[Summary] = []
    for row in audit.summaries:
        try:
            summary = records.decode_summary(row)
        except chain.Damaged as damage:
            yield _summary_problem("summary", row, str(damage))
            continue
        whole.append(summary)
        lost = [item for item in summary.inputs if item not in known]
        if lost:
            yield _summary_problem("provenance", row, f"was made from summaries that are gone: {lost}")
        if summary.reads is None and not summary.inputs:
            yield _summary_problem("provenance", row, "was made from nothing")
        if (summary.covers and (row.first, row.last)) != (
            summary.covers and (summary.covers.first, summary.covers.last)
        ):
            yield _summary_problem("summary", row, "its columns and its record disagree about what it covers")
        if row.status == "folded" and row.folded_into not in known:
            yield _summary_problem("provenance", row, "was folded into a summary that is gone")
    for text in circles(whole):
        where = f"session {audit.session.id}"
        yield Problem(kind="provenance", where=where, text=f"summary {text}", derived=True)


def _summary_problem(kind: str, row: SummaryRow, text: str) -> Problem:
    return Problem(kind=kind, where=f"summary {row.id} ({row.session_id})", text=text, derived=True)


def _coverage(audit: Audit) -> Iterator[Problem]:
    live = [Span(first=row.first or 0, last=row.last or 0) for row in audit.summaries if row.status == "live"]
    for text in faults(live, audit.session.counters.cursor):
        yield Problem(kind="coverage", where=f"session {audit.session.id}", text=text, derived=True)


def faults(live: Iterable[Span], cursor: int) -> Iterator[str]:
    """What is wrong if live summaries must cover messages 1 to `cursor`, each once."""
    ends = [(0, 0), *sorted((span.first, span.last) for span in live), (cursor + 1, cursor + 1)]
    for (_, last), (first, _) in pairwise(ends):
        if first > last + 1:
            yield f"messages {last + 1} to {first - 1} are in no live summary"
        elif first <= last:
            yield f"messages {first} to {last} are in more than one live summary"


def _facts(audit: Audit) -> Iterator[Problem]:
    texts = dict(_texts(audit))
    for row in audit.facts:
        where = f"fact {row.id}"
        try:
            fact = records.fact_of(row)
        except chain.Damaged as damage:
            yield Problem(kind="fact", where=where, text=str(damage), derived=True)
            continue
        text_said = texts.get(fact.message_id or "", "")
        if text_said is not None and (not fact.quote or text_said[fact.start : fact.end] != fact.quote):
            yield Problem(kind="fact", where=where, text="its quote is not in its message", derived=True)


def _episodes(audit: Audit) -> Iterator[Problem]:
    known = {row.id for row in audit.rows}
    for row in audit.episodes:
        where = f"episode {row.id}"
        try:
            episode = records.episode_of(row)
        except chain.Damaged as damage:
            yield Problem(kind="fact", where=where, text=str(damage), derived=True)
            continue
        if not known.issuperset(episode.message_ids):
            yield Problem(kind="fact", where=where, text="comes from messages that are gone", derived=True)


def _texts(audit: Audit) -> Iterator[tuple[str, str | None]]:
    """What the messages of facts say; None for one whose words were dropped by a retention rule."""
    wanted = {row.message_id for row in audit.facts}
    for row in audit.rows:
        if row.id in wanted:
            try:
                message: Message = chain.decode_message(row)
            except (chain.Damaged, json.JSONDecodeError):
                continue
            yield row.id, None if is_dropped(message) else message.text
