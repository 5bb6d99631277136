"""Worker processes that are killed while others write: nothing is lost, done twice, or left behind."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from lamina import PROFILES, Memory
from lamina.errors import StoreError
from lamina.testing.postgres_server import SERVICE, Server
from tests.places import Backend
from tests.sizes import FULL, share
from tests.waiting import CEILING, wait_until

LAMINA = str(Path(sys.executable).with_name("lamina"))
PROFILE = PROFILES["project"].but(max_recent_messages=8, chunk_size=4, max_chunks=3, cap=60, least=0)
SESSIONS = {Backend.SQLITE: share(60), Backend.POSTGRES: 200 if FULL else 20}
KILLS, PROCESSES = share(3), 3 if FULL else 2
ROUNDS = 6  # after so many turns each session has something to fold


@pytest.fixture(params=[Backend.SQLITE, Backend.POSTGRES])
def store(request):
    return request.param


@pytest.fixture
def server(store):
    """The server, if there is one: it writes to the disk before it acknowledges, so that it may be killed."""
    if store is Backend.SQLITE:
        yield None
        return
    with Server(durable=True) as server:
        yield server


@pytest.fixture
def location(server, tmp_path):
    """Where the memory is: a URL that several processes can open."""
    return server.url(server.new_database(), SERVICE) if server else f"sqlite:///{tmp_path}/lamina.db"


@pytest.fixture
def memory(location):
    """With something in it: workers tell of themselves when there is someone to work for."""
    with Memory(location, profile=PROFILE, embedder="none", worker=False) as memory:
        memory.add("One remark.", user_id="ann", session_id="first")
        yield memory


@pytest.fixture
def workers(location, memory, tmp_path):
    """`lamina worker` with several processes; ended afterwards, whatever happened."""
    ours = ("LAMINA", "MEMORY_", "PROMPT_", "DATABASE_URL")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    with (tmp_path / "stderr").open("w") as errors:
        process = subprocess.Popen(
            [LAMINA, "-v", "--db", location, "worker", "--processes", str(PROCESSES), "--concurrency", "2",
             "--grace", str(CEILING)],
            stderr=errors,
            env={**environ, "LAMINA_EMBEDDER": "none", "LAMINA_LEASE_SECONDS": "5"},
        )  # fmt: skip
        yield process
        if process.poll() is None:
            process.kill()
            process.wait()


class Writer(threading.Thread):
    """Appends turns to all sessions, and knows what was acknowledged."""

    def __init__(self, memory, sessions):
        super().__init__(daemon=True)
        self.memory = memory
        self.acknowledged: dict[str, list[str]] = {f"s{number}": [] for number in range(sessions)}
        self.turns = 0
        self.enough = threading.Event()

    def turn(self, session_id, number):
        said = f"Step {number} of {session_id} is about ship {number % 7} and {number} crates of tea."
        turn = [
            {"role": "user", "content": said, "id": f"{session_id}-{number}"},
            {"role": "assistant", "content": f"Ship {number % 7} is noted.", "id": f"{session_id}-{number}-reply"},
        ]
        for _ in range(20):
            try:
                added = self.memory.add(turn, user_id="ann", session_id=session_id)
            except StoreError:  # the server was killed while it was keeping them: whether it did is not known
                continue
            self.acknowledged[session_id] += added.ids
            self.turns += 1
            return
        raise AssertionError("nothing can be added any more")

    def run(self):
        for number in count():
            for session_id in self.acknowledged:
                if self.enough.is_set():
                    return
                self.turn(session_id, number)
                time.sleep(0.01)  # the workers are to keep up in the end


def is_running(pid):
    """Whether it is one of our worker processes, and alive."""
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


class Watch:
    """Looks at workers and leases from outside."""

    def __init__(self, memory, server=None):
        self.memory = memory
        self.pids = set()
        self.looks = 0
        # a claim that a server kept and died before it said so leaves a hand with a lease that it does not know of
        self.unique = ("session_id",) if server else ("session_id", "owner")

    def look(self):
        """The worker processes that are alive; no session and no hand is in two leases."""
        leases = self.memory._loop.run(self.memory._memory._parts.store.leases())
        for name in self.unique:
            held = Counter(getattr(lease, name) for lease in leases)
            assert max(held.values(), default=0) <= 1, held
        alive = {int(note.pid) for note in self.memory.workers() if is_running(note.pid)}
        self.pids |= alive
        self.looks += 1
        return alive


def at_rest(memory):
    def nothing_is_due():
        backlog = memory.backlog()
        return (backlog.pending, backlog.leased, backlog.waiting, backlog.aside) == (0, 0, 0, 0)

    return nothing_is_due


@pytest.mark.also_postgres
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_workers_that_are_killed_lose_and_double_nothing(memory, workers, tmp_path, server, store):
    """Each acknowledged message is there, each span is folded once, and a signal ends all processes.

    The server is killed too, if there is one: workers go on when it is back.
    """
    chance, watch, writer = random.Random(4), Watch(memory, server), Writer(memory, SESSIONS[store])

    def has_added(turns):
        watch.look()
        return writer.turns >= turns

    wait_until(lambda: len(watch.look()) == PROCESSES, "all processes have begun")
    writer.start()
    for _ in range(KILLS):
        moment = max(writer.turns, ROUNDS * SESSIONS[store]) + chance.randint(5, 50)
        wait_until(partial(has_added, moment), "more was said")
        os.kill(chance.choice(sorted(wait_until(watch.look))), signal.SIGKILL)
        if server:
            server.kill()
            server.start()
    wait_until(
        lambda: len(watch.look()) == PROCESSES and len(watch.pids) >= PROCESSES + KILLS, "others took their places"
    )
    writer.enough.set()
    writer.join()
    wait_until(at_rest(memory), "nothing is due")
    assert_all_is_folded_once(memory, writer.acknowledged)
    assert watch.looks > KILLS
    assert_a_signal_ends_all(memory, workers, watch.pids)
    told, *lines = sorted((tmp_path / "stderr").read_text("utf-8").splitlines(), key=lambda line: line[:1] == "{")
    assert told.startswith("worker ")
    log = [json.loads(line) for line in lines]
    died = sum(line["action"] == "worker_process_died" for line in log)
    assert died >= KILLS if server else died == KILLS  # one that starts while there is no server ends, too
    assert "crates" not in json.dumps(log)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_workers_whose_first_process_is_killed_stop(memory, workers):
    """By themselves, with nothing left in the store."""
    watch = Watch(memory)
    wait_until(lambda: len(watch.look()) == PROCESSES, "all processes have begun")
    workers.kill()
    wait_until(lambda: not watch.look(), "all have stopped")
    assert memory.workers() == []


def assert_all_is_folded_once(memory, acknowledged):
    for session_id, ids in acknowledged.items():
        assert [message.id for message in memory.messages(session_id)] == ids
        made = [summary for summary in memory.summaries(session_id, live=False) if summary.status != "replaced"]
        spans = Counter((summary.kind, summary.layer, summary.covers) for summary in made)
        assert made
        assert max(spans.values()) == 1
    assert memory.settle().folds == 0
    assert memory.verify().ok


def assert_a_signal_ends_all(memory, workers, pids):
    workers.send_signal(signal.SIGTERM)
    assert workers.wait(CEILING) == 0
    assert [pid for pid in pids if is_running(pid)] == []
    assert memory.workers() == []
