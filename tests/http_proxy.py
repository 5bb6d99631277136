"""A proxy between official clients and a server that does as it is told."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import openai
import pytest

from lamina.server.proxy import exchange
from lamina.settings import Settings
from lamina.testing.llm_server import LlmServer, Said
from tests.http_service import Served, serving
from tests.waiting import CEILING

USER, SESSION = "alex", "s1"
IDS = {"X-Lamina-User": USER, "X-Lamina-Session": SESSION}


@dataclass
class Proxied:
    """A running proxy, its endpoint, and a client that talks through it."""

    upstream: LlmServer
    service: Served
    client: openai.OpenAI

    @property
    def url(self) -> str:
        return f"{self.service.client.base_url}/openai/v1"

    def says(self, *texts: str, **more: Any) -> None:
        self.upstream.then(*(Said(text=text, **more) for text in texts))

    def sent(self, kind: str = "chat") -> dict[str, Any]:
        """What the endpoint was asked last."""
        return dict(self.upstream.asked(kind)[-1].body)

    def log(self, session: str = SESSION) -> list[dict[str, Any]]:
        answer = self.service.client.get(f"/v1/sessions/{session}/messages")
        return list(answer.json()["items"]) if answer.status_code == 200 else []

    def said(self, session: str = SESSION) -> list[tuple[str, str]]:
        return [(one["role"], one["text"]) for one in self.log(session)]

    def settle(self) -> None:
        assert self.service.client.post("/v1/settle", json={}).status_code == 200

    @contextmanager
    def over(self, database):
        """The proxy as if it had just begun over another store, with an endpoint that was asked nothing yet."""
        for kept in (self.upstream.journal, self.upstream.hung_up, self.upstream._script):
            kept.clear()
        brain = self.upstream.brain
        with self.service.over(database):
            yield replace(self)
        self.upstream.brain = brain


@contextmanager
def proxied(database, *, worker=False, retries=0, patience=CEILING, **settings):
    """A proxy and its endpoint; `patience` is for memory, so many seconds."""
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(exchange, "PATIENCE_S", patience)
        upstream = stack.enter_context(LlmServer(lambda asked: Said(text="I see.", plain=True)))
        chosen = replace(Settings(database=str(database), proxy_base_url=upstream.url), **settings)
        service = stack.enter_context(serving(chosen, worker=worker))
        url = f"{service.client.base_url}/openai/v1"
        official = openai.OpenAI(base_url=url, api_key="sk-theirs", max_retries=retries, timeout=CEILING)
        client = stack.enter_context(official)
        yield Proxied(upstream, service, client.with_options(default_headers=IDS))


@pytest.fixture(scope="module")
def between():
    """A proxy for the tests of a module, to be used `over` a store."""
    with proxied(":memory:") as found:
        yield found


@pytest.fixture
def proxy(between, place):
    """The proxy on each kind of store."""
    with between.over(place()) as found:
        yield found


@pytest.fixture
def quick(between, tmp_path):
    """The same on a file only."""
    with between.over(tmp_path / "chat.db") as found:
        yield found
