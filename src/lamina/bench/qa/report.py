"""Scores of answers with their intervals, as values and as tables: numbers in, numbers out."""

import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lamina.bench.qa.journal import Answered, Checked
from lamina.bench.qa.prepare import Prepared
from lamina.bench.qa.ways import LAMINA, MEM0
from lamina.bench.scoring import align
from lamina.counts import count

_SAMPLES = 2000
_SEED = 20_250  # of the resampling: the same run gives the same interval
_PER_CENT = 100
_NONE = "-"
_MANY = 3  # kinds of failures that a report names


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over questions, and where 95 in 100 means of resampled questions lie."""

    mean: float
    low: float
    high: float

    def shown(self) -> str:
        return f"{_PER_CENT * self.low:.1f} to {_PER_CENT * self.high:.1f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WayReport:
    """How one way did. Means and medians are over the questions that it has an answer and a verdict for."""

    way: str
    questions: int
    score: Interval | None  # None: nothing was finished
    lead: Interval | None  # of Lamina over it, on the questions that both have
    evidence: float | None
    tokens: float
    add_ms: float
    context_ms: float
    answer_s: float
    failed: int
    cut_answers: int
    cut_contexts: int
    by_category: Mapping[str, tuple[int, float]]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """How often the judge is wrong about answers that are wrong, or right, by definition."""

    wrong: int
    accepted: float  # of these: mean score
    right: int
    rejected: float  # of these: what is missing to a mean score of 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsReport:
    """What the calls of a model came to."""

    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QaReport:
    """What was measured on one data set."""

    name: str
    format: str
    conversations: int
    messages: int
    questions: int
    without_answer: int
    settings: Mapping[str, Any]
    ways: tuple[WayReport, ...]
    judge: JudgeReport | None
    calls: tuple[CallsReport, ...]
    files: Mapping[str, str]
    notes: tuple[str, ...] = field(default=())

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.ways)


def bootstrap(values: Sequence[float]) -> Interval | None:
    """The mean of some questions' values with its interval, by resampling questions."""
    if not values:
        return None
    chance = random.Random(_SEED)  # noqa: S311 - a sample, no secret
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_SAMPLES))
    low, high = means[round(0.025 * _SAMPLES)], means[round(0.975 * _SAMPLES) - 1]
    return Interval(mean=statistics.fmean(values), low=low, high=high)


def way_reports(
    ways: Sequence[str],
    categories: Mapping[str, str],
    answers: Iterable[Answered],
    contexts: Mapping[tuple[str, str], Prepared],
) -> tuple[WayReport, ...]:
    """The report of each way; `categories` has the category of each question."""
    rows = list(answers)
    means = {way: _question_means(one for one in rows if one.way == way) for way in ways}
    return tuple(
        _way_report(
            way,
            [one for one in rows if one.way == way],
            means,
            categories,
            [contexts[question, way] for question in categories if (question, way) in contexts],
        )
        for way in ways
    )


def _question_means(rows: Iterable[Answered]) -> dict[str, float]:
    """The score of each question, over its seeds."""
    scores: dict[str, list[float]] = {}
    for one in rows:
        if one.score is not None:
            scores.setdefault(one.question_id, []).append(one.score)
    return {name: statistics.fmean(found) for name, found in scores.items()}


def _way_report(
    way: str,
    rows: Sequence[Answered],
    means: Mapping[str, Mapping[str, float]],
    categories: Mapping[str, str],
    contexts: Sequence[Prepared],
) -> WayReport:
    own, ours = means[way], means[LAMINA]
    both = [question for question in own if question in ours]
    grouped: dict[str, list[float]] = {}
    for question in sorted(own, key=lambda one: categories[one]):
        grouped.setdefault(categories[question], []).append(own[question])
    failed = [one for one in rows if one.error is not None]
    known = [one for one in contexts if one.error is None]
    shares = [one.evidence for one in known if one.evidence is not None]
    return WayReport(
        way=way,
        questions=len(own),
        score=bootstrap(list(own.values())),
        lead=None if way == LAMINA else bootstrap([ours[one] - own[one] for one in both]),
        evidence=statistics.fmean(shares) if shares else None,
        tokens=_mean([one.tokens for one in known]),
        add_ms=_mean([one.add_ms for one in known]),
        context_ms=_median([one.context_ms for one in known]),
        answer_s=_median([one.reader_s for one in rows if one.answer is not None]),
        failed=len(failed),
        cut_answers=sum(one.is_cut for one in rows),
        cut_contexts=sum(one.is_cut for one in known),
        by_category={name: (len(found), statistics.fmean(found)) for name, found in grouped.items()},
        failures=tuple(dict.fromkeys(one.error for one in failed if one.error))[:_MANY],
    )


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def judge_report(checks: Iterable[Checked]) -> JudgeReport | None:
    """How often the judge was wrong; None where it was not tried."""
    rows = list(checks)
    right = [one.score for one in rows if one.is_right]
    wrong = [one.score for one in rows if not one.is_right]
    if not rows:
        return None
    return JudgeReport(wrong=len(wrong), accepted=_mean(wrong), right=len(right), rejected=1 - _mean(right or [1]))


