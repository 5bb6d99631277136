"""Messages that say the same are one hit, with a count."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lamina import Memory
from lamina.search.ranking import MAX_EQUALS
from lamina.values.hit import Hit

USER = "ann"
SAID = "Remind me to water the plants."
OTHERS = ("The plants on the balcony are tomatoes.", "Water the lawn at night.", "Plants need light and water.")


@pytest.fixture(params=["kept", "read"])
def memory(any_place: Any, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """One whose index is kept at hand, and one that reads what it needs for each question."""
    with Memory(any_place(), worker=False) as opened:
        if request.param == "read":
            cache = opened._memory._search._instance.cache
            cache._parts = replace(cache._parts, cache_bytes=1)
        yield opened


def repeat(memory: Memory, times: int, text: str = SAID, **more: Any) -> list[str]:
    """The same, so many times, in three sessions; case and spaces differ."""
    ids: list[str] = []
    for number in range(times):
        said = text.upper() if number % 2 else f" {text.replace(' ', '  ')}"
        message = {"role": "user", "content": said, **more}
        ids += memory.add(message, user_id=USER, session_id=f"s{number % 3}").ids
    return ids


def find(memory: Memory, query: str = "When do I water the plants?", **more: Any) -> list[Hit]:
    return memory.search(query, **{"user_id": USER, "top_k": 4, "kinds": ["message"], **more})


@pytest.mark.also_postgres
def test_what_was_said_eight_times_is_one_hit(memory: Memory) -> None:
    """The others have room, and the ids of all eight can be read; forgetting one leaves seven."""
    ids = repeat(memory, 8)
    memory.add(list(OTHERS), user_id=USER, session_id="other")
    memory.settle()
    hits = find(memory)
    (repeated,) = [hit for hit in hits if hit.count > 1]
    assert sorted(hit.text for hit in hits if hit.count == 1) == sorted(OTHERS)
    assert (repeated.count, repeated.message_ids[0]) == (8, repeated.id)
    assert sorted(repeated.message_ids) == sorted(ids)
    assert find(memory) == hits
    memory.forget(message_id=repeated.id)
    (left,) = [hit for hit in find(memory) if hit.count > 1]
    assert (left.count, sorted(left.message_ids)) == (7, sorted(set(ids) - {repeated.id}))


def test_another_speaker_is_another_hit(memory: Memory) -> None:
    """The same words of the assistant, or under another name, are not the user's."""
    repeat(memory, 2)
    memory.add({"role": "assistant", "content": SAID}, user_id=USER, session_id="s1")
    memory.add({"role": "user", "name": "Bo", "content": SAID}, user_id=USER, session_id="s1")
    counts = {(hit.role, hit.name): hit.count for hit in find(memory)}
    assert counts == {("user", None): 2, ("assistant", None): 1, ("user", "Bo"): 1}


def test_only_what_the_filters_let_through_counts(memory: Memory) -> None:
    repeat(memory, 8)
    (hit,) = find(memory, session_id="s0")
    assert hit.count == 3
    assert {memory.message(one).session_id for one in hit.message_ids} == {"s0"}


def test_hundreds_of_copies_do_not_hide_what_else_there_is(memory: Memory) -> None:
    """Also where only the best matches are read from the store; the list of ids ends at some number."""
    copies = [{"role": "user", "content": SAID} for _ in range(400)]
    memory.add(copies, user_id=USER, session_id="s1")
    memory.add(list(OTHERS), user_id=USER, session_id="other")
    memory.settle()
    hits = find(memory)
    assert {hit.text for hit in hits} == {SAID, *OTHERS}
    (repeated,) = [hit for hit in hits if hit.count > 1]
    assert (repeated.count, len(repeated.message_ids)) == (400, MAX_EQUALS)
