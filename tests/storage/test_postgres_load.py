"""Many writers and readers at once on PostgreSQL, and servers that are killed or restarted among them."""

import asyncio

import pytest

from lamina.errors import Conflict, LaminaError, StoreError
from lamina.protocols.store import Reach
from lamina.storage.postgres.postgres_store import PostgresStore
from lamina.testing.postgres_server import SERVICE, Server
from lamina.testing.samples import a_digest, a_draft, a_fact, a_fold, a_summary, an_append, an_erasure, at, some_facts
from lamina.testing.suites.checks_suite import ALL, is_whole
from lamina.values.message import Span
from tests.places import PATIENT
from tests.sizes import share
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@pytest.fixture
async def store(database):
    store = database.store(pool_max=16)
    await store.open()
    yield store
    await store.close()


async def test_64_writers_and_readers_of_one_user(store):
    """Every message is stored once, numbered without gaps; nobody waits for ever or is refused."""
    writers, readers, each = share(48), share(16), 5

    async def write(number):
        for step in range(each):
            await store.append(an_append("s1", a_draft(f"{number}-{step}", f"tea {number}")))

    async def read():
        for _ in range(5):
            view = await store.view("ann", "s1", Reach(fill=True, tokens=10_000))
            seqs = [message.seq for message in view.tail]
            assert seqs == list(range(1, len(seqs) + 1))
            assert view.session is None or view.session.counters.messages == len(seqs)
            await store.find_words("ann", ["tea"], 9)

    await asyncio.gather(*(write(number) for number in range(writers)), *(read() for _ in range(readers)))
    assert [m.seq for m in await store.messages("s1", ALL)] == list(range(1, writers * each + 1))
    assert await is_whole(store, "s1")


async def test_a_thousand_users_at_once(store):
    """Users do not wait for each other, and bulk verbs in between take nobody's locks away."""

    async def talk(number):
        for step in range(2):
            append = an_append(f"s{number}", a_draft(f"{number}-{step}"), user_id=f"u{number}", due=True)
            await store.append(append)

    async def sweep():
        for minute in range(6):
            await store.age_sessions("ended", at(-1), at(minute))
            await store.requeue()
            claim = await store.claim("w", at(minute), at(minute + 1))
            if claim is not None:
                await store.release(claim)
            await store.drop_worker("w")
            await store.age_sessions("archived", at(-1), at(minute))

    gate, users = asyncio.Semaphore(64), share(1_000)

    async def gated(number):
        async with gate:
            await talk(number)

    await asyncio.gather(*(gated(number) for number in range(users)), sweep(), sweep())
    sessions = await store.sessions(limit=2 * users)
    assert len(sessions) == users
    assert {session.counters.messages for session in sessions} == {2}


async def test_all_kinds_of_writes_of_one_user_at_once(store):
    """Folds, facts, digests, vectors and erasures beside appends: each whole, in some order."""
    await store.append(an_append("s1", *(a_draft(f"m{n}") for n in range(4))))
    await store.append(an_append("s2", *(a_draft(f"n{n}") for n in range(4))))

    refused: list[LaminaError] = []

    async def tried(work):
        try:
            await work
        except LaminaError as error:
            refused.append(error)

    async def mixed(number):
        fold = a_fold("s1", a_summary(f"sum{number}", "s1", Span(first=1, last=2)), expect=0, cursor=2)
        await asyncio.gather(
            tried(store.commit(fold)),
            tried(store.commit_facts(some_facts(a_fact(f"f{number}", message_id="m1", key=f"k{number}")))),
            tried(store.commit(a_digest("ann", number))),
            tried(store.append(an_append("s1", a_draft(f"x{number}")))),
            tried(store.put_vectors("ann", "e", 0, {"m1": b"1", "n1": b"2"}, None)),
            tried(store.update_session("s2", at(number), status="paused")),
            tried(store.erase(an_erasure(facts=(f"f{number - 1}",), receipt_id=f"r{number}"))),
        )

    await asyncio.gather(*(mixed(number) for number in range(1, 9)))
    assert await is_whole(store, "s1")
    assert len([s for s in await store.summaries("s1", live=False) if s.status == "live"]) == 1
    assert len(await store.receipts()) == 8
    assert [error for error in refused if isinstance(error, StoreError)] == []


async def test_one_session_id_wanted_by_two_users_at_once(store):
    """One of them gets it, the other is told; neither sees an error of the driver."""

    async def begin(user):
        try:
            await store.append(an_append("s1", a_draft(f"m-{user}"), user_id=user))
        except Conflict:
            return "taken"
        return "kept"

    assert sorted(await asyncio.gather(*(begin(f"u{n}") for n in range(8)))) == ["kept"] + ["taken"] * 7


