"""Routes for export and import."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from lamina.server.auth import KEY_SECURITY, Admin
from lamina.server.inputs import ExportQuery, ImportQuery
from lamina.server.temporary import TemporaryFolder
from lamina.values.report import Imported

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)

_JSON_LINES = "application/x-ndjson"
_PIECE = 1 << 16
_EXPORT = "export.jsonl"
_LINES: dict[str, Any] = {"schema": {"type": "string"}}
_EXAMPLE = '{"session_id": "s1", "user_id": "alex", "role": "user", "content": "I prefer Python."}'


@routes.get(
    "/export",
    tags=["upkeep"],
    operation_id="export",
    response_class=StreamingResponse,
    responses={200: {"description": "One JSON object a line.", "content": {_JSON_LINES: _LINES}}},
)
async def export(memory: Admin, params: Annotated[ExportQuery, Query()]) -> StreamingResponse:
    """Everything, or what is of a user or a session, as JSON Lines that `POST /v1/import` and `lamina import` read."""
    folder = await asyncio.to_thread(TemporaryFolder)
    try:
        await memory.export(folder.path / _EXPORT, user_id=params.user_id, session_id=params.session_id)
    except BaseException:
        folder.remove()
        raise
    return StreamingResponse(_pieces(folder), media_type=_JSON_LINES)


async def _pieces(folder: TemporaryFolder) -> AsyncIterator[bytes]:
    """The file in pieces; it is gone afterwards."""
    try:
        with (folder.path / _EXPORT).open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece
    finally:
        folder.remove()


@routes.post(
    "/import",
    tags=["upkeep"],
    operation_id="import",
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "One JSON object a line: what an export gives, or messages with a `session_id`.",
            "content": {_JSON_LINES: {**_LINES, "example": _EXAMPLE}},
        }
    },
)
async def import_(memory: Admin, request: Request, params: Annotated[ImportQuery, Query()]) -> Imported:
    """Take in what an export gives; what is here already is left as it is, so that it is safe to send again.

    If lines are wrong, nothing is imported, and `errors` has each of them.
    """
    body = await request.body()
    folder = await asyncio.to_thread(TemporaryFolder)
    try:
        path = folder.path / "import.jsonl"
        await asyncio.to_thread(path.write_bytes, body)
        return await memory.import_(path, user_id=params.user_id, whole=True)
    finally:
        folder.remove()
