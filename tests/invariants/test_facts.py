"""Facts over time, as properties: one value holds, in any order of writing; the past can be asked for."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory
from lamina.knowledge import conflicts, fact_words
from lamina.protocols.store import FactsCommit, Store
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing.oracle import OracleStore
from lamina.values.fact import ConflictRule, Fact
from tests.invariants.strategies import START, USER
from tests.sizes import examples

VALUES = ("Porto", "porto ", "PORTO", "Berlin", "東京", "القاهرة", "🏝️", "São Paulo", "Sao Paulo", "Straße", "STRASSE")
rules = st.builds(
    ConflictRule, conflicts=st.sampled_from(["newest", "confidence", "flag"]), promote=st.sampled_from([0.0, 0.6])
)
days = st.integers(0, 12).map(lambda day: START + timedelta(days=day))
shares = st.sampled_from([0.45, 0.6, 0.75, 0.9, 1.0])


@st.composite
def assertions(draw: st.DrawFn) -> list[Fact]:
    """Facts about one or two things, said and told, ended, judged, in any order of time."""
    return [_assertion(draw, number) for number in range(draw(st.integers(1, 9)))]


def _assertion(draw: st.DrawFn, number: int) -> Fact:
    at = draw(days)
    value = draw(st.sampled_from(VALUES))
    told = draw(st.booleans()) and draw(st.booleans())
    key = draw(st.sampled_from(["location", "location", "Location ", "hometown"]))
    verdict = draw(st.sampled_from([None, None, None, "promoted", "demoted", "retracted", "archived"]))
    return Fact(
        id=f"f{number}",
        user_id=USER,
        type="fact",
        category="identity",
        key=key,
        slot=_slot(draw, key, value),
        value=value,
        origin="told" if told else "said",
        confidence=draw(shares),
        importance=0.8,
        learnt_at=at,
        valid_from=at - timedelta(days=draw(st.integers(0, 3))),
        created_at=START,
        until=draw(st.sampled_from([None, None, None, at + timedelta(days=4)])),
        holds=told or draw(st.integers(0, 4)) > 0,
        seq=number,
        verdict=verdict,  # type: ignore[arg-type]
        verdict_at=None if verdict is None else at + timedelta(days=draw(st.integers(0, 6))),
    )


def _slot(draw: st.DrawFn, key: str, value: str) -> str:
    """The slot of a key, one beside it for this value, or the one that takes the place of all."""
    own = fact_words.slot_of(key, value)
    beside = f"{own}{fact_words.INSTEAD}"
    return draw(st.sampled_from([own, own, own, f"{beside}{fact_words.normalise_value(value)}", beside]))


async def written(store: OracleStore | Store, batches: Sequence[Sequence[Fact]], rule: ConflictRule) -> list[Fact]:
    for batch in batches:
        await store.commit_facts(FactsCommit(user_id=USER, rule=rule, put=tuple(batch)))
    return await store.facts(USER)


def standing(facts: Sequence[Fact]) -> dict[str, tuple[object, ...]]:
    return {fact.id: (fact.status, fact.valid_until, fact.of, fact.version) for fact in facts}


@examples(150)
@given(facts=assertions(), rule=rules, order=st.randoms(use_true_random=False), size=st.integers(1, 4))
def test_one_value_of_each_key_holds_in_any_order_of_writing(facts, rule, order, size) -> None:
    """However facts come in, each slot has at most one active value, and all stand as if written at once."""
    shuffled = list(facts)
    order.shuffle(shuffled)
    batches = [shuffled[at : at + size] for at in range(0, len(shuffled), size)]
    stored = asyncio.run(written(OracleStore(), batches, rule))
    at_once = asyncio.run(written(OracleStore(), [facts], rule))
    assert standing(stored) == standing(at_once)
    active = [(fact.category, fact.slot) for fact in stored if fact.status == "active"]
    assert len(active) == len(set(active))
    family = [fact for fact in stored if fact_words.family_of(fact.slot) == "location"]
    assert conflicts.resolve(family, rule) == family, "settling again changes nothing"


@examples(15)
@given(facts=assertions(), rule=rules, order=st.randoms(use_true_random=False))
def test_the_database_keeps_one_value_too(facts, rule, order, tmp_path_factory) -> None:
    """SQLite, whose unique index would refuse a second active value, agrees with the reference store."""
    shuffled = list(facts)
    order.shuffle(shuffled)

    async def scenario(path: Path) -> list[Fact]:
        store = SqliteStore(path)
        await store.open()
        try:
            return await written(store, [[fact] for fact in shuffled], rule)
        finally:
            await store.close()

    stored = asyncio.run(scenario(tmp_path_factory.mktemp("facts") / "f.db"))
    assert standing(stored) == standing(asyncio.run(written(OracleStore(), [facts], rule)))


def test_writers_at_the_same_time_leave_one_value(tmp_path: Path) -> None:
    """Four memories on one file tell forty values of one key at once: one holds, forty are in its history."""
    path = tmp_path / "f.db"
    memories = [Memory(path, worker=False) for _ in range(4)]

    def tell(memory: Memory, number: int) -> None:
        for turn in range(10):
            memory.remember(f"city {number}-{turn}", user_id=USER, category="identity", key="location")

    threads = [threading.Thread(target=tell, args=(memory, number)) for number, memory in enumerate(memories)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (active,) = memories[0].facts(USER)
    history = memories[0].history(active.id)
    assert len(history) == 40
    assert [fact.status for fact in history].count("active") == 1
    assert history[-1] == active
    assert memories[0].verify().ok
    for memory in memories:
        memory.close()


@examples(120)
@given(facts=assertions(), rule=rules, as_of=days, known_at=days)
def test_the_past_is_what_a_replay_up_to_then_gives(facts, rule, as_of, known_at) -> None:
    """What held at a time, by what was known at another, is what a memory answers that heard nothing later."""
    then = [_before(fact, known_at) for fact in facts if fact.learnt_at <= known_at]
    replayed = asyncio.run(written(OracleStore(), [[fact] for fact in sorted(then, key=conflicts.order)], rule))
    asked = conflicts.holding(conflicts.as_known_at(facts, known_at, rule), as_of)
    assert {fact.id for fact in asked} == {fact.id for fact in replayed if _holds(fact, as_of)}


def _before(fact: Fact, at: datetime) -> Fact:
    if fact.verdict_at is not None and fact.verdict_at > at:
        return replace(fact, verdict=None, verdict_at=None)
    return fact


def _holds(fact: Fact, at: datetime) -> bool:
    """Written out once more, without the code under test."""
    if fact.status in {"candidate", "retracted", "evidence"} or not fact.holds:
        return False
    ends = [end for end in (fact.valid_until, fact.until) if end is not None]
    return fact.valid_from <= at and all(at < end for end in ends)


@examples(80)
@given(facts=assertions(), at=days)
def test_values_of_a_key_follow_each_other_in_time(facts, at) -> None:
    """By the rule `newest`, at any time at most one value of a key holds, beside those in open conflict."""
    known = conflicts.as_known_at(facts, START + timedelta(days=60), ConflictRule())
    held = [fact for fact in conflicts.holding(known, at) if fact.status != "conflicted"]
    for one, other in pairwise(sorted(held, key=lambda fact: fact.slot)):
        same = one.slot == other.slot
        assert not same or {one.status, other.status} != {"active"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Café", "CAFÉ", True, id="case-and-accent"),
        pytest.param("Café", "Cafe\u0301", True, id="composed-and-not"),
        pytest.param("café", "cafe", False, id="accents-count"),
        pytest.param("Straße", "STRASSE", True, id="sharp-s"),
        pytest.param("\uff34\uff4f\uff4b\uff59\uff4f", "Tokyo", True, id="width"),
        pytest.param("東京", "京都", False, id="other-kanji"),
        pytest.param("القاهرة", "القاهره", False, id="other-letter"),
        pytest.param("Ελλάς", "ΕΛΛΆΣ", True, id="final-sigma"),
        pytest.param("🎸", "🎹", False, id="emoji"),
        pytest.param("👩🏽‍🔬", "👩🏻‍🔬", False, id="skin-tone"),
        pytest.param("हिन्दी", "हिन्दि", False, id="vowel-sign"),
        pytest.param("  two   words. ", "Two words", True, id="spaces-and-points"),
        pytest.param("...", "!!!", False, id="signs-only"),
    ],
)
def test_values_are_compared_in_every_script(tmp_path: Path, one: str, other: str, *, same: bool) -> None:
    """Two writings of one value are one fact; two values never are."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.remember(one, user_id=USER)
        memory.remember(other, user_id=USER)
        assert len(memory.facts(USER)) == (1 if same else 2)
