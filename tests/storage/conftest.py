"""PostgreSQL servers, one of each version for a test process, started when a test first asks for one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from lamina.storage.postgres import PostgresStore
from lamina.storage.postgres_dialect import TABLES
from lamina.testing.postgres import SERVICE, Server


class Database:
    """A database with the tables of a store; `fresh` empties them, which is quicker than making them anew."""

    def __init__(self, server, **options):
        self.server = server
        self.name = server.new_database()
        self.options = options
        self.url = server.url(self.name, SERVICE)
        owner = PostgresStore(self.url, pool_min=0, **options)
        with ThreadPoolExecutor(1) as thread:  # an event loop may be running in this one
            thread.submit(asyncio.run, opened_and_closed(owner)).result()
        schema, prefix = owner.options.schema, owner.options.prefix
        self.tables = [f'"{schema}"."{prefix}{table}"' for table in TABLES]

    def run(self, sql, values=None, *, user="postgres"):
        with self.server.connect(self.name, user) as connection:
            cursor = connection.execute(sql.encode(), values)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def fresh(self):
        self.run("begin; set local session_replication_role = replica; "
                 + "; ".join(f"delete from {table}" for table in self.tables) + "; commit")  # fmt: skip
        return self

    def store(self, tenant="default", **options):
        """A store as a service uses it: its role owns the tables but is no superuser, so row-level security holds."""
        return PostgresStore(self.url, tenant=tenant, **{**self.options, **options})


async def opened_and_closed(store):
    await store.open()
    await store.close()


@pytest.fixture(scope="session")
def servers():
    started = {}

    def server(version=18):
        if version not in started:
            started[version] = Server(version)
        return started[version]

    yield server
    for one in started.values():
        one.stop()


@pytest.fixture(scope="session")
def databases(servers):
    made = {}

    def database(version=18, **options):
        key = (version, *sorted(options.items()))
        if key not in made:
            made[key] = Database(servers(version), **options)
        return made[key].fresh()

    return database


@pytest.fixture
def database(databases):
    return databases()


@pytest.fixture
def new_database(servers):
    """Databases of their own, for what cannot be undone by emptying tables."""
    return lambda version=18, **options: Database(servers(version), **options)
