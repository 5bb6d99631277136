"""Logs of chat requests, and lists of messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import InputError
from lamina.formats import detect
from tests.formats.test_foreign import LOG, TALK, of_type, said, sample


def test_a_log_is_not_taken_twice() -> None:
    """Requests that repeat what was said before are one conversation, with the times at which each was said."""
    found = detect.convert(sample(LOG), LOG)
    assert found.skipped == {"entry whose messages are all in another": 2}
    first, *_ = of_type(found, "session")
    assert first["user_id"] == "rosa"
    messages = [record for record in of_type(found, "message") if record["session_id"] == first["id"]]
    assert [record["role"] for record in messages] == [
        "system", "user", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert [record["created_at"][14:19] for record in messages] == [
        "46:40", "46:40", "46:40", "47:40", "47:40", "47:42", "47:42",
    ]  # fmt: skip
    assert messages[2]["model"] == "gpt-4o-2024-08-06"
    assert "refusal" not in messages[2]


BRANCHES = [["a"], ["a", "a", "a", "a"], ["a", "a", "b"], ["a", "a", "a", "b"]]


@pytest.mark.parametrize("upto", [1, 2, 3])
def test_a_branch_keeps_its_id_when_another_comes_before_it(upto: int) -> None:
    """A later branch, nearer to the first conversation, does not take the id of an earlier one."""
    log = [{"messages": [{"role": "user", "content": word} for word in talk]} for talk in BRANCHES]
    after = detect.convert(log, "f").records
    assert all(record in after for record in detect.convert(log[:upto], "f").records)


@given(st.data())
def test_a_log_that_grows_keeps_its_ids(chance: st.DataObject) -> None:
    """Every message of the beginning of a log is in the whole log: same id, same session, same content."""
    talk = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4)
    log = [
        {"messages": [{"role": "user" if at % 2 == 0 else "assistant", "content": word} for at, word in enumerate(one)]}
        for one in chance.draw(st.lists(talk, min_size=1, max_size=8))
    ]
    upto = chance.draw(st.integers(1, len(log)))
    before = of_type(detect.convert(log[:upto], "f"), "message")
    after = of_type(detect.convert(log, "f"), "message")
    assert all(record in after for record in before)
    ids = [record["id"] for record in after]
    assert len(ids) == len(set(ids))


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), min_size=1, max_size=8))
def test_every_entry_of_a_log_is_in_a_session(talks: list[list[str]]) -> None:
    """Whatever an entry says is the beginning of some session."""
    log = [{"messages": [{"role": "user", "content": word} for word in talk]} for talk in talks]
    found = detect.convert(log, "f")
    sessions: dict[str, list[str]] = {}
    for record in of_type(found, "message"):
        sessions.setdefault(record["session_id"], []).append(record["content"])
    assert all(any(session[: len(talk)] == talk for session in sessions.values()) for talk in talks)
    assert len(sessions) + sum(found.skipped.values()) == len(talks)


def test_users_and_sessions_of_a_log() -> None:
    """The same words of two users are two conversations; a log's own session ids are kept."""
    log = [
        {"messages": TALK, "user": "ann"},
        {"messages": TALK, "user": "bob"},
        {"messages": TALK, "user": "bob", "metadata": {"conversation_id": 7}},
    ]
    sessions = of_type(detect.convert(log, "f"), "session")
    assert [record["user_id"] for record in sessions] == ["ann", "bob", "bob"]
    assert sessions[2]["id"] == "7"
    both = [{"messages": TALK, "session_id": "s", "user": user} for user in ("ann", "bob")]
    sessions += of_type(detect.convert(both, "f"), "session")
    assert [record["id"][:2] for record in sessions[3:]] == ["s", "s:"]
    assert len({record["id"] for record in sessions}) == 5


def test_functions_become_tools() -> None:
    """A function call of the old kind is a tool call, and its result answers it."""
    *_, called, result, _ = of_type(detect.convert(sample(LOG), LOG), "message")
    assert "function_call" not in called
    assert called["tool_calls"][0]["function"] == {"name": "weather", "arguments": "{}"}
    assert (result["role"], result["tool_call_id"]) == ("tool", called["tool_calls"][0]["id"])


def test_a_plain_list_of_messages() -> None:
    """A list of chat messages is one session; what a message says of itself is kept."""
    talk = [
        {"role": "user", "content": "hi", "created_at": 1_700_000_000, "metadata": {"a": 1}},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "model": "m", "weight": 0},
        {"role": "assistant", "content": None},
    ]
    found = detect.convert(talk, "f")
    assert len(of_type(found, "session")) == 1
    first, second = of_type(found, "message")
    assert (first["created_at"], first["metadata"]) == ("2023-11-14T22:13:20+00:00", {"a": 1})
    assert (second["content"], second["model"], second["metadata"]) == (
        [{"type": "text", "text": "yes"}], "m", {"weight": 0},
    )  # fmt: skip
    assert found.skipped == {"empty": 1}


