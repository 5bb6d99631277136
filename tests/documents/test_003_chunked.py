"""Document 003, chunked summary, as the profile `chunked`: budgets, formats, background behaviour and settings."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from lamina import PROFILES, AsyncMemory, Memory, NotFound
from lamina.models.token_counters import ExactCounter
from lamina.protocols.models import SummaryDraft, SummaryTask
from lamina.settings import load_settings
from lamina.values.codec import encode
from tests.documents.talks import SESSION, USER, Gate, Recorder, Talk, echo, said, spans, verbatim
from tests.places import Place
from tests.waiting import until, wait_until

Opener = Callable[..., Memory]

BACKGROUND = "BACKGROUND – PRIOR CONVERSATION SUMMARY (use only if relevant):"  # noqa: RUF001 - as in the document
count = ExactCounter().count


def words(number: int, tokens: int) -> str:
    """A message of about so many tokens that begins with its number."""
    return f"M{number:03d}" + " alpha" * (tokens - 3)


def test_the_model_variant_is_stored_and_changes_nothing(opened: Opener) -> None:
    """003.1: each assistant message keeps which model wrote it; memory does not branch on it."""
    contexts = []
    for name, variants in (("one.db", ["arco"] * 40), ("two.db", ["arco", "deep-dive"] * 20)):
        talk = Talk(opened("chunked", name=name))
        for number, variant in enumerate(variants):
            talk.add("user", words(2 * number, 100))
            talk.add("assistant", words(2 * number + 1, 100), model=variant)
        talk.memory.settle()
        stored = [message.model for message in talk.memory.messages(SESSION) if message.role == "assistant"]
        assert stored == variants
        contexts.append((talk.context("and now?").text, spans([s.covers for s in talk.summaries()])))
    assert contexts[0] == contexts[1]


def test_the_variant_may_stand_in_the_metadata(opened: Opener) -> None:
    """003.1: `model_variant` in a message's metadata is the same thing; users have none."""
    talk = Talk(opened("chunked"))
    talk.add("user", "hello")
    talk.add("assistant", "hi", metadata={"model_variant": "arco-pro"})
    user, assistant = talk.memory.messages(SESSION)
    assert user.model is None
    assert assistant.model == "arco-pro"
    assert assistant.metadata == {"model_variant": "arco-pro"}


def test_a_turn_is_a_user_message_and_its_reply(opened: Opener) -> None:
    """003.1: memory counts turns: several replies, or system notes, belong to the turn they follow."""
    talk = Talk(opened("chunked"))
    for number in range(1, 6):
        talk.add("user", said(number))
        talk.add("assistant", "first part")
        talk.add("assistant", "second part")
        talk.add("system", "a note")
    assert talk.memory.session(SESSION).counters.turns == 5
    assert verbatim(talk.context()) == list(range(9, 21))


def test_one_global_summary_of_at_most_500_tokens(opened: Opener) -> None:
    """003.2: a single summary, hard cap 500, and a cursor at the last message it knows; it grows by chunks."""
    talk = Talk(opened("chunked"))
    cursors = []
    for _ in range(40):
        talk.turns(1, words=120)
        if talk.memory.settle().folds:
            (summary,) = talk.summaries()
            assert summary.tokens <= 500
            assert summary.covers.first == 1
            assert summary.covers.last == talk.memory.session(SESSION).counters.cursor
            cursors.append(summary.covers.last)
    assert len(cursors) >= 3
    assert cursors == sorted(set(cursors))
    assert all(cursor % 2 == 0 for cursor in cursors), "the cursor is an assistant message"


def test_a_model_that_ignores_the_cap_is_cut(opened: Opener) -> None:
    """003.2: the cap of 500 is hard, whatever the model writes."""
    recorder = Recorder(lambda task: "They said alpha M001. " * 400)
    talk = Talk(opened("chunked", summariser=recorder))
    for number in range(1, 41):
        talk.add("assistant" if number % 2 == 0 else "user", words(number, 250))
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert 0 < summary.tokens <= 500


