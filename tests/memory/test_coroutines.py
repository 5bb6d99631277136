"""Coroutines driven without an event loop."""

import asyncio

import pytest

from lamina.coroutines import driven


def test_what_never_waits_is_driven() -> None:
    """The result comes at once; a coroutine that waits after all is refused, not left hanging."""

    async def reckon() -> int:
        return 6 * 7

    assert driven(reckon()) == 42
    with pytest.raises(RuntimeError, match="waits for the event loop"):
        driven(asyncio.sleep(0))
