"""Document 001, project memory: the weighted sum, its threshold and top ten, an index that is always current."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from lamina import PROFILES, InputError, Memory
from tests.documents.talks import SESSION, USER, Clock, Talk, said

Opener = Callable[..., Memory]
WEIGHTS = {"semantic": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1, "access": 0.0}


@pytest.fixture
def project(opened: Opener, clock: Clock) -> Memory:
    """Four memories of one kettle: an old important one, a new unimportant one, a used one, and one of meaning."""
    memory = opened("project")
    memory.remember("Kettle: red", user_id=USER, importance=1.0, tags=["old"])
    clock.ahead(days=60)
    memory.remember("Kettle: blue", user_id=USER, importance=0.1, tags=["new"])
    memory.remember("Kettle: green", user_id=USER, importance=0.1, tags=["used"])
    memory.remember("A pot to boil water for tea", user_id=USER, importance=0.1, tags=["meant"])
    memory.settle()
    for _ in range(5):
        assert memory.search("Kettle green", user_id=USER, tags=["used"], weights={"keyword": 1})
    memory.settle()
    return memory


def parts(memory: Memory, query: str, **options: Any) -> dict[str, dict[str, float]]:
    """The parts of each hit's score, by the colour or the first word."""
    hits = memory.search(query, user_id=USER, explain=True, **options)
    return {hit.text: {name: part for name, part in hit.parts.items() if name != "cosine"} for hit in hits}


def test_the_weights_of_the_document(project: Memory) -> None:
    """001.13: .4 semantic, .3 keyword, .2 recency, .1 importance, 0 access; the parts add up to the score."""
    hits = project.search("kettle", user_id=USER, explain=True)
    assert {hit.text for hit in hits} >= {"Kettle: red", "Kettle: blue", "Kettle: green"}
    for hit in hits:
        told = {name: hit.parts[name] for name in WEIGHTS}
        assert sum(told.values()) == pytest.approx(hit.score, abs=1e-4)
        assert all(0 <= told[name] <= weight + 1e-6 for name, weight in WEIGHTS.items())
    found = parts(project, "kettle")
    assert found["Kettle: red"]["keyword"] == pytest.approx(0.3)
    assert found["Kettle: red"]["importance"] == pytest.approx(0.1)
    assert found["Kettle: red"]["recency"] == pytest.approx(0.2 * 0.25), "two half-lives"
    assert found["Kettle: blue"]["recency"] == pytest.approx(0.2, abs=1e-4)
    assert all(one["access"] == 0 for one in found.values())


@pytest.mark.parametrize("scale", [1, 10, 0.01])
def test_weights_are_normalised(project: Memory, scale: float) -> None:
    """001.13: only their proportions count: divided by their sum, in the profile and for one query."""
    plain = parts(project, "kettle")
    scaled = {name: weight * scale for name, weight in WEIGHTS.items()}
    for name, found in parts(project, "kettle", weights=scaled).items():
        if name in plain:
            assert found == pytest.approx(plain[name], abs=1e-5)
    changed = PROFILES["project"].but(**{f"{name}_weight": weight for name, weight in scaled.items()})
    assert changed.weights == pytest.approx(PROFILES["project"].weights)


@pytest.mark.parametrize(
    ("weights", "first"),
    [
        pytest.param({"importance": 1, "keyword": 1}, "Kettle: red", id="importance"),
        pytest.param({"recency": 1, "keyword": 1, "importance": 0.01}, "Kettle: blue", id="recency"),
        pytest.param({"access": 1, "keyword": 1}, "Kettle: green", id="access"),
    ],
)
def test_weights_for_one_query(project: Memory, weights: dict[str, float], first: str) -> None:
    """001.13: another proportion, another order, for this query alone."""
    before = parts(project, "kettle")
    hits = project.search("kettle", user_id=USER, weights=weights)
    if first == "Kettle: blue":
        assert {hit.text for hit in hits[:2]} == {"Kettle: blue", "Kettle: green"}
    else:
        assert hits[0].text == first
    assert parts(project, "kettle") == before


def test_meaning_finds_what_has_none_of_the_words(project: Memory) -> None:
    """001.13: the semantic part is of vectors: alone it finds a paraphrase."""
    hits = project.search("hot drink kitchenware", user_id=USER, weights={"semantic": 1}, tags=["meant", "old"])
    assert hits[0].text == "A pot to boil water for tea"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({}, "weights must name some of", id="none"),
        pytest.param({"magic": 1}, r"no weight 'magic'; there are \['semantic'", id="unknown"),
        pytest.param({"semantic": -1}, "weight 'semantic' must be a number of at least 0, not -1", id="negative"),
        pytest.param({"semantic": "much"}, "weight 'semantic' must be a number", id="a-word"),
        pytest.param({"semantic": 0}, "at least one weight must be above 0", id="all-zero"),
        pytest.param([0.4, 0.3, 0.2, 0.1, 0.0], "weights must name some of", id="a-list"),
    ],
)
def test_bad_weights_are_refused(project: Memory, wrong: Any, message: str) -> None:
    """001.13: with an error that says what is wrong and what there is."""
    with pytest.raises(InputError, match=message):
        project.search("kettle", user_id=USER, weights=wrong)


