"""How likely a row answers a question: from its sum, and from what does not depend on how good the others are."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lamina.search import scores_minilm, scores_static, scores_words
from lamina.search.arrays import Flags, Floats, Whole
from lamina.search.signals import NAMES, Signals

MEASURES = (
    "always",
    "sum",  # of what speaks for the row
    "meaning",  # likeness of the vectors
    "words",  # share of the question's words that the row has, or near ones
    "around",  # the same with the rows around it
    "exact",  # share of the very words
    "best_meaning",  # of all rows
    "best_words",
    "behind",  # its sum below the best one
    "ahead",  # its sum above the next one
    "steep",  # the best sum above the tenth
    "terms",  # how many words the question has
    "length",
    "rows",  # how many there are
)
_POOLED = 100  # rows from the best on
_SCALE = 4.0  # of sums
_TENTH = 9
_LEAST = -9.0  # so that the worst is still above 0.0001


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How much each measure counts for the chance of a text, and for that of a fact."""

    texts: Floats
    facts: Floats

    @classmethod
    def of(cls, weights: Mapping[str, tuple[float, float]]) -> "Calibration":
        texts, facts = np.array([weights[name] for name in MEASURES], dtype=np.float32).T
        return cls(texts=texts, facts=facts)


OF_STATIC = Calibration.of(scores_static.WEIGHTS)
OF_MINILM = Calibration.of(scores_minilm.WEIGHTS)
OF_WORDS = Calibration.of(scores_words.WEIGHTS)


def calibration(embedder: str | None) -> Calibration:
    """The one for vectors of this embedder; what likeness means with others is not known, so words tell."""
    name = (embedder or "").partition("@")[0]
    return {"static-384": OF_STATIC, "minilm-l6-v2": OF_MINILM}.get(name, OF_WORDS)


def measured(signals: Signals, sums: Floats, order: Whole, terms: int) -> Floats:
    """A row of MEASURES for each row of the signals; `order` has those that count, the best first."""
    sums = np.asarray(sums / _SCALE, dtype=np.float32)
    ranked = sums[order]
    ahead = np.zeros_like(sums)
    ahead[order[:-1]] = ranked[:-1] - ranked[1:]
    best, tenth = ranked[0], ranked[min(_TENTH, len(ranked) - 1)]
    same = np.ones_like(sums)
    found = {
        "always": same,
        "sum": sums,
        "meaning": signals.cosines,
        "words": signals.shares,
        "around": signals.around,
        "exact": signals.exact,
        "best_meaning": same * signals.cosines[order].max(),
        "best_words": same * signals.around[order].max(),
        "behind": sums - best,
        "ahead": ahead,
        "steep": same * (best - tenth),
        "terms": same * np.log1p(np.float32(terms)),
        "length": signals.table[:, NAMES.index("length")],
        "rows": same * np.log1p(np.float32(len(order))) / 5,
    }
    return np.stack([found[name] for name in MEASURES], axis=1).astype(np.float32)


def chances(table: Floats, facts: Flags, bare: Flags, order: Whole, fit: Calibration) -> Floats:
    """Between 0 and 1, and never higher for a row than for a better one; of rows that are `bare`, words tell."""
    raised = np.where(facts, table @ fit.facts, table @ fit.texts)
    if bare.any():
        raised = np.where(bare, np.where(facts, table @ OF_WORDS.facts, table @ OF_WORDS.texts), raised)
    found = 1 / (1 + np.exp(-np.clip(raised, _LEAST, -_LEAST)))
    found[order] = falling(found[order])
    return np.asarray(found, dtype=np.float32)


def falling(values: Floats) -> Floats:
    """The nearest values that never rise: what stands in the wrong order gets the mean of what it stands with."""
    if not (np.diff(values) > 0).any():
        return values
    means, sizes = list[float](), list[int]()
    for value in values[:_POOLED].tolist():
        mean, size = value, 1
        while means and means[-1] < mean:
            before = sizes.pop()
            mean = (means.pop() * before + mean * size) / (before + size)
            size += before
        means.append(mean)
        sizes.append(size)
    pooled = np.repeat(np.asarray(means), sizes)
    return np.concatenate([pooled, np.minimum.accumulate(np.minimum(values[_POOLED:], pooled[-1]))])
