"""Responses through the proxy, by the official client."""

import json
from typing import Any

import pydantic
import pytest

from lamina.server.proxy.responses import Responses
from lamina.testing.llm_server import Said
from tests.http_proxy import SESSION, USER

TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": None}


def ask(proxy, given, **more):
    return proxy.client.responses.create(model="model-a", input=given, **more)


def memory_in(body):
    return [one["content"] for one in body["input"] if "<memory" in str(one.get("content"))]


def said_in(body):
    return [one["content"] for one in body["input"] if one["role"] != "system"]


@pytest.fixture
def known(quick):
    """A proxy that knows where Alex lives from an earlier session."""
    ask(quick, "I'm Alex. I live in Porto.", extra_headers={"X-Lamina-Session": "before"})
    quick.settle()
    return quick


def test_what_was_said_in_one_response_is_known_in_the_next(proxy):
    proxy.says("Nice to meet you.", "In Porto.")
    ask(proxy, "I'm Alex. I live in Porto.", instructions="Be brief.")
    proxy.settle()
    answer = ask(proxy, "Where do I live?", extra_headers={"X-Lamina-Session": "s2"}, instructions="Be brief.")
    assert answer.output_text == "In Porto."
    assert proxy.sent("responses")["instructions"] == "Be brief."
    (memory,) = memory_in(proxy.sent("responses"))
    assert "location: Porto" in memory
    assert proxy.sent("responses")["input"][-1] == {"role": "user", "content": "Where do I live?"}
    assert proxy.said() == [("user", "I'm Alex. I live in Porto."), ("assistant", "Nice to meet you.")]
    assert proxy.log()[1]["model"] == "model-a"


def test_a_conversation_is_a_session(known):
    """One of ours is kept from the endpoint, and its window is sent; one of the endpoint's own is only added to."""
    known.says("One.", "Two.")
    known.client = known.client.with_options(set_default_headers={})
    ask(known, "First.", conversation="talk-1", user=USER)
    assert "conversation" not in known.sent("responses")
    ask(known, "Second.", conversation={"id": "talk-1"}, user=USER)
    assert said_in(known.sent("responses")) == ["First.", "One.", "Second."]
    for _ in range(2):
        ask(known, "Third.", conversation="conv_7", user=USER)
    assert known.sent("responses")["conversation"] == "conv_7"
    assert said_in(known.sent("responses")) == ["Third."]


def test_what_the_endpoint_keeps_is_not_sent_again(known):
    first = ask(known, "First.")
    ask(known, "Second.", previous_response_id=first.id)
    sent = known.sent("responses")
    assert sent["previous_response_id"] == first.id
    assert [one["content"] for one in sent["input"] if one["role"] == "user"] == ["Second."]
    assert [text for _, text in known.said()] == ["First.", "I see.", "Second.", "I see."]


def test_streams(proxy):
    proxy.says("One two three.")
    with proxy.client.responses.stream(model="m", input="Count.") as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text == "One two three."
    assert kinds[-1] == "response.completed"
    assert proxy.said() == [("user", "Count."), ("assistant", "One two three.")]
    assert proxy.log()[1]["metadata"]["finish_reason"] == "completed"


@pytest.mark.parametrize("streamed", [False, True])
def test_tools_are_called_and_their_results_kept(known, streamed):
    known.says('{"city": "Porto"}')
    question = {"role": "user", "content": "What is the weather where I live?"}
    if streamed:
        with known.client.responses.stream(model="m", input=[question], tools=[TOOL]) as stream:
            stream.until_done()
            answer = stream.get_final_response()
    else:
        answer = ask(known, [question], tools=[TOOL])
    (call,) = answer.output
    first = memory_in(known.sent("responses"))
    assert "Porto" in first[0]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
    known.upstream.then(Said(text="Take an umbrella.", plain=True))
    called = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
    final = ask(known, [question, called, result], tools=[TOOL])
    assert final.output_text == "Take an umbrella."
    assert memory_in(known.sent("responses")) == first
    log = known.log()
    assert [one["role"] for one in log] == ["user", "assistant", "tool", "assistant"]
    assert log[1]["calls"] == ["call_1"]
    ask(known, "And tomorrow?")
    kinds = [one.get("type", one.get("role")) for one in known.sent("responses")["input"]]
    assert [kind for kind in kinds if kind != "system"] == [
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
    ]


def test_pictures_are_kept_and_shown_again(quick):
    parts = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
    ]
    ask(quick, [{"role": "user", "content": parts}])
    assert quick.log()[0]["text"].startswith("What is this?")
    ask(quick, "Thank you.")
    shown = quick.sent("responses")["input"][0]["content"]
    assert [part["type"] for part in shown] == ["input_text", "input_image"]


FILE = {"type": "input_file", "file_id": "file_1"}
TOLD: dict[str, tuple[list[Any], list[Any]]] = {
    "words before a call": (
        [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        ],
        [("assistant", "I look.", ["c1"])],
    ),
    "a refusal": (
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}],
        [("assistant", "I cannot.", [])],
    ),
    "a file": ([{"role": "user", "content": [FILE]}], [("user", [FILE], [])]),
    "what is no message": (
        [{"type": "reasoning", "summary": []}, {"role": "developer", "content": "Be brief."}, 7],
        [],
    ),
}


@pytest.mark.parametrize("given", TOLD)
def test_items_are_messages_of_the_log(given):
    items, said = TOLD[given]
    found = Responses().conversation({"input": items})
    calls = [[call["id"] for call in one.get("tool_calls", [])] for one in found]
    assert [(one["role"], one["content"], named) for one, named in zip(found, calls, strict=True)] == said


def test_a_file_is_shown_again_as_it_was(quick):
    ask(quick, [{"role": "user", "content": [{"type": "input_text", "text": "Read this."}, FILE]}])
    ask(quick, "Thank you.")
    assert quick.sent("responses")["input"][0]["content"] == [{"type": "input_text", "text": "Read this."}, FILE]


def test_why_a_reply_is_not_complete_is_kept():
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Once"}]}
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [said]}
    reply = Responses().reply(cut)
    assert reply is not None
    assert (reply["content"], reply["metadata"]) == ("Once", {"finish_reason": "max_output_tokens"})


@pytest.mark.parametrize("end", ["[DONE]", '{"type": "response.completed"}', "half"])
def test_a_stream_has_ended_when_it_says_so(end):
    """In either way; what cannot be read is passed over, and pieces without a number are of one text."""
    listener = Responses().reader()
    for index in (None, 0):
        listener.feed(json.dumps({"type": "response.output_text.delta", "output_index": index, "delta": "ha"}))
    listener.feed(end)
    reply = listener.reply()
    assert reply is not None
    assert (reply["content"], listener.ended) == ("haha", end != "half")


class City(pydantic.BaseModel):
    name: str


def test_structured_answers_are_parsed(quick):
    quick.says('{"name": "Porto"}')
    answer = quick.client.responses.parse(model="m", input="Which city?", text_format=City)
    assert answer.output_parsed == City(name="Porto")
    assert len(quick.log(SESSION)) == 2


def test_a_chat_goes_on_as_responses(quick):
    """One log, whichever way it is asked."""
    quick.client.chat.completions.create(model="m", messages=[{"role": "user", "content": "First."}])
    ask(quick, [{"role": "user", "content": "First."}, {"role": "assistant", "content": "I see."},
                {"role": "user", "content": "Second."}])  # fmt: skip
    assert [text for _, text in quick.said()] == ["First.", "I see.", "Second.", "I see."]
