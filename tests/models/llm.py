"""What the tests of language models share: a server, endpoints to it, and messages."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from lamina import Llm
from lamina.models.prompts import prompts
from lamina.models.remote.endpoint import Endpoint
from lamina.models.remote.questions import Ask, Schema
from lamina.ports import SummaryTask
from lamina.testing.llm_server import LlmServer
from lamina.types import Message
from tests.policy.conftest import message

QUICK: dict[str, Any] = {"backoff_seconds": 0.01, "read_seconds": 5.0, "connect_seconds": 5.0, "total_seconds": 20.0}
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
