"""Processes killed in the middle of appends and folds, and several at once on one file: nothing is lost or doubled."""

import random
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lamina import PROFILES, Memory
from lamina.testing import WordCounter
from tests.sizes import share
from tests.waiting import CEILING

ROUNDS, STEPS = share(50), share(60)
PROFILE = PROFILES["project"].but(max_recent_messages=8, chunk_size=4, max_chunks=3, cap=40, least=0)

# Writes turns to three sessions without end, and says on its output what was acknowledged. It waits for a line first,
# so that its imports are done while the process before it still lives. With `statements` above 0 it kills itself
# at that statement of SQLite, which is in the middle of a transaction more often than not.
WRITER = """
import os, signal, sqlite3, sys
from itertools import count
from lamina import Memory, PROFILES
from lamina.testing import WordCounter

path, name, statements = sys.argv[1], sys.argv[2], int(sys.argv[3])
profile = PROFILES["project"].but(max_recent_messages=8, chunk_size=4, max_chunks=3, cap=40, least=0)
seen, connect = count(1), sqlite3.connect

def traced(*args, **options):
    connection = connect(*args, **options)
    connection.set_trace_callback(lambda sql: next(seen) == statements and os.kill(os.getpid(), signal.SIGKILL))
    return connection

if statements:
    sqlite3.connect = traced
sys.stdin.readline()
with Memory(path, profile=profile, counter=WordCounter()) as memory:
    for number in count():
        said = f"Step {number} of {name} is about ship {number % 7} and 12 crates of tea."
        ids = [f"{name}-{number}", f"{name}-{number}-reply"]
        turn = [
            {"role": "user", "content": said, "id": ids[0]},
            {"role": "assistant", "content": f"Ship {number % 7} is noted.", "id": ids[1]},
        ]
        memory.add(turn, user_id="ann", session_id=f"s{number % 3}")
        print(*ids, flush=True)
"""

# Appends to a session of its own and to one that all share, with a background worker, then helps to finish the folds.
SHARER = """
import sys
from lamina import Memory, PROFILES
from lamina.testing import WordCounter

path, name, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
profile = PROFILES["project"].but(max_recent_messages=8, chunk_size=4, max_chunks=3, cap=40, least=0)
print("ready", flush=True)
sys.stdin.readline()
with Memory(path, profile=profile, counter=WordCounter()) as memory:
    for number in range(steps):
        said = f"Step {number} of {name} is about ship {number % 7} and 12 crates of tea."
        for session in ("shared", name):
            memory.add(
                [{"role": "user", "content": said, "id": f"{session}-{name}-{number}"},
                 {"role": "assistant", "content": "It is noted.", "id": f"{session}-{name}-{number}-reply"}],
                user_id="ann", session_id=session,
            )
        same = {"role": "user", "content": f"All say {number}.", "id": f"all-{number}"}
        memory.add(same, user_id="ann", session_id="same")
        memory.context("which ship?", user_id="ann", session_id="shared")
    assert memory.settle().failed == ()
"""


def started(script, *arguments):
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def let_go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


@dataclass
class Crash:
    """One process and how it comes to its end: killed from outside after some lines, or by itself at a statement."""

    path: str
    name: str
    lines: int
    statements: int
    process: Any = field(init=False)

    def __post_init__(self):
        self.process = started(WRITER, self.path, self.name, self.statements)

    def run(self):
        """The ids that were acknowledged before the end."""
        with self.process as process:
            let_go(process)
            acknowledged = list(process.stdout if self.statements else islice(process.stdout, self.lines))
            process.kill()
            rest, complaints = process.communicate()
        assert process.returncode == -9, complaints
        assert complaints == ""
        return "".join([*acknowledged, rest]).split()


def planned(path, seed):
    """Crashes at moments that are spread over everything a process does, the same for the same seed."""
    chance = random.Random(seed)
    for number in range(ROUNDS):
        inside = number % 2
        yield Crash(path, f"p{number}", chance.randint(1, 25), chance.randint(5, 450) if inside else 0)


def prepared(crashes):
    """Each crash with the next one's process already started."""
    waiting = next(crashes)
    for following in crashes:
        yield waiting
        waiting = following
    yield waiting


def test_what_was_acknowledged_survives_kill_9(tmp_path):
    """Processes killed at any point leave every acknowledged message, a whole file, and folds that finish."""
    path = tmp_path / "lamina.db"
    acknowledged = []
    for number, crash in enumerate(prepared(planned(str(path), seed=2025))):
        acknowledged += crash.run()
        if number % 5 == 4:
            with Memory(path, profile=PROFILE, counter=WordCounter(), worker=False) as memory:
                report = memory.verify()
                assert report.ok, report.problems
                assert_stored_once(memory, acknowledged)
    with Memory(path, profile=PROFILE, counter=WordCounter(), worker=False) as memory:
        assert len(acknowledged) > 10 * ROUNDS
        settled = memory.settle(timeout=CEILING)
        assert settled.failed == ()
        assert memory.backlog().pending == 0
        assert_stored_once(memory, acknowledged)
        assert all(memory.summaries(session.id) for session in memory.sessions())
        report = memory.verify()
        assert report.ok, report.problems


def assert_stored_once(memory, acknowledged):
    stored = [m for session in memory.sessions() for m in memory.messages(session.id)]
    ids = [m.id for m in stored]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    whole_turns = {m.id.removesuffix("-reply") for m in stored}
    assert len(ids) == 2 * len(whole_turns), "an append was stored in part"


def test_four_processes_share_one_file(tmp_path):
    """They append and fold at once: no error, no lost or doubled message, no gap, nothing left to fold."""
    path = tmp_path / "lamina.db"
    names = ["a", "b", "c", "d"]
    processes = [started(SHARER, path, name, STEPS) for name in names]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        let_go(process)
    for process in processes:
        _, complaints = process.communicate()
        assert (process.returncode, complaints) == (0, "")
    with Memory(path, profile=PROFILE, counter=WordCounter(), worker=False) as memory:
        expected = {f"shared-{name}-{n}{reply}" for name in names for n in range(STEPS) for reply in ("", "-reply")}
        shared = memory.messages("shared")
        assert [m.seq for m in shared] == list(range(1, 2 * STEPS * len(names) + 1))
        assert {m.id for m in shared} == expected
        assert [memory.session(name).counters.messages for name in names] == [2 * STEPS] * len(names)
        assert sorted(m.id for m in memory.messages("same")) == sorted(f"all-{n}" for n in range(STEPS))
        assert memory.settle().folds == 0
        assert memory.backlog().pending == 0
        report = memory.verify()
        assert report.ok, report.problems
