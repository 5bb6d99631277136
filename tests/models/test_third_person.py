"""Statements about the user in the third person, read as if the user had made them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.offline.fact_extraction.grammar import grammars
from lamina.models.offline.fact_extraction.statement_reader import OfflineStatementReader
from lamina.models.offline.fact_extraction.third_person import rewrite

NOW = datetime(2026, 11, 18, tzinfo=UTC)
TABLES = {grammar.language: grammar.third_person for grammar in grammars()}


def read(text: str) -> list[tuple[str | None, str, bool]]:
    drafts = OfflineStatementReader().read(text, ["Alex"], NOW).drafts
    assert all(draft.quote and draft.quote == text[draft.start : draft.end] for draft in drafts)
    return [(draft.key, draft.value, draft.holds) for draft in drafts if draft.about is None]


def test_what_is_told_of_others_is_theirs() -> None:
    """As in messages, what a text says of somebody else is about them."""
    for text, about in (("Bob lives in Rome", "Bob"), ("User's sister lives in Rome", "sister")):
        (draft,) = OfflineStatementReader().read(text, ["Alex"], NOW).drafts
        assert (draft.about, draft.key, draft.value) == (about, "location", "Rome")


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("User lives in Ghent", "en", "I live in Ghent"),
        ("The user doesn't eat pork", "en", "I don't eat pork"),
        ("User studies and teaches physics", "en", "I study and teach physics"),
        ("They are vegan and their dog is Rex", "en", "I am vegan and my dog is Rex"),
        ("User's allergic to nuts", "en", "I am allergic to nuts"),
        ("User's dog is called Rex. He is a beagle.", "en", "My dog is called Rex. He is a beagle."),
        ("User's name is Alex. He lives in Ghent.", "en", "My name is Alex. I live in Ghent."),
        ("The user mentioned that she works at Acme", "en", "I work at Acme"),
        ("Prefers tea", "en", "I prefer tea"),
        ("Favorite color: green", "en", "My favourite color is green"),
        ("Users prefer dark mode", "en", "Users prefer dark mode"),
        ("User interface has bugs", "en", "User interface has bugs"),
        ("Is Ghent in Belgium?", "en", "Is Ghent in Belgium?"),
        ("User's pronouns are they/them", "en", "My pronouns are they/them"),
        ("Der Nutzer wohnt in Gent und arbeitet bei Siemens", "de", "ich wohne in Gent und arbeite bei Siemens"),
        ("Der Hund des Nutzers heißt Rex", "de", "Mein Hund heißt Rex"),
        ("El usuario se mudó a Oporto", "es", "me mudé a Oporto"),
        ("Al usuario le gusta el jazz", "es", "me gusta el jazz"),
    ],
)
def test_the_person_is_changed(text: str, language: str, said: str) -> None:
    """Subject, verb and possessives; a pronoun that may mean somebody else is left alone."""
    assert rewrite(text, TABLES[language]).text == said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("User lives in Ghent", [("location", "Ghent", True)]),
        ("The user has recently moved to Lisbon", [("location", "Lisbon", True)]),
        ("User relocated to Madrid in 2024", [("location", "Madrid", True)]),
        ("Alex lives in Ghent", [("location", "Ghent", True)]),
        ("Alex's favourite food is ramen", [("favourite food", "ramen", True)]),
        ("She lives in Lyon", [("location", "Lyon", True)]),
        ("User's name is Maria. Maria is 34 years old.", [("name", "Maria", True), ("age", "34", True)]),
        ("user is allergic to peanuts", [("allergy peanuts", "peanuts", True)]),
        ("The user prefers dark mode", [("dark mode", "prefers dark mode", True)]),
        ("User no longer works at Acme", [("employer", "Acme", False)]),
        (
            "The user is a software engineer at Google.",
            [("job", "software engineer", True), ("employer", "Google", True)],
        ),
        ("User's dog is called Rex", [("dog rex", "Rex", True)]),
        ("User has been diagnosed with asthma", [("health", "asthma", True)]),
        ("Location: Ghent", [("location", "Ghent", True)]),
        ("User said they are vegetarian", [("diet", "vegetarian", True)]),
        ("Der Nutzer ist nach Porto gezogen", [("location", "Porto", True)]),
        ("Der Name des Nutzers ist Alex", [("name", "Alex", True)]),
        ("El usuario vive en Gante", [("location", "Gante", True)]),
        ("La usuaria es alérgica a los cacahuetes", [("allergy cacahuetes", "cacahuetes", True)]),
        ("I'm allergic to nuts", [("allergy nuts", "nuts", True)]),
        ("User's brother is called Tom. He lives in Rome.", [("brother tom", "Tom", True)]),
        ("The user reported a bug in the login page", []),
        ("User asked about the weather in Paris", []),
        ("Bob lives in Rome", []),
    ],
)
def test_facts_are_read_with_their_keys(text: str, found: list[tuple[str, str, bool]]) -> None:
    """As they would be from the user's own words; every quote is a piece of what was told."""
    assert read(text) == found


PIECES = st.sampled_from(
    ["User", "The user", "user's", "he", "his", "they", "is", "has", "lives in", "Ghent", "and", "works at", "Acme.",
     "Alex", "der Nutzer", "des Nutzers", "el usuario", "se", "vive en", "says that", ":", ",", "\n", "?", "name",
     "location:", "\U0001f375", "don't", "\u00e9"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_every_piece_of_what_is_rewritten_has_its_place_in_the_original(text: str) -> None:
    """Any text is read, no place is outside of it, and quotes are its own words."""
    read(text)
    for table in TABLES.values():
        new = rewrite(text, table, ["Alex"])
        places = [new.place(at) for at in range(len(new.text) + 1)]
        assert places == sorted(places)
        assert all(0 <= at <= len(text) for at in places)
