"""`lamina worker` and `lamina workers`, run as their users run them."""

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import replace

import pytest

from lamina.cli import worker_processes
from lamina.cli.worker_processes import Plan
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing.llm_server import LlmServer, sensible
from lamina.testing.samples import a_note, at
from tests.command_line import LAMINA
from tests.waiting import CEILING, wait_until


@pytest.fixture(autouse=True)
def small_chunks(tmp_path):
    """A profile that folds early."""
    (tmp_path / "lamina.toml").write_text('profile = "project"\n', "utf-8")


def lines(number):
    roles = ("user", "assistant")
    return "\n".join(
        json.dumps({"role": roles[n % 2], "content": f"Message {n} about plan {n}"}) for n in range(number)
    )


def due(cli, *words, messages=40):
    """A session with folds to make."""
    assert cli(*words, "add", "-", "-s", "s1", "--no-settle", given=lines(messages)).code == 0


def stored(path, verb, tenant="default"):
    async def look():
        store = SqliteStore(path, tenant=tenant)
        await store.open()
        try:
            return await verb(store)
        finally:
            await store.close()

    return asyncio.run(look())


def backlog(cli, *words):
    return json.loads(cli(*words, "workers", "--json").stdout)["backlog"]


@pytest.mark.parametrize("processes", [pytest.param("1", marks=pytest.mark.full), "2"])
def test_a_worker_works_for_all_tenants_until_nothing_is_due(cli, lamina, processes):
    """It says on standard error who works where, and nothing on standard output."""
    due(cli)
    due(cli, "--tenant", "b")
    done = lamina("worker", "--once", "--processes", processes)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"worker {socket.gethostname()}/" in done.stderr
    assert "on lamina.db for all tenants, 2 now" in done.stderr
    for words in ((), ("--tenant", "b")):
        assert backlog(cli, *words)["pending"] == 0
        assert json.loads(cli(*words, "session", "s1", "--json").stdout)["session"]["counters"]["cursor"] > 0


@pytest.mark.parametrize("words", [["--tenant", "b", "worker", "--once"], ["worker", "--once", "--tenant", "b"]])
def test_a_worker_for_one_tenant_leaves_the_others_alone(cli, words):
    """Whether the tenant is named before the command or behind it."""
    due(cli)
    due(cli, "--tenant", "b")
    done = cli(*words)
    assert (done.code, "for tenants b;" in done.err) == (0, True)
    assert (backlog(cli)["pending"], backlog(cli, "--tenant", "b")["pending"]) == (1, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--db", ":memory:", "worker"], "a worker needs a memory that others can open", id="memory"),
        pytest.param(["--db", "nowhere/a.db", "worker", "--once"], "nowhere/a.db", id="folder"),
        pytest.param(["worker", "--processes", "0"], "processes", id="no-process"),
        pytest.param(["worker", "--concurrency", "0"], "concurrency", id="no-turn"),
        pytest.param(["workers"], "there is no memory at", id="no-file"),
        pytest.param(["--tenant", "*", "sessions"], "there is no memory", id="all"),
    ],
)
def test_mistakes_of_workers_are_said_before_any_work(cli, words, said):
    done = cli(*words)
    assert done.code != 0
    assert said in done.err


