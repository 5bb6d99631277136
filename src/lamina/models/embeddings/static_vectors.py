"""The arithmetic of static vectors: each piece of a word has a fixed one, and a text has the mean of its pieces."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from lamina.models.embeddings.wordpiece import bert_uncased

DIMENSIONS = 384
FILE = "static-384.npz"
SHA256 = "66fdb558990935faab32b2708101112579b5d798f3f0f0e5ed0236f513eb28ec"  # of the file

_RUN = 1024  # rows that are summed in one go, so that any amount of text needs little memory


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One normalised row a text; zeros for a text of which no piece is known."""
    encode = bert_uncased().encode
    rows = _sum_rows([encode(text) for text in texts])
    lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
    rows /= np.where(lengths, lengths, 1).astype(np.float32)[:, None]
    return rows


@cache
def _table() -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The row of each piece in whole steps, and the size of these, by its number; zeros for those without a row."""
    with resources.files("lamina.models.embeddings").joinpath(FILE).open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        steps, sizes = stored["steps"], stored["sizes"]
    none = len(bert_uncased().numbers) - len(steps)  # special pieces, which come first
    return np.pad(steps, ((none, 0), (0, 0))), np.pad(sizes, (none, 0))[:, None]


def _sum_rows(pieces: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """The sum of the rows of each text's pieces, always in the same order."""
    steps, sizes = _table()
    sums = np.zeros((len(pieces), DIMENSIONS), np.float32)
    for owners, starts, numbers in _runs(pieces):
        rows = steps[numbers] * sizes[numbers]
        np.add.at(sums, owners, np.add.reduceat(rows, starts, axis=0))
    return sums


def _runs(pieces: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Pieces of many texts after each other: whose they are, where each part starts, and the pieces."""
    owners: list[int] = []
    starts: list[int] = []
    numbers: list[int] = []
    for owner, all_of_it in enumerate(pieces):
        for at in range(0, len(all_of_it), _RUN):
            if len(numbers) >= _RUN:
                yield owners, starts, numbers
                owners, starts, numbers = [], [], []
            owners.append(owner)
            starts.append(len(numbers))
            numbers.extend(all_of_it[at : at + _RUN])
    if owners:
        yield owners, starts, numbers
