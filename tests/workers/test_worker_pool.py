"""Workers beside each other: failures that are set aside, lost leases, notes, and turns between tenants."""

import asyncio
import logging
import os
import socket
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from lamina import AsyncMemory, NotFound
from lamina.errors import StoreBusy
from lamina.parts import Patience
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.tenancy.open_tenants import open_worker_pool
from lamina.testing import FakeSummariser, WordCounter
from lamina.testing.samples import a_note
from lamina.workers.loop import Worker
from tests.ship_talk import PROFILE, talk, turn
from tests.sizes import share
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio

HERE = f"{socket.gethostname()}/{os.getpid()}"


# what is set aside


class FickleCounter(WordCounter):
    broken = False

    def count(self, text):
        if self.broken:
            raise ZeroDivisionError(f"cannot count {text!r}")
        return super().count(text)


@pytest.fixture
async def broken(opened, clock):
    """A memory with a session that was tried until it was set aside, and the counter that breaks it."""
    counter = FickleCounter()
    memory = await opened(FakeSummariser(), counter=counter, patience=Patience(aside_after=3))
    await talk(memory)
    counter.broken = True
    for _ in range(3):
        await memory._worker._round()
        clock.advance(hours=1)
    return memory, counter


async def test_a_session_that_keeps_failing_is_set_aside(broken, caplog, clock):
    """It is not tried again, and is named with a reason that says nothing of what was said."""
    memory, _ = broken
    (failing,) = (await memory.backlog()).failing
    assert (failing.session_id, failing.attempts, failing.retry_at) == ("s1", 3, None)
    assert failing.reason == "ZeroDivisionError"
    assert (await memory.backlog()).pending == 0
    caplog.clear()
    clock.advance(days=9)
    await memory._worker._round()
    assert caplog.messages == []
    assert (await memory.settle()).failed == ("s1",)
    assert caplog.messages == []


async def test_new_messages_free_what_was_set_aside(broken):
    """Mended code then folds all of it."""
    memory, counter = broken
    counter.broken = False
    assert (await memory.settle()).folds == 0
    await talk(memory, turns=1)
    assert (await memory.settle()).folds > 0
    assert (await memory.backlog()).failing == ()
    assert (await memory.session("s1")).attempts == 0


async def test_what_was_freed_and_fails_again_is_set_aside_again(broken, caplog):
    """At once: one try for each piece of news."""
    memory, counter = broken
    counter.broken = False
    await talk(memory, turns=1)
    counter.broken = True
    caplog.clear()
    await memory._worker._round()
    assert [message for message in caplog.messages if message != "worker_round_failed"] == [
        "fold_failed",
        "session_set_aside",
    ]
    assert (await memory.backlog()).aside == 1


@pytest.mark.parametrize("session_id", [None, "s1"])
async def test_what_was_set_aside_can_be_asked_for(broken, session_id):
    """One session or all; it starts over, without failures."""
    memory, counter = broken
    counter.broken = False
    assert await memory.retry(session_id) == 1
    assert await memory.retry(session_id) == 0
    assert (await memory.settle()).folds == 1
    with pytest.raises(NotFound):
        await memory.retry("s9")


async def test_a_model_that_is_down_sets_nothing_aside(opened, clock):
    """After three failures the offline summariser writes."""
    memory = await opened(FakeSummariser("fails"))
    await talk(memory)
    for _ in range(9):
        await memory._worker._round()
        clock.advance(hours=1)
    assert len(await memory.summaries("s1")) == 1
    assert (await memory.backlog()).failing == ()


# leases


async def test_a_worker_whose_lease_is_lost_stops_at_once(opened, store, clock, caplog):
    """It breaks off the fold it is at, and leaves the session to who has it now."""
    slow = FakeSummariser("is slow")
    memory = await opened(slow, patience=Patience(lease_seconds=1.5))
    await talk(memory)
    working = asyncio.create_task(memory._worker._round())
    assert await asyncio.to_thread(slow.started.wait, CEILING)

    async def taken():
        clock.advance(seconds=2)  # past the lease, unless it was renewed just now
        return await store.claim("elsewhere/1/a", clock(), clock() + timedelta(hours=1))

    await until(taken)
    await asyncio.wait_for(working, CEILING)
    assert "lease_lost" in caplog.messages
    assert [lease.owner for lease in await store.leases()] == ["elsewhere/1/a"]
    assert await memory.summaries("s1", live=False) == []
    slow.let_go()


