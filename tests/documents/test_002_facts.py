"""Document 002, structured facts, as the profile `assistant`: found, judged, kept in versions, shown."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lamina import Memory
from lamina.protocols.models import FactDraft
from lamina.values.fact import FACT_STATUSES
from lamina.values.message import Message
from tests.documents.talks import SESSION, USER, Clock, Finding, Table, Talk, values
from tests.places import Place

Opener = Callable[..., Memory]


@pytest.mark.parametrize(
    ("text", "category", "key", "value"),
    [
        pytest.param("My name is Alex.", "identity", "name", "Alex", id="identity"),
        pytest.param("I live in Porto.", "identity", "location", "Porto", id="location"),
        pytest.param("I prefer Python.", "preference", "language", "Python", id="preference"),
        pytest.param("My timezone is Europe/Lisbon.", "preference", "time zone", "Europe/Lisbon", id="time-zone"),
        pytest.param("I am vegetarian.", "constraint", "diet", "vegetarian", id="constraint"),
        pytest.param(
            "Always answer in metric units.", "instruction", None, "Always answer in metric units", id="instruction"
        ),
    ],
)
def test_the_four_categories(opened: Opener, text: str, category: str, key: str | None, value: str) -> None:
    """002.3: identity, preference, constraint, instruction, each with key, value, confidence and importance."""
    talk = Talk(opened("assistant"))
    talk.add("user", text)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    assert (fact.category, fact.key, fact.value) == (category, key, value)
    assert 0.4 <= fact.confidence <= 1
    assert 0.2 <= fact.importance <= 1
    assert {"identity", "preference", "constraint", "instruction"} <= set(talk.memory.profile.categories)


def test_one_active_value_for_each_key_and_all_versions_kept(opened: Opener, clock: Clock) -> None:
    """002.3: of a category and key one value is active; the old ones stay as versions, with the time they held."""
    talk = Talk(opened("assistant"))
    moved = []
    for city in ("Porto", "Lisbon", "Berlin"):
        talk.add("user", f"I live in {city}.")
        moved.append(clock.moment)
        clock.ahead(days=10)
    talk.memory.settle()
    (active,) = talk.memory.facts(USER)
    assert active.value == "Berlin"
    versions = talk.memory.history(active.id)
    assert [(fact.value, fact.version, fact.status) for fact in versions] == [
        ("Porto", 1, "superseded"),
        ("Lisbon", 2, "superseded"),
        ("Berlin", 3, "active"),
    ]
    assert [(fact.valid_from, fact.valid_until) for fact in versions] == [
        (moved[0], moved[1]),
        (moved[1], moved[2]),
        (moved[2], None),
    ]
    assert values(talk.memory.facts(USER, as_of=moved[1])) == ["Lisbon"]


def test_the_same_key_in_another_category_or_of_another_user_is_another_fact(opened: Opener, clock: Clock) -> None:
    """002.3: unique by user, category and key; case and spaces of a key do not count."""
    memory = opened("assistant")
    memory.remember("Python", user_id=USER, category="preference", key="Language")
    memory.remember("English", user_id=USER, category="identity", key="language")
    memory.remember("Rust", user_id="sam", category="preference", key="language")
    assert set(values(memory.facts(USER))) == {"Python", "English"}
    clock.ahead(seconds=1)
    memory.remember("Go", user_id=USER, category="preference", key="  LANGUAGE ")
    assert set(values(memory.facts(USER))) == {"Go", "English"}
    assert values(memory.facts("sam")) == ["Rust"]


def test_the_example_of_the_document(opened: Opener) -> None:
    """002.4: "My name is Alex and I prefer Python" gives identity/name and preference/language, the name surer."""
    talk = Talk(opened("assistant"))
    talk.add("user", "My name is Alex and I prefer Python")
    assert not talk.memory.facts(USER), "not while the message is added"
    assert talk.memory.settle().facts == 2
    name, language = talk.memory.facts(USER)
    assert (name.category, name.key, name.value) == ("identity", "name", "Alex")
    assert (language.category, language.key, language.value) == ("preference", "language", "Python")
    assert name.confidence > language.confidence >= 0.8


def test_every_user_message_is_read_once(opened: Opener) -> None:
    """002.4: extraction follows every user message, reads none twice, and finds nothing in anybody else's."""
    table = Table([Finding(words="Alex", key="name", value="Alex")])
    talk = Talk(opened("assistant", extractor=table))
    for turn in range(1, 6):
        talk.add("user", f"I am Alex, in turn {turn}")
        talk.add("assistant", f"Hello Alex, in turn {turn}")
        talk.memory.settle()
        assert [text for text in table.read if text.startswith("I am")] == [
            f"I am Alex, in turn {number}" for number in range(1, turn + 1)
        ]
    (fact,) = talk.memory.facts(USER)
    assert fact.seq == 1
    assert len(talk.memory.why(fact.id).evidence) == 4, "told again, it is the same fact with more evidence"


