"""A change that is told takes effect wherever it is told: in Python, over REST, MCP and mem0's routes."""

import asyncio

import pytest
from mcp import Client

from lamina import AsyncMemory, Memory
from lamina.server.mcp.handlers import ToolHandlers
from lamina.server.mcp.protocol import server_for
from lamina.settings import Settings
from tests.http_service import serving

FIRST, THEN = "User drives a Volvo", "The user traded in the Volvo for a Kia"
ASKED = "What car do I drive?"


@pytest.fixture
def service(tmp_path):
    with serving(Settings(database=str(tmp_path / "chat.db"), embedder="none"), worker=False) as begun:
        yield begun.with_key(begun.key("admin"))


def test_by_remember() -> None:
    with Memory(":memory:", worker=False) as memory:
        for text in (FIRST, THEN):
            memory.remember(text, user_id="ana")
        assert [fact.value for fact in memory.facts("ana")] == [THEN]
        assert memory.search(ASKED, user_id="ana")[0].text == THEN
        assert "drives a Volvo" in memory.search("What car did I drive before?", user_id="ana")[0].text


def test_over_rest(service) -> None:
    for text in (FIRST, THEN):
        assert service.post("/v1/users/ben/facts", json={"text": text}).status_code == 201
    facts = service.get("/v1/users/ben/facts").json()["items"]
    assert [fact["value"] for fact in facts] == [THEN]
    hits = service.post("/v1/search", json={"query": ASKED, "user_id": "ben"}).json()
    assert hits["items"][0]["text"] == THEN


def test_over_mcp() -> None:
    async def tell():
        async with (
            AsyncMemory(":memory:", worker=False, embedder="none") as memory,
            Client(server_for(ToolHandlers(memory, "cem"))) as client,
        ):
            for text in (FIRST, THEN):
                assert not (await client.call_tool("add_memory", {"text": text})).is_error
            facts = (await client.call_tool("list_facts", {})).structured_content
            found = (await client.call_tool("search_memories", {"query": ASKED})).structured_content
            return facts, found

    facts, found = asyncio.run(tell())
    assert [fact["text"] for fact in facts["facts"]] == [THEN]
    assert found["hits"][0]["text"] == THEN


def test_over_the_routes_of_mem0(service) -> None:
    for text in (FIRST, THEN):
        said = {"messages": [{"role": "user", "content": text}], "user_id": "dora"}
        assert service.post("/v3/memories/add/", json=said).status_code == 200
    asked = {"query": ASKED, "filters": {"user_id": "dora"}}
    found = service.post("/v3/memories/search/", json=asked).json()["results"]
    assert found[0]["memory"] == THEN
    assert not any("drives a Volvo" in one["memory"] for one in found)
