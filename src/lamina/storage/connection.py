"""SQLite connections for many threads and processes: one writer thread, a few readers, errors in our words."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lamina.errors import NotALaminaFile, StoreBusy, StoreError, StoreFull, StoreReadOnly

T = TypeVar("T")

BUSY_MS = 30_000
_READERS = 2

# primary result codes of SQLite
_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26


class Connections:
    """Runs functions on SQLite connections, each in one transaction, off the event loop."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="lamina-write")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="lamina-read")

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one write transaction; all of it is kept, or nothing."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._run, "begin immediate", work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one consistent state of the file."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._run, "begin", work)

    async def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` outside a transaction, on the writer."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._run, None, work)

    def close(self) -> None:
        """Wait for what is running and close every connection; works while the interpreter shuts down, too."""
        self._writer.shutdown()
        self._readers.shutdown()
        for connection in self._opened:
            with suppress(sqlite3.Error):
                connection.close()
        self._opened.clear()

    def _run(self, begin: str | None, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection()
            if begin is None:
                return work(connection)
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("rollback")
                raise
            else:
                return result
        except sqlite3.Error as error:
            raise self.named(error) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            for pragma in self._pragmas():
                connection.execute(pragma)
            self._local.connection = connection
            self._opened.append(connection)
        return connection

    def _pragmas(self) -> tuple[str, ...]:
        return (
            f"pragma busy_timeout = {BUSY_MS}",
            f"pragma synchronous = {'full' if self._durable else 'normal'}",
            "pragma foreign_keys = on",
            "pragma secure_delete = on",
            "pragma temp_store = memory",
            "pragma cache_size = -16000",
        )

    def named(self, error: sqlite3.Error) -> StoreError:
        """A driver's error as one of ours."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        where = f"{self.path}: {error}"
        if code in {_BUSY, _LOCKED}:
            return StoreBusy(f"{where}; other writers held the file for {BUSY_MS // 1000} s, try again")
        if code == _FULL:
            return StoreFull(f"{where}; free some space, nothing was changed")
        if code in {_READONLY, _CANTOPEN}:
            return StoreReadOnly(f"{where}; the file and its folder must exist and be writable")
        if code == _NOTADB:
            return NotALaminaFile(f"{where}; give the path of a Lamina file, or of a new one")
        if code == _CORRUPT:
            return StoreError(f"{where}; the file is damaged: restore a backup, or try `lamina repair`")
        if code == _IOERR:
            return StoreError(f"{where}; the disk could not be read or written, nothing was changed")
        return StoreError(where)


def rows(connection: sqlite3.Connection, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> list[Any]:
    return connection.execute(sql, values).fetchall()