class Held:
    """An extractor that waits until it is let go."""

    name = "held"

    def __init__(self) -> None:
        self.started, self.free = threading.Event(), threading.Event()
        self._table = Table([Finding(words="Alex", key="name", value="Alex")])

    async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
        self.started.set()
        await asyncio.to_thread(self.free.wait, 60)
        return await self._table.extract(messages)


def test_extraction_runs_in_the_background(place: Place) -> None:
    """002.4: it starts by itself after the message; the next message and a context come while it is at work."""
    held = Held()
    with Memory(place("chat.db"), profile="assistant", extractor=held) as memory:
        talk = Talk(memory)
        talk.add("user", "I am Alex")
        try:
            assert held.started.wait(60), "nobody had to ask for it"
            talk.add("assistant", "Hello")
            assert "name: Alex" not in talk.context("Who am I?").text
            assert not memory.facts(USER)
        finally:
            held.free.set()
        memory.settle()
        assert "- name: Alex\n" in talk.context("Who am I?").text


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        pytest.param({}, True, id="sure-and-important"),
        pytest.param({"confidence": 0.4}, True, id="confidence-0.4"),
        pytest.param({"confidence": 0.39}, False, id="confidence-0.39"),
        pytest.param({"importance": 0.2}, True, id="importance-0.2"),
        pytest.param({"importance": 0.19}, False, id="importance-0.19"),
        pytest.param({"category": "instruction"}, True, id="a-category-of-the-document"),
        pytest.param({"category": "goal"}, False, id="a-category-of-another-document"),
        pytest.param({"category": "gossip"}, False, id="no-category-at-all"),
        pytest.param({"value": " "}, False, id="no-value"),
        pytest.param({"confidence": 1.5}, False, id="no-confidence-at-all"),
    ],
)
def test_what_is_found_is_validated(opened: Opener, changed: dict[str, object], kept: bool) -> None:
    """002.4 and 002.6: confidence at least 0.4, importance at least 0.2, a valid category; all else is not stored."""
    finding = Finding(**{"words": "it is so", "key": "thing", "value": "so", **changed})  # type: ignore[arg-type]
    talk = Talk(opened("assistant", extractor=Table([finding])))
    talk.add("user", "I tell you it is so")
    assert talk.memory.settle().facts == int(kept)
    assert len(talk.memory.facts(USER, statuses=FACT_STATUSES)) == int(kept)


def test_a_quote_that_nobody_said_is_not_believed(opened: Opener) -> None:
    """002.4: what a model makes up is not a fact: its quote must stand in the message, at its place."""

    class Inventive(Table):
        async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
            (draft,) = await super().extract(messages)
            king = replace(draft, key="rank", value="king", quote="I am the king")
            return [draft, king, replace(draft, key="shift", start=1, end=10)]

    talk = Talk(opened("assistant", extractor=Inventive([Finding(words="I am Alex", key="name", value="Alex")])))
    talk.add("user", "Well, I am Alex")
    assert talk.memory.settle().facts == 1
    assert values(talk.memory.facts(USER, statuses=FACT_STATUSES)) == ["Alex"]


def test_findings_are_deduplicated_within_a_message(opened: Opener) -> None:
    """002.4: the same value of the same key twice in one message is one fact; two values are two."""
    table = Table(
        [
            Finding(words="Alex", key="name", value="Alex"),
            Finding(words="ALEX", key="Name", value=" alex. "),
            Finding(words="Porto", key="location", value="Porto"),
        ]
    )
    talk = Talk(opened("assistant", extractor=table))
    talk.add("user", "I am Alex, ALEX in capitals, from Porto")
    assert talk.memory.settle().facts == 2
    assert sorted(values(talk.memory.facts(USER, statuses=FACT_STATUSES))) == ["Alex", "Porto"]


@pytest.mark.parametrize(
    ("second", "holds"),
    [
        pytest.param(0.6, "Alex", id="less-sure-is-ignored"),
        pytest.param(0.89, "Alex", id="a-little-less-sure-too"),
        pytest.param(0.9, "Al", id="as-sure-replaces"),
        pytest.param(1.0, "Al", id="surer-replaces"),
    ],
)
def test_a_new_value_replaces_only_if_it_is_not_less_sure(opened: Opener, second: float, holds: str) -> None:
    """002.5: the confidence of a new value decides; both stand in the history."""
    table = Table(
        [
            Finding(words="My name is Alex", key="name", value="Alex", confidence=0.9),
            Finding(words="Call me Al.", key="name", value="Al", confidence=second),
        ]
    )
    talk = Talk(opened("assistant", extractor=table))
    talk.add("user", "My name is Alex")
    talk.add("assistant", "Hello Alex")
    talk.add("user", "Call me Al.")
    talk.memory.settle()
    (active,) = talk.memory.facts(USER)
    assert active.value == holds
    statuses = {fact.value: fact.status for fact in talk.memory.history(active.id)}
    assert statuses == (
        {"Alex": "active", "Al": "candidate"} if holds == "Alex" else {"Alex": "superseded", "Al": "active"}
    )
    assert f"- name: {holds}\n" in talk.context("Who am I?").text


