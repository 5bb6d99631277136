"""Support: what a model made of a message is believed only where the words say it, of this person, and mean it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lamina.knowledge.support import objection
from lamina.language.numbers import numbers_in, times_in
from lamina.models.offline.fact_extraction.fact_extractor import facts_in
from lamina.protocols.models import FactDraft
from lamina.values.message import Message
from tests.messages import message

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "support" / "drafts.jsonl").read_text("utf-8").splitlines()
]


def said(text: str) -> Message:
    return message(1, text=text)


def draft(text: str, key: str | None, value: str, quote: str | None = None, **values: Any) -> FactDraft:
    start = text.index(quote or text)
    plain: dict[str, Any] = {"category": "identity", "confidence": 0.9, "importance": 0.8, **values}
    return FactDraft(
        message_id=said(text).id, key=key, value=value, quote=quote or text, start=start,
        end=start + len(quote or text), **plain,
    )  # fmt: skip


def refusal(row: dict[str, Any], *, agreed: bool = True) -> str | None:
    """What is said against a row of the table, with what the offline reader found in its message."""
    made = draft(
        row["text"], row["key"], row["value"], row["quote"], category=row["category"], holds=row.get("holds", True),
        about=row.get("about"), question=row.get("question"),
    )  # fmt: skip
    replaces = any(key == row["key"] for key, _ in row.get("current", ()))
    offline = facts_in(said(row["text"])) if agreed else []
    return objection(made, said(row["text"]), offline, replaces=replaces)


def test_wrong_drafts_are_refused_and_right_ones_kept() -> None:
    """Of 130 wrong drafts of many classes and 140 right ones, at least 95 in 100 are decided as they should be."""
    counts = Counter((row["keep"], (refusal(row) is None) == row["keep"]) for row in ROWS)
    for keep in (True, False):
        assert counts[keep, True] + counts[keep, False] >= 130
        assert counts[keep, True] / (counts[keep, True] + counts[keep, False]) >= 0.95, counts


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "name" in row["class"]], ids=lambda row: f"{row['class']}: {row['text'][:30]}"
)
def test_a_name_that_nobody_gave_is_never_believed(row: dict[str, Any]) -> None:
    """Whatever the offline reader found."""
    assert refusal(row) is not None
    assert refusal(row, agreed=False) is not None


@pytest.mark.parametrize(
    ("text", "key", "value", "reason"),
    [
        ("the pump broke again", "name", "John", "the quote does not have the words of the value"),
        ("I met John yesterday", "name", "John", "the words do not say that it is a name"),
        ("I bought a Volvo last week", "employer", "Volvo", "the words do not say that it is the employer"),
        ("My sister lives in Porto", "location", "Porto", "it is said of someone else"),
        ("I don't live in Porto", "location", "Porto", "the words say the opposite"),
        ("I wish I lived in Porto", "location", "Porto", "it is not said to be so, only thought of"),
        ("I used to live in Porto", "location", "Porto", "it is said of the past"),
        ("Should I live in Porto?", "location", "Porto", "it is asked, not said"),
    ],
)
def test_a_refusal_says_why(text: str, key: str, value: str, reason: str) -> None:
    """The reason has no words of the message, so that it may be logged."""
    assert objection(draft(text, key, value), said(text)) == reason


def test_what_the_offline_reader_found_as_well_needs_no_proof() -> None:
    """The same value of the same key in the same words; under another key it is no proof of a name."""
    text = "I'm on the Lindholm crew"
    made = draft(text, "employer", "Lindholm")
    assert objection(made, said(text)) is not None
    assert objection(made, said(text), [made]) is None
    name = draft(text, "name", "Lindholm")
    assert objection(name, said(text), [made]) is not None


def test_another_value_than_the_offline_readers_is_refused() -> None:
    """Of a key that has one value, where both stand in the same words."""
    text = "I moved from Paris to Lyon"
    lyon = draft(text, "location", "Lyon")
    assert objection(draft(text, "location", "Paris"), said(text), [lyon]) is not None
    assert objection(draft(text, "location", "Lyon"), said(text), [lyon]) is None


def test_a_value_that_replaces_another_needs_its_own_words_and_a_speaker() -> None:
    """What would do for a first value does not take the place of one that stands."""
    for text, value in (("I teach chemistry", "chemistry teacher"), ("Lisbon, since May", "Lisbon")):
        key = "job" if "teach" in text else "location"
        made = draft(text, key, value, question="Where is home?" if key == "location" else None)
        assert objection(made, said(text)) is None
    assert objection(draft("I teach chemistry", "job", "chemistry teacher"), said("I teach chemistry"), replaces=True)
    text = "home is Lisbon"
    assert objection(draft(text, "location", "Lisbon"), said(text)) is None
    assert objection(draft(text, "location", "Lisbon"), said(text), replaces=True) is not None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("54k", {54_000}), ("54,000", {54_000}), ("fifty-four thousand", {54_000}), ("nine hundred fifty", {950}),
        ("two thousand five hundred", {2_500}), ("3 kids and twelve cats", {3, 12}), ("one hundred and five", {105}),
        ("12.5 kg", {12.5}), ("3,5 km", {3.5}), ("1.234.567", {1_234_567}), ("zwölf Leute", {12}), ("nothing", set()),
        ("the 3rd", {3}), ("one two three", {1, 2, 3}),
    ],
)  # fmt: skip
def test_numbers_are_the_same_in_figures_and_in_words(text: str, numbers: set[float]) -> None:
    assert numbers_in(text) == numbers


def test_hours_are_of_a_clock_of_24() -> None:
    assert 21 in times_in("after 9pm") & times_in("after 21:00")
    assert times_in("I have 3 kids") == set()