def test_no_tenant_is_called_all(cli):
    """The name stands for all of them."""
    due(cli)
    done = cli("--tenant", "*", "sessions")
    assert (done.code, "no tenant is called '*'" in done.err) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker(cli, tmp_path, number):
    """With exit code 0, and nothing of it is left in the store."""
    due(cli)
    worker = subprocess.Popen([LAMINA, "worker"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: not backlog(cli)["pending"])
        worker.send_signal(number)
        _, said = worker.communicate(timeout=CEILING)
    finally:
        worker.kill()
    assert (worker.returncode, said.count("\n")) == (0, 1)
    assert stored(tmp_path / "lamina.db", lambda store: store.workers()) == []
    assert backlog(cli)["pending"] == 0


def test_a_second_signal_ends_a_worker_at_once(cli, tmp_path):
    """What is in hand is handed back unfinished, and is due again."""
    due(cli)
    release = threading.Event()

    def stubborn(asked):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        release.wait(CEILING)
        return sensible(asked)

    with LlmServer(stubborn) as server:
        model = {"LAMINA_LLM_BASE_URL": server.url, "LAMINA_LLM_MODEL": "m", "LAMINA_LLM_USE": "summaries"}
        done = cli("worker", "--grace", str(CEILING), **model)
        assert not release.is_set()
        release.set()
    assert done.code == 0
    assert (backlog(cli)["pending"], backlog(cli)["leased"]) == (1, 0)


def a_plan(location, **changes):
    plan = Plan(location=location, options={}, tenants=(), concurrency=1, grace=0, once=True, log_level="warning")
    return replace(plan, **changes)


def test_a_process_that_cannot_work_says_why(tmp_path, capsys):
    """In its log, with exit code 1."""
    with pytest.raises(SystemExit) as stop:
        worker_processes._run_as_child(a_plan(str(tmp_path / "nowhere" / "a.db")))
    assert stop.value.code == 1
    told = json.loads(capsys.readouterr().err)
    assert (told["action"], "there is no folder" in told["reason"]) == ("worker_process_failed", True)


@pytest.fixture
def signals():
    """Signals as the supervisor waits for them; afterwards they are as before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


STUBBORN = """
import pathlib, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({ready!r}).touch()
while True:
    signal.pause()
"""


def test_a_process_that_does_not_end_in_time_is_killed(tmp_path, signals):
    """After the grace, and some seconds more."""
    ready, post = tmp_path / "ready", worker_processes._Slot(a_plan("lamina.db"))
    post.process = multiprocessing.get_context("spawn").Process(target=exec, args=(STUBBORN.format(ready=str(ready)),))
    post.process.start()
    pid = post.process.pid
    wait_until(ready.exists)
    waiting = worker_processes._Signals(count=1)
    worker_processes._stop(waiting, [post], time.monotonic())
    waiting.close()
    assert not post.runs
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_no_process_outlives_its_supervisor(tmp_path, signals, monkeypatch):
    """Whatever goes wrong."""

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(worker_processes, "_wait", broken)
    before = set(multiprocessing.active_children())
    with pytest.raises(ZeroDivisionError):
        worker_processes.supervise(a_plan(str(tmp_path / "lamina.db"), once=False), 1)
    wait_until(lambda: set(multiprocessing.active_children()) <= before)


def test_workers_and_failures_are_shown(cli, tmp_path):
    """Who, where, alive or not, at what; what fails and why; and it can be asked for again."""
    due(cli)

    async def fail(store):
        await store.note_worker(a_note(f"{socket.gethostname()}/999999999/ab12", session_id="s1", since=at(), done=3))
        claim = await store.claim("w", at(99_999_999), at(99_999_999))
        await store.release(claim, failed="StoreError: [bold]broken")

    stored(tmp_path / "lamina.db", fail)
    shown = cli("workers").out
    assert f"ab12 {socket.gethostname()} 999999999 no s1" in shown
    assert "sessions: 0 pending, 0 in work, 0 to retry, 1 set aside; lag none; 1 user without vectors" in shown
    assert "s1 default 1 set aside StoreError: [bold]broken" in shown
    data = json.loads(cli("workers", "--json").stdout)
    assert (data["workers"][0]["alive"], data["backlog"]["failing"][0]["reason"]) == (False, "StoreError: [bold]broken")
    assert cli("settle").code == 1
    assert cli("workers", "--retry", "s9").code == 1
    assert cli("workers", "--retry", "s1").out == "sessions to try again: 1"
    assert "1 pending" in cli("workers").out
    assert cli("settle").code == 0
