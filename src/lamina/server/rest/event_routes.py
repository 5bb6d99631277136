"""Server-sent events: what changes in a tenant's memory, as it changes."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from lamina.errors import NotFound
from lamina.memory import AsyncMemory
from lamina.server.auth import KEY_SECURITY, Caller, ReadCaller, Reader, Service, service_of
from lamina.server.inputs import EventsQuery
from lamina.tenancy.changes import LOOK_S, Event
from lamina.values.codec import READABLE, encode

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)

_STREAM = "text/event-stream"
_HEARTBEAT_S = 15.0
_RETRY_MS = 2000
_LAST_ID = Header(
    alias="Last-Event-ID", max_length=100, description="The id of the last event that came, to go on from."
)


@routes.get(
    "/events",
    tags=["events"],
    operation_id="listen",
    response_class=StreamingResponse,
    responses={200: {"description": "Events.", "content": {_STREAM: {"schema": {"type": "string"}}}}},
)
async def listen(
    memory: Reader,
    caller: ReadCaller,
    request: Request,
    params: Annotated[EventsQuery, Query()],
    last: Annotated[str | None, _LAST_ID] = None,
) -> StreamingResponse:
    """What changes in the tenant's memory from now on, or since the last event that came; it does not end by itself."""
    events = _stream(service_of(request), caller, memory, params, last)
    return StreamingResponse(events, media_type=_STREAM, headers={"Cache-Control": "no-store"})


async def _stream(
    service: Service, caller: Caller, memory: AsyncMemory, params: EventsQuery, last: str | None
) -> AsyncIterator[str]:
    watch = await service.tenants.watch(caller.tenant)
    yield f"retry: {_RETRY_MS}\n" + ("" if last else f"id: {watch.place()}\n") + "\n"
    sent_at = time.monotonic()
    async for event in watch.listen(last, LOOK_S):
        if not await service.tenants.is_still_valid(caller.key):
            return
        if event is None and time.monotonic() - sent_at >= _HEARTBEAT_S:
            sent_at = time.monotonic()
            yield ": still here\n\n"
        elif event is not None and _matches(event, params):
            data = {"user_id": event.user_id, "session_id": event.session_id, **event.about}
            if "content" in params.include:
                data |= await _content(memory, event)
            sent_at = time.monotonic()
            yield f"id: {event.id}\nevent: {event.type}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _matches(event: Event, params: EventsQuery) -> bool:
    """Whether an event is for a listener. A `forgotten` event names no user, and a gap concerns all."""
    if event.type == "gap":
        return True
    if params.types and event.type not in params.types:
        return False
    if event.type == "forgotten":
        return True
    return params.user_id in {None, event.user_id} and params.session_id in {None, event.session_id}


async def _content(memory: AsyncMemory, event: Event) -> dict[str, Any]:
    """The content of what changed, as far as it is still there."""
    with suppress(NotFound):
        if event.type == "message.added" and event.session_id is not None:
            found = await memory.messages(event.session_id, event.about["first"], event.about["last"])
            return {"messages": [encode(message) for message in found]}
        if event.type == "session.renamed" and event.session_id is not None:
            return {"title": (await memory.session(event.session_id)).title}
        if event.type == "fact.changed":
            return {"fact": encode(await memory.fact(event.about["fact_id"], record_access=False), READABLE)}
        if event.type == "session.folded" and event.session_id is not None:
            summaries = {one.id: one for one in await memory.summaries(event.session_id, live=False)}
            return {"summary": encode(summaries.get(event.about["summary_id"]))}
    return {}
