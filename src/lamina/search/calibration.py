"""Scores as probabilities: how likely a row answers, from its sum and from what does not depend on other rows."""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from lamina.search.index import KINDS, Index
from lamina.search.signals import NAMES, Signals
from lamina.search.vectors import Floats, Whole

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
_MAX_LOGIT = 9.0  # so that the worst is still above 0.0001


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How much each measure counts for the chance of a text, and for that of a fact."""

    texts: Floats
    facts: Floats


def read_fitted(file: str) -> dict[str, Any]:
    """What a script fitted: numbers by name."""
    found: dict[str, Any] = json.loads(resources.files("lamina.search").joinpath(file).read_text("utf-8"))
    return found


def load_calibration(file: str) -> Calibration:
    """What `scripts/fit_scores.py` wrote."""
    fitted = read_fitted(file)
    texts, facts = np.array([fitted[name] for name in MEASURES], dtype=np.float32).T
    return Calibration(texts=texts, facts=facts)


OF_STATIC = load_calibration("calibration_static.json")
OF_MINILM = load_calibration("calibration_minilm.json")
OF_WORDS = load_calibration("calibration_words.json")


def calibration(embedder: str | None) -> Calibration:
    """The one for vectors of this embedder; what likeness means with others is not known, so words decide."""
    name = (embedder or "").partition("@")[0]
    known = {"static-384": OF_STATIC, "minilm-l6-v2": OF_MINILM, "minilm-l6-v2-int8": OF_MINILM}
    return known.get(name, OF_WORDS)


def measure(signals: Signals, sums: Floats, order: Whole, terms: int) -> Floats:
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


def probabilities(
    index: Index, signals: Signals, sums: Floats, order: Whole, terms: int, embedder: str | None
) -> Floats:
    """How likely each row answers, by its place among those that count: never likelier than a better one.

    Of rows that have no vector yet, words decide.
    """
    found = np.zeros(len(signals.rows), dtype=np.float32)
    if not len(order):
        return found
    table, fit = measure(signals, sums, order, terms), calibration(embedder)
    facts = index.kind.all[signals.rows] == KINDS.index("fact")
    raised = np.where(facts, table @ fit.facts, table @ fit.texts)
    bare = signals.cosines == 0  # no vector yet, or one that points elsewhere
    bare[bare] = ~index.vectors.of(signals.rows[bare]).any(axis=1)
    if bare.any():
        raised = np.where(bare, np.where(facts, table @ OF_WORDS.facts, table @ OF_WORDS.texts), raised)
    found = 1 / (1 + np.exp(-np.clip(raised, -_MAX_LOGIT, _MAX_LOGIT)))
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
