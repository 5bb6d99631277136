"""Profiles: values by their names, with clear errors; plain data and back."""

import json
from typing import Any

import pytest

from lamina import PROFILES, InputError
from lamina.profiles import FanOut, Merge, Stepped, Window, profile_from, profile_values


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_profiles_are_plain_data(name: str) -> None:
    """A profile can be stored as JSON and read back."""
    assert profile_from(json.loads(json.dumps(profile_values(PROFILES[name])))) == PROFILES[name]


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_what_a_profile_makes_is_shown(name: str) -> None:
    """No profile writes digests or facts that no step of it shows."""
    profile = PROFILES[name]
    shown = {step.section for step in profile.steps}
    assert not profile.facts or shown & {"facts", "recalled"}
    assert bool(profile.digest_sessions) == ("digest" in shown)


def test_a_digest_with_its_heading_fits_its_share() -> None:
    """default: a digest at its cap goes into its share of the default budget beside a question of 200 tokens."""
    profile = PROFILES["default"]
    share = next(step.share for step in profile.steps if step.section == "digest")
    assert share is not None
    assert profile.digest_cap + 18 <= share * (profile.budget - 200)


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        pytest.param("project", {"chunk_size": 2.5}, "chunk_size takes a whole number", id="fraction"),
        pytest.param("project", {"chunk_size": -1}, "chunk_size takes a whole number", id="negative"),
        pytest.param("project", {"chunk_size": True}, "chunk_size takes a whole number", id="true"),
        pytest.param("project", {"chunk_size": "8"}, "chunk_size takes a whole number", id="text"),
        pytest.param("chunked", {"chunk_size": 8}, "has no 'chunk_size'", id="not-of-this-schedule"),
        pytest.param("project", {"chunks": 8}, "has no value 'chunks'", id="unknown"),
        pytest.param("default", {"close_gaps": 1}, "close_gaps takes true or false", id="no-boolean"),
        pytest.param("default", {"summary_order": "best"}, "takes newest or coverage or relevance", id="no-such-order"),
        pytest.param("default", {"archive_days": float("nan")}, "archive_days takes a number", id="nan"),
        pytest.param("default", {"archive_days": float("inf")}, "archive_days takes a number", id="infinite"),
        pytest.param("chunked", {"k_raw_turns": 0}, "must be at least 1, not 0", id="no-window"),
        pytest.param("project", {"max_chunks": 0}, "most must be at least 1", id="no-chunks"),
    ],
)
def test_wrong_values_say_what_would_work(name: str, values: dict[str, Any], says: str) -> None:
    """A value that cannot work is refused when it is set, with what would."""
    with pytest.raises(InputError, match=says):
        PROFILES[name].but(**values)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda: Stepped(step=0), id="a-step-of-nothing"),
        pytest.param(lambda: FanOut(width=1), id="a-fan-of-one-never-ends"),
        pytest.param(lambda: Merge(most=0), id="nothing-to-merge"),
        pytest.param(lambda: Window(unit="turns", size=0), id="an-empty-window"),
    ],
)
def test_rules_that_could_not_work_are_refused(rule: Any) -> None:
    """Rules with which folding would do nothing, or never end, cannot be made."""
    with pytest.raises(InputError, match="must be at least"):
        rule()


def test_values_of_a_knob() -> None:
    """A knob of a document sets all that it stands for."""
    profile = PROFILES["chunked"].but(
        k_raw_turns=2, summary_token_cap=200, archive_days=0.5, prompt_version_summary_global="7"
    )
    assert profile.window.size == profile.schedule.keep == 2  # type: ignore[union-attr]
    assert profile.cap == profile.total_cap == 200
    assert profile.archive_days == 0.5
    assert profile.hosted is not None
    assert profile.hosted.version == "7"
