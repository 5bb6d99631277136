"""The weighted sum of document 001: its weights, and what each of its five parts measures."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InputError
from lamina.profiles import PROFILES
from lamina.search.filters import WEIGHT_NAMES, check_weights
from lamina.search.index import Entry
from lamina.search.ranking import Scores, score_by_weights
from tests.search.index_samples import START, an_entry, entries, filled, questions, signals
from tests.sizes import examples

NOW = (START + timedelta(days=30)).timestamp()


@pytest.mark.parametrize(
    ("given_weights", "normalised"),
    [
        pytest.param({"semantic": 1}, (1, 0, 0, 0, 0), id="one"),
        pytest.param({"semantic": 3, "keyword": 1}, (0.75, 0.25, 0, 0, 0), id="two"),
        pytest.param(
            {"semantic": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1, "access": 0.0},
            (0.4, 0.3, 0.2, 0.1, 0.0),
            id="the-document's",
        ),
        pytest.param(dict.fromkeys(WEIGHT_NAMES, 7), (0.2, 0.2, 0.2, 0.2, 0.2), id="all-alike"),
        pytest.param({"access": 1e-9, "keyword": 0}, (0, 0, 0, 0, 1), id="tiny"),
    ],
)
def test_weights_sum_to_one(given_weights: dict[str, float], normalised: tuple[float, ...]) -> None:
    """Whatever they sum to; those not named count nothing."""
    found = check_weights(given_weights)
    assert tuple(found) == WEIGHT_NAMES
    assert tuple(found.values()) == pytest.approx(normalised)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param({}, "weights must name some of", id="none"),
        pytest.param([0.4, 0.3], "weights must name some of", id="a-list"),
        pytest.param("semantic", "weights must name some of", id="a-word"),
        pytest.param({"meaning": 1}, "no weight 'meaning'; there are", id="another-name"),
        pytest.param({1: 1}, "no weight '1'; there are", id="a-number-for-a-name"),
        pytest.param({"semantic": -0.1}, "'semantic' must be a number of at least 0, not -0.1", id="negative"),
        pytest.param({"semantic": float("nan")}, "'semantic' must be a number", id="nan"),
        pytest.param({"semantic": float("inf")}, "'semantic' must be a number", id="infinite"),
        pytest.param({"semantic": True}, "'semantic' must be a number", id="a-flag"),
        pytest.param({"semantic": "0.4"}, "'semantic' must be a number", id="a-text"),
        pytest.param({"semantic": None}, "'semantic' must be a number", id="nothing"),
        pytest.param({"semantic": 0, "keyword": 0.0}, "at least one weight must be above 0", id="all-zero"),
    ],
)
def test_wrong_weights_are_refused(wrong: Any, said: str) -> None:
    """With what is wrong and what would work."""
    with pytest.raises(InputError, match=said):
        check_weights(wrong)


@given(st.dictionaries(st.sampled_from(WEIGHT_NAMES), st.floats(0, 1e300), min_size=1))
def test_any_good_weights_become_shares(weights: dict[str, float]) -> None:
    """Between 0 and 1, with 1 as their sum, in the same proportions; huge and tiny ones too."""
    if not sum(weights.values()):
        return
    found = check_weights(weights)
    assert sum(found.values()) == pytest.approx(1)
    assert all(0 <= value <= 1 for value in found.values())


def mix(
    everything: list[Entry],
    query: str,
    weights: dict[str, float],
    uses: list[float] | None = None,
    half_life_days: float = 30,
) -> Scores:
    index = filled(everything)
    used = np.asarray(uses if uses is not None else [0] * len(everything), dtype=np.float32)
    found = signals(index, query)
    return score_by_weights(found, found.cosines, index, check_weights(weights), NOW, half_life_days, used)


ONE = [
    an_entry("a", "the boat in the bay", minutes=0, importance=0.9),
    an_entry("b", "gravel", minutes=60 * 24 * 30, importance=0.1),
]


@pytest.mark.parametrize(
    ("name", "query", "uses", "values"),
    [
        pytest.param("keyword", "boat", [0, 0], [1, 0], id="keyword"),
        pytest.param("recency", "boat", [0, 0], [0.5, 1], id="recency-one-half-life"),
        pytest.param("importance", "boat", [0, 0], [0.9, 0.1], id="importance"),
        pytest.param("access", "boat", [3, 50], [0.3, 1], id="access-up-to-all-of-it"),
    ],
)
def test_what_each_part_measures(name: str, query: str, uses: list[float], values: list[float]) -> None:
    """Alone with all of the weight, a part is the score."""
    scored = mix(ONE, query, {name: 1}, uses)
    assert scored.values.tolist() == pytest.approx(values, abs=1e-5)
    place = WEIGHT_NAMES.index(name)
    assert scored.parts[:, place].tolist() == pytest.approx(values, abs=1e-5)
    assert not np.delete(scored.parts, place, axis=1).any()


def test_meaning_is_the_cosine() -> None:
    """The likeness of the vectors, nothing else."""
    scored = mix(ONE, "the boat in the bay", {"semantic": 1})
    assert scored.values[0] == pytest.approx(1, abs=0.01)
    assert scored.values.tolist() == pytest.approx(signals(filled(ONE), "the boat in the bay").cosines.tolist())


_some = st.dictionaries(st.sampled_from(WEIGHT_NAMES), st.integers(1, 9), min_size=1)


@given(everything=entries(), query=questions, weights=_some, half_life_days=st.sampled_from([0, 1e-9, 30, 1e9]))
@examples(60)
def test_a_mixed_score_lies_between_0_and_1(
    everything: list[Entry], query: str, weights: dict[str, float], half_life_days: float
) -> None:
    """And is the sum of its five parts; what has yet to be said is not newer than new."""
    scored = mix(everything, query, weights, [float(number) for number in range(len(everything))], half_life_days)
    assert np.isfinite(scored.values).all()
    assert scored.parts.min() >= 0
    assert scored.values.max() <= 1 + 1e-5
    assert scored.values == pytest.approx(scored.parts.sum(axis=1), abs=1e-5)


def test_the_profile_of_the_document_has_its_weights() -> None:
    """Set apart from each other and normalised; a profile without weights ranks by the calibrated sum."""
    project = PROFILES["project"]
    document = check_weights({"semantic": 4, "keyword": 3, "recency": 2, "importance": 1})
    assert project.weights == pytest.approx(document)
    assert project.but(access_weight=1.0).weights == pytest.approx(
        {"semantic": 0.2, "keyword": 0.15, "recency": 0.1, "importance": 0.05, "access": 0.5}
    )
    assert PROFILES["default"].weights is None
