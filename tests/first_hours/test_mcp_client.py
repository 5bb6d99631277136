"""The first hour with an MCP client: start the server as `--print` says, tell, ask, change, forget, come back."""

import asyncio
import json
import re
import shlex
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from lamina import Memory
from tests.command_line import LAMINA, plain_environ, service_process

pytestmark = pytest.mark.xdist_group("mcp")


@asynccontextmanager
async def started(words: list[str], folder: Path):
    """A client of the server that these words start."""
    server = StdioServerParameters(command=words[0], args=words[1:], env=plain_environ(), cwd=folder)
    async with Client(stdio_client(server)) as client:
        yield client


def text_of(done: Any) -> str:
    return str(done.content[0].text)


async def said(client: Client, tool: str, **arguments: Any) -> str:
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, text_of(done)
    return text_of(done)


async def data(client: Client, tool: str, **arguments: Any) -> Any:
    return (await client.call_tool(tool, arguments)).structured_content


def printed(lamina, *words: str) -> str:
    done = lamina(*words, "--print")
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_the_lines_to_type_start_this_server(lamina, tmp_path) -> None:
    """They are quoted for a shell, name the file by its absolute path, and the user; `uvx` needs nothing installed."""
    shown = printed(lamina, "--db", "my chat.db", "mcp", "--user", "Ana Li")
    typed = [shlex.split(line) for line in shown.splitlines() if re.match(r"(claude|uvx) ", line)]
    own = ["--db", str(tmp_path / "my chat.db"), "mcp", "--user", "Ana Li"]
    assert typed == [
        ["claude", "mcp", "add", "lamina", "--", LAMINA, *own],
        ["claude", "mcp", "add", "lamina", "--", "uvx", "--from", "lamina[mcp]", "lamina", *own],
        ["uvx", "--from", "lamina[mcp]", "lamina", *own],
    ]
    over_http = printed(lamina, "mcp", "--http", "--port", "9000")
    assert "claude mcp add --transport http lamina http://127.0.0.1:9000/mcp\n" in over_http


def test_what_is_told_is_remembered_changed_forgotten_and_there_after_a_restart(lamina, tmp_path) -> None:
    """Over standard input and output, started by the printed command; the answers are short."""
    line = next(one for one in printed(lamina, "--db", "chat.db", "mcp", "--user", "ana").splitlines() if " -- " in one)
    words = shlex.split(line.partition(" -- ")[2])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def first() -> None:
        async with started(words, elsewhere) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:3] == ["add_memory", "search_memories", "get_context"]
            told = [
                await said(client, "add_memory", text=text)
                for text in ("User lives in Ghent", "The user moved to Porto", "User lives in Porto")
            ]
            assert told == [
                "remembered: location: Ghent",
                "remembered: location: Porto (before: Ghent)",
                "already known: location: Porto",
            ]
            talk = [{"role": "user", "content": "My cat is called Miso."}, {"role": "assistant", "content": "Noted."}]
            assert (
                await said(client, "add_memory", messages=talk, session_id="s1") == "stored: 2 messages in session s1"
            )

    async def second() -> None:
        async with started(words, elsewhere) as client:
            facts = (await data(client, "list_facts"))["facts"]
            assert [one["value"] for one in facts if one.get("key") == "location"] == ["Porto"]
            history = (await data(client, "memory_history", key="location"))["facts"]
            assert [one["value"] for one in history] == ["Ghent", "Porto"]
            assert "Porto" in await said(client, "get_context", query="Where do I live?")
            assert "Miso" in await said(client, "search_memories", query="What is my cat called?")
            planned = await said(client, "forget", text="Miso")
            assert planned.startswith("nothing deleted yet; this would go: 1 message")
            assert "My cat is called Miso." in planned
            assert planned.endswith("Call forget again with confirm=true if they agree.")
            assert (await said(client, "forget", text="Miso", confirm=True)).startswith("deleted: 1 message")
            nothing = await said(client, "forget", text="Miso", confirm=True)
            assert nothing == "nothing to delete: nothing in the memory of user 'ana' has this text"

    asyncio.run(first())
    asyncio.run(second())
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        assert memory.verify().ok


def test_a_server_without_a_user_asks_for_one_once_there_are_several(lamina, tmp_path) -> None:
    """It serves the default user of an empty memory; among others, every tool answers with what works, which is not
    an argument that it does not take."""
    command = [LAMINA, "--db", str(tmp_path / "chat.db"), "mcp"]

    async def run() -> tuple[str, str]:
        async with started(command, tmp_path) as client:
            alone = await said(client, "add_memory", text="User likes jazz")
            lamina("--db", "chat.db", "remember", "User lives in Ghent", "--user", "ana")
            refused = await client.call_tool("search_memories", {"query": "jazz"})
            assert refused.is_error
            return alone, text_of(refused)

    alone, refused = asyncio.run(run())
    assert alone == "remembered: likes jazz"
    assert "start it again with `lamina mcp --user NAME`" in refused
    assert "--any-user" in refused
    assert "user_id" not in refused
    assert "'ana'" in refused


def test_a_server_for_any_user_asks_for_the_argument(lamina, tmp_path) -> None:
    """Its tools take `user_id`: the model is told to give it, and nothing of the command line."""
    lamina("--db", "chat.db", "remember", "User lives in Ghent", "--user", "ana")

    async def run() -> str:
        async with started([LAMINA, "--db", str(tmp_path / "chat.db"), "mcp", "--any-user"], tmp_path) as client:
            return text_of(await client.call_tool("search_memories", {"query": "Ghent"}))

    refused = asyncio.run(run())
    assert "give user_id." in refused
    assert "--" not in refused


def test_the_same_over_http_beside_the_service(tmp_path) -> None:
    """At /mcp of `lamina serve`; there each tool takes the user, and a missing one is named as the problem."""

    async def run(address: str) -> None:
        async with Client(streamable_http_client(f"{address}/mcp")) as client:
            for text, line in (
                ("User lives in Ghent", "remembered: location: Ghent"),
                ("The user moved to Porto", "remembered: location: Porto (before: Ghent)"),
            ):
                assert await said(client, "add_memory", text=text, user_id="bo") == line
            found = await data(client, "list_facts", user_id="bo")
            assert [one["value"] for one in found["facts"]] == ["Porto"]
            refused = await client.call_tool("list_facts", {})
            assert refused.is_error
            assert "give user_id" in text_of(refused)
            assert "'bo'" in text_of(refused)
            gone = await said(client, "forget", everything=True, confirm=True, user_id="bo")
            assert gone == "deleted: 2 facts"

    with service_process(tmp_path) as (_, address):
        asyncio.run(run(address))


def test_the_printed_settings_are_json_that_starts_the_server(lamina, tmp_path) -> None:
    """The snippet for a client's settings file, as a client reads it."""
    shown = printed(lamina, "--db", "chat.db", "mcp", "--user", "ana")
    snippet = json.loads(re.findall(r"^\{.*?^\}", shown, re.DOTALL | re.MULTILINE)[0])
    entry = snippet["mcpServers"]["lamina"]

    async def run() -> str:
        async with started([entry["command"], *entry["args"]], tmp_path) as client:
            return await said(client, "add_memory", text="User's name is Ana")

    assert asyncio.run(run()) == "remembered: name: Ana"
