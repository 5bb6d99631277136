"""What is shown of a summary that there is little room for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.context.summary_excerpts import summary_excerpt

SUMMARY = """- User: it was wet for a long while, since the end of the summer, and nobody talked about anything else.
- Assistant: Bergen has about 240 days of rain in a year, more than any other town in Norway.
- User: My daughter Ingrid is allergic to walnuts. We keep none in the house, and school knows.
- User (to "When do you fly?"): on 14 May, from Flesland, with two suitcases and the cello
- User: I would like to paint the boat green this summer, with the paint from Stavanger."""


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param("What is Ingrid allergic to?", "User: My daughter Ingrid is allergic to walnuts.", id="line"),
        pytest.param("Does the school know?", "We keep none in the house, and school knows.", id="inside-a-line"),
        pytest.param("When do we fly?", 'User (to "When do you fly?"): on 14 May', id="by-its-question"),
        pytest.param("which colour for the boat?", "I would like to paint the boat green", id="last"),
        pytest.param("What is my name?", "My daughter Ingrid", id="no-answer-so-what-the-user-tells"),
    ],
)
def test_the_excerpt_answers(asked: str, shown: str) -> None:
    """It begins where the summary answers the question, with who said it."""
    found = summary_excerpt(SUMMARY, asked, 150)
    assert shown in found
    assert len(found) <= 156
    assert found.endswith("...") or SUMMARY.endswith(found[-20:])


def test_a_short_summary_is_shown_whole() -> None:
    """What fits is shown as it is, in one line."""
    assert summary_excerpt("- User: a\n- User: b", "b", 40) == "- User: a - User: b"


def test_a_question_is_not_told_twice() -> None:
    """What a reply answers is left out where the excerpt has just shown it, so that the reply has the room."""
    question = "Which vector database suits a catalogue of 40,000 wines, Qdrant or pgvector?"
    text = (
        "- User: My name is Ines. I always write tests before code. I use rustfmt with a width of 100 columns.\n"
        f'- User: {question}\n- Assistant (to "{question}"): pgvector in the PostgreSQL that you have is simplest.'
    )
    found = summary_excerpt(text, "vector databases", 150)
    assert found.startswith(f"...- User: {question} - Assistant: pgvector in the PostgreSQL")
    shown = summary_excerpt(text, "simplest", 150)
    assert f'Assistant (to "{question}"): pgvector' in shown


def test_an_excerpt_from_the_front_has_no_mark_before_it() -> None:
    """Prose that answers at its beginning is shown from there, to the character."""
    text = "Alex compared vector databases. " + "Then there were words. " * 20
    assert summary_excerpt(text, "vector databases", 150) == text[:150] + "..."


@given(st.text(max_size=600), st.text(max_size=40), st.integers(1, 200))
def test_never_longer_than_asked(text: str, asked: str, length: int) -> None:
    """For any text, no more than the length is shown, beside the marks."""
    assert len(summary_excerpt(text, asked, length)) <= length + 6
