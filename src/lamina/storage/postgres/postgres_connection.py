"""Transactions on PostgreSQL: one tenant each, one writer for each user, tried again where that is safe."""

import asyncio
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from lamina.errors import FORKED, StoreBusy, StoreError
from lamina.storage.postgres.postgres_errors import AGAIN, Pooled, is_lost, translate
from lamina.storage.postgres.postgres_names import Names, adapt
from lamina.storage.postgres.postgres_options import PostgresOptions
from lamina.storage.postgres.postgres_words import PostgresWords
from lamina.storage.transaction import NOBODY, About, Row, Sql, Values, WordIndex, Work

T = TypeVar("T")
Connection = psycopg.AsyncConnection[Row]

logger = logging.getLogger("lamina.storage")

HEAD = 4  # bytes before the numbers of a packed vector: its scale, which no angle depends on
_MAX_DIMENSIONS = 16_000  # of pgvector
_TRIES = 12
_PREPARED_AFTER = 5  # uses of a statement
_PORT = "5432"
_PAUSE_S, _MAX_PAUSE_S = 0.005, 0.25  # between tries to get a lock
_MAX_OWNERS = 10_000
_READ = "begin isolation level repeatable read read only"
_WRITE = "begin isolation level read committed"


class PostgresTransaction:
    """A transaction on PostgreSQL."""

    __slots__ = ("_connection", "_names", "tenant", "words")

    ordered = " for update"
    free = " for update skip locked"

    def __init__(self, connection: Connection, names: Names, tenant: str) -> None:
        self._connection = connection
        self._names = names
        self.tenant = tenant
        self.words: WordIndex = PostgresWords(tenant)

    async def _run(self, statement: str, values: Values) -> psycopg.AsyncCursor[Row]:
        return await self._connection.execute(adapt(statement, self._names.prefix), values or None)

    async def rows(self, sql: str, values: Values = ()) -> list[Row]:
        return await (await self._run(sql, values)).fetchall()

    async def row(self, sql: str, values: Values = ()) -> Row | None:
        return await (await self._run(sql, values)).fetchone()

    async def one(self, sql: str, values: Values = ()) -> Row:
        return (await self.rows(sql, values))[0]

    async def execute(self, sql: str, values: Values = ()) -> int:
        return (await self._run(sql, values)).rowcount

    async def many(self, sql: str, values: Sequence[Values]) -> None:
        if len(values) == 1:
            await self._run(sql, values[0])
        elif values:
            async with self._connection.cursor() as cursor:
                await cursor.executemany(adapt(sql, self._names.prefix), values)

    def pick(self, text: Sql) -> str:
        return text.postgres

    def array(self, values: Iterable[Any]) -> list[Any]:
        return list(values)

    def among(self, values: str) -> str:
        return f"= any({values})"

    async def insert_vectors(self, rows: Sequence[Row]) -> None:
        await self.many(
            "insert into vectors (tenant, user_id, embedder, item_id, session_id, seq, vector, meaning)"
            " values (?, ?, ?, ?, ?, ?, ?, cast(? as vector))",
            [(*row, meaning_of(row[-1])) for row in rows],
        )

    async def places(self, table: str, count: int) -> Sequence[int]:
        sequence = self._names.table(f"{table}_place")
        found = await self.rows("select nextval(cast(? as regclass)) from generate_series(1, ?)", (sequence, count))
        return [place for (place,) in found]

    async def alone_in_tenant(self) -> None:
        await self._lock(self._names.lock("tenant", self.tenant))

    async def hold_sessions(self, user_id: str) -> None:
        await self.rows(
            "select 1 from sessions where tenant = ? and user_id = ? order by id for update", (self.tenant, user_id)
        )

    async def _lock(self, key: int) -> None:
        await self.rows("select pg_advisory_xact_lock(cast(? as bigint))", (key,))