def test_batches_and_choices() -> None:
    """The reply of a batch is taken; further choices are counted."""
    choices = [{"message": {"role": "assistant", "content": "one"}}, {"message": {"role": "assistant", "content": "2"}}]
    entry = {"body": {"messages": TALK}, "response": {"status_code": 200, "body": {"choices": choices, "created": 5}}}
    found = detect.convert([entry, {"messages": []}], "f")
    assert said(found) == [("user", "hi"), ("assistant", "one")]
    assert found.skipped == {"another choice of reply": 1, "entry without a message": 1}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param([{"messages": TALK}, {}], "f, entry 2 has no messages", id="entry"),
        pytest.param([{"messages": "hi"}], "f, entry 1: messages must be a list, not text", id="messages"),
        pytest.param([{"messages": [3]}], "f, entry 1, message 1 must be an object", id="message"),
        pytest.param(
            [{"messages": [*TALK, {"role": "narrator", "content": "x"}]}],
            "f, entry 1, message 2 has role 'narrator'; a role is one of ['system', ",
            id="role",
        ),
        pytest.param([{"role": "user", "content": 3}], "message 1 has a number as content", id="content"),
        pytest.param([{"messages": TALK, "created": "soon"}], "f, entry 1: time is 'soon'", id="time"),
    ],
)
def test_log_errors(data: Any, error: str) -> None:
    """An error names the entry, the message and what is wrong."""
    with pytest.raises(InputError) as raised:
        detect.convert(data, "f")
    assert error in str(raised.value)


SEEN = "You are brief.", "Where is Gouda?", "In South Holland.", "And Porto?", "In Portugal."


def anthropic_entry(asked: list[Any], answered: str) -> dict[str, Any]:
    """A request to Anthropic's API and its reply, which thinks before it answers."""
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": answered, "citations": None}]
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-a", "content": content}
    return {"request": {"model": "claude", "system": SEEN[0], "messages": asked}, "response": {**reply, "usage": {}}}


def test_a_log_of_anthropics_api() -> None:
    """System text, question and reply are read; a later request that repeats them, as text or blocks, goes on."""
    first = [{"role": "user", "content": SEEN[1]}]
    later = [*first, {"role": "assistant", "content": SEEN[2]}, {"role": "user", "content": SEEN[3]}]
    blocks = [{"type": "text", "text": SEEN[2], "citations": None}]
    again = [*first, {"role": "assistant", "content": blocks}, {"role": "user", "content": SEEN[3]}]
    for repeated in (later, again):
        log = [anthropic_entry(first, SEEN[2]), anthropic_entry(repeated, SEEN[4])]
        found = detect.convert(log, "f")
        assert [text for _, text in said(found)] == [*SEEN]
        assert len(of_type(found, "session")) == 1
        assert found.skipped == {"reasoning": 2, "entry whose messages are all in another": 1}
        assert of_type(found, "message")[2]["model"] == "claude-a"


def test_tools_of_anthropics_api_are_tool_calls() -> None:
    """A call and its result stand where chat messages have them."""
    called = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"day": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "sun"}
    asked = [*TALK, {"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]
    records = of_type(detect.convert([anthropic_entry(asked, "Sun.")], "f"), "message")
    assert [record["role"] for record in records] == ["system", "user", "assistant", "tool", "assistant"]
    assert records[3]["tool_call_id"] == records[2]["tool_calls"][0]["id"] == "t1"


def responses_entry(number: int, asked: Any, answered: str, **more: Any) -> dict[str, Any]:
    output = [
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": answered, "annotations": []}]},
    ]  # fmt: skip
    request = {"model": "m", "instructions": SEEN[0], "input": asked, **more}
    return {"request": request, "response": {"id": f"resp_{number}", "object": "response", "output": output}}


@pytest.mark.parametrize("named", [True, False], ids=["previous-response", "whole-history"])
def test_a_log_of_the_responses_api(named: bool) -> None:
    """A request goes on where the response that it names, or the history that it sends, ended."""
    first = responses_entry(1, SEEN[1], SEEN[2])
    whole = [
        {"role": "user", "content": [{"type": "input_text", "text": SEEN[1]}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SEEN[2]}]},
        {"role": "user", "content": SEEN[3]},
    ]
    later = responses_entry(2, SEEN[3], SEEN[4], previous_response_id="resp_1")
    found = detect.convert([first, later if named else responses_entry(2, whole, SEEN[4])], "f")
    assert [text for _, text in said(found)] == [*SEEN]
    assert len(of_type(found, "session")) == 1


def test_inputs_that_are_no_chat_are_no_log() -> None:
    """Embeddings have an input, too."""
    entry = {"request": {"model": "m", "input": "words"}, "response": {"data": [{"embedding": [0.0]}]}}
    with pytest.raises(InputError, match="no known format"):
        detect.convert([entry], "f")
