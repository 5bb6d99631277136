"""Sentences of any language, each with its place in the text."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.language.dates import with_dates
from lamina.language.sentences import LONGEST, sentences
from lamina.language.words import stem, surface_words
from tests.growth import growth, quarters, repeated

MONDAY = datetime(2025, 3, 3, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I moved. Now I live in Oslo!", ["I moved.", "Now I live in Oslo!"], id="plain"),
        pytest.param("i moved to oslo. now i rest", ["i moved to oslo.", "now i rest"], id="lower-case"),
        pytest.param("Dr. Novak pays 3.14 euros, e.g. today.", ["Dr. Novak pays 3.14 euros, e.g. today."], id="dots"),
        pytest.param("Am 8. Mai ziehe ich um. Ja.", ["Am 8. Mai ziehe ich um.", "Ja."], id="german-date"),
        pytest.param("Abgabe ist am 30. september, puh", ["Abgabe ist am 30. september, puh"], id="lower-case-date"),
        pytest.param("I have 3. October came.", ["I have 3.", "October came."], id="number-before-a-month"),
        pytest.param("See https://a.b/c.d?e=1. Fine.", ["See https://a.b/c.d?e=1.", "Fine."], id="url"),
        pytest.param(
            "J. R. Smith met me at 5 p.m. He left.", ["J. R. Smith met me at 5 p.m.", "He left."], id="initials"
        ),
        pytest.param("- one thing\n- two things\n3. three", ["one thing", "two things", "three"], id="bullets"),
        pytest.param("Well... maybe not. Yes.", ["Well... maybe not.", "Yes."], id="pause"),
        pytest.param("我住在北京。你呢\uff1f很好\uff01", ["我住在北京。", "你呢\uff1f", "很好\uff01"], id="chinese"),
        pytest.param("मैं दिल्ली में हूँ। आप?", ["मैं दिल्ली में हूँ।", "आप?"], id="hindi"),
        pytest.param("كيف حالك؟ أنا بخير.", ["كيف حالك؟", "أنا بخير."], id="arabic"),
        pytest.param("", [], id="empty"),
        pytest.param("\n \n---\n", [], id="rules"),
    ],
)
def test_splits(text, expected):
    """Sentences end where a reader would end them."""
    assert [sentence.text for sentence in sentences(text)] == expected


def test_code_stays_whole():
    """A fenced block is one sentence of its own kind, closed or not."""
    found = sentences("Look:\n```py\na = 1. \nb = 2\n```\nDone. Yes.\n```\nopen")
    assert [(one.kind, one.text) for one in found] == [
        ("prose", "Look:"),
        ("code", "a = 1. \nb = 2"),
        ("prose", "Done."),
        ("prose", "Yes."),
        ("code", "open"),
    ]


def test_wrapped_lines_are_one_sentence():
    """A long line that goes on in lower case is not cut at its end."""
    text = "This sentence is long enough that somebody's editor has wrapped it\nright here, in the middle. Next."
    assert len(sentences(text)) == 2


@given(st.text(max_size=600))
def test_offsets(text):
    """Every sentence is exactly what stands at its place, in order, without overlap, and not too long."""
    at = 0
    for sentence in sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text == sentence.text.strip()
        assert sentence.start >= at
        assert sentence.kind == "code" or len(sentence.text) <= LONGEST
        at = sentence.end


@pytest.mark.parametrize("unit", ["a", "word ", "a. ", "。", "- ", "?!", "```\n", "(.", "\n", "é🙂"])
def test_time_is_linear(unit):
    """The time to split anything grows no faster than its length, up to a megabyte."""
    assert growth(sentences, repeated(unit), quarters(1_000_000)) < 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I leave tomorrow.", "I leave tomorrow [2025-03-04].", id="tomorrow"),
        pytest.param("It broke yesterday, I think", "It broke yesterday [2025-03-02], I think", id="yesterday"),
        pytest.param("We met last Friday.", "We met last Friday [2025-02-28].", id="last-friday"),
        pytest.param("Due this Thursday", "Due this Thursday [2025-03-06]", id="this-thursday"),
        pytest.param("See you next Monday", "See you next Monday [2025-03-10]", id="next-monday"),
        pytest.param("See you next Friday", "See you next Friday", id="next-friday-has-two-readings"),
        pytest.param("Three days ago I quit", "Three days ago [2025-02-28] I quit", id="days-ago"),
        pytest.param("I quit 2 weeks ago", "I quit 2 weeks ago [~2025-02-17]", id="weeks-ago-is-about"),
        pytest.param("The exam is in 4 days", "The exam is in 4 days [2025-03-07]", id="in-days"),
        pytest.param("I finished it in 4 days", "I finished it in 4 days", id="a-duration"),
        pytest.param("In today's world", "In today's world", id="possessive"),
        pytest.param("like there is no tomorrow", "like there is no tomorrow", id="idiom"),
        pytest.param("He sang “Yesterday”", "He sang “Yesterday”", id="title"),
        pytest.param("today [2020-01-01]", "today [2020-01-01]", id="already-dated"),
        pytest.param("999 weeks ago", "999 weeks ago", id="too-far"),
    ],
)
def test_dates(text, expected):
    """A relative day gets its date where it can mean only one, and is left alone otherwise."""
    assert with_dates(text, MONDAY) == expected


def test_dates_at_the_end_of_time():
    """A date that does not exist is not written."""
    assert with_dates("tomorrow", datetime.max.replace(tzinfo=UTC)) == "tomorrow"


def test_words_of_unspaced_scripts():
    """Chinese is cut into pairs, Hindi words stay whole, and English endings do not matter."""
    assert surface_words("我住北京 Berlin") == ["我住", "住北", "北京", "Berlin"]
    assert surface_words("दिल्ली में") == ["दिल्ली", "में"]
    assert stem("planning") == stem("planned") == stem("plans") == "plan"
