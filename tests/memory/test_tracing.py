"""Spans for the verbs of a memory: what was done, for which tenant, how it ended, and nothing that was said."""

import asyncio
import json
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lamina import AsyncMemory, Memory, NotFound, tracing
from lamina.settings import Settings
from tests.http_service import serving

EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans(monkeypatch):
    """Gives the spans since the last time, by one provider that only these tests use."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    monkeypatch.setattr(tracing, "tracer", lambda: provider.get_tracer("lamina"))
    monkeypatch.setattr("lamina.server.spans.tracer", lambda: provider.get_tracer("lamina"))
    EXPORTER.clear()

    def taken():
        found = EXPORTER.get_finished_spans()
        EXPORTER.clear()
        return found

    return taken


def test_verbs_are_spans(spans, tmp_path):
    with Memory(tmp_path / "a.db", worker=False, tenant="acme") as memory:
        memory.add("My secret word is xylophone.", user_id="alex-77")
        memory.context("Which secret word?", user_id="alex-77")
        memory.search("secret word", user_id="alex-77")
        fact = memory.remember("Ships on Fridays, says xylophone", user_id="alex-77")
        memory.update(fact.id, "Ships on Mondays, says xylophone")
        memory.forget(text="xylophone", user_id="alex-77")
    found = spans()
    assert [(span.attributes["gen_ai.operation.name"], span.attributes["lamina.verb"]) for span in found] == [
        ("upsert_memory", "add"),
        ("search_memory", "context"),
        ("search_memory", "search"),
        ("create_memory", "remember"),
        ("update_memory", "update"),
        ("delete_memory", "forget"),
    ]
    assert {span.attributes["gen_ai.memory.store.id"] for span in found} == {"acme"}
    told = "".join(span.to_json() for span in found)
    assert "xylophone" not in told
    assert "alex-77" not in told


def test_a_failure_is_told_by_its_kind_alone(spans, tmp_path):
    async def scenario():
        async with AsyncMemory(tmp_path / "a.db", worker=False) as memory:
            with pytest.raises(NotFound):
                await memory.update("fact_of_alex-77", "x")

    asyncio.run(scenario())
    (span,) = spans()
    assert span.attributes["error.type"] == "NotFound"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert "alex-77" not in span.to_json()
    assert span.events == ()


def test_requests_are_spans_below_the_callers(spans, tmp_path):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving(Settings(database=str(tmp_path / "a.db")), worker=False) as service:
        said = {"messages": "I live in Porto.", "user_id": "alex-77"}
        service.post("/v1/sessions/s-42/messages", json=said, headers={"traceparent": parent})
        service.get("/v1/sessions/nobody")
    added, request, missing = spans()
    assert added.name == "upsert_memory default"
    assert request.name == "POST add_messages"
    assert added.parent.span_id == request.context.span_id
    assert f"{request.context.trace_id:032x}" == parent.split("-")[1]
    assert (request.attributes["http.response.status_code"], missing.attributes["http.response.status_code"]) == (
        201,
        404,
    )
    told = "".join(span.to_json() for span in (added, request, missing))
    assert "s-42" not in told
    assert "Porto" not in told


def test_nobody_else_traces_what_was_asked(tmp_path):
    """With a provider for the whole process, the packages that we are built on would tell addresses and errors."""
    script = """
import asyncio, json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from mcp import Client, MCPError
from lamina import AsyncMemory
from lamina.server.mcp.protocol import server_for
from lamina.server.mcp.handlers import ToolHandlers
from lamina.settings import Settings
from tests.http_service import serving

with serving(Settings(database=sys.argv[1]), worker=False) as service:
    service.get("/v1/sessions/xylophone/messages")
    service.get("/v1/sessions?user_id=xylophone")

async def ask():
    async with AsyncMemory(":memory:", worker=False) as memory:
        async with Client(server_for(ToolHandlers(memory, "ana"))) as client:
            await client.call_tool("search_memories", {"query": "xylophone", "limit": "xylophone"})
            try:
                await client.read_resource("lamina://session/xylophone")
            except MCPError:
                print("refused")

asyncio.run(ask())
for span in exporter.get_finished_spans():
    print(span.instrumentation_scope.name, span.kind.name, span.name, json.loads(span.to_json()))
"""
    ran = [sys.executable, "-c", script, str(tmp_path / "a.db")]
    refused, *told = subprocess.run(ran, check=True, capture_output=True, text=True).stdout.splitlines()
    assert refused == "refused"
    assert not [line for line in told if "xylophone" in line]
    serving_ones = {line.split()[0] for line in told if line.split()[1] == "SERVER"}
    assert serving_ones == {"lamina"}
    assert len([line for line in told if line.startswith("lamina SERVER GET")]) == 2


def test_without_its_api_nothing_is_traced_or_loaded():
    script = """
import importlib.util, json, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "opentelemetry" else real(name, *more)
from lamina import Memory
with Memory(":memory:", worker=False) as memory:
    memory.add("hello")
print(json.dumps([name for name in sys.modules if name.startswith("opentelemetry")]))
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == []
