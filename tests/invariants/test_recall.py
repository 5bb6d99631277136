"""Invariant: what a search finds depends on what is stored alone, not on the store, the past or the process."""

import tempfile
from contextlib import ExitStack
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, Memory
from tests.invariants.strategies import START, USER, CheapCounter, Log, logs
from tests.sizes import examples

QUERIES = (
    "Where do I live?",
    "Do I like coffee or tea?",
    "harbour lighthouse plan",
    "猫が好き",
    "What did Bob say on Saturday?",
    "alpha beta 4242",
)
OPTIONS: dict[str, Any] = {
    "worker": False,
    "profile": PROFILES["default"],
    "counter": CheapCounter(),
    "now": lambda: START + timedelta(days=1),
}


def found(memory: Memory, query: str, **options: Any) -> list[tuple[str, str, float]]:
    """Kinds, what tells a hit from another in any store, and scores."""
    hits = memory.search(query, user_id=USER, top_k=30, **options)
    return [(hit.kind, hit.id if hit.kind == "message" else hit.text, hit.score) for hit in hits]


def same(one: list[tuple[str, str, float]], other: list[tuple[str, str, float]]) -> None:
    assert [hit[:2] for hit in one] == [hit[:2] for hit in other]
    assert [hit[2] for hit in one] == pytest.approx([hit[2] for hit in other], abs=1e-5)


def parts_of(log: Log, cuts: list[int]) -> list[tuple[str, Log]]:
    """A log in pieces that go to two sessions in turn."""
    named = [{**message, "id": f"m{number}"} for number, message in enumerate(log)]
    places = [0, *sorted(min(cut, len(named)) for cut in cuts), len(named)]
    pieces = [named[first:last] for first, last in pairwise(places)]
    return [(f"s{(number * 7) % 3}", piece) for number, piece in enumerate(pieces) if piece]


@given(
    log=logs(most=10),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    settles=st.sets(st.integers(0, 4)),
    query=st.sampled_from(QUERIES),
    weights=st.sampled_from([None, {"semantic": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1}]),
)
@examples(15)
def test_stores_and_restarts_find_the_same(
    log: Log, cuts: list[int], settles: set[int], query: str, weights: dict[str, float] | None
) -> None:
    """Equal hits with equal scores: in memory, on a file searched all along, and on the same file opened anew."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        path = Path(folder) / "chat.db"
        live = held.enter_context(Memory(path, **OPTIONS))
        memory = held.enter_context(Memory(":memory:", **OPTIONS))
        for number, (session_id, piece) in enumerate(parts_of(log, cuts)):
            for one in (live, memory):
                one.add(piece, user_id=USER, session_id=session_id)
                if number in settles:
                    one.settle()
            found(live, query)
        for settled in (False, True):
            if settled:
                live.settle()
                memory.settle()
            hits = found(live, query, weights=weights)
            same(found(memory, query, weights=weights), hits)
            with Memory(path, **OPTIONS) as reopened:
                same(found(reopened, query, weights=weights), hits)


@given(log=logs(most=6), gone=st.sets(st.integers(0, 12), min_size=1, max_size=4), query=st.sampled_from(QUERIES))
@examples(10)
def test_what_is_left_after_forgetting_is_found_as_if_read_anew(log: Log, gone: set[int], query: str) -> None:
    """A memory that had all of it at hand finds what one finds that is opened after the forgetting."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "chat.db", **OPTIONS) as live:
        ((session_id, piece),) = parts_of(log, [])
        live.add(piece, user_id=USER, session_id=session_id)
        live.settle()
        found(live, query)
        for number in sorted(gone):
            if number < len(piece):
                live.forget(message_id=f"m{number}")
                hits = found(live, query)
                with Memory(Path(folder) / "chat.db", **OPTIONS) as reopened:
                    same(found(reopened, query), hits)
                assert f"m{number}" not in [hit[1] for hit in hits]
