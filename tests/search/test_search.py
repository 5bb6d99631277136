"""Recall: what is there is found at once, what is not wanted or gone never, over every store."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina import PROFILES, Memory
from lamina.testing import FakeClock
from tests.places import Backend, Place, kept_place

USER = "ann"
Opener = Callable[..., Memory]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2025, 3, 10, 9, tzinfo=UTC))


@pytest.fixture
def opened(any_place: Any, clock: FakeClock) -> Iterator[Opener]:
    """Opens memories without a background worker, all at one place."""
    held: list[Memory] = []

    def opener(**options: Any) -> Memory:
        held.append(Memory(any_place(), **{"worker": False, "now": clock, **options}))
        return held[-1]

    yield opener
    for memory in held:
        memory.close()


def say(memory: Memory, *texts: str, user_id: str = USER, session_id: str = "s1", **more: Any) -> None:
    """Turns of one user, each with a short reply."""
    for text in texts:
        turn = [{"role": "user", "content": text, **more}, {"role": "assistant", "content": "All right."}]
        memory.add(turn, user_id=user_id, session_id=session_id)


def texts(memory: Memory, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in memory.search(query, **{"user_id": USER, **options})]


SAID = (
    "We got a puppy last week and named him Bruno.",
    "The quarterly report for the board is late again.",
    "My favourite pasta sauce has basil and anchovies.",
    "The train to Lisbon leaves at seven in the morning.",
)


# found at once


@pytest.mark.parametrize("size", [31_000, 900_000])
def test_every_word_of_a_long_message_is_found(opened: Opener, size: int) -> None:
    """Also one that stands once, at its end; the context shows that place, and other messages are found as before."""
    memory = opened()
    say(memory, *SAID)
    filler = " ".join(f"Line {number} of the log says nothing." for number in range(size // 36))
    say(memory, f"{filler[:size]}. Our cat is called Ferdinand.", session_id="long")
    assert texts(memory, "Ferdinand")[0].endswith("Our cat is called Ferdinand.")
    assert texts(memory, "anchovies")[0] == SAID[2]
    context = memory.context("Who is Ferdinand?", user_id=USER, session_id="new", budget=1_000)
    assert "Our cat is called Ferdinand." in context.text


def test_what_is_too_long_to_be_found_by_all_of_its_words_is_told(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond a million characters the words are kept, but not looked for; the log of `add` names the message."""
    memory = opened()
    say(memory, "kettle " * 150_000 + "Ferdinand")
    assert [record.message for record in caplog.records] == ["message_partly_searched"]
    assert caplog.records[0].characters == 150_000 * 7 + 9  # type: ignore[attr-defined]
    assert len(texts(memory, "kettle", role="user")) == 1
    assert texts(memory, "Ferdinand") == []


def test_words_are_found_right_after_they_were_said(opened: Opener) -> None:
    """Without waiting for anything; what is appended between two searches is seen by the second."""
    memory = opened()
    say(memory, *SAID)
    assert texts(memory, "anchovies")[0] == SAID[2]
    assert not texts(memory, "zeppelin")
    say(memory, "A zeppelin flew over the house.", session_id="s2")
    assert texts(memory, "zeppelin")[0] == "A zeppelin flew over the house."
    say(memory, "The zeppelin was silver.", session_id="s1")
    assert set(texts(memory, "zeppelin")[:2]) == {"A zeppelin flew over the house.", "The zeppelin was silver."}


def test_meaning_is_found_once_vectors_are_there(opened: Opener) -> None:
    """A question that shares no word with its answer; before `settle`, words that mean alike help already."""
    memory = opened()
    say(memory, *SAID)
    assert memory.settle().vectors >= len(SAID)
    assert texts(memory, "Do I own a dog?", role="user")[0] == SAID[0]
    assert texts(memory, "railway departure time", role="user")[0] == SAID[3]
    found = memory.search("Do I own a dog?", user_id=USER, explain=True, role="user")[0]
    assert found.parts["cosine"] > 0.2
    assert memory.settle().vectors == 0


