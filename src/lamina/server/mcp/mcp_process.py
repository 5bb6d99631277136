"""The server as a process: over standard input and output, or over HTTP, until a signal."""

import asyncio
import hmac
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lamina.errors import InputError, LaminaError
from lamina.memory import AsyncMemory
from lamina.server.listen import explain_port
from lamina.server.mcp.handlers import ToolHandlers
from lamina.server.mcp.protocol import server_for
from lamina.server.uvicorn_config import uvicorn_config

PATH = "/mcp"

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_MIN_TOKEN = 16  # characters, where others than this machine can try
_GRACE_S = 3  # seconds for open requests to end
_HEAD_S = 15.0  # in which the head of a request must have arrived
_MAX_IDLE = 250  # connections that wait for one
_MAX_STREAMS = 50  # that clients listen to at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Whose memory is served."""

    location: str
    options: Mapping[str, Any]  # for opening it
    user: str | None  # None: the memory decides
    any_user: bool = False
    project: str | None = None

    def memory(self) -> AsyncMemory:
        return AsyncMemory(self.location, **self.options)

    def handlers(self, memory: AsyncMemory) -> ToolHandlers:
        return ToolHandlers(memory, self.user, self.any_user, project=self.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAddress:
    """Where an HTTP server listens, and which token it needs."""

    host: str
    port: int
    token: str | None = None
    names: tuple[str, ...] = ()  # other names that the machine is called by

    def __post_init__(self) -> None:
        if self.token is not None and (not self.token.isascii() or not self.token.isprintable() or " " in self.token):
            raise InputError("the token has to be ASCII, without spaces")
        if not _is_loopback(self.host) and len(self.token or "") < _MIN_TOKEN:
            raise InputError(
                f"{self.host} can be reached from other machines: give a token of {_MIN_TOKEN} characters or more "
                "(LAMINA_MCP_TOKEN or --token), or listen on 127.0.0.1"
            )

    @property
    def security(self) -> TransportSecuritySettings:
        """Hosts and origins that a request may name; a web page elsewhere is turned away."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        names = dict.fromkeys((*_LOCAL, host, *self.names))
        return TransportSecuritySettings(
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[
                f"{scheme}://{form}" for name in names for form in (name, f"{name}:*") for scheme in ("http", "https")
            ],
        )

    def open(self) -> socket.socket:
        """A socket that listens."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            listening = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
            try:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(found[4])
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            raise LaminaError(explain_port(self.host, self.port, error)) from error
        return listening

    def url(self, port: int) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}{PATH}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve_stdio(plan: Plan) -> None:
    """Serve one client over standard input and output until it closes them, or a signal comes."""
    asyncio.run(_stdio(plan))


async def _stdio(plan: Plan) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with plan.memory() as memory:
        talk = asyncio.create_task(_talk(plan.handlers(memory)))
        stop = asyncio.create_task(stopped.wait())
        await asyncio.wait({talk, stop}, return_when=asyncio.FIRST_COMPLETED)
        if talk.done():
            stop.cancel()
            talk.result()
            return
    sys.stderr.flush()
    os._exit(0)  # the memory is closed; a thread that waits for the client's next line cannot be ended otherwise


async def _talk(handlers: ToolHandlers) -> None:
    server = server_for(handlers)
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client is gone


def serve_http(plan: Plan, address: HttpAddress, announce: Callable[[str], None]) -> None:
    """Serve clients over HTTP until a signal comes; `announce` is given the address once it can be called."""
    asyncio.run(_http(plan, address, announce))


async def _http(plan: Plan, address: HttpAddress, announce: Callable[[str], None]) -> None:
    with closing(address.open()) as listening:
        async with plan.memory() as memory:
            app: ASGIApp = server_for(plan.handlers(memory)).streamable_http_app(
                streamable_http_path=PATH, host=address.host, transport_security=address.security
            )
            server = uvicorn.Server(
                uvicorn_config(
                    LimitStreams(app) if address.token is None else RequireToken(LimitStreams(app), address.token),
                    header_seconds=_HEAD_S,
                    max_idle=_MAX_IDLE,
                    grace_s=_GRACE_S,
                    lifespan="on",
                    ws="none",
                )
            )
            for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn has its own, but raises them again at its end
                asyncio.get_running_loop().add_signal_handler(number, setattr, server, "should_exit", True)
            logging.getLogger("uvicorn.error").addFilter(
                lambda record: not (server.should_exit and _is_cut_off(record))
            )
            listening.listen()
            announce(address.url(listening.getsockname()[1]))
            await server.serve(sockets=[listening])


def _is_cut_off(record: logging.LogRecord) -> bool:
    """Whether it is about a stream that a client had open at the end, which is no error then."""
    return record.getMessage().startswith("ASGI callable returned without completing")


class LimitStreams:
    """An application with a bound for the streams that clients have open."""

    def __init__(self, app: ASGIApp, max_streams: int = _MAX_STREAMS) -> None:
        self._app = app
        self._max = max_streams
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
        elif self._streams >= self._max:
            detail = f"there are {self._max} streams already; end one first\n"
            await PlainTextResponse(detail, 429, {"Retry-After": "1"})(scope, receive, send)
        else:
            self._streams += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._streams -= 1


class RequireToken:
    """An application behind a bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._accepts(dict(scope["headers"]).get(b"authorization", b"")):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse("a bearer token is needed\n", 401, {"WWW-Authenticate": "Bearer"})
        await refusal(scope, receive, send)

    def _accepts(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"
