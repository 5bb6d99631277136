"""Worker processes: one that works until a signal stops it, and a supervisor that restarts those that die."""

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from lamina.errors import LaminaError
from lamina.logs import log_to_stderr
from lamina.tenancy.open_tenants import open_worker_pool

logger = logging.getLogger("lamina.worker")

_MAX_BACKOFF = 30.0  # seconds before a process that keeps dying is started again
_STABLE_AFTER = 60.0  # seconds of life after which the backoff starts again at its minimum
_KILL_AFTER = 10.0  # seconds beyond the grace that a process has to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker process has to do; it can be pickled for a new process."""

    location: str
    options: Mapping[str, Any]
    tenants: tuple[str, ...]
    concurrency: int
    grace: float
    once: bool
    log_level: str


def run_worker(plan: Plan, announce: Callable[[], None] = lambda: None) -> int:
    """Work in this process until a signal comes, or nothing is due; the exit code. `announce` once signals count."""
    return asyncio.run(_run(plan, announce))


async def _run(plan: Plan, announce: Callable[[], None]) -> int:
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def on_signal() -> None:
        if stop.is_set() and task is not None:
            task.cancel()  # a second signal: give the current work back at once
        stop.set()

    def on_parent_death(sentinel: int) -> None:
        loop.remove_reader(sentinel)
        stop.set()

    parent = multiprocessing.parent_process()
    loop.add_signal_handler(signal.SIGTERM, on_signal)
    if parent is None:
        loop.add_signal_handler(signal.SIGINT, on_signal)
    else:  # a terminal sends SIGINT to all processes; the parent decides when to stop
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        loop.add_reader(parent.sentinel, on_parent_death, parent.sentinel)
    announce()
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


def _run_as_child(plan: Plan) -> None:
    log_to_stderr(plan.log_level)
    try:
        sys.exit(run_worker(plan))
    except LaminaError as error:
        logger.error("worker_process_failed", extra={"reason": str(error)})  # noqa: TRY400 - the reason says it all
        sys.exit(1)


@dataclass(slots=True)
class _Slot:
    """A slot for one process, which is started again when it dies."""

    plan: Plan
    process: Any = None
    started: float = 0.0
    deaths: int = 0
    start_at: float = 0.0
    code: int | None = None  # exit code, when it will not be started again

    @property
    def runs(self) -> bool:
        return self.process is not None

    def start(self) -> None:
        self.process = multiprocessing.get_context("spawn").Process(target=_run_as_child, args=(self.plan,))
        self.process.start()
        self.started = time.monotonic()

    def reap(self, *, stopping: bool) -> None:
        """Collect the exit code of a dead process, and decide when to start the next."""
        self.process.join()
        code, pid = self.process.exitcode, self.process.pid
        self.process.close()
        self.process = None
        if stopping or (self.plan.once and code in {0, 1}):
            self.code = max(code, 0)
            return
        self.deaths = 1 if time.monotonic() - self.started > _STABLE_AFTER else self.deaths + 1
        seconds = min(2.0 ** (self.deaths - 1) / 2, _MAX_BACKOFF)
        self.start_at = time.monotonic() + seconds
        logger.warning("worker_process_died", extra={"pid": pid, "code": code, "restart_seconds": seconds})


@dataclass(slots=True)
class _Signals:
    """Signals as a socket to wait for."""

    count: int = 0
    reader: socket.socket = field(init=False)
    _writer: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        for end in (self.reader, self._writer):
            end.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._count)

    def _count(self, _number: int, _frame: object) -> None:
        self.count += 1

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for end in (self.reader, self._writer):
            end.close()


def supervise(plan: Plan, processes: int, announce: Callable[[], None] = lambda: None) -> int:
    """Keep so many worker processes alive until a signal comes, or nothing is due; the exit code."""
    signals, slots = _Signals(), [_Slot(plan) for _ in range(processes)]
    announce()
    try:
        while not signals.count and any(slot.code is None for slot in slots):
            _start_due(slots)
            starts = [slot.start_at for slot in slots if not slot.runs and slot.code is None]
            _wait(signals, slots, min([*starts, time.monotonic() + _MAX_BACKOFF]))
        if signals.count:
            _stop(signals, slots, time.monotonic() + plan.grace + _KILL_AFTER)
    finally:
        for slot in slots:
            if slot.runs:
                slot.process.kill()
        signals.close()
    return 0 if signals.count else max(slot.code or 0 for slot in slots)


def _start_due(slots: list[_Slot]) -> None:
    for slot in slots:
        if not slot.runs and slot.code is None and slot.start_at <= time.monotonic():
            slot.start()


def _wait(signals: _Signals, slots: list[_Slot], until: float) -> None:
    """Wait for a signal, the death of a process, or the time."""
    running = {slot.process.sentinel: slot for slot in slots if slot.runs}
    ready = wait([signals.reader, *running], timeout=max(0.05, until - time.monotonic()))
    if signals.reader in ready:
        signals.reader.recv(1024)
    for sentinel in running.keys() & set(ready):
        running[sentinel].reap(stopping=bool(signals.count))


def _stop(signals: _Signals, slots: list[_Slot], until: float) -> None:
    """Pass each signal on, wait for the processes to end, and kill those that do not."""
    passed_on = 0
    while running := [slot.process for slot in slots if slot.runs]:
        if signals.count > passed_on:
            passed_on = signals.count
            for process in running:
                process.terminate()
        if time.monotonic() >= until:
            for process in running:
                process.kill()
        _wait(signals, slots, until)
