"""Waiting in tests: until something is so, never for a guess at seconds.

The one ceiling ends a test that would wait for ever. It is far above what a busy machine needs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

CEILING = 180.0  # seconds
_PAUSE = 0.01

Found = TypeVar("Found")


def wait_until(look: Callable[[], Found], what: str = "") -> Found:
    """What `look` returns, once that is true."""
    end = time.monotonic() + CEILING
    while not (found := look()):
        assert time.monotonic() < end, f"not so after {CEILING} s: {what or look}"
        time.sleep(_PAUSE)
    return found


async def until(look: Callable[[], Awaitable[Found] | Found], what: str = "") -> Found:
    """The same on an event loop; `look` may be a coroutine function."""
    async with asyncio.timeout(CEILING):
        while True:
            found = look()
            if isinstance(found, Awaitable):
                found = await found
            if found:
                return found
            await asyncio.sleep(_PAUSE)
    raise AssertionError(what)
