"""Indexes: nothing depends on how things came in, and what is gone was never there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.search import vectors as kept
from lamina.search.index import OTHER, ROLES, Entry
from lamina.search.vectors import Growing, Vectors, pack, signs_of, unit, unpack
from tests.search.index_samples import (
    DIMENSIONS,
    Ranked,
    an_entry,
    embed,
    entries,
    filled,
    questions,
    ranked,
    text_vector,
)
from tests.sizes import examples

CLOSE = 1e-5


def same(one: Ranked, other: Ranked) -> None:
    assert one.ids == other.ids
    assert one.scores == pytest.approx(other.scores, rel=CLOSE, abs=CLOSE)
    for key, parts in one.parts.items():
        assert parts == pytest.approx(other.parts[key], rel=CLOSE, abs=CLOSE)


@given(everything=entries(), query=questions, batches=st.lists(st.integers(0, 14), max_size=5), vectors=st.booleans())
@examples(50)
def test_batches_do_not_matter(everything: list[Entry], query: str, batches: list[int], vectors: bool) -> None:
    """Things that come one by one, or in any batches, are scored like things that come at once."""
    at_once = ranked(filled(everything, vectors=vectors), query)
    same(ranked(filled(everything, vectors=vectors, batches=batches), query), at_once)


@given(
    everything=entries(least=2),
    query=questions,
    gone=st.sets(st.integers(0, 13), max_size=6),
    place=st.integers(0, 14),
    looked=st.booleans(),
)
@examples(80)
def test_what_is_removed_was_never_there(
    everything: list[Entry], query: str, gone: set[int], place: int, looked: bool
) -> None:
    """The others stand, score and neighbour each other as if it had never come, also those that come later."""
    removed = [entry.id for number, entry in enumerate(everything) if number in gone]
    first = everything[:place]
    index = filled(first)
    if looked and first:
        ranked(index, query)
    index.remove(removed)
    later = [entry for entry in everything[place:] if entry.id not in removed]
    index.add(later)
    embed(index, later)
    left = [entry for entry in everything if entry.id not in removed]
    if left:
        same(ranked(index, query), ranked(filled(left), query))


@given(everything=entries(), query=questions, vectors=st.permutations(range(4)))
@examples(40)
def test_vectors_may_come_late(everything: list[Entry], query: str, vectors: Sequence[int]) -> None:
    """In any order, in any parts, long after the words."""
    index = filled(everything, vectors=False)
    ranked(index, query)
    for part in vectors:
        embed(index, everything[part::4])
    same(ranked(index, query), ranked(filled(everything), query))


def test_what_comes_again_is_there_once() -> None:
    """In other words, by itself or twice in a batch: the newest words count."""
    index = filled([an_entry("a", "boat"), an_entry("b", "kettle")])
    again = [an_entry("b", "piano"), an_entry("b", "garden")]
    index.add(again)
    embed(index, again[1:])
    assert int(index.alive.all.sum()) == 2
    anew = filled([an_entry("a", "boat"), an_entry("b", "garden")])
    for query in ("garden?", "kettle?", "piano?"):
        same(ranked(index, query), ranked(anew, query))


def test_a_speaker_who_is_gone_is_no_name() -> None:
    """Names are those of speakers whose words are there; who comes back is known again."""
    index = filled([an_entry("a", "boat", speaker="Ann"), an_entry("b", "bay", speaker="Bob")])
    index.remove(["a"])
    assert list(index.speakers) == ["Bob"]
    index.add([an_entry("c", "poem", speaker="Cleo"), an_entry("d", "poem", speaker="Ann")])
    assert sorted(index.speakers) == ["Ann", "Bob", "Cleo"]
    assert len(set(index.speakers.values())) == 3


def test_how_much_an_assistant_writes_is_of_what_is_there() -> None:
    """Long replies make it an assistant's memory; without them it is none."""
    index = filled([an_entry("a", "boat"), an_entry("b", "kettle " * 9, role="assistant")])
    assert index.assisted == 1.0
    index.add([an_entry("b", "kettle", role="assistant")])
    assert index.assisted == 0.0
    index.remove(["b"])
    assert index.assisted == 0.0


def test_importance_and_time_may_change() -> None:
    """Of something in the same words; its vector stays."""
    index = filled([an_entry("a", "boat", importance=0.2)])
    changed = an_entry("a", "boat", importance=0.9, minutes=60)
    index.note([changed, an_entry("nobody", "boat")])
    assert index.importance.all.tolist() == pytest.approx([0.9])
    assert index.at.all.tolist() == [changed.at.timestamp()]
    assert index.vectors.of(0) == pytest.approx(text_vector("boat"), abs=0.01)


