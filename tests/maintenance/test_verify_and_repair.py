"""Verify and repair where the store itself gives trouble, and what is counted where nothing may be written."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from lamina import Memory
from lamina.errors import StoreBusy, StoreError, StoreReadOnly
from tests.ship_talk import PROFILE, talk

pytestmark = pytest.mark.anyio


def broken(patch, memory, verb, error):
    async def fails(*args):
        raise error

    patch.setattr(type(memory._parts.store), verb, fails)


@pytest.mark.parametrize(
    ("verb", "error", "found"),
    [
        pytest.param("check", StoreReadOnly("it may only be read"), [], id="read-only"),
        pytest.param("check", StoreError("no such page"), [("file", "store", "no such page")], id="damaged"),
        pytest.param("audit", StoreError("no such page"), [("file", "session s1", "no such page")], id="session"),
    ],
)
async def test_what_the_store_cannot_tell_is_a_problem(opened, monkeypatch, verb, error, found):
    """Unless it may only be read: then its word index is not looked at."""
    memory = await opened()
    await talk(memory)
    broken(monkeypatch, memory, verb, error)
    report = await memory.verify()
    assert [(problem.kind, problem.where, problem.text) for problem in report.problems] == found


@pytest.mark.parametrize("verb", ["check", "audit"])
async def test_a_busy_store_is_no_damage(opened, monkeypatch, verb):
    """The caller is told to try again."""
    memory = await opened()
    await talk(memory)
    broken(monkeypatch, memory, verb, StoreBusy("the database is locked"))
    with pytest.raises(StoreBusy):
        await memory.verify()


async def test_summaries_of_dropped_messages_are_not_made_anew(opened, path, clock):
    """There is nothing left to make them from: the damage stays in the report."""
    memory = await opened(profile=PROFILE.but(keep_message_days=30.0))
    await talk(memory, turns=6)
    await memory.settle()
    clock.advance(seconds=timedelta(days=31).total_seconds())
    assert (await memory.consolidate()).messages_dropped > 0
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("update summaries set record = replace(record, 'tea', 'ink')")
    before = await memory.messages("s1")
    report = await memory.repair()
    assert {problem.kind for problem in report.problems} == {"summary"}
    assert not any("folded again" in text for text in report.mended)
    assert await memory.messages("s1") == before


async def test_uses_are_not_counted_where_nothing_may_be_written(opened, monkeypatch):
    """What is asked is answered all the same."""
    memory = await opened()
    await memory.remember("The kettle is red", user_id="ann")
    broken(monkeypatch, memory, "note_accesses", StoreReadOnly("it may only be read"))
    assert len(await memory.search("kettle", user_id="ann")) == 1
    await memory.settle()
    (fact,) = await memory.facts("ann")
    assert fact.accesses == 0


@pytest.mark.also_postgres
@pytest.mark.parametrize("verb", ["settle", "remember"])
def test_facts_follow_a_change_of_the_profile(place, verb):
    """To look at a memory with another profile changes nothing; once it is written with, all facts stand by it."""
    said = [f"I live in {city}." for city in ("Porto", "Lisbon", "Porto", "Ghent")]
    with Memory(place(), profile="layered", worker=False, embedder="none") as memory:
        for user in ("ann", "bob"):
            memory.add(said, user_id=user)
        memory.settle()
        before = memory.facts("ann", statuses=("active", "conflicted", "superseded"))
        assert {fact.status for fact in before} >= {"conflicted"}
    for name in ("default", "assistant", "layered"):
        with Memory(place(), profile=name, worker=False, embedder="none") as memory:
            assert memory.verify().problems == ()
            if verb == "settle":
                memory.settle()
            else:
                memory.remember("We ship on Fridays", user_id="ann")
            assert memory.verify().problems == ()
            conflicted = memory.facts("bob", statuses=("conflicted",))
            assert bool(conflicted) == (name == "layered")
