"""The reference store's outlines and sums."""

from datetime import datetime

from lamina.language.times import day_of
from lamina.maintenance import counting
from lamina.maintenance import outline as strata
from lamina.protocols.store import Imprint, Mark
from lamina.storage.memory_costs import MemoryCosts
from lamina.storage.memory_tables import Kept
from lamina.storage.shared import whole_summaries
from lamina.values.message import Span
from lamina.values.statistics import Outline, Stats
from lamina.values.summary import Summary


class MemoryCounting(MemoryCosts):
    """What there is, counted."""

    async def outline(self, session_id: str, parts: int) -> Outline:
        kept = self._require(session_id)
        own = whole_summaries(self._own_summaries(session_id))
        imprints = [_imprint(summary, summary.covers) for summary in own if summary.covers is not None]
        seqs = strata.marked(kept.session.counters.messages, parts, imprints)
        forgotten = [row.seq for row in kept.rows if row.erased is not None]
        return strata.outlined(kept.session, parts, _marks(kept, set(seqs)), imprints, forgotten)

    async def stats(self, user_id: str | None = None, *, days: int) -> Stats:
        sessions = [one for one in self._sessions.values() if user_id in {None, one.session.user_id}]
        summaries = whole_summaries(row for row in self._summaries.values() if user_id in {None, row.user_id})
        return counting.counted(
            counting.totals(kept.session for kept in sessions),
            [
                counting.Said(day_of(datetime.fromisoformat(row.created_at)), 1, row.tokens)
                for kept in sessions
                for row in kept.rows
            ],
            [
                counting.Told(one.kind, one.layer, one.status, day_of(one.updated_at), 1, one.tokens)
                for one in summaries
            ],
            [
                counting.Learnt(fact.status, day_of(fact.learnt_at), 1)
                for fact in self._facts.values()
                if user_id in {None, fact.user_id}
            ],
            episodes=sum(user_id in {None, one.user_id} for one in self._episodes.values()),
            days=days,
        )


def _imprint(summary: Summary, covers: Span) -> Imprint:
    return Imprint(
        summary.id, summary.kind, summary.layer, summary.version, covers.first, covers.last,
        summary.status, summary.folded_into, summary.tokens, summary.due, summary.created_at.isoformat(),
    )  # fmt: skip


def _marks(kept: Kept, seqs: set[int]) -> list[Mark]:
    found, tokens = [], 0
    for row in kept.rows:
        tokens += row.tokens
        if row.seq in seqs:
            found.append(Mark(row.seq, row.turn, row.created_at, tokens))
            tokens = 0
    return found
