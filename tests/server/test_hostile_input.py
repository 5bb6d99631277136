"""Hostile input through every interface that many share: no fault of the service, and nobody has to wait."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

import pytest

from lamina.server.mcp.mount import McpApp
from lamina.server.mcp.tools import TOOLS
from lamina.server.serve import tenant_and_role
from lamina.settings import Settings
from lamina.testing.hostile import BODIES, MESSAGES, NAMES, TEXTS, VALUES
from lamina.testing.llm_server import LlmServer, Said
from lamina.testing.stalls import moment, stalls
from tests.http_service import Served, serving
from tests.sizes import FULL, SHARE
from tests.waiting import CEILING

JSON = {"Content-Type": "application/json"}
MCP = {**JSON, "Accept": "application/json, text/event-stream"}
MOMENTS = 40  # that one stretch on the loop may take: some 300 ms; two busy threads of one core take twice as long each


@dataclass(frozen=True)
class Call:
    """A request; `body` is a value or bytes."""

    path: str
    body: Any
    name: str
    verb: str = "POST"


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A service with every interface, and an endpoint behind its proxy."""
    folder = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        upstream = stack.enter_context(LlmServer(lambda asked: Said(text="I see.", plain=True)))

        async def engine(tenant):
            return await service.app.state.service.tenants.engine(tenant)

        beside = McpApp(engine, tenant_and_role, 32_000_000)
        settings = Settings(database=str(folder / "a.db"), proxy_base_url=upstream.url, embedder="none")
        service = stack.enter_context(serving(settings, worker=False, mounts={"/mcp": beside}))
        stack.callback(lambda: asyncio.run_coroutine_threadsafe(beside.close(), service.loop).result(CEILING))
        service.post("/v1/sessions/s1/messages", json={"messages": "I live in Porto.", "user_id": "alex"})
        usual = [one for calls in TEXT_CALLS.values() for one in calls("I live in Porto.")]
        for path, body in [*usual, ("/v1/memories/", {"messages": "I live in Porto.", "user_id": "alex"})]:
            service.post(path, **sent(Call(path, body, "usual")))  # what is made at first use is made now
        yield service


def sent(call: Call) -> dict[str, Any]:
    if call.body is None:
        return {}
    body = call.body if isinstance(call.body, bytes) else json.dumps(call.body).encode()
    return {"content": body, "headers": MCP if call.path == "/mcp" else JSON}


def check(service: Served, calls: Iterator[Call]) -> None:
    """None of them is a fault of the service or blocks its loop for long."""
    allowed, faults = MOMENTS * moment(), []
    with stalls(service.loop) as found:
        before = 0.0
        for call in calls:
            response = service.request(call.verb, call.path, **sent(call))
            ours = response.status_code >= 500 and '"code":"upstream"' not in response.text
            if ours or "failed inside the memory" in response.text:
                faults.append((call.verb, call.path, call.name, response.status_code, response.text[:200]))
            if found.worst.seconds > max(before, allowed):
                before = found.worst.seconds
                faults.append((call.verb, call.path, call.name, round(before, 3), found.worst.where[-1500:]))
    assert not faults, "\n".join(map(str, faults))


def tool(name: str, /, **arguments: Any) -> dict[str, Any]:
    call = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}


def chat(message: Any) -> dict[str, Any]:
    return {"model": "m", "user": "alex", "messages": [message] if isinstance(message, dict) else message}


MESSAGE_CALLS = {
    "rest": lambda one: [("/v1/sessions/h1/messages", {"messages": given}) for given in (one, [one])],
    "proxy": lambda one: [
        ("/openai/v1/chat/completions", chat(one)),
        ("/openai/v1/chat/completions", chat([one, {"role": "user", "content": "hi"}])),
        ("/openai/v1/responses", {"model": "m", "user": "alex", "input": [one]}),
        ("/openai/v1/responses", {"model": "m", "user": "alex", "input": one}),
    ],
    "mem0": lambda one: [
        ("/v1/memories/", {"messages": [one], "user_id": "alex"}),
        ("/v3/memories/add/", {"messages": one, "user_id": "alex"}),
    ],
    "mcp": lambda one: [("/mcp", tool("add_memory", messages=[one])), ("/mcp", tool("add_memory", messages=one))],
}  # fmt: skip


@pytest.mark.parametrize("interface", MESSAGE_CALLS)
def test_messages_of_a_wrong_shape(everything, interface):
    check(
        everything,
        (Call(path, body, name) for name, one in MESSAGES.items() for path, body in MESSAGE_CALLS[interface](one)),
    )


def test_responses_with_odd_items(everything):
    """Items of the other way to ask an endpoint, with every value where a text or an object belongs."""
    items = [
        (f"{kind}-{field}-{name}", {"type": kind, "call_id": "c1", "role": "user", field: value})
        for kind in ("message", "function_call", "function_call_output")
        for field in ("content", "call_id", "output", "name", "arguments", "role", "type")
        for name, value in VALUES.items()
        if name in {"null", "zero", "mixed-list", "empty-object", "nan"}
    ]
    asked = ({"model": "m", "user": "alex", "input": [one, {"role": "user", "content": "hi"}]} for _, one in items)
    check(everything, (Call("/openai/v1/responses", body, name) for (name, _), body in zip(items, asked, strict=True)))


