"""The drill of docs/how-to/postgresql.md: the server is killed, its standby takes over, nothing is lost."""

import asyncio
from urllib.parse import quote

import pytest

from lamina import AsyncMemory
from lamina.errors import LaminaError, StoreReadOnly
from lamina.storage.postgres.postgres_store import PostgresStore
from lamina.testing import WordCounter
from lamina.testing.postgres_server import SERVICE, Server
from lamina.testing.samples import a_draft, an_append
from tests.waiting import CEILING, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@pytest.fixture
def primary():
    with Server(durable=True) as server:
        yield server


@pytest.fixture
def standby(primary):
    """A copy of the primary that follows it; what is committed there is on its disk, too."""
    with Server(durable=True, standby_of=primary) as server:
        with primary.connect() as connection:
            connection.execute("alter system set synchronous_standby_names = 'standby'")
            connection.execute("select pg_reload_conf()")
            followed = "select 1 from pg_stat_replication where sync_state = 'sync'"
            wait_until(lambda: connection.execute(followed).fetchone(), "the standby follows")
        yield server


def url(name, *servers):
    hosts = quote(",".join(str(server.folder) for server in servers), safe=",")
    return f"postgresql://{SERVICE}@/{name}?host={hosts}&target_session_attrs=read-write"


def caught_up(primary, standby):
    """What is on a standby's disk is there to be read a moment later."""
    with primary.connect() as there, standby.connect() as here:
        (place,) = there.execute("select pg_current_wal_lsn()::text").fetchone() or ("",)
        replayed = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
        wait_until(lambda: here.execute(replayed, (place,)).fetchone() == (True,), "the standby follows")


class Writers:
    """Some who add one message after the other, each with an id of its own, and repeat what failed."""

    def __init__(self, memory, count):
        self.kept = []
        self._stop = False
        self._goal, self._reached = count, asyncio.Event()
        self._memory = memory
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(count)]

    async def _write(self, number):
        step = 0
        while not self._stop:
            name = f"{number}-{step}"
            try:
                await self._memory.add(
                    {"role": "user", "content": f"I like tea number {step}.", "id": name},
                    user_id=f"u{number}",
                    session_id=f"s{number}",
                )
            except LaminaError:
                await asyncio.sleep(0.01)
                continue
            self.kept.append(name)
            if len(self.kept) >= self._goal:
                self._reached.set()
            step += 1

    async def more(self, count):
        """Wait until so many more have been acknowledged."""
        self._goal = len(self.kept) + count
        self._reached.clear()
        await asyncio.wait_for(self._reached.wait(), CEILING)

    async def stop(self):
        self._stop = True
        await asyncio.gather(*self._tasks)


async def test_a_standby_takes_over_with_all_that_was_acknowledged(primary, standby):
    """Appends go on by themselves within seconds; the log has each message once, and the memory is whole."""
    database = url(primary.new_database(), primary, standby)
    async with AsyncMemory(database, profile="project", counter=WordCounter()) as memory:
        writers = Writers(memory, 4)
        await writers.more(20)
        await asyncio.to_thread(primary.kill)
        before = len(writers.kept)
        await asyncio.to_thread(standby.promote)
        await writers.more(20)
        await writers.stop()
        await memory.settle()
        found = [message.id for n in range(4) for message in await memory.messages(f"s{n}")]
        assert before
        assert sorted(found) == sorted(writers.kept)
        assert (await memory.verify()).ok
    with standby.connect() as connection:
        assert connection.execute("select pg_is_in_recovery()").fetchone() == (False,)


@pytest.mark.full
async def test_a_standby_that_only_reads_is_not_written_to(primary, standby):
    """Without `target_session_attrs`, who comes to a standby is told what would help; reading is fine."""
    name = primary.new_database()
    writing = PostgresStore(url(name, standby, primary))
    await writing.open()
    await writing.append(an_append("s1", a_draft("m1")))
    await writing.close()
    await asyncio.to_thread(caught_up, primary, standby)
    reading = PostgresStore(standby.url(name, SERVICE))
    await reading.open()
    assert len(await reading.sessions()) == 1
    with pytest.raises(StoreReadOnly, match="target_session_attrs=read-write"):
        await reading.append(an_append("s1", a_draft("m2")))
    await reading.close()
