"""What `add` takes beside dicts: the objects of the SDKs that people use, made by the real packages."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

import anthropic.types as claude
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from llama_index.core.llms import ChatMessage
from mcp.types import TextContent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from pydantic import BaseModel

from lamina import InputError, Memory
from lamina.log.messages import as_list

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Ghent"}'}}


def completion(**message: Any) -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None} | message}
    return ChatCompletion.model_validate(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt", "choices": [choice]}
    )


def response(*output: dict[str, Any]) -> Response:
    return Response.model_validate(
        {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt", "output": list(output),
         "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    )  # fmt: skip


def answer(*blocks: dict[str, Any]) -> claude.Message:
    return claude.Message.model_validate(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": list(blocks),
         "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    )  # fmt: skip


THOUGHT = {"type": "thinking", "thinking": "They want the weather.", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Ghent", "unit": None}}
SAID = {"type": "text", "text": "I'll look."}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Weather."}]}
WORDS = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "I'll look.", "annotations": []}],
}  # fmt: skip
FUNCTION = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Ghent"}',
}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}


class Speaker(StrEnum):
    USER = "user"


class Own(BaseModel):
    role: Speaker
    content: str
    name: str | None = None


@dataclass
class Plain:
    role: str
    content: str
    name: str | None = None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(completion(content="Hello."), {"content": "Hello.", "model": "gpt"}, id="completion"),
        pytest.param(completion(content="Hello.").choices[0], {"content": "Hello."}, id="choice"),
        pytest.param(completion(content="Hello.").choices[0].message, {"content": "Hello."}, id="completion-message"),
        pytest.param(completion(refusal="No.").choices[0].message, {"refusal": "No."}, id="refusal"),
        pytest.param(completion(tool_calls=[CALL]).choices[0].message, {"tool_calls": [CALL]}, id="tool-calls"),
        pytest.param(response(WORDS), {"content": WORDS["content"], "model": "gpt"}, id="response"),
        pytest.param(response(WORDS).output, {"content": WORDS["content"]}, id="output-of-a-response"),
        pytest.param(response(WORDS).output[0], {"content": WORDS["content"]}, id="item-of-a-response"),
        pytest.param(answer(SAID), {"content": "I'll look.", "model": "claude"}, id="message-of-claude"),
        pytest.param(answer(SAID).content, {"content": [SAID]}, id="content-of-claude"),
        pytest.param(answer(SAID).content[0], {"content": [SAID]}, id="block-of-claude"),
        pytest.param(AIMessage("Hello."), {"content": "Hello."}, id="langchain"),
    ],
)
def test_what_a_model_answered_is_one_message(given, message):
    """An answer is added as the object that the SDK gave, whole or any part of it that is a message."""
    (read,) = as_list(given)
    assert read["role"] == "assistant"
    assert {name: read.get(name) for name in message} == message
    assert None not in read.values() or read["content"] is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(Own(role=Speaker.USER, content="Hello."), id="pydantic"),
        pytest.param(Plain("user", "Hello."), id="dataclass"),
        pytest.param(SimpleNamespace(role=Speaker.USER, content="Hello."), id="attributes"),
        pytest.param(HumanMessage("Hello."), id="langchain"),
        pytest.param(ChatMessage(role="user", content="Hello."), id="llamaindex"),
    ],
)
def test_any_object_with_role_and_content_is_a_message(given):
    """Objects of other libraries are known by their fields; those that are None are left out."""
    assert as_list(given) == [{"role": "user", "content": "Hello."}]


def test_what_an_answer_says_of_itself_goes_into_the_metadata(tmp_path):
    """The id of an answer and why it ended are kept, and are not the message's own id: it may be added twice."""
    with Memory(tmp_path / "a.db", worker=False) as memory:
        memory.add([answer(SAID), answer(SAID)], session_id="s")
        first, second = memory.messages("s")
    assert (first.metadata, first.model) == ({"response_id": "msg_1", "finish_reason": "end_turn"}, "claude")
    assert first.id != second.id


