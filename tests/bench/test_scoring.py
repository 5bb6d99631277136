"""Measures of recall, against numbers worked out by hand from their definitions."""

import math

import pytest

from lamina.bench.plots import curve
from lamina.bench.readers import Question
from lamina.bench.scoring import Found, score, score_all, table


def question(*gold, sessions=("s1",), category="some", name="q"):
    return Question(
        id=name,
        category=category,
        text="?",
        asked_at=None,
        after=None,
        gold=frozenset(gold),
        gold_sessions=frozenset(sessions),
    )


SESSION_OF = {f"m{number}": f"s{1 + number // 10}" for number in range(100)}  # ten messages a session
NOTHING = Found(ranked=(), contexts={})


def test_places_count_as_the_definitions_say():
    """Gold at the places 1 and 7 of the list, and one that is not in it."""
    ranked = ("m0", *(f"m{number}" for number in range(20, 25)), "m1", "m0")
    found = score(question("m0", "m1", "m9"), Found(ranked=ranked, contexts={}), SESSION_OF)
    assert found["R@1"] == pytest.approx(1 / 3)
    assert found["R@5"] == pytest.approx(1 / 3)
    assert found["R@10"] == found["R@50"] == pytest.approx(2 / 3)
    assert {found[f"All@{first}"] for first in (1, 5, 10, 20, 50)} == {0}
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found["NDCG@10"] == pytest.approx((1 + 1 / 3) / ideal)


def test_everything_first_is_perfect():
    found = score(question("m0", "m1"), Found(ranked=("m1", "m0"), contexts={500: ("m0", "m1")}), SESSION_OF)
    assert found["R@1"] == 0.5
    assert {found[name] for name in ("R@5", "All@5", "NDCG@10", "SAll@5", "SHit@5", "C500a", "C500f")} == {1}


def test_nothing_found_is_nought():
    found = score(question("m0"), NOTHING, SESSION_OF)
    assert set(found.values()) == {0}


def test_sessions_rank_by_their_best_message():
    """Six sessions are met in the order of their first messages: the sixth is not among the best five."""
    ranked = ("m0", "m1", "m10", "m20", "m30", "m40", "m2", "m50")
    some = score(question("m50", sessions=("s1", "s6")), Found(ranked=ranked, contexts={}), SESSION_OF)
    assert (some["SAll@5"], some["SHit@5"], some["SAll@10"], some["SHit@10"]) == (0, 1, 1, 1)


def test_ndcg_looks_at_ten_places_only():
    ranked = tuple(f"m{number}" for number in range(11))
    assert score(question("m10"), Found(ranked=ranked, contexts={}), SESSION_OF)["NDCG@10"] == 0
    many = question(*(f"m{number}" for number in range(30)))
    assert score(many, Found(ranked=ranked, contexts={}), SESSION_OF)["NDCG@10"] == pytest.approx(1)


def test_contexts_count_whole_and_in_part():
    found = Found(ranked=(), contexts={500: ("m1",), 1000: ("m1", "m2", "m7")})
    measured = score(question("m1", "m2"), found, SESSION_OF)
    assert (measured["C500f"], measured["C500a"], measured["C1000f"], measured["C1000a"]) == (0.5, 0, 1, 1)


def test_gold_sessions_alone_are_met_by_any_of_their_messages():
    found = Found(ranked=("m0", "m13"), contexts={500: ("m3",), 1000: ("m3", "m15")})
    measured = score(question(sessions=("s1", "s2")), found, SESSION_OF)
    assert measured == {"SAll@5": 1, "SHit@5": 1, "SAll@10": 1, "SHit@10": 1, "C500s": 0, "C1000s": 1}


def both():
    first = (question("m0", category="b"), Found(ranked=("m0",), contexts={500: ("m0",), 90: ()}))
    second = (question("m1", category="a"), Found(ranked=(), contexts={500: (), 90: ()}))
    return score_all([first, second], SESSION_OF)


def test_means_are_over_all_questions_and_by_category():
    scores = both()
    assert scores.questions == {"all": 2, "a": 1, "b": 1}
    assert [scores.measures[name]["R@1"] for name in ("all", "a", "b")] == [0.5, 0, 1]


def test_the_table_is_aligned_and_in_percent():
    ranked, standing = table(both()).split("\n\n")
    assert " ".join(ranked.splitlines()[0].split()) == "questions R@1 R@5 R@10 R@20 R@50 All@10 NDCG@10 SAll@5"
    assert standing.splitlines()[0].split() == ["questions", "C90a", "C500a", "C90f", "C500f"]
    assert standing.splitlines()[1].split() == ["all", "2", "0.0", "50.0", "0.0", "50.0"]
    assert len({len(line) for line in standing.splitlines()}) == 1


def test_the_curve_has_the_budgets_in_order():
    assert curve(both().measures["all"]) == ([90, 500], [0, 50])
