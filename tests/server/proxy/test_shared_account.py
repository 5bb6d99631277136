"""Callers who ask with the operator's key share an account at the endpoint: none reaches what another has there."""

import json
from typing import Any

import pytest

from lamina.testing.llm_server import Said
from tests.http_proxy import proxied
from tests.http_service import made_key

REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
           "content": [{"type": "output_text", "text": "In Porto.", "annotations": []}]}  # fmt: skip
ANSWER = {"id": "resp_acme", "output": [REASONING, MESSAGE]}


@pytest.fixture(scope="module")
def house():
    """A proxy with the operator's key."""
    with proxied(":memory:", proxy_api_key="sk-house") as found:
        yield found


class Two:
    """Two tenants of a proxy, each with a key, and one of them with a key that may only read."""

    def __init__(self, proxy):
        self.proxy = proxy
        settings = proxy.service.settings
        self.keys = {tenant: str(made_key(settings, tenant=tenant)[1]) for tenant in ("acme", "bolt")}
        self.keys["reader"] = str(made_key(settings, "read", tenant="bolt")[1])

    def ask(self, who, body, *, path="responses", method="POST", user="alex", session="s1", **headers):
        ids = {"X-Lamina-User": user, "X-Lamina-Session": session} if user else {}
        headers = {"Authorization": f"Bearer {self.keys[who]}", **ids, **headers}
        return self.proxy.service.client.request(method, f"/openai/v1/{path}", json=body, headers=headers)

    def sent(self):
        return len(self.proxy.upstream.journal)

    def refused(self, *given, **named):
        """Whether the answer is 403 with words, and the endpoint heard nothing."""
        before = self.sent()
        answer = self.ask(*given, **named)
        assert answer.status_code == 403, answer.text
        assert self.sent() == before
        return answer.json()["error"]["message"]


@pytest.fixture
def two(house, place):
    with house.over(place()) as proxy:
        yield Two(proxy)


KEPT = [
    ("GET", "responses/resp_acme"), ("DELETE", "responses/resp_acme"), ("POST", "responses/resp_acme/cancel"),
    ("GET", "responses/resp_acme/input_items"), ("GET", "responses"), ("POST", "responses/compact"),
    ("GET", "chat/completions"), ("GET", "chat/completions/chatcmpl-1"), ("POST", "chat/completions/chatcmpl-1"),
    ("GET", "chat/completions/chatcmpl-1/messages"), ("DELETE", "chat/completions/chatcmpl-1"),
    ("GET", "conversations/conv_1"), ("POST", "conversations"), ("GET", "conversations/conv_1/items"),
    ("DELETE", "conversations/conv_1"), ("DELETE", "models/ft:one"), ("POST", "models/ft:one"), ("GET", "embeddings"),
]  # fmt: skip
ELSEWHERE = ["files", "files/file-1/content", "vector_stores", "batches", "assistants", "threads/t1/messages",
             "containers/c1/files", "uploads", "fine_tuning/jobs", "evals", "videos/v1"]  # fmt: skip


@pytest.mark.also_postgres
def test_what_the_endpoint_keeps_is_off(two):
    """By whichever address and method; models may be looked at."""
    for method, path in KEPT:
        who = "reader" if method == "GET" else "bolt"
        assert "key of your own" in two.refused(who, None if method == "GET" else {}, path=path, method=method)
    for path in ELSEWHERE:
        before = two.sent()
        assert two.ask("reader", None, path=path, method="GET").status_code == 404
        assert two.sent() == before
    for path in ("models", "models/gpt-4.1", "models/org/model"):
        two.ask("reader", None, path=path, method="GET")
        assert two.proxy.upstream.journal[-1].path == f"/v1/{path}"


