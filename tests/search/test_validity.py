"""What held at the time that a question asks about comes first: now, before, or in a given year."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamina import Memory
from lamina.search.question import understand
from lamina.values.hit import Hit

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "search" / "changes.jsonl").read_text("utf-8").splitlines()
]
LABELS = Path(__file__).parents[2] / "benchmarks" / "labels" / "changes" / "beside.jsonl"
BESIDE = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
USER = "ann"
START = datetime(2025, 1, 6, 9, tzinfo=UTC)
LATER = START + timedelta(days=60)
BETWEEN = ("How do tides work?", "Explain recursion to me.", "Who wrote Dubliners?", "Why is the sky blue?")


def say(memory: Memory, text: str, days: int) -> None:
    at = START + timedelta(days=days)
    noted = {"role": "assistant", "content": "Noted.", "created_at": at}
    memory.add([{"role": "user", "content": text, "created_at": at}, noted], user_id=USER, session_id=f"day {days}")
    memory.settle()


def tell(memory: Memory, text: str, days: int) -> None:
    memory.remember(text, user_id=USER, valid_from=START + timedelta(days=days))


def first(memory: Memory, question: str) -> str:
    hits = memory.search(question, user_id=USER, top_k=5, at=LATER)
    return hits[0].text if hits else ""


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", worker=False, now=lambda: LATER) as opened:
        yield opened


def changed(memory: Memory, case: dict[str, str]) -> Memory:
    give = tell if case["told"] else say
    give(memory, case["first"], 0)
    for day, text in enumerate(BETWEEN, 1):
        say(memory, text, day)
    give(memory, case["then"], 40)
    return memory


def test_most_changes_are_found_by_what_holds_now_and_asked_for_by_what_held_before() -> None:
    """Sixty changes, said and told, with slots and without; a third were looked at while this was written."""
    now, past = [], []
    for case in CASES:
        with Memory(":memory:", worker=False, now=lambda: LATER) as memory:
            changed(memory, case)
            now.append(case["new"] in first(memory, case["question"]))
            if case["past"]:
                found = first(memory, case["past"])
                past.append(case["old"].split(" is ")[-1] in found)
    assert sum(now) / len(now) >= 0.8
    assert sum(past) / len(past) >= 0.9


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Where do I live?", "Porto"),
        ("Where did I live before?", "Ghent"),
        ("Where did I live in January 2025?", "Ghent"),
        ("Where did I live in March 2025?", "Porto"),
    ],
)
def test_the_time_that_is_asked_about_decides(memory: Memory, question: str, text: str) -> None:
    """By the known facts: what held then is first, whether it is over or not."""
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto last week.", 40)
    assert text in first(memory, question)


def test_what_is_over_says_until_when(memory: Memory) -> None:
    """A hit of which all that is known has ended has the time of its end; others have none."""
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto last week.", 40)
    hits = {hit.text: hit for hit in memory.search("Where do I live?", user_id=USER, at=LATER)}
    over = hits["I live in Ghent."].until
    assert over is not None
    assert START < over < LATER
    assert [hit.until for hit in hits.values() if "Porto" in hit.text] == [None] * sum("Porto" in one for one in hits)


def test_a_list_has_all_of_it(memory: Memory) -> None:
    """A question for many asks for no one time: the order is that of the search."""
    say(memory, "I work at Initech as a tester.", 0)
    say(memory, "I started at Globex on Monday.", 40)
    found = " ".join(hit.text for hit in memory.search("List all places where I worked", user_id=USER, at=LATER))
    assert "Initech" in found
    assert "Globex" in found


def test_hits_are_the_same_ones_in_another_order(memory: Memory) -> None:
    """Nothing is lost or doubled, and no hit stands behind one with a smaller score."""
    for number, case in enumerate(CASES[:12]):
        say(memory, case["first"], number)
        say(memory, case["then"], number + 20)
    for case in CASES[:12]:
        hits: list[Hit] = memory.search(case["question"], user_id=USER, top_k=10, at=LATER)
        assert len({hit.id for hit in hits}) == len(hits) <= 10
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    ("question", "tense"),
    [
        ("Where do I live?", "present"),
        ("my dentist", "present"),
        ("How old am I?", "present"),
        ("Where did I live before?", "past"),
        ("Where did I live before Porto?", "past"),
        ("Which editor do I use to write code?", "present"),
        ("Which train leaves earlier?", "present"),
        ("Who was my previous manager?", "past"),
        ("Where did I use to work?", "past"),
        ("What was my old phone number?", "past"),
        ("What did I do before leaving for Rome?", None),
        ("What did we discuss about the old house?", None),
        ("When did Ann go to the museum?", None),
    ],
)
def test_whether_now_or_before_is_asked_for(question: str, tense: str | None) -> None:
    assert understand(question, at=LATER).tense == tense


def test_a_time_that_is_given_is_kept_to(memory: Memory) -> None:
    """With `as_of`, or asked at an earlier time, what changed later does not count."""
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto.", 40)
    early = START + timedelta(days=5)
    (hit, *_) = memory.search("Where do I live?", user_id=USER, at=early)
    assert ("Ghent" in hit.text, hit.until) == (True, None)
    assert all(hit.until is None for hit in memory.search("Where do I live?", user_id=USER, as_of=early))


def test_what_will_change_has_not_changed(memory: Memory) -> None:
    memory.remember("Ghent", user_id=USER, key="location", valid_from=START)
    memory.remember("Rome", user_id=USER, key="location", valid_from=LATER + timedelta(days=90))
    hits = memory.search("Where do I live?", user_id=USER, at=LATER)
    assert [(hit.text, hit.until) for hit in hits if "Ghent" in hit.text] == [("location: Ghent", None)]


def test_this_week_is_now(memory: Memory) -> None:
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto.", 58)
    assert "Porto" in first(memory, "Where do I live this week?")


def test_the_newest_of_several_changes_is_first(memory: Memory) -> None:
    say(memory, "Our standup meeting is at 10.", 0)
    say(memory, "The standup meeting was changed to 11 because the Berlin team asked for it.", 20)
    say(memory, "Changed the standup to 9, as nobody came at the old time, and it is shorter.", 40)
    assert " 9" in first(memory, "When is the standup meeting?")


def test_a_bound_on_scores_is_kept_after_the_order_is_set(memory: Memory) -> None:
    """It does not leave the old sentence alone where the new one answers."""
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto last week.", 40)
    hits = memory.search("Where do I live?", user_id=USER, kinds=["message"], min_score=0.1, at=LATER)
    assert "Porto" in hits[0].text
    assert all(hit.score >= 0.1 for hit in hits)


def test_the_parts_of_a_score_add_up_to_it(memory: Memory) -> None:
    """Also of hits that changed places."""
    say(memory, "I live in Ghent.", 0)
    say(memory, "I moved to Porto last week.", 40)
    weights = {"semantic": 0.5, "keyword": 0.5}
    for hit in memory.search("Where do I live?", user_id=USER, at=LATER, weights=weights, explain=True):
        own = [part for name, part in hit.parts.items() if name != "cosine"]
        assert sum(own) == pytest.approx(hit.score, abs=0.01)


def test_a_message_that_no_longer_holds_says_in_a_context_until_when_it_did(memory: Memory) -> None:
    say(memory, "I live in Lisbon, right behind the old fish market by the river.", 0)
    say(memory, "I moved to Porto last week.", 40)
    context = memory.context("Where did I live before?", user_id=USER, session_id="new", budget=400, at=LATER)
    assert "I live in Lisbon (until 2025-02-03), right" in context.text
    assert all("(until" not in line for line in context.text.splitlines() if "Porto" in line)


def test_the_end_of_a_recalled_passage_stands_behind_its_words() -> None:
    """Not behind the name of who said them, as if the person had ended; how often it was said stands there."""
    with Memory(":memory:", worker=False, now=lambda: LATER, profile="project") as memory:
        for days, text in ((0, "I live in Lisbon."), (0, "I live in Lisbon."), (40, "I live in Porto now.")):
            at = START + timedelta(days=days)
            said = {"role": "user", "name": "Kim Berg", "content": text, "created_at": at}
            memory.add([said, {"role": "assistant", "content": "Noted."}], user_id=USER, session_id=f"s{days}")
        memory.settle()
        context = memory.context("Where did I live before?", user_id=USER, session_id="new", budget=400, at=LATER)
    assert "\nKim Berg (2 times): I live in Lisbon. (until 2025-02-15)\n" in context.text
    assert "\nKim Berg: I live in Porto now.\n" in context.text


def test_words_that_are_true_again_have_no_end(memory: Memory) -> None:
    for days, text in ((0, "I live in Lisbon."), (20, "I moved to Porto."), (40, "I live in Lisbon.")):
        say(memory, text, days)
    context = memory.context("Where do I live?", user_id=USER, session_id="new", at=LATER)
    assert "Lisbon (until" not in context.text
    assert "Porto (until" in context.text


@pytest.mark.parametrize(
    ("first_said", "then_said", "question", "new"),
    [
        ("The grant proposal is due on 9 June.", "Scratch that, the grant proposal is due on 14 June.",
         "When is the grant proposal due?", "14 June"),
        ("We're painting the nursery yellow.", "We decided on sage green for the nursery after all.",
         "Which colour are we painting the nursery?", "sage green"),
        ("I get up at 7.", "With the baby I get up at 5:30.", "When do I get up?", "5:30"),
        ("My GP is Dr. Maes.", "Dr. Maes retired, Dr. Okafor took over as my GP.", "Who is my GP?", "Okafor"),
    ],
)  # fmt: skip
def test_a_newer_statement_that_says_otherwise_is_first(
    memory: Memory, first_said: str, then_said: str, question: str, new: str
) -> None:
    say(memory, first_said, 0)
    say(memory, then_said, 40)
    assert new in first(memory, question)


@pytest.mark.parametrize("pair", BESIDE, ids=lambda pair: pair["then"])
def test_what_stands_beside_is_neither_ended_nor_put_behind(memory: Memory, pair: dict[str, str]) -> None:
    """Other people and things, plans, questions, quotes and "also" end nothing."""
    say(memory, pair["first"], 0)
    known = {fact.id for fact in memory.facts(USER)}
    say(memory, pair["then"], 40)
    assert known <= {fact.id for fact in memory.facts(USER)}
    hits = memory.search(pair["asked"], user_id=USER, top_k=10, at=LATER)
    assert not any("validity" in hit.parts for hit in hits)
    assert not any(hit.until for hit in hits if pair["first"] in hit.text)


def test_a_told_fact_is_found_by_the_words_of_what_it_replaced(memory: Memory) -> None:
    """The word "drive" stands in the older memory only; its old name leads to nothing."""
    tell(memory, "User drives a Volvo", 0)
    tell(memory, "User traded in the Volvo for a Kia", 40)
    hits = memory.search("What car do I drive?", user_id=USER, kinds=["fact"], at=LATER)
    assert [hit.text for hit in hits] == ["User traded in the Volvo for a Kia"]


@pytest.mark.parametrize(
    "question",
    ["List all places where I worked", "Which companies have I worked for?", "Where have I worked?"],
)
def test_a_list_over_time_has_facts_that_ended(memory: Memory, question: str) -> None:
    say(memory, "I work at Globex.", 0)
    say(memory, "I work at Hooli now.", 40)
    texts = {hit.text for hit in memory.search(question, user_id=USER, kinds=["fact"], at=LATER)}
    assert "employer: Hooli" in texts
    assert any(text.startswith("employer: Globex (until 2025-02-15") for text in texts)


@pytest.mark.parametrize("question", ["Where do I work?", "Who employs me?", "What's my job at?"])
def test_the_names_of_a_key_find_its_current_value(memory: Memory, question: str) -> None:
    say(memory, "I work at Globex.", 0)
    say(memory, "I work at Hooli now.", 40)
    assert "Hooli" in first(memory, question)
