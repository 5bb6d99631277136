"""Sessions, milestones and settings."""

from datetime import datetime

from lamina.storage.relational_log import LogTables
from lamina.storage.relational_rows import SESSION, session_value, to_us
from lamina.storage.shared import stale
from lamina.storage.transaction import Transaction
from lamina.types import Milestone, Session, Status


class SessionTables(LogTables):
    """Sessions with their status and milestones."""

    # sessions

    async def session(self, session_id: str) -> Session | None:
        return await self._database.read(lambda tx: self._session(tx, session_id))

    async def sessions(
        self, *, user_id: str | None = None, status: Status | None = None, limit: int = 1000, after: str | None = None
    ) -> list[Session]:
        async def work(tx: Transaction) -> list[Session]:
            found = await tx.rows(
                f"select {SESSION} from sessions where tenant = :tenant and id > :after"
                " and (cast(:user as text) is null or user_id = :user)"
                " and (cast(:status as text) is null or status = :status) order by id limit :limit",
                {"tenant": self.tenant, "after": after or "", "user": user_id, "status": status, "limit": limit},
            )
            return [session_value(row) for row in found]

        return await self._database.read(work)

    async def newest_sessions(self, user_id: str, limit: int) -> list[Session]:
        async def work(tx: Transaction) -> list[Session]:
            found = await tx.rows(
                f"select {SESSION} from sessions where tenant = ? and user_id = ? and turns > 0"
                " order by started_us desc, id desc limit ?",
                (self.tenant, user_id, limit),
            )
            return [session_value(row) for row in found]

        return await self._database.read(work)

    async def set_status(self, session_id: str, status: Status, at: datetime, expect: str | None = None) -> Session:
        async def work(tx: Transaction) -> Session:
            before = await self._require_session(tx, session_id)
            if expect is not None and before.tag != expect:
                raise stale("session", session_id)
            await tx.execute(
                "update sessions set status = :status, touched_us = :at, touch = touch + 1, pending = 1, aside = 0,"
                " ended_us = case when :status in ('ended', 'archived') then coalesce(ended_us, :at) end,"
                " archived_us = case when :status = 'archived' then coalesce(archived_us, :at) end"
                " where tenant = :tenant and id = :id",
                {"status": status, "at": to_us(at), "tenant": self.tenant, "id": session_id},
            )
            if (before.status == "archived") != (status == "archived"):
                await self._changed(tx, before.user_id)
            return await self._require_session(tx, session_id)

        return await self._database.write(work, session=session_id, again=expect is None)

    async def add_milestone(self, milestone: Milestone) -> None:
        async def work(tx: Transaction) -> None:
            await self._require_session(tx, milestone.session_id)
            await tx.execute(
                "insert into milestones (tenant, id, session_id, turn, title, created_at) values (?, ?, ?, ?, ?, ?)"
                " on conflict (tenant, id) do nothing",
                (self.tenant, milestone.id, milestone.session_id, milestone.turn, milestone.title,
                 milestone.created_at.isoformat()),
            )  # fmt: skip

        await self._database.write(work, session=milestone.session_id, again=True)

    async def milestones(self, session_id: str) -> list[Milestone]:
        async def work(tx: Transaction) -> list[Milestone]:
            found = await tx.rows(
                "select id, session_id, turn, title, created_at from milestones where tenant = ? and session_id = ?"
                " order by turn, id",
                (self.tenant, session_id),
            )
            return [
                Milestone(id=a, session_id=b, turn=c, title=d, created_at=datetime.fromisoformat(e))
                for a, b, c, d, e in found
            ]

        return await self._database.read(work)

    # settings

    async def setting(self, key: str) -> str | None:
        async def work(tx: Transaction) -> str | None:
            found = await tx.row("select value from settings where tenant = ? and key = ?", (self.tenant, key))
            return None if found is None else str(found[0])

        return await self._database.read(work)

    async def put_setting(self, key: str, value: str) -> None:
        async def work(tx: Transaction) -> None:
            await self._note_tenant(tx)
            await tx.execute(
                "insert into settings (tenant, key, value) values (?, ?, ?)"
                " on conflict (tenant, key) do update set value = excluded.value",
                (self.tenant, key, value),
            )

        await self._database.write(work, again=True)
