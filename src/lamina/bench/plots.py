"""Pictures of recall against budget; matplotlib comes with the extra `bench`."""

import importlib
import importlib.util
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamina.bench.scoring import ALL, Measures, Scores
from lamina.errors import MissingExtra

_COLUMNS = 3


def check_installed() -> None:
    """Raises MissingExtra where pictures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "bench")


def recall_plot(sets: Mapping[str, Scores], path: Path) -> Path:
    """Share of questions with all evidence in the context, against its budget: one line for each data set."""
    figure = _figure(5.6, 3.8)
    axis = figure.subplots()
    for name, scores in sets.items():
        budgets, shares = curve(scores.measures[ALL])
        what = "questions" if "R@1" in scores.measures[ALL] else "questions, by session"
        axis.plot(budgets, shares, marker="o", label=f"{name} ({scores.questions[ALL]:,} {what})")
    _label_axes(axis, "questions with all evidence in the context", *sets.values())
    axis.set_xlabel("budget, tokens")
    axis.set_ylabel("%")
    axis.legend()
    return _save(figure, path)


def category_plot(scores: Scores, path: Path) -> Path:
    """The same for each category of a set, in small pictures; the grey line is the whole set."""
    names = [name for name in scores.measures if name != ALL] or [ALL]
    rows = math.ceil(len(names) / _COLUMNS)
    figure = _figure(3.1 * _COLUMNS, 2.5 * rows)
    axes = list(figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat)
    for axis, name in zip(axes, names, strict=False):
        axis.plot(*curve(scores.measures[ALL]), color="#9aa5b1")
        axis.plot(*curve(scores.measures[name]), marker="o", color="#3f6fb5")
        _label_axes(axis, f"{name} ({scores.questions[name]:,})", scores)
    for axis in axes[len(names) :]:
        axis.axis("off")
    return _save(figure, path)


def curve(measures: Measures) -> tuple[list[int], list[float]]:
    """Budgets, and the share of questions with everything in the context of each, in percent."""
    points = sorted(
        (int(name[1:-1]), 100 * value) for name, value in measures.items() if name[0] == "C" and name[-1] in "as"
    )
    return [budget for budget, _ in points], [share for _, share in points]


def _figure(width: float, height: float) -> Any:
    check_installed()
    return importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")


def _label_axes(axis: Any, title: str, *drawn: Scores) -> None:
    budgets = sorted({budget for scores in drawn for budget in curve(scores.measures[ALL])[0]})
    axis.set_title(title, fontsize="medium")
    axis.set_xscale("log", base=2)
    axis.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axis.set_ylim(0, 102)
    axis.grid(alpha=0.3)


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    return path
