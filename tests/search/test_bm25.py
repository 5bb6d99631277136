"""The word index and BM25: where words are, one vector for each stem, and the score by the formula."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.language.words import STOP_WORDS, stem, words
from lamina.search import bm25 as module
from lamina.search.bm25 import bm25, ranges
from lamina.search.index import Entry
from tests.search.index_samples import VOCABULARY, an_entry, entries, filled, text_vector
from tests.sizes import examples


@pytest.mark.parametrize("terms", [["boat"], ["boat", "kettle"], ["boat", "whale"], []])
def test_the_score_is_that_of_the_formula(terms: list[str]) -> None:
    """Rare words count more, repeated ones less and less, and a long row less if its length counts."""
    texts = ["boat boat bay", "kettle boat", "kettle kettle kettle garden piano", "gravel"]
    index = filled(an_entry(f"m{number}", text, seq=number) for number, text in enumerate(texts))
    rows, usual = np.array([0, 2, 3]), 3.0
    place = np.full(len(texts) + 1, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    lengths = index.length.all[rows].astype(np.float32) / np.float32(usual)
    little, full, has = bm25(index.words.matches([stem(term) for term in terms]), place, lengths)
    for b, scores in ((0.3, little), (1.0, full)):
        expected = [0.0 for _ in rows]
        for term in terms:
            having = sum(term in text.split() for text in texts)
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            for number, row in enumerate(rows):
                said = texts[row].split()
                times = said.count(term)
                expected[number] += rarity * times * 2.2 / (times + 1.2 * (1 - b + b * len(said) / usual))
        assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    assert has.tolist() == [[float(term in texts[row].split()) for row in rows] for term in terms]


def test_one_stem_has_one_vector_whatever_came_first() -> None:
    """Of several spellings the shortest stands for a term, in whichever order they come."""
    spellings = [an_entry("a", "painting"), an_entry("b", "paints"), an_entry("c", "paint")]
    forth, back = filled(spellings, batches=[1, 2]), filled(reversed(spellings), batches=[1, 2])
    for index in (forth, back):
        assert index.words.meant.all.tolist() == [index.words.numbers["paint"]]
        assert index.words.vectors.all[0] == pytest.approx(text_vector("paint"), abs=1e-6)


def test_numbers_and_ids_have_no_vectors() -> None:
    """They are like nothing but themselves: many of them, as in a pasted log, take little memory."""
    index = filled([an_entry("a", "boat 42 a7f3"), an_entry("b", "b2c 1999 kettle 42's")], batches=[1])
    numbers = index.words.numbers
    assert index.words.meant.all.tolist() == [numbers["boat"], numbers["kettl"]]
    assert len(index.words.vectors) == 2


def test_a_word_may_come_more_often_than_can_be_counted() -> None:
    """It counts as very often then, not as seldom."""
    index = filled([an_entry("a", "boat " * 70_000)])
    assert index.words.postings()[2].tolist() == [65_535]


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
        index = filled([], vectors=False)
        for first, last in zip([0, *sorted(batches)], [*sorted(batches), 30], strict=True):
            index.add(everything[first:last])
            terms = [term for term in map(stem, order) if term in index.words.numbers]
            which, rows, times = index.words.places([index.words.numbers[term] for term in terms])
            found: list[Counter[int]] = [Counter() for _ in terms]
            for term, row, many in zip(which.tolist(), rows.tolist(), times.tolist(), strict=True):
                found[term][row] += many
            assert found == [naive(everything[:last], term) for term in terms]


def test_no_words_have_no_places() -> None:
    """An empty index, and a question without terms, are no error."""
    for index in (filled([]), filled([an_entry("a", "...")]), filled([an_entry("a", "boat")])):
        which, rows, times = index.words.places([])
        assert (len(which), len(rows), len(times)) == (0, 0, 0)


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
