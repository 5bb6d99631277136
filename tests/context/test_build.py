"""What goes into a context: summaries without repetitions, long passages cut."""

import pytest

from lamina import PROFILES, Memory
from lamina.protocols.models import SummaryDraft
from tests.ship_talk import PROFILE, talk

pytestmark = pytest.mark.anyio


class Repeating:
    """Says the same of every other stretch."""

    name = "repeating"

    def __init__(self):
        self.times = 0

    async def summarise(self, task):
        self.times += 1
        return SummaryDraft(text=("The ship carries crates of tea.", "Tea goes to Lisbon by ship.")[self.times % 2])


async def test_summaries_that_begin_alike_are_shown_once(opened):
    """The others are left out, and the manifest says why."""
    memory = await opened(Repeating(), profile=PROFILE.but(upkeep=None))
    await talk(memory, turns=9)
    await memory.settle()
    first, second, third = await memory.summaries("s1")
    assert first.text == third.text != second.text
    context = await memory.context("tea", user_id="ann", session_id="s1", budget=2_000)
    assert context.text.count(first.text) == 1
    (left,) = [one for one in context.manifest.omitted if one.kind == "summary:chunk"]
    assert left.reason == f"begins like {first.id}"


async def test_a_long_passage_without_an_end_is_cut(opened):
    """Where no sentence is short enough, its beginning is shown, marked as cut."""
    memory = await opened()
    await memory.add("Zanzibar " + "lamp " * 3_000, user_id="ann", session_id="old")
    context = await memory.context("What was it about Zanzibar?", user_id="ann", budget=500)
    (passage,) = [item for item in context.manifest.items if item.kind == "passage"]
    assert passage.cut
    assert "Zanzibar lamp lamp" in context.text
    assert context.tokens <= 500


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_memory_that_was_asked_before_answers_as_one_just_opened(tmp_path, profile: str) -> None:
    """What is kept at hand of a user is never older than the store, whoever changed it."""
    place, asked = tmp_path / "chat.db", "Where do I live, and what do I drink?"
    with (
        Memory(place, profile=profile, worker=False) as warm,
        Memory(place, profile=profile, worker=False) as writer,
    ):
        for text in ("I live in Ghent.", "I prefer tea.", "I moved to Porto.", "I'm allergic to nuts."):
            writer.add(text, user_id="ann", session_id="old")
            writer.settle()
            context = warm.context(asked, user_id="ann", session_id="new")
            with Memory(place, profile=profile, worker=False) as cold:
                assert cold.context(asked, user_id="ann", session_id="new").text == context.text
        for fact in writer.facts("ann")[:1]:
            writer.forget(fact_id=fact.id)
            with Memory(place, profile=profile, worker=False) as cold:
                text = cold.context(asked, user_id="ann", session_id="new").text
            assert warm.context(asked, user_id="ann", session_id="new").text == text
