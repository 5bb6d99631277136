"""What to paste into the settings of clients, so that they start or call this server."""

import json
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


def for_stdio(command: str, words: Sequence[str]) -> str:
    """Snippets for clients that start the server themselves."""
    started = {"command": command, "args": list(words)}
    return _snippets((client, ({"type": "stdio"} if client.typed else {}) | started) for client in CLIENTS)


def for_http(address: str, *, guarded: bool) -> str:
    """Snippets for clients that call a server that runs; the token is to be filled in."""
    called: dict[str, Any] = {"url": address}
    if guarded:
        called["headers"] = {"Authorization": "Bearer TOKEN"}
    return _snippets(
        (client, ({"type": "http"} if client.typed else {}) | called) for client in CLIENTS if client.calls
    )


def _snippets(entries: Any) -> str:
    return "\n".join(f"{client.name}: {client.place}\n{_json(client, entry)}\n" for client, entry in entries)


def _json(client: Client, entry: Mapping[str, Any]) -> str:
    return json.dumps({client.key: {"lamina": entry}}, indent=2, ensure_ascii=False)
