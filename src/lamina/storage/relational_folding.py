"""Claims, folds, digests and proposals."""

from collections.abc import Sequence
from datetime import datetime

from lamina.ports import Claim, FoldCommit, Lease, ProposalRow, Swap
from lamina.storage.relational_reading import Reading
from lamina.storage.relational_rows import SESSION, from_us, session_value, to_us
from lamina.storage.transaction import Transaction
from lamina.types import Source, Summary


class Folding(Reading):
    """What workers claim, fold and make anew."""

    # folding

    async def claim(
        self, owner: str, now: datetime, until: datetime, *, impatient: bool = False, skip: Sequence[str] = ()
    ) -> Claim | None:
        async def work(tx: Transaction) -> Claim | None:
            found = await tx.row(
                f"select touch, {SESSION} from sessions where tenant = :tenant and pending = 1"
                " and (lease_us is null or lease_us < :now) "
                " and (:impatient = 1 or retry_us is null or retry_us <= :now)"
                " and id not in (select value from json_each(:skip)) order by touched_us, id limit 1" + tx.free,
                {"tenant": self.tenant, "now": to_us(now), "impatient": int(impatient), "skip": tx.listed(skip)},
            )
            if found is None:
                return None
            session = session_value(found[1:])
            await tx.execute(
                "update sessions set lease_owner = ?, lease_us = ? where tenant = ? and id = ?",
                (owner, to_us(until), self.tenant, session.id),
            )
            return Claim(session=session, owner=owner, touch=found[0])

        if not await self.pending():
            return None
        return await self._database.write(work)

    async def renew(self, claim: Claim, until: datetime) -> bool:
        async def work(tx: Transaction) -> bool:
            changed = await tx.execute(
                "update sessions set lease_us = ? where tenant = ? and id = ? and lease_owner = ?",
                (to_us(until), self.tenant, claim.session.id, claim.owner),
            )
            return changed == 1

        return await self._database.write(work, again=True)

    async def release(self, claim: Claim) -> None:
        async def work(tx: Transaction) -> None:
            await tx.execute(
                "update sessions set lease_owner = null, lease_us = null, attempts = 0, retry_us = null,"
                " pending = case when touch = ? then 0 else pending end"
                " where tenant = ? and id = ? and lease_owner = ?",
                (claim.touch, self.tenant, claim.session.id, claim.owner),
            )

        await self._database.write(work, again=True)

    async def fail(self, claim: Claim, retry_at: datetime) -> None:
        async def work(tx: Transaction) -> None:
            await tx.execute(
                "update sessions set lease_owner = null, lease_us = null, attempts = attempts + 1, retry_us = ?"
                " where tenant = ? and id = ? and lease_owner = ?",
                (to_us(retry_at), self.tenant, claim.session.id, claim.owner),
            )

        await self._database.write(work)

    async def commit(self, commit: FoldCommit) -> bool:
        return await self._database.write(lambda tx: self._commit(tx, commit), session=commit.session_id)

    async def _commit(self, tx: Transaction, commit: FoldCommit) -> bool:
        moved = await tx.execute(
            "update sessions set cursor = :cursor, version = version + 1, attempts = 0, retry_us = null,"
            " cursor_turn = coalesce((select max(turn) from messages where tenant = :tenant"
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
            "update sessions set cursor = ?, version = version + 1, touch = touch + 1, pending = 1"
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
        async def work(tx: Transaction) -> list[ProposalRow]:
            found = await tx.rows(
                "select id, user_id, session_id, status, record, created_us from proposals where tenant = :tenant"
                " and (cast(:session as text) is null or session_id = :session) order by created_us, id",
                {"tenant": self.tenant, "session": session_id},
            )
            return [
                ProposalRow(id=a, user_id=b, session_id=c, status=d, record=e, created_at=from_us(f))
                for a, b, c, d, e, f in found
            ]

        return await self._database.read(work)

    async def pending(self) -> int:
        async def work(tx: Transaction) -> int:
            found = await tx.one("select count(*) from sessions where tenant = ? and pending = 1", (self.tenant,))
            return int(found[0])

        return await self._database.read(work)

    async def mark_pending(self) -> None:
        await self._database.write(
            lambda tx: tx.execute(
                "update sessions set pending = 1, touch = touch + 1 where tenant = :tenant"
                " and id in (select id from sessions where tenant = :tenant order by id" + tx.ordered + ")",
                {"tenant": self.tenant},
            ),
            again=True,
        )

    async def leases(self) -> list[Lease]:
        async def work(tx: Transaction) -> list[Lease]:
            found = await tx.rows(
                "select id, lease_owner, lease_us from sessions where tenant = ? and lease_owner is not null"
                " order by id",
                (self.tenant,),
            )
            return [Lease(session_id=a, owner=b, until=from_us(c)) for a, b, c in found]

        return await self._database.read(work)

    async def revoke(self, owner: str) -> None:
        await self._database.write(
            lambda tx: tx.execute(
                "update sessions set lease_owner = null, lease_us = null where tenant = :tenant and id in"
                " (select id from sessions where tenant = :tenant and lease_owner = :owner order by id"
                + tx.ordered
                + ") and lease_owner = :owner",
                {"tenant": self.tenant, "owner": owner},
            ),
            again=True,
        )