@dataclass(frozen=True, slots=True)
class Held:
    """Whose other writers wait until a transaction has ended: a user's, a session's user's, those of some items."""

    user: str | None = None
    session: str | None = None
    items: Sequence[str] = ()

    def statements(self, names: Names, tenant: str, *, wait: bool = True) -> list[str]:
        """What takes the locks, always in the same order; of a session, its user before and behind the wait for it.

        Without `wait` they say whether they got them.
        """
        take = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
        own, mine = _quote(f"{names.schema}\x1f{names.prefix}\x1f{tenant}\x1f"), f"tenant = {_quote(tenant)}"
        if self.user is not None:
            return [f"select {take}(hashtextextended({own} || {_quote(self.user)}, 0))"]
        if self.session is not None:
            session = f"from {names.table('sessions')} where {mine} and id = {_quote(self.session)}"
            lock = f"{take}(hashtextextended({own} || user_id, 0))"
            return [f"select user_id, {lock} {session}", f"select user_id {session}"]
        if self.items:
            ids = ", ".join(map(_quote, self.items))
            users = " union ".join(
                f"select hashtextextended({own} || user_id, 0) as key from {names.table(table)} where {mine}"
                f" and id in ({ids})"
                for table in ("facts", "episodes")
            )
            return [f"select {take}(key) from ({users} order by key offset 0) as held"]
        return []


class _Moved(Exception):
    """A session has become another user's between two looks at it."""


class _Taken(Exception):
    """Another transaction has the lock."""


