"""SQLite connections for many threads and processes: one writer thread, a few readers, errors in our words."""

import asyncio
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

from lamina.coroutines import NEVER_WAITS
from lamina.errors import FORKED, INHERITED, NotALaminaFile, StoreBusy, StoreError, StoreFull, StoreReadOnly
from lamina.fork_gate import close_before_fork, no_fork
from lamina.storage.sqlite.sqlite_wipe import RawFile, identity
from lamina.storage.transaction import NOBODY, About, Row, Sql, Values, WordIndex, Work

T = TypeVar("T")

IN_MEMORY = ":memory:"
BUSY_MS = 30_000
_READERS = 2  # for requests
_MAINTAINERS = 3  # threads for what takes long, so that no request waits for it

PATIENCE_S = 10.0  # with others who keep old bytes in use
_PATIENT_MS = 200  # for which writers wait at once, for that reason
_WIPED = 256  # pages at once
_MODE, _NEEDS_LOG = 18, b"\x02"  # of a file of SQLite, in its header
_ENDINGS = 20  # tries to leave a file that needs no log
READ = "begin"
WRITE = "begin immediate"

_BUSY = (StoreBusy, f"other writers held the file for {BUSY_MS // 1000} s, try again")
_CANNOT_OPEN = 14  # a result code of SQLite
_READ_ONLY = (StoreReadOnly, "the file and its folder must exist and be writable")
_NAMED: Mapping[int, tuple[type[StoreError], str]] = {  # by primary result code of SQLite
    5: _BUSY,
    6: _BUSY,
    8: _READ_ONLY,
    10: (StoreError, "the disk could not be read or written, nothing was changed"),
    11: (StoreError, "the file is damaged: restore a backup, or try `lamina repair`"),
    13: (StoreFull, "free some space, nothing was changed"),
    _CANNOT_OPEN: _READ_ONLY,
    26: (NotALaminaFile, "give the path of a Lamina file, or of a new one"),
}

_inherited: set[tuple[int, int]] = set()  # files that SQLite had open when this process was forked


