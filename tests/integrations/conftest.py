"""Fixtures of the tests of integrations."""

import pytest

from lamina import Memory


@pytest.fixture
def memory(place):
    with Memory(place()) as memory:
        yield memory
