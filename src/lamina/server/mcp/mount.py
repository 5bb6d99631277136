"""The server mounted in the HTTP service, which has checked each request and says of which tenant and role it is."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.memory import AsyncMemory
from lamina.server.mcp.handlers import ToolHandlers
from lamina.server.mcp.protocol import server_for
from lamina.server.mcp.tools import TOOLS
from lamina.values.access_key import KeyRole

_TOOLS = frozenset(tool.name for tool in TOOLS)
_METHODS = frozenset(
    {"initialize", "ping", "tools/list", "resources/list", "resources/read", "resources/templates/list"}
)
Identify = Callable[[Scope], tuple[str, KeyRole]]  # the tenant and the role of a request


@dataclass(frozen=True, slots=True)
class _Route:
    """The name of a request in metrics and in the audit."""

    operation_id: str


def _operation(body: bytes) -> str:
    """The tool that is called, or the method; what is not known is just `mcp`, so that names stay few."""
    try:
        message = json.loads(body)
        method = message["method"]
        name = message["params"]["name"] if method == "tools/call" else ""
    except (ValueError, TypeError, KeyError):
        return "mcp"
    if isinstance(name, str) and name in _TOOLS:
        return f"mcp_{name}"
    return f"mcp_{method.replace('/', '_')}" if isinstance(method, str) and method in _METHODS else "mcp"


class McpApp:
    """An application with a server for each tenant and role; each request stands for itself."""

    operation_id = "mcp"  # its name in metrics

    def __init__(self, engine: Callable[[str], Awaitable[AsyncMemory]], identify: Identify, body_bytes: int) -> None:
        self._engine = engine
        self._identify = identify
        self._body_bytes = body_bytes
        self._managers: dict[tuple[str, KeyRole], StreamableHTTPSessionManager] = {}
        self._running: list[asyncio.Task[None]] = []
        self._opening = asyncio.Lock()
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        if scope["method"] != "POST":  # there is nothing to listen for, and no session to end
            await PlainTextResponse("messages are sent with POST\n", 405, {"Allow": "POST"})(scope, receive, send)
            return
        first: Message | None = await receive()  # all of the body: the middleware has read it

        async def again() -> Message:
            nonlocal first
            given, first = first, None
            return await receive() if given is None else given

        scope["route"] = _Route(_operation((first or {}).get("body", b"")))
        manager = await self._manager(*self._identify(scope))
        await manager.handle_request(scope, again, send)

    async def _manager(self, tenant: str, role: KeyRole) -> StreamableHTTPSessionManager:
        async with self._opening:
            if (tenant, role) not in self._managers:
                handlers = ToolHandlers(await self._engine(tenant), None, any_user=True, role=role)
                manager = StreamableHTTPSessionManager(
                    server_for(handlers),
                    json_response=True,
                    stateless=True,
                    max_request_body_size=self._body_bytes,
                    security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                )
                ready = asyncio.Event()
                self._running.append(asyncio.create_task(self._run(manager, ready), name="lamina-mcp"))
                await ready.wait()
                self._managers[tenant, role] = manager
            return self._managers[tenant, role]

    async def _run(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await self._ending.wait()

    async def close(self) -> None:
        self._ending.set()
        await asyncio.gather(*self._running)


@asynccontextmanager
async def mount(
    engine: Callable[[str], Awaitable[AsyncMemory]], identify: Identify, *, body_bytes: int
) -> AsyncIterator[ASGIApp]:
    """The application while the service runs, which checks hosts and keys."""
    app = McpApp(engine, identify, body_bytes)
    try:
        yield app
    finally:
        await app.close()