def test_what_was_derived_is_found_too(opened: Opener) -> None:
    """Facts and episodes as soon as they are there, by words and by meaning."""
    memory = opened()
    say(memory, "I'm allergic to peanuts.", "We decided to use PostgreSQL because it is boring.")
    assert not memory.search("peanuts", user_id=USER, kinds=["fact"])
    memory.settle()
    assert [hit.kind for hit in memory.search("peanuts", user_id=USER, kinds=["fact"])] == ["fact"]
    assert memory.search("PostgreSQL", user_id=USER, kinds=["episode"])
    told = memory.remember("The office dog is called Rex", user_id=USER)
    assert memory.search("Rex", user_id=USER)[0].id == told.id
    changed = memory.update(told.id, "The office dog is called Hugo")
    assert not memory.search("Rex", user_id=USER, kinds=["fact"])
    assert memory.search("Hugo", user_id=USER, kinds=["fact"])[0].id == changed.id


def test_summaries_are_found_while_they_are_live(opened: Opener) -> None:
    """Of one session and another; each with the span that it covers."""
    memory = opened(profile=PROFILES["project"].but(max_recent_messages=6, chunk_size=4))
    say(memory, *(f"The lighthouse keeper paints wall number {n}." for n in range(8)))
    memory.settle()
    live = {summary.id: summary for summary in memory.summaries("s1")}
    hits = memory.search("lighthouse keeper", user_id=USER, kinds=["summary"], weights={"keyword": 1})
    assert {hit.id for hit in hits} == set(live)
    assert all(hit.span == live[hit.id].covers for hit in hits)


# gone


@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(lambda memory: memory.forget(message_id="secret"), id="message"),
        pytest.param(lambda memory: memory.forget(text="Zanzibar", user_id=USER), id="text"),
        pytest.param(lambda memory: memory.forget(session_id="s1"), id="session"),
        pytest.param(lambda memory: memory.forget(user_id=USER), id="user"),
    ],
)
def test_what_is_forgotten_is_never_found(opened: Opener, forget: Callable[[Memory], Any]) -> None:
    """Nor by its meaning, nor its placeholder; also if it was at hand from an earlier search."""
    memory = opened()
    memory.add({"role": "user", "content": "I live in Zanzibar.", "id": "secret"}, user_id=USER, session_id="s1")
    say(memory, *SAID)
    say(memory, "Where is my passport?", session_id="s2")
    memory.settle()
    assert any("Zanzibar" in text for text in texts(memory, "Zanzibar"))
    forget(memory)
    for settled in (False, True):
        for query in ("Zanzibar", "On which African island do I live?", "forgotten"):
            for options in ({}, {"archived": True}, {"weights": {"semantic": 1, "keyword": 1}}):
                hits = memory.search(query, user_id=USER, top_k=50, **options)
                assert not [hit for hit in hits if "Zanzibar" in hit.text]
                assert not [hit for hit in hits if hit.kind == "message" and "forgotten" in hit.text]
        if not settled:
            memory.settle()
    say(memory, "The passport is blue.", session_id="s3")
    assert texts(memory, "passport")[0] in {"The passport is blue.", "Where is my passport?"}


def test_a_part_that_was_forgotten_is_gone_and_the_rest_is_found(opened: Opener) -> None:
    """Only the words of the fact go from a message."""
    memory = opened()
    say(memory, "I live in Zanzibar. The ferry was red.")
    memory.settle()
    (fact,) = memory.facts(USER)
    assert texts(memory, "Zanzibar")
    memory.forget(fact_id=fact.id)
    assert not any("Zanzibar" in text for text in texts(memory, "Where do I live? Zanzibar?", top_k=50))
    assert "The ferry was red." in texts(memory, "red ferry")[0]


