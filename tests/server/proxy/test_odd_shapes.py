"""Requests whose parts have odd shapes: the endpoint judges them, the proxy never fails by itself."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest

from lamina import InputError, Memory
from lamina.server.proxy.chat import Chat
from lamina.server.proxy.responses import Responses
from lamina.settings import Settings
from tests.http_proxy import IDS
from tests.http_service import serving
from tests.server.proxy.test_upstream import endpoint
from tests.sizes import share

ODD: list[Any] = [5, [{"type": [], "text": 5}], None, [5], "x", {"type": 5}, [], [[]], True, {}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT: dict[str, Any] = {
    "model": "m",
    "user": "alex",
    "metadata": {"purpose": "test"},
    "tools": [],
    "stream": False,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi."}], "name": "alex"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Rain."},
        {"role": "user", "content": "And now?"},
    ],
}
RESPONSE: dict[str, Any] = {
    "model": "m",
    "user": "alex",
    "metadata": {"purpose": "test"},
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Rain."},
        {"type": "message", "role": "user", "content": "And now?"},
    ],
}


def places(value, path=()):
    """Every place in a body."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*path, name)
        yield from places(one, (*path, name))


def changed(body, path, odd):
    """The body with something odd at one place; without it, if that is `...`."""
    body = deepcopy(body)
    *way, last = path
    inner = body
    for name in way:
        inner = inner[name]
    if odd is ...:
        del inner[last]
    else:
        inner[last] = odd
    return body


@pytest.fixture(scope="module")
def passed(tmp_path_factory):
    """A proxy, and what its endpoint reads."""
    file = tmp_path_factory.mktemp("odd") / "chat.db"
    with endpoint() as (url, read):
        settings = Settings(database=str(file), proxy_base_url=url, proxy_api_key="sk-house")
        with serving(settings, worker=False) as service:
            yield service, read


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_what_is_odd_is_passed_on(passed, path):
    service, read = passed
    body = CHAT if path == "chat/completions" else RESPONSE
    tried = [(place, odd) for place in places(body) for odd in (..., *ODD)]
    for number, (place, odd) in enumerate(tried[:: len(tried) // share(len(tried))]):
        headers = {**IDS, "X-Lamina-Session": f"{path[:4]}{number}"}
        before = len(read)
        answer = service.post(f"/openai/v1/{path}", json=changed(body, place, odd), headers=headers)
        assert (answer.status_code, len(read)) == (200, before + 1), (place, odd, answer.text)


@pytest.mark.parametrize("name", ["conversation", "previous_response_id", "prompt", "metadata", "user", "background"])
def test_what_names_something_oddly_is_passed_on_or_refused(passed, name):
    service, _ = passed
    for odd in ODD:
        headers = {**IDS, "X-Lamina-Session": f"{name} {ODD.index(odd)}"}
        answer = service.post("/openai/v1/responses", json={**RESPONSE, name: odd}, headers=headers)
        assert answer.status_code in {200, 403}, (odd, answer.text)


def test_nothing_of_what_is_odd_is_kept(passed):
    """A message of the right shape beside it is not kept, either."""
    service, _ = passed
    headers = {**IDS, "X-Lamina-Session": "kept-not"}
    for body in ({"messages": 5}, {"messages": [{"role": "user", "content": "Hi."}, 5]}):
        assert service.post("/openai/v1/chat/completions", json=body, headers=headers).status_code == 200
    assert service.get("/v1/sessions/kept-not").status_code == 404


REPLIES: dict[Any, Any] = {
    Chat: {
        "id": "chatcmpl-1",
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop",
             "message": {"role": "assistant", "content": "Hi.", "refusal": None, "tool_calls": [CALL],
                         "audio": {"id": "audio_1"}},
             "delta": {"content": "Hi.", "tool_calls": [{"index": 0, **CALL}]}}
        ],
    },
    Responses: {
        "id": "resp_1",
        "model": "m",
        "status": "completed",
        "incomplete_details": {"reason": "x"},
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": []},
            {"id": "msg_1", "type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]},
            {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("dialect", REPLIES)
def test_what_is_odd_in_a_reply_is_passed_over(dialect):
    """Whole or in a stream; what is understood goes into the log as a message."""
    with Memory(":memory:", worker=False, embedder="none") as memory:
        for place in places(REPLIES[dialect]):
            for odd in (..., *ODD):
                answer = changed(REPLIES[dialect], place, odd)
                listener = dialect().reader()
                for event in (answer, {"type": "response.completed", "response": answer}):
                    listener.feed(json.dumps(event))
                for reply in (dialect().reply(answer), listener.reply()):
                    if reply is not None:
                        with suppress(InputError):
                            memory.add(reply)