TEXT_CALLS = {
    "rest": lambda text: [
        ("/v1/sessions/h2/messages", {"messages": text}),
        ("/v1/search", {"query": text}),
        ("/v1/context", {"query": text, "system": text, "sources": [text]}),
        ("/v1/users/alex/facts", {"text": text, "key": text, "tags": [text]}),
        ("/v1/sessions/h2/milestones", {"title": text}),
        ("/v1/forget", {"text": text, "dry_run": True}),
    ],
    "proxy": lambda text: [("/openai/v1/chat/completions", chat({"role": "user", "content": text}))],
    "mem0": lambda text: [
        ("/v1/memories/", {"messages": text, "user_id": "alex", "infer": False}),
        ("/v3/memories/search/", {"query": text, "filters": {"user_id": "alex"}}),
        ("/v3/memories/", {"filters": {"OR": [{"user_id": text}, {"metadata": {"contains": text}}]}}),
    ],
    "mcp": lambda text: [
        ("/mcp", tool("add_memory", text=text, key=text, tags=[text])),
        ("/mcp", tool("search_memories", query=text, since=text)),
        ("/mcp", tool("get_context", query=text)),
        ("/mcp", tool("forget", text=text)),
        ("/mcp", tool(text)),
    ],
}


@pytest.mark.parametrize("interface", TEXT_CALLS)
def test_odd_texts(everything, interface):
    calls = ((name, *call) for name, text in TEXTS.items() for call in TEXT_CALLS[interface](text))
    check(everything, (Call(path, body, name) for name, path, body in calls))


PLACES = [
    ("GET", "/v1/sessions/{}"), ("GET", "/v1/users/{}/facts"), ("GET", "/v1/facts/{}/why"), ("DELETE", "/v1/keys/{}"),
    ("GET", "/v1/sessions?cursor={}"), ("GET", "/v1/users/a/facts?as_of={}"), ("GET", "/v1/memories/{}/"),
    ("GET", "/openai/v1/models/{}"), ("GET", "/assets/{}"), ("GET", "/{}"),
]  # fmt: skip


def test_odd_names(everything):
    """In addresses; in bodies as ids."""

    def calls():
        for name, given in NAMES.items():
            told = quote(given, safe="", errors="surrogatepass")
            yield from (Call(path.format(told), None, name, verb) for verb, path in PLACES)
            yield Call(f"/v1/sessions/{told}/messages", {"messages": "a", "user_id": given, "agent_id": given}, name)
            yield Call("/v1/context", {"query": "a", "session_id": given, "profile": given, "at": given}, name)
            yield Call("/mcp", tool("add_memory", text="a", session_id=given, user_id=given), name)
            read = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "resources/read",
                "params": {"uri": f"lamina://profile/{given}"},
            }
            yield Call("/mcp", read, name)
            yield Call("/v1/memories/", {"messages": "a", "user_id": given, "run_id": given}, name)

    check(everything, calls())


BODY_PATHS = [
    "/v1/search", "/v1/context", "/v1/sessions/h3/messages", "/v1/forget", "/v1/import", "/mcp", "/v3/memories/search/",
    "/v1/memories/", "/openai/v1/chat/completions", "/openai/v1/responses", "/openai/v1/embeddings",
]  # fmt: skip


@pytest.mark.parametrize("path", BODY_PATHS)
def test_odd_bodies(everything, path):
    check(everything, (Call(path, body, name) for name, body in BODIES.items()))


def fields(service: Served) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each field of each body of the REST API: the address, an example of the body, and the field's name."""
    schema = service.get("/openapi.json").json()
    for path, operations in schema["paths"].items():
        content = operations.get("post", {}).get("requestBody", {}).get("content", {})
        named = content.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        shape = schema["components"]["schemas"].get(named, {})
        for field in shape.get("properties", {}):
            yield path, dict(shape.get("examples", [{}])[0]), field


@pytest.mark.parametrize("name", VALUES)
def test_every_field_with_every_value(everything, name):
    """Of the REST API, by its schema, and of the tools of MCP; `make test` tries a share of the fields with each."""
    value, step = VALUES[name], 1 if FULL else SHARE

    def calls():
        for path, body, field in fields(everything):
            at = path.format(session_id="h4", user_id="alex", key_id="k", tenant="default", proposal_id="p")
            if path not in {"/v1/settle", "/v1/consolidate", "/v1/repair", "/v1/verify"}:
                yield Call(at, {**body, field: value}, f"{field}={name}")
        for spec in TOOLS:
            for field in spec.input_schema["properties"]:
                yield Call(
                    "/mcp", tool(spec.name, **{"query": "a", "session_id": "s1", field: value}), f"{spec.name}.{field}"
                )

    check(everything, islice(calls(), list(VALUES).index(name) % step, None, step))