async def test_a_lease_that_is_kept_is_renewed(opened, store, clock):
    """For as long as the fold takes."""
    slow = FakeSummariser("is slow")
    memory = await opened(slow, patience=Patience(lease_seconds=0.3))
    await talk(memory)
    working = asyncio.create_task(memory.settle())
    assert await asyncio.to_thread(slow.started.wait, CEILING)
    (before,) = await store.leases()
    clock.advance(seconds=5)

    async def renewed():
        return [lease.until for lease in await store.leases()] > [before.until]

    await until(renewed)
    slow.let_go()
    assert (await working).folds == 1


async def test_a_renewal_that_fails_is_tried_again(opened, clock, monkeypatch, caplog):
    """The store may be back before the lease runs out."""
    caplog.set_level(logging.INFO)
    slow = FakeSummariser("is slow")
    memory = await opened(slow, patience=Patience(lease_seconds=0.3))
    calls = failing(monkeypatch, memory._parts.store, "renew")
    await talk(memory)
    working = asyncio.create_task(memory.settle())
    await until(lambda: len(calls) > 1)
    slow.let_go()
    assert (await working).folds == 1
    assert "lease_not_renewed" in caplog.messages


def failing(patch, store, verb, error=StoreBusy):
    """Has a verb of a store fail the first time; gives a list that grows with each call."""
    real, calls = getattr(store, verb), []

    async def tried(*args, **options):
        calls.append(verb)
        if len(calls) == 1:
            raise error("the database is locked")
        return await real(*args, **options)

    patch.setattr(store, verb, tried)
    return calls


@pytest.mark.parametrize("verb", ["claim", "leases", "note_worker"])
async def test_a_worker_ends_though_its_store_did_not_hear_that_it_should(opened, monkeypatch, verb):
    """Before Python 3.12, a driver may lose a cancellation in `asyncio.wait_for`; an import waited for ever then."""
    memory = await opened(FakeSummariser(), patience=Patience(poll_seconds=60))
    store, began = memory._parts.store, asyncio.Event()
    real = getattr(store, verb)

    async def deaf(*args, **options):
        if not began.is_set():
            began.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return await real(*args, **options)

    monkeypatch.setattr(store, verb, deaf)
    running = asyncio.create_task(memory._worker.run())
    await began.wait()
    async with asyncio.timeout(CEILING):
        await memory._worker.stop(running)
    assert running.cancelled()


@pytest.mark.parametrize(
    ("verb", "error", "told"),
    [
        pytest.param("claim", StoreBusy, "worker_round_failed", id="claim"),
        pytest.param("claim", ZeroDivisionError, "worker_round_failed", id="unforeseen"),
        pytest.param("wait_for_work", StoreBusy, "worker_round_failed", id="wait"),
        pytest.param("note_worker", StoreBusy, "worker_not_noted", id="note"),
        pytest.param("drop_worker", StoreBusy, "worker_not_noted", id="drop"),
    ],
)
async def test_a_worker_outlives_a_store_that_fails(opened, monkeypatch, caplog, verb, error, told):
    """What it could not do is in the log; the work is done when the store is back."""
    caplog.set_level(logging.INFO)
    memory = await opened(FakeSummariser(), patience=Patience(poll_seconds=0.02))
    calls = failing(monkeypatch, memory._parts.store, verb, error)
    running = asyncio.create_task(memory._worker.run())
    await until(lambda: calls or verb == "drop_worker")
    await talk(memory)
    await until(lambda: memory.summaries("s1"))
    await until(memory.workers)
    await memory._worker.stop(running)
    assert told in caplog.messages


async def test_a_worker_that_is_told_to_stop_embeds_nobody_else(opened):
    """What is in hand gets its vectors; the rest stays due."""

    class Last:
        name, dimensions, inline = "last-2", 2, False

        async def embed(self, texts):
            memory._worker.wind_down()
            return [[1.0, 0.0] for _ in texts]

    memory = await opened(embedder=Last())
    for user in ("ann", "bob"):
        await memory.add("The ship carries tea.", user_id=user, session_id=user)
    assert await memory._worker._embed(thorough=False) == 1


# notes


async def test_a_worker_tells_what_it_is_at(opened, store):
    """While it works, when it is done, and no more once it has stopped."""
    slow = FakeSummariser("is slow", "answers")
    memory = await opened(slow, worker=True)
    await talk(memory)

    async def busy():
        return [note.session_id for note in await store.workers()] == ["s1"]

    await until(busy)
    (note,) = await memory.workers()
    assert (note.id.rpartition("/")[0], note.alive, note.host, note.pid) == (
        HERE, True, socket.gethostname(), str(os.getpid()),
    )  # fmt: skip
    slow.let_go()

    async def rests():
        (note,) = await store.workers()
        return (note.session_id, note.since, note.done > 0, note.failed) == (None, None, True, 0)

    await until(rests)
    await memory.close()
    assert await store.workers() == []


