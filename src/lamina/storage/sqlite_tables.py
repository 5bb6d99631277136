"""What every part of the SQLite store stands on: its connections, and the rows that several parts touch."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lamina.errors import NotFound, StoreError
from lamina.policy import records
from lamina.ports import MessageRow
from lamina.storage.connection import Connections, rows
from lamina.storage.shared import whole_summaries
from lamina.storage.sqlite_rows import MESSAGE, SESSION, SUMMARY, message_row, session_value, summary_row
from lamina.storage.sqlite_words import indexed, owner_token, words_of
from lamina.types import Session, Summary


class SqliteTables:
    """One tenant's tables in one SQLite file."""

    def __init__(self, path: str | Path, *, tenant: str = "default", durable: bool = False) -> None:
        self.tenant = tenant
        self.path = Path(path)
        self._connections = Connections(self.path, durable=durable)

    def _session(self, connection: sqlite3.Connection, session_id: str) -> Session | None:
        found = connection.execute(
            f"select {SESSION} from sessions where tenant = ? and id = ?", (self.tenant, session_id)
        ).fetchone()
        return None if found is None else session_value(found)

    def _require_session(self, connection: sqlite3.Connection, session_id: str) -> Session:
        found = self._session(connection, session_id)
        if found is None:
            raise NotFound(f"no session {session_id!r}")
        return found

    def _raw_messages(self, connection: sqlite3.Connection, session_id: str) -> list[MessageRow]:
        sql = f"select {MESSAGE} from messages where tenant = ? and session_id = ? order by seq"
        return [message_row(row) for row in rows(connection, sql, (self.tenant, session_id))]

    def _insert_summary(self, connection: sqlite3.Connection, summary: Summary) -> None:
        """Store a summary; one with a known id takes its own place again."""
        row = records.encoded(summary)
        if not self._unindex_summary(connection, row.id):
            raise StoreError(f"summary {row.id} is damaged; `repair` writes it again from the log")
        connection.execute(
            f"insert into summaries (tenant, {SUMMARY}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, id) do update set version = excluded.version, first = excluded.first,"
            " last = excluded.last, status = excluded.status, folded_into = excluded.folded_into,"
            " record = excluded.record, digest = excluded.digest",
            (self.tenant, row.id, row.user_id, row.session_id, row.kind, row.layer, row.version, row.first, row.last,
             row.status, row.folded_into, row.record, row.digest),
        )  # fmt: skip
        self._index_summary(connection, row.id)

    def _index_summary(self, connection: sqlite3.Connection, summary_id: str) -> None:
        """Make a live summary findable by its words."""
        for place, summary in self._live_summary(connection, summary_id):
            connection.execute(
                "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
                (place, self._owner(summary.user_id), indexed(summary.text)),
            )

    def _unindex_summary(self, connection: sqlite3.Connection, summary_id: str) -> bool:
        """Take a summary out of the word index; False if it cannot be read, so that its words are not known."""
        live = connection.execute(
            "select count(*) from summaries where tenant = ? and id = ? and status = 'live'", (self.tenant, summary_id)
        ).fetchone()[0]
        found = list(self._live_summary(connection, summary_id))
        for place, summary in found:
            connection.execute(
                "insert into summary_words (summary_words, rowid, owner, body) values ('delete', ?, ?, ?)",
                (place, self._owner(summary.user_id), indexed(summary.text)),
            )
        return len(found) == int(live)

    def _live_summary(self, connection: sqlite3.Connection, summary_id: str) -> Iterator[tuple[int, Summary]]:
        found = rows(
            connection,
            f"select place, {SUMMARY} from summaries where tenant = ? and id = ? and status = 'live'",
            (self.tenant, summary_id),
        )
        for place, *row in found:
            for summary in whole_summaries([summary_row(row)]):
                yield place, summary

    def _reindex_summaries(self, connection: sqlite3.Connection) -> None:
        connection.execute("insert into summary_words (summary_words) values ('delete-all')")
        live = rows(connection, f"select tenant, place, {SUMMARY} from summaries where status = 'live'")
        for tenant, place, *row in live:
            for summary in whole_summaries([summary_row(row)]):
                connection.execute(
                    "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
                    (place, owner_token(tenant, summary.user_id), indexed(summary.text)),
                )

    def _reindex_messages(self, connection: sqlite3.Connection) -> None:
        connection.execute("insert into message_words (message_words) values ('delete-all')")
        for tenant, user_id in rows(connection, "select distinct tenant, user_id from sessions"):
            owner = owner_token(tenant, user_id)
            found = connection.execute(
                f"select place, {', '.join('messages.' + name for name in MESSAGE.split(', '))} from messages"
                " join sessions on sessions.tenant = messages.tenant and sessions.id = session_id"
                " where messages.tenant = ? and user_id = ?",
                (tenant, user_id),
            )
            connection.executemany(
                "insert into message_words (rowid, owner, body) values (?, ?, ?)",
                ((place, owner, indexed(words_of(message_row(row)))) for place, *row in found.fetchall()),
            )

    def _generation(self, connection: sqlite3.Connection) -> int:
        """Where the versions of a new session begin: past those of all that were erased.

        So work that was under way on a session comes too late for another that has taken its id.
        """
        found = connection.execute(
            "select value from settings where tenant = ? and key = 'generation'", (self.tenant,)
        ).fetchone()
        return 0 if found is None else int(found[0])

    def _owner(self, user_id: str) -> str:
        return owner_token(self.tenant, user_id)