def test_the_best_ten(opened: Opener) -> None:
    """001.13: at most 10 unless told, the best first."""
    memory = opened("project")
    for number in range(25):
        memory.remember(f"Kettle number {number}", user_id=USER, importance=number / 25)
    assert len(memory.search("kettle", user_id=USER)) == 10
    hits = memory.search("kettle", user_id=USER, top_k=25)
    assert len(hits) == 25
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert PROFILES["project"].retrieval_top_k == 10


def test_nothing_below_the_threshold(opened: Opener, clock: Clock) -> None:
    """001.13: below 0.3 nothing is recalled; the threshold is the profile's."""
    memory = opened("project")
    memory.remember("The kettle stands beside the old garden bench and a rake", user_id=USER, importance=0.0)
    clock.ahead(days=300)
    memory.settle()
    query = "Which bench did the carpenter repair with varnish last autumn?"
    loose = memory.search(query, user_id=USER, weights=WEIGHTS)
    assert all(hit.score < 0.3 for hit in loose)
    assert loose
    assert not memory.search(query, user_id=USER)
    assert all(hit.score >= 0.3 for hit in memory.search("kettle garden bench", user_id=USER))
    assert memory.search("kettle garden bench", user_id=USER)


# the index


def test_the_index_is_current_after_every_change(opened: Opener, clock: Clock) -> None:
    """001.14: added, updated, demoted, promoted, archived, forgotten: the next search knows, nobody rebuilds."""
    memory = opened("project")

    def found(query: str, **options: Any) -> set[str]:
        return {hit.text for hit in memory.search(query, user_id=USER, weights={"keyword": 1}, **options)}

    assert found("kettle") == set()
    fact = memory.remember("The kettle is from Lisbon", user_id=USER)
    assert found("kettle") == found("Lisbon") == {"The kettle is from Lisbon"}
    fact = memory.update(fact.id, "The kettle is blue")
    assert found("kettle") == {"The kettle is blue"}
    assert found("Lisbon") == set()
    memory.demote(fact.id)
    assert found("kettle") == {"The kettle is from Lisbon"}, "what was there before it"
    memory.promote(fact.id)
    assert found("kettle") == {"The kettle is blue"}
    talk = Talk(memory)
    talk.add("user", "Someone stole the kettle.", id="m1")
    assert found("kettle") == {"The kettle is blue", "Someone stole the kettle."}
    memory.add_episode(SESSION, "pivot", "Kettle stolen", summary="The kettle is gone.")
    assert found("kettle", kinds=["episode"]) == {"Kettle stolen. The kettle is gone."}
    memory.forget(message_id="m1")
    assert found("stole", kinds=["message"]) == set()
    clock.ahead(days=300)
    assert memory.consolidate(USER).archived
    assert found("kettle", kinds=["fact"]) == set()
    memory.forget(user_id=USER)
    assert found("kettle", archived=True) == set()
    memory.remember("A kettle again", user_id=USER)
    assert found("kettle") == {"A kettle again"}


def test_the_index_knows_new_chunks(opened: Opener) -> None:
    """001.14: a chunk can be found once it is written, and no more once it was merged into another."""
    memory = opened(PROFILES["project"].but(max_recent_messages=4, chunk_size=2, max_chunks=2))
    talk = Talk(memory)
    for number in range(1, 9):
        talk.messages(2)
        memory.settle()
        live = {summary.id for summary in talk.summaries()}
        hits = memory.search(" ".join(f"w{n}x1" for n in range(1, 17)), user_id=USER, kinds=["summary"], top_k=50,
                             weights={"keyword": 1})  # fmt: skip
        assert {hit.id for hit in hits} <= live
        assert bool(hits) == bool(live), number


@pytest.mark.full
def test_a_search_takes_a_few_milliseconds(opened: Opener) -> None:
    """001.21: under 5 ms over 250 turns: the median of 50 searches, in time of its own; a busy machine has thrice."""
    talk = Talk(opened("project"))
    messages = [{"role": "assistant" if n % 2 == 0 else "user", "content": said(n)} for n in range(1, 501)]
    talk.memory.add(messages, user_id=USER, session_id=SESSION)
    talk.memory.settle()
    talk.memory.search("w1x1", user_id=USER)
    taken = []
    for number in range(1, 51):
        began = time.process_time()
        hits = talk.memory.search(f"w{number}x3 w{number}x4", user_id=USER)
        taken.append(time.process_time() - began)
        assert f"w{number}x3" in hits[0].text
    assert statistics.median(taken) < 0.015