def test_dropped_messages_are_not_found(opened: Opener, clock: FakeClock) -> None:
    """By a retention rule their words are gone: the placeholder is no answer."""
    profile = PROFILES["project"].but(keep_message_days=30.0, max_recent_messages=4, chunk_size=2)
    memory = opened(profile=profile)
    say(memory, *(f"Crate {n} holds lamps." for n in range(6)))
    memory.settle()
    texts(memory, "crate lamps")
    clock.advance(days=40)
    assert memory.consolidate().messages_dropped > 0
    for query in ("dropped", "crate 0 lamps", "[dropped]"):
        hits = memory.search(query, user_id=USER, top_k=50, kinds=["message"], weights={"keyword": 1})
        assert not [hit for hit in hits if "dropped" in hit.text]


def test_a_change_by_another_process_is_noticed(place: Place) -> None:
    """Two memories on one file: each finds what the other added, and neither what the other forgot."""
    path = place()
    with Memory(path, worker=False) as one, Memory(path, worker=False) as other:
        say(one, "I live in Zanzibar.", *SAID)
        one.settle()
        assert texts(one, "Zanzibar")[0] == texts(other, "Zanzibar")[0] == "I live in Zanzibar."
        say(other, "The heron stood in the harbour.")
        assert texts(one, "heron")[0] == "The heron stood in the harbour."
        other.settle()
        assert one.search("heron", user_id=USER, explain=True)[0].parts["cosine"] > 0
        other.forget(text="Zanzibar", user_id=USER)
        assert not any("Zanzibar" in text for text in texts(one, "Zanzibar island", top_k=50))
        other.forget(user_id=USER)
        assert not texts(one, "heron in the harbour")
        say(other, "I am back with a heron.")
        assert texts(one, "heron")[0] == "I am back with a heron."


def test_a_vector_that_comes_with_its_message_is_not_missed(opened: Opener) -> None:
    """However appends, vectors and searches follow each other, meaning is there for all that has a vector."""
    memory = opened()
    for number in range(6):
        say(memory, f"{SAID[number % 4]} ({number})", session_id=f"s{number % 2}")
        if number % 2:
            texts(memory, "puppy")
        memory.settle()
        hits = memory.search("dog puppy train pasta report", user_id=USER, explain=True, top_k=50, role="user")
        assert len(hits) == number + 1
        assert all(hit.parts["cosine"] > 0 for hit in hits)


# wanted or not


def test_archived_sessions_are_asked_for(opened: Opener) -> None:
    """Their messages and summaries come with `archived=True` alone, and again when the session is resumed."""

    def sessions(kind: str, **options: Any) -> set[str | None]:
        return {hit.session_id for hit in memory.search("pasta basil", user_id=USER, kinds=[kind], **options)}

    memory = opened(profile=PROFILES["project"].but(max_recent_messages=2, chunk_size=2))
    say(memory, *SAID, session_id="old")
    say(memory, "Another pasta with basil.", session_id="new")
    memory.settle()
    assert sessions("message") == {"old", "new"}
    assert "old" in sessions("summary")
    memory.archive("old")
    assert sessions("message") == {"new"}
    assert "old" not in sessions("summary")
    assert sessions("message", archived=True) == {"old", "new"}
    assert "old" in sessions("summary", archived=True)
    memory.resume("old")
    assert sessions("message") == {"old", "new"}


def test_archived_facts_are_asked_for(opened: Opener, clock: FakeClock) -> None:
    """A memory that faded is found with `archived=True` alone."""
    memory = opened()
    memory.remember("The spare key is under the pot", user_id=USER, importance=0.2)
    assert texts(memory, "spare key")
    clock.advance(days=200)
    assert memory.consolidate(USER).archived
    assert not texts(memory, "spare key")
    assert texts(memory, "spare key", archived=True) == ["The spare key is under the pot"]


