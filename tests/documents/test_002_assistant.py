"""Document 002, session and episodes, as the profile `assistant`: window, compression, layout, size and speed."""

import time
from collections.abc import Callable

import pytest

from lamina import PROFILES, Memory
from lamina.values.message import Span
from tests.documents.talks import SESSION, USER, Gate, Recorder, Talk, echo, literally, said, spans, verbatim
from tests.growth import times_longer
from tests.places import Place
from tests.waiting import wait_until

Opener = Callable[..., Memory]


def of_turns(first: int, last: int) -> list[int]:
    """The messages of some turns, two to a turn."""
    return list(range(2 * first - 1, 2 * last + 1))


def test_the_session_window_is_the_last_ten_turns_and_what_is_not_compressed(opened: Opener) -> None:
    """002.1 and 002.13: at least the last 10 turns word for word, and all turns that are not compressed yet."""
    talk = Talk(opened("assistant"))
    for turn in range(1, 66):
        talk.turns(1)
        talk.memory.settle()
        compressed = max((summary.turns.last for summary in talk.summaries()), default=0)
        context = talk.context()
        assert verbatim(context) == of_turns(min(max(1, turn - 9), compressed + 1), turn)
        assert context.manifest.coverage.blind_messages == 0
        assert not context.manifest.warnings


def test_a_small_budget_keeps_facts_and_episodes_before_the_older_turns(opened: Opener) -> None:
    """002.13: what is not compressed is shown as far as the budget allows; what does not fit is told."""
    talk = Talk(opened("assistant"))
    talk.add("user", "My name is Alex and I live in Porto.")
    talk.add("assistant", "Hello Alex.")
    talk.turns(38, words=4)
    talk.memory.settle()
    context = talk.context("Who am I?", budget=1_300)
    assert "- name: Alex" in context.text
    shown = verbatim(context)
    assert shown == list(range(shown[0], 79))
    assert of_turns(30, 39) == shown[-20:]
    assert 21 < shown[0] < 59
    assert any("did not fit the budget" in warning for warning in context.manifest.warnings)


def test_the_session_survives_a_restart(place: Place) -> None:
    """002.1: unlike the document's, the session is there after a restart; so are summaries and window."""
    path = place("chat.db")
    with Memory(path, profile="assistant", worker=False) as memory:
        talk = Talk(memory)
        talk.turns(23)
        memory.settle()
        before = talk.context("w1x1 w2x2?")
    with Memory(path, worker=False) as memory:
        assert memory.profile == PROFILES["assistant"]
        after = memory.context("w1x1 w2x2?", user_id=USER, session_id=SESSION)
        assert after == before


@pytest.mark.parametrize("every", [1, 60], ids=["settled-after-each-turn", "settled-once-at-the-end"])
def test_at_20_turns_all_but_the_newest_ten_are_compressed(opened: Opener, every: int) -> None:
    """002.2: at 20 complete turns 1-10 are compressed, at 40 turns 11-30, at 60 turns 31-50; none in between."""
    recorder = Recorder(echo)
    talk = Talk(opened("assistant", summariser=recorder))
    made: list[tuple[int, tuple[int, int]]] = []
    for turn in range(1, 61):
        talk.turns(1)
        if turn % every == 0:
            before = len(recorder.tasks)
            talk.memory.settle()
            made += [(turn, (t.messages[0].turn, t.messages[-1].turn)) for t in recorder.tasks[before:]]
    ranges = [(1, 10), (11, 30), (31, 50)]
    assert made == (list(zip((20, 40, 60), ranges, strict=True)) if every == 1 else [(60, one) for one in ranges])
    assert spans([summary.turns for summary in talk.summaries()]) == ranges


def test_an_unanswered_question_does_not_count_as_a_turn(opened: Opener) -> None:
    """002.2: the 20th turn counts once it has its reply, so the reply is never summarised away from its question."""
    recorder = Recorder(echo)
    talk = Talk(opened("assistant", summariser=recorder))
    talk.messages(39)
    talk.memory.settle()
    assert not recorder.tasks
    talk.message()
    talk.memory.settle()
    assert len(recorder.tasks) == 1


def test_a_summary_knows_its_turn_range_and_its_messages(opened: Opener) -> None:
    """002.2: stored with its turn range; it can be found by its words and opened into what was said."""
    talk = Talk(opened("assistant"))
    talk.add("user", "I compared vector databases, FAISS against pgvector, for retrieval.")
    talk.add("assistant", "pgvector is easier to run, FAISS is faster.")
    talk.turns(20)
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert summary.turns == Span(first=1, last=10)
    assert len(talk.memory.zoom(summary.id)) == 20
    hits = talk.memory.search("FAISS pgvector", user_id=USER)
    assert summary.id in [hit.id for hit in hits]


