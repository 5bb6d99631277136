"""All stores keep every promise of `ports.Store`."""

import shutil
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from lamina.storage.postgres.postgres_listening import Listener
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing.suites import StoreSuite


class TestInMemory(StoreSuite):
    @pytest.fixture
    async def store(self):
        store = SqliteStore(":memory:")
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def neighbour(self, store):
        return store.for_tenant("neighbour")


class OneLoopSuite(StoreSuite):
    """One event loop for all tests of a class, so that they can share what was opened on it."""

    @pytest.fixture(scope="class")
    @classmethod
    def anyio_backend(cls):
        return "asyncio"


class TestSqliteStore(OneLoopSuite):
    @pytest.fixture(scope="class")
    @classmethod
    async def empty(cls, tmp_path_factory):
        """A file with the tables, of which each test has a copy: that takes a tenth of the time to make them."""
        store = SqliteStore(tmp_path_factory.mktemp("empty") / "lamina.db")
        await store.open()
        await store.close()
        return store.path

    @pytest.fixture
    async def store(self, tmp_path, empty):
        store = SqliteStore(shutil.copy(empty, tmp_path))
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def neighbour(self, store):
        neighbour = SqliteStore(store.path, tenant="neighbour")
        await neighbour.open()
        yield neighbour
        await neighbour.close()


class PostgresSuite(OneLoopSuite):
    """The connections are the same for all tests; whatever else a store keeps in the process is new in each."""

    version = 18
    options: dict[str, object] = {}  # noqa: RUF012

    @pytest.fixture(scope="class")
    @classmethod
    def database(cls, databases):
        return databases(cls.version, **cls.options)

    @pytest.fixture(scope="class")
    @classmethod
    async def connected(cls, database):
        store = database.store()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture(scope="class")
    @classmethod
    async def connected_neighbour(cls, database):
        store = database.store("neighbour")
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def store(self, database, connected):
        database.fresh()
        async with anew(connected) as store:
            yield store

    @pytest.fixture
    async def neighbour(self, store, connected_neighbour):
        async with anew(connected_neighbour) as neighbour:
            yield neighbour


@asynccontextmanager
async def anew(connected):
    """A store with the connections of another that has done nothing yet: it knows of no index and no notice."""
    common = connected._common
    common.listener = Listener(common.server.own_connection, common.server.names.channel)
    yield connected.for_tenant(connected.tenant)
    await common.listener.close()


class TestPostgres18(PostgresSuite):
    """As a role that is no superuser, so that row-level security holds."""


@pytest.mark.full
class TestPostgres16(PostgresSuite):
    """Also with tables of another name in another schema, and no prepared statements, as behind some pools."""

    version = 16
    options: dict[str, object] = {"schema": "mine", "prefix": "app_", "prepare_threshold": None}  # noqa: RUF012


def test_no_part_of_the_suite_hides_another():
    """Its parts are joined into one class, so a name in two of them would take a test away unseen."""
    names = Counter(name for part in StoreSuite.__mro__[1:-1] for name in vars(part) if not name.startswith("__"))
    assert [name for name, count in names.items() if count > 1 and name != "pytestmark"] == []


def test_lamina_does_not_import_pytest():
    """Who only uses Lamina needs no test library; the fakes need none either."""
    script = "import lamina, lamina.testing, sys; assert not {'pytest', 'anyio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
