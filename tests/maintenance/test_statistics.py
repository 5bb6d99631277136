"""Outlines, statistics and fading, as the library tells them, on each kind of store."""

import pytest

from lamina import InputError, Memory, NotFound
from lamina.testing import FakeClock
from tests.random_memories import opened

TURN = [{"role": "user", "content": "I prefer tea to coffee."}, {"role": "assistant", "content": "Noted, tea it is."}]


@pytest.fixture
def memory(any_place):
    with opened(any_place(), FakeClock()) as memory:
        for _ in range(20):
            memory.add(TURN, user_id="ann", session_id="s1")
        memory.settle()
        yield memory


def test_an_outline_is_what_the_summaries_say(memory):
    """Each summary with its numbers, live or not; folds were due when the window ran over."""
    blocks = {block.id: block for block in memory.outline("s1").blocks}
    summaries = memory.summaries("s1", live=False)
    assert len(summaries) > 5
    assert set(blocks) == {summary.id for summary in summaries}
    for one in summaries:
        block = blocks[one.id]
        assert (block.kind, block.layer, block.version, block.covers) == (one.kind, one.layer, one.version, one.covers)
        assert (block.tokens, block.due, block.status) == (one.tokens, one.due, one.status)
        assert (block.folded_into, block.created_at) == (one.folded_into, one.created_at)
        assert block.covered_tokens == sum(message.tokens for message in memory.zoom(one.id))
    # chunks of 4, each due with the first message past the window of 6
    chunks = [block for block in blocks.values() if block.kind == "chunk"]
    assert {block.due for block in chunks} == {block.covers.last + 3 for block in chunks}


def test_stats_are_what_is_listed(memory):
    """As many summaries and facts as there are; what is at hand is less than all."""
    stats, summaries = memory.stats(), memory.summaries("s1", live=False)
    assert sum(one.count for one in stats.summaries if one.kind != "digest") == len(summaries)
    live = sum(one.tokens for one in memory.summaries("s1"))
    assert stats.at_hand_tokens == memory.session("s1").counters.unfolded_tokens + live
    assert stats == memory.stats("ann")


def test_what_fading_foretells_is_archived(any_place):
    """The fact that is below its limit, and no other."""
    clock = FakeClock()
    with opened(any_place(), clock) as memory:
        old = memory.remember("likes mild cheese", user_id="ann", importance=0.4)
        clock.advance(seconds=40 * 86_400)
        memory.remember("likes strong cheese", user_id="ann", importance=0.4)
        told = {one.id: one for one in memory.fading("ann")}
        assert [key for key, one in told.items() if not one.kept and one.decay < (one.archive_below or 0)] == [old.id]
        assert memory.consolidate("ann").archived == (old.id,)
        assert old.id not in {one.id for one in memory.fading("ann")}
        assert memory.fading("bob") == []


def test_a_moment_of_a_fold_survives_a_move(memory, tmp_path):
    """An export has it, an import brings it, and everything is still whole."""
    memory.export(tmp_path / "all.jsonl")
    with Memory(":memory:", worker=False) as other:
        other.import_(tmp_path / "all.jsonl")
        there = {block.covers: block.due for block in other.outline("s1").blocks if block.layer == 1}
        assert there == {block.covers: block.due for block in memory.outline("s1").blocks if block.layer == 1}
        assert None not in there.values()
        assert other.verify().ok
    assert memory.verify().ok


def test_a_moment_of_a_fold_is_the_same_when_it_is_made_anew(memory):
    """Regenerated, accepted and rolled back: due at the same messages."""
    dues = [(block.covers, block.due) for block in memory.outline("s1").blocks]
    proposal = memory.regenerate("s1")
    assert proposal.changes == ()
    for decide in (memory.accept, memory.roll_back):
        decide(proposal.id)
        now = [block for block in memory.outline("s1").blocks if block.status != "replaced"]
        assert [(block.covers, block.due) for block in now] == dues


@pytest.mark.parametrize("parts", [0, 1001, True, "many"])
def test_parts_are_a_number_that_makes_sense(memory, parts):
    with pytest.raises(InputError, match="from 1 to 1000"):
        memory.outline("s1", parts)
    with pytest.raises(NotFound, match="nowhere"):
        memory.outline("nowhere")
