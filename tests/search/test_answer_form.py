"""The form of the answer that a question wants, and what is left of it as its subject."""

from datetime import UTC, datetime

import pytest

from lamina import Memory
from lamina.search.answer_form import asks_by_now, looks_back, subject_of
from lamina.search.question import Question, understand

AT = datetime(2025, 5, 17, tzinfo=UTC)


def asked(query: str) -> Question:
    return understand(query, at=AT)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        pytest.param(
            "Can you list the order in which I brought up different aspects of my garden across our chats? "
            "Mention only four items.",
            ["garden"],
            id="order-of-topics",
        ),
        pytest.param(
            "Give me a short summary of how my tax appeal has developed over our conversations.",
            ["giv", "tax", "appeal", "develop"],
            id="summary",
        ),
        pytest.param("How many different kinds of tea have I mentioned across my messages?", ["tea"], id="count"),
        pytest.param("What is on my shopping list?", ["shop", "list"], id="a-list-that-is-the-subject"),
        pytest.param(
            "In what order do I water the beds?", ["order", "water", "bed"], id="an-order-that-is-the-subject"
        ),
        pytest.param("Can you write a summary of this report?", ["writ", "summary", "report"], id="a-task"),
    ],
)
def test_words_on_the_form_are_no_part_of_the_subject(query: str, terms: list[str]) -> None:
    """Only of a question that looks back on several talks; elsewhere the same words may be what is asked about."""
    assert list(asked(query).terms) == terms


@pytest.mark.parametrize(
    ("query", "back"),
    [
        pytest.param("In what order did I raise these points during our chats?", True, id="order"),
        pytest.param("Could you summarise how the merger has gone so far?", True, id="summary"),
        pytest.param("How has the price of oil changed?", False, id="how-something-else-changed"),
        pytest.param("How have my training goals evolved since May?", True, id="how-mine-evolved"),
        pytest.param("How many questions are in the exam?", False, id="questions-of-others"),
        pytest.param("How do I run a good session?", False, id="a-session-as-subject"),
        pytest.param("", False, id="empty"),
    ],
)
def test_questions_that_look_back_on_several_talks(query: str, back: bool) -> None:
    """The order in which things came up, how something developed, a summary of what was said."""
    assert looks_back(query) == back


def test_to_look_back_is_no_request_for_help() -> None:
    """'Can you list' asks for help, unless what is to be listed is what was said."""
    assert asked("Can you list some good hotels in Bergen?").request
    assert not asked("Can you list the hotels I brought up across our chats?").request


@pytest.mark.parametrize(
    ("query", "by_now"),
    [
        pytest.param("Where has Ida been?", True, id="where"),
        pytest.param("What rock bands has Ida seen?", True, id="what-things"),
        pytest.param("Which of the Alpine huts have they slept in?", True, id="which-of"),
        pytest.param("Where did Ida go on Sunday?", False, id="once"),
        pytest.param("Has Ida been to Rome?", False, id="yes-or-no"),
    ],
)
def test_what_somebody_has_done_by_now(query: str, by_now: bool) -> None:
    """Not what they did once."""
    assert asks_by_now(query) == by_now
    assert asked(query).gathers == by_now


def test_a_question_of_nothing_but_form_keeps_its_words() -> None:
    """Something must be left to search for."""
    assert subject_of("in chronological order") == "in chronological order"


PLACES = ("Tromsø", "Bergen", "Røros", "Molde", "Narvik", "Bodø")
REPLIES = (
    "Camping in {place}, how lovely, I want to go camping too!",
    "Was the camping site in {place} far from the lake?",
    "I have never been camping in {place}, what a trip!",
)


def test_a_list_of_what_one_person_did_is_made_of_their_own_messages() -> None:
    """A context too small for all that was said has each place that Ida told of, rather than Olav's replies."""
    with Memory(":memory:", worker=False) as memory:
        for number, place in enumerate(PLACES):
            said = [("Ida", f"We put up our tent by the lake near {place} and slept outside for two nights.")]
            said += [("Olav", reply.format(place=place)) for reply in REPLIES]
            turns = [{"role": "user", "name": name, "content": text} for name, text in said]
            memory.add(turns, user_id="ida", session_id=f"s{number}")
        memory.settle()
        context = memory.context("Where has Ida gone camping?", user_id="ida", session_id="new", budget=400)
        assert [place for place in PLACES if f"by the lake near {place}" not in context.text] == []
        once = memory.search("Who asked whether the camping site was far?", user_id="ida", kinds=["message"], top_k=3)
        assert {hit.name for hit in once} == {"Olav"}
