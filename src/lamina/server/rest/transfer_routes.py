"""Routes for export, import and the demo; long ones as jobs in the background."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from lamina.memory import AsyncMemory
from lamina.server.auth import KEY_SECURITY, Admin, AdminCaller, service_of
from lamina.server.input_types import PathId
from lamina.server.inputs import EmptyBody, ExportQuery, ImportQuery
from lamina.server.jobs import Job
from lamina.server.rest.pagination import Page, whole_list
from lamina.server.temporary import TemporaryFolder
from lamina.server.uploads import Upload
from lamina.story.load import Report, load_demo
from lamina.values.report import Imported

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)

_JSON_LINES = "application/x-ndjson"
_PIECE = 1 << 16
_EXPORT = "export.jsonl"
_LINES: dict[str, Any] = {"schema": {"type": "string"}}
_EMPTY = EmptyBody()
_EXAMPLE = '{"session_id": "s1", "user_id": "alex", "role": "user", "content": "I prefer Python."}'


@routes.get(
    "/export",
    tags=["upkeep"],
    operation_id="export",
    response_class=StreamingResponse,
    responses={200: {"description": "One JSON object a line.", "content": {_JSON_LINES: _LINES}}},
)
async def export(memory: Admin, params: Annotated[ExportQuery, Query()]) -> StreamingResponse:
    """Everything, or a user, project or session, as JSON Lines that `POST /v1/import` and `lamina import` read."""
    folder = await asyncio.to_thread(TemporaryFolder)
    try:
        await memory.export(folder.path / _EXPORT, **params.model_dump())
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


_FILE = Header(
    alias="X-Lamina-Filename",
    max_length=1000,
    description="The name of the file, percent-encoded: its suffix tells the format where the content does not.",
)
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A file that `lamina import` reads: what an export gives, messages with a `session_id`, or an"
        " export of another tool. Files that are no JSON Lines have the type application/octet-stream.",
        "content": {
            _JSON_LINES: {**_LINES, "example": _EXAMPLE},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
FileName = Annotated[str | None, _FILE]


@routes.post("/import", tags=["upkeep"], operation_id="import", openapi_extra=_UPLOAD)
async def import_(
    memory: Admin, request: Request, params: Annotated[ImportQuery, Query()], _: FileName = None
) -> Imported:
    """Take in a file; what is here already is left as it is, so that it is safe to send again.

    If lines are wrong, nothing is imported, and `errors` has each of them.
    """
    upload = await Upload.receive(request)
    return await _read(memory, upload, params, lambda *_: None)


@routes.post("/jobs/import", tags=["upkeep"], operation_id="start_import", status_code=202, openapi_extra=_UPLOAD)
async def start_import(
    memory: Admin, caller: AdminCaller, request: Request, params: Annotated[ImportQuery, Query()], _: FileName = None
) -> Job:
    """The same in the background: `GET /v1/jobs/{job_id}` tells how far it is, and what became of it."""
    upload = await Upload.receive(request)
    return service_of(request).jobs.start(caller.tenant, "import", lambda report: _read(memory, upload, params, report))


async def _read(memory: AsyncMemory, upload: Upload, params: ImportQuery, report: Report) -> Imported:
    """Import a file, and remove it."""
    report("read", 0, 0)
    try:
        return await memory.import_(
            upload.path,
            user_id=params.user_id,
            project_id=params.project_id,
            me=params.me,
            zone=params.zone,
            whole=True,
            progress=lambda done, total: report("import", done, total),
        )
    finally:
        upload.remove()


@routes.post("/jobs/demo", tags=["upkeep"], operation_id="start_demo", status_code=202)
async def start_demo(memory: Admin, caller: AdminCaller, request: Request, _: EmptyBody = _EMPTY) -> Job:
    """Add the conversation of `lamina demo`, of the users `mara` and `mara-in-one`, in the background.

    What is there is left as it is, so that a second time adds nothing; while it is under way, it is not begun again.
    """
    jobs = service_of(request).jobs
    running = jobs.running(caller.tenant, "demo")
    return running or jobs.start(caller.tenant, "demo", lambda report: load_demo(memory, report))


@routes.get("/jobs", tags=["upkeep"], operation_id="list_jobs")
async def list_jobs(caller: AdminCaller, request: Request) -> Page[Job]:
    """What was begun in the background by this process, the newest first."""
    return whole_list(service_of(request).jobs.newest(caller.tenant))


@routes.get("/jobs/{job_id}", tags=["upkeep"], operation_id="get_job")
async def get_job(caller: AdminCaller, request: Request, job_id: PathId) -> Job:
    """How far it is, and what became of it."""
    return service_of(request).jobs.get(caller.tenant, job_id)