@pytest.fixture(scope="module", params=Backend)
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Facts, messages and an episode, all of the launch, over ten days in two sessions; only looked at."""
    location = kept_place(request, tmp_path_factory, "shelf")
    clock = FakeClock(datetime(2025, 3, 10, 9, tzinfo=UTC))
    with Memory(location, worker=False, now=clock) as memory:
        _stock(memory, clock)
        yield memory


def _stock(memory: Memory, clock: FakeClock) -> None:
    memory.remember("Launch on PostgreSQL", user_id=USER, type="decision", category="team", tags=["data"])
    memory.add({"role": "user", "content": "The launch moves.", "id": "u1"}, user_id=USER, session_id="s1")
    memory.add({"role": "assistant", "content": "The launch is noted.", "id": "a1"}, user_id=USER, session_id="s1")
    memory.add({"role": "system", "content": "Launch rules apply.", "id": "y1"}, user_id=USER, session_id="s1")
    memory.add(
        {"role": "tool", "content": "launch.log is empty", "tool_call_id": "c", "id": "t1"},
        user_id=USER,
        session_id="s1",
    )
    clock.advance(days=10)
    memory.remember("Launch party", user_id=USER, type="goal", category="plans", tags=["fun"], importance=0.9)
    memory.add({"role": "user", "content": "The launch is done.", "id": "u2"}, user_id=USER, session_id="s2")
    memory.add_episode(
        "s2", "task_completed", "Launch finished", summary="The launch came to an end.", significance=0.6
    )


EVERYTHING = {"u1", "a1", "y1", "t1", "u2", "Launch on PostgreSQL", "Launch party", "episode"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param({}, EVERYTHING, id="all"),
        pytest.param({"kinds": ["fact"]}, {"Launch on PostgreSQL", "Launch party"}, id="facts"),
        pytest.param({"kinds": ["episode"]}, {"episode"}, id="episodes"),
        pytest.param({"kinds": ["fact", "episode"]}, {"Launch on PostgreSQL", "Launch party", "episode"}, id="two"),
        pytest.param({"types": ["decision"]}, {"Launch on PostgreSQL"}, id="type"),
        pytest.param({"categories": ["plans"]}, {"Launch party"}, id="category"),
        pytest.param({"tags": ["fun", "other"]}, {"Launch party"}, id="tag"),
        pytest.param({"tags": ["other"]}, set(), id="no-such-tag"),
        pytest.param({"since": "2025-03-15"}, {"u2", "Launch party", "episode"}, id="since"),
        pytest.param({"until": "2025-03-15"}, {"u1", "a1", "y1", "t1", "Launch on PostgreSQL"}, id="until"),
        pytest.param({"since": "2025-03-11", "until": "2025-03-15"}, set(), id="between"),
        pytest.param({"min_importance": 0.8}, {"u1", "a1", "y1", "t1", "u2", "Launch party"}, id="importance"),
        pytest.param({"session_id": "s2"}, {"u2", "episode"}, id="session"),
        pytest.param({"session_id": "nowhere"}, set(), id="no-such-session"),
        pytest.param({"role": "user"}, {"u1", "u2"}, id="user"),
        pytest.param({"role": "assistant"}, {"a1"}, id="assistant"),
        pytest.param({"role": "system"}, {"y1"}, id="system"),
        pytest.param({"role": "tool"}, {"t1"}, id="tool"),
        pytest.param({"role": "developer"}, set(), id="developer"),
        pytest.param({"as_of": "2025-03-12"}, EVERYTHING - {"Launch party"}, id="as-of"),
        pytest.param({"role": "user", "session_id": "s1"}, {"u1"}, id="role-and-session"),
        pytest.param({"role": "user", "since": "2025-03-15"}, {"u2"}, id="role-and-time"),
        pytest.param({"kinds": ["message"], "session_id": "s2"}, {"u2"}, id="kind-and-session"),
        pytest.param({"types": ["goal"], "tags": ["fun"], "min_importance": 0.9}, {"Launch party"}, id="of-facts"),
        pytest.param({"types": ["goal"], "until": "2025-03-15"}, set(), id="type-and-time"),
        pytest.param({"types": ["goal"], "kinds": ["message"]}, set(), id="a-type-of-messages"),
        pytest.param({"user_id": "bob"}, set(), id="someone-else"),
    ],
)
@pytest.mark.parametrize("weights", [None, {"keyword": 1, "recency": 1}], ids=["fused", "mixed"])
def test_filters(shelf: Memory, wanted: dict[str, Any], found: set[str], weights: dict[str, float] | None) -> None:
    """Each for itself and together: all must hold, in both ways of scoring."""
    hits = shelf.search("launch", **{"user_id": USER, "top_k": 50, "weights": weights, **wanted})
    names = {"message": lambda hit: hit.id, "fact": lambda hit: hit.text, "episode": lambda hit: "episode"}
    assert {names[hit.kind](hit) for hit in hits} == found
    assert len(hits) == len(found)


def test_so_many_and_no_more(shelf: Memory) -> None:
    """`top_k` of them, the best; scores fall."""
    every = shelf.search("launch", user_id=USER, top_k=50)
    scores = [hit.score for hit in every]
    assert scores == sorted(scores, reverse=True)
    for number in (1, 3, 7):
        assert [hit.id for hit in shelf.search("launch", user_id=USER, top_k=number)] == [
            hit.id for hit in every[:number]
        ]


def test_users_do_not_see_each_other(opened: Opener) -> None:
    """Not even one whose session has the same name as another's words."""
    memory = opened()
    for user in ("ann", "bob", "cleo"):
        say(memory, f"The secret of {user} is a kettle.", user_id=user, session_id=f"of {user}")
        memory.remember(f"{user} owns a kettle", user_id=user)
    memory.settle()
    for user in ("ann", "bob", "cleo"):
        found = [text for text in texts(memory, "secret kettle", user_id=user, top_k=50) if "kettle" in text]
        assert len(found) >= 2
        assert all(user in text for text in found)
        other = {"ann": "bob", "bob": "cleo", "cleo": "ann"}[user]
        assert not memory.search("kettle", user_id=user, session_id=f"of {other}")


