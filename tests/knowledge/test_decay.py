"""Decay: halved with every half life, lifted by use."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.knowledge.decay import decay, freshness
from lamina.values.fact import Episode, Fact
from lamina.values.message import Span

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.mark.parametrize(
    ("accesses", "days", "half_life", "expected"),
    [
        pytest.param(0, 0, 30, 1.0, id="fresh"),
        pytest.param(0, 30, 30, 0.5, id="one-half-life"),
        pytest.param(0, 60, 30, 0.25, id="two-half-lives"),
        pytest.param(0, 7, 7, 0.5, id="another-half-life"),
        pytest.param(2, 60, 30, 0.45, id="lifted-by-use"),
        pytest.param(5, 60, 30, 0.75, id="lifted-by-half"),
        pytest.param(500, 60, 30, 0.75, id="lifted-by-half-at-most"),
        pytest.param(500, 1, 30, 1.0, id="never-above-one"),
        pytest.param(0, 10_000, 30, 0.0, id="forgotten"),
        pytest.param(0, -5, 30, 1.0, id="a-clock-that-went-back"),
        pytest.param(-3, 30, 30, 0.5, id="a-count-below-zero"),
        pytest.param(0, 0, 0, 1.0, id="no-half-life-now"),
        pytest.param(3, 1, 0, 0.3, id="no-half-life-later"),
        pytest.param(0, 1, -1, 0.0, id="half-life-below-zero"),
    ],
)
def test_decay(accesses: int, days: float, half_life: float, expected: float) -> None:
    """The document's formula, for any count, time and half life."""
    assert decay(accesses, ago(days), NOW, half_life) == pytest.approx(expected, abs=1e-6)


def test_the_half_life_is_thirty_days() -> None:
    """Without a half life given, a memory halves in a month."""
    assert decay(0, ago(30), NOW) == 0.5


def a_fact(came: datetime, accessed: datetime | None, accesses: int = 0) -> Fact:
    return Fact(
        id="f1",
        user_id="ann",
        type="fact",
        category="biography",
        key=None,
        slot="x",
        value="x",
        origin="said",
        confidence=0.9,
        importance=0.5,
        learnt_at=ago(900),
        valid_from=ago(900),
        created_at=came,
        accessed_at=accessed,
        accesses=accesses,
    )


def an_episode(came: datetime, accessed: datetime | None, accesses: int = 0) -> Episode:
    return Episode(
        id="e1",
        user_id="ann",
        kind="pivot",
        title="t",
        summary="s",
        context="",
        participants=(),
        outcome=None,
        valence=0.0,
        significance=0.5,
        session_id="s1",
        turns=Span(first=1, last=1),
        message_ids=(),
        happened_at=ago(900),
        created_at=came,
        accessed_at=accessed,
        accesses=accesses,
    )


@pytest.mark.parametrize("item", [pytest.param(a_fact, id="fact"), pytest.param(an_episode, id="episode")])
def test_decayed_counts_from_the_last_use(item) -> None:
    """Never used, a memory fades since it came in, whenever it was said or happened; later since its last use."""
    assert freshness(item(ago(60), None), NOW, 30) == pytest.approx(0.25)
    assert freshness(item(ago(60), ago(30), 1), NOW, 30) == pytest.approx(0.6)


@given(
    st.integers(0, 50),
    st.floats(0, 40_000),
    st.floats(0, 40_000),
    st.floats(0.001, 1e6) | st.sampled_from([0.0, 5e-324]),
)
def test_decay_only_falls(accesses: int, one: float, other: float, half_life: float) -> None:
    """Decay stays between 0 and 1, never rises with time and never falls with use."""
    sooner, later = sorted((one, other))
    values = [decay(accesses, ago(days), NOW, half_life) for days in (sooner, later)]
    assert 0 <= values[1] <= values[0] <= 1
    assert decay(accesses + 1, ago(sooner), NOW, half_life) >= values[0]
