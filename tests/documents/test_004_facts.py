"""Document 004, layered memory: facts, conflicts, search, and regenerated summaries."""

from collections.abc import Callable
from typing import Any

import pytest

from lamina import PROFILES, Memory
from lamina.errors import Conflict
from lamina.protocols.models import SummaryTask
from lamina.values.fact import FACT_STATUSES
from tests.documents.talks import SESSION, USER, Clock, Finding, Recorder, Table, Talk, echo, said, spans, values

Opener = Callable[..., Memory]


@pytest.mark.parametrize(
    ("text", "category", "quote"),
    [
        pytest.param("Well, I prefer tea to coffee.", "preference", "I prefer tea to coffee", id="preference"),
        pytest.param("So I work as a nurse.", "identity", "I work as a nurse", id="biography"),
        pytest.param("My goal is to learn the piano.", "goal", "My goal is to learn the piano", id="goal"),
        pytest.param("I'm allergic to nuts.", "constraint", "I'm allergic to nuts", id="constraint"),
    ],
)
def test_the_four_kinds_of_facts(opened: Opener, text: str, category: str, quote: str) -> None:
    """004.4: preferences, biography, goals and constraints, word for word, in the context in the user's own words."""
    talk = Talk(opened("layered"))
    talk.add("user", text)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    assert (fact.category, fact.quote) == (category, quote)
    assert f"## Facts\n- {quote}\n" in talk.context("Hello").text


def test_facts_are_only_added(opened: Opener, clock: Clock) -> None:
    """004.4: append-only: whatever comes later, a fact that was stored is there with the same words and time."""
    talk = Talk(opened("layered"))
    seen: dict[str, Any] = {}
    for text in ("I live in Porto.", "I live in Lisbon.", "I prefer tea to coffee.", "I live in Porto."):
        talk.add("user", text)
        clock.ahead(days=1)
        talk.memory.settle()
        stored = talk.memory.facts(USER, statuses=FACT_STATUSES)
        known = {fact.id: (fact.value, fact.quote, fact.learnt_at, fact.message_id) for fact in stored}
        assert seen.items() <= known.items()
        assert len(known) == len(seen) + 1
        seen = known


def test_facts_are_deduplicated_whatever_their_case(opened: Opener, clock: Clock) -> None:
    """004.4: the same fact in other letters is one fact with more evidence, in the list and in the context."""
    talk = Talk(opened("layered"))
    for text in ("I prefer tea to coffee.", "i PREFER TEA to   coffee", "I prefer Tea to Coffee!"):
        talk.add("user", text)
        talk.add("assistant", "Noted.")
    talk.turns(4)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    assert [one.seq for one in talk.memory.why(fact.id).evidence] == [3, 5]
    told = set()
    for text in ("Straße 7", "STRASSE 7", " strasse 7. "):
        told.add(talk.memory.remember(text, user_id=USER).id)
        clock.ahead(seconds=1)
    assert len(told) == 1
    facts, _, _ = talk.context("Hello").text.partition("## Recent messages")
    assert facts.casefold().count("prefer tea") == 1


def test_conflicts_are_flagged(opened: Opener, clock: Clock) -> None:
    """004.4: another value is neither taken nor dropped: both are shown, the newer one as a conflict, until solved."""
    talk = Talk(opened("layered"))
    for text in ("I live in Porto.", "I live in Lisbon."):
        talk.add("user", text)
        clock.ahead(days=1)
    talk.memory.settle()
    first, second = talk.memory.facts(USER)
    assert [(first.value, first.status), (second.value, second.status)] == [
        ("Porto", "active"),
        ("Lisbon", "conflicted"),
    ]
    assert second.of == first.id
    assert [one.id for one in talk.memory.why(first.id).conflicts] == [second.id]
    text = talk.context("Hello").text
    assert "- I live in Porto\n- I live in Lisbon (in conflict with an earlier fact)\n" in text
    talk.memory.promote(second.id)
    assert values(talk.memory.facts(USER)) == ["Lisbon"]
    assert "## Facts\n- I live in Lisbon\n</memory>" in talk.context("Hello").text
    assert [one.status for one in talk.memory.history(second.id)] == ["superseded", "active"]