def test_the_last_three_turns_are_always_verbatim(opened: Opener) -> None:
    """003.3: before, at and after a fold the last K=3 turns stand in the prompt word for word."""
    talk = Talk(opened("chunked"))
    folds = 0
    for turn in range(1, 46):
        talk.add("user", words(2 * turn - 1, 100))
        talk.add("assistant", words(2 * turn, 100))
        folds += talk.memory.settle().folds
        context = talk.context("next?")
        newest = list(range(max(1, 2 * turn - 5), 2 * turn + 1))
        assert verbatim(context) == newest
        assert all(words(number, 100) in context.text for number in newest)
    assert folds


@pytest.mark.parametrize("stored", [False, True], ids=["question-given", "question-stored-first"])
def test_three_complete_turns_whether_or_not_the_question_is_stored(opened: Opener, stored: bool) -> None:
    """003.13: K = 3 turns with their replies, at every turn; a turn that waits for a tool or a reply comes on top."""
    talk = Talk(opened("chunked"))
    for turn in range(1, 12):
        question = f"question {turn}?"
        if stored:
            talk.add("user", question)
        complete = list(range(max(1, 2 * turn - 7), 2 * turn - 1))
        assert verbatim(talk.context(question)) == complete + ([2 * turn - 1] if stored else [])
        if not stored:
            talk.add("user", question)
        talk.add("assistant", f"answer {turn}")
        talk.memory.settle()
    talk.add("user", "look it up")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    talk.add("assistant", None, tool_calls=[call])
    talk.add("tool", "found", tool_call_id="c1")
    assert verbatim(talk.context()) == list(range(17, 26))


@pytest.mark.also_postgres
@pytest.mark.parametrize("count", [1, 2, 5])
def test_unanswered_questions_come_on_top_of_three_complete_turns(opened: Opener, count: int) -> None:
    """003.13: also if the reply to several of them is missing, and once one of them has its reply."""
    talk = Talk(opened("chunked"))
    for turn in range(1, 8):
        talk.add("user", f"question {turn}?")
        talk.add("assistant", f"answer {turn}")
    for number in range(count):
        talk.add("user", f"and {number}?")
    talk.memory.settle()
    asked = list(range(15, 15 + count))
    assert verbatim(talk.context()) == [9, 10, 11, 12, 13, 14, *asked]
    assert verbatim(talk.context("one more?")) == [9, 10, 11, 12, 13, 14, *asked]
    talk.add("assistant", "all of that")
    assert verbatim(talk.context("next?")) == [11, 12, 13, 14, *asked, 15 + count]


def test_folds_only_past_6000_tokens(opened: Opener) -> None:
    """003.4: nothing is summarised until summary + unsummarised turns exceed 6,000 tokens; then all but 3 turns are."""
    recorder = Recorder(echo)
    talk = Talk(opened("chunked", summariser=recorder))
    sizes: list[tuple[int, int]] = []
    for turn in range(1, 61):
        talk.add("user", words(2 * turn - 1, 100))
        talk.add("assistant", words(2 * turn, 150))
        held = talk.memory.session(SESSION).counters.unfolded_tokens + sum(s.tokens for s in talk.summaries())
        folded = talk.memory.settle().folds
        assert bool(folded) == (held > 6_000), f"turn {turn}: {held} tokens"
        if folded:
            sizes.append((turn, recorder.tasks[-1].messages[-1].turn))
    assert len(sizes) >= 2
    assert all(last == turn - 3 for turn, last in sizes)


def test_few_long_turns_are_not_folded(opened: Opener) -> None:
    """003.4: with no more than K turns there is nothing older to fold, however long they are."""
    recorder = Recorder(echo)
    talk = Talk(opened("chunked", summariser=recorder))
    for turn in range(1, 4):
        talk.add("user", words(2 * turn - 1, 2_000))
        talk.add("assistant", words(2 * turn, 2_000))
    assert talk.memory.session(SESSION).counters.tokens > 6_000
    talk.memory.settle()
    assert not recorder.tasks
    talk.add("user", "one more")
    talk.memory.settle()
    assert not recorder.tasks, "the turn is not complete"
    talk.add("assistant", "yes")
    talk.memory.settle()
    assert spans([summary.covers for summary in talk.summaries()]) == [(1, 2)]


