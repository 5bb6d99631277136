"""What a client sends itself is not sent again, and what it does not send is where it would be."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, InputError, Profile
from lamina.values.manifest import Context
from lamina.values.message import Span
from tests.invariants.strategies import SESSION, USER, Log, World, logs, profiles, put
from tests.sizes import examples


def shown(context: Context) -> set[int]:
    """The messages of the session that stand in a context word for word."""
    spans = [piece.span for piece in context.manifest.items if piece.section in {"recent", "recalled"}]
    return {seq for span in spans if span for seq in range(span.first, span.last + 1)}


@given(profile=profiles(), log=logs(), place=st.integers(1, 60), query=st.sampled_from([None, "the harbour?"]))
@examples(60)
def test_what_is_seen_is_not_shown_again(profile: Profile, log: Log, place: int, query: str | None) -> None:
    """No message from there on is in the context; those before are where they would be, or verbatim."""

    async def scenario() -> None:
        engine = World(profile).engine()
        await put(engine, log)
        await engine.settle()
        asked: dict[str, Any] = {"user_id": USER, "session_id": SESSION, "budget": 1_000_000}
        whole = await engine.context(query, **asked)
        part = await engine.context(query, **asked, seen_from=place)
        assert all(seq < place for seq in shown(part))
        places = part.manifest.coverage
        assert {seq for seq in shown(whole) if seq < place} <= shown(part) | summarised(places.summarised)
        lists: list[Sequence[Span]] = [places.verbatim, places.summarised, places.left_out, places.blind]
        counted = sorted(seq for spans in lists for span in spans for seq in range(span.first, span.last + 1))
        assert counted == list(range(1, len(log) + 1))
        assert places.blind_messages <= whole.manifest.coverage.blind_messages

    asyncio.run(scenario())


def summarised(spans: Sequence[Span]) -> set[int]:
    return {seq for span in spans for seq in range(span.first, span.last + 1)}


@pytest.mark.parametrize("wrong", [0, -1, True, "3", 1.5])
def test_it_is_the_number_of_a_message(wrong: Any) -> None:
    engine = World(PROFILES["default"]).engine()
    with pytest.raises(InputError, match="seen_from"):
        asyncio.run(engine.context("hi", user_id=USER, session_id=SESSION, seen_from=wrong))
