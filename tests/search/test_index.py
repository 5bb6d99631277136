"""Catalogues: nothing depends on how things came in, and what is gone was never there."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.language.words import STOP_WORDS, stem, words
from lamina.search import bm25 as module
from lamina.search import vectors as kept
from lamina.search.bm25 import ranges
from lamina.search.index import OTHER, ROLES, Entry
from lamina.search.vectors import Growing, Vectors, pack, signs_of, unit, unpack
from tests.search.index_samples import (
    DIMENSIONS,
    VOCABULARY,
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
    catalogue = filled(first)
    if looked and first:
        ranked(catalogue, query)
    catalogue.remove(removed)
    later = [entry for entry in everything[place:] if entry.id not in removed]
    catalogue.add(later)
    embed(catalogue, later)
    left = [entry for entry in everything if entry.id not in removed]
    if left:
        same(ranked(catalogue, query), ranked(filled(left), query))


@given(everything=entries(), query=questions, vectors=st.permutations(range(4)))
@examples(40)
def test_vectors_may_come_late(everything: list[Entry], query: str, vectors: Sequence[int]) -> None:
    """In any order, in any parts, long after the words."""
    catalogue = filled(everything, vectors=False)
    ranked(catalogue, query)
    for part in vectors:
        embed(catalogue, everything[part::4])
    same(ranked(catalogue, query), ranked(filled(everything), query))


def test_what_comes_again_is_there_once() -> None:
    """In other words, by itself or twice in a batch: the newest words count."""
    catalogue = filled([an_entry("a", "boat"), an_entry("b", "kettle")])
    again = [an_entry("b", "piano"), an_entry("b", "garden")]
    catalogue.add(again)
    embed(catalogue, again[1:])
    assert int(catalogue.alive.all.sum()) == 2
    anew = filled([an_entry("a", "boat"), an_entry("b", "garden")])
    for query in ("garden?", "kettle?", "piano?"):
        same(ranked(catalogue, query), ranked(anew, query))


def test_a_speaker_who_is_gone_is_no_name() -> None:
    """Names are those of speakers whose words are there; who comes back is known again."""
    catalogue = filled([an_entry("a", "boat", speaker="Ann"), an_entry("b", "bay", speaker="Bob")])
    catalogue.remove(["a"])
    assert list(catalogue.speakers) == ["Bob"]
    catalogue.add([an_entry("c", "poem", speaker="Cleo"), an_entry("d", "poem", speaker="Ann")])
    assert sorted(catalogue.speakers) == ["Ann", "Bob", "Cleo"]
    assert len(set(catalogue.speakers.values())) == 3


def test_how_much_an_assistant_writes_is_of_what_is_there() -> None:
    """Long replies make it an assistant's memory; without them it is none."""
    catalogue = filled([an_entry("a", "boat"), an_entry("b", "kettle " * 9, role="assistant")])
    assert catalogue.assisted == 1.0
    catalogue.add([an_entry("b", "kettle", role="assistant")])
    assert catalogue.assisted == 0.0
    catalogue.remove(["b"])
    assert catalogue.assisted == 0.0


def test_one_stem_has_one_vector_whatever_came_first() -> None:
    """Of several spellings the shortest stands for a term, in whichever order they come."""
    spellings = [an_entry("a", "painting"), an_entry("b", "paints"), an_entry("c", "paint")]
    forth, back = filled(spellings, batches=[1, 2]), filled(reversed(spellings), batches=[1, 2])
    for catalogue in (forth, back):
        assert catalogue.words.vectors.all[catalogue.words.numbers["paint"]] == pytest.approx(
            text_vector("paint"), abs=1e-6
        )


def test_importance_and_time_may_change() -> None:
    """Of something in the same words; its vector stays."""
    catalogue = filled([an_entry("a", "boat", importance=0.2)])
    changed = an_entry("a", "boat", importance=0.9, minutes=60)
    catalogue.note([changed, an_entry("nobody", "boat")])
    assert catalogue.importance.all.tolist() == pytest.approx([0.9])
    assert catalogue.at.all.tolist() == [changed.at.timestamp()]
    assert catalogue.vectors.of(0) == pytest.approx(text_vector("boat"), abs=0.01)


@pytest.mark.parametrize("role", [*ROLES, None, "function"])
def test_roles_are_told_apart(role: str | None) -> None:
    """Each of the five has a number of its own; what has none of them is other."""
    catalogue = filled([an_entry("a", "boat", role=role)])
    assert catalogue.role.all.tolist() == [ROLES.get(role or "", OTHER)]
    assert len({*ROLES.values(), OTHER}) == len(ROLES) + 1


# where words are


def naive(everything: Sequence[Entry], term: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for row, entry in enumerate(everything):
        found[row] = sum(stem(word) == term for word in words(entry.text) if word not in STOP_WORDS)
    return +found


@given(
    everything=entries(most=30),
    batches=st.lists(st.integers(0, 30), max_size=6),
    tail=st.sampled_from([0, 1, 5, 40]),
    order=st.permutations(VOCABULARY),
)
@examples(40)
def test_places_agree_with_a_count(
    everything: list[Entry], batches: list[int], tail: int, order: Sequence[str]
) -> None:
    """However much of the places is sorted already and how much is not; terms in any order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TAIL", tail)
        catalogue = filled([], vectors=False)
        for first, last in zip([0, *sorted(batches)], [*sorted(batches), 30], strict=True):
            catalogue.add(everything[first:last])
            terms = [term for term in map(stem, order) if term in catalogue.words.numbers]
            which, rows, times = catalogue.words.places([catalogue.words.numbers[term] for term in terms])
            found: list[Counter[int]] = [Counter() for _ in terms]
            for term, row, many in zip(which.tolist(), rows.tolist(), times.tolist(), strict=True):
                found[term][row] += many
            assert found == [naive(everything[:last], term) for term in terms]


def test_no_words_have_no_places() -> None:
    """An empty catalogue, and a question without terms, are no error."""
    for catalogue in (filled([]), filled([an_entry("a", "...")]), filled([an_entry("a", "boat")])):
        which, rows, times = catalogue.words.places([])
        assert (len(which), len(rows), len(times)) == (0, 0, 0)


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


@pytest.mark.parametrize(
    ("starts", "lengths", "places"),
    [
        pytest.param([], [], [], id="none"),
        pytest.param([5], [0], [], id="empty"),
        pytest.param([5, 0], [2, 3], [5, 6, 0, 1, 2], id="two"),
        pytest.param([3, 9, 1], [1, 0, 2], [3, 1, 2], id="one-empty"),
    ],
)
def test_ranges(starts: list[int], lengths: list[int], places: list[int]) -> None:
    """The places of each stretch, one stretch after the other."""
    found = ranges(np.asarray(starts, dtype=np.int64), np.asarray(lengths, dtype=np.int64))
    assert found.tolist() == places


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
