"""Regenerate: summaries and facts written again beside the old ones, compared, then accepted or rolled back."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from lamina.errors import Conflict, DoesNotFit, NotFound, OptedOut
from lamina.folding.drift import diff, drift
from lamina.folding.fold import Compactor, FoldRun, move_cursor
from lamina.knowledge import fact_words
from lamina.knowledge.extract import Reader
from lamina.log.erased import is_dropped
from lamina.log.pages import every_message, require_session
from lamina.parts import Parts, Progress
from lamina.protocols.store import FactsCommit, ProposalRow, Reading, Swap
from lamina.values.codec import decode, encode
from lamina.values.fact import Fact
from lamina.values.message import Message, Span
from lamina.values.opt_out import PREFIX
from lamina.values.session import Session
from lamina.values.summary import Change, Proposal, Summary

logger = logging.getLogger("lamina.regenerate")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """Everything that is needed to accept a proposal, and to take that back."""

    recipe: str
    changes: tuple[Change, ...]
    drift: float
    version: int  # of the session when this was made; after it was accepted, the version it made
    cursor: int
    old_cursor: int
    old: tuple[Summary, ...]  # as they were
    new: tuple[Summary, ...]
    new_facts: tuple[Fact, ...]
    old_facts: tuple[Fact, ...]


class Regeneration:
    """Writes what is derived again, with the models of `parts`."""

    def __init__(self, parts: Parts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader

    async def propose(self, session_id: str, first: int, parts: Parts, progress: Progress | None) -> Proposal:
        """Fold and read a session again from message `first` on, beside what is stored."""
        session = await require_session(self._parts.store, session_id)
        if await self._parts.store.setting(PREFIX + session.user_id):
            raise OptedOut(session.user_id)
        if not 1 <= first <= max(1, session.counters.messages):
            raise DoesNotFit(f"first must be a message number from 1 to {session.counters.messages}, not {first}")
        await self._check_words(session, first)
        stored = [s for s in await self._parts.store.summaries(session_id, live=False) if s.status != "replaced"]
        kept = _ending_before(stored, first)
        old = [summary for summary in stored if summary.id not in {one.id for one in kept}]
        start = [replace(s, status="live", folded_into=None) if s.folded_into in _ids(old) else s for s in kept]
        facts = await self._parts.store.facts(session.user_id, session.id)
        fresh = await _refold(parts, session, start, facts, progress)
        old_facts = [fact for fact in facts if fact.seq >= first]
        new_facts = await self._reread(session, first, parts)
        changes = (*_summary_changes(old, fresh.made), *_fact_changes(old_facts, new_facts))
        draft = _Draft(
            recipe=", ".join(dict.fromkeys((parts.summariser.name, parts.extractor.name if parts.extractor else "-"))),
            changes=changes,
            drift=_drift(old, fresh.made),
            version=session.counters.version,
            cursor=fresh.cursor,
            old_cursor=session.counters.cursor,
            old=tuple(stored),
            new=tuple(fresh.everything),
            new_facts=tuple(new_facts),
            old_facts=tuple(old_facts),
        )
        return await self._store(self._parts.new_id("prop"), session, draft, "open", self._parts.now())

    async def _check_words(self, session: Session, first: int) -> None:
        """Nothing can be written again from messages whose words are gone."""
        async for message in every_message(self._parts.store, session.id, first, session.counters.messages):
            if is_dropped(message):
                raise DoesNotFit(
                    f"the words of message {message.seq} were dropped by a retention rule; give a `first` behind the"
                    " last one that was, so that what was made of them stays"
                )

    async def _reread(self, session: Session, first: int, parts: Parts) -> list[Fact]:
        """The facts that would be found now in a session from a message on."""
        messages: list[Message] = await self._parts.store.messages(
            session.id, Span(first=first, last=session.counters.messages)
        )
        reader = Reader(parts)
        batch = reader.batch or len(messages) or 1
        found: list[Fact] = []
        for at in range(0, len(messages), batch):
            found += await reader.facts(session, messages[at : at + batch])
        return found

    async def proposals(self, session_id: str | None) -> list[Proposal]:
        return [_proposal(row, _draft(row)) for row in await self._parts.store.proposals(session_id)]

    async def accept(self, proposal_id: str) -> Proposal:
        """Put the new versions in place; the old ones are kept as replaced."""
        row, draft = await self._row(proposal_id)
        if row.status != "open":
            raise Conflict(f"proposal {proposal_id!r} is {row.status.replace('_', ' ')}; regenerate again")
        session = await require_session(self._parts.store, row.session_id)
        retire = tuple(summary.id for summary in draft.old if summary.id not in _ids(draft.new))
        swap = Swap(session_id=session.id, expect=draft.version, retire=retire, put=draft.new, cursor=draft.cursor)
        if not await self._parts.store.commit(swap):
            raise Conflict("the session was folded, or something of it forgotten, since then; regenerate again")
        await self._exchange(session, draft.old_facts, draft.new_facts)
        await self._parts.store.drop_digests(session.user_id)
        logger.info("regenerated", extra={"session": session.id, "drift": draft.drift, "changes": len(draft.changes)})
        return await self._store(row.id, session, replace(draft, version=draft.version + 1), "accepted", row.created_at)

    async def roll_back(self, proposal_id: str) -> Proposal:
        """Discard an open proposal; of an accepted one, put the old versions back."""
        row, draft = await self._row(proposal_id)
        if row.status == "rolled_back":
            return _proposal(row, draft)
        session = await require_session(self._parts.store, row.session_id)
        if row.status == "accepted":
            retire = tuple(summary.id for summary in draft.new if summary.id not in _ids(draft.old))
            swap = Swap(
                session_id=session.id, expect=draft.version, retire=retire, put=draft.old, cursor=draft.old_cursor
            )
            if not await self._parts.store.commit(swap):
                raise Conflict("the session was folded, or something of it forgotten, since it was accepted")
            await self._exchange(session, draft.new_facts, draft.old_facts)
            await self._parts.store.drop_digests(session.user_id)
        return await self._store(row.id, session, draft, "rolled_back", row.created_at)

    async def _exchange(self, session: Session, gone: Sequence[Fact], come: Sequence[Fact]) -> None:
        """Facts exchanged; one that is in both keeps its id and what was decided of it by hand."""
        same = {fact_words.claim(fact) for fact in gone} & {fact_words.claim(fact) for fact in come}
        now = await require_session(self._parts.store, session.id)
        put = tuple(fact for fact in come if fact_words.claim(fact) not in same)
        done = now.counters.extracted
        reading = Reading(session_id=session.id, expect=done, erasures=session.erasures, upto=done)
        commit = FactsCommit(
            user_id=session.user_id,
            rule=self._reader.rule,
            put=put,
            marks=await self._reader.marks(put),
            drop=tuple(fact.id for fact in gone if fact_words.claim(fact) not in same),
            reading=reading,
        )
        if not await self._parts.store.commit_facts(commit):
            raise Conflict("something of the session was forgotten meanwhile; its facts were left as they are")

    async def _store(
        self, proposal_id: str, session: Session, draft: _Draft, status: str, created_at: datetime
    ) -> Proposal:
        row = ProposalRow(
            id=proposal_id,
            user_id=session.user_id,
            session_id=session.id,
            status=status,
            record=json.dumps(encode(draft), ensure_ascii=False),
            created_at=created_at,
        )
        if not await self._parts.store.put_proposal(row, erasures=session.erasures):
            raise Conflict("something of the session was forgotten meanwhile; regenerate again")
        return _proposal(row, draft)

    async def _row(self, proposal_id: str) -> tuple[ProposalRow, _Draft]:
        for row in await self._parts.store.proposals():
            if row.id == proposal_id:
                return row, _draft(row)
        raise NotFound(f"no proposal {proposal_id!r}; see proposals()")


class _Refolded(NamedTuple):
    """A session folded from a point on, in memory."""

    everything: list[Summary]
    made: list[Summary]
    cursor: int


async def _refold(
    parts: Parts, session: Session, start: Sequence[Summary], facts: Sequence[Fact], progress: Progress | None
) -> _Refolded:
    """Fold a session on from these summaries; a model that fails here is not waited for."""
    attempts = parts.patience.attempts
    messages = [one async for one in every_message(parts.store, session.id, 1, session.counters.messages)]
    live, known = _live(start), {summary.id: summary for summary in start}
    unfolded = replace(session.counters, cursor=0, cursor_turn=0, cursor_tokens=0)
    counters = move_cursor(unfolded, max((s.covers.last for s in live if s.covers), default=0), messages)
    begun = replace(session, counters=counters, attempts=attempts)
    run = FoldRun(Compactor(parts), begun, live, messages, facts, whole=True, attempts=attempts)
    made = []
    while (step := await run.next()) is not None:
        commit = step.commit
        known |= {one: replace(known[one], status="folded", folded_into=commit.summary.id) for one in commit.retire}
        known[commit.summary.id] = commit.summary
        made.append(commit.summary.id)
        if progress is not None:
            progress(run.session.counters.cursor, session.counters.cursor)
    return _Refolded(list(known.values()), [known[one] for one in made], run.session.counters.cursor)


def _ending_before(stored: Sequence[Summary], first: int) -> list[Summary]:
    """The summaries that end before a message."""
    return [summary for summary in stored if summary.covers is not None and summary.covers.last < first]


def _ids(summaries: Sequence[Summary]) -> frozenset[str]:
    return frozenset(summary.id for summary in summaries)


def _live(summaries: Sequence[Summary]) -> list[Summary]:
    return sorted(
        (summary for summary in summaries if summary.status == "live" and summary.covers is not None),
        key=lambda summary: summary.covers.first if summary.covers else 0,
    )


def _drift(old: Sequence[Summary], new: Sequence[Summary]) -> float:
    return drift("\n".join(s.text for s in _live(old)), "\n".join(s.text for s in _live(new)))


def _summary_changes(old: Sequence[Summary], new: Sequence[Summary]) -> list[Change]:
    """Live summaries compared: by what they cover, where that is the same; else all of them together."""
    before = {(s.covers.first, s.covers.last): s for s in _live(old) if s.covers}
    after = {(s.covers.first, s.covers.last): s for s in _live(new) if s.covers}
    changes = []
    for covers in sorted(before.keys() | after.keys()):
        one, other = before.get(covers), after.get(covers)
        texts = ("" if one is None else one.text, "" if other is None else other.text)
        if texts[0] != texts[1]:
            changes.append(
                Change(
                    kind="summary",
                    span=Span(first=covers[0], last=covers[1]),
                    before=one.id if one else None,
                    after=other.id if other else None,
                    diff=diff([texts[0]], [texts[1]]),
                    drift=drift(*texts),
                )
            )
    return changes


def _fact_changes(old: Sequence[Fact], new: Sequence[Fact]) -> list[Change]:
    before, after = {fact_words.claim(fact): fact for fact in old}, {fact_words.claim(fact): fact for fact in new}
    gone = [fact for claim, fact in before.items() if claim not in after]
    come = [fact for claim, fact in after.items() if claim not in before]
    return [
        *(_fact_change(fact, fact.id, None, f"- {fact_words.describe_fact(fact)}") for fact in gone),
        *(_fact_change(fact, None, fact.id, f"+ {fact_words.describe_fact(fact)}") for fact in come),
    ]


def _fact_change(fact: Fact, before: str | None, after: str | None, shown: str) -> Change:
    span = Span(first=fact.seq, last=fact.seq)
    return Change(kind="fact", span=span, before=before, after=after, diff=shown, drift=1.0)


def _draft(row: ProposalRow) -> _Draft:
    return decode(_Draft, json.loads(row.record), f"proposal {row.id}")


def _proposal(row: ProposalRow, draft: _Draft) -> Proposal:
    return Proposal(
        id=row.id,
        session_id=row.session_id,
        status=row.status,  # type: ignore[arg-type]  # one of the literals, as the table demands
        recipe=draft.recipe,
        changes=draft.changes,
        drift=draft.drift,
        created_at=row.created_at,
    )
