"""Runs the service until a signal; requests that are under way are answered first."""

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType, MappingProxyType

import uvicorn
from starlette.types import ASGIApp, Scope

from lamina.memory import AsyncMemory
from lamina.server.app import create_app, start, store_options
from lamina.server.auth import Caller
from lamina.server.listen import listen
from lamina.server.metrics import Metrics
from lamina.server.uvicorn_config import uvicorn_config
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from lamina.values.access_key import KeyRole

_GRACE_S = 30
_SHOWN_LOGS = ("lamina.audit", "lamina.proxy")  # whose lines an operator sees, whatever the level
_MIN_IDLE = 64  # connections on which no request has come yet; many may be made at the same moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What runs, for those who started it."""

    addresses: tuple[str, ...]  # where it listens
    has_keys: bool
    with_worker: bool
    with_mcp: bool


class _Server(uvicorn.Server):
    """Says where it listens, and leaves signals to us: what is open must be closed before the process ends."""

    announce: Callable[[tuple[str, ...]], None]
    leaving: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.announce(tuple(_url(*server.sockets[0].getsockname()[:2]) for server in self.servers))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.leaving()
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


Engines = Callable[[str], Awaitable[AsyncMemory]]
Mount = Callable[[Engines, Callable[[Scope], tuple[str, KeyRole]]], AbstractAsyncContextManager[ASGIApp]]


def tenant_and_role(scope: Scope) -> tuple[str, KeyRole]:
    caller: Caller = scope["lamina.caller"]
    return caller.tenant, caller.role


def service_config(
    app: ASGIApp, settings: Settings, *, host: str, port: int, grace_s: int = _GRACE_S
) -> uvicorn.Config:
    """How uvicorn serves the service under its settings."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    max_idle = min(max(settings.max_concurrent_requests, _MIN_IDLE), files // 2)
    return uvicorn_config(
        app,
        header_seconds=settings.header_seconds,
        max_idle=max_idle,
        grace_s=grace_s,
        host=host,
        port=port,
        proxy_headers=False,
    )


async def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    worker: bool,
    announce: Callable[[Started], None],
    mounts: Mapping[str, Mount] = MappingProxyType({}),
) -> int:
    """Serve until SIGTERM or SIGINT; 0 unless it could not begin. `mounts` are other applications by path."""
    with ExitStack() as ports:
        sockets = [ports.enter_context(one) for one in listen(host, port)]
        return await _serve(settings, sockets, host=host, worker=worker, announce=announce, mounts=mounts)


async def _serve(
    settings: Settings,
    sockets: list[socket.socket],
    *,
    host: str,
    worker: bool,
    announce: Callable[[Started], None],
    mounts: Mapping[str, Mount],
) -> int:
    for name in _SHOWN_LOGS:
        logging.getLogger(name).setLevel(logging.INFO)
    metrics = Metrics()
    async with (
        tenants(settings.database, **store_options(settings, metrics, worker=worker)) as opened,
        AsyncExitStack() as stack,
    ):
        await start(opened, settings, host, worker=worker)
        others = {
            path: await stack.enter_async_context(make(opened.engine, tenant_and_role)) for path, make in mounts.items()
        }
        app = create_app(settings, host=host, worker=worker, opened=opened, metrics=metrics, mounts=others)
        server = _Server(service_config(app, settings, host=host, port=0))
        has_keys = await opened.has_keys()
        server.announce = lambda addresses: announce(
            Started(addresses=addresses, has_keys=has_keys, with_worker=worker, with_mcp="/mcp" in others)
        )
        loop = asyncio.get_running_loop()
        ending: set[asyncio.Task[None]] = set()
        server.leaving = lambda: ending.add(loop.create_task(opened.end_watches()))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.handle_exit, number, None)
        await server.serve(sockets)
    return 0 if server.started else 1
