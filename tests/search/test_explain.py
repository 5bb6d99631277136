"""A search with how it went: the same hits and more, true counts, and the time of each step."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, AsyncMemory, InputError, Memory
from lamina.search.filters import Request
from lamina.search.search import Found, Search

USER = "ann"
SAID = (
    "We got a puppy last week and named him Bruno.",
    "The quarterly report for the board is late again.",
    "My favourite pasta sauce has basil and anchovies.",
    "The train to Lisbon leaves at seven in the morning.",
)
ERRANDS = tuple(f"Errand {number}: stamps, bread and soap." for number in range(6))
STEPS = ["open", "understand", "embed", "rank", "read"]


def told(path: Path, **options: Any) -> Memory:
    memory = Memory(path, **{"worker": False, **options})
    memory.add([{"role": "user", "content": text} for text in SAID], user_id=USER, session_id="s1")
    memory.add([{"role": "user", "content": text} for text in ERRANDS], user_id=USER, session_id="s3")
    memory.add("I know nothing of puppies.", user_id="other", session_id="s2")
    memory.settle()
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with told(tmp_path / "chat.db") as opened:
        yield opened


def test_it_is_the_same_search(memory: Memory) -> None:
    """Hits, order, scores and parts are those of `search`."""
    for query in ("Which puppy?", "pasta", "When does the train leave?"):
        explained = memory.search_explained(query, user_id=USER, top_k=3)
        assert list(explained.hits) == memory.search(query, user_id=USER, top_k=3, explain=True)
        assert explained.hits[0].parts
        assert (explained.least, explained.weights) == (0.0, None)


def test_rows_are_counted_after_the_filters_and_by_what_they_have_of_the_query(memory: Memory) -> None:
    seen = memory.search_explained("anchovies", user_id=USER, kinds=["message"])
    assert seen.considered == len(SAID) + len(ERRANDS)
    assert 1 <= seen.related < seen.considered
    assert len(seen.hits) == seen.related
    assert memory.search_explained("anchovies", user_id=USER, kinds=["message"], role="assistant").considered == 0
    assert memory.search_explained("anchovies", user_id=USER, kinds=["message"], session_id="s9").hits == ()
    strange = memory.search_explained("xylophone", user_id=USER, kinds=["message"])
    assert (strange.considered, strange.related, strange.hits) == (seen.considered, 0, ())


def test_hits_below_the_least_score_are_there_and_search_leaves_them_out(tmp_path: Path) -> None:
    """Of a profile with weights and a threshold; weights of one's own have no threshold."""
    profile = PROFILES["project"].but(relevance_threshold=0.6)
    with told(tmp_path / "chat.db", profile=profile) as memory:
        asked: Any = {"user_id": USER, "kinds": ["message"]}
        seen = memory.search_explained("the puppy and the train", **asked)
        shown = memory.search("the puppy and the train", **asked, explain=True)
        assert seen.least == 0.6
        assert seen.weights == profile.weights
        assert [hit for hit in seen.hits if hit.score >= seen.least] == shown
        assert len(seen.hits) > len(shown)
        own = memory.search_explained("puppy", **asked, weights={"keyword": 2, "semantic": 2})
        assert own.least == 0
        assert own.weights == {"semantic": 0.5, "keyword": 0.5, "recency": 0, "importance": 0, "access": 0}


def test_each_step_has_its_time_and_all_fit_into_the_whole(memory: Memory) -> None:
    began = time.perf_counter()
    seen = memory.search_explained("puppy", user_id=USER)
    whole = (time.perf_counter() - began) * 1000
    assert [stage.name for stage in seen.stages] == STEPS
    assert all(stage.ms >= 0 for stage in seen.stages)
    assert 0 < sum(stage.ms for stage in seen.stages) <= whole + 0.01
    nothing = memory.search_explained("?!", user_id=USER)
    assert [stage.name for stage in nothing.stages] == STEPS[:2]
    assert nothing.hits == ()


def test_what_is_not_at_hand_is_one_step_of_opening(tmp_path: Path) -> None:
    """A history too long to keep is looked up for the question; its steps have the same names, each once."""

    async def looked_up() -> Found:
        async with AsyncMemory(tmp_path / "chat.db", worker=False) as memory:
            recall = Search(replace(memory._parts, cache_bytes=1))
            assert await recall.cache.get(USER, memory._parts.embedder) is None
            return await recall.search(Request(query="puppy", user_id=USER, top_k=3, kinds=frozenset(("message",))))

    told(tmp_path / "chat.db").close()
    seen = asyncio.run(looked_up())
    assert [stage.name for stage in seen.stages] == STEPS
    assert seen.hits[0][0].text == SAID[0]


def test_looking_is_no_use_of_what_is_found(memory: Memory) -> None:
    fact = memory.remember("Ann swims on Sundays", user_id=USER)
    assert memory.search_explained("swims on Sundays", user_id=USER, kinds=["fact"]).hits[0].id == fact.id
    looked = memory.context("When does Ann swim?", user_id=USER, record_access=False)
    assert fact.id in {piece.id for piece in looked.manifest.items}
    assert memory.fact(fact.id, record_access=False).accesses == 0
    memory.settle()
    assert memory.fact(fact.id).accesses == 0  # to be read is a use
    memory.search("swims on Sundays", user_id=USER, kinds=["fact"])
    assert memory.context("When does Ann swim?", user_id=USER).text == looked.text
    memory.settle()
    assert memory.fact(fact.id).accesses == 3


def test_mistakes_are_those_of_search(memory: Memory) -> None:
    mistakes: list[Any] = [{"top_k": 0}, {"role": "king"}, {"weights": {}}, {"kinds": ["song"]}, {"since": "soon"}]
    for wrong in mistakes:
        with pytest.raises(InputError) as one:
            memory.search("puppy", **wrong)
        with pytest.raises(InputError) as other:
            memory.search_explained("puppy", **wrong)
        assert str(one.value) == str(other.value)
    with pytest.raises(TypeError):
        memory.search_explained("puppy", explain=True)  # type: ignore[call-arg]
