"""A store over a relational database: all verbs, whichever database it is."""

from collections.abc import Sequence
from datetime import datetime

from lamina.forgetting.redact import broken_receipts
from lamina.log import chain, records
from lamina.protocols.store import Audit, Contents, FactRow, MessageRow, Settle, SummaryRow
from lamina.storage.relational_counting import Counting
from lamina.storage.relational_rows import (
    FACT,
    MESSAGE,
    SESSION,
    SUMMARY,
    message_row,
    session_value,
    summary_row,
    to_us,
)
from lamina.storage.shared import whole_episodes, whole_messages
from lamina.storage.transaction import Transaction, Work
from lamina.values.message import Message
from lamina.values.report import Problem


class RelationalStore(Counting):
    """One tenant's memory in a relational database; also its keeping house."""

    # everything of a user

    async def contents(
        self, user_id: str, session_id: str | None = None, *, after: tuple[str, int] | None = None, limit: int = 500
    ) -> Contents:
        async def work(tx: Transaction) -> Contents:
            found = await tx.rows(
                f"select {SESSION} from sessions where tenant = :tenant and user_id = :user"
                " and (cast(:session as text) is null or id = :session) order by id",
                {"tenant": self.tenant, "user": user_id, "session": session_id},
            )
            sessions = [session_value(row) for row in found]
            messages, place = await self._page(tx, [session.id for session in sessions], after, limit)
            if after is not None:
                return Contents(messages=messages, next=place)
            ids = [session.id for session in sessions]
            return Contents(
                messages=messages,
                next=place,
                sessions=tuple(sessions),
                summaries=tuple([one for key in ids for one in await self._summaries(tx, key, live=False)]),
                digests=tuple(await self._digests(tx, user_id, limit=1000)),
                facts=tuple(await self._facts(tx, user_id, session_id)),
                episodes=tuple(await self._episodes(tx, user_id, session_id)),
                milestones=tuple([one for key in ids for one in await self._own_milestones(tx, key)]),
                proposals=tuple([one for key in ids for one in await self._own_proposals(tx, key)]),
            )

        return await self._database.read(work)

    async def _page(
        self, tx: Transaction, sessions: Sequence[str], after: tuple[str, int] | None, limit: int
    ) -> tuple[tuple[Message, ...], tuple[str, int] | None]:
        """Messages of sessions in their order, and the place of the last one if there are more."""
        first, seq = after or ("", 0)
        rows: list[MessageRow] = []
        for session_id in sorted(sessions):
            if session_id >= first and len(rows) <= limit:
                found = await tx.rows(
                    f"select {MESSAGE} from messages where tenant = ? and session_id = ? and seq > ?"
                    " order by seq limit ?",
                    (self.tenant, session_id, seq if session_id == first else 0, limit + 1 - len(rows)),
                )
                rows += map(message_row, found)
        page = rows[:limit]
        place = (page[-1].session_id, page[-1].seq) if len(rows) > limit else None
        return tuple(whole_messages(page)), place

    # keeping house

    async def end_idle(self, touched_before: datetime, at: datetime) -> list[str]:
        async def work(tx: Transaction) -> list[str]:
            ended = await tx.rows(
                "update sessions set status = 'ended', ended_us = :at, touch = touch + 1, pending = 1, aside = 0"
                " where tenant = :tenant and id in (select id from sessions where tenant = :tenant"
                " and status = 'active' and touched_us < :before order by id" + tx.free + ") returning id",
                {"at": to_us(at), "tenant": self.tenant, "before": to_us(touched_before)},
            )
            return sorted(row[0] for row in ended)

        return await self._database.write(work)

    async def archive_ended(self, ended_before: datetime, at: datetime) -> list[str]:
        """In one transaction for each user, whose changes are counted one after the other."""
        old = "tenant = :tenant and status = 'ended' and ended_us < :before and cursor = messages"
        key = {"at": to_us(at), "tenant": self.tenant, "before": to_us(ended_before)}

        def work_of(user_id: str) -> Work[list[str]]:
            async def work(tx: Transaction) -> list[str]:
                archived = await tx.rows(
                    f"update sessions set status = 'archived', archived_us = :at where {old} and user_id = :user"
                    " returning id",
                    {**key, "user": user_id},
                )
                if archived:
                    await self._changed(tx, user_id)
                return [row[0] for row in archived]

            return work

        users = await self._database.read(
            lambda tx: tx.rows(f"select distinct user_id from sessions where {old} order by user_id", key)
        )
        archived = [await self._database.write(work_of(user_id), user=user_id) for (user_id,) in users]
        return sorted(session_id for ids in archived for session_id in ids)

    async def audit(self, session_id: str) -> Audit:
        async def work(tx: Transaction) -> Audit:
            session = await self._require_session(tx, session_id)
            found = await tx.one("select digest from sessions where tenant = ? and id = ?", (self.tenant, session_id))
            messages = await self._raw_messages(tx, session_id)
            return Audit(
                session=session,
                last_digest=found[0],
                rows=tuple(messages),
                summaries=tuple(await self._raw_summaries(tx, session_id)),
                facts=tuple(await self._raw_facts(tx, session.user_id, session_id)),
                episodes=tuple(await self._raw_episodes(tx, session.user_id, session_id)),
                unindexed=tuple(await self._words.lacking(tx, session, messages)),
            )

        return await self._database.read(work)

    async def _raw_summaries(self, tx: Transaction, session_id: str) -> list[SummaryRow]:
        sql = f"select {SUMMARY} from summaries where tenant = ? and session_id = ? order by first, place"
        return [summary_row(row) for row in await tx.rows(sql, (self.tenant, session_id))]

    async def _problems(self, tx: Transaction) -> list[Problem]:
        """What is wrong with rows that belong to no session."""
        return [
            *await self._digest_problems(tx),
            *await self._told_problems(tx),
            *await self._receipt_problems(tx),
            *await self._vector_problems(tx),
        ]

    async def _digest_problems(self, tx: Transaction) -> list[Problem]:
        """Damaged digests, which belong to no session."""
        sql = f"select {SUMMARY} from summaries where tenant = ? and session_id is null"
        problems = []
        for row in map(summary_row, await tx.rows(sql, (self.tenant,))):
            try:
                records.decoded(row)
            except chain.Damaged as damage:
                problems.append(Problem(kind="digest", where=f"user {row.user_id}", text=str(damage), derived=True))
        return problems

    async def _told_problems(self, tx: Transaction) -> list[Problem]:
        """Damaged facts that were told by hand, which belong to no session."""
        sql = f"select {FACT} from facts where tenant = ? and session_id is null"
        problems = []
        for row in await tx.rows(sql, (self.tenant,)):
            try:
                records.fact_of(FactRow(*row))
            except chain.Damaged as damage:
                problems.append(Problem(kind="told", where=f"fact {row[0]}", text=str(damage), derived=False))
        return problems

    async def _receipt_problems(self, tx: Transaction) -> list[Problem]:
        """Receipts that were changed, or one before which others are gone."""
        text = "does not follow from the receipt before it, or was changed"
        return [
            Problem(kind="receipt", where=f"receipt {receipt_id}", text=text, derived=False)
            for receipt_id in broken_receipts(await self._receipts(tx))
        ]

    async def recount(self, session_id: str) -> None:
        async def work(tx: Transaction) -> None:
            session = await self._require_session(tx, session_id)
            found = await self._raw_messages(tx, session_id)
            counters = chain.recounted(found)
            (cursor_turn, cursor_tokens) = await tx.one(
                "select coalesce(max(m.turn), 0), cast(coalesce(sum(m.tokens), 0) as bigint) from messages m"
                " join sessions s on s.tenant = m.tenant and s.id = m.session_id"
                " where m.tenant = ? and m.session_id = ? and m.seq <= s.cursor",
                (self.tenant, session_id),
            )
            await tx.execute(
                "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, cursor_turn = ?,"
                " cursor_tokens = ?, touch = touch + 1, pending = 1, aside = 0 where tenant = ? and id = ?",
                (counters.messages, counters.turns, counters.tokens, int(counters.closed),
                 found[-1].digest if found else chain.first_digest(session_id), cursor_turn, cursor_tokens,
                 self.tenant, session_id),
            )  # fmt: skip
            await self._cut(tx, session.user_id, [session_id])

        await self._database.write(work, session=session_id, again=True)

    async def unfold(self, session_id: str, settle: Settle) -> None:
        async def work(tx: Transaction) -> None:
            session = await self._require_session(tx, session_id)
            await tx.execute("delete from summaries where tenant = ? and session_id = ?", (self.tenant, session_id))
            found = await self._raw_episodes(tx, session.user_id, session_id)
            told = {one.id for one in whole_episodes(found) if one.origin == "told"}
            await self._drop_episodes(tx, session.user_id, [row.id for row in found if row.id not in told])
            await tx.execute("delete from proposals where tenant = ? and session_id = ?", (self.tenant, session_id))
            gone = await tx.rows(
                "delete from facts where tenant = ? and session_id = ? and message_id is not null"
                " returning category, slot",
                (self.tenant, session_id),
            )
            await tx.execute(
                "update sessions set cursor = 0, cursor_turn = 0, cursor_tokens = 0, version = version + 1,"
                " extracted = 0, erasures = erasures + 1, touch = touch + 1, pending = 1, attempts = 0,"
                " retry_us = null, aside = 0, reason = null where tenant = ? and id = ?",
                (self.tenant, session_id),
            )
            await self._words.rebuild_summaries(tx, session.user_id)
            slots = {(category, slot) for category, slot in gone}
            await self._settle(tx, session.user_id, slots, settle)
            await self._cut(tx, session.user_id)

        await self._database.write(work, session=session_id, again=True)

    async def drop_digests(self, user_id: str) -> None:
        async def work(tx: Transaction) -> None:
            gone = await tx.execute(
                "delete from summaries where tenant = ? and user_id = ? and kind = 'digest'", (self.tenant, user_id)
            )
            await self._words.rebuild_summaries(tx, user_id)
            if gone:
                await self._changed(tx, user_id)

        await self._database.write(work, user=user_id, again=True)
