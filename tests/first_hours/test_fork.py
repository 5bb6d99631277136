"""The first hour of a service that forks: gunicorn's way, `multiprocessing` by fork and by spawn."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import Place
from tests.waiting import CEILING


def run(script: str, *words: str, folder: Path | None = None) -> list[str]:
    """The lines that a script prints; it is a file, since a spawned process reads it again."""
    done = subprocess.run(
        [sys.executable, *([script] if folder is None else ["-c", script]), *words],
        capture_output=True,
        text=True,
        timeout=CEILING,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PREFORKED = """
import os, sys
from lamina import LaminaError, Memory

place = sys.argv[1]


class App:
    '''Opens the memory when the first request comes, in the process that has it.'''

    def __init__(self):
        self._memory, self._process = None, None

    def memory(self):
        if self._process != os.getpid():
            self._memory, self._process = Memory(place), os.getpid()
        return self._memory

    def request(self, number):
        self.memory().add(f"Hello from worker {number}.", user_id="u", session_id=f"s{number}")


app = App()
app.memory().add("Warmed up before the fork.", user_id="u", session_id="s")
workers = []
for number in range(3):
    pid = os.fork()
    if pid == 0:
        app.request(number)
        app.memory().settle()
        app.memory().close()
        os._exit(0)
    workers.append(pid)
print([os.waitpid(pid, 0)[1] for pid in workers])
memory = app.memory()
memory.settle()
print(sorted(session.id for session in memory.sessions("u")), memory.verify().ok)
memory.close()
"""


@pytest.mark.also_postgres
def test_each_worker_of_a_preforking_service_opens_its_own_memory(place: Place, tmp_path) -> None:
    """All of them write to the same store at once, beside the process that forked them; nothing is lost."""
    assert run(PREFORKED, str(place()), folder=tmp_path) == ["[0, 0, 0]", "['s', 's0', 's1', 's2'] True"]


IMPORTING = """
import os, sys, threading, time
from pathlib import Path
from lamina import Memory
from lamina.fork_gate import no_fork

Path(sys.argv[1], "slow.py").write_text("import time; time.sleep(0.5); value = 1")
sys.path.insert(0, sys.argv[1])
began = threading.Event()


def load():
    with no_fork():
        began.set()
        import slow


thread = threading.Thread(target=load)
thread.start()
began.wait()
pid = os.fork()
if pid == 0:
    import slow
    os._exit(slow.value)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
thread.join()
"""


def test_a_fork_waits_for_what_another_thread_imports(tmp_path) -> None:
    """Else the module would be locked in the new process for ever."""
    assert run(IMPORTING, str(tmp_path), folder=tmp_path) == ["1"]


KEPT = """
import os, sqlite3, sys
from lamina import Memory

memory = Memory(sys.argv[1])
memory.add("Before the fork.", user_id="u", session_id="s")
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    memory.add("After it.", user_id="u", session_id="s")
    print(sqlite3.connect(sys.argv[1]).execute("pragma journal_mode").fetchone()[0])
memory.settle()
print(len(memory.messages("s")), memory.verify().ok)
memory.close()
"""


def test_a_memory_works_on_in_the_process_that_forked(tmp_path) -> None:
    """Its connections are opened again, with a write-ahead log."""
    assert run(KEPT, str(tmp_path / "chat.db"), folder=tmp_path) == [*["wal"] * 5, "6 True"]


IN_USE = """
import os, sys, threading
from lamina import Memory, StoreError, fork_gate

fork_gate._PATIENCE_S = 0.1
memory = Memory(sys.argv[1])
memory.add("Before the fork.", user_id="u", session_id="s")
began, done = threading.Event(), threading.Event()


def work():
    with fork_gate.no_fork():
        began.set()
        done.wait()


threading.Thread(target=work).start()
began.wait()
pid = os.fork()
if pid == 0:
    try:
        Memory(sys.argv[1])
    except StoreError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
done.set()
memory.add("After it.", user_id="u", session_id="s")
print(len(memory.messages("s")), memory.verify().ok)
memory.close()
"""


def test_a_file_that_stays_in_use_is_refused_after_the_fork(tmp_path) -> None:
    """SQLite in the new process would believe that it has the locks of the other one, and damage the file."""
    refused, after = run(IN_USE, str(tmp_path / "chat.db"), folder=tmp_path)
    assert "was in use when this process was forked" in refused
    assert "spawn" in refused
    assert after == "2 True"


SHARED = """
import multiprocessing, sys
from lamina import LaminaError, Memory

memory = None


def work(number):
    try:
        memory.add(f"Hello {number}.", user_id="u")
    except LaminaError as error:
        return str(error)
    return "stored"


if __name__ == "__main__":
    memory = Memory(sys.argv[1])
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(set(pool.map(work, range(4))))
    memory.add("Hello from the parent.", user_id="u")
    print(len(memory.messages("u:main")), memory.verify().ok)
    memory.close()
"""


def test_a_memory_that_was_opened_before_a_pool_forks_says_what_to_do(tmp_path) -> None:
    """Every call in the pool is refused at once, and the memory of the parent works on."""
    script = tmp_path / "shared.py"
    script.write_text(SHARED, "utf-8")
    refused, after = run(str(script), str(tmp_path / "chat.db"))
    assert "was opened before this process was forked" in refused
    assert "open it here, after the fork" in refused
    assert after == "1 True"


POOL = """
import multiprocessing, sys
from lamina import Memory

memory = None


def begin(place):
    global memory
    memory = Memory(place, worker=False)


def work(number):
    memory.add(f"I have {number} goats.", user_id="u", session_id=f"s{number}")
    return len(memory.search("goats", user_id="u")) > 0


if __name__ == "__main__":
    place, how = sys.argv[1:]
    with Memory(place) as first:
        first.add("Opened before the pool.", user_id="u", session_id="s")
        with multiprocessing.get_context(how).Pool(2, initializer=begin, initargs=(place,)) as pool:
            print(all(pool.map(work, range(6))))
        first.settle()
        print(len(first.sessions("u")), first.verify().ok)
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.also_postgres
def test_a_pool_whose_processes_open_their_own_memory_works(place: Place, tmp_path, how: str) -> None:
    """By fork, although a memory is open in the parent, and by spawn."""
    script = tmp_path / "pool.py"
    script.write_text(POOL, "utf-8")
    assert run(str(script), str(place()), how) == ["True", "7 True"]


SPAWNED = """
import multiprocessing, sys
from lamina import Memory


def work(memory):
    memory.add("Hello.", user_id="u")


if __name__ == "__main__":
    with Memory(sys.argv[1]) as memory:
        try:
            multiprocessing.get_context("spawn").Process(target=work, args=(memory,)).start()
        except Exception as error:
            print(type(error).__name__, error)
"""


def test_a_memory_that_is_sent_to_another_process_says_what_to_do(tmp_path) -> None:
    """It cannot be pickled: the error says to open one there."""
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED, "utf-8")
    (line,) = run(str(script), str(tmp_path / "chat.db"))
    assert line.startswith("LaminaError a memory cannot be sent to another process")
    assert "open it there" in line
