"""What a score says: how likely a hit answers. What answers scores high, noise low, and thresholds cut between them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, InputError, Memory

ASKED = Path(__file__).parent.parent / "data/facts/asked.jsonl"
ANN = {
    "location": "Oslo",
    "allergy peanuts": "peanuts",
    "name": "Mara",
    "job": "nurse at St. Olav",
    "diet": "vegetarian",
    "partner": "Jonas",
    "birthday": "3 May 1990",
    "editor": "Helix",
    "favourite colour": "green",
}
SAID = (
    "We got a puppy last week and named him Bruno.",
    "The quarterly report for the board is late again.",
    "My favourite pasta sauce has basil and anchovies.",
    "The train to Lisbon leaves at seven in the morning.",
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", worker=False) as opened:
        for key, value in ANN.items():
            opened.remember(value, key=key, user_id="ann")
        opened.remember("Oslo", key="location", user_id="only")
        opened.add([{"role": "user", "content": text} for text in SAID], user_id="bob", session_id="s1")
        opened.settle()
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where do I live?", "location: Oslo"),
        ("what am I allergic to?", "allergic to peanuts"),
        ("who am I?", "name: Mara"),
        ("what's my job", "job: nurse at St. Olav"),
        ("What do I do for a living?", "job: nurse at St. Olav"),
        ("Which editor do I use?", "editor: Helix"),
        ("What is ann's job?", "job: nurse at St. Olav"),
        ("Wo wohne ich?", "location: Oslo"),
    ],
)
def test_a_fact_that_answers_scores_high_and_the_others_low(memory: Memory, question: str, answer: str) -> None:
    """Whether there are other facts or not, and though no word of the question may be in it."""
    best, *others = memory.search(question, user_id="ann")
    assert best.text == answer
    assert best.score > 0.5
    assert all(hit.score < 0.3 for hit in others)
    if answer == "location: Oslo":
        assert memory.search(question, user_id="only")[0].score > 0.5


def test_who_asks_about_the_user_by_name_asks_about_the_user(memory: Memory) -> None:
    """The name is known as a fact; the fact that has the name is no better answer."""
    best, *others = memory.search("Where does Mara live?", user_id="ann")
    assert best.text == "location: Oslo"
    assert best.score > max(0.5, *(hit.score for hit in others))


@pytest.mark.parametrize(
    "question",
    [
        "How tall is the Eiffel tower?",
        "What's the capital of Peru?",
        "Where does Tom live?",
        "Where does my sister live?",
        "What did my job interview feedback say?",
        "Which train did we take to Vienna?",
        "What does she do for a living?",
    ],
)
def test_a_question_that_nothing_answers_gets_nothing_with_a_threshold(memory: Memory, question: str) -> None:
    """Of someone with many facts, of someone with one, and of someone who said a few things."""
    assert memory.search(question, user_id="ann", min_score=0.5) == []
    assert memory.search(question, user_id="only", min_score=0.5) == []


def test_what_was_said_scores_high_where_it_answers(memory: Memory) -> None:
    for question, place in (("What is our puppy called?", 0), ("When does the train to Lisbon leave?", 3)):
        best, *others = memory.search(question, user_id="bob", kinds=["message"])
        assert best.text == SAID[place]
        assert best.score > 0.3 > max((hit.score for hit in others), default=0.0)
    assert memory.search("Who repaired the boiler in the cellar?", user_id="bob", min_score=0.1) == []


def _held() -> list[dict[str, Any]]:
    """Facts with questions that the scores were not fitted on, and questions that no fact answers."""
    known = [json.loads(line) for line in ASKED.read_text("utf-8").splitlines()]
    return [one for one in known if one["half"] == "held"]


def _people(known: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups: list[list[dict[str, Any]]] = []
    for fact in known:
        for group in groups:
            if all(other["family"] != fact["family"] for other in group):
                group.append(fact)
                break
        else:
            groups.append([fact])
    return groups


def test_scores_separate_answers_from_noise_on_questions_they_were_not_fitted_on() -> None:
    """Most right facts score 0.5 and more; nearly all that does not answer stays below 0.3."""
    held = _held()
    right, noise = list[float](), list[float]()
    with Memory(":memory:", worker=False) as memory:
        for place, person in enumerate(_people([one for one in held if "key" in one])):
            user = f"u{place}"
            for fact in person:
                memory.remember(fact["value"], key=fact["key"], category=fact["category"], user_id=user)
            memory.settle()
            for fact in person:
                for question in fact["questions"]:
                    hits = memory.search(question, user_id=user, kinds=["fact"])
                    right.append(max((hit.score for hit in hits if fact["value"] in hit.text), default=0.0))
                    noise += [hit.score for hit in hits if fact["value"] not in hit.text]
            for one in held:
                if "key" not in one:
                    hits = memory.search(one["questions"][0], user_id=user, kinds=["fact"])
                    noise += [hit.score for hit in hits]
    assert sum(score >= 0.5 for score in right) / len(right) > 0.75
    assert sum(score < 0.3 for score in noise) / len(noise) > 0.9


@pytest.mark.parametrize("weights", [None, {"semantic": 2, "keyword": 1}])
def test_a_threshold_cuts_and_changes_nothing_else(memory: Memory, weights: dict[str, float] | None) -> None:
    """What is left has the order and the scores that it had; the scores fall, between 0 and 1."""
    every = memory.search("What is my job and my diet?", user_id="ann", weights=weights)
    scores = [hit.score for hit in every]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for least in (*scores, 0.0, 1.0):
        left = memory.search("What is my job and my diet?", user_id="ann", weights=weights, min_score=least)
        assert left == [hit for hit in every if hit.score >= least]
    explained = memory.search_explained("What is my job and my diet?", user_id="ann", weights=weights, min_score=0.9)
    assert explained.least == 0.9
    assert len(explained.hits) == len(every)


def test_scores_follow_the_order_of_the_sums(memory: Memory) -> None:
    """The best by the fitted sum comes first, whatever its score is made of, and however many are asked for."""
    every = memory.search("Where do I live and which editor do I use?", user_id="ann", explain=True)
    sums = [sum(part for name, part in hit.parts.items() if name != "cosine") for hit in every]
    assert sums == sorted(sums, reverse=True)
    assert (
        memory.search("Where do I live and which editor do I use?", user_id="ann", top_k=1, explain=True) == every[:1]
    )


def test_a_threshold_of_the_profile_and_one_of_the_search_both_hold() -> None:
    with Memory(":memory:", worker=False, profile=PROFILES["project"].but(relevance_threshold=0.4)) as memory:
        memory.add([{"role": "user", "content": text} for text in SAID], user_id="bob", session_id="s1")
        memory.settle()
        for least in (0.0, 0.2, 0.45):
            hits = memory.search("puppy", user_id="bob", min_score=least)
            assert all(hit.score >= max(least, 0.4) for hit in hits)


def test_without_vectors_a_right_answer_still_scores_high() -> None:
    """Words and forms of questions tell it from noise, whatever makes the vectors."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        for key, value in ANN.items():
            memory.remember(value, key=key, user_id="ann")
        memory.settle()
        assert memory.search("Where do I live?", user_id="ann")[0].score > 0.5
        assert memory.search("How tall is the Eiffel tower?", user_id="ann", min_score=0.3) == []


def test_what_has_no_vector_yet_scores_by_its_words() -> None:
    """Right after it was added, before the worker has been there."""
    with Memory(":memory:", worker=False) as memory:
        memory.add([{"role": "user", "content": text} for text in SAID], user_id="bob", session_id="s1")
        memory.remember("Oslo", key="location", user_id="bob")
        best, *_ = memory.search("When does the train to Lisbon leave?", user_id="bob", min_score=0.3)
        assert best.text == SAID[3]
        assert memory.search("Where do I live?", user_id="bob")[0].score > 0.5


@pytest.mark.parametrize("least", [-0.1, 1.5, float("nan"), True, "0.3", None])
def test_a_threshold_is_a_number_from_0_to_1(memory: Memory, least: Any) -> None:
    with pytest.raises(InputError, match="min_score must be a number from 0 to 1"):
        memory.search("job", user_id="ann", min_score=least)
