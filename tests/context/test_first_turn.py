"""The loop that everybody writes (context, model, add) works from its first turn on."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, BudgetTooSmall, Memory, Profile
from lamina.log.messages import text_of
from tests.invariants.strategies import SESSION, USER, Log, World, logs, profiles, put
from tests.sizes import examples

QUESTION = "What is the plan for the harbour lighthouse?"
SYSTEM, SOURCES = "You are brief.", ["Opening hours: 9 to 5.", "The lighthouse is closed."]


def as_messages(query: str | None, system: str | None, sources: list[str]) -> list[dict[str, Any]]:
    """What the caller gave, as a chat."""
    told = [{"role": "system", "content": text} for text in (system, *sources) if text]
    return [*told, {"role": "user", "content": query}] if query else told


@examples(80)
@given(
    profile=profiles(),
    log=st.one_of(st.just([]), logs(most=6)),
    query=st.sampled_from([None, "", QUESTION, "newest"]),
    system=st.sampled_from([None, "", SYSTEM]),
    sources=st.sampled_from([[], [""], SOURCES]),
    seen_from=st.sampled_from([None, 1, 1_000]),
    budget=st.sampled_from([40, 120, 4_000]),
)
def test_a_context_begins_with_the_system_prompt_and_ends_with_the_question(
    profile: Profile,
    log: Log,
    query: str | None,
    system: str | None,
    sources: list[str],
    seen_from: int | None,
    budget: int,
) -> None:
    """In every profile, with and without a history, also where the question is stored already; within the budget."""

    async def scenario() -> None:
        engine = World(profile).engine()
        await put(engine, log)
        await engine.settle()
        newest = text_of(log[-1]) if log and log[-1]["role"] == "user" else None
        asked = newest if query == "newest" else query
        given: dict[str, Any] = {"system": system, "sources": sources, "seen_from": seen_from, "budget": budget}
        try:
            context = await engine.context(asked, user_id=USER, session_id=SESSION, **given)
        except BudgetTooSmall:  # how small is tested with the budget
            return
        assert context.tokens <= budget
        assert {"role": "system", "content": ""} not in context.messages[:1]
        if system:
            assert context.messages[0] == {"role": "system", "content": system}
            assert context.text.startswith(system)
        for source in filter(None, sources):
            assert {"role": "system", "content": source} in context.messages
            assert source in context.text
        is_sent_by_caller = asked == newest and seen_from == 1
        if asked and not is_sent_by_caller:
            assert context.messages[-1]["role"] == "user"
            assert text_of(context.messages[-1]) == asked
        if not log:
            assert context.messages == as_messages(asked, system, sources)
            assert context.text.count("Answer consistently") == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_what_is_not_of_this_user_or_was_forgotten_leaves_what_the_caller_gives(profile: str) -> None:
    """A session of somebody else and a history that was forgotten are an empty memory, not an empty context."""
    expected = as_messages(QUESTION, SYSTEM, SOURCES)
    with Memory(":memory:", profile=profile, worker=False) as memory:
        memory.add("My name is Bo and I live in Oslo.", user_id="bo", session_id="s1")
        memory.settle()
        given: dict[str, Any] = {"system": SYSTEM, "sources": SOURCES, "session_id": "s1"}
        assert memory.context(QUESTION, user_id="ann", **given).messages == expected
        assert memory.context(QUESTION, user_id="bo", seen_from=1, **given).messages[-1] == expected[-1]
        memory.forget(user_id="bo")
        context = memory.context(QUESTION, user_id="bo", **given)
        assert context.messages == expected
        assert not context.manifest.items
        assert "Oslo" not in context.text


def test_the_assistant_layout_speaks_of_memory_only_where_there_is_some() -> None:
    """Its closing line and the heading of `medium_term` stand where something stands above or below them."""
    closing, heading = "Answer consistently using the memory and conversation above.", "# Current Conversation Context"
    with Memory(":memory:", profile="assistant", worker=False) as memory:
        assert memory.context("Hi", user_id="ann").text == "# Recent Conversation\nuser: Hi"
        memory.add("I live in Ghent.", user_id="ann")
        memory.settle()
        assert memory.context("Hi", user_id="ann").text.endswith(closing)
    with Memory(":memory:", profile="medium_term", worker=False) as memory:
        assert memory.context(user_id="ann", system=SYSTEM).text == SYSTEM
        assert memory.context("Hi", user_id="ann").text.startswith(heading)