@pytest.mark.parametrize("role", [*ROLES, None, "function"])
def test_roles_are_told_apart(role: str | None) -> None:
    """Each of the five has a number of its own; what has none of them is other."""
    index = filled([an_entry("a", "boat", role=role)])
    assert index.role.all.tolist() == [ROLES.get(role or "", OTHER)]
    assert len({*ROLES.values(), OTHER}) == len(ROLES) + 1


# vectors as they are kept


def _vectors(kind: str, seed: int) -> Any:
    chance = np.random.default_rng(seed)
    plain = chance.standard_normal((30, 384))
    if kind == "sparse":
        return plain * (chance.random((30, 384)) < 0.05)
    if kind == "heavy":
        return plain**3
    return plain * 1e-4 if kind == "tiny" else plain


@pytest.mark.parametrize("kind", ["plain", "sparse", "heavy", "tiny"])
@pytest.mark.parametrize("seed", range(3))
def test_packed_vectors_keep_their_cosines(kind: str, seed: int) -> None:
    """Within 0.01 of those of the vectors themselves, at a byte a dimension."""
    vectors = _vectors(kind, seed)
    kept = pack(vectors)
    assert {len(row) for row in kept} == {4 + 384}
    back, whole = unpack(kept, 384), unit(vectors)
    assert np.abs(back @ back.T - whole @ whole.T).max() < 0.01
    assert np.linalg.norm(back, axis=1) == pytest.approx(np.ones(30), abs=1e-5)


def test_a_vector_of_nothing_stays_nothing() -> None:
    """So does one that was damaged, or is of another size."""
    (zero,) = pack(np.zeros((1, 8)))
    assert not unpack([zero, b"", b"\1" * 11, b"\1" * 300], 8).any()
    assert not unit(np.zeros(8)).any()
    assert pack(np.zeros((0, 8))) == []


def test_signs_tell_which_way_vectors_point() -> None:
    """A bit a dimension, also where 64 does not divide these: as many differ as there are other signs."""
    chance = np.random.default_rng(1)
    for dimensions in (8, 64, 100, 384):
        rows = chance.standard_normal((5, dimensions)).astype(np.float32)
        signs = signs_of(rows)
        assert signs.shape == (5, -(-dimensions // 64))
        differing = np.bitwise_count(signs[0] ^ signs).sum(axis=1)
        assert differing.tolist() == ((rows > 0) != (rows[0] > 0)).sum(axis=1).tolist()


def test_rows_grow_and_stay() -> None:
    """Added in any portions, also beyond the room that there was."""
    rows = Growing(np.int32, 2)
    said: list[list[int]] = []
    for size in (0, 1, 63, 1, 500, 3):
        part = [[len(said) + n, n] for n in range(size)]
        rows.add(np.asarray(part, dtype=np.int32).reshape(size, 2))
        said += part
        assert rows.all.tolist() == said
        assert len(rows) == len(said)


def test_its_size_is_told() -> None:
    """It grows with what is in it, and counts at least the vectors."""
    small, large = filled([an_entry("a", "boat")]), filled(an_entry(f"a{n}", f"boat {n}") for n in range(500))
    assert small.nbytes < large.nbytes
    assert large.nbytes > 500 * DIMENSIONS * 4


@given(
    batches=st.lists(st.integers(1, 30), min_size=1, max_size=6), seed=st.integers(0, 9), exact=st.sampled_from([0, 20])
)
@examples(40)
def test_few_and_many_vectors_are_the_same(batches: list[int], seed: int, exact: int) -> None:
    """Rows that were packed because there are many are what they were, whenever they came; some have no vector."""
    chance = np.random.default_rng(seed)
    few, many = Vectors(DIMENSIONS), Vectors(DIMENSIONS)
    with pytest.MonkeyPatch.context() as patch:
        for size in batches:
            rows = [len(few) + place for place in range(size) if chance.random() < 0.8]
            made = pack(chance.standard_normal((len(rows), DIMENSIONS)))
            patch.setattr(kept, "EXACT", 10_000)
            few.add(size)
            few.put(rows, made)
            patch.setattr(kept, "EXACT", exact)
            many.add(size)
            many.put(rows, made)
        asked, everywhere = unit(chance.standard_normal(DIMENSIONS)), np.ones(len(few), dtype=np.bool_)
        assert many.of(slice(None)) == pytest.approx(few.of(slice(None)), abs=1e-6)
        patch.setattr(kept, "_ROUGH", len(many) - 1)
        found = many.cosines(asked, everywhere)
        patch.setattr(kept, "EXACT", 10_000)
        assert (np.abs(found - few.cosines(asked, everywhere)) < 1e-6).sum() >= len(many) - 1


def test_many_vectors_take_little_memory() -> None:
    """Past the bound a row takes a byte for each dimension and little more."""
    vectors = Vectors(384)
    vectors.add(kept.EXACT)
    before = vectors.nbytes
    vectors.add(kept.EXACT)
    assert vectors.nbytes < before
