"""The word index of a user, and BM25: how well the words of a row match those of a question."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina.language.words import STOP_WORDS, stem, words
from lamina.search.vectors import Floats, Growing, Whole

WordVectors = Callable[[Sequence[str]], Any]

NUMBER = re.compile(r"\d")
_K1 = 1.2
_LITTLE, _FULL = 0.3, 1.0  # b of BM25: how much the length of a row counts
_HALF = 32  # bits of a number that holds two
_MANY = np.iinfo(np.uint16).max  # more often than this counts as this often
_TAIL = 20_000  # places of words that are searched one by one before all are sorted again


class WordIndex:
    """Terms by number, each with the word that stands for it; in which rows they are, and in how many messages."""

    def __init__(self, word_vectors: WordVectors, dimensions: int) -> None:
        self._word_vectors = word_vectors
        self.numbers: dict[str, int] = {}  # term -> its number, from the first time it is seen
        self.messages = 0
        self.frequency = Growing(np.int32)  # term -> how many messages have it
        self.vectors = Growing(np.float32, dimensions)  # of the words of terms that are no numbers
        self.meant = Growing(np.int32)  # the term that each of these vectors is of
        self._vector = Growing(np.int32)  # term -> which of the vectors is its own, -1: none
        self._spelling: list[str] = []  # term -> its word
        self._respelled: set[int] = set()  # terms with another word than that of their vector
        self._known = _KnownWords(self.learn)
        self._term, self._row, self._times = Growing(np.int32), Growing(np.int32), Growing(np.uint16)
        self._order = np.zeros(0, dtype=np.int32)  # places of words, sorted by term
        self._first = np.zeros(1, dtype=np.int64)  # term -> its first place in that order

    @property
    def names(self) -> int:
        """How many words and terms are kept."""
        return len(self._known) + len(self.numbers)

    @property
    def nbytes(self) -> int:
        places = (self._term, self._row, self._times, self._order, self._first)
        return sum(array.nbytes for array in (self.frequency, self.vectors, self.meant, self._vector, *places))

    def add(self, texts: Sequence[str], first: int, is_message: Sequence[bool]) -> list[int]:
        """Take in the texts of rows from `first` on; how many terms each has, stop words not counted."""
        found = [[number for number in map(self._known.__getitem__, words(text)) if number >= 0] for text in texts]
        self._embed()
        lengths = [len(one) for one in found]
        rows = np.repeat(np.arange(first, first + len(found), dtype=np.int64), lengths)
        terms = np.fromiter(itertools.chain.from_iterable(found), dtype=np.int64, count=len(rows))
        places, times = np.unique(rows << _HALF | terms, return_counts=True)
        rows, terms = places >> _HALF, places & ((1 << _HALF) - 1)
        self._term.add(terms)
        self._row.add(rows)
        self._times.add(np.minimum(times, _MANY))
        messages = np.array(is_message)
        self.frequency.all[:] += np.bincount(terms[messages[rows - first]], minlength=len(self.frequency))
        self.messages += int(messages.sum())
        return lengths

    def learn(self, word: str) -> int:
        """The number of a word's term. The shortest word stands for each, so it does not matter which came first."""
        if word in STOP_WORDS:
            return -1
        number = self.numbers.setdefault(stem(word), len(self.numbers))
        if number == len(self._spelling):
            self._spelling.append(word)
            self._respelled.add(number)
        elif (len(word), word) < (len(known := self._spelling[number]), known):
            self._spelling[number] = word
            self._respelled.add(number)
        return number

    def _embed(self) -> None:
        """Give vectors to new terms, and to those for which another word stands now."""
        if self._respelled:
            known = len(self.frequency)
            self.frequency.add(np.zeros(len(self.numbers) - known))
            meant = [term for term in range(known, len(self.numbers)) if not NUMBER.search(self._spelling[term])]
            own = np.full(len(self.numbers) - known, -1)
            own[np.array(meant, dtype=np.int64) - known] = np.arange(len(meant)) + len(self.vectors)
            self._vector.add(own)
            self.meant.add(meant)
            self.vectors.add(np.zeros((len(meant), self.vectors.all.shape[1])))
            if changed := [term for term in sorted(self._respelled) if self._vector.all[term] >= 0]:
                vectors = self._word_vectors([self._spelling[term] for term in changed])
                self.vectors.all[self._vector.all[changed]] = vectors
            self._respelled.clear()

    def remove_message(self, row: int) -> None:
        """No longer count a row among the messages that have its terms."""
        self.frequency.all[self._term.all[self._row.all == row]] -= 1
        self.messages -= 1

    def count_as(self, messages: int, frequency: Mapping[str, int]) -> None:
        """Count words as in all that there is, of which this is a part."""
        self.messages = messages
        for term, many in frequency.items():
            if term in self.numbers:
                self.frequency.all[self.numbers[term]] = many

    def places(self, terms: Any) -> tuple[Any, Any, Any]:
        """Where some terms stand, given by number and in the order asked: which of them, rows, how often there."""
        terms = np.asarray(terms, dtype=np.int64)
        if len(self._term) - len(self._order) > max(_TAIL, len(self._order) // 4):
            self._order = np.argsort(self._term.all, kind="stable").astype(np.int32)
            self._first = np.searchsorted(self._term.all[self._order], np.arange(len(self.numbers) + 1))
        known = terms < len(self._first) - 1
        starts = np.where(known, self._first[np.minimum(terms, len(self._first) - 2)], 0) if known.any() else 0 * terms
        lengths = np.where(known, self._first[np.minimum(terms + 1, len(self._first) - 1)] - starts, 0)
        main = self._order[ranges(starts, lengths)] if lengths.any() else np.zeros(0, dtype=np.int64)
        which = np.repeat(np.arange(len(terms)), lengths)
        if (done := len(self._order)) < len(self._term):
            asked = np.full(len(self.numbers), -1, dtype=np.int64)
            asked[terms] = np.arange(len(terms))
            late = asked[self._term.all[done:]]
            (extra,) = np.nonzero(late >= 0)
            which, main = np.concatenate([which, late[extra]]), np.concatenate([main, extra + done])
        return which, self._row.all[main], self._times.all[main].astype(np.float32)

    def postings(self) -> tuple[Any, Any, Any]:
        """Every place of a word: its term by number, its row, how often it stands there."""
        return self._term.all, self._row.all, self._times.all

    def matches(self, terms: Sequence[str]) -> "Matches":
        """Where the terms of a question stand, and how rare each is."""
        numbers = np.array([self.numbers.get(term, -1) for term in terms], dtype=np.int64)
        counts = [self.frequency.all[number] if number >= 0 else 0 for number in numbers]
        having = np.asarray(counts, dtype=np.float32)
        rarity = np.log(1 + (self.messages - having + 0.5) / (having + 0.5))
        known = np.flatnonzero(numbers >= 0)
        which, rows, times = self.places(numbers[known])
        return Matches(numbers, known[which], rows, times, np.asarray(rarity, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Matches:
    """Where the terms of a question stand."""

    numbers: Any  # of the terms; -1: no row has it
    which: Any  # of the terms
    rows: Any
    times: Any
    rarity: Floats  # of each term


def bm25(matches: Matches, place: Whole, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """The score of candidates with little and with full regard to their length; and which of them have which term.

    `place` says which candidate a row is, -1 for none; lengths are relative to the usual one.
    """
    where = place[matches.rows]
    which, where, times = matches.which[where >= 0], where[where >= 0], matches.times[where >= 0]
    scores = []
    for b in (_LITTLE, _FULL):
        gain = matches.rarity[which] * times * (_K1 + 1) / (times + _K1 * (1 - b + b * lengths[where]))
        scores.append(np.bincount(where, weights=gain, minlength=len(lengths)).astype(np.float32))
    has = np.zeros((len(matches.rarity), len(lengths)), dtype=np.float32)
    has[which, where] = 1
    return scores[0], scores[1], has


class _KnownWords(dict[str, int]):
    """Every word that was read with the number of its term, -1 for a stop word: mostly one plain lookup."""

    def __init__(self, learn: Callable[[str], int]) -> None:
        super().__init__()
        self._learn = learn

    def __missing__(self, word: str) -> int:
        number = self[word] = self._learn(word)
        return number


def comparable(spelling: Sequence[str], word_vectors: WordVectors) -> Floats:
    """Vectors of words; numbers and names with figures in them are like nothing but themselves."""
    vectors = np.array(word_vectors(spelling), dtype=np.float32).reshape(len(spelling), -1)
    vectors[[NUMBER.search(word) is not None for word in spelling]] = 0
    return vectors


def ranges(starts: Any, lengths: Any) -> Any:
    """The places start, start + 1, … of each stretch, one stretch after the other."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum()), dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
