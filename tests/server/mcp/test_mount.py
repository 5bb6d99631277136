"""`lamina serve` speaks MCP, too, on the same port and with the same keys."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lamina.settings import Settings
from tests.command_line import service_process
from tests.http_service import made_key
from tests.waiting import CEILING

pytestmark = pytest.mark.xdist_group("mcp-beside")  # one process for all of them

READS = {"search_memories", "get_context", "list_facts", "memory_history", "list_sessions", "get_session"}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A service with keys: its address, and the keys by role, and one of another tenant."""
    folder = tmp_path_factory.mktemp("beside")
    settings = Settings(database=str(folder / "lamina.db"))
    keys = {role: str(made_key(settings, role)[1]) for role in ("read", "write", "admin")}
    keys["acme"] = str(made_key(settings, "admin", tenant="acme")[1])
    with service_process(folder, "--no-worker") as (_, url):
        yield url, keys


def talk(url, secret, *calls):
    """What the official client sees: the tools there are, and what calls of them give."""

    async def run():
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=CEILING) as caller,
            Client(streamable_http_client(f"{url}/mcp", http_client=caller)) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(run())


def facts_of(user, url, secret):
    """What the REST service knows of a user."""
    found = httpx2.get(f"{url}/v1/users/{user}/facts", headers={"X-API-Key": secret}, timeout=CEILING)
    return [fact["value"] for fact in found.json()["items"]]


def test_a_service_without_keys_takes_any_token(tmp_path):
    """Many clients send one; whoever reaches a service without keys may do everything."""
    with service_process(tmp_path, "--no-worker") as (_, url):
        assert talk(url, "dummy")[0] == READS | {"add_memory", "forget"}


def test_a_key_is_offered_the_tools_of_its_role(address):
    url, keys = address
    assert talk(url, keys["read"])[0] == READS
    for role in ("write", "admin"):
        assert talk(url, keys[role])[0] == READS | {"add_memory", "forget"}


def test_both_faces_have_one_memory_and_tenants_stay_apart(address):
    """What is told over one is found over the other; another tenant finds nothing."""
    url, keys = address
    told = ("add_memory", {"text": "Ships on Fridays", "user_id": "alex"})
    _, (added,) = talk(url, keys["write"], told)
    assert not added.is_error
    assert facts_of("alex", url, keys["read"]) == ["Ships on Fridays"]
    ask = ("list_facts", {"user_id": "alex"})
    found = [json.dumps(talk(url, keys[whose], ask)[1][0].structured_content) for whose in ("read", "acme")]
    assert ["Fridays" in one for one in found] == [True, False]


def test_who_may_write_may_take_it_back(address):
    url, keys = address
    told = ("add_memory", {"text": "Ships on Mondays", "user_id": "kim"})
    gone = ("forget", {"user_id": "kim", "everything": True, "confirm": True})
    _, (added, forgotten) = talk(url, keys["write"], told, gone)
    assert (added.is_error, forgotten.is_error) == (False, False)
    assert facts_of("kim", url, keys["read"]) == []


def test_without_a_key_or_with_too_small_a_role_nothing_is_done(address):
    url, keys = address
    assert httpx2.post(f"{url}/mcp", json=HELLO, headers=ACCEPT, timeout=CEILING).status_code == 401
    forget = {"name": "forget", "arguments": {"user_id": "alex", "everything": True}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": forget}
    headers = {**ACCEPT, "X-API-Key": keys["read"]}
    refused = httpx2.post(f"{url}/mcp", json=body, headers=headers, timeout=CEILING).json()
    assert "no tool 'forget'" in refused["error"]["message"]
    listening = httpx2.get(f"{url}/mcp", headers=headers, timeout=CEILING)
    assert (listening.status_code, listening.headers["allow"]) == (405, "POST")
    bad = {**ACCEPT, "X-API-Key": keys["read"], "Host": "evil.example"}
    assert httpx2.post(f"{url}/mcp", json=HELLO, headers=bad, timeout=CEILING).status_code == 421


def test_the_audit_names_the_tool(address):
    """And the method where no tool is called; names that nobody knows are not repeated."""
    url, keys = address
    talk(url, keys["write"], ("list_facts", {"user_id": "alex"}))
    headers = {**ACCEPT, "X-API-Key": keys["write"]}
    odd: list[Any] = [[], 5]
    for body in ({**HELLO, "method": "x" * 50}, {**HELLO, "method": "tools/call", "params": {"name": "x"}}, *odd):
        httpx2.post(f"{url}/mcp", json=body, headers=headers, timeout=CEILING)
    noted = httpx2.get(f"{url}/v1/audit", headers={"X-API-Key": keys["admin"]}, timeout=CEILING).json()["items"]
    verbs = [one["verb"] for one in noted]
    assert {"mcp_list_facts", "mcp_tools_list", "mcp"} <= set(verbs)
    assert not [verb for verb in verbs if "xx" in verb]
