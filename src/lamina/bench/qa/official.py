"""Answers in the files that the evaluators of LongMemEval and BEAM read."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lamina.bench.qa.journal import Answered
from lamina.bench.readers import DataSet, Question
from lamina.counts import count

_BEAM = re.compile(r"(?P<size>[^/]+)/(?P<chat>\d+)/(?P<ability>[a-z_]+)/(?P<number>\d+)")  # the id of a question


def write_official(data: DataSet, answers: Iterable[Answered], folder: Path) -> tuple[dict[str, str], list[str]]:
    """Write what the set's own evaluator reads, a file for each way and seed; the files, and what they are without."""
    texts: dict[tuple[str, int], dict[str, str]] = {}
    for one in answers:
        if one.answer is not None:
            texts.setdefault((one.way, one.seed), {})[one.question_id] = one.answer
    questions = [question for one in data.conversations for question in one.questions]
    if data.format == "LongMemEval":
        return _longmemeval(questions, texts, folder / "longmemeval"), []
    if data.format == "BEAM" and all(_BEAM.fullmatch(question.id) for question in questions):
        return _beam(questions, texts, folder / "beam")
    return {}, []


def _longmemeval(
    questions: list[Question], texts: Mapping[tuple[str, int], Mapping[str, str]], folder: Path
) -> dict[str, str]:
    """For `evaluate_qa.py`: a row for each answer, `question_id` and `hypothesis`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for (way, seed), found in texts.items():
        path = folder / f"{way}-{seed}.jsonl"
        rows = [
            {"question_id": question.id, "hypothesis": found[question.id]}
            for question in questions
            if question.id in found
        ]
        path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
        files[f"LongMemEval, {way}, seed {seed}"] = str(path)
    return files


def _beam(
    questions: list[Question], texts: Mapping[tuple[str, int], Mapping[str, str]], folder: Path
) -> tuple[dict[str, str], list[str]]:
    """For `run_evaluation.py`: a folder for each chat, with the questions of each ability and their `llm_response`.

    The evaluator takes the rubric at the place that a question has in its list, so that a list must have no hole.
    """
    chats: dict[str, dict[str, list[tuple[int, Question]]]] = {}
    for question in questions:
        found = _BEAM.fullmatch(question.id)
        if found is not None:
            abilities = chats.setdefault(f"{found['size']}/{found['chat']}", {})
            abilities.setdefault(found["ability"], []).append((int(found["number"]), question))
    left_out = 0
    for (way, seed), answered in texts.items():
        for chat, abilities in chats.items():
            rows = {
                name: _beam_rows(sorted(listed, key=lambda one: one[0]), answered) for name, listed in abilities.items()
            }
            left_out += sum(len(abilities[name]) - len(kept) for name, kept in rows.items())
            path = folder / chat / f"{way}-{seed}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", "utf-8")
    sizes = sorted({chat.partition("/")[0] for chat in chats})
    files = {f"BEAM, {size}": str(folder / size) for size in sizes}
    if not left_out:
        return files, []
    return files, [
        f"not in BEAM's files: {count(left_out, 'answer')}; its evaluator counts places, so a list ends before a hole"
    ]


def _beam_rows(listed: list[tuple[int, Question]], answered: Mapping[str, str]) -> list[dict[str, Any]]:
    """The questions of one ability, up to the first that is missing."""
    rows: list[dict[str, Any]] = []
    for number, question in listed:
        if number != len(rows) or question.id not in answered:
            break
        gold = question.answer
        rows.append(
            {
                "question": question.text,
                "rubric": list(gold.points) if gold else [],
                "llm_response": answered[question.id],
            }
        )
    return rows
