"""How far each user's memory has changed, so that others who have read it know what to read again."""

import sqlite3
from collections.abc import Iterable

from lamina.ports import ChangedSession, Changes
from lamina.storage.connection import rows
from lamina.storage.sqlite_tables import SqliteTables


class ChangeTables(SqliteTables):
    """Counts the changes of each user's memory."""

    async def changes(self, user_id: str, since: int) -> Changes:
        def work(connection: sqlite3.Connection) -> Changes:
            count, cuts = self._counted(connection, user_id)
            if count <= since:
                return Changes(count=count, cuts=cuts, sessions=())
            found = rows(
                connection,
                "select id, messages from sessions where tenant = ? and user_id = ? and changed > ? order by +id",
                (self.tenant, user_id, since),
            )
            return Changes(count=count, cuts=cuts, sessions=tuple(ChangedSession(*row) for row in found))

        return await self._connections.read(work)

    def _counted(self, connection: sqlite3.Connection, user_id: str) -> tuple[int, int]:
        """The count and the cuts of a user's memory."""
        found = connection.execute(
            "select count, cuts from changes where tenant = ? and user_id = ?", (self.tenant, user_id)
        ).fetchone()
        if found is not None:
            return found[0], found[1]
        begin = self._beginning(connection)
        return begin, begin

    def _beginning(self, connection: sqlite3.Connection) -> int:
        """Where the counts of a new user begin: past those of all that were forgotten.

        So whoever has read a user's memory sees that it has changed when the user is forgotten, and also when they
        have come back, though nothing is kept of them.
        """
        found = connection.execute(
            "select value from settings where tenant = ? and key = 'changes'", (self.tenant,)
        ).fetchone()
        return 0 if found is None else int(found[0])

    def _changed(self, connection: sqlite3.Connection, user_id: str) -> int:
        """Note that something was added to a user's memory, or stands otherwise in it; the new count."""
        found = rows(
            connection,
            "update changes set count = count + 1 where tenant = ? and user_id = ? returning count",
            (self.tenant, user_id),
        )
        if found:
            return int(found[0][0])
        begin = self._beginning(connection)
        connection.execute(
            "insert into changes (tenant, user_id, count, cuts) values (?, ?, ?, ?)",
            (self.tenant, user_id, begin + 1, begin),
        )
        return begin + 1

    def _cut(self, connection: sqlite3.Connection, user_id: str, sessions: Iterable[str] = ()) -> None:
        """Note that words were taken away or rewritten, and in which sessions messages were."""
        connection.execute(
            "update changes set count = count + 1, cuts = cuts + 1 where tenant = ? and user_id = ?",
            (self.tenant, user_id),
        )
        connection.executemany(
            "update sessions set changed = coalesce("
            "(select count from changes where tenant = :tenant and user_id = :user), changed)"
            " where tenant = :tenant and user_id = :user and id = :id",
            [{"tenant": self.tenant, "user": user_id, "id": session_id} for session_id in sessions],
        )

    def _forget_changes(self, connection: sqlite3.Connection, user_id: str) -> None:
        """Keep nothing of a user, but have all counts of users to come begin past theirs."""
        key = (self.tenant, user_id)
        for table in ("vectors", "embedded"):
            connection.execute(f"delete from {table} where tenant = ? and user_id = ?", key)
        for seen in rows(connection, "delete from changes where tenant = ? and user_id = ? returning count, cuts", key):
            connection.execute(
                "insert into settings (tenant, key, value) values (?, 'changes', ?)"
                " on conflict (tenant, key) do update set value = excluded.value",
                (self.tenant, str(max(self._beginning(connection), *seen) + 1)),
            )
