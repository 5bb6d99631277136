"""A run on disk, conversation by conversation, so that one that was stopped can be resumed."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lamina.bench.recall_run import Answer, Replay
from lamina.errors import InputError


class Journal:
    """The files of one data set's run.

    `predictions.jsonl` has a row a question, `timings.jsonl` one a conversation, written behind its predictions:
    a conversation without that row is asked again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.predictions = folder / "predictions.jsonl"
        self._timings = folder / "timings.jsonl"
        self._settings = folder / "run.json"

    def begin(self, settings: dict[str, Any], *, resume: bool) -> list[Replay]:
        """The finished conversations of an earlier run with these settings, if it is to be resumed; else none."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            kept = self._load(settings) if resume and self._settings.exists() else []
            write(self._settings, [json.dumps(settings, indent=2)])
            write(self.predictions, [line for one in kept for line in _prediction_lines(one)])
            write(self._timings, map(_timing_line, kept))
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error}; --out names another folder") from None
        return kept

    def _load(self, settings: dict[str, Any]) -> list[Replay]:
        check_same(self._settings, settings)
        answers: dict[str, list[Answer]] = {}
        for row in rows(self.predictions):
            answers.setdefault(row["conversation"], []).append(_answer(row))
        return [Replay(answers=tuple(answers.get(row["conversation_id"], ())), **row) for row in rows(self._timings)]

    def add(self, replay: Replay) -> None:
        """Keep what one conversation gave."""
        append(self.predictions, _prediction_lines(replay))
        append(self._timings, [_timing_line(replay)])


def _prediction_lines(replay: Replay) -> list[str]:
    return [
        json.dumps(
            {
                "qid": answer.question_id,
                "ranked": answer.ranked,
                "contexts": answer.contexts,
                "conversation": replay.conversation_id,
                "search_ms": answer.search_ms,
                "context_ms": answer.context_ms,
            }
        )
        for answer in replay.answers
    ]


def _timing_line(replay: Replay) -> str:
    return json.dumps({name: value for name, value in asdict(replay).items() if name != "answers"})


def _answer(row: dict[str, Any]) -> Answer:
    return Answer(
        question_id=row["qid"],
        ranked=tuple(row["ranked"]),
        contexts={int(budget): tuple(found) for budget, found in row["contexts"].items()},
        search_ms=row["search_ms"],
        context_ms={int(budget): took for budget, took in row["context_ms"].items()},
    )


def check_same(path: Path, settings: dict[str, Any]) -> None:
    """Raise InputError if the file has other settings than these."""
    before = json.loads(path.read_text("utf-8"))
    if differing := sorted(name for name in settings if before.get(name) != settings[name]):
        was = ", ".join(f"{name} {before.get(name)!r}" for name in differing)
        raise InputError(f"{path.parent} is of a run with {was}; give the same, or another --out, to resume")


def rows(path: Path) -> Iterable[dict[str, Any]]:
    """The whole rows of a file; an incomplete last one is left out."""
    lines = path.read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def write(path: Path, lines: Iterable[str]) -> None:
    """Replace a file atomically."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    beside.replace(path)


def append(path: Path, lines: Iterable[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
