"""A statement that says what a keyed fact says ends when that fact's value does."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lamina import Memory
from lamina.protocols.models import FactDraft
from lamina.values.message import Message

USER = "ann"
FIRST = "Boring question, I know it is a religion: my editor is Helix, all in since January"


class Both:
    """An extractor that says a value twice: by its key, and as the sentence that it stands in."""

    name = "both"
    trusted = True

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        return [draft for message in messages if message.role == "user" for draft in self._read(message)]

    def _read(self, message: Message) -> list[FactDraft]:
        value = message.text.partition("my editor is ")[2].partition(",")[0]
        if not value:
            return []
        start = message.text.index("my editor is")
        fact = FactDraft(
            message_id=message.id, category="preference", key="editor", value=value, start=start,
            quote=message.text[start:], end=len(message.text), confidence=0.9, importance=0.6,
        )  # fmt: skip
        whole = FactDraft(
            message_id=message.id, category="identity", key=None, value=message.text, start=0,
            quote=message.text, end=len(message.text), confidence=0.8, importance=0.6,
        )  # fmt: skip
        return [fact, whole]


def statements(memory: Memory) -> list[str]:
    return [fact.value for fact in memory.facts(USER) if fact.key is None]


@pytest.fixture
def memory(tmp_path: Path):
    with Memory(tmp_path / "m.db", worker=False, extractor=Both()) as opened:
        opened.add(FIRST, user_id=USER)
        opened.settle()
        yield opened


def test_a_new_value_said_ends_the_statement_of_the_old_one(memory):
    (old,) = [fact for fact in memory.facts(USER) if fact.key is None]
    memory.add("my editor is Zed, since October", user_id=USER)
    memory.settle()
    assert statements(memory) == ["my editor is Zed, since October"]
    why = memory.why(old.id)
    assert why.fact.status == "superseded"
    assert why.fact.valid_until is not None
    assert any("held until" in reason for reason in why.reasons)
    assert old.id in [one.id for one in memory.history(old.id)]


def test_a_new_value_told_by_hand_ends_it_too(memory):
    memory.remember("My editor is Zed", user_id=USER)
    assert statements(memory) == []


def test_both_in_one_reading(tmp_path: Path):
    with Memory(tmp_path / "n.db", worker=False, extractor=Both()) as opened:
        opened.add([{"role": "user", "content": FIRST}, {"role": "user", "content": "my editor is Zed"}], user_id=USER)
        opened.settle()
        assert FIRST not in statements(opened)
        assert [fact.value for fact in opened.facts(USER) if fact.key == "editor"] == ["Zed"]


def test_the_same_value_again_ends_nothing(memory):
    memory.add("as I said, my editor is Helix", user_id=USER)
    memory.settle()
    assert FIRST in statements(memory)


def test_when_the_new_value_is_forgotten_the_old_one_holds_again(memory):
    memory.add({"id": "new", "role": "user", "content": "my editor is Zed"}, user_id=USER)
    memory.settle()
    assert statements(memory) == []
    memory.forget(message_id="new")
    memory.settle()
    assert statements(memory) == [FIRST]
    assert [fact.value for fact in memory.facts(USER) if fact.key == "editor"] == ["Helix"]


def test_when_the_old_value_is_forgotten_its_statement_is_gone(memory):
    memory.forget(user_id=USER, text="Helix")
    assert statements(memory) == []
