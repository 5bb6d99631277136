"""Teach static vectors by a model that reads whole texts: which texts are alike for it, and how much."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 3  # through all texts: more fits these texts better, and others worse
BATCH = 512  # texts that are compared with each other
SHARPNESS = 20.0  # likenesses are compared as shares of the exponential of so many times the cosine
RATE = 0.03  # of the usual size of a number in a row
EASE_IN = 50  # steps until the full rate
LAST = 0.02  # share of the rate at the end
MOMENTUM, SCALE = 0.9, 0.99  # how long Adam's two means remember
SEED = 1

Rows = NDArray[np.float32]


def train(
    rows: Rows, texts: Sequence[Sequence[int]], wanted: Rows, tell: Callable[[int, int], None] = lambda *_: None
) -> Rows:
    """The rows, changed so that sums of a text's rows are alike where the wanted vectors of the texts are.

    `texts` are numbers of rows. What no text has stays as it is. For each text of a batch, the likenesses to all others
    are made shares of one; the loss is the divergence of these from the shares among the wanted vectors.
    """
    size = float(np.abs(rows).mean())
    rows = rows / size
    wanted = _normal(wanted - wanted.mean(axis=0))[0]
    adam, random = _Adam(rows), np.random.default_rng(SEED)
    batches = len(texts) // BATCH
    steps = ROUNDS * batches
    for step in range(steps):
        place = step % batches * BATCH
        if place == 0:
            order = random.permutation(len(texts))
        batch = order[place : place + BATCH]
        used, counts = _count([texts[one] for one in batch])
        slope = counts.T @ _slope(counts @ rows[used], wanted[batch])
        adam.step(used, slope, RATE * min(1.0, step / EASE_IN) * max(LAST, 1 - step / steps))
        tell(step + 1, steps)
    return np.asarray(rows * size, dtype=np.float32)


def _slope(sums: Rows, wanted: Rows) -> Rows:
    """How the loss changes with each sum."""
    vectors, lengths = _normal(sums)
    apart = _shares(vectors) - _shares(wanted)
    pull = SHARPNESS / len(sums) * (apart + apart.T) @ vectors
    along = (pull * vectors).sum(axis=1, keepdims=True)
    return np.asarray((pull - along * vectors) / lengths, dtype=np.float32)


def _shares(vectors: Rows) -> Rows:
    """Of each text's likenesses to the others, how much is each."""
    alike = SHARPNESS * (vectors @ vectors.T)
    np.fill_diagonal(alike, -np.inf)
    raised = np.exp(alike - alike.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)


def _normal(rows: Rows) -> tuple[Rows, Rows]:
    lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return rows / lengths, lengths


def _count(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], Rows]:
    """The rows that are used, and how often each text has each of them."""
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    used, places = np.unique(np.concatenate([np.asarray(text) for text in texts]), return_inverse=True)
    counts = np.zeros((len(texts), len(used)), dtype=np.float32)
    np.add.at(counts, (owners, places), 1)
    return used, counts


class _Adam:
    """Steps against the slope, as Adam takes them; rows that a batch does not use rest."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._means, self._squares = np.zeros_like(rows), np.zeros_like(rows)
        self._times = np.zeros((len(rows), 1), dtype=np.float32)

    def step(self, used: NDArray[np.int64], slope: Rows, rate: float) -> None:
        self._times[used] += 1
        self._means[used] = MOMENTUM * self._means[used] + (1 - MOMENTUM) * slope
        self._squares[used] = SCALE * self._squares[used] + (1 - SCALE) * slope**2
        mean = self._means[used] / (1 - MOMENTUM ** self._times[used])
        square = self._squares[used] / (1 - SCALE ** self._times[used])
        self._rows[used] -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))
