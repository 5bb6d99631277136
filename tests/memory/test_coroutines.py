"""Coroutines driven without an event loop."""

import asyncio

import pytest

from lamina.coroutines import run_without_loop


def test_what_never_waits_is_driven() -> None:
    """The result comes at once; a coroutine that waits after all is refused, not left hanging."""

    async def reckon() -> int:
        return 6 * 7

    assert run_without_loop(reckon()) == 42
    with pytest.raises(RuntimeError, match="waits for the event loop"):
        run_without_loop(asyncio.sleep(0))
