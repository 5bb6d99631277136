"""Chances: between 0 and 1, never rising from a better row to a worse one, the nearest to what was measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.search.calibration import MEASURES, OF_MINILM, OF_STATIC, OF_WORDS, Calibration, calibration, falling
from lamina.search.question_patterns import fact_keys


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
def test_values_in_the_wrong_order_meet_in_the_middle(values: list[float]) -> None:
    """They never rise; those in order stay; of up to a hundred the mean stays, too."""
    found = falling(np.array(values))
    assert len(found) == len(values)
    assert (np.diff(found) <= 1e-12).all()
    assert found.min() >= min(values) - 1e-12
    assert found.max() <= max(values) + 1e-12
    if len(values) <= 100:
        assert found.mean() == pytest.approx(np.mean(values))
    if values == sorted(values, reverse=True):
        assert found.tolist() == values


def test_a_late_high_value_raises_those_before_it() -> None:
    assert falling(np.array([0.9, 0.2, 0.4, 0.1])).tolist() == pytest.approx([0.9, 0.3, 0.3, 0.1])


@pytest.mark.parametrize(
    ("embedder", "chosen"),
    [
        ("static-384@2", OF_STATIC),
        ("minilm-l6-v2@1", OF_MINILM),
        ("minilm-l6-v2-int8@1", OF_MINILM),
        ("letters@1", OF_WORDS),
        (None, OF_WORDS),
    ],
)
def test_likeness_counts_only_where_it_is_known_what_it_means(embedder: str | None, chosen: Calibration) -> None:
    assert calibration(embedder) is chosen


@pytest.mark.parametrize("fit", [OF_STATIC, OF_MINILM], ids=["static", "minilm"])
def test_what_speaks_for_a_row_makes_it_likelier(fit: Calibration) -> None:
    """A higher sum, more likeness and more of the words, all else equal."""
    for weights in (fit.texts, fit.facts):
        assert weights[MEASURES.index("sum")] > 0
        assert weights[MEASURES.index("meaning")] > 0
        assert (
            weights[MEASURES.index("words")] + weights[MEASURES.index("around")] + weights[MEASURES.index("exact")] > 0
        )


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Where do I live?", "location"),
        ("where am i from", "hometown"),
        ("Do you know who I am? Who am I?", "name"),
        ("What's my mother's name?", "mother"),
        ("What is the name of my dentist?", "dentist"),
        ("what is my dog called", "dog"),
        ("Where does Alex work?", "employer"),
        ("What is Alex\u2019s job?", "job"),
        ("How old is the user?", "age"),
        ("Do I have any pets?", "cat"),
        ("Wie alt bin ich?", "age"),
        ("\u00bfD\u00f3nde vivo?", "location"),
    ],
)
def test_a_question_about_oneself_names_the_keys_that_answer(question: str, key: str) -> None:
    assert key in fact_keys(question, ["Alex"])


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live when I am in Rome?",
        "What did my job interview feedback say?",
        "Where does Tom live?",
        "Where does my sister live?",
        "What does she do for a living?",
        "Where is my passport?",
        "Where did I leave my keys?",
        "",
        "?",
        "my " * 2_000,
    ],
)
def test_a_question_that_asks_for_more_or_for_another_names_none(question: str) -> None:
    assert fact_keys(question, ["Alex", "a", "I", ""]) == ()
