"""The trained model: weights of features, read once from the file beside this module.

`python -m scripts.train_statements` makes the file. There are two sets of weights: one for English, which also sees
words and their vectors, and one for every other language, which sees classes of cue words only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

FILE = "statements.npz"
SHA256 = "d96f317e961a071968f563f722c3a5dac13d99d8a57b2f733554a2e62baef2a5"  # of the file
TYPES = (
    "none", "identity", "relation", "health", "preference", "constraint", "instruction", "goal", "decision",
    "procedure", "commitment", "event", "entity",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each feature says for each type; what is said for a statement is made a probability by `scale`, `shift`."""

    rows: Mapping[str, int]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    vector: NDArray[np.float32] | None  # of the vector of a clause; None: it is not looked at
    scale: float
    shift: float

    def sums(self, features: Sequence[Sequence[str]], vectors: NDArray[np.float32] | None) -> NDArray[np.float64]:
        """What the features of each clause say for each type."""
        sums = np.tile(self.bias.astype(np.float64), (len(features), 1))
        for place, names in enumerate(features):
            known = [self.rows[name] for name in names if name in self.rows]
            sums[place] += self.weights[known].sum(axis=0, dtype=np.float64)
        if self.vector is not None and vectors is not None:
            sums += (vectors.astype(np.float64)[:, :, None] * self.vector[None]).sum(axis=1)
        return sums

    def judge(
        self, features: Sequence[Sequence[str]], vectors: NDArray[np.float32] | None
    ) -> list[tuple[float, tuple[float, ...]]]:
        """For each clause, how sure it is a statement, and the share of each type if it is one."""
        sums = self.sums(features, vectors)
        sums -= sums.max(axis=1, keepdims=True)
        shares = np.exp(sums)
        some = shares[:, 1:].sum(axis=1)
        odds = np.log(some) - sums[:, 0]
        sure = 1 / (1 + np.exp(-(self.scale * odds + self.shift)))
        kinds = shares[:, 1:] / some[:, None]
        return [(float(one), tuple(map(float, kind))) for one, kind in zip(sure, kinds, strict=True)]


@cache
def weights(name: str) -> Weights:
    """The weights for `words` (English) or `cues` (every other language)."""
    with resources.files(__package__).joinpath(FILE).open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        names = bytes(stored[f"{name}_names"]).decode().split("\n")
        steps, sizes = stored[f"{name}_steps"], stored[f"{name}_sizes"]
        scale, shift = map(float, stored[f"{name}_scale"])
        return Weights(
            rows={feature: row for row, feature in enumerate(names)},
            weights=steps * sizes[:, None],
            bias=stored[f"{name}_bias"],
            vector=stored["vector"] if name == "words" else None,
            scale=scale,
            shift=shift,
        )
