"""From what speaks for each row to one score, and the best rows first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from lamina.knowledge.decay import fade
from lamina.search.calibration import probabilities, read_fitted
from lamina.search.explain import PARTS
from lamina.search.filters import WEIGHT_NAMES, Request
from lamina.search.index import Index
from lamina.search.signals import NAMES, Query, Signals, fit_context, gather, is_related
from lamina.search.tfidf import tfidf
from lamina.search.validity import MAX_COMPARED
from lamina.search.vectors import Flags, Floats, Whole

_DAY = 86_400.0
_USE = 0.1  # what each use counts, up to all of it
_LIFT = 1.0  # of the logarithm of the odds of what fits the context wholly
_LATEST = 2  # place, from 0, of the row that is nearest in meaning
_NEAR_MEANING = 0.24  # likeness that it has at least
_OUTSTANDING = 0.1  # how much nearer it is than those before it
_SPARE = 5  # more than asked for are found, since some may be gone by now
_CHARACTERS, _OVERHEAD = 4, 4  # of a token; tokens that a text takes beside its words
_LARGE = 240  # tokens: longer texts are cut
_MORE = 2  # times the room that is read, since some of it is said already
MAX_EQUALS = 100  # ids of messages that say the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How much each signal counts, and how likely a sum of some size answers."""

    people: Floats  # who talk with each other
    helped: Floats  # a user with an assistant
    slope: float
    offset: float


def load_fit(file: str) -> Fit:
    """The weights that `scripts/fit_recall.py` wrote."""
    fit = read_fitted(file)
    people, helped = np.array([fit[name] for name in NAMES], dtype=np.float32).T
    return Fit(people=people, helped=helped, slope=fit["slope"], offset=fit["offset"])


