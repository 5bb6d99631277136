"""Outlines over random logs and profiles: nothing twice, nothing left out, everything in its time."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lamina import Profile
from lamina.maintenance.outline import stretches
from lamina.values.statistics import Block, Outline
from tests.invariants.strategies import SESSION, Log, World, logs, profiles, put
from tests.sizes import examples


def folded(profile: Profile, pieces: Sequence[Log], parts: int = 200) -> Outline:
    """The outline of a log that was told in pieces, with all that was due folded after each, and then ended."""

    async def scenario() -> Outline:
        engine = World(profile).engine()
        for piece in pieces:
            await put(engine, piece)
            await engine.settle()
        await engine.end(SESSION)
        await engine.settle()
        outline = await engine.outline(SESSION, parts)
        messages, session = await engine.messages(SESSION), await engine.session(SESSION)
        assert outline.parts[-1].last == session.counters.messages == len(messages)
        assert sum(part.tokens for part in outline.parts) == session.counters.tokens
        for part in outline.parts:
            own = messages[part.first - 1 : part.last]
            assert part.tokens == sum(message.tokens for message in own)
            assert (part.began_at, part.ended_at, part.turn) == (own[0].created_at, own[-1].created_at, own[-1].turn)
        for block in outline.blocks:
            own = messages[block.covers.first - 1 : block.covers.last]
            assert block.covered_tokens == sum(message.tokens for message in own)
        return outline

    return asyncio.run(scenario())


@examples(300)
@given(messages=st.integers(0, 400), parts=st.integers(1, 1000))
def test_stretches_tile_the_log(messages: int, parts: int) -> None:
    """From 1 to the last message, each once, in at most so many stretches of about equal length."""
    found = stretches(messages, parts)
    assert [seq for span in found for seq in range(span.first, span.last + 1)] == list(range(1, messages + 1))
    assert len(found) == min(parts, messages)
    assert max(map(len, found), default=0) - min(map(len, found), default=0) <= 1


@examples(40)
@given(profile=profiles(), log=logs(), parts=st.integers(1, 60))
def test_an_outline_adds_up(profile: Profile, log: Log, parts: int) -> None:
    """Its parts tile the log, and count what the session has counted; so does each summary."""
    outline = folded(profile, [log], parts)
    assert len(outline.parts) == min(parts, len(log))
    assert outline.parts[0].first == 1
    assert all(before.last + 1 == after.first for before, after in pairwise(outline.parts))
    assert outline.forgotten == ()


@examples(40)
@given(profile=profiles(), log=logs())
def test_a_fold_is_due_when_it_was_whoever_comes_late(profile: Profile, log: Log) -> None:
    """At the same message for a worker that keeps up and one that comes at the end; in the order of the log."""
    late, prompt = folded(profile, [log]), folded(profile, [[message] for message in log])
    assert told(late) == told(prompt)
    assert all(block.due is not None and block.due >= block.covers.last for block in late.blocks)
    layer = sorted((block for block in late.blocks if block.layer == 1), key=lambda block: block.covers.last)
    dues = [block.due or 0 for block in layer]
    assert dues == sorted(dues)
    into = {block.id: block.due or 0 for block in late.blocks}
    assert all((block.due or 0) <= into[block.folded_into] for block in late.blocks if block.folded_into)


def told(outline: Outline) -> list[tuple[object, ...]]:
    return [(*_place(block), block.due, block.tokens, block.covered_tokens, block.status) for block in outline.blocks]


def _place(block: Block) -> tuple[object, ...]:
    return block.kind, block.layer, block.version, block.covers
