"""The model that tells moments from other sentences: weights of features and of the vector of the words.

`scripts/train_moments.py` trains it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from lamina.models.embeddings.static_vectors import vectors
from lamina.values.fact import EPISODE_KINDS, EpisodeKind

FILE = "moment_model.json"
SHA256 = "9fe1b9d58548bacb041f3e17f9adb5a338ef9a0faa2a9d23c907334b4c079c1a"  # of the file
SCALE = 100  # weights are kept as whole numbers of this part
NONE = "none"
CLASSES = (NONE, *EPISODE_KINDS)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How likely a sentence tells of a moment, and of which kind most likely."""

    probability: float
    kind: EpisodeKind


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of each feature, by class, and the probability from which a sentence is a moment."""

    threshold: float
    bias: NDArray[np.float64]
    weights: Mapping[str, NDArray[np.float64]]
    vector: NDArray[np.float64]  # of each number of the vector of a sentence

    def judge(self, sentences: Sequence[tuple[str, Sequence[str]]]) -> list[Judgement]:
        """What is said of sentences, each given as its words and its features."""
        if not sentences:
            return []
        rows = vectors([text for text, _ in sentences]).astype(np.float64)
        judged = []
        for row, (_, features) in zip(rows, sentences, strict=True):
            sums = self.bias + (row[:, None] * self.vector).sum(axis=0)
            for feature in features:
                sums += self.weights.get(feature, 0.0)
            shares = np.exp(sums - sums.max())
            kind = EPISODE_KINDS[int(sums[1:].argmax())]
            judged.append(Judgement(float(1 - shares[0] / shares.sum()), kind))
        return judged


@cache
def model() -> Model:
    """The model of the package, read once."""
    data = json.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))
    weights = {name: np.array(row) / SCALE for name, row in data["weights"].items()}
    return Model(data["threshold"], np.array(data["bias"]) / SCALE, weights, np.array(data["vector"]) / SCALE)
