"""A benchmark from files to measures: what `lamina bench recall` does."""

import json
import logging
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lamina import Memory, __version__
from lamina.bench import plots
from lamina.bench.journal import Journal
from lamina.bench.readers import Conversation, DataSet, read
from lamina.bench.recall_run import Plan, Replay, replay, timing
from lamina.bench.scoring import ALL, Scores, score_all, table
from lamina.errors import InputError, MissingExtra
from lamina.logs import log_to_stderr

Tell = Callable[[int, int], None]  # questions answered, of how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is asked, and by how many processes."""

    limit: int | None = None
    seed: int = 0
    jobs: int = 1
    resume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """What was measured on one data set."""

    name: str
    format: str
    conversations: int
    messages: int
    scores: Scores
    timing: dict[str, float]
    predictions: str

    def text(self) -> str:
        head = (
            f"{self.name} ({self.format}): {self.scores.questions[ALL]:,} questions, "
            f"{self.conversations:,} conversations, {self.messages:,} messages"
        )
        took = ", ".join(f"{name.replace('_ms', '').replace('_', ' ')} {ms:.3g}" for name, ms in self.timing.items())
        return f"{head}\n\n{table(self.scores)}\n\nmilliseconds: {took}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured, where the files are, and what could not be drawn."""

    sets: tuple[SetReport, ...]
    folder: str
    plots: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        return "\n\n\n".join(one.text() for one in self.sets) + f"\n\npredictions and plots are in {self.folder}"


def measure(files: Sequence[str], folder: Path, plan: Plan, bounds: Bounds, tell: Tell) -> Report:
    """Recall on each of the files; raises InputError before anything is run if one cannot be read."""
    _check(plan, bounds)
    sets = [read(name).sample(bounds.limit, bounds.seed) for name in files]
    for one in sets:
        if not one.conversations:
            raise InputError(f"{one.name} has no question with gold messages or sessions")
    names = [one.name for one in sets]
    if len(set(names)) < len(names):
        raise InputError(f"two files have one name, and results are kept by name: {', '.join(sorted(names))}")
    total = sum(one.questions() for one in sets)
    reports: list[SetReport] = []

    def tell_all(answered: int) -> None:
        tell(sum(one.scores.questions[ALL] for one in reports) + answered, total)

    for data in sets:
        replays = _run(data, folder / data.name, plan, bounds, tell_all)
        reports.append(_report(data, replays, folder / data.name))
    return _draw(reports, folder)


def _check(plan: Plan, bounds: Bounds) -> None:
    if not plan.budgets or min(plan.budgets) < 1:
        raise InputError("budgets must be whole numbers above 0, e.g. 500,1000,2000,4000")
    for name, value in (("limit", bounds.limit), ("jobs", bounds.jobs)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, not {value}")
    Memory(":memory:", worker=False, **plan.options()).close()  # says now what is wrong with the options


def _run(data: DataSet, folder: Path, plan: Plan, bounds: Bounds, tell: Callable[[int], None]) -> list[Replay]:
    journal = Journal(folder)
    settings: dict[str, Any] = {
        "lamina": __version__,
        "format": data.format,
        "budgets": list(plan.budgets),
        "profile": plan.profile,
        "embedder": plan.embedder,
        "limit": bounds.limit,
        "seed": bounds.seed,
    }
    replays = journal.begin(settings, resume=bounds.resume)
    finished = {one.conversation_id for one in replays}
    left = [one for one in data.conversations if one.id not in finished]
    answered = sum(len(one.answers) for one in replays)
    tell(answered)
    for done in _replays(left, plan, bounds.jobs, lambda more: tell(answered + more)):
        journal.add(done)
        replays.append(done)
    return replays


def _replays(left: Sequence[Conversation], plan: Plan, jobs: int, tell: Callable[[int], None]) -> Iterator[Replay]:
    """Each conversation added and asked about, in the order in which they finish."""
    answered = 0
    with TemporaryDirectory(prefix="lamina-bench-", ignore_cleanup_errors=True) as name:
        if jobs == 1 or len(left) <= 1:

            def one_more() -> None:
                nonlocal answered
                answered += 1
                tell(answered)

            yield from (replay(one, plan, Path(name), one_more) for one in left)
            return
        with _processes(min(jobs, len(left))) as pool:
            for future in as_completed([pool.submit(replay, one, plan, Path(name)) for one in left]):
                done = future.result()
                answered += len(done.answers)
                tell(answered)
                yield done


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end at once when this one is interrupted."""
    level = logging.getLevelName(logging.getLogger("lamina").getEffectiveLevel())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _as_parent, (level,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def _as_parent(level: str) -> None:
    """Log as the parent does, and leave interrupts to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log_to_stderr(level)


def _report(data: DataSet, replays: Sequence[Replay], folder: Path) -> SetReport:
    found = {answer.question_id: answer for one in replays for answer in one.answers}
    session_of: dict[str, str] = {}
    for one in data.conversations:
        session_of |= one.session_of()
    asked = ((question, found[question.id]) for one in data.conversations for question in one.questions)
    report = SetReport(
        name=data.name,
        format=data.format,
        conversations=len(data.conversations),
        messages=sum(one.messages for one in replays),
        scores=score_all(asked, session_of),
        timing=timing(replays),
        predictions=str(folder / "predictions.jsonl"),
    )
    (folder / "scores.json").write_text(json.dumps(asdict(report), indent=2) + "\n", "utf-8")
    return report


def _draw(reports: Iterable[SetReport], folder: Path) -> Report:
    """The report with its pictures, or with the reason why there are none."""
    sets = tuple(reports)
    try:
        drawn = [plots.recall_plot({one.name: one.scores for one in sets}, folder / "recall.png")]
        drawn += [plots.category_plot(one.scores, folder / one.name / "categories.png") for one in sets]
    except MissingExtra as missing:
        return Report(sets=sets, folder=str(folder), plots=(), warnings=(f"no plots: {missing}",))
    return Report(sets=sets, folder=str(folder), plots=tuple(map(str, drawn)))
