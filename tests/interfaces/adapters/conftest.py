"""What the tests of all adapters stand on."""

import pytest

from lamina import Memory


@pytest.fixture
def memory(place):
    with Memory(place()) as memory:
        yield memory


@pytest.fixture
def anyio_backend():
    return "asyncio"
