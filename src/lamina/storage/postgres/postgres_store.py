"""The PostgreSQL store: any number of processes, one writer for each user, tenants apart by row-level security."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from lamina.errors import NotFound
from lamina.storage import integrity_sql, vectors_sql
from lamina.storage.postgres.postgres_connection import HEAD, Connection, PostgresDatabase, meaning_of
from lamina.storage.postgres.postgres_errors import Pooled, translate
from lamina.storage.postgres.postgres_listening import Listener
from lamina.storage.postgres.postgres_migrations import grants, migrate
from lamina.storage.postgres.postgres_names import TABLES
from lamina.storage.postgres.postgres_options import PostgresOptions, split_url
from lamina.storage.postgres.postgres_words import PostgresWords
from lamina.storage.relational_store import RelationalStore
from lamina.storage.transaction import About, Transaction
from lamina.values.receipt import Scrub
from lamina.values.report import Problem

logger = logging.getLogger("lamina.storage")

_REMEMBERED_S = 60.0  # how long it is known whether a user has an index
_DENIED = "permission denied"
_LOOKS = 10  # for others that still see what was deleted: some 3 s
_NEXT_TRANSACTION = "select cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) % 4294967296"
_SEEN = """
select exists (select 1 from (
    select backend_xmin as xid from pg_stat_activity where pid <> pg_backend_pid()
      and (datname = current_database() or datname is null) and backend_type is distinct from 'autovacuum worker'
    union all select xmin from pg_replication_slots
    union all select transaction from pg_prepared_xacts where database = current_database()
  ) as held
  where (cast(cast(xid as text) as bigint) - %(before)s + 4294967296) %% 4294967296 >= 2147483648)
"""  # numbers of transactions go round: those of the half before a number precede it


class Common:
    """What stores for several tenants have in common: connections, and who hears of work."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        rest, given = split_url(url)
        self.options = PostgresOptions(**{**given, **options})
        self.server = PostgresDatabase(rest, self.options, "")
        self.listener = Listener(self.server.own_connection, self.server.names.channel)
        self.bypasses = False  # row-level security