def test_the_hundred_turn_example(opened: Opener) -> None:
    """002.11: at turn 100, asked but not answered: the session has turns 91-100 and there are 4 summaries."""
    talk = Talk(opened("assistant"))
    talk.turns(99)
    talk.memory.settle()
    talk.add("user", "What did we discuss?")
    context = talk.context("What did we discuss?")
    summaries = talk.summaries()
    assert spans([summary.turns for summary in summaries]) == [(1, 10), (11, 30), (31, 50), (51, 70)]
    assert verbatim(context) == [*of_turns(71, 99), 199], "turns 91-100, and those that are not compressed yet"
    assert sum(1 for item in context.manifest.items if item.section == "summaries") == 3, "three are shown"
    shown = sum(len(summary.covers) for summary in summaries)
    assert shown / len(summaries) >= 20, "about 20 messages to a summary"
    assert context.manifest.coverage.blind_messages == 0


@pytest.mark.also_postgres
def test_the_injection_layout(opened: Opener) -> None:
    """002.11: long-term memory (profile, episodes with turn range and excerpt), then the recent conversation."""
    words = said(1, 60)
    episodes = {
        1: f"Alex compared vector databases. {words}",
        11: "Talked about retrieval w21x0.",
        31: "Cooking w61x0.",
    }
    recorder = Recorder(lambda task: episodes[task.messages[0].turn])
    talk = Talk(opened("assistant", summariser=recorder))
    talk.add("user", "My name is Alex. " + said(1, 60))
    talk.add("assistant", "Vector databases compared.")
    talk.turns(59)
    talk.memory.settle()
    text = talk.context("vector databases compared").text
    long_term, _, conversation = text.partition("\n\n# Recent Conversation\n")
    lines = long_term.splitlines()
    assert lines[:2] == ["# Long-term Memory", "## User Profile"]
    at = lines.index("## Recent Context")
    assert lines[2:at] == ["- name: Alex", ""]
    first = " ".join(episodes[1].split())[:150]
    assert lines[at + 1 :] == [f"- turns 1-10: {first}..."], "the others are about something else"
    assert conversation.startswith(f"user: {said(101)}\nassistant: {said(102)}\n")
    assert conversation.endswith(
        "user: vector databases compared\n\nAnswer consistently using the memory and conversation above."
    )


def test_the_most_relevant_episodes_are_shown(opened: Opener) -> None:
    """002.11: of many episodes those that answer the question are in the context, however old."""
    recorder = Recorder(lambda task: f"Talked about {'lighthouses. ' * (task.messages[0].turn == 1)}{echo(task)}")
    talk = Talk(opened("assistant", summariser=recorder))
    talk.add("user", "Tell me about lighthouses and " + said(1))
    talk.add("assistant", "They shine.")
    talk.turns(119)
    talk.memory.settle()
    assert len(talk.summaries()) == 6
    context = talk.context("What about lighthouses?")
    (told,) = [item for item in context.manifest.items if item.section == "summaries"]
    assert told.span == Span(first=1, last=20)
    assert len(context.manifest.omitted) == 5
    assert not context.manifest.warnings


def test_nothing_waits_for_the_model_that_summarises(place: Place) -> None:
    """002.11: while a summary is being written, a message is added and a context built, each in less than 500 ms."""
    gate = Gate()
    with Memory(place("chat.db"), profile="assistant", summariser=gate) as memory:
        talk = Talk(memory)
        talk.turns(20)
        wait_until(lambda: gate.inside == 1, "the compression runs in the background")
        began = time.perf_counter()
        talk.turns(1)
        context = talk.context("w3x3?")
        literally(time.perf_counter() - began, 0.5)
        assert gate.inside == 1, "it still runs"
        assert not talk.summaries()
        assert verbatim(context) == of_turns(1, 21), "nothing is compressed yet"
        gate.opened = True
        memory.settle()
        assert spans([summary.turns for summary in talk.summaries()]) == [(1, 10)]


def test_a_thousand_turns(opened: Opener) -> None:
    """002.11: 1,000 turns give 50 summaries, a window of 10 turns, and a context that is built in under 500 ms.

    It takes less than ten times as long as that of 50 turns.
    """
    few, talk = Talk(opened("assistant", "few.db")), Talk(opened("assistant"))
    messages = [{"role": "assistant" if n % 2 == 0 else "user", "content": said(n)} for n in range(1, 2_001)]
    messages[78]["content"] = "I decided that Ines, the keeper of the lighthouse, paints the harbour wall."
    for held, number in ((few, 100), (talk, 2_000)):
        held.memory.add(messages[:number], user_id=USER, session_id=SESSION)
        held.memory.settle()
    assert len(talk.summaries()) == 50
    old = next(summary for summary in talk.summaries() if 79 in summary.covers)
    question = "What does the keeper of the lighthouse paint?"
    assert times_longer(lambda: talk.context(question), lambda: few.context(question), most=10) <= 10
    began = time.perf_counter()
    context = talk.context(question)
    literally(time.perf_counter() - began, 0.5)
    assert verbatim(context) == of_turns(991, 1000)
    assert old.id == next(item.id for item in context.manifest.items if item.section == "summaries")
