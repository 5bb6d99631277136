"""Responses through the proxy, by the official client."""

import pydantic
import pytest

from lamina.testing.llm_server import Said
from tests.interfaces.http.proxy.conftest import SESSION, USER

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