def test_tenants_do_not_see_each_other(place: Place) -> None:
    """On one file, with the same user and session ids: what one forgets, the other still finds."""
    path = place()
    with Memory(path, tenant="one", worker=False) as one, Memory(path, tenant="two", worker=False) as two:
        say(one, "The kettle of tenant one.")
        say(two, "The kettle of tenant two.")
        one.settle()
        two.settle()
        assert texts(one, "kettle", role="user") == ["The kettle of tenant one."]
        one.forget(user_id=USER)
        assert not texts(one, "kettle")
        assert texts(two, "kettle", role="user") == ["The kettle of tenant two."]


# when, and after what


def test_yesterday_is_counted_from_when_it_is_asked(opened: Opener) -> None:
    """`at` moves it; without it the memory's own clock counts."""
    memory = opened()
    for day in range(1, 10):
        at = datetime(2025, 3, day, 12, tzinfo=UTC)
        say(memory, f"Lunch was dish number {day}.", created_at=at.isoformat())
    query = "What was the dish yesterday?"
    assert texts(memory, query, role="user")[0] == "Lunch was dish number 9."
    for day in (3, 6):
        assert texts(memory, query, role="user", at=f"2025-03-{day:02d}T15:00:00Z")[0] == (
            f"Lunch was dish number {day - 1}."
        )


def test_a_follow_up_is_understood_from_the_turns_before(opened: Opener) -> None:
    """`What about its colour?` finds what was said of the boat, once the boat was the last topic."""
    memory = opened(profile=PROFILES["default"].but(budget=400))
    say(memory, "The sailing boat has crimson paint.", session_id="old")
    say(memory, *(f"Errand {n}: buy stamps, bread and soap." for n in range(30)), session_id="old")
    memory.settle()
    say(memory, "I was thinking of the sailing boat again.", session_id="new")
    context = memory.context("And what about it?", user_id=USER, session_id="new")
    assert "crimson paint" in context.text


