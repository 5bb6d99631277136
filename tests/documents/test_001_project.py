"""Document 001, project memory, as the profile `project`: chunks, contexts, settings, the usage example, numbers."""

from collections.abc import Callable

import pytest

from lamina import PROFILES, Memory
from tests.documents.talks import SESSION, USER, Clock, Recorder, Talk, echo, said, spans, verbatim
from tests.sizes import share

Opener = Callable[..., Memory]


def test_the_token_budget_has_the_numbers_of_the_document(opened: Opener) -> None:
    """001.1: 128,000 in all: 2,000 for the system prompt, 8,000 for the current turn, the rest 60/40."""
    talk = Talk(opened("project"))
    talk.turns(3)
    budget = talk.context("What database should we use?").budget
    assert budget.total == 128_000
    assert budget.system_prompt == 2_000
    assert budget.working_memory == 8_000
    assert budget.recent_messages == 70_800
    assert budget.retrieved_context == 47_200
    assert budget.used > 0
    assert budget.used + budget.available == budget.total


def test_working_memory_is_rebuilt_at_each_turn(opened: Opener) -> None:
    """001.1: each context is made from what is stored now; what was in the last one does not linger."""
    talk = Talk(opened("project"))
    seen = []
    for _ in range(12):
        talk.turns(1)
        talk.memory.settle()
        context = talk.context()
        assert context.tokens == context.budget.used
        seen.append(verbatim(context))
    assert seen == [list(range(max(1, 2 * turn - 19), 2 * turn + 1)) for turn in range(1, 13)]


def test_what_is_in_no_chunk_yet_is_shown_while_the_worker_is_late(opened: Opener) -> None:
    """001.12: messages past the newest twenty stay visible until their chunk is written, and then leave."""
    talk = Talk(opened("project"))
    talk.messages(27)
    context = talk.context()
    assert verbatim(context) == list(range(1, 28))
    assert context.manifest.coverage.blind_messages == 0
    talk.memory.settle()
    assert verbatim(talk.context()) == list(range(8, 28))


def test_turns_past_the_retention_that_are_in_no_chunk_yet_are_warned_of(opened: Opener) -> None:
    """001.20: the warning names the messages and the setting that hides them."""
    talk = Talk(opened(PROFILES["project"].but(short_term_retention_turns=12)))
    talk.turns(15)
    context = talk.context()
    assert context.manifest.coverage.blind_messages == 6
    (warning,) = context.manifest.warnings
    assert warning.startswith("6 messages (1-6) are not visible: before the newest 12 turns and in no summary yet.")
    assert "short_term_retention_turns" in warning


@pytest.mark.also_postgres
def test_the_conversation_record(opened: Opener) -> None:
    """001.2: status, turns, chunks, recent messages, facts and milestones of a conversation."""
    memory = opened(PROFILES["project"].but(facts=True))
    talk = Talk(memory)
    talk.add("user", "My name is Alex and I prefer PostgreSQL.")
    talk.add("assistant", "Noted.")
    memory.milestone(SESSION, "Database chosen")
    talk.turns(14)
    memory.settle()
    memory.pause(SESSION)
    assert memory.conversation(SESSION).status == "paused"
    memory.end(SESSION, "Database selection complete")
    memory.settle()
    record = memory.conversation(SESSION)
    assert record.status == "ended"
    assert record.session.ended_at is not None
    assert record.total_turns == 15
    assert spans([chunk.covers for chunk in record.chunks]) == [(1, 10), (11, 30)]
    assert [message.seq for message in record.recent] == list(range(11, 31))
    assert [(mark.turn, mark.title) for mark in record.milestones] == [
        (1, "Database chosen"),
        (15, "Database selection complete"),
    ]
    assert any("PostgreSQL" in fact.quote for fact in record.active_facts)


def test_past_twenty_recent_messages_the_oldest_ten_become_a_chunk(opened: Opener) -> None:
    """001.3: message 21 makes the chunk 1-10, 31 makes 11-20, and so on; none in between."""
    recorder = Recorder(echo)
    talk = Talk(opened("project", summariser=recorder))
    made = {}
    for count in range(1, 52):
        talk.message()
        before = len(recorder.tasks)
        talk.memory.settle()
        for task in recorder.tasks[before:]:
            made[count] = (task.messages[0].seq, task.messages[-1].seq)
    assert made == {21: (1, 10), 31: (11, 20), 41: (21, 30), 51: (31, 40)}
    for number, chunk in enumerate(talk.summaries(), 1):
        assert chunk.kind == "chunk"
        assert chunk.topics == ("databases", f"topic {number}")
        assert 0 < chunk.tokens <= 200


