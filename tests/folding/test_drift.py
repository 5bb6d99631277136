"""Distance of texts, what they add, what changed; times as people give them; facts against summaries."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InputError
from lamina.folding.drift import adds_nothing, diff, drift
from lamina.knowledge.conflicts import resolve
from lamina.knowledge.consistency import divergences
from lamina.knowledge.user_profile import profile
from lamina.language.times import moment
from lamina.testing.samples import a_summary, at
from lamina.values.message import Span
from tests.knowledge.test_conflicts import NEWEST, a_fact, day


@given(one=st.text(max_size=60), other=st.text(max_size=60))
def test_drift_is_a_distance(one: str, other: str) -> None:
    """Between 0 and 1, the same both ways, 0 for the same text."""
    assert 0.0 <= drift(one, other) == drift(other, one) <= 1.0
    assert drift(one, one) == 0.0


def test_drift_grows_with_the_difference() -> None:
    """Another order is near, another subject far."""
    text = "The harbour lighthouse opens in May. Tickets cost 4 euros."
    near, far = "Tickets cost 4 euros. The harbour lighthouse opens in May.", "Cats sleep all day."
    assert drift(text, near) < 0.05
    assert drift(text, far) > 0.9


@pytest.mark.parametrize(
    ("after", "nothing"),
    [
        pytest.param("Ann ships on Friday.", True, id="same"),
        pytest.param("On Friday, Ann ships!", True, id="reworded"),
        pytest.param("Ann ships on Friday with Bob.", False, id="new-name"),
        pytest.param("Ann ships 3 on Friday.", False, id="new-number"),
    ],
)
def test_what_adds_nothing(after: str, nothing: bool) -> None:
    """No new word that carries meaning, and no new number."""
    assert adds_nothing("Ann ships on Friday.", after) is nothing


def test_a_diff_names_sentences() -> None:
    """What is gone and what is new, line by line."""
    assert diff(["One. Two."], ["One. Three."]) == "- Two.\n+ Three."
    assert diff(["One."], ["One."]) == ""


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param("2025-03-14", datetime(2025, 3, 14, tzinfo=UTC), id="day"),
        pytest.param(date(2025, 3, 14), datetime(2025, 3, 14, tzinfo=UTC), id="date"),
        pytest.param("2025-03-14T09:30:00+00:00", datetime(2025, 3, 14, 9, 30, tzinfo=UTC), id="text"),
        pytest.param(datetime(2025, 3, 14, tzinfo=UTC), datetime(2025, 3, 14, tzinfo=UTC), id="datetime"),
    ],
)
def test_times_as_people_give_them(given: Any, want: datetime) -> None:
    """Days, dates and times with a zone."""
    assert moment(given, "as_of") == want


@pytest.mark.parametrize("given", ["soon", "2025-03-14T09:30:00", datetime(2025, 3, 14), 5])
def test_unclear_times_are_refused(given: Any) -> None:
    """The error says what would do."""
    with pytest.raises(InputError, match="as_of"):
        moment(given, "as_of")


def test_a_summary_that_goes_on_past_a_change_is_stale() -> None:
    """It has the old value and not the new one; one that tells both, or ended before, agrees."""
    facts = resolve([a_fact(1, "Berlin", session_id="s1"), a_fact(2, "Porto", session_id="s1")], NEWEST)
    told = {"stale": "Ann lives in Berlin.", "both": "Ann lived in Berlin and moved to Porto."}
    covers = Span(first=1, last=2)
    for name, text in told.items():
        summary = replace(a_summary(name, "s1", covers, text), updated_at=day(3))
        kinds = [found.kind for found in divergences(facts, [summary])]
        assert kinds == (["stale", "missing"] if name == "stale" else [])
    early = replace(a_summary("early", "s1", Span(first=1, last=1), told["stale"]), updated_at=day(1))
    assert list(divergences(facts, [early])) == []


def test_a_profile_reads_by_category() -> None:
    """Who they are first; values with since when, and nothing else."""
    facts = [a_fact(1, "Berlin"), a_fact(2, "likes tea", key="tea", slot="tea", category="preference")]
    page = profile("ann", facts[::-1], at(1), at(1))
    assert page.markdown.splitlines()[4:] == [
        "## Who they are",
        "- location: Berlin (since 2025-03-02)",
        "",
        "## Preferences",
        "- likes tea (since 2025-03-03)",
    ]
    assert [entry["value"] for entry in page.to_dict()["categories"]["identity"]] == ["Berlin"]
    assert "Nothing is known yet." in profile("ann", [], at(1), at(1)).markdown