def test_parts_explain_a_score(shelf: Memory) -> None:
    """With `explain` alone; of a weighted sum they add up to it, each not above its weight."""
    weights = {"semantic": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1}
    for hit in shelf.search("launch party", user_id=USER, explain=True, weights=weights):
        named = {name: part for name, part in hit.parts.items() if name != "cosine"}
        assert set(named) == {"semantic", "keyword", "recency", "importance", "access"}
        assert sum(named.values()) == pytest.approx(hit.score, abs=1e-4)
        assert all(0 <= part <= weights.get(name, 0) + 1e-6 for name, part in named.items())
    explained = shelf.search("launch party", user_id=USER, explain=True)
    assert all({"words", "meaning", "neighbours", "time"} <= set(hit.parts) for hit in explained)
    assert all(0 <= hit.score <= 1 for hit in explained)
    plain = shelf.search("launch party", user_id=USER)
    assert [hit.id for hit in plain] == [hit.id for hit in explained]
    assert not any(hit.parts for hit in plain)


# robustness

_LONG = " ".join(f"word{n}" for n in range(9_999)) + " anchovies?"
_CONTROL = "".join(map(chr, [*range(1, 32), 127, 0x85, 0x200B, 0x202E, 0xFEFF]))


@pytest.mark.parametrize(
    ("query", "best"),
    [
        pytest.param("", None, id="empty"),
        pytest.param(" \t\n ", None, id="spaces"),
        pytest.param("?!... --- ,", None, id="punctuation"),
        pytest.param("🙂", None, id="emoji-alone"),
        pytest.param("the of and", None, id="stop-words-alone"),
        pytest.param(_LONG, None, id="ten-thousand-words"),
        pytest.param("anchovies " * 10_000, SAID[2], id="one-word-ten-thousand-times"),
        pytest.param('AND OR NOT NEAR( " * : ^ anchovies', SAID[2], id="operators"),
        pytest.param('"anchovies" OR text:*', SAID[2], id="quotes"),
        pytest.param("anchovies'; drop table messages; --", SAID[2], id="sql"),
        pytest.param("anchovies% _ [a-z] {0} %s \\", SAID[2], id="patterns"),
        pytest.param(f"ancho{_CONTROL} anchovies{_CONTROL}", SAID[2], id="control-characters"),
        pytest.param("ANCHOVIES", SAID[2], id="capitals"),
        pytest.param("anchóvies", SAID[2], id="accents"),
        pytest.param("猫在哪里", "我的猫喜欢睡觉。", id="chinese"),
        pytest.param("أين القهوة", "أحب القهوة في الصباح", id="arabic"),
        pytest.param("किताब कहाँ है", "मुझे किताब पढ़ना पसंद है", id="hindi"),
        pytest.param("Где Москва", "Я живу в городе Москва", id="russian"),
        pytest.param("แมวอยู่ไหน", "ฉันชอบแมว", id="thai"),
        pytest.param("🎻🎻", None, id="emoji-that-was-said"),
        pytest.param("x" * 100_000, None, id="one-endless-word"),
        pytest.param("\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"), None, id="replacement"),
    ],
)
def test_any_query_is_answered(world: Memory, query: str, best: str | None) -> None:
    """With what was asked for where it is there, and without an error whatever is asked."""
    for weights in (None, {"semantic": 1, "keyword": 1}):
        hits = world.search(query, user_id=USER, weights=weights, explain=True)
        assert all(isinstance(hit.score, float) and 0 <= hit.score <= 1 for hit in hits)
        if best is not None:
            assert next(hit for hit in hits if hit.kind == "message").text == best
    assert world.context(query, user_id=USER, session_id="s1", budget=100_000 + 2 * len(query)).tokens > 0