class PostgresStore(RelationalStore):
    """One tenant's memory in a PostgreSQL database.

    Options are those of `PostgresOptions`, by name or as parameters of the URL: `?lamina_schema=memory`.
    """

    inline = False

    def __init__(
        self,
        url: str,
        *,
        tenant: str = "default",
        common: Common | None = None,
        maintenance: bool = False,
        **options: Any,
    ) -> None:
        """With what another store has in `common`, that one opens and closes it."""
        self._borrowed = common is not None
        self._common = common or Common(url, options)
        self.options = self._common.options
        self.clean: Scrub = "rewritten" if self.options.scrub == "full" else "vacuumed"
        self._server = self._common.server.for_tenant(tenant, maintenance=maintenance)
        self._index = PostgresWords(tenant)
        self._indexed: dict[str, tuple[float, bool]] = {}
        super().__init__(self._server, tenant=tenant, all_tenants=self._server.for_tenant("*"))

    def for_tenant(self, tenant: str, *, maintenance: bool = False) -> "PostgresStore":
        return PostgresStore("", tenant=tenant, common=self._common, maintenance=maintenance)

    @property
    def bypasses_row_security(self) -> bool:
        """Whether the role is not restrained by policies, so that queries alone keep tenants apart."""
        return self._common.bypasses

    def grants(self, role: str) -> str:
        """What the tables' owner runs so that another role may use this store."""
        return grants(role, self.options.schema, self.options.prefix)

    async def open(self) -> None:
        if self._borrowed:
            return
        await migrate(self._server)
        await self._server.open()
        (self._common.bypasses,) = await self._server.read(
            lambda tx: tx.one("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")
        )
        if self._common.bypasses:
            logger.warning("row_security_bypassed", extra={"reason": "the role is superuser or has BYPASSRLS"})
        if await self.setting("words") == "outdated":
            await self._rebuild_outdated_words()

    async def _rebuild_outdated_words(self) -> None:
        """Index the words of all tenants again, which were indexed by other rules; this one last, since it is asked."""
        for tenant in sorted(await self.tenants(), key=lambda name: name == self.tenant):
            store = self.for_tenant(tenant)
            if await store.setting("words") == "outdated":
                await store.rebuild()
                await store.put_setting("words", "current")

    async def close(self) -> None:
        if self._borrowed:
            return
        await self._common.listener.close()
        await self._server.close()

    async def wait_for_work(self, seconds: float) -> bool:
        return await self._common.listener.wait(self.tenant, seconds)

    # vectors

    async def nearest(self, user_id: str, embedder: str, vector: bytes, limit: int) -> list[str]:
        """The items whose vectors are most alike; exact, unless `index_user` was called for this user."""
        meaning = meaning_of(vector)
        if meaning is None or limit < 1:
            return []
        size = len(vector)
        if await self._has_index(user_id, embedder):
            return await self._nearly_nearest(user_id, embedder, meaning, size, limit)
        found = await self._server.read(
            lambda tx: tx.rows(
                "with mine as materialized (select item_id, meaning <=> cast(:meaning as vector) as apart from vectors"
                " where tenant = :tenant and user_id = :user and embedder = :embedder and octet_length(vector) = :size"
                " and meaning is not null) select item_id from mine order by apart, item_id limit :limit",
                {"meaning": meaning, "tenant": self.tenant, "user": user_id, "embedder": embedder, "size": size,
                 "limit": limit},
            )
        )  # fmt: skip
        return [item_id for (item_id,) in found]

    async def _nearly_nearest(self, user_id: str, embedder: str, meaning: str, size: int, limit: int) -> list[str]:
        """By the user's own index, whose condition the query must repeat word by word.

        To sort what the key finds is ruled out: with old statistics the server takes the user for one with few items.
        """

        async def work(tx: Transaction) -> list[str]:
            breadth = min(1000, max(100, 2 * limit))
            await tx.rows(
                "select set_config('hnsw.ef_search', ?, true), set_config('enable_sort', 'off', true)", (str(breadth),)
            )
            mine = _literally(self.tenant, user_id, embedder, size)
            apart = f"(meaning::vector({size - HEAD})) <=> cast(:meaning as vector)"
            found = await tx.rows(
                f"select item_id from (select item_id, {apart} as apart from vectors where {mine}"
                f" order by {apart} limit :limit) as nearest order by apart, item_id",
                {"meaning": meaning, "limit": limit},
            )
            return [item_id for (item_id,) in found]

        return await self._server.read(work)

    async def embedders(self) -> dict[str, int]:
        """The embedders that there are vectors of, and how many."""
        sql = "select embedder, count(*) from vectors where tenant = ? group by embedder order by embedder"
        found = await self._server.read(lambda tx: tx.rows(sql, (self.tenant,)))
        return {row[0]: row[1] for row in found}

    async def index_user(self, user_id: str, embedder: str) -> None:
        """Make an index of one user's vectors, for one with so many that `nearest` takes too long; it may miss a few.

        It needs the rights of the tables' owner. Other users' searches stay exact.
        """
        sizes = await self._server.read(
            lambda tx: tx.rows(
                "select octet_length(vector) from vectors where tenant = ? and user_id = ? and embedder = ?"
                " and meaning is not null group by 1 order by count(*) desc, 1 limit 1",
                (self.tenant, user_id, embedder),
            )
        )
        if not sizes:
            raise NotFound(f"user {user_id!r} has no vectors of {embedder!r}")
        (size,) = sizes[0]
        table, name = self._server.names.table("vectors"), self._index_name(user_id, embedder)
        await self._outside(
            f'drop index concurrently if exists "{self.options.schema}"."{name}"',  # one that was not finished
            f'create index concurrently "{name}" on {table} using hnsw'
            f" ((meaning::vector({size - HEAD})) vector_cosine_ops) where"
            f" {_literally(self.tenant, user_id, embedder, size)}",
        )
        self._indexed.clear()

    async def drop_user_index(self, user_id: str, embedder: str) -> None:
        """Drop what `index_user` made; searches of the user are exact again."""
        name = self._index_name(user_id, embedder)
        await self._outside(f'drop index concurrently if exists "{self.options.schema}"."{name}"')
        self._indexed.clear()

    def _index_name(self, user_id: str, embedder: str) -> str:
        name = f"{self.tenant}\0{user_id}\0{embedder}".encode()
        return f"{self.options.prefix}near_{hashlib.sha256(name).hexdigest()[:16]}"

    async def _has_index(self, user_id: str, embedder: str) -> bool:
        name = self._index_name(user_id, embedder)
        looked, there = self._indexed.get(name, (0.0, False))
        if looked + _REMEMBERED_S < time.monotonic() or not looked:
            found = await self._server.read(
                lambda tx: tx.row(
                    "select 1 from pg_class as c join pg_index as i on i.indexrelid = c.oid"
                    " join pg_namespace as n on n.oid = c.relnamespace"
                    " where n.nspname = ? and c.relname = ? and i.indisvalid",
                    (self.options.schema, name),
                )
            )
            if len(self._indexed) > 10_000:  # noqa: PLR2004 - users come and go
                self._indexed.clear()
            there = found is not None
            self._indexed[name] = (time.monotonic(), there)
        return there

    # keeping house

    async def check(self) -> list[Problem]:
        async def work(tx: Transaction) -> list[Problem]:
            return [*await self._index.problems(tx), *await integrity_sql.problems(tx)]

        return await self._server.read(work)

    async def rebuild(self, session_id: str | None = None) -> None:
        """One transaction for each user, so that nobody waits for the others."""
        if session_id is not None:
            await self._recount(session_id)
            return
        users = await self._server.read(
            lambda tx: tx.rows(
                "select user_id from sessions where tenant = :tenant union select user_id from summaries"
                " where tenant = :tenant order by 1",
                {"tenant": self.tenant},
            )
        )
        for (user_id,) in users:
            await self._reindex_user(user_id)

        async def strays(tx: Transaction) -> None:
            await self._index.drop_strays(tx)
            await vectors_sql.drop_stray_vectors(tx)

        await self._server.write(strays, About(again=True))

    async def _reindex_user(self, user_id: str) -> None:
        async def work(tx: Transaction) -> None:
            await self._index.rebuild_messages(tx, user_id)
            await self._index.rebuild_summaries(tx, user_id)

        await self._server.write(work, About(user=user_id, again=True))

    async def scrub(self) -> Scrub:
        """Vacuum the tables, or write them anew; "dead" where the role may not, or others still read what was there.

        The write-ahead log, standbys and backups are outside of what a store can reach.
        """
        how = "vacuum (full)" if self.options.scrub == "full" else "vacuum (index_cleanup on)"
        due = await self.setting("scrub")
        refused: list[str] = []
        try:
            connection = await (self._server.connect() if self.options.role is None else self._server.own_connection())
        except Pooled as error:
            return _not_scrubbed(str(error))
        try:
            connection.add_notice_handler(lambda notice: refused.append(notice.message_primary or ""))
            await self._as_role(connection)
            seen = await _still_seen(connection)
            for table in TABLES:
                await connection.execute(f"{how} {self._server.names.table(table)}".encode())
        except psycopg.Error as error:
            raise translate(error, self._server.where) from error
        finally:
            await connection.close()
        if any(_DENIED in text for text in refused):
            return _not_scrubbed("only who owns the tables may vacuum them")
        if seen:
            return _not_scrubbed("a transaction that began before still sees what was deleted")
        if due is not None:
            await self._server.write(lambda tx: self._note_scrub(tx, due), About(again=True))
        return self.clean

    async def _note_scrub(self, tx: Transaction, due: str) -> None:
        """Say how far the scrub has come, unless something was forgotten since it began."""
        mine = (self.tenant, due)
        if self.clean == "rewritten":
            await tx.execute("delete from settings where tenant = ? and key = 'scrub' and value = ?", mine)
        else:
            sql = "update settings set value = 'vacuumed' where tenant = ? and key = 'scrub' and value = ?"
            await tx.execute(sql, mine)

    async def _outside(self, *commands: str) -> None:
        """Run what cannot be in a transaction."""
        connection = await self._server.own_connection()
        try:
            await self._as_role(connection)
            await connection.execute("select set_config('search_path', %s, false)", (self._server.search_path,))
            for command in commands:
                await connection.execute(command.encode())
        except psycopg.Error as error:
            raise translate(error, self._server.where) from error
        finally:
            await connection.close()

    async def _as_role(self, connection: Connection) -> None:
        if self.options.role is not None:
            await connection.execute(sql.SQL("set role {}").format(sql.Identifier(self.options.role)))


def _not_scrubbed(reason: str) -> Scrub:
    logger.warning("scrub_refused", extra={"reason": reason})
    return "dead"


async def _still_seen(connection: Connection) -> bool:
    """Whether others see what was deleted before now, after some time in which most have ended.

    A vacuum keeps what any of them may see: transactions, prepared ones too, and standbys that say what they read.
    """
    (before,) = await (await connection.execute(_NEXT_TRANSACTION)).fetchone() or (0,)
    for attempt in range(_LOOKS):
        (seen,) = await (await connection.execute(_SEEN, {"before": before})).fetchone() or (True,)
        if not seen:
            return False
        await asyncio.sleep(min(0.5, 0.01 * 2**attempt))
    return True


def _literally(tenant: str, user_id: str, embedder: str, size: int) -> str:
    own = {"tenant": tenant, "user_id": user_id, "embedder": embedder}
    conditions = [f"{name} = {sql.Literal(value).as_string(None)}" for name, value in own.items()]
    return " and ".join([*conditions, f"octet_length(vector) = {size}"])
