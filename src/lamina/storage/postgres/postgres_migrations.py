"""Numbered migrations of PostgreSQL: each in one transaction, by one process at a time."""

import re
from importlib import resources

import psycopg
from psycopg import sql

from lamina.errors import SchemaTooNew
from lamina.storage.migrations import steps
from lamina.storage.postgres.postgres_connection import Connection, PostgresDatabase
from lamina.storage.postgres.postgres_errors import translate, without_extension
from lamina.storage.postgres.postgres_names import Names

_OLDEST_CODE = re.compile(r"^-- oldest code: (\d+)$", re.MULTILINE)
_VECTOR = (
    "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"
)


async def migrate(database: PostgresDatabase) -> None:
    """Bring the schema up to date, if it is not: then no right to change it is needed."""
    connection = await database.connect()
    try:
        version, oldest_code = await _state(connection, database.names)
        newest = steps("postgres")[-1][0]
        if oldest_code > newest:
            raise SchemaTooNew(
                f"{database.where} has schema {version}, which needs a Lamina that knows {oldest_code}; this one knows"
                f" up to {newest}: upgrade Lamina to open it"
            )
        if version < newest:
            await _prepare(connection, database)
            while await _step(connection, database.names):
                pass
        await _set_search_path(connection, database)
    except psycopg.Error as error:
        raise translate(error, database.where) from error
    finally:
        await connection.close()


async def _state(connection: Connection, names: Names) -> tuple[int, int]:
    """The newest schema that was applied, and the oldest that code must know to work with it."""
    there = await (await connection.execute("select to_regclass(%s)", (names.table("schema_versions"),))).fetchone()
    if there is None or there[0] is None:
        return 0, 0
    command = f"select version, oldest_code from {names.table('schema_versions')} order by version desc limit 1"
    found = await (await connection.execute(command.encode())).fetchone()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))


async def _prepare(connection: Connection, database: PostgresDatabase) -> None:
    """Make the extension, the schema and the table of versions, if they are missing."""
    names = database.names
    async with connection.transaction():
        await _lock(connection, names)
        if await (await connection.execute(_VECTOR)).fetchone() is None:
            try:
                await connection.execute("create extension if not exists vector")
            except psycopg.Error as error:
                raise without_extension(error, database.where) from error
        schemas = await connection.execute("select 1 from pg_namespace where nspname = %s", (names.schema,))
        if await schemas.fetchone() is None:
            await connection.execute(sql.SQL("create schema {}").format(sql.Identifier(names.schema)))
        table = names.table("schema_versions")
        if await (await connection.execute("select to_regclass(%s)", (table,))).fetchone() == (None,):
            columns = "(version bigint primary key, oldest_code bigint not null, applied_at timestamptz default now())"
            await connection.execute(f"create table {table} {columns}".encode())


async def _step(connection: Connection, names: Names) -> bool:
    """Apply the next migration; False if there is none left, because others were faster."""
    async with connection.transaction():
        await _lock(connection, names)
        version, _ = await _state(connection, names)
        for number, _, script in steps("postgres"):
            if number > version:
                await _use_extension(connection, names)
                await connection.execute(names.fill(script).encode())
                noted = f"insert into {names.table('schema_versions')} (version, oldest_code) values (%s, %s)"
                await connection.execute(noted.encode(), (number, oldest_code(script)))
                return True
        return False


def oldest_code(script: str) -> int:
    """The oldest schema that code must know to work with this one; each migration says it."""
    found = _OLDEST_CODE.search(script)
    if found is None:
        raise ValueError("a migration must say `-- oldest code: N`")
    return int(found[1])


async def _lock(connection: Connection, names: Names) -> None:
    await connection.execute("select pg_advisory_xact_lock(%s)", (names.lock("migrations"),))


async def _use_extension(connection: Connection, names: Names) -> None:
    found = await (await connection.execute(_VECTOR)).fetchone()
    path = _path(names, None if found is None else str(found[0]))
    await connection.execute("select set_config('search_path', %s, true)", (path,))


async def _set_search_path(connection: Connection, database: PostgresDatabase) -> None:
    found = await (await connection.execute(_VECTOR)).fetchone()
    database.search_path = _path(database.names, None if found is None else str(found[0]))


def _path(names: Names, extension: str | None) -> str:
    """Our schema, that of the extension, and last what others may have put in the way."""
    schemas = dict.fromkeys(filter(None, (names.schema, extension)))
    return ", ".join([*(sql.Identifier(schema).as_string(None) for schema in schemas), "pg_temp"])


def grants(role: str, schema: str = "lamina", prefix: str = "") -> str:
    """The statements that let another role use a store, for its owner to run."""
    script = resources.files("lamina.storage").joinpath("postgres", "grants.sql").read_text("utf-8")
    return Names(schema, prefix).fill(script).replace("~role", sql.Identifier(role).as_string(None))
