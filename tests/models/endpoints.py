"""What the tests of language models share: a server, endpoints to it, and messages."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lamina import Llm
from lamina.models.llm import endpoint as endpoints
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.openai_api import Ask, Schema
from lamina.models.llm.prompts import prompts
from lamina.protocols.models import LedgerEntry, SummaryTask
from lamina.testing.llm_server import LlmServer
from lamina.values.message import Message
from tests.messages import message
from tests.waiting import CEILING

QUICK: dict[str, Any] = {
    "backoff_seconds": 0.01,
    "read_seconds": CEILING,
    "connect_seconds": CEILING,
    "total_seconds": CEILING,
}
FORM = {"type": "object", "properties": {"facts": {"type": "array", "items": {}}}, "required": ["facts"]}
PLAIN = Ask(purpose="summary", messages=(("system", "Be brief."), ("user", "Say something.")), room=50)
SHAPED = Ask(purpose="facts", messages=(("user", "Give facts."),), room=50, schema=Schema(name="facts", form=FORM))


def llm_for(server: LlmServer, **values: Any) -> Llm:
    return Llm(**{"base_url": server.url, "model": "test-model", **QUICK, **values})


@contextlib.asynccontextmanager
async def endpoint_to(server: LlmServer, **values: Any) -> AsyncIterator[Endpoint]:
    """An endpoint that is closed at the end."""
    endpoint = Endpoint(llm_for(server, **values))
    try:
        yield endpoint
    finally:
        await endpoint.close()


class ListLedger:
    """A ledger of the process: every call, and what those of a tenant came to since a time."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []

    async def add(self, entry: LedgerEntry) -> None:
        self.entries.append(entry)

    async def cost_since(self, tenant: str, since: datetime) -> float:
        return sum(entry.cost for entry in self.entries if entry.tenant == tenant and entry.at >= since)


class Watch:
    """The time of endpoints: it moves only when told to, and their pauses take none of it but are written down."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    def time(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def give(self, patch: pytest.MonkeyPatch) -> "Watch":
        """Have endpoints look at this one."""
        patch.setattr(endpoints, "time", self)
        patch.setattr(endpoints, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": self.sleep}))
        return self


def said(*texts: str, role: str = "user") -> list[Message]:
    return [message(number, text=text, role=role) for number, text in enumerate(texts, 1)]


def summary_task(messages: Sequence[Message], **values: Any) -> SummaryTask:
    defaults: dict[str, Any] = {
        "kind": "chunk",
        "profile": "project",
        "messages": tuple(messages),
        "previous": None,
        "summaries": (),
        "sections": (),
        "cap": 200,
        "least": 0,
        "prompt": "chunk@1",
    }
    task = SummaryTask(**{**defaults, **values})
    name = (task.prompt or "").partition("@")[0]
    return replace(task, template=task.template or prompts()[name].text)
