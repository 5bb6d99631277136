"""The weighted sum of document 001: meaning, words, recency, importance, use."""

from collections.abc import Mapping

import numpy as np

from lamina.knowledge.decay import fade
from lamina.search.arrays import Floats
from lamina.search.index import Catalogue
from lamina.search.ranking import Scored
from lamina.search.signals import Signals
from lamina.search.weights import MIXED

_DAY = 86_400.0
_USE = 0.1  # what each use counts, up to all of it


def mixed(
    signals: Signals,
    catalogue: Catalogue,
    weights: Mapping[str, float],
    now: float,
    half_life_days: float,
    uses: Floats,
) -> Scored:
    """Each row's weighted sum, between 0 and 1, with its five parts."""
    age = np.maximum(now - catalogue.at.all[signals.rows], 0) / _DAY
    measured = {
        "semantic": np.clip(signals.cosines, 0, 1),
        "keyword": np.clip(signals.exact, 0, 1),
        "recency": fade(age, half_life_days),
        "importance": catalogue.importance.all[signals.rows],
        "access": np.minimum(_USE * uses, 1),
    }
    parts = np.stack([weights[name] * np.asarray(measured[name], dtype=np.float32) for name in MIXED], axis=1)
    return Scored(values=parts.sum(axis=1), parts=parts)
