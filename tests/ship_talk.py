"""A conversation about a ship that is folded often, and memories on one file whose workers run when a test says so.

A folder whose tests need these fixtures imports them in its `conftest.py`.
"""

import pytest

from lamina import PROFILES, AsyncMemory
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing import FakeClock, WordCounter

PROFILE = PROFILES["project"].but(max_recent_messages=6, chunk_size=4, cap=40, least=0, digest_sessions=0)


def turn(number):
    said = f"On day {number} the ship carries {number * 3} crates of tea to Lisbon."
    return [{"role": "user", "content": said}, {"role": "assistant", "content": f"Day {number} is noted."}]


async def talk(memory, turns=4, session_id="s1"):
    """So many turns; with four of them one fold is due."""
    for number in range(turns):
        await memory.add(turn(number), user_id="ann", session_id=session_id)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lamina.db"


@pytest.fixture
async def opened(path, clock):
    """Opens memories on one file, each with a worker that runs only when the test says so."""
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
