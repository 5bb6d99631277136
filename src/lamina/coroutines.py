"""Coroutines that never have to wait, and so need no event loop."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
NEVER_WAITS = "a verb that waits for the event loop was driven without one"


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never has to wait for an event loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    work.close()
    raise RuntimeError(NEVER_WAITS)
