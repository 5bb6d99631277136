"""The model that tells moments from other sentences: weights of features, trained by `scripts/train_moments.py`."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from lamina.values.fact import EPISODE_KINDS, EpisodeKind

FILE = "moment_model.json"
SHA256 = "f95d93403e5c5c79a4f0cd4b786e286849591608cd1175da1efa7f5e4d07946c"  # of the file
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
    bias: tuple[int, ...]
    weights: Mapping[str, tuple[int, ...]]

    def judge(self, features: Iterable[str]) -> Judgement:
        rows = [self.bias, *(row for row in map(self.weights.get, features) if row)]
        sums = [sum(column) / SCALE for column in zip(*rows, strict=True)]
        top = max(sums)
        exponents = [math.exp(one - top) for one in sums]
        best = max(range(1, len(sums)), key=lambda at: sums[at])
        return Judgement(1 - exponents[0] / math.fsum(exponents), EPISODE_KINDS[best - 1])


@cache
def model() -> Model:
    """The model of the package, read once."""
    data = json.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))
    return Model(data["threshold"], tuple(data["bias"]), {name: tuple(row) for name, row in data["weights"].items()})