@pytest.fixture(scope="module", params=Backend)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A settled memory in many scripts that is only looked at."""
    location = kept_place(request, tmp_path_factory, "world")
    said = (
        *SAID, "我的猫喜欢睡觉。", "أحب القهوة في الصباح", "मुझे किताब पढ़ना पसंद है", "Я живу в городе Москва", "ฉันชอบแมว",
        "A violin 🎻 for my daughter.",
    )  # fmt: skip
    with Memory(location, worker=False) as memory:
        say(memory, *said)
        memory.settle()
        yield memory


@pytest.mark.parametrize("user", ["nobody", "ann"])
def test_nothing_stored_is_no_error(opened: Opener, user: str) -> None:
    """A user who is not there, or a memory that is empty, has no hits."""
    assert opened().search("anything", user_id=user) == []


def test_searching_while_others_add(opened: Opener) -> None:
    """Threads on one memory: no error, never a foreign hit, and at the end everything is there."""
    memory = opened()
    say(memory, *SAID)
    wrong: list[BaseException | str] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                hits = memory.search("crate lamps number", user_id=USER, top_k=20)
                wrong.extend(hit.id for hit in hits if not 0 <= hit.score <= 1 or not hit.text)
        except BaseException as error:  # noqa: BLE001 - it is told below
            wrong.append(error)

    searching = [threading.Thread(target=search) for _ in range(2)]
    for thread in searching:
        thread.start()
    for number in range(60):
        say(memory, f"Crate {number} holds lamps.", session_id=f"s{number % 3}")
        if number % 20 == 10:
            memory.settle()
    done.set()
    for thread in searching:
        thread.join()
    assert not wrong
    found = texts(memory, "crate lamps", top_k=200, role="user")
    assert sorted(text for text in found if "Crate" in text) == sorted(f"Crate {n} holds lamps." for n in range(60))


def test_what_is_kept_at_hand_is_bounded(opened: Opener) -> None:
    """With many users and little memory, those asked about last are kept, and all are answered rightly."""
    memory = opened(cache_mb=1)
    users = [f"user-{letter}" for letter in "abcdefghijkl"]
    for user in users:
        say(memory, *(f"{user} has crate {n}." for n in range(20)), user_id=user, session_id=user)
    for user in [*users, *reversed(users)]:
        assert texts(memory, "crate 7", user_id=user)[0] == f"{user} has crate 7."
        cache = memory._memory._search._instance.cache
        assert 0 < cache.nbytes <= 2**20
    say(memory, *(f"Lamp {n} stands on shelf {n} beside vase {n}." for n in range(1_200)), user_id="big")
    assert texts(memory, "vase 77", user_id="big", role="user")[0].startswith("Lamp 77 ")
    assert cache.nbytes <= 2**20
    assert texts(memory, "vase 78", user_id="big", role="user")[0].startswith("Lamp 78 ")
    memory.forget(session_id=memory.sessions(user_id="big")[0].id)
    say(memory, "Lamp 3 stands alone.", user_id="big")
    assert texts(memory, "lamp 3", user_id="big", role="user") == ["Lamp 3 stands alone."]
    assert 0 < cache.nbytes <= 2**20  # what was too much and is forgotten is at hand again


def test_more_facts_than_can_be_kept(opened: Opener) -> None:
    """What is at hand goes when there is no room for it any more; words still find it."""
    memory = opened()
    for number in range(30):
        memory.remember(f"Crate {number} holds lamps", user_id=USER)
    assert texts(memory, "crate 7")[0] == "Crate 7 holds lamps"
    cache = memory._memory._search._instance.cache
    cache._parts = replace(cache._parts, cache_bytes=1)
    memory.remember("Crate 30 is on the ship", user_id=USER)
    assert texts(memory, "crate 7")[0] == "Crate 7 holds lamps"
    assert cache.nbytes == 0


def test_importance_and_use_count_at_once(opened: Opener, clock: FakeClock) -> None:
    """What is at hand is not what was: a memory reopened scores as one that was open all the time."""
    memory = opened()
    told = memory.remember("The kettle is red", user_id=USER, importance=0.2)
    other = memory.remember("The kettle is old", user_id=USER, importance=0.3)
    weights = {"importance": 1, "keyword": 1}
    assert memory.search("kettle", user_id=USER, weights=weights)[0].id == other.id
    memory.promote(told.id)
    memory.update(told.id, importance=0.9)
    clock.advance(seconds=timedelta(minutes=1).total_seconds())
    best = memory.search("kettle", user_id=USER, weights=weights, explain=True)[0]
    assert best.text == "The kettle is red"
    assert best.parts["importance"] == pytest.approx(0.45)


@pytest.fixture
def crowded(opened: Opener) -> Memory:
    """A user who has more than can be kept at hand, after the first search."""
    memory = opened(cache_mb=1)
    texts = [f"Lamp {n} stands on shelf {n} beside vase {n}." for n in range(1_200)]
    texts[500] = "I live in Zanzibar."
    texts[700] = "My daughter plays the violin."
    for session in ("s1", "s2", "s3"):
        place = 400 * (int(session[1]) - 1)
        said = [{"role": "user", "content": text, "id": f"{session}-{n}"} for n, text in enumerate(texts[place:][:400])]
        memory.add(said, user_id=USER, session_id=session)
    memory.search("Zanzibar", user_id=USER)
    assert memory._memory._search._instance.cache.nbytes == 0
    return memory


def test_more_than_can_be_kept_is_searched_by_words(crowded: Memory) -> None:
    """Where a user has too much for the memory that there is, words still find it, with all filters."""
    assert texts(crowded, "Zanzibar")[0] == "I live in Zanzibar."
    assert texts(crowded, "vase 1134")[0] == "Lamp 1134 stands on shelf 1134 beside vase 1134."
    assert not crowded.search("Zanzibar", user_id=USER, session_id="s1")
    assert not crowded.search("Zanzibar", user_id=USER, role="assistant")
    assert not crowded.search("Zanzibar", user_id="bob")
    assert not crowded.search("xylophone", user_id=USER)
    told = crowded.remember("The Zanzibar ferry is red", user_id=USER)
    assert told.id in {hit.id for hit in crowded.search("Zanzibar ferry", user_id=USER)}
    crowded.archive("s2")
    assert not [hit for hit in crowded.search("Zanzibar", user_id=USER) if hit.session_id == "s2"]
    assert crowded.search("Zanzibar", user_id=USER, archived=True, kinds=["message"])[0].session_id == "s2"


def test_more_than_can_be_kept_is_searched_by_meaning(crowded: Memory) -> None:
    """In other words than it was said, once it has its vectors."""
    question = "Which musical instrument does our child practise?"
    assert "My daughter plays the violin." not in texts(crowded, question, kinds=["message"])
    crowded.settle()
    hit = crowded.search(question, user_id=USER, kinds=["message"], explain=True)[0]
    assert hit.text == "My daughter plays the violin."
    assert hit.parts["meaning"] > 0
    assert crowded._memory._search._instance.cache.nbytes == 0


def test_more_than_can_be_kept_is_forgotten_too(crowded: Memory) -> None:
    """Nothing of it is found again, and what is new is found at once."""
    crowded.forget(text="Zanzibar", user_id=USER)
    assert not [hit for hit in crowded.search("Zanzibar", user_id=USER, top_k=50) if "Zanzibar" in hit.text]
    say(crowded, "Now I live in Reykjavik.", session_id="s1")
    assert texts(crowded, "Reykjavik")[0] == "Now I live in Reykjavik."


def test_any_query_is_answered_of_more_than_can_be_kept(crowded: Memory) -> None:
    """Whatever is asked, there is no error."""
    for query in ("", "🙂", 'AND OR NOT NEAR( " * : ^', "'; drop table messages; --", "the of and", "猫在哪里", _LONG):
        assert len(crowded.search(query, user_id=USER)) <= 10