def test_a_conflict_can_be_decided_for_the_old_value(opened: Opener, clock: Clock) -> None:
    """004.4: retracted, the newer value is gone from what holds, and the old one stands without a conflict."""
    talk = Talk(opened("layered"))
    for text in ("I live in Porto.", "I live in Lisbon."):
        talk.add("user", text)
        clock.ahead(days=1)
    talk.memory.settle()
    talk.memory.retract(talk.memory.facts(USER)[1].id)
    assert [(fact.value, fact.status) for fact in talk.memory.facts(USER)] == [("Porto", "active")]
    assert "conflict" not in talk.context("Hello").text


def test_search_goes_over_summaries_and_facts(opened: Opener) -> None:
    """004.7: the words of a question find the facts and the summaries, medium and long, that have them."""
    recorder = Recorder(lambda task: f"{echo(task)} They spoke of the harbour." if task.messages else "A long w1x0.")
    talk = Talk(opened("layered", summariser=recorder))
    talk.add("user", "I prefer the lighthouse to the harbour.")
    talk.turns(50, words=4)
    talk.memory.settle()
    kinds = ["summary", "fact"]
    live = {summary.kind: summary for summary in talk.summaries()}
    assert set(live) == {"medium", "long"}
    (fact,) = talk.memory.facts(USER)
    assert talk.memory.search("lighthouse", user_id=USER, kinds=kinds)[0].id == fact.id
    harbour = {hit.id for hit in talk.memory.search("the harbour", user_id=USER, kinds=kinds)}
    assert harbour >= {fact.id, live["medium"].id}
    assert live["long"].id in {hit.id for hit in talk.memory.search("w1x0", user_id=USER, kinds=kinds)}
    assert not talk.memory.search("algebra", user_id=USER, kinds=kinds)
    assert not talk.memory.search("lighthouse", user_id="sam", kinds=kinds)


def plain(task: SummaryTask) -> str:
    return f"Plain notes: {echo(task)}"


def better(task: SummaryTask) -> str:
    return f"Better words. {echo(task)} {task.messages[0].text}" if task.messages else f"Better: {task.summaries[-1]}"


def two_mediums(opened: Opener) -> tuple[Talk, list[str]]:
    talk = Talk(opened("layered", summariser=Recorder(plain, name="plain")))
    talk.turns(20, words=4)
    talk.memory.settle()
    return talk, [summary.text for summary in talk.summaries()]


def test_summaries_are_regenerated_with_another_prompt(opened: Opener) -> None:
    """004.8: another summariser and prompt write all of them again from the raw messages, beside the old ones."""
    talk, old = two_mediums(opened)
    model = Recorder(better, name="better")
    proposal = talk.memory.regenerate(SESSION, summariser=model, prompts={"medium": "Write it well:\n[MESSAGES]"})
    assert model.tasks[0].instructions.startswith(f"Write it well:\nMessage 1 (User): {said(1, 4)}\n")
    assert [len(task.messages) for task in model.tasks] == [20, 20]
    assert (proposal.status, proposal.session_id) == ("open", SESSION)
    assert "better" in proposal.recipe
    assert spans([change.span for change in proposal.changes]) == [(1, 20), (21, 40)]
    for change in proposal.changes:
        assert any(line.startswith("- Plain notes") for line in change.diff.splitlines())
        assert any(line.startswith("+ Better words") for line in change.diff.splitlines())
        assert 0 < change.drift < 1
    assert 0 < proposal.drift < 1
    assert [summary.text for summary in talk.summaries()] == old, "nothing has changed yet"
    assert [one.id for one in talk.memory.proposals(SESSION)] == [proposal.id]


def test_drift_tells_how_far_the_meaning_has_moved(opened: Opener) -> None:
    """004.8: 0 where the same is said, small where a word was changed, large where it is about something else."""
    talk, old = two_mediums(opened)
    same, nearly, far = (
        talk.memory.regenerate(SESSION, summariser=Recorder(text)).drift
        for text in (plain, lambda task: f"{plain(task)} w1x1", lambda task: task.messages[3].text.partition(" ")[2])
    )
    assert same == 0
    assert 0 < nearly < 0.2
    assert far > 0.8
    assert [summary.text for summary in talk.summaries()] == old


