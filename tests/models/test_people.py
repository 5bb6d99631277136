"""What users say of other people: it is about them, and never the user's."""

from datetime import UTC, datetime

import pytest

from benchmarks.facts import message
from lamina.models.offline.fact_extraction.fact_extractor import read_message
from lamina.models.offline.fact_extraction.grammar import grammars
from lamina.models.offline.fact_extraction.people import people_of
from tests.growth import growth, quarters

SAID = datetime(2025, 3, 3, 12, tzinfo=UTC)


def found(text: str) -> list[tuple[str | None, str | None, str]]:
    """About whom, under which key, what; each with a quote that is in the text."""
    drafts = read_message(message(text, SAID)).facts
    assert all(text[one.start : one.end] == one.quote and one.quote for one in drafts)
    return [(one.about, one.key, one.value) for one in drafts if one.holds]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("my sister Lena is allergic to nuts", [(None, "sister lena", "Lena"), ("Lena", "allergy nuts", "nuts")]),
        ("my boss Tom hates slides", [(None, "boss", "Tom"), ("Tom", "slides", "dislikes slides")]),
        ("my brother tom lives in hull", [("Tom", "location", "hull")]),
        ("Lena's moving to Oslo next month.", [("Lena", None, "moving to Oslo next month")]),
        ("my twins are 4", [("twins", "age", "4")]),
        ("my wife is vegetarian", [("wife", "diet", "vegetarian")]),
        ("My brother lives in Porto.", [("brother", "location", "Porto")]),
        ("Tom and Nina live in Berlin.", [("Tom", "location", "Berlin"), ("Nina", "location", "Berlin")]),
        ("My girlfriend's allergic to cats.", [("girlfriend", "allergy cats", "cats")]),
        ("Sarah, my sister, works for the BBC.", [(None, "sister sarah", "Sarah"), ("Sarah", "employer", "BBC")]),
        ("My son can't have dairy.", [("son", "eats dairy", "no")]),
        ("Tom's budget is 900 euros.", [("Tom", "budget", "900 euros")]),
        ("My colleague Isolde, who is 38, lives in Hull.", [("Isolde", "age", "38")]),
        ("Mein Bruder wohnt in Hamburg.", [("bruder", "location", "Hamburg")]),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_it_is_about_them(text: str, facts: list[tuple[str | None, str, str]]) -> None:
    """By name, or by relation where no name is given."""
    assert set(facts) <= set(found(text))
    assert [
        fact for fact in found(text) if fact[0] is None and not str(fact[1]).startswith(("sister", "boss", "brother"))
    ] == []


def test_several_people_and_the_user_in_one_message() -> None:
    """Each clause belongs to its subject; "she" is who was spoken of just before."""
    text = (
        "My sister, Lena, is a nurse. She lives in Oslo and doesn't eat meat. I live in Ghent and my son Leo has "
        "asthma, so I never smoke at home. Mark is allergic to gluten, Sophie doesn't drink alcohol and I'm vegan."
    )
    facts = found(text)
    assert {
        ("Lena", "job", "nurse"), ("Lena", "location", "Oslo"), ("Leo", "health", "asthma"),
        ("Mark", "allergy gluten", "gluten"), ("Sophie", "drinks alcohol", "no"), (None, "location", "Ghent"),
        (None, "diet", "vegan"),
    } <= set(facts)  # fmt: skip
    mine = {key for about, key, _ in facts if about is None}
    assert mine.isdisjoint({"job", "health", "drinks alcohol", "allergy gluten"})


@pytest.mark.parametrize(
    "text",
    [
        "My sister and I moved to Rome.",
        "My wife loves my cooking.",
        "Does my sister live in Rome?",
        "If my sister lived in Rome I would visit.",
        "Imagine my sister Lena is allergic to nuts.",
        "My boss says I am lazy.",
        "My mother thinks I live in Rome.",
        "My brother might be allergic to eggs.",
        "Someone told me Lena lives in Rome.",
        "Berlin is based in Germany.",
        "Python is allergic to tabs.",
        "Mark my words.",
        "Jack of all trades here.",
        "Maria, I live here now!",
        "She lives in Oslo.",
        "I was there. She lives in Oslo.",
        "My sister is nice. It lives in Rome.",
        "My doctor told me to avoid salt.",
    ],
)
def test_what_is_not_said_of_them_alone(text: str) -> None:
    """Nothing is kept under another's name if it is asked, supposed, shared with the user, or of nobody known."""
    assert [fact for fact in found(text) if fact[0] is not None] == []


def test_others_count_less_than_the_user() -> None:
    """In confidence and importance, so that a context has room for the user first."""
    (own,) = read_message(message("I'm allergic to nuts.", SAID)).facts
    (theirs,) = read_message(message("My wife is allergic to nuts.", SAID)).facts
    assert theirs.importance < own.importance
    assert theirs.confidence < own.confidence


def test_every_file_belongs_to_a_grammar() -> None:
    """English, German and Spanish have people; a language without a file has none."""
    assert [one.language for one in grammars() if people_of(one.language)] == ["de", "en", "es"]
    assert people_of("xx") is None


@pytest.mark.parametrize("piece", ["my sister Lena, ", "Tom and ", "my my my ", "and and ", "btw so "])
def test_a_long_message_takes_time_by_its_length(piece: str) -> None:
    """However often people are named in it."""
    sizes = quarters(4_000)
    assert growth(lambda text: read_message(message(text)).facts, lambda size: piece * (size // len(piece)), sizes) < 2
