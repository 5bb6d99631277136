"""Workers as processes: one that serves until it is told to stop, and one that keeps several of those alive."""

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from lamina.errors import LaminaError
from lamina.logs import log_to_stderr
from lamina.tenancy.open_tenants import open_worker_pool

logger = logging.getLogger("lamina.worker")

_LONGEST_WAIT = 30.0  # seconds before a process that keeps dying is started again
_LIVED = 60.0  # seconds after which a process is no longer one that keeps dying
_KILLED_AFTER = 10.0  # seconds beyond the grace that a process has to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker process is to do; it can be handed to a process that is started."""

    location: str
    options: Mapping[str, Any]
    tenants: tuple[str, ...]
    concurrency: int
    grace: float
    once: bool
    log_level: str


def serve(plan: Plan) -> int:
    """Work in this process until a signal comes, or nothing is due; the exit code."""
    return asyncio.run(_served(plan))


async def _served(plan: Plan) -> int:
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def on_signal() -> None:
        if stop.is_set() and task is not None:
            task.cancel()  # told twice: what is in hand is handed back at once
        stop.set()

    def orphaned(sentinel: int) -> None:
        loop.remove_reader(sentinel)
        stop.set()

    parent = multiprocessing.parent_process()
    loop.add_signal_handler(signal.SIGTERM, on_signal)
    if parent is None:
        loop.add_signal_handler(signal.SIGINT, on_signal)
    else:  # a terminal sends this to all processes, but it is the parent who says when to stop
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        loop.add_reader(parent.sentinel, orphaned, parent.sentinel)
    try:
        async with open_worker_pool(
            plan.location, tenants=plan.tenants, concurrency=plan.concurrency, **plan.options
        ) as workers:
            if not plan.once:
                await workers.run(stop, plan.grace)
                return 0
            done = await workers.once(stop, plan.grace)
            return int(any(settled.failed for settled in done.values()))
    except asyncio.CancelledError:
        return 0


def _serve_as_child(plan: Plan) -> None:
    log_to_stderr(plan.log_level)
    try:
        sys.exit(serve(plan))
    except LaminaError as error:
        logger.error("worker_process_failed", extra={"reason": str(error)})  # noqa: TRY400 - the reason says it all
        sys.exit(1)


@dataclass(slots=True)
class _Post:
    """A place for one process, which is started again when it dies."""

    plan: Plan
    process: Any = None
    started: float = 0.0
    deaths: int = 0
    start_at: float = 0.0
    code: int | None = None  # how it ended, once that is for good

    @property
    def runs(self) -> bool:
        return self.process is not None

    def start(self) -> None:
        self.process = multiprocessing.get_context("spawn").Process(target=_serve_as_child, args=(self.plan,))
        self.process.start()
        self.started = time.monotonic()

    def bury(self, *, stopping: bool) -> None:
        """Note that the process is dead, and when to start the next."""
        self.process.join()
        code, pid = self.process.exitcode, self.process.pid
        self.process.close()
        self.process = None
        if stopping or (self.plan.once and code in {0, 1}):
            self.code = max(code, 0)
            return
        self.deaths = 1 if time.monotonic() - self.started > _LIVED else self.deaths + 1
        seconds = min(2.0 ** (self.deaths - 1) / 2, _LONGEST_WAIT)
        self.start_at = time.monotonic() + seconds
        logger.warning("worker_process_died", extra={"pid": pid, "code": code, "restart_seconds": seconds})


@dataclass(slots=True)
class _Signals:
    """Signals as something to wait for."""

    count: int = 0
    reader: socket.socket = field(init=False)
    _writer: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        for end in (self.reader, self._writer):
            end.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._came)

    def _came(self, _number: int, _frame: object) -> None:
        self.count += 1

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for end in (self.reader, self._writer):
            end.close()


def supervise(plan: Plan, processes: int) -> int:
    """Keep so many worker processes alive until a signal comes, or nothing is due; the exit code."""
    signals, posts = _Signals(), [_Post(plan) for _ in range(processes)]
    try:
        while not signals.count and any(post.code is None for post in posts):
            _start_those_due(posts)
            starts = [post.start_at for post in posts if not post.runs and post.code is None]
            _wait(signals, posts, min([*starts, time.monotonic() + _LONGEST_WAIT]))
        if signals.count:
            _stop(signals, posts, time.monotonic() + plan.grace + _KILLED_AFTER)
    finally:
        for post in posts:
            if post.runs:
                post.process.kill()
        signals.close()
    return 0 if signals.count else max(post.code or 0 for post in posts)


def _start_those_due(posts: list[_Post]) -> None:
    for post in posts:
        if not post.runs and post.code is None and post.start_at <= time.monotonic():
            post.start()


def _wait(signals: _Signals, posts: list[_Post], until: float) -> None:
    """Until a signal comes, a process dies, or it is time."""
    running = {post.process.sentinel: post for post in posts if post.runs}
    ready = wait([signals.reader, *running], timeout=max(0.05, until - time.monotonic()))
    if signals.reader in ready:
        signals.reader.recv(1024)
    for sentinel in running.keys() & set(ready):
        running[sentinel].bury(stopping=bool(signals.count))


def _stop(signals: _Signals, posts: list[_Post], until: float) -> None:
    """Pass each signal on, wait for the processes to end, and kill those that do not."""
    passed_on = 0
    while running := [post.process for post in posts if post.runs]:
        if signals.count > passed_on:
            passed_on = signals.count
            for process in running:
                process.terminate()
        if time.monotonic() >= until:
            for process in running:
                process.kill()
        _wait(signals, posts, until)