class Connections:
    """Runs functions on SQLite connections, each in one transaction, off the event loop."""

    def __init__(self, path: Path | None, *, durable: bool = False) -> None:
        """Without a path, the database is in the process: one connection, which one thread at a time uses."""
        self.path = path or Path(IN_MEMORY)
        self._shared = None if path is not None else _connect(IN_MEMORY, _pragmas(durable=durable))
        self._turn = threading.RLock()  # for the shared connection
        self._file = self.path.absolute()  # the process may go to another folder before a thread needs a connection
        self._place: tuple[int, int] | None = None  # the file that was opened
        self._durable = durable
        self._copied_ns: int | None = None  # when the log was last written, of what was copied
        self._local = threading.local()
        self._lock = threading.Lock()
        self._closed = False
        self.is_accepted = False  # as a memory: a file that is refused stays as it is
        self._uses_wal = False
        self._opened_anew = 0  # times that all connections were closed, to be opened again
        self._process = os.getpid()
        self._opened: list[tuple[weakref.ref[threading.Thread], sqlite3.Connection]] = []
        self.writer = ThreadPoolExecutor(1, thread_name_prefix="lamina-write")
        self.readers = ThreadPoolExecutor(_READERS, thread_name_prefix="lamina-read")
        if self._shared is None:
            RawFile.begin(self._file)
            close_before_fork(self)
        self.maintainers = ThreadPoolExecutor(_MAINTAINERS, thread_name_prefix="lamina-maintain")

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one write transaction; all of it is kept, or nothing."""
        return await self.run(self.writer, WRITE, work)

    async def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` outside a transaction, on the writer."""
        return await self.run(self.writer, None, work)

    def lacks_log(self) -> bool:
        """Whether the file is one that needs a write-ahead log, and there is none beside it."""
        if self._shared is not None:
            return False
        try:
            mode = RawFile.of(self._file).read(_MODE, 1)
        except OSError:  # there is no file yet
            return False
        return mode == _NEEDS_LOG and not Path(f"{self._file}-wal").exists()

    # old bytes

    async def wipe(self) -> bool:
        """Leave no old bytes in unused parts of the file, nor in the write-ahead log; False if others keep them in use.

        In steps: whoever else wants to write comes in between.
        """
        if self._shared is not None:
            await self.alone(lambda connection: connection.execute("vacuum"))
            return True
        until = time.monotonic() + PATIENCE_S
        if not await self._until(until, self._empty_log):
            return False
        stained: list[int] = await self.run(self.maintainers, None, lambda _: RawFile.of(self._file).pages_to_wipe())
        if not RawFile.of(self._file).layout().readable:
            await self.alone(lambda connection: connection.execute("vacuum"))
            return await self._until(until, self._empty_log)
        for start in range(0, len(stained), _WIPED):
            pages = stained[start : start + _WIPED]
            if not await self._until(until, partial(self._wipe_pages, pages)):
                return False
        return True

    async def copy_log(self) -> None:
        """Copy what the write-ahead log has into the file, as far as nobody is kept waiting by it."""
        if self._shared is not None or self._closed:
            return
        written_ns = log_time(self._file)
        if written_ns in {None, self._copied_ns}:
            return
        self._copied_ns = written_ns
        with suppress(StoreError):  # it is only sooner than it would be
            await self.run(self.maintainers, None, lambda one: one.execute("pragma wal_checkpoint(passive)").fetchone())

    async def _until(self, until: float, step: Callable[[sqlite3.Connection], bool]) -> bool:
        """Try a step of the writer again and again, with room for others between; whether it was done in time."""
        for attempt in count():
            if await self.alone(step):
                return True
            if time.monotonic() > until:
                break
            await pause(min(0.25, 0.01 * 2**attempt))
        return False

    def _empty_log(self, connection: sqlite3.Connection) -> bool:
        """Copy the log into the file and cut it to nothing; False if somebody reads from it, or writes."""
        connection.execute(f"pragma busy_timeout = {_PATIENT_MS}")
        try:
            (busy, *_) = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        except sqlite3.OperationalError as error:
            if not isinstance(self.translate(error), StoreBusy):
                raise
            return False
        finally:
            connection.execute(f"pragma busy_timeout = {BUSY_MS}")
        return not busy

    def _wipe_pages(self, pages: list[int], connection: sqlite3.Connection) -> bool:
        """Write zeros over unused parts of pages, while nobody can write; False if somebody was quicker.

        Other connections, also this thread's own, may have such pages at hand and would write them as they were. So it
        ends with a change of another connection's, after which each reads them again.
        """
        if not self._empty_log(connection):
            return False
        with closing(sqlite3.connect(self._file, timeout=_PATIENT_MS / 1000, isolation_level=None)) as guard:
            try:
                guard.execute(WRITE)
            except sqlite3.OperationalError as error:
                if not isinstance(self.translate(error), StoreBusy):
                    raise
                return False
            log = Path(f"{self._file}-wal")
            if log.exists() and log.stat().st_size:  # somebody has written since
                guard.execute("rollback")
                return False
            RawFile.of(self._file).clean(pages)
            (version,) = guard.execute("pragma user_version").fetchone()
            guard.execute(f"pragma user_version = {version}")
            guard.execute("commit")
        return True

    async def run(self, executor: ThreadPoolExecutor, begin: str | None, work: Callable[[sqlite3.Connection], T]) -> T:
        """On an event loop, in another thread; without one there is nothing to keep free, so right here."""
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again")
        if os.getpid() != self._process:
            raise StoreError(FORKED.format(self.path))
        try:
            running = asyncio.get_running_loop().run_in_executor(executor, self._run, begin, work)
        except RuntimeError:  # no loop here, or the interpreter is shutting down and takes no more work for threads
            return self._run(begin, work)
        return await running

    def close(self) -> None:
        """Wait for what is running and close every connection; works while the interpreter shuts down, too.

        In a forked process, threads and connections are the other process's, and are left alone.
        """
        first, self._closed = not self._closed, True
        if os.getpid() != self._process:
            return
        self.writer.shutdown()
        self.readers.shutdown()
        self.maintainers.shutdown()
        self._close_connections()
        if first and self.is_accepted:
            self._end_log_after_others()
        if self._shared is not None:
            with self._turn:
                self._shared.close()
        elif first:
            RawFile.end(self._file)

    def _close_connections(self) -> None:
        while self._opened:
            _, connection = self._opened.pop()
            with suppress(sqlite3.Error), closing(connection):
                if not self._opened and self.is_accepted and self._is_in_place():
                    _end_log(connection)

    def close_for_fork(self) -> None:
        """Close every connection while none is in use; whoever needs one next opens it again."""
        if os.getpid() == self._process and not self._closed:
            self._opened_anew += 1
            self._close_connections()

    def was_left_open(self) -> None:
        """SQLite believes here that it has the locks of the process that forked this one: leave the file alone."""
        if self._place is not None:
            _inherited.add(self._place)

    def use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to a write-ahead log; several processes may be at it at once, and SQLite does not wait here."""
        self._uses_wal = True
        for attempt in range(200):
            try:
                connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if not isinstance(self.translate(error), StoreBusy):
                    raise
                time.sleep(0.01 + attempt / 1000)
            else:
                return
        raise StoreBusy(f"{self.path}: other processes kept the file locked while it was opened, try again")

    def _end_log_after_others(self) -> None:
        """Two that close at once keep each other from ending the log; whoever sees that it is gone does it then."""
        for _ in range(_ENDINGS):
            if not self.lacks_log() or not self._is_in_place():
                return
            with suppress(sqlite3.Error), closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
                _end_log(connection)

    def _run(self, begin: str | None, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_place()
        try:
            with self._turn if self._shared is not None else no_fork():
                result = _transact(self._shared or self._connection(), begin, work)
        except sqlite3.Error as error:
            self._check_place()
            raise self.translate(error) from error
        if begin != READ:
            self._check_place()  # it may have gone while this was written
        return result

    def _is_in_place(self) -> bool:
        """Whether the file that was opened still has its name; SQLite would end the log of one that took it."""
        return self._place == _place(self._file)

    def _check_place(self) -> None:
        """See that the file that was opened is still the one of that name: what is written elsewhere would be lost."""
        if self._place is not None and not self._is_in_place():
            raise StoreError(
                f"{self.path}: the file was deleted, moved or replaced while it was open, and what is written now would"
                " be lost; put it back, or close this memory and open it again"
            )

    def _connection(self) -> sqlite3.Connection:
        connection, opened_anew = getattr(self._local, "connection", (None, 0))
        if connection is None or opened_anew != self._opened_anew:
            self._make_private()
            if _place(self._file) in _inherited:
                raise StoreError(INHERITED.format(self.path))
            connection = _connect(self._file, _pragmas(durable=self._durable))
            if self._uses_wal:
                self.use_wal(connection)  # it was ended before a fork
            self._local.connection = (connection, self._opened_anew)
            self._place = self._place or _place(self._file)
            self._keep(connection)
        return connection

    def _make_private(self) -> None:
        """Make a file that is not there yet for its owner alone; SQLite gives the files beside it the same rights."""
        with suppress(OSError):  # what cannot be made is told of by SQLite
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL, 0o600))

    def _keep(self, connection: sqlite3.Connection) -> None:
        """Remember a connection to close it; those of threads that are gone are closed now."""
        with self._lock:
            gone = [(t, c) for t, c in self._opened if (thread := t()) is None or not thread.is_alive()]
            self._opened = [entry for entry in self._opened if entry not in gone]
            self._opened.append((weakref.ref(threading.current_thread()), connection))
        for _, unused in gone:
            unused.close()

    def translate(self, error: sqlite3.Error) -> StoreError:
        """A driver's error as one of ours."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind, advice = _NAMED.get(code, (StoreError, ""))
        if code == _CANNOT_OPEN and (reason := self._why_not_opened()):
            return kind(reason)
        return kind("; ".join(filter(None, (f"{self.path}: {error}", advice))))

    def _why_not_opened(self) -> str:
        """What is wrong with the path, if it can be seen."""
        if self._file.is_dir():
            return f"{self.path} is a folder, not a file; give the path of a file in it, such as {self.path}/lamina.db"
        if not self._file.parent.is_dir():
            return f"{self.path} cannot be made: there is no folder {self.path.parent}; make it, or give another path"
        return ""


