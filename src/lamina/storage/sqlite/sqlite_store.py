"""The SQLite store: one file, safe with several threads and several processes; or a database in the process."""

import asyncio
import os
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

from lamina.errors import StoreError, StoreReadOnly
from lamina.storage import integrity_sql, vectors_sql
from lamina.storage.migrations import inspect, migrate, steps
from lamina.storage.relational_store import RelationalStore
from lamina.storage.sqlite.sqlite_backup import Progress, back_up
from lamina.storage.sqlite.sqlite_connection import IN_MEMORY, Connections, SqliteDatabase, pause
from lamina.storage.sqlite.sqlite_words import TABLES as WORD_TABLES
from lamina.storage.sqlite.sqlite_words import SqliteWords, merge
from lamina.storage.transaction import Transaction
from lamina.values.receipt import Scrub
from lamina.values.report import Backup, Problem

_LOOKS, _LOOK_S = 10, 0.1  # at a file that somebody may be opening or closing right now
_MERGED = 64  # pages of the word index that are written at once
_MERGED_FIRST = -_MERGED  # begins to write all of it anew


class SqliteStore(RelationalStore):
    """One tenant's memory in one SQLite file."""

    inline = True
    clean: Scrub = "overwritten"

    def __init__(
        self,
        path: str | Path,
        *,
        tenant: str = "default",
        durable: bool = False,
        connections: Connections | None = None,
        maintenance: bool = False,
    ) -> None:
        """The path `:memory:` is a database of its own in the process, gone when it is closed.

        With `connections` of another store, that one opens and closes them.
        """
        self.path = Path(path)
        self._borrowed = connections is not None
        self._connections = connections or Connections(None if path == IN_MEMORY else self.path, durable=durable)
        self._index = SqliteWords(tenant)
        database = SqliteDatabase(self._connections, tenant, self._index, maintenance=maintenance)
        super().__init__(database, tenant=tenant)

    def for_tenant(self, tenant: str, *, maintenance: bool = False) -> "SqliteStore":
        return SqliteStore(self.path, tenant=tenant, connections=self._connections, maintenance=maintenance)

    async def open(self) -> None:
        if self._borrowed:
            return
        is_lost = await self._is_log_lost()
        version = await self._connections.alone(lambda connection: inspect(connection, self.path))
        if is_lost and version == 0:
            raise StoreError(
                f"{self.path} was copied while it was in use, and is empty: its content is in {self.path.name}-wal"
                " beside the original, which is missing here; copy both, or use `lamina backup`"
            )
        if is_lost and version == steps("sqlite")[-1][0]:  # older versions of Lamina left every file so
            text = (
                f"{self.path} was copied while a memory had it open, or lost its {self.path.name}-wal: what was written"
                " last may be missing. Copy both files, or use `lamina backup`"
            )
            warnings.warn(text, stacklevel=2)
        self._connections.is_accepted = True
        if version and not os.access(self.path, os.W_OK):
            return  # it can still be read
        await self._connections.alone(self._connections.use_wal)
        await self._connections.write(lambda connection: migrate(connection, self.path))
        await self._rebuild_outdated_words()

    async def _is_log_lost(self) -> bool:
        """Whether the file needs a log that is not there; SQLite, which would make an empty one, has not seen it yet.

        While another process opens or closes the file, it looks the same for a moment.
        """
        for _ in range(_LOOKS):
            if not self._connections.lacks_log():
                return False
            await pause(_LOOK_S)
        return True

    async def _rebuild_outdated_words(self) -> None:
        """Index the words again if a migration says that they were indexed by other rules."""
        outdated = "select 1 from settings where tenant = '' and key = 'words'"

        async def work(tx: Transaction) -> None:
            if await tx.row(outdated):
                await self._index.rebuild_messages(tx)
                await self._index.rebuild_summaries(tx)
                await tx.execute("delete from settings where tenant = '' and key = 'words'")

        if await self._database.read(lambda tx: tx.row(outdated)):
            await self._database.write(work)

    async def back_up(self, target: Path, progress: Progress | None, *, overwrite: bool) -> Backup:
        """Write a backup of all tenants to a file, while others write."""
        connections = self._connections
        if self.path == Path(IN_MEMORY):
            return await connections.alone(partial(back_up, target=target, overwrite=overwrite, progress=progress))
        source = self.path.absolute()
        work = partial(back_up, source, target, overwrite=overwrite, progress=progress)
        return await connections.run(connections.maintainers, None, lambda _: work())

    async def close(self) -> None:
        if not self._borrowed:
            self._connections.close()

    async def wait_for_work(self, seconds: float) -> bool:
        """Nobody tells of work in other processes, so it is looked for again after that time.

        While there is nothing to do, what is in the write-ahead log is copied into the file: a copy of the file alone
        then has everything.
        """
        await self._connections.copy_log()
        await asyncio.sleep(seconds)
        return False

    async def check(self) -> list[Problem]:
        async def work(tx: Transaction) -> list[Problem]:
            broken = [
                Problem(kind="file", where=str(self.path), text=text, derived=False)
                for (text,) in await tx.rows("pragma integrity_check(20)")
                if text != "ok"
            ]
            strays = [
                Problem(kind="stray", where=f"{table} row {row}", text=f"refers to no {parent}", derived=False)
                for table, row, parent, _ in await tx.rows("pragma foreign_key_check")
            ]
            return [*broken, *strays, *await integrity_sql.problems(tx)]

        found = await self._database.read(work)
        with suppress(StoreReadOnly):  # the word index can only be checked where it may be written
            found += await self._database.write(self._index.problems)
        return found

    async def rebuild(self, session_id: str | None = None) -> None:
        if session_id is not None:
            await self._recount(session_id)
            return

        async def work(tx: Transaction) -> None:
            await self._index.rebuild_messages(tx)
            await self._index.rebuild_summaries(tx)
            await vectors_sql.drop_stray_vectors(tx)

        await self._database.write(work)

    async def scrub(self) -> Scrub:
        """Take what was deleted out of the word index, out of unused parts of the file and out of the log, in steps."""
        due = await self.setting("scrub")
        for table in WORD_TABLES:
            work = _MERGED_FIRST
            while await self._connections.write(partial(merge, table, work)):
                work = _MERGED
        if not await self._connections.wipe():
            return "dead"
        if due is not None:  # until then it is still due, also after a crash
            sql = "delete from settings where tenant = ? and key = 'scrub' and value = ?"
            await self._database.write(lambda tx: tx.execute(sql, (self.tenant, due)))
        return self.clean