@pytest.mark.parametrize(
    ("call", "result"),
    [
        pytest.param(answer(THOUGHT, SAID, USE), {"type": "tool_result", "tool_use_id": "toolu_1"}, id="claude"),
        pytest.param(answer(SAID, USE).content, {"type": "tool_result", "tool_use_id": "toolu_1"}, id="claude-blocks"),
        pytest.param(response(REASONING, WORDS, FUNCTION), OUTPUT, id="response"),
        pytest.param(response(FUNCTION).output, OUTPUT, id="items"),
        pytest.param(
            completion(content="I'll look.", tool_calls=[CALL]).choices[0].message,
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            id="completion",
        ),
        pytest.param(
            AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Ghent"}, "id": "call_1"}]),
            ToolMessage("rain", tool_call_id="call_1"),
            id="langchain",
        ),
    ],
)
def test_a_call_and_its_result_stay_together_whatever_their_shape(call, result, tmp_path):
    """Calls and results of every SDK are one group: a context has both or neither, in the shape of chat completions."""
    given = [*call] if isinstance(call, list) else [call]
    with Memory(tmp_path / "a.db", worker=False) as memory:
        memory.add(["weather?", *given, result, {"role": "assistant", "content": "Rain."}], session_id="s")
        asked, answered = memory.messages("s")[1:3]
        seen = memory.context("thanks", session_id="s").messages
    (use,) = asked.calls
    assert (answered.role, answered.answers) == ("tool", use)
    at = next(index for index, one in enumerate(seen) if one.get("tool_calls"))
    assert seen[at]["tool_calls"][0]["function"]["name"] == "weather"
    assert seen[at + 1]["tool_call_id"] == use


def test_results_beside_words_become_messages_of_their_own(tmp_path):
    """A turn of Claude's user with two results and a question is three messages, with ids made from its own."""
    blocks = [
        {"type": "tool_result", "tool_use_id": "a", "content": [TextContent(type="text", text="rain")]},
        {"type": "tool_result", "tool_use_id": "b", "content": "sun", "is_error": True},
        {"type": "text", "text": "Which is it?"},
    ]
    turn = {"role": "user", "content": blocks, "id": "t1", "created_at": "2025-03-14T09:30:00+00:00"}
    with Memory(tmp_path / "a.db", worker=False) as memory:
        assert memory.add(turn, session_id="s").ids == ("t1", "t1#2", "t1#3")
        assert memory.add(turn, session_id="s").duplicates == ("t1", "t1#2", "t1#3")
        messages = memory.messages("s")
    assert [one.text for one in messages] == ["rain", "sun", "Which is it?"]
    assert [one.answers for one in messages] == ["a", "b", None]
    assert messages[1].metadata == {"is_error": True}
    assert len({one.created_at for one in messages}) == 1


def test_thoughts_are_kept_and_not_said_again(tmp_path):
    """What a model thought stays in the log, is not searched, and does not go into a context."""
    with Memory(tmp_path / "a.db", worker=False) as memory:
        memory.add(["weather?", answer(THOUGHT, SAID)], session_id="s")
        stored = memory.messages("s")[1]
        seen = memory.context("and now?", session_id="s").messages
        assert not any("They want" in hit.text for hit in memory.search("They want the weather"))
    assert stored.content == [THOUGHT, SAID]
    assert stored.text == "I'll look."
    assert {"role": "assistant", "content": [SAID]} in seen


def test_words_in_thoughts_and_calls_are_forgotten(tmp_path):
    """Forgetting reaches the thoughts and calls of an answer."""
    secret = {"type": "thinking", "thinking": "The code is heliotrope.", "signature": "c2ln"}
    use = {**USE, "input": {"code": "heliotrope"}}
    with Memory(tmp_path / "a.db", worker=False) as memory:
        memory.add(["open it", answer(secret, SAID, use)], session_id="s")
        memory.forget(text="heliotrope")
        assert "heliotrope" not in str(memory.messages("s"))
    assert b"heliotrope" not in (tmp_path / "a.db").read_bytes()