async def test_notes_of_workers_that_are_gone_vanish(opened, store, clock):
    """Those of dead processes of this machine at once, others after ten lease times."""
    memory = await opened(FakeSummariser())
    here, elsewhere = f"{socket.gethostname()}/999999999/a", "elsewhere/1/a"
    for name in (here, elsewhere, f"{HERE}/a"):
        await store.note_worker(a_note(name, started_at=clock(), seen_at=clock()))
    assert {note.id: note.alive for note in await memory.workers()} == {here: False, elsewhere: True, f"{HERE}/a": True}
    await memory._worker._round()
    assert {note.id for note in await store.workers()} == {elsewhere, f"{HERE}/a"}
    clock.advance(seconds=601)
    await store.note_worker(a_note(f"{HERE}/a", started_at=clock(), seen_at=clock()))
    memory._worker._next_sweep = 0
    await memory._worker._round()
    assert {note.id for note in await store.workers()} == {f"{HERE}/a"}


# waking


class Telegraph(SqliteStore):
    """A store that others can tell of work."""

    def __init__(self):
        super().__init__(":memory:")
        self.told = asyncio.Event()
        self.waits = 0

    async def wait_for_work(self, seconds):
        self.waits += 1
        try:
            await asyncio.wait_for(self.told.wait(), seconds)
        except TimeoutError:
            return False
        self.told.clear()
        return True


async def test_a_worker_wakes_when_another_process_tells_of_work(opened):
    """It does not wait for its next look."""
    lent = await opened(FakeSummariser(), patience=Patience(poll_seconds=600))
    there = Telegraph()
    await there.open()
    elsewhere = Worker(replace(lent._parts, store=there))
    running = asyncio.create_task(elsewhere.run())

    async def rests():
        return there.waits == 1

    await until(rests)
    writer = AsyncMemory.from_parts(replace(lent._parts, store=there), worker=False)
    for number in range(4):
        await writer.add(turn(number), user_id="ann", session_id="s1")
    there.told.set()

    async def folded():
        return await there.summaries("s1")

    await until(folded)
    await elsewhere.stop(running)


# tenants


def serving(path, **options):
    chosen = {"counter": WordCounter(), "embedder": "none", "patience": Patience(poll_seconds=0.05), **options}
    return open_worker_pool(path, **chosen)


class Listening(FakeSummariser):
    """Notes whose sessions it summarises, in which order."""

    def __init__(self, *script):
        super().__init__(*script)
        self.order = []

    async def summarise(self, task):
        self.order.append(task.messages[0].session_id.partition("-")[0])
        return await super().summarise(task)


async def filled(path, **sessions):
    """So many sessions of each tenant, each with one fold due; the names of sessions begin with the tenant's."""
    for tenant, count in sessions.items():
        async with AsyncMemory(path, tenant=tenant, profile=PROFILE, counter=WordCounter(), worker=False) as memory:
            for number in range(count):
                await talk(memory, session_id=f"{tenant}-{number}")


async def test_every_tenant_has_its_turn(path):
    """Those with little to do do not wait for one with much, though one session is in work at a time."""
    await filled(path, a=share(60), b=3, c=3)
    model = Listening()
    async with serving(path, summariser=model) as workers:
        stop = asyncio.Event()
        running = asyncio.create_task(workers.run(stop, CEILING))

        async def served():
            return model.order.count("b") == model.order.count("c") == 3

        await until(served)
        stop.set()
        await running
    (*_, b), (*_, c) = ([at for at, tenant in enumerate(model.order) if tenant == name] for name in "bc")
    assert model.order[: max(b, c)].count("a") < 12
    assert model.most_at_once == 1


async def test_as_many_sessions_are_in_work_as_there_are_slots(path):
    """In one tenant, too; each under a name of its own."""
    await filled(path, a=5)
    slow = FakeSummariser("is slow")
    store = SqliteStore(path, tenant="a")
    await store.open()
    async with serving(path, summariser=slow, concurrency=3) as workers:
        stop = asyncio.Event()
        running = asyncio.create_task(workers.run(stop, CEILING))

        async def three():
            return len(slow.tasks) == 3 and len(await store.workers()) == 3

        await until(three)
        leases = await store.leases()
        assert len({lease.owner for lease in leases}) == len(leases) == 3
        slow.let_go()

        async def all_done():
            return await store.pending() == 0

        await until(all_done)
        stop.set()
        await running
    assert (await store.workers(), await store.leases()) == ([], [])
    await store.close()


