"""Whose it is in a group chat: who said it, by the names of the messages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina import Memory
from lamina.knowledge.speakers import Speakers, about_whom, names_in, own_names
from lamina.testing.samples import a_told_fact
from lamina.values.message import Message, Role
from tests.places import Place

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
JOAN = replace(a_told_fact("f1", "Joan", key="name"), status="active")
CHAT = [
    ("Ana", "I live in Ghent."),
    ("Bob", "I'm allergic to peanuts."),
    (None, "My favourite colour is green."),
    ("Bob", "I live in Porto."),
]


def message(name: str | None, role: Role = "user") -> Message:
    return Message(
        id="m", session_id="s", seq=1, turn=1, role=role, body={"role": role, "content": "", "name": name},
        created_at=START, metadata={}, model=None, tokens=0, text="", digest="",
    )  # fmt: skip


def say(memory: Memory, *chat: tuple[str | None, str], user: str = "ana", session: str = "s1") -> None:
    """Say something in a session, and have each message read before the next."""
    for name, text in chat:
        given: dict[str, Any] = {"role": "user", "content": text}
        memory.add(given if name is None else given | {"name": name}, user_id=user, session_id=session)
        memory.settle()


def known(memory: Memory, user: str = "ana") -> set[str]:
    return {fact.text for fact in memory.facts(user)}


@pytest.mark.parametrize(
    ("user", "names", "name", "other"),
    [
        pytest.param("u1", ["Ana"], "Ana", None, id="one-name-is-the-user"),
        pytest.param("u1", ["Ana", "Bob"], "Ana", "Ana", id="nobody-is-known"),
        pytest.param("u1", ["Ana", "Bob"], None, None, id="without-a-name"),
        pytest.param("ana", ["Ana", "Bob"], "Ana", None, id="by-the-id"),
        pytest.param("ana@example.org", ["Ana", "Bob"], "ANA ", None, id="by-an-address"),
        pytest.param("ana", ["Ana", "Bob"], "Bob", "Bob", id="another"),
        pytest.param("u1", ["Joan", "Bob"], "Joan", None, id="by-a-name-that-is-known"),
        pytest.param("u1", ["Ana", "ana"], "ana", None, id="one-name-written-in-two-ways"),
    ],
)
def test_who_speaks(user: str, names: list[str], name: str | None, other: str | None) -> None:
    """The user, if no name is given, if it is theirs, or if nobody else speaks."""
    heard = Speakers(names=names_in(message(one) for one in names), own=own_names(user, [JOAN], "s"))
    assert heard.other(message(name)) == other


def test_only_those_who_speak_as_users_count() -> None:
    """Assistants and tools have names, too."""
    assert names_in([message("Ana"), message("helper", role="assistant"), message(" ")]) == {"ana"}


@pytest.mark.parametrize(
    ("about", "other", "whom"),
    [
        (None, None, None), (None, "Bob", "Bob"), ("Lena", None, "Lena"), ("Lena", "Bob", "Lena"),
        ("sister", None, "sister"), ("sister", "Bob", "Bob's sister"), ("Bob's sister", None, "sister"),
        ("Bob", None, None), ("bob", "Bob", "Bob"),
    ],
)  # fmt: skip
def test_whom_it_is_about(about: str | None, other: str | None, whom: str | None) -> None:
    """Who says it, unless another is named; a relative without a name is that of who says it. It can be said again."""
    assert about_whom(about, message("Bob"), other) == whom
    assert about_whom(whom, message("Bob"), other) == whom


@pytest.mark.also_postgres
def test_facts_of_a_group_belong_to_who_said_them(place: Place) -> None:
    """The user's are those without a name or under their own; everybody else's are kept under their name."""
    with Memory(place(), worker=False) as memory:
        say(memory, *CHAT)
        assert known(memory) == {
            "location: Ghent", "Bob: allergic to peanuts", "favourite colour: green", "Bob's location: Porto",
        }  # fmt: skip
        memory.add("I moved to Lisbon.", user_id="ana", session_id="s2")
        memory.settle()
        assert {"location: Lisbon", "Bob's location: Porto"} <= known(memory)


@pytest.mark.also_postgres
def test_a_second_name_says_whose_the_first_facts_are(place: Place) -> None:
    """While one name speaks, it is taken for the user's; with a second one, both are others, if neither is known."""
    with Memory(place(), worker=False) as memory:
        say(memory, ("Bob", "I live in Porto."), user="u1")
        (fact,) = memory.facts("u1")
        memory.promote(fact.id)
        assert fact.about is None
        say(memory, ("Cleo", "Good evening."), user="u1")
        (moved,) = memory.facts("u1")
        assert (moved.id, moved.about, moved.text, moved.verdict) == (
            fact.id,
            "Bob",
            "Bob's location: Porto",
            "promoted",
        )
        (hit, *_) = memory.search("Where does Bob live?", user_id="u1", kinds=["fact"])
        assert hit.text == "Bob's location: Porto"
        assert memory.verify().problems == ()


def test_a_name_that_is_known_is_the_users(place: Place) -> None:
    """From what was said or told outside the group, before the group was read."""
    with Memory(place(), worker=False) as memory:
        say(memory, (None, "My name is Ana."), user="u1", session="alone")
        say(memory, *CHAT, user="u1")
        assert {"location: Ghent", "Bob: allergic to peanuts"} <= known(memory, "u1")


def test_a_speaker_who_is_forgotten_never_spoke(place: Place) -> None:
    """With one name left, its messages are the user's again."""
    with Memory(place(), worker=False) as memory:
        say(memory, ("Bob", "I live in Porto."), ("Cleo", "I live in Rome."), user="u1")
        assert known(memory, "u1") == {"Bob's location: Porto", "Cleo's location: Rome"}
        memory.forget(message_id=memory.messages("s1")[1].id)
        assert known(memory, "u1") == {"location: Porto"}


@pytest.mark.parametrize("every", [1, 2, 9])
def test_it_does_not_matter_when_it_is_read(place: Place, every: int) -> None:
    """Message by message, or all at once."""
    with Memory(place(), worker=False) as memory:
        for at, (name, text) in enumerate([("Bob", "I live in Porto."), *CHAT]):
            sent = {"role": "user", "content": text, "created_at": (START + timedelta(minutes=at)).isoformat()}
            memory.add(sent if name is None else sent | {"name": name}, user_id="u1", session_id="s1")
            if at % every == 0:
                memory.settle()
        memory.settle()
        assert known(memory, "u1") == {
            "Bob's location: Porto", "Ana's location: Ghent", "Bob: allergic to peanuts", "favourite colour: green",
        }  # fmt: skip
