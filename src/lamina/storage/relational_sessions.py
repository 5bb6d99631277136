"""Sessions, milestones and settings."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from lamina.protocols.store import Newest
from lamina.storage.relational_log import LogTables
from lamina.storage.relational_rows import MESSAGE, SESSION, message_row, session_value, to_us
from lamina.storage.shared import behind, escaped, fitting, stale, whole_messages
from lamina.storage.transaction import Row, Transaction
from lamina.values.message import Json
from lamina.values.session import Milestone, Session, Status

_PAGE = 500  # rows that are looked at in one go
_SESSION, _MESSAGE = SESSION.split(", "), MESSAGE.split(", ")
_METADATA = len(_SESSION) + _MESSAGE.index("metadata")


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

    async def newest_messages(self, ids: Sequence[str]) -> list[Newest]:
        where = "s.id in (select value from json_each(:ids)) order by s.id"
        return _newest(await self._database.read(lambda tx: self._ends(tx, where, {"ids": tx.listed(ids)})))

    async def newest_messages_under(
        self,
        prefix: str,
        *,
        after: str = "",
        has: Sequence[str] = (),
        fits: Callable[[Json], bool] | None = None,
        limit: int,
    ) -> list[Newest]:
        pieces = {f"has{number}": f"%{escaped(piece)}%" for number, piece in enumerate(has)}
        wanted = "".join(f" and m.metadata like :{name} escape '!'" for name in pieces)
        where = f"s.id > :after and s.id < :end{wanted} order by s.id limit :limit"
        size = limit if fits is None else max(limit, _PAGE)

        async def work(tx: Transaction) -> list[Row]:
            found: list[Row] = []
            values = {"after": max(after, prefix), "end": behind(prefix), "limit": size, **pieces}
            while len(found) < limit:
                page = await self._ends(tx, where, values)
                found += [row for row in page if fits is None or fitting(row[_METADATA], fits)]
                if len(page) < size:
                    break
                values["after"] = page[-1][0]
            return found[:limit]

        return _newest(await self._database.read(work))

    async def _ends(self, tx: Transaction, where: str, values: Mapping[str, Any]) -> list[Row]:
        columns = ", ".join([*(f"s.{name}" for name in _SESSION), *(f"m.{name}" for name in _MESSAGE)])
        return await tx.rows(
            f"select {columns} from sessions as s join messages as m on m.tenant = s.tenant"
            f" and m.session_id = s.id and m.seq = s.messages where s.tenant = :tenant and {where}",
            {"tenant": self.tenant, **values},
        )

    async def first_sessions(self, prefix: str, mark: str) -> list[str]:
        """A walk along the index that leaps over all sessions of the same beginning."""
        first = (
            "(select id from sessions where tenant = :tenant and id > {} and id < :end"
            " and messages > 0 order by id limit 1)"
        )
        at = "instr(substr(found.id, :start), :mark)"
        leap = f"case when {at} = 0 then found.id else substr(found.id, 1, :start + {at} - 2) || :behind end"
        values = {"prefix": prefix, "end": behind(prefix), "start": len(prefix) + 1, "mark": mark}
        found = await self._database.read(
            lambda tx: tx.rows(
                f"with recursive found (id) as (select {first.format(':prefix')} union all"
                f" select {first.format(leap)} from found where found.id is not null)"
                f" select id from found where {at} > 0",
                {"tenant": self.tenant, "behind": behind(mark), **values},
            )
        )
        return [row[0] for row in found]

    async def touch_sessions(self, ids: Sequence[str], at: datetime) -> None:
        async def work(tx: Transaction) -> None:
            await tx.execute(
                "update sessions set touched_us = :at where tenant = :tenant and id in (select id from sessions"
                " where tenant = :tenant and id in (select value from json_each(:ids)) order by id" + tx.ordered + ")",
                {"at": to_us(at), "tenant": self.tenant, "ids": tx.listed(ids)},
            )

        await self._database.write(work, again=True)

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
        return await self._database.read(lambda tx: self._own_milestones(tx, session_id))

    async def _own_milestones(self, tx: Transaction, session_id: str) -> list[Milestone]:
        found = await tx.rows(
            "select id, session_id, turn, title, created_at from milestones where tenant = ? and session_id = ?"
            " order by turn, id",
            (self.tenant, session_id),
        )
        return [
            Milestone(id=a, session_id=b, turn=c, title=d, created_at=datetime.fromisoformat(e))
            for a, b, c, d, e in found
        ]

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


def _newest(found: Sequence[Row]) -> list[Newest]:
    sessions = {row[0]: session_value(row[: len(_SESSION)]) for row in found}
    messages = whole_messages(message_row(row[len(_SESSION) :]) for row in found)
    return [Newest(sessions[message.session_id], message) for message in messages]