def test_pictures_of_each_api_are_pictures_in_a_context(tmp_path):
    """The log has a picture as it came; a context has it as chat completions want it, and counts it."""
    data = "aGVsbG8="
    shapes = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
    ]
    for shape in shapes:
        with Memory(":memory:", worker=False) as memory:
            memory.add({"role": "user", "content": [shape, {"type": "text", "text": "what is it?"}]}, session_id="s")
            (stored,) = memory.messages("s")
            seen = memory.context(session_id="s").messages[-1]
        assert stored.content[0] == shape
        assert stored.tokens > 700
        assert seen["content"][0] == shapes[-1]


def test_objects_and_dicts_mix_in_one_list(tmp_path):
    """One append takes what a loop has gathered: text, dicts, answers of two SDKs, messages of a third."""
    with Memory(tmp_path / "a.db", worker=False) as memory:
        given = [
            SystemMessage("Be brief."), "hi", {"role": "assistant", "content": "Hello."}, HumanMessage("weather?"),
            completion(content="Rain."), "sure?", answer({"type": "text", "text": "Yes."}),
        ]  # fmt: skip
        memory.add(given, session_id="s")
        roles = [(one.role, one.text) for one in memory.messages("s")]
    assert roles == [
        ("system", "Be brief."), ("user", "hi"), ("assistant", "Hello."), ("user", "weather?"), ("assistant", "Rain."),
        ("user", "sure?"), ("assistant", "Yes."),
    ]  # fmt: skip


async def _coroutine() -> None:
    """Nothing that could be a message."""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(object(), "of type object; give text, a dict such as", id="object"),
        pytest.param(Own, "of type ModelMetaclass; give text", id="class"),
        pytest.param({"type": "text", "text": "hi"}, "text without a role", id="block-without-role"),
        pytest.param(
            ChatCompletion.model_validate(
                {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                    {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
                    for i in range(2)]}
            ),
            "2 choices; add the one you use",
            id="choices",
        ),
        pytest.param(
            ChatCompletionChunk.model_validate(
                {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                 "choices": [{"index": 0, "delta": {"content": "x"}}]}
            ),
            "no whole answer; of a stream",
            id="chunk",
        ),
        pytest.param(response(), "response without output", id="empty-response"),
        pytest.param(SimpleNamespace(role="robot", content="x"), "role 'robot'; a role is one of", id="role"),
        pytest.param(
            {"role": "assistant", "content": [{**USE, "input": {"at": object()}}]}, "tool call cannot be", id="input"
        ),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_with_what_works(given, words):
    """An object that cannot be read stores nothing, and the error says what can."""
    with Memory(":memory:", worker=False) as memory:
        with pytest.raises(InputError) as caught:
            memory.add(["hi", given], session_id="s")
        assert words in str(caught.value)
        assert memory.users() == []


def test_an_answer_that_was_not_awaited_is_refused():
    """A coroutine is named for what it is."""
    forgotten_await = _coroutine()
    with pytest.raises(InputError, match="coroutine"):
        as_list(forgotten_await)
    asyncio.run(forgotten_await)


@pytest.mark.parametrize("given", [("user", "hi"), ("assistant", "Hello.")], ids=["user", "assistant"])
def test_a_pair_of_a_role_and_a_text_is_refused(given):
    """It would be two messages, of which the first says "user"."""
    with pytest.raises(InputError, match=rf"\('{given[0]}', …\) is no message; give {{'role': '{given[0]}', 'content'"):
        as_list(given)
    assert [one["content"] for one in as_list(["user", "hi"])] == ["user", "hi"]
