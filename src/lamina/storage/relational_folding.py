"""Folds, digests and proposals."""

from lamina.protocols.store import FoldCommit, ProposalRow, Swap
from lamina.storage.relational_reading import Reading
from lamina.storage.relational_rows import from_us, to_us
from lamina.storage.transaction import Transaction
from lamina.values.summary import Source, Summary


class Folding(Reading):
    """What workers fold and make anew."""

    # folding

    async def commit(self, commit: FoldCommit) -> bool:
        return await self._database.write(lambda tx: self._commit(tx, commit), session=commit.session_id)

    async def _commit(self, tx: Transaction, commit: FoldCommit) -> bool:
        moved = await tx.execute(
            "update sessions set cursor = :cursor, version = version + 1, attempts = 0, retry_us = null,"
            " aside = 0, reason = null, cursor_turn = coalesce((select max(turn) from messages where tenant = :tenant"
            " and session_id = :id and seq > sessions.cursor and seq <= :cursor), cursor_turn),"
            " cursor_tokens = cursor_tokens + coalesce((select sum(tokens) from messages where tenant = :tenant"
            " and session_id = :id and seq > sessions.cursor and seq <= :cursor), 0)"
            " where tenant = :tenant and id = :id and version = :expect",
            {"cursor": commit.cursor, "tenant": self.tenant, "id": commit.session_id, "expect": commit.expect},
        )
        if not moved:
            return False
        for retired in commit.retire:
            await self._unindex_summary(tx, retired)
            await tx.execute(
                "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
                (commit.summary.id, self.tenant, retired),
            )
        await self._insert_summary(tx, commit.summary)
        await self._changed(tx, commit.summary.user_id)
        return True

    async def commit_digest(self, digest: Summary) -> bool:
        async def work(tx: Transaction) -> bool:
            newest = await self._digests(tx, digest.user_id, limit=1)
            if newest and newest[0].version >= digest.version:
                return False
            if any([await self._changed_since(tx, source) for source in digest.sources]):
                return False
            for old in newest:
                await self._unindex_summary(tx, old.id)
                await tx.execute(
                    "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
                    (digest.id, self.tenant, old.id),
                )
            unreadable = await tx.execute(
                "delete from summaries where tenant = ? and user_id = ? and kind = 'digest' and version >= ?",
                (self.tenant, digest.user_id, digest.version),
            )
            if unreadable:
                await self._words.rebuild_summaries(tx, digest.user_id)
            await self._insert_summary(tx, digest)
            await self._changed(tx, digest.user_id)
            return True

        return await self._database.write(work, user=digest.user_id)

    async def _changed_since(self, tx: Transaction, source: Source) -> bool:
        """Whether a session was folded, or something of it forgotten, since a digest read it."""
        session = await self._session(tx, source.session_id)
        return session is None or session.counters.version != source.version

    # making anew

    async def swap(self, swap: Swap) -> bool:
        return await self._database.write(lambda tx: self._swap(tx, swap), session=swap.session_id)

    async def _swap(self, tx: Transaction, swap: Swap) -> bool:
        moved = await tx.execute(
            "update sessions set cursor = ?, version = version + 1, touch = touch + 1, pending = 1, aside = 0"
            " where tenant = ? and id = ? and version = ?",
            (swap.cursor, self.tenant, swap.session_id, swap.expect),
        )
        if not moved:
            return False
        for retired in swap.retire:
            await self._unindex_summary(tx, retired)
            await tx.execute(
                "update summaries set status = 'replaced' where tenant = ? and id = ?", (self.tenant, retired)
            )
        for summary in sorted(swap.put, key=lambda summary: summary.status == "live"):
            await self._insert_summary(tx, summary)
        await self._recount_cursor(tx, swap.session_id)
        await self._changed(tx, (await self._require_session(tx, swap.session_id)).user_id)
        return True

    async def put_proposal(self, proposal: ProposalRow, *, erasures: int | None = None) -> bool:
        async def work(tx: Transaction) -> bool:
            session = await self._require_session(tx, proposal.session_id)
            if erasures not in {None, session.erasures}:
                return False
            await tx.execute(
                "insert into proposals (tenant, id, user_id, session_id, status, created_us, record)"
                " values (?, ?, ?, ?, ?, ?, ?) on conflict (tenant, id) do update set status = excluded.status,"
                " record = excluded.record",
                (self.tenant, proposal.id, proposal.user_id, proposal.session_id, proposal.status,
                 to_us(proposal.created_at), proposal.record),
            )  # fmt: skip
            return True

        return await self._database.write(work, session=proposal.session_id, again=True)

    async def proposals(self, session_id: str | None = None) -> list[ProposalRow]:
        return await self._database.read(lambda tx: self._own_proposals(tx, session_id))

    async def _own_proposals(self, tx: Transaction, session_id: str | None) -> list[ProposalRow]:
        found = await tx.rows(
            "select id, user_id, session_id, status, record, created_us from proposals where tenant = :tenant"
            " and (cast(:session as text) is null or session_id = :session) order by created_us, id",
            {"tenant": self.tenant, "session": session_id},
        )
        return [
            ProposalRow(id=a, user_id=b, session_id=c, status=d, record=e, created_at=from_us(f))
            for a, b, c, d, e, f in found
        ]
