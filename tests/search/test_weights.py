"""The fitted weights, judged by what they are for: on the bundled story, with questions whose answers are known.

A floor under the mean chance that the weights give to the right answer fails when a weight that matters changes its
sign, and when weights change places. Numbers of the files are not repeated here: fit again, and this still holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest

from lamina.models.embeddings.static import StaticEmbedder
from lamina.search.bm25 import comparable
from lamina.search.calibration import read_fitted
from lamina.search.index import Entry, Index
from lamina.search.question import nameless, understand
from lamina.search.signals import NAMES, Query, gather
from lamina.search.vectors import pack
from lamina.story import questions, story

Weights = Mapping[str, tuple[float, float]]

STATIC, MINILM = read_fitted("weights_static.json"), read_fitted("weights_minilm.json")

# Beside the questions of the story: requests, lists, times, first and last, the assistant's words.
MORE: Mapping[str, tuple[str, ...]] = {
    "What did you suggest the octopus should do while the page loads?": ("m0019",),
    "What did you recommend for feeding the sourdough starter?": ("m0045",),
    "What did you answer about Helix and Python debugging?": ("m0105",),
    "Suggest a cake for Tove's birthday party.": ("m0040",),
    "Could you recommend some biscuits for us?": ("m0040",),
    "Please write a short text about the harbour.": ("m0010", "m0012"),
    "Can you plan a meal for the four of us?": ("m0040",),
    "Give me an overview of the app for the shop page.": ("m0010", "m0012"),
    "Which launch dates were there altogether?": ("m0050", "m0315", "m0437"),
    "List all prices for swimmers that Mara named.": ("m0234", "m0248"),
    "Which editors has Mara used so far?": ("m0104", "m0731"),
    "How many paying swimmers were there at the end of October?": ("m0707", "m0708"),
    "What happened on 1 October?": ("m0649", "m0651"),
    "What did Mara do on 3 October?": ("m0697",),
    "How much money was saved on 3 March?": ("m0062",),
    "What was the first reason for SQLite?": ("m0026",),
    "What is the last thing that Mara said about the barometer?": ("m0755",),
    "When is the Dutch exam?": ("m0735",),
    "Which names for the app were on the napkin?": ("m0014",),
    "Where did Mara live in March?": ("m0020",),
    "What did Apple object to?": ("m0623",),
    "What is the cat called?": ("m0022",),
}
STANDING = frozenset(("m0006", "m0010", "m0012", "m0040"))  # messages with wishes that always hold


@cache
def lexicon() -> StaticEmbedder:
    return StaticEmbedder()


def asked() -> Iterator[tuple[str, Sequence[str]]]:
    for question in questions():
        yield question["question"], question["evidence"]
    yield from MORE.items()


def people() -> list[Entry]:
    """The story as a talk between two people."""
    return [_entry(place, one, role="user", speaker=_speaker(one)) for place, one in enumerate(_said())]


def helped() -> list[Entry]:
    """The story with an assistant that goes on and on, as most do; what it adds answers nothing that is asked."""
    wanted = {key for _, evidence in asked() for key in evidence}
    said = _said()
    spare = cycle([one["content"] for one in said if one["role"] == "assistant" and one["id"] not in wanted])
    entries = []
    for place, one in enumerate(said):
        more = " ".join(islice(spare, 4)) if one["role"] == "assistant" else ""
        entries.append(_entry(place, {**one, "content": f"{one['content']} {more}".strip()}, role=one["role"]))
    return entries


def _said() -> list[dict[str, Any]]:
    return [one for one in story() if isinstance(one["content"], str) and one["content"]]


def _speaker(one: Mapping[str, Any]) -> str:
    return "Mara" if one["role"] == "user" else "Pilot"


def _entry(place: int, one: Mapping[str, Any], **values: Any) -> Entry:
    return Entry(
        id=one["id"],
        kind="message",
        text=one["content"],
        at=datetime.fromisoformat(one["created_at"]),
        session=one["session_id"],
        seq=place,
        standing=one["id"] in STANDING,
        **values,
    )


@cache
def filled(kind: str) -> Index:
    entries = {"people": people, "helped": helped}[kind]()
    index = Index(lexicon().dimensions, lexicon().word_vectors)
    index.add(entries)
    made = pack(lexicon().vectors([entry.text for entry in entries]))
    index.set_vectors(dict(zip((entry.id for entry in entries), made, strict=True)))
    assert index.assisted == (kind == "helped")
    return index


@cache
def examples(kind: str, one_space: bool) -> list[tuple[Any, Any]]:
    """Of each question what speaks for each message, and which messages answer it."""
    index, found = filled(kind), []
    last = datetime.fromtimestamp(index.at.all.max(), UTC)
    for text, evidence in asked():
        question = understand(text, at=last, names=tuple(index.speakers))
        words = comparable(question.words, lexicon().word_vectors)
        vector = lexicon().vectors([nameless(text, question.names)])[0]
        wanted = Query(question=question, vector=vector, words=words, one_space=one_space)
        signals = gather(index, wanted, index.alive.all)
        right = np.array([index.ids[row] in evidence for row in signals.rows])
        assert right.sum() == len(evidence), text
        found.append((signals.table, right))
    return found


def surprise(weights: Weights, kind: str, *, one_space: bool) -> float:
    """How unlikely the weights make what is right, on average: what they were fitted to keep low."""
    column = np.array([weights[name][kind == "helped"] for name in NAMES])
    total = 0.0
    for table, right in examples(kind, one_space):
        raised = np.exp((values := table @ column) - values.max())
        total -= float(np.log(raised[right] / raised.sum()).mean())
    return total / len(examples(kind, one_space))


@pytest.mark.parametrize(
    ("weights", "one_space", "kind", "most"),
    [
        pytest.param(STATIC, True, "people", 2.70, id="static-people"),
        pytest.param(STATIC, True, "helped", 3.39, id="static-helped"),
        pytest.param(MINILM, False, "people", 2.72, id="minilm-people"),
        pytest.param(MINILM, False, "helped", 3.43, id="minilm-helped"),
    ],
)
def test_the_weights_find_what_the_story_holds(weights: Weights, *, one_space: bool, kind: str, most: float) -> None:
    """The right messages are about as likely as the fitted weights make them; by chance this would be above 6."""
    assert surprise(weights, kind, one_space=one_space) <= most
