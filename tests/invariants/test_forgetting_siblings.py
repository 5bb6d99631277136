"""Forgetting one fact changes nothing else: whatever was decided on others of its messages survives."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import InputError, Memory
from lamina.protocols.models import FactDraft
from lamina.values.fact import Fact
from lamina.values.message import Message
from tests.invariants.strategies import START, USER
from tests.places import Place
from tests.sizes import examples

SENTENCES = (
    "My name is Annalena.",
    "I live in Zanzibar.",
    "I work as a welder.",
    "I'm allergic to peanuts.",
    "I love sailing.",
    "My favourite colour is turquoise.",
    "We decided to use Postgres because it is boring.",
    "I'm vegan.",
    "My age is 42.",
)
DECISIONS = ("retract", "demote", "promote", "update", "retag", "link", "link_episode", "use")
_MOVED = ("quote", "start", "end")  # what was cut out before a fact moves it

said = st.lists(st.permutations(SENTENCES).map(lambda many: many[:5]), min_size=1, max_size=3)
decisions = st.lists(st.tuples(st.sampled_from(DECISIONS), st.integers(0, 20)), max_size=8)


def decide(memory: Memory, decision: str, number: int) -> None:
    """Take a decision on some fact, if it can be taken."""
    facts = known(memory)
    fact, other = facts[number % len(facts)], facts[(number + 1) % len(facts)]
    try:
        if decision in {"retract", "demote", "promote"}:
            getattr(memory, decision)(fact.id)
        elif decision == "update":
            memory.update(fact.id, f"changed by hand {number}")
        elif decision == "retag":
            memory.update(fact.id, tags=["by hand"], importance=0.9)
        elif decision == "link":
            memory.link(fact.id, other.id, "supports", 0.5)
        elif decision == "link_episode" and (happened := memory.episodes(USER)):
            memory.link(happened[0].id, fact.id, "causes", 0.25)
        elif decision == "use":
            memory.fact(fact.id)
    except InputError:
        pass  # not on a fact that stands like this


def known(memory: Memory) -> list[Fact]:
    """All facts, however they stand."""
    statuses = ("candidate", "active", "superseded", "retracted", "conflicted", "archived", "evidence")
    return sorted(memory.facts(USER, statuses=statuses), key=lambda fact: (fact.seq, fact.start, fact.id))


def lasting(memory: Memory, gone: set[str], rivals: set[str]) -> dict[str, Any]:
    """All that must be as it was, but for where the words stand: facts with history, links, episodes."""
    facts = {}
    for fact in known(memory):
        told = {name: value for name, value in asdict(fact).items() if name not in _MOVED}
        if fact.id in rivals:  # one value less was said of the same thing
            told = {name: told[name] for name in ("id", "value", "tags", "verdict", "verdict_at", "accesses")}
        else:
            told["history"] = [one.id for one in memory.history(fact.id)]
        facts[fact.id] = told
    links = {
        (link.source, link.target, link.type, link.strength, link.created_at)
        for fact_id in facts
        for link in memory.why(fact_id).links
        if not gone & {link.source, link.target}
    }
    happened = {one.id: (one.kind, one.accesses, one.merged, set(one.linked) - gone) for one in memory.episodes(USER)}
    return {
        "facts": {key: told for key, told in facts.items() if key not in gone},
        "links": links,
        "happened": happened,
    }


def check_forgetting(memory: Memory, chosen: int) -> None:
    """Forget one fact and compare all the others."""
    memory.consolidate("nobody")  # notes what was used
    every = known(memory)
    fact = every[chosen % len(every)]
    slot = (fact.category, fact.slot)
    gone = {one.id for one in every if (one.category, one.slot, one.value) == (*slot, fact.value)}
    rivals = {one.id for one in every if (one.category, one.slot) == slot}
    before = lasting(memory, gone, rivals)
    receipt = memory.forget(fact_id=fact.id)
    assert set(receipt.facts) == gone
    after = lasting(memory, gone, rivals)
    assert after["facts"] == before["facts"]
    lost = before["happened"].keys() - after["happened"].keys()
    assert not lost or fact.value == "use Postgres"  # the moment told of nothing else
    assert after["links"] == {link for link in before["links"] if lost.isdisjoint(link[:2])}
    for key, told in after["happened"].items():
        assert told == before["happened"].get(key, told)
    for one in known(memory):
        if one.message_id is not None:
            text = memory.message(one.message_id).text
            assert text[one.start : one.end] == one.quote != ""
    assert memory.verify().problems == ()


def filled(memory: Memory, turns: Sequence[Sequence[str]]) -> None:
    for number, sentences in enumerate(turns):
        at = (START + timedelta(minutes=number)).isoformat()
        memory.add(
            {"role": "user", "content": " ".join(sentences), "created_at": at},
            user_id=USER,
            session_id=f"s{number % 2}",
        )
    memory.settle()


@examples(60)
@given(turns=said, taken=decisions, chosen=st.integers(0, 20))
def test_every_decision_on_another_fact_survives(
    turns: list[list[str]], taken: list[tuple[str, int]], chosen: int
) -> None:
    """Status, versions, tags, links, use and history, of facts said once or several times, by hand or not."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "f.db", worker=False) as memory:
        filled(memory, turns)
        for decision, number in taken:
            decide(memory, decision, number)
        check_forgetting(memory, chosen)


@pytest.mark.also_postgres
def test_decisions_survive_on_every_store(place: Place) -> None:
    """The same with one of each decision, twice over."""
    with Memory(place(), worker=False) as memory:
        filled(memory, [SENTENCES, SENTENCES[3:], SENTENCES[:4]])
        for number, decision in enumerate(DECISIONS):
            decide(memory, decision, number)
        check_forgetting(memory, 9)
        check_forgetting(memory, 1)


class _WholeSentence:
    """An extractor that quotes all of a message for each fact, as models like to."""

    name = "whole"

    async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
        return [
            FactDraft(
                message_id=message.id, category="identity", key=f"word {at}", value=word.strip(".,"),
                quote=message.text, start=0, end=len(message.text), confidence=0.9, importance=0.5,
            )
            for message in messages
            for at, word in enumerate(message.text.split())
            if word[0].isupper()
        ]  # fmt: skip


@examples(30)
@given(chosen=st.integers(0, 5), taken=decisions)
def test_facts_that_quote_the_same_words_survive(chosen: int, taken: list[tuple[str, int]]) -> None:
    """Only the value is cut out then, so that what bears out the others stays; one of few letters takes the quote."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "f.db", worker=False, extractor=_WholeSentence()) as memory,
    ):
        memory.add("Annalena is near Zanzibar or Rio with Berthold, and Zoe.", user_id=USER, session_id="s0")
        memory.settle()
        for decision, number in taken:
            decide(memory, decision, number)
        check_forgetting(memory, chosen)
