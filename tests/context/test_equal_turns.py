"""Recent turns that say the same are one, with a count; the order of the chat stays one that every API takes."""

from collections.abc import Iterator
from typing import Any

import pytest

from lamina import Memory
from lamina.values.manifest import Context
from lamina.values.message import Span

GHENT = "I live in Ghent."
ASK = "Is the kettle on the shelf?"


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.fixture
def memory(any_place: Any) -> Iterator[Memory]:
    with Memory(any_place(), worker=False) as opened:
        yield opened


def ask(memory: Memory, messages: list[dict[str, Any]], query: str | None = "Where do I live?", **more: Any) -> Context:
    memory.add(messages, user_id="ann", session_id="now")
    memory.settle()
    return memory.context(query, **{"user_id": "ann", "session_id": "now", "budget": 1_000, **more})


def chat(context: Context) -> list[tuple[str, str]]:
    """What user and assistant say in a context."""
    return [(one["role"], one["content"]) for one in context.messages if one["role"] != "system"]


@pytest.mark.also_postgres
def test_what_was_said_eight_times_stands_once_with_a_count_before_the_newest(memory: Memory) -> None:
    """The newest message is as it was said. The manifest names all eight, and none of them is not visible."""
    context = ask(memory, [user(GHENT)] * 8)
    assert chat(context) == [
        ("user", f"{GHENT} [said 7 times]"), ("user", GHENT), ("user", "Where do I live?"),
    ]  # fmt: skip
    named = {one for item in context.manifest.items if item.section == "recent" for one in item.message_ids}
    assert named == {message.id for message in memory.messages("now")}
    assert context.manifest.coverage.verbatim == (Span(first=1, last=8),)
    left = [one for one in context.manifest.omitted if one.section == "recent"]
    assert [one.span.first for one in left if one.span] == [6, 5, 4, 3, 2, 1]
    assert {one.reason for one in left} == {"says the same as message 7, which has the count"}


def test_an_exchange_that_comes_again_is_one(memory: Memory) -> None:
    """Question and answer go together; what was said between stays, and so does the newest exchange."""
    again = [user(ASK), assistant("Yes, it is.")]
    other = [user("Where are the cups?"), assistant("In the sink.")]
    context = ask(memory, [*again, *other, *again, *again, user("Fine."), assistant("Good.")])
    assert chat(context) == [
        ("user", "Where are the cups?"), ("assistant", "In the sink."),
        ("user", f"{ASK} [said 3 times]"), ("assistant", "Yes, it is."),
        ("user", "Fine."), ("assistant", "Good."), ("user", "Where do I live?"),
    ]  # fmt: skip
    assert context.manifest.coverage.blind_messages == 0
    assert context.to_anthropic()["messages"][0]["role"] == "user"


def test_case_spaces_and_the_last_sign_make_no_difference(memory: Memory) -> None:
    """As for hits; the newest wording is shown."""
    said = ["I live in Ghent", "i live in ghent.", " I live  in Ghent!", GHENT]
    context = ask(memory, [user(text) for text in said] + [user("Fine."), assistant("Good.")])
    assert chat(context)[0] == ("user", f"{GHENT} [said 4 times]")
    hits = [hit for hit in memory.search("Ghent", user_id="ann") if hit.kind == "message"]
    assert [hit.count for hit in hits if "ghent" in hit.text.casefold()] == [4]


def test_a_question_that_got_no_answer_is_one_with_its_repetition(memory: Memory) -> None:
    """A client that tries again leaves the same question without a reply."""
    context = ask(memory, [user(ASK), user(ASK), user(ASK), assistant("Yes."), user("Fine."), assistant("Good.")])
    assert chat(context)[:2] == [("user", f"{ASK} [said 3 times]"), ("assistant", "Yes.")]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([user(ASK), assistant("Yes."), user(ASK), assistant("No.")], id="another-answer"),
        pytest.param([user("Yes."), user("Is it on?"), user("Yes.")], id="a-short-answer-to-something-else"),
        pytest.param([user(ASK, name="Bo"), user(ASK, name="Al")], id="another-speaker"),
        pytest.param([user("You live in Ghent?"), user("You live in Ghent.")], id="a-question"),
        pytest.param([user("if x:\n  y()"), user("if x:\n    y()")], id="other-spaces"),
        pytest.param([user([{"type": "text", "text": ASK}])] * 2, id="parts"),
    ],
)
def test_turns_that_do_not_say_the_same_stay(memory: Memory, messages: list[dict[str, Any]]) -> None:
    context = ask(memory, [*messages, user("Fine."), assistant("Good.")])
    assert "times]" not in context.text
    assert len(context.messages) - 1 == len(messages) + 2


def test_calls_of_tools_are_never_one(memory: Memory) -> None:
    """The same call may have been made twice; each keeps its result."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn = [
        user("Look at the shelf again, please."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a kettle"},
        assistant("A kettle."),
    ]
    context = ask(memory, [*turn, *turn, user("Fine."), assistant("Good.")])
    assert [one["role"] for one in context.messages].count("tool") == 2


def test_the_current_message_is_as_it_was_said(memory: Memory) -> None:
    """Stored or not, it is never changed."""
    context = ask(memory, [user(GHENT)] * 4, query=None)
    assert chat(context) == [("user", f"{GHENT} [said 3 times]"), ("user", GHENT)]


def test_forgotten_messages_are_not_counted(memory: Memory) -> None:
    memory.add([user(GHENT)] * 4, user_id="ann", session_id="now")
    for message in memory.messages("now")[:2]:
        memory.forget(message_id=message.id)
    context = ask(memory, [user("Fine."), assistant("Good.")])
    assert f"{GHENT} [said 2 times]" in context.text


@pytest.mark.parametrize("profile", ["medium_term", "project", "assistant", "chunked", "layered"])
def test_profiles_with_a_window_of_exact_messages_keep_all(profile: str) -> None:
    with Memory(":memory:", worker=False, profile=profile) as memory:
        context = ask(memory, [user(GHENT), assistant("Noted.")] * 3)
        assert chat(context)[:6] == [("user", GHENT), ("assistant", "Noted.")] * 3


def test_room_that_repetition_leaves_is_used(memory: Memory) -> None:
    """What was said before the same long message came five times still fits."""
    long = "The harbour office wants the form about the mooring again. " * 8
    context = ask(memory, [user("The boat is blue."), *[user(long)] * 5, user("Fine.")], budget=400)
    assert "The boat is blue." in context.text
    assert context.tokens <= 400