REFERENCES: dict[str, Any] = {
    "previous response": {"previous_response_id": "resp_acme"},
    "conversation": {"conversation": "conv_1"},
    "conversation as an object": {"conversation": {"id": "conv_1"}},
    "prompt": {"prompt": {"id": "pmpt_1", "version": "2"}},
    "item": {"input": [{"type": "item_reference", "id": "msg_1"}]},
    "item without a type": {"input": [{"id": "msg_1"}]},
    "item that looks like a message": {"input": [
        {"type": "item_reference", "id": "msg_1", "role": "user", "content": "x"}]},
    "reasoning": {"input": [{"role": "user", "content": "x"}, REASONING]},
    "picture": {"input": [{"type": "image_generation_call", "id": "ig_1"}]},
    "file": {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
    "picture file": {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]},
    "file from a tool": {"input": [{"type": "function_call_output", "call_id": "c", "output": [
        {"type": "input_file", "file_id": "file-1"}]}]},
    "approval": {"input": [{"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}]},
    "vector store": {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
    "container": {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
    "files in a container": {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["f"]}}]},
    "shell": {"tools": [{"type": "shell", "environment": {"type": "container_reference", "container_id": "cntr_1"}}]},
    "mask": {"tools": [{"type": "image_generation", "input_image_mask": {"file_id": "file-1"}}]},
    "in the background": {"background": True},
}  # fmt: skip
CHAT: dict[str, Any] = {
    "file": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}],
    "sound": [{"role": "assistant", "audio": {"id": "audio_1"}}, {"role": "user", "content": "x"}],
}


@pytest.mark.parametrize("named", [True, False], ids=["remembered", "passed"])
@pytest.mark.parametrize("what", REFERENCES)
def test_what_others_have_cannot_be_named(two, what, named):
    body = {"model": "m", "input": "Go on.", **REFERENCES[what]}
    assert "key of your own" in two.refused("bolt", body, user="alex" if named else None)


@pytest.mark.parametrize("what", CHAT)
def test_what_others_have_cannot_be_named_in_a_chat(two, what):
    body = {"model": "m", "messages": CHAT[what]}
    two.refused("bolt", body, path="chat/completions")
    two.refused("bolt", body, path="chat/completions", user=None)


