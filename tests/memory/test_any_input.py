"""Whatever is given to a verb of the library: it works, or says what is wrong."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import LaminaError, Memory
from lamina.testing.strategies import any_text, any_value
from tests.sizes import examples


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", worker=False) as memory:
        memory.add("I live in Porto.", user_id="u", session_id="s")
        yield memory


@given(text=any_text())
@examples(100)
def test_any_text(memory: Memory, text: str) -> None:
    """As what is said, asked, remembered, forgotten, or as somebody's id."""
    calls = [
        lambda: memory.add(text, user_id="u", session_id="s"),
        lambda: memory.context(text, user_id="u", session_id="s"),
        lambda: memory.search(text, user_id="u"),
        lambda: memory.remember(text, user_id="v"),
        lambda: memory.facts(text),
        lambda: memory.forget(text=text, user_id="u", dry_run=True),
    ]
    for call in calls:
        with suppress(LaminaError):
            call()
    assert memory.messages("s", 1, 1)[0].text == "I live in Porto."


@given(
    value=any_value(), place=st.sampled_from(["content", "tool_calls", "name", "metadata", "role", "created_at", "id"])
)
@examples(100)
def test_any_value_in_a_message(memory: Memory, value: Any, place: str) -> None:
    """In any place of a message."""
    message = {"role": "user", "content": "Hello", place: value}
    with suppress(LaminaError):
        memory.add(message, user_id="u", session_id="s")
    assert memory.messages("s", 1, 1)[0].text == "I live in Porto."
