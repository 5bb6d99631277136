"""What to paste into the settings of clients, so that they start or call this server."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client, where its settings are, and under which key it wants servers."""

    name: str
    place: str
    key: str
    typed: bool = False  # it wants to be told the transport
    calls: bool = True  # it can call a server over HTTP by its settings


CLIENTS = (
    Client(
        name="Claude Desktop",
        place="claude_desktop_config.json (Settings, Developer, Edit Config)",
        key="mcpServers",
        calls=False,
    ),
    Client(name="Claude Code", place=".mcp.json in the project", key="mcpServers", typed=True),
    Client(name="Cursor", place="~/.cursor/mcp.json, or .cursor/mcp.json in the project", key="mcpServers"),
    Client(name="VS Code", place=".vscode/mcp.json in the workspace", key="servers", typed=True),
    Client(name="Zed", place="settings.json (zed: open settings file)", key="context_servers"),
)


_UVX = ("uvx", "--from", "lamina[mcp]", "lamina")  # installs what it needs when it is started


def for_stdio(command: str, words: Sequence[str]) -> str:
    """Commands and snippets for clients that start the server themselves."""
    started = {"command": command, "args": list(words)}
    snippets = _snippets((client, ({"type": "stdio"} if client.typed else {}) | started) for client in CLIENTS)
    commands = [
        ("Claude Code: run this", ["claude", "mcp", "add", "lamina", "--", command, *words]),
        ("Claude Code, without an installed lamina: run this", ["claude", "mcp", "add", "lamina", "--", *_UVX, *words]),
        ("Any client, without an installed lamina: the command to start", [*_UVX, *words]),
    ]
    return _commands(commands) + snippets


def _commands(named: Sequence[tuple[str, Sequence[str]]]) -> str:
    return "".join(f"{name}\n{shlex.join(words)}\n\n" for name, words in named)


def for_http(address: str, *, guarded: bool) -> str:
    """Commands and snippets for clients that call a server that runs; the token is to be filled in."""
    called: dict[str, Any] = {"url": address}
    if guarded:
        called["headers"] = {"Authorization": "Bearer TOKEN"}
    token = ["--header", "Authorization: Bearer TOKEN"] if guarded else []
    command = ["claude", "mcp", "add", "--transport", "http", "lamina", address, *token]
    snippets = _snippets(
        (client, ({"type": "http"} if client.typed else {}) | called) for client in CLIENTS if client.calls
    )
    return _commands([("Claude Code: run this", command)]) + snippets


def _snippets(entries: Any) -> str:
    return "\n".join(f"{client.name}: {client.place}\n{_json(client, entry)}\n" for client, entry in entries)


def _json(client: Client, entry: Mapping[str, Any]) -> str:
    return json.dumps({client.key: {"lamina": entry}}, indent=2, ensure_ascii=False)
