"""The PostgreSQL store behind a real pgbouncer, which hands connections on after each transaction."""

import asyncio
import logging
import re
import subprocess
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from lamina import Memory, Patience
from lamina.errors import StoreError
from lamina.storage.postgres.postgres_store import PostgresStore
from lamina.testing import WordCounter
from lamina.testing.postgres_server import SERVICE, Server
from lamina.testing.samples import a_draft, an_append, at
from lamina.testing.suites.checks_suite import ALL, is_whole
from scripts.programs import PGBOUNCER
from tests.bouncer import bouncer
from tests.places import PATIENT, needed
from tests.sizes import share
from tests.storage.test_postgres import listening
from tests.storage.test_postgres_load import outlives_a_restart
from tests.storage.test_store_suite import PostgresSuite
from tests.waiting import CEILING, until, wait_until

pytestmark = pytest.mark.postgres

KEEPS_STATEMENTS = (1, 21)  # the first version of pgbouncer that can


@pytest.mark.full
class TestBehindPgbouncer(PostgresSuite):
    """Everything that a store promises."""

    @pytest.fixture(scope="class")
    @classmethod
    def database(cls, pooled):
        return pooled()


@pytest.fixture(scope="module")
def own_server():
    with Server(durable=True) as server:
        yield server


async def crowd(stores):
    """Two tenants' writers and readers at once, more than there are connections; each sees its own only."""
    rounds = share(12)

    async def talk(store, number):
        for step in range(rounds):
            name = f"{store.tenant}-{number}-{step}"
            await store.append(an_append(f"s{number}", a_draft(name), user_id=f"u{number}"))
            found = [message.id for message in await store.messages(f"s{number}", ALL)]
            assert found == [f"{store.tenant}-{number}-{n}" for n in range(step + 1)]

    for store in stores:
        await store.open()
    await asyncio.gather(*(talk(store, number) for store in stores for number in range(6)))
    for store in stores:
        assert all([await is_whole(store, f"s{number}") for number in range(6)])
        await store.close()


@pytest.mark.anyio
@pytest.mark.parametrize("threshold", ["auto", pytest.param(None, marks=pytest.mark.full)])
async def test_many_clients_of_two_tenants_share_few_connections(pooled, threshold):
    """No statement is prepared on a connection that the next transaction may not have, unless one asks for it."""
    database = pooled()
    await crowd([database.store(tenant, prepare_threshold=threshold) for tenant in ("a", "b")])


@pytest.mark.anyio
async def test_statements_that_a_pool_does_not_keep_are_named(own_server):
    """Who asks for them all the same is told what to change."""
    off = {"max_prepared_statements": 0} if version() >= KEEPS_STATEMENTS else {}
    with bouncer(needed(PGBOUNCER), own_server, default_pool_size=1, **off) as between:
        url = between.url(own_server.new_database(), SERVICE)
        one, other = (PostgresStore(url, prepare_threshold=0, **PATIENT) for _ in range(2))
        with pytest.raises(StoreError, match="lamina_prepare_threshold=none"):
            await opened(one, other)
        await one.close()
        await other.close()


async def opened(*stores):
    for store in stores:
        await store.open()


def version():
    told = subprocess.run([needed(PGBOUNCER), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)[:2]))


@pytest.mark.anyio
async def test_a_pool_that_keeps_statements_may_have_them(own_server):
    """Since 1.21, by `max_prepared_statements`."""
    if version() < KEEPS_STATEMENTS:
        pytest.skip(f"pgbouncer {version()} keeps no statements; 1.21 does: {PGBOUNCER.variable} may name one")
    with bouncer(needed(PGBOUNCER), own_server, max_prepared_statements=50) as between:
        url = between.url(own_server.new_database(), SERVICE)
        await crowd([PostgresStore(url, tenant=tenant, prepare_threshold=0, **PATIENT) for tenant in ("a", "b")])


@pytest.mark.anyio
async def test_no_connection_of_a_pool_stays_with_a_tenant(pooled):
    """What a transaction said of itself has ended with it: nobody sees a row who does not say whose."""
    database = pooled()
    store = database.store("a")
    await store.open()
    await store.append(an_append("s1", a_draft("m1")))
    await store.scrub()
    for _ in range(6):
        with psycopg.connect(database.url, autocommit=True, prepare_threshold=None) as other:
            asked = "select current_user, current_setting('search_path'), current_setting('lamina.tenant', true)"
            assert other.execute(asked).fetchone() in [(SERVICE, '"$user", public', left) for left in (None, "")]
            assert other.execute("select count(*) from lamina.messages").fetchone() == (0,)
    await store.close()