# Vectors of pieces of words say much the same as words, those of whole texts something of their own: each has a fit.
OF_PIECES = load_fit("weights_static.json")
OF_TEXTS = load_fit("weights_minilm.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Rows with their scores, and for each part how much of it they have."""

    values: Floats  # any size: only their order counts
    parts: Floats  # one column for each of PARTS

    def chances(self, fit: Fit) -> Floats:
        """Between 0 and 1: about how likely a row answers the question."""
        return np.asarray(1 / (1 + np.exp(-np.clip(fit.slope * self.values + fit.offset, -30, 30))), dtype=np.float32)


def fit_for(query: Query) -> Fit:
    """The weights for a question: those for vectors of whole texts if it has such a one."""
    return OF_PIECES if query.one_space or query.vector is None else OF_TEXTS


def score_by_fit(signals: Signals, assisted: float, fit: Fit) -> Scores:
    """The calibrated sum; weights lie between those for people talking and those for an assistant's user."""
    weighted = signals.table * ((1 - np.float32(assisted)) * fit.people + np.float32(assisted) * fit.helped)
    parts = np.stack([weighted[:, columns].sum(axis=1) for columns in _COLUMNS], axis=1)
    return Scores(values=parts.sum(axis=1), parts=parts)


_COLUMNS = [[NAMES.index(name) for name in names] for names in PARTS.values()]


def score_by_weights(
    signals: Signals,
    alike: Floats,
    index: Index,
    weights: Mapping[str, float],
    now: float,
    half_life_days: float,
    uses: Floats,
) -> Scores:
    """The weighted sum of meaning, words, recency, importance and use, between 0 and 1, with its five parts."""
    age = np.maximum(now - index.at.all[signals.rows], 0) / _DAY
    measures = {
        "semantic": alike,
        "keyword": np.clip(signals.exact, 0, 1),
        "recency": fade(age, half_life_days),
        "importance": index.importance.all[signals.rows],
        "access": np.minimum(_USE * uses, 1),
    }
    parts = np.stack([weights[name] * np.asarray(measures[name], dtype=np.float32) for name in WEIGHT_NAMES], axis=1)
    return Scores(values=parts.sum(axis=1), parts=parts)


def best_first(scores: Scores, index: Index, rows: Whole) -> Any:
    """Best first; equals by time, by their place in the log and by id: not by which was read first."""
    values, at, seq = -np.round(scores.values, 5), index.at.all[rows], index.seq.all[rows]
    order = np.lexsort((seq, at, values))
    alike = (np.diff(values[order]) == 0) & (np.diff(at[order]) == 0) & (np.diff(seq[order]) == 0)
    (same,) = np.nonzero(alike)
    for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else ():
        group = slice(run[0], run[-1] + 2)
        order[group] = sorted(order[group], key=lambda place: index.ids[rows[place]])
    return order


class Best(NamedTuple):
    """What was found, and how much speaks for it."""

    id: str
    score: float
    value: float
    parts: Mapping[str, float]
    copies: int  # messages that say the same, with this one
    others: Sequence[str]  # the first of the others, oldest first


class Ranking(NamedTuple):
    """The best first, and of how many rows."""

    best: Sequence[Best] = ()
    considered: int = 0  # rows that the filters let through
    related: int = 0  # of these, rows that have anything to do with the query


def rank(
    index: Index,
    query: Query,
    request: Request,
    allowed: Flags,
    at: datetime,
    half_life_days: float,
    uses: Mapping[str, int],
    space: str | None,
    context: Query | None = None,
) -> Ranking:
    """The rows that answer, of those that are allowed; `space` is the embedder whose vectors are compared.

    With a `context`, what fits it comes higher; nothing is left out for it.
    """
    considered = int(np.count_nonzero(allowed))
    if not considered:
        return Ranking()
    signals = gather(index, query, allowed)
    if request.weights is None:
        fit = fit_for(query)
        scores = score_by_fit(signals, index.assisted, fit)
        values, names = scores.chances(fit), tuple(PARTS)
    else:
        used = np.zeros(len(signals.rows), dtype=np.float32)
        if uses:
            used[:] = [uses.get(index.ids[row], 0) for row in signals.rows]
        if request.semantic == "tfidf":
            alike = tfidf(index.words, query.question.text, index.alive.all, signals.rows)
        else:
            alike = np.clip(signals.cosines, 0, 1)
        scores = score_by_weights(signals, alike, index, request.weights, at.timestamp(), half_life_days, used)
        values, names = np.clip(scores.values, 0, 1), WEIGHT_NAMES
    related = is_related(signals, signals.around if request.weights is None else signals.shares)
    if not related.any():
        return Ranking(considered=considered)
    good = related if request.strict else (signals.around > 0) | (signals.cosines > 0)
    order = best_first(scores, index, signals.rows)
    order = _without_equals(order[good[order]], index.same.all[signals.rows])
    likely, lifts = values, dict[str, Floats]()  # what made a row likelier -> by how much
    if request.weights is None:
        likely = probabilities(index, signals, scores.values, order, len(query.question.terms), space)
        order, raised, values = _with_nearest(order, likely, values, signals.cosines)
        lifts["nearest"], likely = raised - likely, raised
    if context is not None:
        fit_here = fit_context(index, context, signals.rows)
        raised = _lift(likely, fit_here)
        lifts["context"], likely, values = raised - likely, raised, _lift(values, fit_here)
        order = order[np.lexsort((np.arange(len(order)), -likely[order]))]
    rounded = np.round(likely.astype(np.float64), 6)
    best = order[rounded[order] >= request.min_score][: request.top_k + _SPARE]
    if request.room is not None:
        best = best[_worth_reading(index.size.all[signals.rows[best]], values[best], request.room)]
    equals = _equals(index, signals.rows[best], allowed)
    columns = (
        [index.ids[row] for row in signals.rows[best]],
        rounded[best].tolist(),
        values[best].tolist(),
        np.round(scores.parts[best].astype(np.float64), 6).tolist(),
        np.round(signals.cosines[best].astype(np.float64), 6).tolist(),
        _lifts_of(lifts, best),
        equals,
    )
    found = [
        Best(key, score, value, {**dict(zip(names, parts, strict=True)), "cosine": cosine, **lift}, *same)
        for key, score, value, parts, cosine, lift, same in zip(*columns, strict=True)
    ]
    return Ranking(found, considered, int(np.count_nonzero(related)))


def _with_nearest(order: Any, likely: Floats, values: Floats, cosines: Floats) -> tuple[Any, Floats, Floats]:
    """The row that is nearest in meaning stands third at the latest, if it is clearly nearer than those before it.

    It may share no word with the question, nor have anything around it that does. It is as likely as the row that it
    stands before.
    """
    if len(order) <= _LATEST:
        return order, likely, values
    at = int(np.argmax(cosines[order]))
    row, before = order[at], order[: _LATEST + 1]
    if at <= _LATEST or cosines[row] < max(_NEAR_MEANING, _OUTSTANDING + cosines[before].max()):
        return order, likely, values
    likely, values = likely.copy(), values.copy()
    likely[row], values[row] = max(likely[row], likely[before[-1]]), max(values[row], values[before[-1]])
    return np.concatenate([order[:_LATEST], [row], order[_LATEST:at], order[at + 1 :]]), likely, values


def _lifts_of(lifts: Mapping[str, Floats], rows: Any) -> list[dict[str, float]]:
    """What made each row likelier; the nearest is one row at the most, so that others do not have it."""
    found = {name: np.round(lift[rows].astype(np.float64), 6).tolist() for name, lift in lifts.items()}
    return [
        {name: lift[at] for name, lift in found.items() if name == "context" or lift[at]} for at in range(len(rows))
    ]


def _worth_reading(characters: Whole, values: Floats, room: int) -> Flags:
    """Of the best, those that are worth most for their size, up to some more than there is room for."""
    sizes = np.minimum(characters / _CHARACTERS, max(_LARGE, room / 2)) + _OVERHEAD
    order = np.argsort(-values.astype(np.float64) / sizes, kind="stable")
    kept = np.arange(len(values)) < MAX_COMPARED
    kept[order[np.cumsum(sizes[order]) <= _MORE * room]] = True
    return kept


def _lift(scores: Floats, fits: Floats) -> Floats:
    """Scores between 0 and 1 with better odds the better they fit; none is lower than before."""
    odds = np.exp(_LIFT * fits)
    return np.asarray(scores * odds / (1 - scores + scores * odds), dtype=np.float32)


def _without_equals(order: Any, same: Whole) -> Any:
    """Of messages that say the same, the first: the best, and of equals the oldest."""
    _, first = np.unique(same[order], return_index=True)
    return order if len(first) == len(order) else order[np.sort(first)]


def _equals(index: Index, rows: Whole, allowed: Flags) -> list[tuple[int, tuple[str, ...]]]:
    """For each row how many allowed ones say the same, with it, and the ids of the first others."""
    same = index.same.all
    (members,) = np.nonzero(allowed & np.isin(same, same[rows]))
    if len(members) == len(rows):
        return [(1, ())] * len(rows)
    groups: dict[int, list[int]] = {}
    for row in members.tolist():
        groups.setdefault(int(same[row]), []).append(row)
    found = []
    for row in rows.tolist():
        group = groups[int(same[row])]
        group.sort(key=lambda one: (index.at.all[one], index.seq.all[one], index.ids[one]))
        others = [index.ids[one] for one in group[:MAX_EQUALS] if one != row]
        found.append((len(group), tuple(others[: MAX_EQUALS - 1])))
    return found