def folded_talk(opened: Opener, turn_tokens: int) -> Talk:
    """A talk with a summary of about 400 tokens and three turns of so many tokens behind it."""
    text = "They said alpha in M001. " * 57
    talk = Talk(opened(PROFILES["chunked"].but(chunk_summarize_threshold=4_000), summariser=Recorder(lambda _: text)))
    for number in range(1, 41):
        talk.add("assistant" if number % 2 == 0 else "user", words(number, 210 if number < 35 else turn_tokens // 2))
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert 380 <= summary.tokens <= 420
    assert summary.covers.last >= 20
    return talk


@pytest.mark.parametrize(
    ("turn_tokens", "turns", "cut"),
    [
        pytest.param(600, 3, False, id="all-fits"),
        pytest.param(1_000, 2, False, id="oldest-tail-turn-dropped"),
        pytest.param(1_700, 1, False, id="one-tail-turn-left"),
        pytest.param(2_760, 1, True, id="then-the-summary-is-cut"),
    ],
)
def test_the_prompt_budget_drops_tail_turns_before_it_cuts_the_summary(
    opened: Opener, caplog: pytest.LogCaptureFixture, turn_tokens: int, turns: int, cut: bool
) -> None:
    """003.5 and 003.10: 3,000 tokens: tail turns go down to 1-2 first, then the summary is cut; both are logged."""
    talk = folded_talk(opened, turn_tokens)
    with caplog.at_level(logging.INFO, logger="lamina.context"):
        context = talk.context("and now?")
    assert context.budget.total == 3_000
    assert context.tokens <= 3_000
    (summary,) = talk.summaries()
    kept = [number for number in range(35, 41) if words(number, turn_tokens // 2) in context.text]
    assert kept == list(range(41 - 2 * turns, 41))
    assert (summary.text in context.text) is not cut
    assert BACKGROUND in context.text
    (record,) = [record for record in caplog.records if record.message == "context_built"]
    assert record.tail_dropped == 3 - turns  # type: ignore[attr-defined]
    assert record.summary_cut is cut  # type: ignore[attr-defined]
    assert record.tokens == context.tokens  # type: ignore[attr-defined]
    assert ("summaries: cut to fit the budget" in context.manifest.warnings) is cut


@pytest.mark.also_postgres
@pytest.mark.parametrize("stored", [False, True], ids=["question-given", "question-stored-first"])
def test_the_order_is_background_recent_sources_question(opened: Opener, stored: bool) -> None:
    """003.5 and 003.13: background summary, three complete turns, retrieved sources, then the current question."""
    talk = folded_talk(opened, 300)
    question, source = "What did the manual say?", "MANUAL: press the red button."
    if stored:
        talk.add("user", question)
    context = talk.context(question, sources=[source], system="Be brief.")
    (summary,) = talk.summaries()
    user = "User: " if stored else ""
    tail = [(n, n + 1) for n in (35, 37, 39)]
    turns = [f"User: {words(asked, 150)}\nAssistant: {words(reply, 150)}" for asked, reply in tail]
    expected = ["Be brief.", f"{BACKGROUND}\n{summary.text}", *turns, source, f"{user}{question}"]
    assert context.text == "\n\n".join(expected)
    contents = [message["content"] for message in context.messages]
    assert contents[0] == "Be brief."
    assert summary.text in contents[1]
    assert contents[-2:] == [source, question]
    assert context.messages[-1]["role"] == "user"


def test_the_summariser_input_is_exact(opened: Opener) -> None:
    """003.6: `=== EXISTING_SUMMARY ===` with NONE at first, numbered turns, and the end markers."""
    recorder = Recorder(lambda task: "They said alpha.")
    talk = Talk(opened(PROFILES["chunked"].but(chunk_summarize_threshold=50), summariser=recorder))
    for number in range(1, 10):
        talk.add("user", f"question alpha {number} alpha alpha")
        talk.add("assistant", f"answer alpha {number}\nin two lines")
        talk.memory.settle()
    initial, update = recorder.tasks[:2]
    assert initial.messages[-1].turn == 1
    assert initial.input == (
        "=== EXISTING_SUMMARY ===\nNONE\n=== END_EXISTING_SUMMARY ===\n\n"
        "=== NEW_TURNS ===\n"
        "Turn 1:\nUser: question alpha 1 alpha alpha\nAssistant: answer alpha 1\nin two lines\n"
        "=== END_NEW_TURNS ==="
    )
    assert update.input == (
        "=== EXISTING_SUMMARY ===\nThey said alpha.\n=== END_EXISTING_SUMMARY ===\n\n"
        "=== NEW_TURNS ===\n"
        "Turn 1:\nUser: question alpha 2 alpha alpha\nAssistant: answer alpha 2\nin two lines\n"
        "=== END_NEW_TURNS ==="
    )
    assert initial.input in initial.instructions
    assert initial.cap == 500
    assert initial.hosted == PROFILES["chunked"].hosted


def test_several_new_turns_are_numbered_from_one(opened: Opener) -> None:
    """003.6: turns are numbered from 1 in each input and separated by an empty line."""
    recorder = Recorder(lambda task: "They said alpha.")
    talk = Talk(opened("chunked", summariser=recorder))
    for number in range(1, 6):
        talk.add("user", words(2 * number - 1, 700))
        talk.add("assistant", words(2 * number, 700))
    talk.memory.settle()
    (task,) = recorder.tasks
    assert task.input == (
        "=== EXISTING_SUMMARY ===\nNONE\n=== END_EXISTING_SUMMARY ===\n\n=== NEW_TURNS ===\n"
        f"Turn 1:\nUser: {words(1, 700)}\nAssistant: {words(2, 700)}\n\n"
        f"Turn 2:\nUser: {words(3, 700)}\nAssistant: {words(4, 700)}\n=== END_NEW_TURNS ==="
    )


@pytest.mark.also_postgres
def test_summaries_are_written_after_the_reply_in_the_background(place: Place) -> None:
    """003.8: nothing starts before the reply is complete; then `add` returns at once and the fold goes on by itself."""
    gate = Gate()
    with Memory(place("chat.db"), profile="chunked", summariser=gate) as memory:
        talk = Talk(memory)
        for number in range(1, 40):
            talk.add("assistant" if number % 2 == 0 else "user", words(number, 300 if number > 38 else 155))
        assert memory.settle().folds == 0, "past 6,000 tokens, but the last turn waits for its reply"
        assert gate.started == 0
        talk.add("assistant", words(40, 155))
        wait_until(lambda: gate.inside == 1)
        assert verbatim(talk.context("next?")) == list(range(35, 41)), "the prompt is not held up"
        assert gate.inside == 1, "the model still writes"
        gate.opened = True
        wait_until(lambda: bool(talk.summaries()))
    with Memory(place("chat.db"), worker=False) as memory:
        assert spans([summary.covers for summary in memory.summaries(SESSION)]) == [(1, 34)]


def test_a_fold_goes_on_when_the_client_leaves(place: Place) -> None:
    """003.8: a client that is gone (its memory closed in the middle) costs nothing: the fold is made by the next."""
    gate = Gate()
    with Memory(place("chat.db"), profile="chunked", summariser=gate) as memory:
        talk = Talk(memory)
        for number in range(1, 41):
            talk.add("assistant" if number % 2 == 0 else "user", words(number, 155))
        wait_until(lambda: gate.inside == 1)
    with Memory(place("chat.db"), worker=False) as memory:
        assert not memory.summaries(SESSION)
        assert len(memory.messages(SESSION)) == 40
        memory.settle()
        assert spans([summary.covers for summary in memory.summaries(SESSION)]) == [(1, 34)]


class Broken:
    """A summariser that fails, each time in another way."""

    name = "broken"

    def __init__(self) -> None:
        self.calls = 0

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        self.calls += 1
        if self.calls % 2:
            raise RuntimeError("the provider is down")
        return SummaryDraft(text="I'm sorry, I can't help with that.")


def test_failures_are_logged_and_never_seen_by_the_caller(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """003.8: a failing model is retried and logged; then the offline summary stands in, and says so."""
    broken = Broken()
    talk = Talk(opened("chunked", summariser=broken))
    for number in range(1, 41):
        talk.add("assistant" if number % 2 == 0 else "user", words(number, 155))
    with caplog.at_level(logging.INFO):
        assert not talk.memory.settle().failed
    assert broken.calls == 3
    assert [r.message for r in caplog.records].count("fold_failed") == 2
    assert "alpha" not in " ".join(r.getMessage() for r in caplog.records), "what was said is not logged"
    (summary,) = talk.summaries()
    assert summary.recipe.model == "offline-1"
    assert "RuntimeError" in (summary.recipe.fallback or "")
    assert talk.context("next?").tokens <= 3_000


def test_one_summarisation_in_flight_per_chat(place: Place) -> None:
    """003.9: however many workers look, one fold of a chat runs at a time; other chats are not held up."""

    async def scenario() -> Gate:
        gate = Gate()
        async with (
            AsyncMemory(place("chat.db"), profile="chunked", summariser=gate) as one,
            AsyncMemory(place("chat.db"), profile="chunked", summariser=gate) as two,
        ):
            chat = [
                {"role": "assistant" if number % 2 == 0 else "user", "content": words(number, 155)}
                for number in range(1, 41)
            ]
            await one.add(chat, user_id=USER, session_id=SESSION)
            settling = [asyncio.create_task(memory.settle()) for memory in (one, two)]
            await until(lambda: gate.started)
            await two.add(chat, user_id=USER, session_id="another")
            settling += [asyncio.create_task(memory.settle()) for memory in (one, two)]
            await until(lambda: gate.started > 1)
            assert gate.sessions == [SESSION, "another"]
            gate.opened = True
            await asyncio.gather(*settling)
            for session in gate.sessions:
                assert spans([summary.covers for summary in await two.summaries(session)]) == [(1, 34)]
        return gate

    gate = asyncio.run(scenario())
    assert gate.sessions == [SESSION, "another"]


def test_a_fold_is_logged_with_its_numbers(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """003.10: tokens before and after, turns folded, duration, by stable names."""
    talk = Talk(opened("chunked"))
    for number in range(1, 41):
        talk.add("assistant" if number % 2 == 0 else "user", words(number, 155))
    before = talk.memory.session(SESSION).counters.tokens
    with caplog.at_level(logging.INFO, logger="lamina.fold"):
        talk.memory.settle()
    (record,) = [record for record in caplog.records if (record.name, record.message) == ("lamina.fold", "folded")]
    fields = vars(record)
    assert fields["tokens_before"] == before
    assert fields["tokens_after"] == talk.summaries()[0].tokens <= 500
    assert fields["turns_folded"] == 17
    assert fields["messages_folded"] == 34
    assert fields["seconds"] >= 0
    assert fields["commit_seconds"] > 0
    assert fields["session"] == SESSION


SEVEN = {
    "MEMORY_K_RAW_TURNS": "2",
    "MEMORY_SUMMARY_TOKEN_CAP": "200",
    "MEMORY_PROMPT_TOKEN_BUDGET": "1500",
    "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": "2000",
    "MEMORY_SUMMARIZER_MODEL": "gpt-5.1-nano-2",
    "PROMPT_ID_SUMMARY_GLOBAL": "pmpt_other",
    "PROMPT_VERSION_SUMMARY_GLOBAL": "7",
}


def test_the_seven_settings_by_their_names(opened: Opener) -> None:
    """003.11: each knob of the document, by its own environment name, changes what it says."""
    profile = load_settings({"LAMINA_PROFILE": "chunked", **SEVEN}, None).profile
    recorder = Recorder(lambda task: "They said alpha in M001. " * 60)
    talk = Talk(opened(profile, summariser=recorder))
    for number in range(1, 22):
        talk.add("assistant" if number % 2 == 0 else "user", words(number, 110))
    talk.memory.settle()
    (summary,) = talk.summaries()
    assert summary.tokens <= 200
    assert summary.covers.last == 16, "past 2,000 tokens all but 2 turns"
    task = recorder.tasks[0]
    assert task.model == "gpt-5.1-nano-2"
    assert task.hosted is not None
    assert (task.hosted.id, task.hosted.version) == ("pmpt_other", "7")
    context = talk.context("next?")
    assert context.budget.total == 1_500
    assert verbatim(context) == [17, 18, 19, 20, 21], "two complete turns and the open one"


def test_the_defaults_of_the_seven_settings(opened: Opener) -> None:
    """003.11: K=3, cap 500, budget 3,000, threshold 6,000, a nano model, the hosted prompt's id."""
    memory = opened("chunked")
    profile = memory.profile
    assert profile == load_settings({"LAMINA_PROFILE": "chunked"}, None).profile
    assert profile.window.size == profile.schedule.keep == 3  # type: ignore[union-attr]
    assert (profile.cap, profile.total_cap, profile.budget) == (500, 500, 3_000)
    assert profile.schedule.tokens == 6_000  # type: ignore[union-attr]
    assert profile.summarizer_model == "gpt-5.1-nano"
    assert profile.hosted is not None
    assert profile.hosted.id == "pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120"


def test_a_short_chat_is_a_plain_sliding_window(opened: Opener) -> None:
    """003.12: no summary, no background section, nothing asked of the model: the last 3 turns and the question."""
    recorder = Recorder(echo)
    talk = Talk(opened("chunked", summariser=recorder))
    talk.turns(8)
    talk.memory.settle()
    assert not recorder.tasks
    assert not talk.summaries()
    turns = [f"User: {said(n)}\nAssistant: {said(n + 1)}" for n in (11, 13, 15)]
    assert talk.context("next?").text == "\n\n".join([*turns, "next?"])


def test_switching_models_in_the_middle_of_a_chat(opened: Opener) -> None:
    """003.12: turns of another model are in the tail and then in the summary like all others."""
    recorder = Recorder(echo)
    talk = Talk(opened("chunked", summariser=recorder))
    for turn in range(1, 31):
        variant = ("arco", "arco-pro", "deep-dive")[turn % 3]
        talk.add("user", words(2 * turn - 1, 100))
        talk.add("assistant", words(2 * turn, 600 if variant == "deep-dive" else 100), model=variant)
        talk.memory.settle()
        assert talk.context("next?").tokens <= 3_000
    models = {message.model for task in recorder.tasks for message in task.messages if message.role == "assistant"}
    assert models == {"arco", "arco-pro", "deep-dive"}
    assert talk.memory.verify().ok


def test_no_thread_is_left_behind(place: Place) -> None:
    """003.8: background work ends with the memory that it belongs to."""
    before = {thread.name for thread in threading.enumerate()}
    with Memory(place("chat.db"), profile="chunked") as memory:
        Talk(memory).turns(2)
    assert "lamina" not in {thread.name for thread in threading.enumerate()} - before


@pytest.mark.also_postgres
def test_the_brief_of_a_session(opened: Opener) -> None:
    """003.14: the summary and the last reply that is in it, in the words of the document; "" and None at first."""
    talk = Talk(opened("chunked"))
    talk.turns(2)
    assert encode(talk.memory.brief(SESSION)) == {"global_summary": "", "last_summarized_message_id": None}
    talk.turns(10, words=600)
    talk.memory.settle()
    (summary,) = talk.summaries()
    brief = talk.memory.brief(SESSION)
    assert brief.global_summary == summary.text
    last = talk.memory.messages(SESSION)[summary.covers.last - 1]
    assert (last.id, last.role) == (brief.last_summarized_message_id, "assistant")
    with pytest.raises(NotFound):
        talk.memory.brief("no such session")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param(
            {},
            "may matter later across technique, musicality, physiology, psychology, repertoire, and practice.",
            id="as-in-the-document",
        ),
        pytest.param({"domains": ("law", "tax")}, "facts that may matter later across law and tax.", id="others"),
        pytest.param({"domains": ()}, "facts that may matter later.", id="none"),
    ],
)
def test_the_instructions_of_the_prompt(opened: Opener, changes: dict[str, object], line: str) -> None:
    """003.14: the package's own prompt has the instructions of the hosted one; the profile names the domains."""
    recorder = Recorder(echo)
    talk = Talk(opened(PROFILES["chunked"].but(**changes), summariser=recorder))
    talk.turns(12, words=600)
    talk.memory.settle()
    instructions = recorder.tasks[0].instructions
    assert instructions.startswith("Update the conversation summary to include the NEW_TURNS.")
    assert line in instructions
    assert "within ~400-500 tokens (hard cap 500) and avoid redundant restatement." in instructions