HARMLESS: dict[str, Any] = {
    "metadata": {"metadata": {"file_id": "file-1", "conversation": "conv_1"}},
    "tools": {"tools": [{"type": "function", "name": "f", "parameters": {
        "type": "object", "properties": {"file_id": {"type": "string"}}, "examples": [{"file_id": "file-1"}]}}]},
    "calls": {"input": [
        {"role": "user", "content": "x", "id": "msg_7"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"file_id": "file-1"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "y"}]},
    "a reply told again": {"input": [MESSAGE, {"role": "user", "content": "x"}]},
    "a citation": {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": [
        {"type": "file_citation", "file_id": "file-1"}]}]}, {"role": "user", "content": "x"}]},
    "reasoning that comes whole": {"input": [{**REASONING, "encrypted_content": "gAAA"}]},
    "a file that comes whole": {"input": [{"role": "user", "content": [
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,AA=="}]}]},
    "a conversation of ours": {"conversation": "talk-1"},
    "stored": {"store": True},
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_what_names_nothing_is_passed_on(two, what):
    body = {"model": "m", "input": "x", **HARMLESS[what]}
    assert two.ask("bolt", body).status_code == 200
    assert two.ask("bolt", body, user=None).status_code == 200


@pytest.mark.also_postgres
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_what_a_reply_of_the_session_had_may_be_named_there_only(two, stream):
    """By the tenant, user and session that it was for, until it is forgotten."""
    if stream:
        two.proxy.says("In Porto.")
        answer = two.ask("acme", {"model": "m", "input": "Where?", "stream": True})
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        answered = events[-1]["response"]
        ids = [answered["id"], answered["output"][0]["id"]]
    else:
        two.proxy.upstream.then(Said(text="In Porto.", extra=ANSWER))
        two.ask("acme", {"model": "m", "input": "Where?"})
        ids = ["resp_acme", "rs_1", "msg_1"]
    bodies: list[Any] = [{"input": "And?", "previous_response_id": ids[0]}]
    bodies += [{"input": [{"type": "item_reference", "id": one}, {"role": "user", "content": "And?"}]} for one in ids]
    for body in bodies:
        assert two.ask("acme", body).status_code == 200
        two.refused("bolt", body)
        two.refused("acme", body, user="bob", session="s2")
        two.refused("acme", body, session="s2")
        two.refused("acme", body, user=None)
    key = {"Authorization": f"Bearer {two.keys['acme']}"}
    gone = two.proxy.service.client.post("/v1/forget", json={"session_id": "s1"}, headers=key)
    assert gone.status_code == 200
    two.refused("acme", bodies[0])


def test_an_id_that_was_written_into_the_log_is_nobodys(two):
    """Anybody with a key may add messages, with whatever metadata; the seal of another session is of no use."""
    two.proxy.upstream.then(Said(text="In Porto.", extra=ANSWER))
    two.ask("acme", {"model": "m", "input": "Where?"})
    client, acme, bolt = two.proxy.service.client, *({"X-API-Key": two.keys[name]} for name in ("acme", "bolt"))
    reply = client.get("/v1/sessions/s1/messages", headers=acme).json()["items"][1]
    for metadata in (reply["metadata"], {"response_id": "resp_acme", "item_ids": ["resp_acme"], "item_seal": "é"}):
        told = {"role": "assistant", "content": "x", "metadata": metadata}
        added = client.post("/v1/sessions/s1/messages", json={"messages": [told], "user_id": "alex"}, headers=bolt)
        assert added.status_code == 201
    two.refused("bolt", {"input": "And?", "previous_response_id": "resp_acme"})


def test_a_file_that_was_written_into_the_log_is_not_sent(two):
    """What memory adds to a request names nothing at the endpoint, either."""
    told = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Read."}, {"type": "file", "file": {"file_id": "file-1"}}],
        },
        {"role": "assistant", "content": "Done.", "audio": {"id": "audio_1"}},
        {"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]},
        {"role": "assistant", "content": "Done."},
    ]
    headers = {"X-API-Key": two.keys["bolt"]}
    two.proxy.service.client.post(
        "/v1/sessions/s1/messages", json={"messages": told, "user_id": "alex"}, headers=headers
    )
    for path, body in (
        ("responses", {"input": "And?"}),
        ("chat/completions", {"messages": [{"role": "user", "content": "And?"}]}),
    ):
        assert two.ask("bolt", {"model": "m", **body}, path=path).status_code == 200
        sent = str(two.proxy.upstream.journal[-1].body)
        assert "Read." in sent
        assert "file-1" not in sent
        assert "audio_1" not in sent


def test_the_account_is_the_operators_choice(two):
    """A caller cannot choose another organisation or project of the operator's key."""
    two.ask("bolt", {"model": "m", "input": "x"}, **{"OpenAI-Organization": "org-1", "OpenAI-Project": "proj_1"})
    assert not {"openai-organization", "openai-project"} & set(two.proxy.upstream.journal[-1].headers)


@pytest.mark.parametrize("body", [b'{"a": 1', b"[1]", b'"x"', b"\x1f\x8b"])
def test_what_is_passed_on_was_read_here(two, body):
    """No body that the endpoint might read otherwise."""
    headers = {"Authorization": f"Bearer {two.keys['bolt']}", "Content-Type": "application/json"}
    answer = two.proxy.service.client.post("/openai/v1/responses", content=body, headers=headers)
    assert answer.status_code == 400
    twice = b'{"model": "m", "input": "x", "previous_response_id": "resp_acme", "previous_response_id": null}'
    assert two.proxy.service.client.post("/openai/v1/responses", content=twice, headers=headers).status_code == 200
    assert "resp_acme" not in str(two.proxy.upstream.journal[-1].body)


def test_with_a_key_of_their_own_callers_reach_what_is_theirs(quick):
    headers = {"Authorization": "Bearer sk-theirs", "OpenAI-Project": "proj_1"}
    for method, path in KEPT:
        quick.service.client.request(
            method, f"/openai/v1/{path}", json=None if method == "GET" else {}, headers=headers
        )
        asked = quick.upstream.journal[-1]
        if method != "DELETE":
            assert (asked.method, asked.path) == (method, f"/v1/{path}")
            assert asked.headers["openai-project"] == "proj_1"
    body = {"model": "m", "input": "x", "previous_response_id": "resp_mine"}
    assert quick.service.client.post("/openai/v1/responses", json=body, headers=headers).status_code == 200
    assert quick.sent("responses")["previous_response_id"] == "resp_mine"
    assert quick.service.client.get("/openai/v1/responses/r", headers={"Authorization": "Bearer"}).status_code == 403
