"""People around the user: who is meant, and what is known of each."""

import pytest

from lamina import InputError, Memory
from tests.places import Place

SAID = (
    "My name is Dana and I live in Ghent.",
    "My sister is a nurse.",
    "My sister Lena is allergic to peanuts.",
    "My brother Tom Berg lives in Oslo.",
)


@pytest.fixture
def memory(place: Place) -> Memory:
    opened = Memory(place(), worker=False)
    for text in SAID:
        opened.add(text, user_id="u1", session_id="s1")
    opened.settle()
    return opened


@pytest.mark.also_postgres
@pytest.mark.parametrize(
    ("about", "texts"),
    [
        pytest.param("Lena", {"Lena: allergic to peanuts", "sister's job: nurse"}, id="name"),
        pytest.param("lena ", {"Lena: allergic to peanuts", "sister's job: nurse"}, id="in-any-case"),
        pytest.param("sister", {"Lena: allergic to peanuts", "sister's job: nurse"}, id="relation"),
        pytest.param("Tom", {"Tom Berg's location: Oslo"}, id="first-name"),
        pytest.param("Tom Berg", {"Tom Berg's location: Oslo"}, id="whole-name"),
        pytest.param("brother", {"Tom Berg's location: Oslo"}, id="relation-of-a-whole-name"),
        pytest.param("Dana", {"name: Dana", "location: Ghent", "sister: Lena", "brother: Tom Berg"}, id="the-user"),
        pytest.param("u1", {"name: Dana", "location: Ghent", "sister: Lena", "brother: Tom Berg"}, id="by-id"),
        pytest.param("Nobody", set(), id="nobody"),
    ],
)
def test_facts_about_one_person(memory: Memory, about: str, texts: set[str]) -> None:
    """By name or relation, also where one of the two was learnt later."""
    with memory:
        assert {fact.text for fact in memory.facts("u1", about=about)} == texts


def test_nobody_cannot_be_asked_for(memory: Memory) -> None:
    """An empty name says what is wrong."""
    with memory, pytest.raises(InputError, match="about: a memory needs text"):
        memory.facts("u1", about=" ")


@pytest.mark.also_postgres
def test_a_profile_shows_the_user_first(memory: Memory) -> None:
    """Then people by name; a relation is under the name that it has."""
    with memory:
        profile = memory.user_profile("u1")
        assert list(profile.people) == ["Lena", "Tom Berg"]
        assert [fact.about is None for fact in profile.facts] == [True] * 4 + [False] * 3
        own, people = profile.markdown.split("## People")
        assert "location: Ghent" in own
        assert "nurse" not in own
        assert people.index("### Lena") < people.index("nurse") < people.index("### Tom Berg") < people.index("Oslo")
        shown = profile.to_dict()
        assert {one["text"] for one in shown["people"]["Lena"]} == {"Lena: allergic to peanuts", "sister's job: nurse"}
        assert {one["key"] for one in shown["categories"]["identity"]} >= {"name", "location"}
        assert "constraint" not in shown["categories"]


def test_a_question_about_a_person_finds_them_first(memory: Memory) -> None:
    """And one about the user finds the user's own fact before that of another."""
    with memory:
        memory.add(["I'm allergic to cats.", "I'm vegan."], user_id="u1", session_id="s1")
        memory.settle()

        def found(question: str) -> list[str]:
            return [hit.text for hit in memory.search(question, user_id="u1", kinds=["fact"])]

        assert found("What is Lena allergic to?")[0] == "Lena: allergic to peanuts"
        assert found("what can lena eat?")[0] == "Lena: allergic to peanuts"
        assert found("Where does Tom live?")[0] == "Tom Berg's location: Oslo"
        assert found("What does my sister do?")[0] == "sister's job: nurse"
        assert found("What am I allergic to?")[0] == "allergic to cats"
        home = found("Where do I live?")
        assert home.index("location: Ghent") < home.index("Tom Berg's location: Oslo")


def test_a_context_shows_the_user_first(memory: Memory) -> None:
    """However important what is known of others is."""
    with memory:
        text = memory.context("Hello", user_id="u1").text
        assert text.index("location: Ghent") < text.index("Lena: allergic to peanuts")
