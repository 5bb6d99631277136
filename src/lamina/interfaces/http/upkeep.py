"""Routes for forgetting, keeping house, and moving out."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from lamina.interfaces.http.bodies import (
    CostsAsked,
    ExportAsked,
    Listed,
    Patiently,
    ToForget,
    WhichSession,
    WhoseMemory,
)
from lamina.interfaces.http.callers import KEYS_SHOWN, Admin, Reader, Writer
from lamina.interfaces.http.pages import Page, page_of
from lamina.types import Backlog, Consolidated, Cost, Receipt, Report, Settled, WorkerNote

routes = APIRouter(prefix="/v1", dependencies=KEYS_SHOWN)

_JSON_LINES = "application/x-ndjson"
_PIECE = 1 << 16


@routes.post("/forget", tags=["forgetting"], operation_id="forget")
async def forget(memory: Admin, body: ToForget) -> Receipt:
    """Erase for good, with all that was derived, and write the rest anew; the receipt says what was done."""
    asked = body.model_dump(exclude={"message_ids"})
    return await memory.forget(message_id=body.message_ids, **asked)


@routes.get("/receipts", tags=["forgetting"], operation_id="list_receipts")
async def list_receipts(memory: Reader, asked: Annotated[Listed, Query()]) -> Page[Receipt]:
    """What was forgotten so far, the oldest first: how much and when, never what."""
    found = await memory.receipts()
    return page_of(found, kind="receipts", cursor=asked.cursor, limit=asked.limit, name=lambda one: one.id)


@routes.post("/consolidate", tags=["upkeep"], operation_id="consolidate")
async def consolidate(memory: Admin, body: WhoseMemory) -> Consolidated:
    """Let memories decay, archive the faded ones, merge what is the same."""
    return await memory.consolidate(body.user_id)


@routes.post("/verify", tags=["upkeep"], operation_id="verify")
async def verify(memory: Admin, body: WhichSession) -> Report:
    """Check that everything stored is whole; changes nothing."""
    return await memory.verify(body.session_id)


@routes.post("/settle", tags=["upkeep"], operation_id="settle")
async def settle(memory: Writer, body: Patiently) -> Settled:
    """Wait until nothing is due: every fold made, every digest written."""
    return await memory.settle(body.timeout)


@routes.get("/costs", tags=["upkeep"], operation_id="list_costs")
async def list_costs(memory: Reader, asked: Annotated[CostsAsked, Query()]) -> Page[Cost]:
    """What language models have cost, by day, purpose and model."""
    return Page(items=await memory.costs(asked.since), next=None)


@routes.get("/backlog", tags=["upkeep"], operation_id="get_backlog")
async def get_backlog(memory: Reader) -> Backlog:
    """What there is to do for workers, and what fails."""
    return await memory.backlog()


@routes.get("/workers", tags=["upkeep"], operation_id="list_workers")
async def list_workers(memory: Reader) -> Page[WorkerNote]:
    """Who is at work on this tenant's sessions."""
    return Page(items=await memory.workers(), next=None)


@routes.get(
    "/export",
    tags=["upkeep"],
    operation_id="export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "One JSON object a line.", "content": {_JSON_LINES: {"schema": {"type": "string"}}}}
    },
)
async def export(memory: Admin, asked: Annotated[ExportAsked, Query()]) -> StreamingResponse:
    """Everything, or what is of a user or a session, as JSON Lines that `lamina import` reads."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="lamina-export-"))
    try:
        path = folder / "export.jsonl"
        await memory.export(path, user_id=asked.user_id, session_id=asked.session_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return StreamingResponse(_pieces(path), media_type=_JSON_LINES)


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    """The file in pieces; it is gone afterwards."""
    try:
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)
