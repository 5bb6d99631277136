"""What users say of themselves, found word for word."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.offline.extractor import LONGEST_QUOTE, OfflineExtractor, facts_in
from lamina.types import Message

CATEGORIES = {"identity", "preference", "constraint", "instruction", "goal", "biography", "decision"}


def message(text, role="user"):
    return Message(
        id="m1",
        session_id="s",
        seq=1,
        turn=1,
        role=role,
        body={"role": role, "content": text},
        created_at=datetime(2025, 3, 3, tzinfo=UTC),
        metadata={},
        model=None,
        tokens=0,
        text=text,
        digest="",
    )


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("My name is Ana Petrović.", "identity"),
        ("I'm Alex.", "identity"),
        ("I\u2019m a nurse in Ljubljana.", "identity"),
        ("I live in Zagreb", "identity"),
        ("I prefer Python over Java.", "preference"),
        ("My favourite tea is oolong.", "preference"),
        ("I'm allergic to peanuts.", "constraint"),
        ("Our budget is 5,000 euros.", "constraint"),
        ("Please always answer in German.", "instruction"),
        ("Keep your answers short", "instruction"),
        ("My goal is to run a marathon.", "goal"),
        ("I want to learn Rust this year.", "goal"),
        ("I work as a teacher.", "biography"),
        ("We have two kids.", "biography"),
        ("I moved to Berlin yesterday.", "biography"),
        ("We decided to use PostgreSQL.", "decision"),
    ],
)
def test_finds(text, category):
    """A durable statement in the first person is found under its category, whole."""
    (fact,) = facts_in(message(text))
    assert (fact.category, fact.quote) == (category, text)
    assert 0 <= fact.confidence <= 1
    assert 0 <= fact.importance <= 1


@pytest.mark.parametrize(
    "text",
    [
        "Do I prefer tea?",
        "how do i say my name is Ana",
        "If I lived in Oslo, I'd love skiing.",
        "Maybe I prefer tea.",
        "I might decide to move to Rome.",
        "She said I love cats.",
        'The card reads "I love Paris".',
        "> I live in Rome.",
        "```\nI live in Rome.\n```",
        "I'm tired.",
        "I'm working on the parser now.",
        "I love it!",
        "That's a woman I work with.",
        "My password is hunter2 and I live in Oslo.",
        "I prefer the card 4242 4242 4242 4242.",
        "I use sk-abcdefghijklmnop1234 because I prefer keys.",
        "Bot: My name is Bot.",
        "Just kidding, I live in Rome.",
        "I live in " + "a very " * 60 + "large house.",
        "",
        "Я живу в Москве.",
        "🙂🙂",
    ],
)
def test_leaves_alone(text):
    """Questions, hypotheses, quotes, passing states, secrets and long sentences are no facts."""
    assert facts_in(message(text)) == []


def test_only_users_are_heard():
    """Only user messages are read, each fact names its message."""
    said = [message("I live in Rome.", "assistant"), message("I live in Rome.", "tool"), message("I live in Bonn.")]
    found = asyncio.run(OfflineExtractor().extract(said))
    assert [(fact.message_id, fact.quote) for fact in found] == [("m1", "I live in Bonn.")]


_PIECES = st.sampled_from(
    ["I live in Oslo", "I prefer tea", "my name is", "if I", "?", ". ", "\n", "“", "I'm", "a baker", "\u2019"]
)


@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=30).map(" ".join)))
def test_quotes_are_verbatim(text):
    """Every quote stands in the message where the fact says, and is short; the same text gives the same facts."""
    found = facts_in(message(text))
    for fact in found:
        assert text[fact.start : fact.end] == fact.quote
        assert len(fact.quote) <= LONGEST_QUOTE
        assert fact.category in CATEGORIES
    assert found == facts_in(message(text))