def test_the_messages_of_a_chunk_are_kept_but_not_sent(opened: Opener) -> None:
    """001.3: the originals can be read at any time; the context has the chunk's summary in their place."""
    talk = Talk(opened(PROFILES["project"].but(relevance_threshold=1), summariser=Recorder(echo)))
    talk.messages(41)
    talk.memory.settle()
    context = talk.context()
    chunks = talk.summaries()
    assert [message.text for message in talk.memory.zoom(chunks[0].id)] == [said(n) for n in range(1, 11)]
    assert said(5) not in context.text
    assert all(chunk.text in context.text for chunk in chunks)
    assert verbatim(context) == list(range(22, 42))
    assert spans(context.manifest.coverage.summarised) == [(1, 21)]


def test_chunk_summaries_have_100_to_200_tokens_and_real_topics(opened: Opener) -> None:
    """001.3: without a model a chunk has a summary of at most 200 tokens and topics from its own words."""
    talk = Talk(opened("project"))
    for number in range(11):
        talk.add("user", f"The PostgreSQL migration step {number} needs a backup of the invoices table. " * 3)
        talk.add("assistant", f"The backup of invoices for PostgreSQL step {number} takes {number} minutes. " * 3)
    talk.memory.settle()
    (chunk,) = talk.summaries()
    assert 60 <= chunk.tokens <= 200
    topics = " ".join(chunk.topics).casefold()
    assert "postgresql" in topics
    assert "invoices" in topics


def test_past_max_chunks_the_oldest_two_are_merged(opened: Opener) -> None:
    """001.4: `Earlier: … Then: …`, topics deduplicated, the originals still there."""
    talk = Talk(opened(PROFILES["project"].but(max_chunks=3), summariser=Recorder(echo)))
    talk.messages(51)
    talk.memory.settle()
    merged, *others = talk.summaries()
    first, second = sorted(
        (s for s in talk.summaries(live=False) if s.folded_into == merged.id), key=lambda s: s.covers.first
    )
    assert len(others) == 2
    assert merged.kind == "merged"
    assert merged.text == f"Earlier: {first.text}\n\nThen: {second.text}"
    assert merged.topics == ("databases", "topic 1", "topic 2")
    assert spans([merged.covers, *(chunk.covers for chunk in others)]) == [(1, 20), (21, 30), (31, 40)]
    assert [message.text for message in talk.memory.zoom(merged.id)] == [said(n) for n in range(1, 21)]
    talk.messages(10)
    talk.memory.settle()
    again = talk.summaries()[0]
    assert spans([again.covers]) == [(1, 30)]
    assert again.text.count("Earlier: ") == 1
    assert again.text.startswith("Earlier: ")


def test_a_merge_never_passes_its_cap(opened: Opener) -> None:
    """001.4: however many chunks are merged, the merged summary stays within its cap and keeps the newest part."""
    talk = Talk(opened(PROFILES["project"].but(max_chunks=2)))
    talk.messages(160, words=30)
    talk.memory.settle()
    merged, newest = talk.summaries()
    assert merged.tokens <= talk.memory.profile.upkeep.cap  # type: ignore[union-attr]
    assert merged.text.startswith("Earlier: ")
    assert "\n\nThen: " in merged.text
    assert newest.covers.last == 140
    assert talk.memory.verify().ok


def test_250_turns_give_about_25_chunks(opened: Opener) -> None:
    """001.4 and 001.21: a conversation of 250 turns is held in 25 chunks that miss no message."""
    talk = Talk(opened("project"))
    talk.memory.add(
        [{"role": "assistant" if n % 2 == 0 else "user", "content": said(n)} for n in range(1, 501)],
        user_id=USER,
        session_id=SESSION,
    )
    talk.memory.settle()
    chunks = talk.summaries()
    assert 23 <= len(chunks) <= 27
    edges = [0, *(chunk.covers.last for chunk in chunks)]
    assert [chunk.covers.first for chunk in chunks] == [edge + 1 for edge in edges[:-1]]
    context = talk.context("What was said first?")
    assert context.manifest.coverage.blind_messages == 0
    assert context.tokens < 20_000


