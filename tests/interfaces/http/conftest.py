"""A real server on this machine, in a thread, and a client that calls it."""

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import uvicorn

from lamina.interfaces.http.app import create_app
from lamina.interfaces.settings import Settings
from lamina.wiring import tenants


@dataclass
class Served:
    """A running service."""

    settings: Settings
    app: Any
    client: httpx2.Client
    others: list[httpx2.Client] = field(default_factory=list)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.client, verb)

    def key(self, role="write", *, tenant="default", lasts=None) -> str:
        """A new key, made beside the service, as the command line does."""
        _, secret = made_key(self.settings, role, tenant=tenant, lasts=lasts)
        return str(secret)

    def with_key(self, secret: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {secret}"}
        self.others.append(httpx2.Client(base_url=self.client.base_url, headers=headers, timeout=30))
        return self.others[-1]


def made_key(settings, role="write", *, tenant="default", lasts=None):
    async def make():
        async with tenants(settings.database, worker=False) as held:
            return await held.keys(tenant).create(f"a {role} key", role, lasts)

    return asyncio.run(make())


def failure(error):
    async def fail() -> None:
        raise error

    return fail


@contextmanager
def serving(settings, *, failing=(), **options):
    """A service; each of the errors in `failing` has a route that raises it."""
    app = create_app(settings, **options)
    for error in failing:
        app.add_api_route(f"/v1/fail/{type(error).__name__}", failure(error))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
    served = Served(settings, app, client)
    try:
        yield served
    finally:
        for one in (client, *served.others):
            one.close()
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def service(tmp_path):
    """The service on an empty file, without keys."""
    with serving(Settings(database=str(tmp_path / "chat.db"), max_body_bytes=200_000), worker=False) as served:
        yield served
