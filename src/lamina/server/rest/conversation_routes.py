"""Routes for sessions, their messages and summaries, contexts and searches."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from lamina.errors import InputError
from lamina.server.auth import KEY_SECURITY, Reader, Writer
from lamina.server.input_types import NOT_BLANK, PathId
from lamina.server.inputs import (
    ContextRequest,
    ExplainedSearchRequest,
    MessagesQuery,
    NewMessages,
    NewMilestone,
    OutlineQuery,
    SearchRequest,
    SessionChange,
    SessionsQuery,
    SummariesQuery,
)
from lamina.server.rest.etags import IfMatch, choose_tag, set_etag
from lamina.server.rest.pagination import Page, make_cursor, read_cursor, read_number, whole_list
from lamina.values.hit import Explained, Hit
from lamina.values.manifest import Context
from lamina.values.message import Added, Message
from lamina.values.session import Brief, Conversation, Milestone, Session
from lamina.values.statistics import Outline
from lamina.values.summary import Summary

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=256,
        description="Sent again with it, nothing is added.",
        json_schema_extra={"pattern": NOT_BLANK},
    ),
]


@routes.post("/sessions/{session_id}/messages", tags=["messages"], operation_id="add_messages", status_code=201)
async def add_messages(memory: Writer, session_id: PathId, body: NewMessages, key: Key = None) -> Added:
    """Append messages to a session; they are safe once this answers."""
    return await memory.add(
        body.messages,
        user_id=body.user_id,
        session_id=session_id,
        agent_id=body.agent_id,
        project_id=body.project_id,
        idempotency_key=key,
    )


@routes.get("/sessions/{session_id}/messages", tags=["messages"], operation_id="list_messages")
async def list_messages(memory: Reader, session_id: PathId, params: Annotated[MessagesQuery, Query()]) -> Page[Message]:
    """The messages of a session in order, as they came."""
    session = await memory.session(session_id)
    place = read_number("messages", params.cursor)
    first = (params.first or 1) if place is None else place
    last = first + params.limit - 1
    more = last < session.counters.messages
    return Page(
        items=await memory.messages(session_id, first, min(last, session.counters.messages)),
        next=make_cursor("messages", last + 1) if more else None,
    )


@routes.get("/sessions", tags=["sessions"], operation_id="list_sessions")
async def list_sessions(memory: Reader, params: Annotated[SessionsQuery, Query()]) -> Page[Session]:
    """Sessions by id."""
    found = await memory.sessions(
        params.user_id,
        project_id=params.project_id,
        status=params.status,
        limit=params.limit + 1,
        after=read_cursor("sessions", params.cursor),
    )
    some = found[: params.limit]
    return Page(items=some, next=make_cursor("sessions", some[-1].id) if len(found) > params.limit else None)


@routes.get("/sessions/{session_id}", tags=["sessions"], operation_id="get_session")
async def get_session(memory: Reader, session_id: PathId, response: Response) -> Session:
    """A session with its status and what it has counted."""
    session = await memory.session(session_id)
    set_etag(response, session)
    return session


@routes.patch("/sessions/{session_id}", tags=["sessions"], operation_id="change_session")
async def change_session(
    memory: Writer, session_id: PathId, body: SessionChange, tags: IfMatch, response: Response
) -> Session:
    """End, pause, archive a session, make it active again, or give it a title."""
    if body.outcome is not None and body.status != "ended":
        raise InputError("an outcome goes with the status `ended`")
    expect = await choose_tag(tags, lambda: memory.session(session_id))
    session = None
    if "title" in body.model_fields_set:
        session = await memory.rename(session_id, body.title, expect=expect)
        expect = None if expect is None else session.tag
    if body.status is not None:
        session = await _set_status(memory, session_id, body, expect)
    if session is None:
        raise InputError("give `status`, `title` or both")
    set_etag(response, session)
    return session


async def _set_status(memory: Writer, session_id: str, body: SessionChange, expect: str | None) -> Session:
    if body.status == "ended":
        return await memory.end(session_id, body.outcome, expect=expect)
    verbs = {"paused": memory.pause, "archived": memory.archive, "active": memory.resume}
    return await verbs[str(body.status)](session_id, expect=expect)


@routes.get("/sessions/{session_id}/summaries", tags=["sessions"], operation_id="list_summaries")
async def list_summaries(
    memory: Reader, session_id: PathId, params: Annotated[SummariesQuery, Query()]
) -> Page[Summary]:
    """The summaries of a session, in order."""
    return whole_list(await memory.summaries(session_id, live=params.live))


@routes.get("/sessions/{session_id}/brief", tags=["sessions"], operation_id="get_brief")
async def get_brief(memory: Reader, session_id: PathId) -> Brief:
    """The summary of a session's older messages as one text, and the last reply that is in it."""
    return await memory.brief(session_id)


@routes.get("/sessions/{session_id}/outline", tags=["sessions"], operation_id="get_outline")
async def get_outline(memory: Reader, session_id: PathId, params: Annotated[OutlineQuery, Query()]) -> Outline:
    """The outline of a session, without its text: its log in stretches, and every summary of it."""
    return await memory.outline(session_id, params.parts)


@routes.post("/context", tags=["recall"], operation_id="build_context")
async def build_context(memory: Reader, request: Request, body: ContextRequest) -> Context:
    """What the model should see for the next message: never above the budget, with what and why."""
    context = await memory.context(**body.model_dump())
    request.app.state.service.metrics.count_context(context)
    return context


@routes.post("/search", tags=["recall"], operation_id="search")
async def search(memory: Reader, body: SearchRequest) -> Page[Hit]:
    """Messages, summaries, facts and episodes that answer the query, best first."""
    return whole_list(await memory.search(**body.model_dump()))


@routes.post("/search/explained", tags=["recall"], operation_id="search_explained")
async def search_explained(memory: Reader, body: ExplainedSearchRequest) -> Explained:
    """A search with its steps: hits also below the minimum score, counts, and the time of each step."""
    return await memory.search_explained(**body.model_dump())


@routes.get("/sessions/{session_id}/conversation", tags=["sessions"], operation_id="get_conversation")
async def get_conversation(memory: Reader, session_id: PathId) -> Conversation:
    """The whole record of a session: status, chunks, recent messages, facts, milestones."""
    return await memory.conversation(session_id)


@routes.post("/sessions/{session_id}/milestones", tags=["sessions"], operation_id="add_milestone", status_code=201)
async def add_milestone(memory: Writer, session_id: PathId, body: NewMilestone) -> Milestone:
    """Mark this point of a session with a title."""
    return await memory.milestone(session_id, body.title)


@routes.get("/messages/{message_id}", tags=["messages"], operation_id="get_message")
async def get_message(memory: Reader, message_id: PathId) -> Message:
    """One message as it came."""
    return await memory.message(message_id)


@routes.get("/summaries/{summary_id}/messages", tags=["sessions"], operation_id="zoom")
async def zoom(memory: Reader, summary_id: PathId) -> Page[Message]:
    """The messages that a summary covers, word for word."""
    return whole_list(await memory.zoom(summary_id))
