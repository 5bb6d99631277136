"""A real server on this machine, in a thread, and a client that calls it.

A server serves the tests of a module one after the other, each over a store of its own.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import uvicorn

from lamina.server import middleware
from lamina.server.app import create_app, store_options
from lamina.server.audit import Audits
from lamina.server.metrics import Metrics
from lamina.server.serve import service_config
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from tests.waiting import CEILING, wait_until


@dataclass
class Served:
    """A running service."""

    settings: Settings
    app: Any
    client: httpx2.Client
    loop: asyncio.AbstractEventLoop
    others: list[httpx2.Client] = field(default_factory=list)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.client, verb)

    def key(self, role="write", *, tenant="default", lasts=None, user=None) -> str:
        """A new key, made beside the service, as the command line does."""
        _, secret = made_key(self.settings, role, tenant=tenant, lasts=lasts, user=user)
        return str(secret)

    def with_key(self, secret: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {secret}"}
        self.others.append(httpx2.Client(base_url=self.client.base_url, headers=headers, timeout=CEILING))
        return self.others[-1]

    @contextmanager
    def over(self, database):
        """The service as if it had just begun over another store: what it keeps and counts is new."""
        service, before = self.app.state.service, self.settings
        held, settings = service.opened, replace(before, database=str(database))
        self.settings = service.settings = settings
        service.metrics, service.audits = Metrics(), Audits()
        opened = tenants(settings.database, **store_options(settings, service.metrics, worker=False))
        service.opened = self._done(opened.__aenter__())
        try:
            self._done(service.opened.engine(settings.tenant))
            yield self
        finally:
            self.hang_up()
            self._done(service.jobs.close())
            service.opened, self.settings, service.settings = held, before, before
            self._done(opened.__aexit__(None, None, None))

    def hang_up(self) -> None:
        while self.others:
            self.others.pop().close()

    def _done(self, verb: Coroutine[Any, Any, Any]) -> Any:
        """What it gives, where the service runs."""
        return asyncio.run_coroutine_threadsafe(verb, self.loop).result(CEILING)


def made_key(settings, role="write", *, tenant="default", lasts=None, user=None):
    async def make():
        async with tenants(settings.database, worker=False) as held:
            return await held.keys(tenant).create(f"a {role} key", role, lasts, user)

    return asyncio.run(make())


def failure(error):
    async def fail() -> None:
        raise error

    return fail


class Server(uvicorn.Server):
    """Knows on which loop it runs."""

    loop: asyncio.AbstractEventLoop

    async def startup(self, sockets=None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)


@contextmanager
def serving(settings, *, failing=(), **options):
    """A service; each of the errors in `failing` has a route that raises it."""
    app = create_app(settings, **options)
    for error in failing:
        app.add_api_route(f"/v1/fail/{type(error).__name__}", failure(error))
    server = Server(service_config(app, settings, host="127.0.0.1", port=0, grace_s=5))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=CEILING)
    served = Served(settings, app, client, server.loop)
    try:
        yield served
    finally:
        served.hang_up()
        client.close()
        server.should_exit = True
        thread.join(CEILING)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def running():
    """A service for the tests of a module, to be used `over` a store."""
    with serving(Settings(database=":memory:", max_body_bytes=200_000), worker=False) as served:
        yield served


@pytest.fixture
def service(running, tmp_path):
    """The service on an empty file, without keys."""
    with running.over(tmp_path / "chat.db") as served:
        yield served


@pytest.fixture
def kept(running, place):
    """The service on each kind of store, empty and without keys."""
    with running.over(place()) as served:
        yield served


@pytest.fixture
def standing_still(monkeypatch):
    """A clock for rates that stands still."""
    stopped = SimpleNamespace(monotonic=lambda: 0.0, perf_counter=time.perf_counter)
    monkeypatch.setattr(middleware, "time", stopped)
