"""Among many facts, the one that is asked for is in a small context."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamina import Memory

LABELS = Path(__file__).parents[2] / "benchmarks" / "labels" / "changes" / "thirty.jsonl"
THIRTY = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
BUDGET = 300


@pytest.mark.parametrize("told", [True, False], ids=["told", "said"])
def test_the_fact_that_is_asked_for_is_in_a_small_context(told: bool) -> None:
    """Of thirty facts, told by hand or said in messages: few fit, and they are not always the most important."""
    clock = [datetime(2025, 1, 1, 9, tzinfo=UTC)]
    with Memory(":memory:", worker=False, now=lambda: clock[0]) as memory:
        for number, row in enumerate(THIRTY):
            clock[0] += timedelta(days=1)
            if told:
                memory.remember(row["said"], user_id="u")
            else:
                memory.add(row["said"], user_id="u", session_id=f"s{number}")
        memory.settle()
        texts = [memory.context(row["asked"], user_id="u", session_id="new", budget=BUDGET).text for row in THIRTY]
    missed = [row["asked"] for row, text in zip(THIRTY, texts, strict=True) if row["value"] not in text]
    assert len(missed) <= 1, missed


def test_a_told_fact_that_ended_is_in_a_context_about_the_past() -> None:
    """Marked with its end, and not in one about now."""
    clock = [datetime(2025, 1, 1, 9, tzinfo=UTC)]
    with Memory(":memory:", worker=False, now=lambda: clock[0]) as memory:
        memory.remember("User drives a Volvo", user_id="u")
        clock[0] += timedelta(days=40)
        memory.remember("User traded in the Volvo for a Kia", user_id="u")
        clock[0] += timedelta(days=1)
        before = memory.context("What car did I drive before?", user_id="u", session_id="new", budget=400).text
        now = memory.context("What car do I drive?", user_id="u", session_id="new", budget=400).text
    assert "User drives a Volvo (until 2025-02-10)" in before
    assert "drives a Volvo" not in now
    assert "Kia" in now
