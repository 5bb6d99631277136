"""A question that an answer keeps is the assistant's: it is forgotten with the message that asked it."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from lamina import PROFILES, Memory
from lamina.protocols.models import FactDraft
from lamina.values.fact import Fact
from lamina.values.message import Message
from tests.invariants.strategies import START
from tests.places import Place

USER = "ann"
ASKED = "Where do Zanzibarquay parties take place?"
TALK = [
    {"role": "assistant", "content": f"Tell me. {ASKED}", "id": "asks"},
    {"role": "user", "content": "Only at the harbour.", "id": "says"},
]


class Answers:
    """An extractor that keeps every message of a user as an answer."""

    name = "answers"

    async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
        return [
            FactDraft(
                message_id=message.id, category="preference", key=None, value=message.text, quote=message.text,
                start=0, end=len(message.text), confidence=0.9, importance=0.9, question=ASKED, question_id="asks",
            )
            for message in messages
        ]  # fmt: skip


def said(memory: Memory) -> Fact:
    memory.add(TALK, user_id=USER, session_id="s1")
    memory.settle()
    (fact,) = memory.facts(USER)
    assert (fact.question, fact.question_id) == (ASKED, "asks")
    return fact


@pytest.mark.also_postgres
@pytest.mark.parametrize("way", [{"message_id": "asks"}, {"text": "zanzibarquay", "user_id": USER}], ids=["id", "text"])
def test_the_answer_stays_without_the_question(place: Place, way: dict[str, str]) -> None:
    """The fact keeps its id, value and status; no word of the question is in it or in an export."""
    with Memory(place(), extractor=Answers(), worker=False) as memory:
        fact = said(memory)
        receipt = memory.forget(**way)  # type: ignore[arg-type]  # one way or the other
        assert (receipt.messages, receipt.facts) == (("asks",), ())
        (left,) = memory.facts(USER)
        assert (left.id, left.value, left.status) == (fact.id, fact.value, "active")
        assert (left.question, left.question_id) == (None, None)
        assert memory.verify().problems == ()


def test_a_question_whose_message_was_dropped_is_found_by_its_words(tmp_path: Path) -> None:
    """The fact that keeps it is all that has the words then, and goes."""
    clock = [START + timedelta(hours=2)]
    profile = PROFILES["project"].but(keep_message_days=30.0, promote_confidence=0.0, archive_below=0.0)
    path = tmp_path / "f.db"
    with Memory(path, profile=profile, extractor=Answers(), worker=False, now=lambda: clock[0]) as memory:
        timed = [{**message, "created_at": START.isoformat()} for message in TALK]
        later = [
            {"role": "assistant", "content": f"Number {number}.", "created_at": START.isoformat()}
            for number in range(99)
        ]
        memory.add([*timed, *later], user_id=USER, session_id="s1")
        memory.settle()
        clock[0] = START + timedelta(days=31)
        assert memory.consolidate().messages_dropped
        (fact,) = memory.facts(USER)
        assert memory.message("asks").text == "[dropped]"
        assert memory.forget(text="zanzibarquay", user_id=USER).facts == (fact.id,)
    assert b"anzibarquay" not in path.read_bytes()


def test_the_question_goes_with_its_session(place: Place) -> None:
    """As everything of it does."""
    with Memory(place(), extractor=Answers(), worker=False) as memory:
        fact = said(memory)
        assert memory.forget(session_id="s1").facts == (fact.id,)
        assert memory.facts(USER) == []
