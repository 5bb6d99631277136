"""What must not be under way while the process forks: threads are not copied, but the locks that they hold are.

A module that another thread imports stays locked in the new process for ever. SQLite, too, keeps in the process which
locks it has on a file: a new process would believe that it has them. So threads pass here for such work, and a fork
waits until nobody is inside. What SQLite has open is closed before it, and opened again when it is needed.

Python, too, takes locks for a fork, and would keep them while it waits here. What is registered last is called first,
so the modules that do so are imported first.
"""

import concurrent.futures.thread  # noqa: F401 - see above
import logging  # noqa: F401 - see above
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

_PATIENCE_S = 60.0  # a fork waits no longer; what is open then cannot be used in the new process


class Closes(Protocol):
    """Something that a forked process must not have open."""

    def close_for_fork(self) -> None: ...

    def was_left_open(self) -> None:
        """Called in the new process where a fork did not wait for it."""


class _Gate:
    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self.inside = 0
        self.is_closed = False
        self.is_quiet = True  # at the last fork


_gate = _Gate()
_open: WeakSet[Closes] = WeakSet()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep the process from being forked for a moment; wait while it is."""
    gate = _gate
    with gate.changed:
        while gate.is_closed:
            gate.changed.wait()
        gate.inside += 1
    try:
        yield
    finally:
        with gate.changed:
            gate.inside -= 1
            gate.changed.notify_all()


def close_before_fork(thing: Closes) -> None:
    """Have something closed before each fork, for as long as somebody uses it."""
    _open.add(thing)


def _close_gate() -> None:
    gate, until = _gate, time.monotonic() + _PATIENCE_S
    with gate.changed:
        gate.is_closed = True
        gate.changed.wait_for(lambda: not gate.inside, max(0.0, until - time.monotonic()))
        gate.is_quiet = not gate.inside
    if gate.is_quiet:
        for thing in list(_open):
            thing.close_for_fork()


def _open_gate() -> None:
    with _gate.changed:
        _gate.is_closed = False
        _gate.changed.notify_all()


def _begin_anew() -> None:
    global _gate
    was_quiet, _gate = _gate.is_quiet, _Gate()
    if not was_quiet:
        for thing in list(_open):
            thing.was_left_open()


os.register_at_fork(before=_close_gate, after_in_parent=_open_gate, after_in_child=_begin_anew)
