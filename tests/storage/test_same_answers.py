"""The same log in SQLite and in PostgreSQL: the same rankings and the same contexts, to the letter."""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory
from lamina.testing import FakeClock
from tests.places import Databases
from tests.random_memories import a_memory
from tests.sizes import share

STORY = resources.files("lamina.story")
ASKED = "2026-01-01T12:00:00+00:00"


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in STORY.joinpath(name).read_text("utf-8").splitlines()]


def answers(memory: Memory, user_id: str, questions: list[str]) -> Iterator[Any]:
    for question in questions:
        hits = memory.search(question, user_id=user_id, explain=True, at=ASKED)
        yield [(hit.kind, hit.text, hit.score, hit.parts) for hit in hits]
        for budget in (300, 2_000):
            yield memory.context(question, user_id=user_id, budget=budget, at=ASKED).text


def test_the_demo_is_answered_alike(tmp_path: Path, databases: Any) -> None:
    """Every question of the demo, after its conversation was told to both."""
    told, questions = lines("conversation.jsonl"), [line["question"] for line in lines("questions.jsonl")]
    found = []
    for location in (tmp_path / "chat.db", Databases(databases)()):
        with Memory(location, worker=False, now=FakeClock()) as memory:
            for session_id in dict.fromkeys(line["session_id"] for line in told):
                said = [line for line in told if line["session_id"] == session_id]
                messages = [{key: value for key, value in line.items() if key != "session_id"} for line in said]
                memory.add(messages, user_id="mara", session_id=session_id)
            memory.settle()
            found.append(list(answers(memory, "mara", questions)))
            assert memory.verify().ok
    assert len(found[0]) == 3 * len(questions)
    assert any(found[0])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(share(6)))
def test_random_memories_are_answered_alike(tmp_path: Path, databases: Any, seed: int) -> None:
    """With facts that change, are retracted, linked; with episodes, tools and other scripts."""
    questions = [
        "Where do I live?",
        "favourite colour",
        "What about the harbour?",
        "猫",
        "nuts allergy",
        "plan last month",
    ]
    found = []
    for location in (tmp_path / "chat.db", Databases(databases)()):
        with a_memory(location, seed) as memory:
            found.append([list(answers(memory, user_id, questions)) for user_id in ("ann", "bob")])
    assert found[0] == found[1]
