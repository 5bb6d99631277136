"""How long an event loop is blocked at one stretch, and where: for tests of services that many share.

What counts is the CPU time that the loop's thread uses between two ticks, so that a busy machine does not matter.
Pauses of the garbage collector do not count: they depend on all that a test process holds.
"""

import asyncio
import gc
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

_TICK_S = 0.002
_LONG_S = 0.02  # CPU time after which it is looked where the loop is
_PATIENCE_S = 60.0  # until the loop ticks again
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch in which nothing else could run: CPU seconds, and the stack if it was long enough to be seen."""

    seconds: float = 0.0
    where: str = ""


@dataclass(slots=True)
class Stalls:
    """What was found so far."""

    worst: Stall = field(default_factory=Stall)
    ticks: int = 0


def moment() -> float:
    """CPU seconds of a fixed piece of work, about 10 ms on a usual machine: a measure to compare stalls with."""
    found = float("inf")
    for _ in range(_ROUNDS):
        began = time.thread_time()
        sum(number * number for number in range(150_000))
        found = min(found, time.thread_time() - began)
    return found


@contextmanager
def stalls(loop: asyncio.AbstractEventLoop) -> Iterator[Stalls]:
    """Watch a loop that runs in another thread; what it was blocked by is known when the block ends."""
    watch = _Watch(loop)
    watch.begin()
    try:
        yield watch.found
    finally:
        watch.end()


class _Watch:
    """Ticks on the loop, and a thread that looks at it when ticks are late."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.found = Stalls()
        self._loop = loop
        self._began, self._ended = threading.Event(), threading.Event()
        self._ending = False
        self._thread = 0
        self._clock = 0
        self._last = 0.0  # CPU time of the loop's thread at the last tick
        self._collecting = 0.0
        self._where = ""
        self._looker = threading.Thread(target=self._look, name="lamina-stalls", daemon=True)

    def begin(self) -> None:
        self._loop.call_soon_threadsafe(self._first)
        if not self._began.wait(_PATIENCE_S):
            raise TimeoutError("the loop does not run")
        gc.callbacks.append(self._collected)
        self._looker.start()

    def end(self) -> None:
        self._ending = True
        self._ended.wait(_PATIENCE_S)
        gc.callbacks.remove(self._collected)
        self._looker.join(_PATIENCE_S)

    def _first(self) -> None:
        self._thread = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread)
        self._last = time.thread_time()
        self._began.set()
        self._loop.call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        now = time.thread_time()
        where, self._where = self._where, ""
        if now - self._last > self.found.worst.seconds:
            self.found.worst = Stall(now - self._last, where)
        self.found.ticks += 1
        if self._ending:
            self._ended.set()
            return
        self._last = time.thread_time()
        self._loop.call_later(_TICK_S, self._tick)

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        """Leave out what the collector takes, if it runs in the loop's thread."""
        if threading.get_ident() == self._thread:
            if phase == "start":
                self._collecting = time.thread_time()
            else:
                self._last += time.thread_time() - self._collecting

    def _look(self) -> None:
        while not self._ended.wait(_TICK_S):
            if not self._where and time.clock_gettime(self._clock) - self._last > _LONG_S:
                frame: FrameType | None = sys._current_frames().get(self._thread)  # noqa: SLF001 - the one way there is
                self._where = "".join(traceback.format_stack(frame)) if frame else ""
