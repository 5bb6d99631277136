"""Document 004, layered memory: vector retrieval over summaries and facts."""

from collections.abc import Callable

import pytest

from lamina import Memory
from tests.documents.talks import USER, Recorder, Talk

Opener = Callable[..., Memory]

SUMMARIES = {
    1: "They planned a walking holiday along the river in Porto.",
    2: "The upload service ran out of memory on large files.",
    3: "Yellow leaves on the tomatoes came from too much water.",
}


@pytest.fixture
def talk(opened: Opener) -> Talk:
    """Three medium summaries on three topics, and three facts."""
    talk = Talk(opened("layered", summariser=Recorder(lambda task: task.messages[2].text)))
    for turn in range(34):
        facts = "I'm allergic to peanuts. I prefer Python. My goal is to run a marathon."
        talk.add("user", facts if turn == 32 else SUMMARIES[min(turn // 10 + 1, 3)])
        talk.add("assistant", f"That was number {turn}.")
    talk.memory.settle()
    assert [summary.text for summary in talk.summaries()] == list(SUMMARIES.values())
    return talk


@pytest.mark.parametrize(
    ("question", "kind", "answer"),
    [
        pytest.param("vacation trip to a European city", "summary", SUMMARIES[1], id="medium-1"),
        pytest.param("server crash when sending big documents", "summary", SUMMARIES[2], id="medium-2"),
        pytest.param("gardening trouble with my vegetables", "summary", SUMMARIES[3], id="medium-3"),
        pytest.param("Which nuts make me sick?", "fact", "peanuts", id="constraint"),
        pytest.param("favourite programming language", "fact", "Python", id="preference"),
        pytest.param("long distance race", "fact", "marathon", id="goal"),
    ],
)
def test_summaries_and_facts_by_meaning(talk: Talk, question: str, kind: str, answer: str) -> None:
    """004.7: a question in other words finds the summary or the fact that means the same, before all others."""
    hits = talk.memory.search(question, user_id=USER, kinds=["summary", "fact"], explain=True)
    assert answer in hits[0].text
    assert hits[0].kind == kind
    assert hits[0].parts["cosine"] == max(hit.parts["cosine"] for hit in hits)


def test_each_has_its_vector_and_loses_it_with_its_words(talk: Talk) -> None:
    """004.7: every live summary and fact is embedded; forgotten, neither words nor meaning find it."""
    alone = {"weights": {"semantic": 1}, "user_id": USER, "top_k": 50, "explain": True}
    hits = talk.memory.search("peanuts holiday", kinds=["summary", "fact"], **alone)  # type: ignore[arg-type]
    assert all(hit.parts["cosine"] > 0 for hit in hits)
    talk.memory.forget(text="peanuts", user_id=USER)
    for question in ("peanuts", "Which nuts make me sick?"):
        hits = talk.memory.search(question, **alone)  # type: ignore[arg-type]
        assert not [hit for hit in hits if "peanuts" in hit.text]


def test_search_has_a_place_in_a_layered_context(talk: Talk) -> None:
    """004.7: with a query, what it finds stands under its own heading: summaries of other sessions, facts not shown."""
    talk.memory.remember("keeps bees on the roof", user_id=USER, importance=0.3)
    other = Talk(talk.memory, session_id="another")
    other.add("user", "Hello again.")
    other.add("assistant", "Hello.")
    found = other.context("What was wrong with my tomatoes in the garden?")
    recalled = [item for item in found.manifest.items if item.section == "recalled"]
    assert [item.kind for item in recalled] == ["summary"]
    assert f"## Relevant memories\n[2025-03-01]\nsummary: {SUMMARIES[3]}\n" in found.text
    assert "keeps bees" in other.context("Do I keep bees on the roof?").text
    assert "## Relevant memories" not in other.context(None).text
    assert not found.manifest.coverage.summarised


def test_what_stands_in_a_layered_context_is_not_recalled_twice(talk: Talk) -> None:
    """004.7: a fact or a summary that has its place already is shown once; one that did not fit is recalled."""
    whole = talk.context("Which nuts make me sick, and what about the tomatoes?")
    assert whole.text.partition("## Recent messages")[0].count("allergic to peanuts") == 1
    assert whole.text.partition("## Recent messages")[0].count(SUMMARIES[3]) == 1
    assert "## Relevant memories" not in whole.text


def test_a_long_summary_is_recalled_in_another_session(opened: Opener) -> None:
    """004.7: it may take more than the share of recalled memories where the rest of the budget is free."""
    memory = opened("layered")
    long = Talk(memory)
    for bay in range(1, 91):
        long.add("user", f"The boat for the survey of whales in bay {bay} was paid with {bay * 7} crowns.")
        long.add("assistant", "Noted.")
    memory.settle()
    budget = 500
    context = memory.context("What was paid for the survey of whales?", user_id=USER, session_id="new", budget=budget)
    assert any(item.tokens > 0.2 * budget for item in context.manifest.items if item.kind == "summary")
    assert "The boat for the survey of whales" in context.text
    assert context.tokens <= budget