@pytest.mark.anyio
async def test_a_role_is_never_left_on_a_connection_of_a_pool(pooled, caplog):
    """Scrubbing as another role needs a connection that stays; so does making an index."""
    database = pooled()
    url = database.server.url(database.name)
    store = PostgresStore(url, role=SERVICE, **PATIENT)
    await store.open()
    await store.append(an_append("s1", a_draft("m1")))
    assert await store.scrub() == "dead"
    assert "lamina_direct" in next(record.reason for record in caplog.records if record.message == "scrub_refused")
    assert await store.put_vectors("ann", "e", 0, {"m1": b"12345"}, None)
    with pytest.raises(StoreError, match="lamina_direct"):
        await store.index_user("ann", "e")
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute("select current_user").fetchone() == ("postgres",)
    await store.close()
    direct = PostgresStore(url, role=SERVICE, direct=str(database.server.server.folder), **PATIENT)
    await direct.open()
    assert await direct.scrub() == "vacuumed"
    await direct.index_user("ann", "e")
    await direct.drop_user_index("ann", "e")
    await direct.close()


@pytest.mark.anyio
async def test_nobody_listens_through_a_pool(pooled, caplog):
    """A notice would reach whoever has the connection then: workers look by themselves, which is said once."""
    caplog.set_level(logging.INFO, "lamina.storage")
    database = pooled()
    store = database.store()
    await store.open()
    waiting = asyncio.create_task(store.wait_for_work(CEILING))
    await until(lambda: "listening_off" in [record.message for record in caplog.records])
    waiting.cancel()
    assert not await store.wait_for_work(0.1)
    assert [record.message for record in caplog.records].count("listening_off") == 1
    assert listening(database) == []
    await store.append(an_append("s1", a_draft("m1"), due=True))
    assert await store.claim("w", at(1), at(2))
    await store.close()


def test_workers_find_by_looking_what_others_have_added(pooled):
    """Within the time between two looks; nobody tells them."""
    url = pooled().url
    common: dict[str, Any] = {"profile": "project", "counter": WordCounter()}
    with (
        Memory(url, patience=Patience(poll_seconds=0.2), **common) as working,
        Memory(url, worker=False, **common) as adding,
    ):
        adding.add([f"Remark {number} on the harbour." for number in range(40)], user_id="ann", session_id="s1")
        wait_until(lambda: working.backlog().pending == 0 and adding.session("s1").counters.cursor > 0)


@pytest.mark.anyio
async def test_workers_hear_of_work_past_the_pool(pooled):
    """When the URL names the server itself, too."""
    database = pooled()
    direct = f"{database.url}&lamina_direct={quote(str(database.server.server.folder), safe='')}"
    store = PostgresStore(direct, **PATIENT)
    await store.open()
    waiting = asyncio.create_task(store.wait_for_work(CEILING))
    await until(lambda: listening(database))
    await store.append(an_append("s1", a_draft("m1"), due=True))
    assert await waiting
    await store.close()


@pytest.mark.anyio
async def test_a_server_that_restarts_behind_a_pool_is_found_again(own_server):
    """As one that is reached without."""
    with bouncer(needed(PGBOUNCER), own_server) as between:
        await outlives_a_restart(between.url(own_server.new_database(), SERVICE), own_server)


@pytest.mark.parametrize("mode", ["transaction", pytest.param("session", marks=pytest.mark.full)])
def test_a_memory_behind_a_pool_does_all_that_others_do(own_server, mode):
    """With its worker: adds, folds, finds, builds contexts, forgets, for two tenants with the same names."""
    with bouncer(needed(PGBOUNCER), own_server, mode=mode, default_pool_size=30) as between:
        url = between.url(own_server.new_database(), SERVICE) + "&lamina_pool_max=3"
        for tenant, language in (("a", "Python"), ("b", "Haskell")):
            with Memory(url, tenant=tenant, profile="project", counter=WordCounter()) as memory:
                memory.add(f"I'm Alex. I prefer {language}.", user_id="alex", session_id="s1")
                memory.add(
                    [f"Remark {number} on the harbour." for number in range(40)], user_id="alex", session_id="s1"
                )
                memory.settle()
                assert memory.session("s1").counters.cursor > 0
                assert language in memory.context("which language do I like?", user_id="alex", session_id="s1").text
                assert [fact.value for fact in memory.facts("alex") if fact.key == "language"] == [language]
                found = memory.search("which language does Alex like?", user_id="alex")
                assert any(language in hit.text for hit in found)
                assert memory.verify().ok
        with Memory(url, tenant="a", counter=WordCounter(), worker=False) as memory:
            memory.forget(user_id="alex")
            assert not memory.search("python", user_id="alex")
            assert memory.verify().ok
        with Memory(url, tenant="b", counter=WordCounter(), worker=False) as memory:
            assert memory.search("haskell", user_id="alex")
            assert memory.verify().ok