class SqliteDatabase:
    """The connections for one tenant. With `maintenance`, reads take long, and keep no request waiting."""

    def __init__(self, connections: Connections, tenant: str, words: WordIndex, *, maintenance: bool = False) -> None:
        self._connections = connections
        self._readers = connections.maintainers if maintenance else connections.readers
        self._tenant, self._words = tenant, words

    def read(self, work: Work[T]) -> Coroutine[Any, Any, T]:
        return self._connections.run(self._readers, READ, partial(self._finish, work))

    def write(self, work: Work[T], about: About = NOBODY) -> Coroutine[Any, Any, T]:  # noqa: ARG002 - one writer at a time
        return self._connections.run(self._connections.writer, WRITE, partial(self._finish, work))

    def _finish(self, work: Work[T], connection: sqlite3.Connection) -> T:
        """The result of work in which nothing ever waits."""
        running = cast("Coroutine[Any, Any, T]", work(SqliteTransaction(connection, self._tenant, self._words)))
        try:
            running.send(None)  # in this frame: every transaction passes here
        except StopIteration as stop:
            return cast("T", stop.value)
        running.close()
        raise RuntimeError(NEVER_WAITS)


async def pause(seconds: float) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        time.sleep(seconds)  # noqa: ASYNC251 - there is no loop to hold up
    else:
        await asyncio.sleep(seconds)


