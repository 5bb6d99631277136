"""A context for Anthropic's API: what it wants of a request holds for any history."""

import json
from typing import Any

import pytest
from anthropic import Anthropic
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, Memory
from lamina.models.token_counters import best_counter
from lamina.testing.llm_server import LlmServer
from lamina.values.anthropic_form import anthropic_request
from tests.anthropic_rules import check_request
from tests.sizes import examples

PICTURE = "data:image/png;base64,aGVsbG8="
SOURCE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}


def said(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(name: str = "call_1", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "weather", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


def result(name: str = "call_1", content: Any = "rain") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content}


WORDS = st.text(alphabet="ab \n", max_size=8)
IDS = st.sampled_from(["a", "b", "functions.x:0"])
CONTENT = WORDS | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, WORDS)
    | st.just({"type": "image_url", "image_url": {"url": PICTURE}})
    | st.just({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
    max_size=3,
)
MESSAGES = st.lists(
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(
        ["system", "developer", "user", "assistant"]), CONTENT)
    | st.builds(call, IDS, st.sampled_from(["{}", '{"a": 1}', "[1]", "no json", ""]))
    | st.builds(result, IDS, CONTENT),
    max_size=10,
)  # fmt: skip


@given(MESSAGES)
@examples(300)
def test_any_messages_become_a_valid_request(messages):
    """The user speaks first, roles alternate, nothing is empty, each call has its results right behind it."""
    check_request(anthropic_request(messages))


HISTORIES = st.lists(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), WORDS)
    | st.builds(lambda text: {"role": "system", "content": text}, WORDS)
    | st.builds(call, IDS)
    | st.builds(result, IDS),
    min_size=1,
    max_size=12,
)


@given(messages=HISTORIES, asks=st.booleans(), profile=st.sampled_from(sorted(PROFILES)))
@examples(60)
def test_any_history_gives_a_valid_request_within_its_tokens(messages, asks, profile):
    """Whatever was added, its context is a request that the API takes, with no more words than `tokens` says."""
    with Memory(":memory:", worker=False, profile=profile) as memory:
        memory.add(messages, session_id="s")
        context = memory.context("and now?" if asks else None, session_id="s", system="Be brief.")
    request = context.to_anthropic()
    check_request(request)
    assert best_counter().count(words_of(request)) <= context.tokens


def words_of(request: dict[str, Any]) -> str:
    """Everything in a request that a model reads."""
    said = [request.get("system", "")]
    for message in request["messages"]:
        blocks = [{"text": message["content"]}] if isinstance(message["content"], str) else message["content"]
        for block in blocks:
            said += [
                block.get("text", ""),
                block.get("name", ""),
                json.dumps(block["input"]) if "input" in block else "",
            ]
            inner = block.get("content", "")
            said += [inner] if isinstance(inner, str) else [one.get("text", "") for one in inner]
    return "\n".join(filter(None, said))


def test_memory_goes_where_it_can_be_cached():
    """What stays the same is the system text; what was recalled for the question stands in the question's turn."""
    with Memory(":memory:", profile=PROFILES["default"].but(digest_sessions=0)) as memory:
        memory.add(["Our staging server heron was moved yesterday.", {"role": "assistant", "content": "Noted."}],
                   user_id="alex", session_id="monday")  # fmt: skip
        memory.add("I live in Ghent.", user_id="alex", session_id="monday")
        memory.add(["hi", {"role": "assistant", "content": "Hello."}], user_id="alex", session_id="tuesday")
        memory.settle()
        asked: dict[str, Any] = {"user_id": "alex", "session_id": "tuesday", "system": "Be brief."}
        first = memory.context("what is the staging server called?", **asked).to_anthropic()
        second = memory.context("what is my name?", **asked).to_anthropic()
    assert first["system"].startswith("Be brief.\n\n")
    assert first["system"] == second["system"]
    assert first["messages"][:-1] == second["messages"][:-1] == [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."},
    ]  # fmt: skip
    recalled, question = first["messages"][-1]["content"]
    assert "heron" in recalled["text"]
    assert question == {"type": "text", "text": "what is the staging server called?"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([], [("user", "…")], id="nothing"),
        pytest.param([{"role": "assistant", "content": "Hi. "}], [("user", "…"), ("assistant", "Hi.")], id="assistant"),
        pytest.param(
            [said("a"), said("b")],
            [("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
            id="two-of-one-role",
        ),
        pytest.param(
            [said("?"), {**call(), "content": "Wait."}, result(), said("so?")],
            [
                ("user", "?"),
                ("assistant", [{"type": "text", "text": "Wait."},
                               {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}}]),
                ("user", [{"type": "tool_result", "tool_use_id": "call_1", "content": "rain"},
                          {"type": "text", "text": "so?"}]),
            ],
            id="tools",
        ),
        pytest.param(
            [said("?"), call(), said("never mind")],
            [("user", "?"), ("assistant", "[calls weather({})]"), ("user", "never mind")],
            id="call-without-result",
        ),
        pytest.param(
            [said([{"type": "image_url", "image_url": {"url": PICTURE}}])],
            [("user", [{"type": "image", "source": SOURCE}])],
            id="picture",
        ),
    ],
)  # fmt: skip
def test_messages_are_turned_into_blocks(given, expected):
    """Each part of a chat message has its counterpart."""
    turns = anthropic_request(given)["messages"]
    assert [(one["role"], one["content"]) for one in turns] == expected


def test_an_answer_of_the_sdk_comes_back_as_it_was():
    """A turn with a tool, added as the objects of the SDK, is the same turn in the next request."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Ghent", "unit": None}}
    turns = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": [{"type": "text", "text": "I'll look."}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]},
        {"role": "assistant", "content": "It rains."},
    ]
    with Memory(":memory:", worker=False) as memory:
        memory.add(turns, session_id="s")
        request = memory.context("thanks", session_id="s").to_anthropic()
    assert request["messages"] == [*turns, {"role": "user", "content": "thanks"}]


def test_the_sdk_sends_a_context_as_it_is():
    """The real client takes the keyword arguments, and what it answers can be added."""
    with LlmServer(lambda asked: "Hello Alex.") as server, Memory(":memory:") as memory:
        client = Anthropic(base_url=server.root, api_key="test", max_retries=0)
        context = memory.context("I'm Alex.", user_id="alex", system="Be brief.")
        answer = client.messages.create(model="claude-test", max_tokens=100, **context.to_anthropic())
        memory.add(["I'm Alex.", answer], user_id="alex")
        stored = [(one.role, one.text) for one in memory.messages("alex:main")]
        (asked,) = server.asked("messages")
    assert stored == [("user", "I'm Alex."), ("assistant", "Hello Alex.")]
    assert asked.body["system"] == "Be brief."
    assert asked.body["messages"] == [{"role": "user", "content": "I'm Alex."}]
