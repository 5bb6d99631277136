"""Document 004, layered memory, as the profile `layered`: four layers, trimming, deduplication, edge cases."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from lamina import PROFILES, Memory
from lamina.errors import BudgetTooSmall
from lamina.protocols.models import SummaryTask
from tests.documents.talks import SESSION, USER, Recorder, Talk, echo, said, spans, verbatim
from tests.places import Place

Opener = Callable[..., Memory]


@pytest.mark.also_postgres
def test_the_four_layers(opened: Opener) -> None:
    """004.1: window, medium summaries, one long summary and facts, each in the context."""
    talk = Talk(opened("layered"))
    talk.add("user", "I live in Porto and I am vegetarian. My goal is to run a marathon in October.")
    talk.add("assistant", "Good luck.")
    talk.turns(59)
    talk.memory.settle()
    assert [summary.kind for summary in talk.summaries()] == ["long", "medium", "medium", "medium"]
    context = talk.context("next?")
    kinds = {item.kind for item in context.manifest.items}
    assert kinds == {"fact", "summary:long", "summary:medium", "messages"}
    assert verbatim(context) == list(range(113, 121)), "the last exchanges"


@pytest.mark.parametrize(
    ("words", "turns"),
    [pytest.param(4, 10, id="short-turns-in-tens"), pytest.param(40, 8, id="long-turns-in-eights")],
)
def test_eight_to_ten_turns_make_a_medium_summary(opened: Opener, words: int, turns: int) -> None:
    """004.2: a batch of 8 turns is folded, or of 10 where the turns are short; never at another moment."""
    recorder = Recorder(echo)
    talk = Talk(opened(PROFILES["layered"].but(upkeep=None), summariser=recorder))
    made = []
    for turn in range(1, 41):
        talk.turns(1, words)
        if talk.memory.settle().folds:
            made.append(turn)
    assert made == list(range(turns, 41, turns))
    assert [len(task.messages) for task in recorder.tasks] == [2 * turns] * len(made)


def test_a_medium_summary_brings_fact_candidates(opened: Opener) -> None:
    """004.2: once a batch has its summary, its facts are there, word for word; the summary keeps their values."""
    talk = Talk(opened("layered"))
    talk.add("user", "I prefer tea to coffee. I'm allergic to nuts.")
    talk.add("assistant", "Noted.")
    talk.turns(9, words=2)
    talk.memory.settle()
    (summary,) = talk.summaries()
    text = talk.memory.messages(SESSION)[0].text
    facts = talk.memory.facts(USER)
    assert [fact.quote for fact in facts] == ["I'm allergic to nuts", "I prefer tea to coffee"]
    assert all(text[fact.start : fact.end] == fact.quote for fact in facts)
    assert all(fact.seq in summary.covers for fact in facts)
    assert "nuts" in summary.text


def test_mediums_fold_into_long_by_count(opened: Opener) -> None:
    """004.2: the 4th medium summary makes them all fold into the long one, which then evolves."""
    recorder = Recorder(lambda task: echo(task) if task.messages else f"So far: {task.summaries[-1]}")
    talk = Talk(opened("layered", summariser=recorder))
    layers = []
    for _ in range(9):
        talk.turns(10, words=4)
        talk.memory.settle()
        layers.append([summary.kind for summary in talk.summaries()])
    medium, long = ["medium"], ["long"]
    assert layers == [
        medium, medium * 2, medium * 3, long,
        long + medium, long + medium * 2, long + medium * 3, long,
        long + medium,
    ]  # fmt: skip
    folds = [task for task in recorder.tasks if task.kind == "long"]
    assert [len(task.summaries) for task in folds] == [4, 4]
    assert folds[0].previous is None
    assert folds[1].previous is not None
    assert talk.summaries()[0].version == 2


def test_mediums_fold_into_long_by_size(opened: Opener) -> None:
    """004.2: before there are 4, mediums of more than 1,200 tokens together fold too."""

    def large(task: SummaryTask) -> str:
        return f"{task.messages[0].text} " * 4 if task.kind == "medium" else echo(task)

    recorder = Recorder(large)
    talk = Talk(opened(PROFILES["layered"].but(cap=1_000), summariser=recorder))
    talk.turns(16, words=40)
    talk.memory.settle()
    first, second = (s for s in talk.summaries(live=False) if s.kind == "medium")
    assert first.tokens + second.tokens > 1_200
    assert [task.kind for task in recorder.tasks] == ["medium", "medium", "long"]
    assert [summary.kind for summary in talk.summaries()] == ["long"]


def test_every_step_refers_to_its_raw_slice(opened: Opener) -> None:
    """004.3: raw messages stay; a medium opens into its batch, a long into all it covers and the mediums it read."""
    talk = Talk(opened("layered"))
    talk.turns(40, words=4)
    talk.memory.settle()
    everything = {summary.id: summary for summary in talk.summaries(live=False)}
    (long,) = talk.summaries()
    mediums = [everything[item] for item in long.inputs]
    assert [medium.status for medium in mediums] == ["folded"] * 4
    assert spans([medium.covers for medium in mediums]) == [(1, 20), (21, 40), (41, 60), (61, 80)]
    for summary in everything.values():
        raw = talk.memory.zoom(summary.id)
        assert [message.text for message in raw] == [said(message.seq, 4) for message in raw]
        assert (raw[0].seq, raw[-1].seq) == (summary.covers.first, summary.covers.last)
    assert [medium.reads for medium in mediums] == [medium.covers for medium in mediums]
    assert [message.text for message in talk.memory.messages(SESSION)] == [said(n, 4) for n in range(1, 81)]


@pytest.mark.parametrize("settled", [True, False], ids=["worker-in-time", "worker-late"])
def test_every_message_between_window_and_batch_is_visible(opened: Opener, settled: bool) -> None:
    """004.13: at every turn each message is word for word in the context or in a summary, also when folds are late."""
    talk = Talk(opened("layered"))
    for _ in range(45):
        talk.turns(1, words=2)
        if settled:
            talk.memory.settle()
        context = talk.context("next?")
        assert context.manifest.coverage.blind_messages == 0
        assert not context.manifest.warnings


FACTS = (
    "I prefer tea to coffee.",
    "I live in Porto.",
    "My goal is to run a marathon in October.",
    "I must not eat nuts.",
    "I am a vegetarian.",
)


def five_layers(opened: Opener) -> Talk:
    """A talk with facts, one long summary and three mediums."""
    talk = Talk(opened("layered"))
    for fact in FACTS:
        talk.add("user", fact)
        talk.add("assistant", "Noted.")
    talk.turns(55, words=12)
    talk.memory.settle()
    assert [summary.kind for summary in talk.summaries()] == ["long", "medium", "medium", "medium"]
    return talk


def test_facts_then_summaries_then_recent_turns(opened: Opener) -> None:
    """004.5: the order of assembly, in the text and in the chat form."""
    talk = five_layers(opened)
    text = talk.context("next?").text
    places = [text.index(mark) for mark in ("## Facts", "## Summaries", "## Recent messages", "## Current message")]
    assert places == sorted(places)
    told = [summary.text for summary in talk.summaries()]
    assert [text.index(one) for one in told] == sorted(text.index(one) for one in told), "oldest summary first"
    assert all(places[0] < text.index(fact.quote) < places[1] for fact in talk.memory.facts(USER))


def test_trimming_takes_the_oldest_summaries_first_and_facts_last(opened: Opener) -> None:
    """004.5: as the budget shrinks, summaries go oldest first, then recent turns, and facts go last."""
    talk = five_layers(opened)
    order = [summary.id for summary in talk.summaries()]
    facts = len(talk.memory.facts(USER))
    whole = talk.context("next?", budget=20_000)
    assert not whole.manifest.warnings
    seen = set()
    for budget in range(whole.tokens + 80, 100, -25):
        try:
            context = talk.context("next?", budget=budget)
        except BudgetTooSmall:  # for the newest turn
            break
        assert context.tokens <= budget
        kept = [item.id for item in context.manifest.items if item.section == "summaries"]
        assert sorted(kept, key=order.index) == order[len(order) - len(kept) :], "the oldest go first"
        turns = sum(1 for item in context.manifest.items if item.section == "recent")
        known = sum(1 for item in context.manifest.items if item.section == "facts")
        if kept:
            assert (turns, known) == (4, facts), "nothing else goes while there is a summary"
        if turns > 1:
            assert known == facts, "no fact goes while there is an older turn"
        seen.add((len(kept), turns, known))
    assert {(len(order), 4, facts), (0, 4, facts), (0, 1, facts)} <= seen


def test_summaries_that_begin_alike_are_one(opened: Opener) -> None:
    """004.6: summaries with the same first 120 characters are not kept twice; what both cover stays covered."""
    same = "The user said hello and the assistant said hello back, as they do every day, and then they parted. " * 2
    assert len(same) > 120

    def repeating(task: SummaryTask) -> str:
        return f"{same} w{task.messages[-1].seq}x0" if task.messages[0].seq < 60 else echo(task)

    talk = Talk(opened(PROFILES["layered"].but(upkeep=None), summariser=Recorder(repeating)))
    for number in range(1, 121):
        talk.add("assistant" if number % 2 == 0 else "user", f"{same} {said(number, 2)}")
    talk.memory.settle()
    covers = spans([summary.covers for summary in talk.summaries()])
    assert covers[0][0] == 1
    assert covers[0][1] >= 60, "the like ones are one"
    assert [first for first, _ in covers[1:]] == [last + 1 for _, last in covers[:-1]]
    context = talk.context("next?", budget=20_000)
    assert context.text.count(f"{same} w") == 1
    assert sum(1 for item in context.manifest.items if item.section == "summaries") == len(covers)
    assert talk.memory.verify().ok


def test_119_characters_alike_are_not_enough(opened: Opener) -> None:
    """004.6: the hash is over the first 120 characters: a difference within them keeps both."""

    def nearly(task: SummaryTask) -> str:
        return ("alpha " * 19)[:113] + f"{task.messages[0].seq:06d} and so on"

    talk = Talk(opened(PROFILES["layered"].but(upkeep=None), summariser=Recorder(nearly)))
    for number in range(1, 41):
        talk.add("assistant" if number % 2 == 0 else "user", f"alpha and so on {said(number, 2)}")
    talk.memory.settle()
    assert spans([summary.covers for summary in talk.summaries()]) == [(1, 20), (21, 40)]


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_empty_history_gives_an_empty_context(opened: Opener, profile: str) -> None:
    """004.9: no history, no memory in the context: in every profile, whatever the budget."""
    memory = opened(profile)
    context = memory.context(user_id=USER, session_id="nothing yet", budget=1)
    assert (context.text, context.messages, context.tokens) == ("", [], 0)
    assert context.manifest.coverage.messages == 0
    assert not context.manifest.warnings


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_the_first_turn_is_what_the_caller_gives(opened: Opener, profile: str) -> None:
    """004.9: with nothing remembered, a context is system prompt, sources and question, within the budget."""
    memory = opened(profile)
    given: dict[str, Any] = {"user_id": USER, "session_id": "nothing yet"}
    question = {"role": "user", "content": "hello?"}
    system, source = ({"role": "system", "content": text} for text in ("Be brief.", "Opening hours: 9 to 5."))
    assert memory.context("hello?", **given).messages == [question]
    assert memory.context("hello?", system="Be brief.", **given).messages == [system, question]
    assert memory.context(system="Be brief.", **given).messages == [system]
    context = memory.context("hello?", system="Be brief.", sources=["Opening hours: 9 to 5."], **given)
    assert context.messages == [system, source, question]
    assert context.text.index("Be brief.") < context.text.index("Opening hours") < len(context.text)
    assert "hello?" in context.text
    assert 0 < context.tokens <= context.budget.total
    assert not context.manifest.items
    assert not context.manifest.warnings
    with pytest.raises(BudgetTooSmall):
        memory.context("hello?", budget=1, **given)


def test_a_corrupted_entry_is_skipped_with_a_warning(
    opened: Opener, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """004.9: a damaged message and a damaged summary are skipped with a warning; the rest is there."""
    memory = opened("layered")
    talk = Talk(memory)
    talk.turns(25, words=4)
    memory.settle()
    first, second = talk.summaries()
    memory.close()
    place.run("update messages set body = replace(body, 'M049', 'M0X9') where seq = 49")
    place.run(f"update summaries set record = substr(record, 1, 40) where id = '{first.id}'")
    again = opened("layered")
    with caplog.at_level(logging.WARNING):
        context = again.context("next?", user_id=USER, session_id=SESSION)
    assert "M0X9" not in context.text
    assert said(50, 4) in context.text
    assert second.text in context.text
    skipped = {(record.table, record.row) for record in caplog.records if record.message == "row_skipped"}  # type: ignore[attr-defined]
    assert ("summaries", first.id) in skipped
    assert {table for table, _ in skipped} == {"messages", "summaries"}
    assert not again.verify().ok


def test_overflow_is_handled(opened: Opener) -> None:
    """004.9: one enormous turn and many facts: the context still fits, and says what was left out."""
    talk = five_layers(opened)
    talk.add("user", "alpha " * 3_000)
    talk.add("assistant", "Understood.")
    context = talk.context(budget=3_300)
    assert context.tokens <= 3_300
    assert context.manifest.omitted
    assert context.manifest.warnings