def test_a_proposal_is_accepted_and_history_kept(opened: Opener) -> None:
    """004.8: accepted, the new summaries stand in the context; the old ones are kept; it can be done only once."""
    talk, old = two_mediums(opened)
    proposal = talk.memory.regenerate(SESSION, summariser=Recorder(better, name="better"))
    assert talk.memory.accept(proposal.id).status == "accepted"
    live = talk.summaries()
    assert [summary.recipe.model for summary in live] == ["better", "better"]
    text = talk.context("Hello").text
    assert all(summary.text in text for summary in live)
    assert "Plain notes" not in text
    kept = [summary for summary in talk.summaries(live=False) if summary.status == "replaced"]
    assert [summary.text for summary in kept] == old
    assert all(len(talk.memory.zoom(summary.id)) == 20 for summary in (*live, *kept))
    with pytest.raises(Conflict):
        talk.memory.accept(proposal.id)
    assert talk.memory.verify().ok


@pytest.mark.parametrize("accepted", [False, True], ids=["before-accepting", "after-accepting"])
def test_a_proposal_is_rolled_back(opened: Opener, accepted: bool) -> None:
    """004.8: discarded, or taken back once accepted: the old summaries stand as they stood."""
    talk, old = two_mediums(opened)
    before = talk.summaries()
    proposal = talk.memory.regenerate(SESSION, summariser=Recorder(better, name="better"))
    if accepted:
        talk.memory.accept(proposal.id)
        assert [summary.text for summary in talk.summaries()] != old
    assert talk.memory.roll_back(proposal.id).status == "rolled_back"
    assert talk.summaries() == before
    assert talk.memory.proposals(SESSION)[0].status == "rolled_back"
    with pytest.raises(Conflict):
        talk.memory.accept(proposal.id)
    talk.turns(10, words=4)
    talk.memory.settle()
    assert spans([summary.covers for summary in talk.summaries()]) == [(1, 20), (21, 40), (41, 60)]
    assert talk.memory.verify().ok


def test_facts_are_regenerated_too(opened: Opener) -> None:
    """004.8: another extractor's facts come with the proposal, one by one, and go with it when it is rolled back."""
    talk = Talk(opened("layered", extractor=Table([Finding(words="Porto", key="location", value="Porto")])))
    talk.add("user", "I am Alex from Porto")
    talk.memory.settle()
    names = Table([Finding(words="Alex", key="name", value="Alex")], name="names")
    proposal = talk.memory.regenerate(SESSION, extractor=names)
    assert [change.diff for change in proposal.changes] == ["- location: Porto", "+ name: Alex"]
    assert values(talk.memory.facts(USER)) == ["Porto"]
    talk.memory.accept(proposal.id)
    assert values(talk.memory.facts(USER)) == ["Alex"]
    talk.memory.roll_back(proposal.id)
    assert values(talk.memory.facts(USER)) == ["Porto"]


@pytest.mark.parametrize(
    "text",
    [
        "I'll send Marta the draft by Friday.",
        "I promised to call my mother on Sunday.",
        "I will review Tom's pull request tomorrow.",
        "I have to pay the deposit by the end of the month.",
        "I owe Jonas 40 euros.",
        "I told my boss I'd take over the on-call shift next week.",
        "I must hand in the tax return by 31 July.",
    ],
)
def test_commitments_are_kept(opened: Opener, text: str) -> None:
    """004.12: what the user promised or has to do is a fact, quoted in the context, however long the talk goes on."""
    talk = Talk(opened("layered"))
    talk.add("user", text)
    talk.add("assistant", "Noted.")
    talk.turns(60, words=2)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    assert fact.category == "commitment"
    assert fact.quote in talk.context("What else?").text.partition("## Summaries")[0]


@pytest.mark.parametrize("profile", ["layered", "assistant"])
@pytest.mark.parametrize(
    ("text", "dated"),
    [
        pytest.param("I'll send Marta the plan by Friday.", True, id="by-friday"),
        pytest.param("My goal is to open a shop next month.", True, id="next-month"),
        pytest.param("My goal is to open a shop by 3 May 2027.", False, id="a-date"),
        pytest.param("I'm allergic to nuts.", False, id="no-time"),
    ],
)
def test_words_such_as_by_friday_have_the_day_on_which_they_were_said(
    opened: Opener, profile: str, text: str, dated: bool
) -> None:
    """004.12: a promise that is shown weeks later does not mean another Friday; other facts stay as they were said."""
    talk = Talk(opened(PROFILES[profile].but(category_names={}, categories=())))
    talk.add("user", text)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    shown = talk.memory.context("What else?", user_id=USER, session_id="another").text
    line = next(line for line in shown.splitlines() if fact.value in line or fact.quote in line)
    assert line.endswith(f" [{fact.learnt_at.date()}]") == dated
