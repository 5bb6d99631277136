"""All stores keep every promise of `ports.Store`."""

import subprocess
import sys
from collections import Counter

import pytest

from lamina.storage.memory import MemoryStore
from lamina.storage.sqlite import SqliteStore
from lamina.testing.suites import StoreSuite


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    async def store(self):
        return MemoryStore()

    @pytest.fixture
    async def neighbour(self, store):
        return store.for_tenant("neighbour")


class TestSqliteStore(StoreSuite):
    @pytest.fixture
    async def store(self, tmp_path):
        store = SqliteStore(tmp_path / "lamina.db")
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def neighbour(self, tmp_path, store):
        neighbour = SqliteStore(tmp_path / "lamina.db", tenant="neighbour")
        await neighbour.open()
        yield neighbour
        await neighbour.close()


class PostgresSuite(StoreSuite):
    version = 18
    options: dict[str, object] = {}  # noqa: RUF012

    @pytest.fixture
    async def store(self, databases):
        self.database = databases(self.version, **self.options)
        store = self.database.store()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def neighbour(self, store):
        neighbour = self.database.store("neighbour")
        await neighbour.open()
        yield neighbour
        await neighbour.close()


class TestPostgres18(PostgresSuite):
    """As a role that is no superuser, so that row-level security holds."""


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