@pytest.fixture(scope="module")
def fragile():
    with Server(durable=True) as server:
        yield server


async def test_what_was_acknowledged_survives_a_killed_server(fragile):
    """Killed in mid-load and started again: every append that returned is there, and the same store goes on."""
    name = fragile.new_database()
    store = PostgresStore(fragile.url(name, SERVICE), pool_max=8, **PATIENT)
    await store.open()
    kept: list[str] = []
    stop = asyncio.Event()

    async def write(number):
        step = 0
        while not stop.is_set():
            step += 1
            message = f"{number}-{step}"
            try:
                await store.append(an_append(f"s{number}", a_draft(message), user_id=f"u{number}", key=message))
            except StoreError:
                continue
            kept.append(message)

    writers = [asyncio.create_task(write(number)) for number in range(8)]
    await until(lambda: len(kept) > 100)
    await asyncio.to_thread(fragile.kill)
    before = len(kept)
    await asyncio.to_thread(fragile.start)
    await until(lambda: len(kept) > before + 20)
    stop.set()
    await asyncio.gather(*writers)
    found = set()
    for session in await store.sessions():
        messages = await store.messages(session.id, ALL)
        assert [m.seq for m in messages] == list(range(1, len(messages) + 1))
        found |= {m.id for m in messages}
        assert await is_whole(store, session.id)
    assert set(kept) <= found
    await store.close()


async def outlives_a_restart(url, server):
    """Reads and writes go on with the same store, though all its connections were lost."""
    store = PostgresStore(url, pool_min=4, pool_max=4, **PATIENT)
    await store.open()
    await asyncio.gather(*(store.append(an_append(f"s{n}", a_draft(f"m{n}"))) for n in range(8)))
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    assert len(await store.sessions()) == 8
    await store.append(an_append("s9", a_draft("m9")))
    assert len(await store.sessions()) == 9
    await store.close()


async def test_a_restarted_server_is_found_again(fragile):
    await outlives_a_restart(fragile.url(fragile.new_database(), SERVICE), fragile)


@pytest.fixture
def losing(new_database):
    """A database whose first commit of a message ends the connection that asks for it."""
    database = new_database()
    database.run(
        "create sequence lamina.commits; create function lamina.lose() returns trigger language plpgsql"
        " security definer as $$ begin if nextval('lamina.commits') = 1 then"
        " perform pg_terminate_backend(pg_backend_pid()); end if; return null; end $$;"
        " create constraint trigger lose after insert on lamina.messages deferrable initially deferred"
        " for each row execute function lamina.lose()"
    )
    return database


async def test_a_connection_lost_while_committing_is_told_unless_repeating_is_safe(losing):
    """Nobody knows whether it was kept: an append is repeated only if its key says that it is the same."""
    store = losing.store()
    await store.open()
    with pytest.raises(StoreError, match="may or may not have been"):
        await store.append(an_append("s1", a_draft("m1")))
    losing.run("alter sequence lamina.commits restart")
    appended = await store.append(an_append("s1", a_draft("m2"), key="k"))
    assert appended.ids == ("m2",)
    assert [m.id for m in await store.messages("s1", ALL)] == ["m2"]
    assert await is_whole(store, "s1")
    await store.close()


async def test_two_writers_that_wait_for_each_other_are_tried_again(database, store):
    """PostgreSQL ends one of them, which is not the caller's to know."""
    await store.append(an_append("s1", a_draft("m1")))
    await store.append(an_append("s2", a_draft("m2"), user_id="bob"))
    other = await asyncio.to_thread(database.server.connect, database.name)
    with other, other.transaction():
        other.execute("set local deadlock_timeout = '1h'")  # the store's side is the one that looks for deadlocks
        other.execute("select 1 from lamina.sessions where id = 's2' for update")

        async def work(tx):
            await tx.execute("update sessions set touch = touch + 1 where tenant = 'default' and id = 's1'")
            await tx.execute("update sessions set touch = touch + 1 where tenant = 'default' and id = 's2'")

        writing = asyncio.create_task(store._server.write(work))
        await until(lambda: database.run("select 1 from pg_locks where not granted"))
        await asyncio.to_thread(other.execute, "select 1 from lamina.sessions where id = 's1' for update")
        assert not writing.done()
    await writing
    assert [row for (row,) in database.run("select touch from lamina.sessions order by id")] == [2, 2]
