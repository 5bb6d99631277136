"""A reader and a judge for the local LLM server, and a small set of questions with answers."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from lamina.testing.llm_server import Answer, Asked

_DATA = re.compile(r"<data (\w+)>\n(.*?)\n</data \1>", re.DOTALL)
UNKNOWN = "That was not mentioned."

TOLD = {  # what the reader answers, if it was given the words that say it
    "What is the canoe of Ines called?": ("named it Heron", "Heron"),
    "What did Ines buy at the harbour auction?": ("red canoe", "a red canoe"),
    "When did Otto pass the radio operator exam?": ("exam on Monday", "on 15 April 2024"),
    "Where do Ines and Otto paddle on Saturday?": ("lighthouse", "to the lighthouse"),
}

QUESTIONS = [
    {
        "qid": f"p1#{place}",
        "cat": "names" if place < 2 else "plans",
        "q": question,
        "answer": answer,
        "gold": [gold],
        "gold_sess": [f"S{session}"],
    }
    for place, ((question, (_, answer)), gold, session) in enumerate(
        zip(TOLD.items(), ("3", "1", "4", "5"), (1, 1, 2, 2), strict=True)
    )
]

CONVERSATION = {
    "conv_id": "p1",
    "turns": [
        {
            "id": "1",
            "sess": "S1",
            "date": "2024-03-03",
            "speaker": "Ines",
            "text": "I bought the red canoe at the harbour auction.",
        },
        {"id": "2", "sess": "S1", "date": "2024-03-03", "speaker": "Otto", "text": "Great, does it leak?"},
        {"id": "3", "sess": "S1", "date": "2024-03-03", "speaker": "Ines", "text": "Not a drop. I named it Heron."},
        {
            "id": "4",
            "sess": "S2",
            "date": "2024-04-17",
            "speaker": "Otto",
            "text": "I passed the radio operator exam on Monday!",
        },
        {
            "id": "5",
            "sess": "S2",
            "date": "2024-04-17",
            "speaker": "Ines",
            "text": "To the lighthouse on Saturday, then!",
        },
    ],
    "questions": QUESTIONS,
}


def write_set(path: Path, *rows: Mapping[str, object]) -> str:
    """A file of conversations; by default the small one."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows or (CONVERSATION,)), "utf-8")
    return str(path)


def is_judging(asked: Asked) -> bool:
    return asked.text.startswith("Grade an answer")


def is_reading(asked: Asked) -> bool:
    return asked.text.startswith("Today is")


def question_of(asked: Asked) -> str:
    """The question that a reader or a judge was asked about."""
    if is_judging(asked):
        return str(_DATA.findall(asked.text)[0][1])
    return asked.text.rpartition("The question:\n")[2].strip()


def reading(asked: Asked) -> str:
    """The answer, if the words that say it are in the prompt."""
    words, answer = TOLD[question_of(asked)]
    return answer if words in asked.text else UNKNOWN


def judging(asked: Asked) -> str:
    """A just verdict: what is right must stand in the answer, word for word."""
    parts = [text for _, text in _DATA.findall(asked.text)]
    answer = parts[-1].casefold()
    if "a list of points" in asked.text:
        points = [point.partition(". ")[2] for point in parts[1].splitlines()]
        met = [{"number": number, "met": point.casefold() in answer} for number, point in enumerate(points, 1)]
        return json.dumps({"points": met})
    if "cannot be answered" in asked.text:
        return json.dumps({"reason": "", "correct": "not mentioned" in answer})
    return json.dumps({"reason": "the words are there or not", "correct": parts[1].casefold() in answer})


def brain(
    read: Callable[[Asked], Answer] = reading, judge: Callable[[Asked], Answer] = judging
) -> Callable[[Asked], Answer]:
    """What a server answers to a reader, to a judge, and to the question whether it is there."""

    def answer(asked: Asked) -> Answer:
        if is_judging(asked):
            return judge(asked)
        return read(asked) if is_reading(asked) else "ready"

    return answer