async def test_new_tenants_and_new_rules_are_found(path, caplog):
    """A tenant that comes later is served, and one whose profile changes is served under the new one."""
    caplog.set_level(logging.INFO)
    await filled(path, a=1)
    model = Listening()
    async with serving(path, summariser=model) as workers:
        stop = asyncio.Event()
        running = asyncio.create_task(workers.run(stop, CEILING))

        async def served():
            return model.order == ["a"]

        await until(served)
        await filled(path, b=1)

        async def both():
            return model.order == ["a", "b"]

        await until(both)
        other = PROFILE.but(chunk_size=2, max_recent_messages=2)
        async with AsyncMemory(path, tenant="a", profile=other, counter=WordCounter(), worker=False) as memory:
            await talk(memory, turns=1, session_id="a-0")

            async def folded_anew():
                return len(await memory.summaries("a-0")) >= 3

            await until(folded_anew)
            assert memory.profile == other
        stop.set()
        await running
    assert "profile_changed" in caplog.messages


@pytest.mark.parametrize(("verb", "told"), [("tenants", "tenants_not_found"), ("for_tenant", "tenant_not_served")])
async def test_tenants_are_looked_for_again_when_the_store_fails(path, monkeypatch, caplog, verb, told):
    """Nobody is given up because of one look."""
    await filled(path, a=1)
    model = Listening()
    async with serving(path, summariser=model) as workers:
        if verb == "tenants":
            failing(monkeypatch, workers._store, verb)
        else:
            failing(monkeypatch, workers, "_make_engine")
        stop = asyncio.Event()
        running = asyncio.create_task(workers.run(stop, CEILING))
        await until(lambda: model.order == ["a"])
        stop.set()
        await running
    assert told in caplog.messages


async def test_only_the_tenants_that_were_named_are_served(path):
    """The others' work stays due."""
    await filled(path, a=1, b=1)
    async with serving(path, tenants=["b"]) as workers:
        assert await workers.tenants() == ["b"]
        done = await workers.once(asyncio.Event(), CEILING)
    assert {tenant: settled.folds for tenant, settled in done.items()} == {"b": 1}
    store = SqliteStore(path, tenant="a")
    await store.open()
    assert await store.pending() == 1
    await store.close()


async def test_working_once_ends_when_nothing_is_due(path):
    """For all tenants."""
    await filled(path, a=3, b=2)
    async with serving(path) as workers:
        done = await workers.once(asyncio.Event(), CEILING)
    assert {tenant: settled.folds for tenant, settled in done.items()} == {"a": 3, "b": 2}


# stopping


@pytest.mark.parametrize("once", [False, True])
async def test_what_is_in_hand_is_finished_when_there_is_time(path, once):
    """And nothing else is begun."""
    await filled(path, a=3)
    slow = FakeSummariser("is slow")
    async with serving(path, summariser=slow) as workers:
        stop = asyncio.Event()
        running = asyncio.create_task((workers.once if once else workers.run)(stop, CEILING))
        assert await asyncio.to_thread(slow.started.wait, CEILING)
        (engine,) = workers._engines.values()
        stop.set()
        await until(lambda: engine._worker._stopping)
        slow.let_go()
        await asyncio.wait_for(running, CEILING)
    assert len(slow.tasks) == 1
    store = SqliteStore(path, tenant="a")
    await store.open()
    assert (await store.pending(), await store.leases(), await store.workers()) == (2, [], [])
    await store.close()


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("told_twice", [False, True])
async def test_what_takes_too_long_is_handed_back(path, once, told_twice):
    """Still due, and free at once; sooner if told a second time."""
    await filled(path, a=3)
    hanging = FakeSummariser("hangs")
    async with serving(path, summariser=hanging) as workers:
        stop = asyncio.Event()
        running = asyncio.create_task((workers.once if once else workers.run)(stop, 9 * CEILING if told_twice else 0.1))
        assert await asyncio.to_thread(hanging.started.wait, CEILING)
        (engine,) = workers._engines.values()
        stop.set()
        if told_twice:
            await until(lambda: engine._worker._stopping)
            running.cancel()
        await asyncio.wait([running], timeout=CEILING)
        assert running.done()
    store = SqliteStore(path, tenant="a")
    await store.open()
    assert (await store.pending(), await store.leases(), await store.workers()) == (3, [], [])
    await store.close()
