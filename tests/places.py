"""Where memories can be in tests: files, and databases of a real PostgreSQL."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

from lamina.storage.postgres.postgres_names import TABLES
from lamina.storage.postgres.postgres_store import PostgresStore
from lamina.testing.postgres_server import SERVICE
from scripts.programs import Program
from tests.waiting import CEILING

PATIENT: dict[str, Any] = dict.fromkeys(("statement_timeout_s", "lock_timeout_s", "connect_timeout_s"), CEILING)


class Backend(StrEnum):
    """The stores that a test can run on, as parameters of fixtures."""

    MEMORY = "memory"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Place(Protocol):
    """Gives a place for a memory by name: the same for the same name, a new one for each test."""

    def __call__(self, name: str = "chat.db") -> Any: ...

    def run(self, sql: str) -> None:
        """Run a statement on the database, past all verbs."""
        ...

    def every_byte(self) -> bytes:
        """All files of the memories, in lower case."""
        ...


def contents(folder: Path) -> list[bytes]:
    """Of all files in a folder that a database may be using: it may take one away while others are read."""
    found = []
    for path in sorted(folder.iterdir()):
        with suppress(FileNotFoundError, IsADirectoryError):
            found.append(path.read_bytes())
    return found


class Files:
    """Places in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str = "chat.db") -> Any:
        return self._folder / name

    def run(self, sql: str) -> None:
        with closing(sqlite3.connect(self("chat.db"))) as connection:
            connection.execute(sql)
            connection.commit()

    def every_byte(self) -> bytes:
        return b"\n".join(contents(self._folder)).lower()


class Databases:
    """Places for memories on a server: databases that were emptied, in which forgetting rewrites all tables."""

    def __init__(self, databases: Any) -> None:
        self._databases = databases
        self._made: dict[str, Database] = {}

    def __call__(self, name: str = "chat.db") -> Any:
        if name not in self._made:
            self._made[name] = self._databases(schema=f"place{len(self._made)}")
        made = self._made[name]
        return f"{made.url}&lamina_schema={made.options['schema']}&lamina_pool_min=0&lamina_scrub=full"

    def run(self, sql: str) -> None:
        made = self._made["chat.db"]
        made.run(f"set local search_path to {made.options['schema']}; {sql}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query finds, past all verbs."""
        made = self._made["chat.db"]
        return list(made.run(f"set local search_path to {made.options['schema']}, public; {sql}"))

    def every_byte(self) -> bytes:
        """Of all files of the databases, as they are on the disk."""
        found = []
        for made in self._made.values():
            made.run("checkpoint")
            ((oid,),) = made.run("select oid from pg_database where datname = current_database()")
            found += contents(made.server.data / "base" / str(oid))
        return b"\n".join(found).lower()


class Database:
    """A database with the tables of a store; `fresh` empties them, which is quicker than making them anew."""

    def __init__(self, server, **options):
        self._connection = None
        self.server = server
        self.name = server.new_database()
        self.options = options
        self.url = server.url(self.name, SERVICE)
        owner = PostgresStore(self.url, pool_min=0, **options)
        with ThreadPoolExecutor(1) as thread:  # an event loop may be running in this one
            thread.submit(asyncio.run, opened_and_closed(owner)).result()
        schema, prefix = owner.options.schema, owner.options.prefix
        self.tables = [f'"{schema}"."{prefix}{table}"' for table in TABLES]

    def run(self, sql, values=None):
        """What a superuser's statements find or how many rows they change; without values, in one transaction."""
        if self._connection is None or self._connection.closed:
            self._connection = self.server.connect(self.name)
        cursor = self._connection.execute(sql.encode(), values)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else cursor.rowcount

    def fresh(self):
        """Empty all tables; deleting is by far quicker than truncating, as long as there is little in them."""
        empty = "; ".join(f"delete from {table}" for table in self.tables)
        for again in (True, False):
            try:
                self.run(f"set local session_replication_role = replica; {empty}")
                break
            except psycopg.OperationalError:
                if not (again and self._connection and self._connection.closed):  # since it was used last
                    raise
        return self

    def close(self):
        if self._connection is not None:
            self._connection.close()

    def store(self, tenant="default", **options):
        """A store as a service uses it: its role owns the tables but is no superuser, so row-level security holds."""
        return PostgresStore(self.url, tenant=tenant, **{**PATIENT, **self.options, **options})


async def opened_and_closed(store):
    await store.open()
    await store.close()


def needed(program: Program) -> str:
    """Where a program is; without it the test is skipped, or fails where that was asked for."""
    path = program.found()
    if path is None:
        (pytest.fail if program.required else pytest.skip)(program.how)
    return path


def kept_place(request: pytest.FixtureRequest, folders: pytest.TempPathFactory, name: str) -> Any:
    """A place that several tests look at, of the kind that the fixture's parameter names."""
    if request.param is Backend.POSTGRES:
        made = request.getfixturevalue("databases")(schema=name)
        return f"{made.url}&lamina_schema={name}&lamina_pool_min=0"
    return ":memory:" if request.param is Backend.MEMORY else folders.mktemp(name) / "chat.db"
