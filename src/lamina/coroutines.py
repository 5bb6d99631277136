"""What coroutines have in common: some never have to wait, and so need no event loop; all have to end when told to."""

import asyncio
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


def raise_if_cancelled() -> None:
    """Raise CancelledError if the running task was told to end and did not hear of it, in a loop that has no end.

    Before Python 3.12, `asyncio.wait_for`, which drivers call, loses it if what it waits for is done at that moment.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