def test_recent_messages_come_before_memories_and_memories_before_chunks(opened: Opener) -> None:
    """001.12: by priority: system prompt 1.0, recent 0.9 decreasing, memories by relevance, chunks 0.5 decreasing."""
    talk = Talk(opened("project", summariser=Recorder(echo)))
    for number in range(1, 61):
        words = " ".join(f"x{number}y{index}" for index in range(1 if number == 5 else 12))
        talk.add("assistant" if number % 2 == 0 else "user", f"{'harbour lighthouse ' * (number == 5)}{words}")
    talk.memory.settle()
    chunks = [chunk.id for chunk in talk.summaries()]
    question, system = "Tell me about the harbour lighthouse please", "You are a pilot."
    kept: dict[str, list[int]] = {"recent": [], "recalled": [], "summaries": []}
    whole = talk.context(question, system=system, budget=60_000)
    for budget in range(150, whole.tokens * 2 + 200, 40):
        context = talk.context(question, system=system, budget=budget)
        assert context.tokens <= budget
        assert context.messages[0] == {"role": "system", "content": system}
        for section, counts in kept.items():
            counts.append(sum(1 for item in context.manifest.items if item.section == section))
        window = [item.span.first for item in context.manifest.items if item.section == "recent"]
        assert window == list(range(60, 60 - len(window), -1)), "the newest first, without holes"
        told = [item.id for item in context.manifest.items if item.section == "summaries"]
        assert told == chunks[::-1][: len(told)], "the newest chunks first"
        left = [item for item in context.manifest.omitted if item.reason == "over budget"]
        assert bool(left) == bool(context.manifest.warnings)
    assert kept["recent"][0] >= 1
    assert kept["recalled"].index(1) < kept["summaries"].index(1), "memories before chunk summaries"
    assert (kept["recent"][-1], kept["recalled"][-1], kept["summaries"][-1]) == (20, 1, len(chunks))
    assert not whole.manifest.warnings


def test_the_reserves_are_kept_free(opened: Opener) -> None:
    """001.12: of 128,000 tokens the memory takes at most 118,000: 2,000 and 8,000 are for the system and this turn."""
    profile = PROFILES["project"].but(max_recent_messages=400, short_term_retention_turns=None)
    talk = Talk(opened(profile))
    text = "alpha beta gamma delta epsilon zeta " * 100
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n in range(300)]
    talk.memory.add(messages, user_id=USER, session_id=SESSION)
    context = talk.context("unrelated words only")
    assert context.manifest.sections["recent"] > 70_800, "recent messages take what memories leave"
    assert 112_000 < context.tokens <= 118_100
    assert any("did not fit the budget" in warning for warning in context.manifest.warnings)


def test_recent_messages_have_60_percent_where_memories_want_the_rest(opened: Opener) -> None:
    """001.12: 60 % of what is available is for recent messages, 40 % for memories, when both have enough to say."""
    profile = PROFILES["project"].but(system_prompt_tokens=0, working_memory_tokens=0, retrieval_top_k=100)
    talk = Talk(opened(profile))
    for number in range(60):
        role = "assistant" if number % 2 else "user"
        talk.add(role, f"harbour lighthouse note {number} " + " ".join(f"n{number}k{index}" for index in range(40)))
    context = talk.context("harbour lighthouse note", budget=3_000)
    one = 140  # what is left when no memory fits any more may go to one more message
    assert 0.5 * 3_000 < context.manifest.sections["recent"] <= 0.6 * 3_000 + one
    assert 0.25 * 3_000 < context.manifest.sections["recalled"] <= 0.4 * 3_000


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("Which database did we choose for invoices?", id="the-input"),
        pytest.param("And why?", id="the-input-and-the-recent-messages"),
        pytest.param(None, id="the-question-stored-last"),
    ],
)
def test_the_retrieval_query_is_made_from_the_input_and_the_recent_messages(opened: Opener, query: str | None) -> None:
    """001.12: what is asked, or what was just said if the question says little, finds the old message."""
    talk = Talk(opened(PROFILES["project"].but(close_gaps=False)))  # what is not in a chunk yet would be shown anyway
    talk.add("user", "For the invoices we choose the PostgreSQL database because of its transactions.")
    talk.messages(49)
    talk.add("user", "Which database did we choose for invoices?")
    if query == "And why?":
        talk.add("assistant", "PostgreSQL.")
    context = talk.context(query)
    found = [item for item in context.manifest.items if item.section == "recalled"]
    assert found[0].span.first == 1
    assert found[0].score >= talk.memory.profile.relevance_threshold
    assert "because of its transactions" in context.text


def test_ids_sort_by_time_and_are_unique(opened: Opener, clock: Clock) -> None:
    """001.18: ids of messages and chunks are unique and sort in the order in which they were made."""
    talk = Talk(opened("project"))
    talk.memory.add([{"role": "user", "content": said(n)} for n in range(share(500))], user_id=USER, session_id=SESSION)
    clock.ahead(seconds=1)
    talk.messages(40)
    talk.memory.settle()
    ids = [message.id for message in talk.memory.messages(SESSION)]
    chunks = [chunk.id for chunk in talk.summaries(live=False) if chunk.kind == "chunk"]
    for found in (ids, chunks):
        assert len(set(found)) == len(found)
        assert sorted(found) == found
