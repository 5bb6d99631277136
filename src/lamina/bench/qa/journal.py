"""A run on disk, answer by answer, so that one that was stopped can be resumed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from lamina.bench.journal import append, check_same, rows, write
from lamina.bench.qa.prepare import Prepared
from lamina.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer, and what the judge made of it. With an `error` it is not finished: `--resume` tries it again."""

    question_id: str
    way: str
    seed: int
    answer: str | None = None
    is_cut: bool = False  # at the most tokens that an answer may have
    reader_s: float = 0.0
    score: float | None = None  # from 0 to 1
    reason: str = ""
    judge_s: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the judge made of an answer that is right, or wrong, by definition."""

    question_id: str
    is_right: bool
    answer: str
    score: float
    reason: str


class QaJournal:
    """The files of one data set's run; the last row of a question counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contexts: dict[tuple[str, str], Prepared] = {}  # by question and way
        self.answers: dict[tuple[str, str, int], Answered] = {}  # by question, way and seed
        self.checks: dict[tuple[str, bool], Checked] = {}
        self.calls = folder / "calls.jsonl"
        self._settings = folder / "run.json"
        self._files = {name: folder / f"{name}.jsonl" for name in ("contexts", "answers", "judge_check")}

    def begin(self, settings: dict[str, Any], prompts: Mapping[str, str], *, resume: bool) -> None:
        """Read what an earlier run with these settings has finished, if it is to be resumed; else start again."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_known = resume and self._settings.exists()
            if is_known:
                check_same(self._settings, settings)
                self._load()
            write(self._settings, [json.dumps(settings, indent=2)])
            write(self._files["contexts"], map(_line, self.contexts.values()))
            write(self._files["answers"], map(_line, self.answers.values()))
            write(self._files["judge_check"], map(_line, self.checks.values()))
            write(self.calls, map(json.dumps, rows(self.calls)) if is_known and self.calls.exists() else ())
            (self.folder / "prompts").mkdir(exist_ok=True)
            for label, text in prompts.items():
                (self.folder / "prompts" / f"{label}.md").write_text(text, "utf-8")
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error}; --out names another folder") from None

    def _load(self) -> None:
        self.contexts = {(one.question_id, one.way): one for one in _read(self._files["contexts"], Prepared)}
        answers = _read(self._files["answers"], Answered)
        self.answers = {(one.question_id, one.way, one.seed): one for one in answers}
        self.checks = {(one.question_id, one.is_right): one for one in _read(self._files["judge_check"], Checked)}

    def add_contexts(self, prepared: Iterable[Prepared]) -> None:
        new = list(prepared)
        append(self._files["contexts"], map(_line, new))
        self.contexts |= {(one.question_id, one.way): one for one in new}

    def add_answer(self, one: Answered) -> None:
        append(self._files["answers"], [_line(one)])
        self.answers[one.question_id, one.way, one.seed] = one

    def tidy(self) -> None:
        """Leave one row for each answer."""
        write(self._files["answers"], map(_line, self.answers.values()))

    def add_check(self, one: Checked) -> None:
        append(self._files["judge_check"], [_line(one)])
        self.checks[one.question_id, one.is_right] = one

    def call_rows(self) -> list[Mapping[str, Any]]:
        """Every call of a model so far."""
        return list(rows(self.calls))


def _line(value: Any) -> str:
    return json.dumps(asdict(value), ensure_ascii=False)


def _read(path: Path, kind: type[T]) -> list[T]:
    return [kind(**row) for row in rows(path)] if path.exists() else []