class Turns:
    """Those of one process who want to write of the same user, one behind the other; who waits has no connection."""

    def __init__(self, pool_max: int) -> None:
        self.waiting = asyncio.Semaphore(pool_max // 2)  # connections on which the server's lock may be waited for
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._owners: dict[tuple[str, str], str] = {}

    def know(self, tenant: str, session_id: str, user_id: str) -> None:
        """Whose session it is, to wait behind the right ones; the locks themselves do not depend on it."""
        if len(self._owners) >= _MAX_OWNERS:
            self._owners.clear()
        self._owners[tenant, session_id] = user_id

    @asynccontextmanager
    async def turn(self, tenant: str, held: Held, until: float) -> AsyncIterator[None]:
        """Raises _Taken if those before take too long."""
        user = held.user if held.session is None else self._owners.get((tenant, held.session))
        if user is None:
            yield
            return
        turn = self._turns.setdefault((tenant, user), asyncio.Lock())
        try:
            await asyncio.wait_for(turn.acquire(), until - time.monotonic())
        except TimeoutError:
            raise _Taken from None
        try:
            yield
        finally:
            turn.release()

    async def may_wait(self, seconds: float) -> bool:
        """Whether a connection may be kept while the server's lock is waited for; False after so long."""
        try:
            await asyncio.wait_for(self.waiting.acquire(), seconds)
        except TimeoutError:
            return False
        return True


@dataclass(slots=True)
class _Shared:
    """What the same database for other tenants has in common with this one."""

    search_path: str
    turns: Turns
    maintenance: asyncio.Semaphore  # for reads that may take long: some of the pool is always left for others
    pool: AsyncConnectionPool[Connection] | None = None
    closed: bool = False
    process: int = field(default_factory=os.getpid)


class PostgresDatabase:
    """A pool of connections to one database, for one tenant."""

    def __init__(
        self,
        url: str,
        options: PostgresOptions,
        tenant: str,
        shared: _Shared | None = None,
        *,
        maintenance: bool = False,
    ) -> None:
        self._url = url
        self._options = options
        self._tenant = tenant
        self.names = Names(options.schema, options.prefix)
        readers = asyncio.Semaphore(max(1, options.pool_max // 2))
        self._shared = shared or _Shared(f'"{options.schema}", pg_temp', Turns(options.pool_max), readers)
        self._reading: AbstractAsyncContextManager[object] = self._shared.maintenance if maintenance else nullcontext()

    def for_tenant(self, tenant: str, *, maintenance: bool = False) -> "PostgresDatabase":
        """The same connections for another tenant, or for work that reads much."""
        return PostgresDatabase(self._url, self._options, tenant, self._shared, maintenance=maintenance)

    @property
    def search_path(self) -> str:
        return self._shared.search_path

    @search_path.setter
    def search_path(self, path: str) -> None:
        self._shared.search_path = path

    @property
    def where(self) -> str:
        """The place, without any password."""
        try:
            parts = conninfo_to_dict(self._url)
        except psycopg.Error:
            return "postgresql"
        return f"{parts.get('host') or 'localhost'}/{parts.get('dbname') or ''}"

    async def open(self) -> None:
        """Begin to keep connections."""
        threshold = self._options.prepare_threshold
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            self._url,
            min_size=self._options.pool_min,
            max_size=self._options.pool_max,
            open=False,
            timeout=self._options.connect_timeout_s,
            kwargs={"autocommit": True, "prepare_threshold": None if threshold == "auto" else threshold},
            configure=_prepare_if_kept if threshold == "auto" else None,
            name="lamina",
        )
        await pool.open()
        self._shared.pool = pool

    async def close(self) -> None:
        self._shared.closed = True
        if self._shared.pool is not None:
            pool, self._shared.pool = self._shared.pool, None
            if os.getpid() == self._shared.process:  # else the connections are another process's
                await pool.close()

    async def connect(self) -> Connection:
        """A connection outside of the pool, which commits each statement."""
        seconds = max(2, round(self._options.connect_timeout_s))
        try:
            return await psycopg.AsyncConnection.connect(
                self._direct_url(), autocommit=True, connect_timeout=seconds, prepare_threshold=None
            )
        except psycopg.Error as error:
            raise translate(error, self.where) from error

    def _direct_url(self) -> str:
        if self._options.direct is None:
            return self._url
        places = [place.partition(":") for place in self._options.direct.split(",")]
        hosts, ports = ",".join(host for host, _, _ in places), ",".join(port or _PORT for _, _, port in places)
        return make_conninfo(self._url, host=hosts, port=ports)

    async def own_connection(self) -> Connection:
        """The same, sure to stay with one process of the server: what is set on it meets nobody else."""
        connection = await self.connect()
        try:
            stays = self._options.direct is not None or not await _is_pooled(connection)
        except BaseException as error:  # also when whoever listens is told to stop
            await connection.close()
            if isinstance(error, psycopg.Error):
                raise translate(error, self.where) from error
            raise
        if not stays:
            await connection.close()
            raise Pooled(self.where)
        return connection

    # work

    async def read(self, work: Work[T]) -> T:
        """Run `work` on one consistent state."""
        self._check_process()
        async with self._reading:
            return await self._again(_READ, work, Held(), again=True)

    async def write(self, work: Work[T], about: About = NOBODY) -> T:
        """Run `work` after all that is being written of the same user; all of it is kept, or nothing."""
        self._check_process()
        held = Held(about.user, about.session, about.items)
        until = time.monotonic() + self._options.lock_timeout_s
        try:
            async with self._shared.turns.turn(self._tenant, held, until):
                return await self._again(_WRITE, work, held, again=about.again)
        except _Taken:
            raise self._too_long() from None

    def _too_long(self) -> StoreBusy:
        seconds = self._options.lock_timeout_s
        return StoreBusy(f"{self.where}: other writers of the same user were in the way for {seconds:g} s, try again")

    def _check_process(self) -> None:
        if os.getpid() != self._shared.process:
            raise StoreError(FORKED.format(self.where))

    async def _again(self, begin: str, work: Work[T], held: Held, *, again: bool) -> T:
        """Run it until it is done: anew after another transaction came first, or a connection was lost in time."""
        until = time.monotonic() + self._options.connect_timeout_s
        for attempt in range(_TRIES):
            try:
                return await self._behind(begin, work, held, again=again)
            except _Moved:
                continue
            except psycopg.Error as error:
                lost = is_lost(error)
                if not lost and error.sqlstate not in AGAIN:
                    raise translate(error, self.where) from error
                if attempt == _TRIES - 1 or time.monotonic() > until:
                    raise translate(error, self.where) from error
                logger.info("transaction_again", extra={"state": error.sqlstate, "attempt": attempt})
                if lost and self._shared.pool is not None:
                    await self._shared.pool.check()
            await asyncio.sleep(min(1.0, 0.005 * 2**attempt) * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
        raise StoreBusy(f"{self.where}: a session changed hands again and again, try again")

    async def _behind(self, begin: str, work: Work[T], held: Held, *, again: bool) -> T:
        """Run it behind others who hold the lock. Between tries the connection is given back, so that they take few."""
        until, pause, waits = time.monotonic() + self._options.lock_timeout_s, _PAUSE_S, False
        while True:
            try:
                return await self._once(begin, work, held, again=again, wait=waits)
            except _Taken:
                if time.monotonic() > until:
                    raise self._too_long() from None
            finally:
                if waits:
                    self._shared.turns.waiting.release()
            waits = await self._shared.turns.may_wait(pause)
            pause = min(2 * pause, _MAX_PAUSE_S)

    async def _once(self, begin: str, work: Work[T], held: Held, *, again: bool, wait: bool) -> T:
        pool = self._shared.pool
        if pool is None:
            state = "closed; open it again" if self._shared.closed else "not open; call `open` first"
            raise StoreError(f"{self.where} is {state}")
        try:
            connection = await pool.getconn()
        except PoolTimeout as error:
            raise StoreBusy(
                f"{self.where}: no connection for {self._options.connect_timeout_s:g} s; the server is down, or all"
                f" {self._options.pool_max} connections are in use: raise lamina_pool_max"
            ) from error
        committing = False
        try:
            locks = held.statements(self.names, self._tenant, wait=wait)
            begun = await connection.execute(self._beginning(begin, locks).encode(), prepare=False)
            await self._check(held, (await _results(begun))[-len(locks) :] if locks else [])
            result = await work(PostgresTransaction(connection, self.names, self._tenant))
            committing = True
            await connection.execute(b"commit", prepare=False)
        except BaseException as error:
            if committing and not again and isinstance(error, psycopg.Error) and is_lost(error):
                raise StoreError(
                    f"{self.where}: the connection was lost while a change was being kept; it may or may not have been:"
                    " look before you try again (an append with an idempotency key is safe to repeat)"
                ) from error
            if not connection.closed:
                with suppress(psycopg.Error):
                    await connection.execute(b"rollback", prepare=False)
            raise
        else:
            return result
        finally:
            await pool.putconn(connection)

    async def _check(self, held: Held, results: Sequence[list[Row]]) -> None:
        """See that the locks were taken, and that the user whose was taken is still the session's."""
        if held.session is not None:
            before, behind = results
            for user_id, *_ in before:
                self._shared.turns.know(self._tenant, held.session, user_id)
            if [user_id for user_id, _ in before] != [user_id for (user_id,) in behind]:
                raise _Moved
        if any(value is False for rows in results for row in rows for value in row):
            raise _Taken

    def _beginning(self, begin: str, locks: Sequence[str]) -> str:
        """Everything that holds for one transaction only, in one message: pools between us and the server may share."""
        options = self._options
        settings = {
            "lamina.tenant": self._tenant,
            "search_path": self.search_path,
            "statement_timeout": f"{round(options.statement_timeout_s * 1000)}ms",
            "lock_timeout": f"{round(options.lock_timeout_s * 1000)}ms",
        }
        if options.role is not None:
            settings["role"] = options.role
        chosen = ", ".join(f"set_config({_quote(name)}, {_quote(value)}, true)" for name, value in settings.items())
        return "; ".join([begin, f"select {chosen}", *locks])


async def _is_pooled(connection: Connection) -> bool:
    """Whether a pool is between: it gives its clients numbers of its own, not those of the server's processes."""
    found = await (await connection.execute("select pg_backend_pid()")).fetchone()
    return found != (connection.info.backend_pid,)


async def _prepare_if_kept(connection: Connection) -> None:
    """Prepare statements where they stay: not in a pool, which may give the next transaction another connection."""
    if not await _is_pooled(connection):
        connection.prepare_threshold = _PREPARED_AFTER


async def _results(begun: psycopg.AsyncCursor[Row]) -> list[list[Row]]:
    results = [await begun.fetchall() if begun.description else []]
    while begun.nextset():
        results.append(await begun.fetchall() if begun.description else [])
    return results


def _quote(text: str) -> str:
    if "\0" in text:
        raise psycopg.DataError("text cannot have NUL (0x00) characters")
    return sql.Literal(text).as_string(None)


def meaning_of(vector: bytes | None) -> str | None:
    """The numbers of a packed vector as PostgreSQL reads them; None if there are none to compare."""
    numbers = memoryview(vector or b"")[HEAD:].cast("b").tolist()
    return f"[{','.join(map(str, numbers))}]" if 0 < len(numbers) <= _MAX_DIMENSIONS and any(numbers) else None
