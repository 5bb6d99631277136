"""Tests of what plain chat says: whose it is, where somebody works, what is no memory, how it is written.

`plain_words.jsonl` was labelled before any of it was read. `wants` and `never` are conditions on active memories; a
pair with `before` is `same` or not.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.facts import message
from benchmarks.notes import ACTIVE
from lamina.knowledge.fact_words import normalise_value, slot_of
from lamina.models.offline.offline_extractor import drafts_in
from lamina.protocols.models import FactDraft

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/facts/plain_words.jsonl").read_text("utf-8").splitlines()
]


def fits(draft: FactDraft, wanted: Mapping[str, str]) -> bool:
    """Whether a memory is as wanted; `says` is a part of its words, every other name one of its fields."""
    said = f"{draft.quote}\n{draft.value}".casefold()
    return all(
        text.casefold() in said if name == "says" else str(getattr(draft, name)).casefold() == text.casefold()
        for name, text in wanted.items()
    )


def is_right(row: Mapping[str, Any]) -> bool:
    found = [one for one in drafts_in(message(row["text"])) if one.confidence >= ACTIVE]
    if "same" in row:
        before = drafts_in(message(row["before"]))
        return bool(found) and (sayings(before) == sayings(found)) is row["same"]
    wanted = all(any(fits(one, each) for one in found) for each in row["wants"])
    return wanted and not any(fits(one, each) for one in found for each in row.get("never", ()))


def sayings(drafts: Sequence[FactDraft]) -> set[tuple[str, str, str]]:
    """What makes facts the same."""
    return {
        (one.category, slot_of(one.key, one.value, one.about, one.scope), normalise_value(one.value)) for one in drafts
    }


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        pytest.param("employer", 0.9, id="work-told-with-be"),
        pytest.param("whose", 0.9, id="reported-speech"),
        pytest.param("safety", 0.85, id="allergies-and-prohibitions-of-others"),
        pytest.param("fragment", 0.75, id="fragments-and-jokes"),
        pytest.param("marks", 0.9, id="apostrophes-quotes-and-dashes"),
    ],
)
@pytest.mark.parametrize("half", ["seen", "unseen"])
def test_plain_words(kind, half, least):
    """Of each kind, at least so many sentences give what they say and nothing else."""
    own = [row for row in ROWS if row["kind"] == kind and row["half"] == half]
    assert sum(map(is_right, own)) >= least * len(own), [row["text"] for row in own if not is_right(row)]