def calls_report(rows: Iterable[Mapping[str, Any]]) -> tuple[CallsReport, ...]:
    """The calls by role and model."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        known = sums.setdefault((row["role"], row["model"]), [0, 0, 0, 0.0])
        for place, value in enumerate((1, row["tokens_in"], row["tokens_out"], row["cost"])):
            known[place] += value
    return tuple(
        CallsReport(
            role=role, model=model, calls=int(calls), tokens_in=int(given), tokens_out=int(written), cost=round(cost, 6)
        )
        for (role, model), (calls, given, written, cost) in sorted(sums.items(), reverse=True)
    )


def notes_of(report: QaReport) -> list[str]:
    """What a reader of the numbers must know."""
    window, room = report.settings["window"], report.settings["answer_tokens"]
    notes = []
    if report.without_answer:
        notes.append(f"without a right answer in the file, and left out: {count(report.without_answer, 'question')}")
    for one in report.ways:
        if one.cut_contexts:
            notes.append(
                f"{one.way}: cut to a window of {window:,} tokens (--window): {count(one.cut_contexts, 'context')}"
            )
        if one.cut_answers:
            notes.append(
                f"{one.way}: cut at {room:,} tokens: {count(one.cut_answers, 'answer')}; --answer-tokens gives more"
                " room, --thinking-tokens to a model that thinks first"
            )
        if one.failed:
            notes.append(f"{one.way}: failed, and counted nowhere: {count(one.failed, 'answer')}; --resume tries again")
            notes += [f"{one.way}: {failure}" for failure in one.failures]
        if one.way == MEM0:
            notes.append(
                "mem0: its own calls of the reader's model are not counted; it keeps other texts, so no evidence"
            )
    return notes


# Tables


def text(report: QaReport) -> str:
    """A report for a terminal."""
    head = (
        f"{report.name} ({report.format}): {count(report.questions, 'question')}, "
        f"{count(report.conversations, 'conversation')}, {count(report.messages, 'message')}\n"
        f"reader {report.settings['reader']}\njudge  {report.settings['judge']}"
    )
    tables = [_way_table(report, _SCORES), _way_table(report, _MATERIAL), _category_table(report)]
    parts = [head, *tables, _judge_line(report), _calls_lines(report)]
    parts += ["\n".join(f"note: {note}" for note in report.notes)] if report.notes else []
    return "\n\n".join(part for part in parts if part)


Columns = Mapping[str, Callable[[WayReport], str]]
_SCORES: Columns = {
    "questions": lambda one: f"{one.questions:,}",
    "score": lambda one: _NONE if one.score is None else f"{_PER_CENT * one.score.mean:.1f}",
    "95 %": lambda one: _NONE if one.score is None else one.score.shown(),
    "lamina ahead": lambda one: "" if one.lead is None else f"{_PER_CENT * one.lead.mean:+.1f}",
    "95 % of that": lambda one: "" if one.lead is None else one.lead.shown(),
    "failed": lambda one: f"{one.failed:,}",
}
_MATERIAL: Columns = {
    "evidence": lambda one: _NONE if one.evidence is None else f"{_PER_CENT * one.evidence:.1f}",
    "tokens": lambda one: f"{one.tokens:,.0f}",
    "add ms": lambda one: f"{one.add_ms:.2f}",
    "context ms": lambda one: f"{one.context_ms:.1f}",
    "answer s": lambda one: f"{one.answer_s:.2f}",
}


def _way_table(report: QaReport, columns: Columns) -> str:
    rows = [[one.way, *(show(one) for show in columns.values())] for one in report.ways]
    return align([["", *columns], *rows])


def _category_table(report: QaReport) -> str:
    names = list(dict.fromkeys(name for one in report.ways for name in one.by_category))
    if len(names) <= 1:
        return ""
    rows = [["score by category", "questions", *(one.way for one in report.ways)]]
    for name in sorted(names):
        found = [one.by_category.get(name) for one in report.ways]
        cells = [_NONE if one is None else f"{_PER_CENT * one[1]:.1f}" for one in found]
        rows.append([name, f"{max(one[0] for one in found if one):,}", *cells])
    return align(rows)


def _judge_line(report: QaReport) -> str:
    one = report.judge
    if one is None:
        return "judge: not tried on answers that are right or wrong by definition"
    said = [f"accepts {_PER_CENT * one.accepted:.1f} % of {count(one.wrong, 'wrong answer')}"] if one.wrong else []
    said += [f"rejects {_PER_CENT * one.rejected:.1f} % of {count(one.right, 'right answer')}"] if one.right else []
    return f"judge: {', '.join(said)}"


def _calls_lines(report: QaReport) -> str:
    return "\n".join(
        f"{one.role}: {count(one.calls, 'call')} of {one.model}, {one.tokens_in:,} tokens in, {one.tokens_out:,} out"
        + (f", cost {one.cost:,.4f}" if one.cost else "")
        for one in report.calls
    )