def _end_log(connection: sqlite3.Connection) -> None:
    """Make the file one that needs no log; while others have it open, SQLite refuses, and the last one does it.

    So a file that needs a log, with none beside it, is a copy made while a memory was open.
    """
    connection.execute("pragma busy_timeout = 0")
    connection.execute("pragma journal_mode = delete")


def log_time(file: Path) -> int | None:
    """When the write-ahead log of a file was last written to; None if there is nothing in it, or no log."""
    try:
        written = Path(f"{file}-wal").stat()
    except OSError:
        return None
    return written.st_mtime_ns if written.st_size else None


def _place(file: Path) -> tuple[int, int] | None:
    """Which file has that name."""
    try:
        return identity(file.stat())
    except OSError:  # it is gone, or a part of its path is no folder any more
        return None


def _connect(file: Path | str, pragmas: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    for pragma in pragmas:
        connection.execute(pragma)
    return connection


def _pragmas(*, durable: bool) -> tuple[str, ...]:
    return (
        f"pragma busy_timeout = {BUSY_MS}",
        f"pragma synchronous = {'full' if durable else 'normal'}",
        "pragma foreign_keys = on",
        "pragma secure_delete = on",
        "pragma temp_store = memory",
        "pragma cache_size = -16000",
    )


def _transact(connection: sqlite3.Connection, begin: str | None, work: Callable[[sqlite3.Connection], T]) -> T:
    if begin is None:
        return work(connection)
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("commit")
    except BaseException as error:
        with suppress(sqlite3.Error):
            connection.execute("rollback")
        damaged = isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)
        if not damaged or connection.text_factory is not str:
            raise
    else:
        return result
    # some text has damaged bytes: they are marked, so that its row, and no other, fails its digest
    connection.text_factory = _decode
    try:
        return _transact(connection, begin, work)
    finally:
        connection.text_factory = str


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


class SqliteTransaction:
    """A transaction on SQLite, where every statement is done as soon as it is asked for."""

    __slots__ = ("_connection", "tenant", "words")

    ordered = ""  # there is one writer at a time
    free = ""

    def __init__(self, connection: sqlite3.Connection, tenant: str, words: WordIndex) -> None:
        self._connection = connection
        self.tenant = tenant
        self.words = words

    async def rows(self, sql: str, values: Values = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    async def row(self, sql: str, values: Values = ()) -> Row | None:
        found: Row | None = self._connection.execute(sql, values).fetchone()
        return found

    async def one(self, sql: str, values: Values = ()) -> Row:
        found: Row = self._connection.execute(sql, values).fetchone()
        return found

    async def execute(self, sql: str, values: Values = ()) -> int:
        return self._connection.execute(sql, values).rowcount

    async def many(self, sql: str, values: Sequence[Values]) -> None:
        self._connection.executemany(sql, values)

    def pick(self, text: Sql) -> str:
        return text.sqlite

    def array(self, values: Iterable[Any]) -> str:
        return json.dumps(list(values))

    def among(self, values: str) -> str:
        return f"in (select value from json_each({values}))"

    async def insert_vectors(self, rows: Sequence[Row]) -> None:
        self._connection.executemany(
            "insert into vectors (tenant, user_id, embedder, item_id, session_id, seq, vector)"
            " values (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    async def places(self, table: str, count: int) -> Sequence[int]:
        (last,) = self._connection.execute(f"select coalesce(max(place), 0) from {table}").fetchone()
        return range(last + 1, last + 1 + count)

    async def alone_in_tenant(self) -> None:
        """There is one writer at a time."""

    async def hold_sessions(self, user_id: str) -> None:
        """There is one writer at a time."""
