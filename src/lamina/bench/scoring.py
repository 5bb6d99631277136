"""How good the answers are: numbers in, measures out.

Of what a search ranks: R@k is the share of the gold messages in the first k, All@k the share of questions with all of
them there, NDCG@10 has binary gains; SAll@k and SHit@k say the same of sessions, ranked by their best message. Of a
context of n tokens: C<n>f is the share of the gold messages that stand in it, C<n>a the share of questions with all of
them in it. A set that knows gold sessions only gets SAll@k, SHit@k and C<n>s: every gold session has a message in it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lamina.bench.readers import Question

FIRST = (1, 5, 10, 20, 50)
FIRST_SESSIONS = (5, 10)
ALL = "all"
_GAINS = 10

Measures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Means over the questions of each category, and over all."""

    questions: Mapping[str, int]
    measures: Mapping[str, Measures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for a question: messages best first, and those that stand in the context of each budget."""

    ranked: Sequence[str]
    contexts: Mapping[int, Sequence[str]]


def score_all(asked: Iterable[tuple[Question, Found]], session_of: Mapping[str, str]) -> Scores:
    """The measures of all questions, and of each category."""
    rows: dict[str, list[Measures]] = {ALL: []}
    for question, found in asked:
        measures = score(question, found, session_of)
        rows[ALL].append(measures)
        rows.setdefault(question.category, []).append(measures)
    order = [ALL, *sorted(rows.keys() - {ALL})]
    return Scores(
        questions={name: len(rows[name]) for name in order}, measures={name: _means(rows[name]) for name in order}
    )


def _means(rows: Sequence[Measures]) -> Measures:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}


def score(question: Question, found: Found, session_of: Mapping[str, str]) -> Measures:
    """The measures of one question, each from 0 to 1."""
    measures: dict[str, float] = {}
    if question.gold:
        measures |= _message_measures(question.gold, found.ranked)
    measures |= _session_measures(
        question.gold_sessions, [session_of[one] for one in found.ranked if one in session_of]
    )
    for budget, standing in found.contexts.items():
        if question.gold:
            share = len(question.gold & set(standing)) / len(question.gold)
            measures[f"C{budget}a"], measures[f"C{budget}f"] = float(share == 1), share
        else:
            met = {session_of[one] for one in standing if one in session_of}
            measures[f"C{budget}s"] = float(question.gold_sessions <= met)
    return measures


def _message_measures(gold: frozenset[str], ranked: Sequence[str]) -> dict[str, float]:
    place = {message: number for number, message in reversed(list(enumerate(ranked, 1)))}
    places = [place[message] for message in gold if message in place]
    measures: dict[str, float] = {}
    for first in FIRST:
        hits = sum(found <= first for found in places)
        measures[f"R@{first}"] = hits / len(gold)
        measures[f"All@{first}"] = float(hits == len(gold))
    gains = sum(1 / math.log2(found + 1) for found in sorted(places) if found <= _GAINS)
    ideal = sum(1 / math.log2(number + 1) for number in range(1, min(len(gold), _GAINS) + 1))
    measures[f"NDCG@{_GAINS}"] = gains / ideal
    return measures


def _session_measures(gold: frozenset[str], ranked: Iterable[str]) -> dict[str, float]:
    best = list(dict.fromkeys(ranked))
    measures: dict[str, float] = {}
    for first in FIRST_SESSIONS:
        hits = len(gold & set(best[:first]))
        measures[f"SAll@{first}"] = float(hits == len(gold))
        measures[f"SHit@{first}"] = float(hits > 0)
    return measures


_SHOWN = ("R@1", "R@5", "R@10", "R@20", "R@50", "All@10", "NDCG@10", "SAll@5")


def table(scores: Scores) -> str:
    """The measures in percent, a category a row: what is ranked, then what stands in contexts."""
    names = list(scores.measures[ALL])
    ranked = [name for name in _SHOWN if name in names]
    standing = [name for name in names if name.startswith("C")]
    standing.sort(key=lambda name: (name[-1], int(name[1:-1])))
    return "\n\n".join(_align(scores, columns) for columns in (ranked, standing) if columns)


def _align(scores: Scores, columns: Sequence[str]) -> str:
    rows = [["", "questions", *columns]]
    for category, measures in scores.measures.items():
        cells = [f"{100 * measures[name]:.1f}" for name in columns]
        rows.append([category, f"{scores.questions[category]:,}", *cells])
    return align(rows)


def align(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells under each other: the first column to the left, the others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
