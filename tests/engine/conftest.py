"""Memories on one file whose workers work only when told to; a test that needs others has fixtures of its own."""

import pytest

from lamina import AsyncMemory
from lamina.storage.sqlite import SqliteStore
from lamina.testing import FakeClock, WordCounter
from tests.engine.voyages import PROFILE


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lamina.db"


@pytest.fixture
async def opened(path, clock):
    """Opens memories on one file, each with a worker of its own that works only when told to."""
    memories = []

    async def opened(summariser=None, **options):
        chosen = {"profile": PROFILE, "counter": WordCounter(), "now": clock, "worker": False, **options}
        memory = AsyncMemory(path, summariser=summariser, **chosen)
        memories.append(await memory.open())
        return memory

    yield opened
    for memory in memories:
        await memory.close()


@pytest.fixture
async def store(path, opened):
    """The same file, to look at leases."""
    store = SqliteStore(path)
    await store.open()
    yield store
    await store.close()
