"""The detector of stalls sees what blocks a loop, and where, and nothing else."""

import asyncio
import gc
import threading
import time
from contextlib import contextmanager

import pytest

from lamina.testing.stalls import moment, stalls
from tests.waiting import CEILING


@contextmanager
def running_loop():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CEILING)
        loop.close()


@pytest.fixture(scope="module")
def loop():
    with running_loop() as found:
        yield found


def done(loop, work):
    return asyncio.run_coroutine_threadsafe(work, loop).result(CEILING)


def compute(moments):
    """So many pieces of work in a row."""
    for _ in range(moments):
        sum(number * number for number in range(150_000))


def test_a_stall_is_measured_and_its_place_is_told(loop):
    async def stall():
        compute(60)

    with stalls(loop) as found:
        done(loop, stall())
    assert found.worst.seconds > 10 * moment()
    assert "in compute" in found.worst.where
    assert "in stall" in found.worst.where


def test_work_that_gives_others_their_turn_is_no_stall(loop):
    async def polite():
        for _ in range(20):
            compute(1)
            await asyncio.sleep(0)

    with stalls(loop) as found:
        done(loop, polite())
    assert found.worst.seconds < 8 * moment()
    assert found.ticks > 1


def test_what_other_threads_do_is_no_stall(loop):
    async def wait():
        await asyncio.to_thread(compute, 20)

    with stalls(loop) as found:
        compute(20)
        done(loop, wait())
        time.sleep(0)
    assert found.worst.seconds < 8 * moment()


def test_the_collector_of_garbage_is_no_stall(loop):
    kept = [[number] for number in range(30_000)]

    async def collect():
        for _ in range(20):
            gc.collect()

    began = time.thread_time()
    gc.collect()
    once = time.thread_time() - began
    with stalls(loop) as found:
        done(loop, collect())
    assert found.worst.seconds < 10 * once
    assert kept


def test_a_loop_that_does_not_run_is_said_so(monkeypatch):
    monkeypatch.setattr("lamina.testing.stalls._PATIENCE_S", 0.01)
    idle = asyncio.new_event_loop()
    with pytest.raises(TimeoutError, match="does not run"), stalls(idle):
        pass
    idle.close()
