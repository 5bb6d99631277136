"""Routes for forgetting, maintenance, and regenerating."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from lamina.errors import NotFound
from lamina.server.auth import KEY_SECURITY, Admin, Reader, Writer
from lamina.server.input_types import PathId
from lamina.server.inputs import (
    CostsQuery,
    ForgetRequest,
    ListQuery,
    OptOutRequest,
    ProposalsQuery,
    RegenerateRequest,
    SessionSelection,
    SettleRequest,
    StatsQuery,
    UserSelection,
)
from lamina.server.rest.pagination import Page, paginate, whole_list
from lamina.values.cost import Cost
from lamina.values.fact import Consolidated
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt
from lamina.values.report import Backlog, Report, Settled, WorkerNote
from lamina.values.statistics import Stats
from lamina.values.summary import Proposal

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)


class Freed(BaseModel):
    """How many sessions are worked on again."""

    sessions: int


@routes.post("/forget", tags=["forgetting"], operation_id="forget")
async def forget(memory: Writer, body: ForgetRequest) -> Receipt:
    """Erase for good, with all that was derived, and rebuild the rest; the receipt says what was done."""
    params = body.model_dump(exclude={"message_ids"})
    return await memory.forget(message_id=body.message_ids, **params)


@routes.put("/users/{user_id}/opt-out", tags=["forgetting"], operation_id="opt_out")
async def opt_out(memory: Writer, user_id: PathId, body: OptOutRequest) -> Receipt:
    """Derive nothing more from what a user says, and erase what was derived; it lasts until it is taken back."""
    return await memory.opt_out(user_id, keep_log=body.keep_log)


@routes.delete("/users/{user_id}/opt-out", tags=["forgetting"], operation_id="opt_in")
async def opt_in(memory: Writer, user_id: PathId) -> OptOut:
    """Take an opt-out back: messages that were kept are read again."""
    ended = await memory.opt_in(user_id)
    if ended is None:
        raise NotFound(f"user {user_id!r} has not opted out")
    return ended


@routes.get("/opt-outs", tags=["forgetting"], operation_id="list_opt_outs")
async def list_opt_outs(memory: Reader, params: Annotated[ListQuery, Query()]) -> Page[OptOut]:
    """Who has opted out, and since when."""
    return paginate(await memory.opt_outs(), "opt-outs", params)


@routes.get("/receipts", tags=["forgetting"], operation_id="list_receipts")
async def list_receipts(memory: Reader, params: Annotated[ListQuery, Query()]) -> Page[Receipt]:
    """What was forgotten so far, the oldest first: how much and when, never what."""
    found = await memory.receipts()
    return paginate(found, "receipts", params)


@routes.post("/consolidate", tags=["upkeep"], operation_id="consolidate")
async def consolidate(memory: Admin, body: UserSelection) -> Consolidated:
    """Let memories decay, archive the faded ones, merge what is the same."""
    return await memory.consolidate(body.user_id)


@routes.post("/verify", tags=["upkeep"], operation_id="verify")
async def verify(memory: Admin, body: SessionSelection) -> Report:
    """Check that everything stored is whole; changes nothing."""
    return await memory.verify(body.session_id)


@routes.post("/settle", tags=["upkeep"], operation_id="settle")
async def settle(memory: Writer, body: SettleRequest) -> Settled:
    """Wait until nothing is due: every fold done, every digest written."""
    return await memory.settle(body.timeout)


@routes.get("/costs", tags=["upkeep"], operation_id="list_costs")
async def list_costs(memory: Reader, params: Annotated[CostsQuery, Query()]) -> Page[Cost]:
    """What language models have cost, by day, purpose and model."""
    return whole_list(await memory.costs(params.since))


@routes.get("/stats", tags=["upkeep"], operation_id="get_stats")
async def get_stats(memory: Reader, params: Annotated[StatsQuery, Query()]) -> Stats:
    """How much there is of everything, of a user or of all, and how it grew by day."""
    return await memory.stats(params.user_id)


@routes.get("/backlog", tags=["upkeep"], operation_id="get_backlog")
async def get_backlog(memory: Reader) -> Backlog:
    """What there is to do for workers, and what fails."""
    return await memory.backlog()


@routes.get("/workers", tags=["upkeep"], operation_id="list_workers")
async def list_workers(memory: Reader) -> Page[WorkerNote]:
    """The workers on this tenant's sessions."""
    return whole_list(await memory.workers())


@routes.post("/repair", tags=["upkeep"], operation_id="repair")
async def repair(memory: Admin, body: SessionSelection) -> Report:
    """Rebuild what is derived and damaged; the report says what was repaired and what cannot be."""
    return await memory.repair(body.session_id)


@routes.post("/retry", tags=["upkeep"], operation_id="retry")
async def retry(memory: Writer, body: SessionSelection) -> Freed:
    """Let workers try again a session that was set aside, or all of them."""
    return Freed(sessions=await memory.retry(body.session_id))


@routes.post("/sessions/{session_id}/regenerate", tags=["upkeep"], operation_id="regenerate", status_code=201)
async def regenerate(memory: Writer, session_id: PathId, body: RegenerateRequest) -> Proposal:
    """Write new summaries and facts of a session next to the old ones; nothing changes until it is accepted."""
    return await memory.regenerate(session_id, body.first, prompts=body.prompts)


@routes.get("/proposals", tags=["upkeep"], operation_id="list_proposals")
async def list_proposals(memory: Reader, params: Annotated[ProposalsQuery, Query()]) -> Page[Proposal]:
    """What was regenerated, the oldest first, with what differs."""
    found = await memory.proposals(params.session_id)
    return paginate(found, "proposals", params)


@routes.post("/proposals/{proposal_id}/accept", tags=["upkeep"], operation_id="accept_proposal")
async def accept_proposal(memory: Writer, proposal_id: PathId) -> Proposal:
    """Put what was regenerated in place of what there is; the old versions are kept."""
    return await memory.accept(proposal_id)


@routes.post("/proposals/{proposal_id}/roll-back", tags=["upkeep"], operation_id="roll_back_proposal")
async def roll_back_proposal(memory: Writer, proposal_id: PathId) -> Proposal:
    """Discard what was regenerated, or take its acceptance back."""
    return await memory.roll_back(proposal_id)