def test_the_conflict_example_of_the_document(opened: Opener) -> None:
    """002.5: Alex with 1.0, then Al with 0.6 at turn 50: ignored, but kept and explained; by hand it can win."""
    table = Table(
        [
            Finding(words="My name is Alex", key="name", value="Alex", confidence=1.0),
            Finding(words="Call me Al.", key="name", value="Al", confidence=0.6),
        ]
    )
    talk = Talk(opened("assistant", extractor=table))
    talk.turns(4)
    talk.add("user", "My name is Alex")
    talk.add("assistant", "Hello Alex")
    talk.turns(44)
    talk.add("user", "Call me Al.")
    talk.memory.settle()
    alex, al = talk.memory.history(talk.memory.facts(USER)[0].id)
    assert [(one.value, one.status, one.seq) for one in (alex, al)] == [("Alex", "active", 9), ("Al", "candidate", 99)]
    assert "a value with higher confidence is current" in talk.memory.why(al.id).reasons[-1]
    talk.memory.promote(al.id)
    assert values(talk.memory.facts(USER)) == ["Al"]
    assert [one.status for one in talk.memory.history(al.id)] == ["superseded", "active"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("We discussed vector databases yesterday.", id="conversation-detail"),
        pytest.param("As I said before, the second option was better.", id="reference-to-the-talk"),
        pytest.param("I'm currently working on the login page.", id="temporary-work"),
        pytest.param("I am tired today.", id="temporary-state"),
        pytest.param("Maybe I like jazz.", id="low-confidence"),
        pytest.param("What is my name?", id="a-question"),
        pytest.param("If I lived in Berlin, I would cycle to work.", id="a-supposition"),
        pytest.param("Thanks, that helps a lot!", id="low-importance"),
    ],
)
def test_what_must_not_be_stored_is_not(opened: Opener, text: str) -> None:
    """002.6: conversation detail, temporary context, what is unsure or unimportant: not even as a candidate."""
    talk = Talk(opened("assistant"))
    talk.add("user", text)
    talk.add("assistant", "I live in the cloud and my name is Botty.")
    talk.memory.settle()
    assert not talk.memory.facts(USER, statuses=FACT_STATUSES)
    assert "User Profile" not in talk.context("Hello?").text


def test_what_is_said_of_somebody_else_is_kept_under_their_name(opened: Opener) -> None:
    """002.6: it is no fact of the user's."""
    talk = Talk(opened("assistant"))
    talk.add("user", "Tom lives in Berlin and loves chess.")
    talk.memory.settle()
    assert {fact.about for fact in talk.memory.facts(USER, statuses=FACT_STATUSES)} == {"Tom"}


def test_the_facts_of_stage_one(opened: Opener, clock: Clock) -> None:
    """002.7: active facts of importance 0.5 and above, all of them, the most important first, whatever is asked."""
    memory = opened("assistant")
    for key, importance in (("shoe", 0.49), ("colour", 0.5), ("name", 1.0), ("city", 0.8), ("team", 0.9)):
        memory.remember(f"the {key}", user_id=USER, key=key, importance=importance)
    clock.ahead(seconds=1)
    memory.remember("the old town", user_id=USER, key="city", importance=0.95)
    memory.remember("the club", user_id=USER, key="club", importance=0.9)
    memory.retract(memory.facts(USER)[-2].id)
    retracted = memory.facts(USER, statuses=["retracted"])
    assert values(retracted) == ["the colour"]
    context = memory.context("Something unrelated to all of it?", user_id=USER, session_id=SESSION)
    lines = context.text.splitlines()
    at = lines.index("## User Profile")
    assert lines[at + 1 : lines.index("", at)] == [
        "- name: the name",
        "- city: the old town",
        "- team: the team",
        "- club: the club",
    ]
    shown = [item.id for item in context.manifest.items if item.section == "facts"]
    assert shown == [fact.id for fact in memory.facts(USER, min_importance=0.5)]


def test_facts_are_found_without_fail_after_a_thousand_turns(opened: Opener) -> None:
    """002.7: "What's my name?" is answered from the facts, however long ago it was said."""
    talk = Talk(opened("assistant"))
    talk.add("user", "My name is Alex")
    talk.add("assistant", "Hello Alex")
    messages = [{"role": "assistant" if n % 2 else "user", "content": f"Line {n} of a poem"} for n in range(2_000)]
    talk.memory.add(messages, user_id=USER, session_id=SESSION)
    talk.memory.settle()
    text = talk.context("What's my name?").text
    assert text.startswith("# Long-term Memory\n## User Profile\n- name: Alex\n")
