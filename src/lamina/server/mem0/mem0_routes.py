"""The routes that mem0's hosted-platform clients call, over the same memory; see docs/how-to/mem0.md.

All of them end in a slash, and none of our own does. They are no part of the schema.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from lamina.errors import InputError
from lamina.server.auth import Reader, Writer
from lamina.server.input_types import PathId
from lamina.server.mem0 import writes
from lamina.server.mem0.mem0_filters import fields_in, parse_filter, time_of
from lamina.server.mem0.mem0_requests import (
    AddRequest,
    BatchDeleteRequest,
    BatchUpdateRequest,
    DeleteAllQuery,
    DeleteQuery,
    EntitiesQuery,
    EventsQuery,
    FeedbackRequest,
    ListRequest,
    Page,
    PageSize,
    ScopedRequest,
    SearchRequest,
    UpdateRequest,
)
from lamina.server.mem0.memories import Json, Memories, entity_ids, events_of
from lamina.server.problems import validation_problem


class Mem0Route(APIRoute):
    """Answers 400 to what does not fit, as the hosted platform does; mem0's clients show no reason of a 422."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                return validation_problem(error.errors(), 400)

        return handle


routes = APIRouter(include_in_schema=False, route_class=Mem0Route)

_PAGE = 100
_TOP_K = 10
_MIN_SCORE = 0.1  # in version 3; earlier ones have no default
_EVERY_VERB = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_INSTEAD = {
    "/api/v1/webhooks/{rest:path}": "webhooks: listen to `GET /v1/events`, which tells what changes as it does",
    "/api/v1/orgs/{rest:path}": "organisations and projects: a key belongs to a tenant, `lamina keys create` makes one",
    "/v1/exports/{rest:path}": "exports by a schema: `GET /v1/export` or `lamina export` give everything as JSON Lines",
    "/v2/profiles/{rest:path}": "jobs or settings for profiles: get_profile answers at once with what is known by then",
}


@routes.get("/v1/ping/", operation_id="mem0_ping")
async def ping(_: Reader, request: Request) -> Json:
    """Who the key is of."""
    tenant = request.scope["lamina.caller"].tenant
    return {"status": "ok", "org_id": "lamina", "project_id": tenant, "user_email": None}


# adding


@routes.post("/v1/memories/", operation_id="mem0_add_v1")
async def add_v1(memory: Writer, body: AddRequest) -> Any:
    """Waits for the memories unless `async_mode` is set."""
    done = await writes.add(memory, body, waits=not body.async_mode)
    return done if body.output_format == "v1.1" else done["results"]


@routes.post("/v2/memories/add/", operation_id="mem0_add_v2")
@routes.post("/v3/memories/add/", operation_id="mem0_add")
async def add(memory: Writer, body: AddRequest) -> Json:
    """Waits for the memories only if `async_mode` is false."""
    return await writes.add(memory, body, waits=body.async_mode is False)


@routes.get("/v1/event/{event_id}/", operation_id="mem0_event")
async def event(memory: Reader, event_id: PathId) -> Json:
    return await writes.event(memory, event_id)


@routes.get("/v1/events/", operation_id="mem0_events")
async def events(memory: Reader, params: Annotated[EventsQuery, Query()]) -> Json:
    """How far the adds of each run have come, the newest first."""
    adds = params.event_type in {None, "ADD"}
    found = await writes.events(memory) if adds else []
    first = (params.page - 1) * params.page_size
    some = found[first : first + params.page_size]
    return {"count": len(found), "next": None, "previous": None, "results": some}


# asking


@routes.get("/v1/memories/", operation_id="mem0_list_v1")
async def list_v1(memory: Reader, params: Annotated[ListRequest, Query()]) -> Any:
    found = await _list(memory, params)
    return _page_of(found, params, "/v1/memories/") if params.page else _in_format(found, params.output_format)


@routes.post("/v2/memories/", operation_id="mem0_list_v2")
async def list_v2(
    memory: Reader, body: ListRequest, page: Page | None = None, page_size: PageSize | None = None
) -> Any:
    params = _on_page(body, page, page_size)
    found = await _list(memory, params)
    return _page_of(found, params, "/v2/memories/") if params.page else _in_format(found, body.output_format)


@routes.post("/v3/memories/", operation_id="mem0_list")
async def list_v3(
    memory: Reader, body: ListRequest, page: Page | None = None, page_size: PageSize | None = None
) -> Json:
    params = _on_page(body, page, page_size)
    return _page_of(await _list(memory, params), params, "/v3/memories/")


@routes.post("/v1/memories/search/", operation_id="mem0_search_v1")
@routes.post("/v2/memories/search/", operation_id="mem0_search_v2")
async def search_v1(memory: Reader, body: SearchRequest) -> Any:
    return _in_format(await _search(memory, body), body.output_format)


@routes.post("/v3/memories/search/", operation_id="mem0_search")
async def search(memory: Reader, body: SearchRequest) -> Json:
    return {"results": await _search(memory, body, min_score=_MIN_SCORE)}


@routes.get("/v1/memories/{memory_id}/", operation_id="mem0_get")
async def get(memory: Reader, memory_id: PathId) -> Json:
    return await Memories(memory).one(memory_id)


@routes.get("/v1/memories/{memory_id}/history/", operation_id="mem0_history")
async def history(memory: Reader, memory_id: PathId) -> list[Json]:
    """What became of it, with every other value of what it is about."""
    fact = await Memories(memory).fact(memory_id)
    if fact is None:
        one = await Memories(memory).one(memory_id)
        return [{**one, "memory_id": memory_id, "old_memory": None, "new_memory": one["memory"], "event": "ADD"}]
    return events_of(await memory.history(fact.id), memory_id)


# changing


@routes.put("/v1/memories/{memory_id}/", operation_id="mem0_update")
async def update(memory: Writer, memory_id: PathId, body: UpdateRequest) -> Json:
    return await writes.change(memory, memory_id, body)


@routes.put("/v1/batch/", operation_id="mem0_batch_update")
async def batch_update(memory: Writer, body: BatchUpdateRequest) -> Json:
    """All of them, or none if one is not known."""
    known = Memories(memory)
    for one in body.memories:
        await known.one(one.memory_id)
    for one in body.memories:
        await writes.change(memory, one.memory_id, one)
    return {"message": f"Successfully updated {len(body.memories)} memories"}


@routes.post("/v1/feedback/", operation_id="mem0_feedback")
async def feedback(memory: Writer, body: FeedbackRequest) -> Json:
    return await writes.judge(memory, body.memory_id, body.feedback)


# erasing


@routes.delete("/v1/memories/{memory_id}/", operation_id="mem0_delete")
async def delete(memory: Writer, memory_id: PathId, params: Annotated[DeleteQuery, Query()]) -> Json:
    return writes.erasure_result(await writes.erase(memory, memory_id, linked=bool(params.delete_linked)))


@routes.delete("/v1/memories/", operation_id="mem0_delete_all")
async def delete_all(memory: Writer, params: Annotated[DeleteAllQuery, Query()]) -> Json:
    return writes.erasure_result(await writes.erase_all(memory, params.filter()))


@routes.delete("/v1/batch/", operation_id="mem0_batch_delete")
async def batch_delete(memory: Writer, body: BatchDeleteRequest) -> Json:
    """All of them, or none if one is not known."""
    known = Memories(memory)
    for one in body.memories:
        await known.one(one.memory_id)
    receipts = [receipt for one in body.memories for receipt in await writes.erase(memory, one.memory_id)]
    return {**writes.erasure_result(receipts), "message": f"Successfully deleted {len(body.memories)} memories"}


@routes.delete("/v1/entities/{kind}/{name}/", operation_id="mem0_delete_entity_v1")
@routes.delete("/v2/entities/{kind}/{name}/", operation_id="mem0_delete_entity")
async def delete_entity(memory: Writer, kind: Literal["user", "agent", "run", "app"], name: PathId) -> Json:
    """Everything of a user, an agent or a run; nothing is an error, so that it can be done twice."""
    if name == "*":
        raise InputError("name one entity; delete_all with user_id '*' erases everybody")
    done = writes.erasure_result(await writes.erase_all(memory, parse_filter({f"{kind}_id": name})))
    return {**done, "message": "Entity deleted successfully!"}


# who there is


@routes.get("/v1/entities/", operation_id="mem0_entities")
async def entities(memory: Reader, params: Annotated[EntitiesQuery, Query()]) -> Json:
    """Users, agents and runs of which there is something."""
    found: dict[tuple[str, str], Json] = {}
    for user_id in await memory.users():
        facts = await memory.facts(user_id)
        times = [fact.learnt_at.isoformat() for fact in facts]
        _entity(found, "user", user_id, times)["total_memories"] = len(facts)
    for session in await memory.sessions():
        times = [session.started_at.isoformat(), session.last_at.isoformat()]
        _entity(found, "user", session.user_id, times)
        ids = entity_ids(session.user_id, session)
        for kind in ("agent", "run"):
            if ids[f"{kind}_id"] is not None:
                _entity(found, kind, ids[f"{kind}_id"], times)
    ordered = [found[key] for key in sorted(found, key=lambda key: (key[0] != "user", key))]
    size = params.page_size or max(1, len(ordered))
    first = (params.page - 1) * size
    return {"count": len(ordered), "next": None, "previous": None, "results": ordered[first : first + size]}


def _entity(found: dict[tuple[str, str], Json], kind: str, name: str, times: Sequence[str]) -> Json:
    one = found.setdefault(
        (kind, name), {"id": name, "name": name, "type": kind, "created_at": None, "updated_at": None}
    )
    known = sorted(time for time in (*times, one["created_at"], one["updated_at"]) if time is not None)
    if known:
        one["created_at"], one["updated_at"] = known[0], known[-1]
    return one


@routes.get("/v2/entities/user/{user_id}/profile/", operation_id="mem0_profile")
async def profile(memory: Reader, user_id: PathId) -> Json:
    """What is known of a user, by category."""
    known = await memory.user_profile(user_id)
    return {
        "entity_type": "user",
        "entity_id": user_id,
        "status": "succeeded" if known.facts else "insufficient_data",
        "profile": known.to_dict()["categories"],
        "markdown": known.markdown,
        "updated_at": known.known_at.isoformat(),
        "generation_count": 1,
    }


@routes.post("/v1/summary/", operation_id="mem0_summary")
async def summary(memory: Reader, body: ScopedRequest) -> Json:
    """The digest of a user's last sessions; before there is one, the profile of the user."""
    users = await Memories(memory).users(body.filter())
    if len(users) != 1:
        raise InputError("a summary is of one user; name them by user_id in the filters")
    digest = await memory.digest(users[0])
    return {"summary": (await memory.user_profile(users[0])).markdown if digest is None else digest.text}


# what there is not


def _missing(what: str) -> Any:
    async def refuse(_: Reader) -> None:
        raise InputError(f"Lamina has no {what}")

    return refuse


for _path, _what in _INSTEAD.items():
    routes.add_api_route(_path, _missing(_what), methods=_EVERY_VERB, operation_id="mem0_missing")


# pieces


async def _list(memory: Reader, params: ListRequest) -> list[Json]:
    found = await Memories(memory).find(params.filter(), also_past=params.also_past)
    limit = params.limit or params.top_k
    return [_select_fields(one, params.fields) for one in found[:limit]]


async def _search(memory: Reader, params: SearchRequest, *, min_score: float = 0.0) -> list[Json]:
    """What answers; `min_score` counts if no threshold is given."""
    wanted = params.filter()
    if not fields_in(wanted) & {"user_id", "agent_id", "run_id"}:
        raise InputError('say whose memories to search, e.g. filters={"user_id": "alex"}')
    at = params.reference_date
    found = await Memories(memory).search(
        params.query,
        wanted,
        top_k=params.top_k or params.limit or _TOP_K,
        min_score=min_score if params.threshold is None else min(max(params.threshold, 0.0), 1.0),
        at=time_of(at, "reference_date") if isinstance(at, int | float) else at,
    )
    return [_select_fields(one, params.fields) for one in found]


def _select_fields(one: Json, fields: Sequence[str] | None) -> Json:
    return one if not fields else {name: value for name, value in one.items() if name in {"id", "memory", *fields}}


def _in_format(found: list[Json], output_format: str | None) -> Any:
    """A list, as the first versions have it, or the form that later ones ask for."""
    return {"results": found} if output_format == "v1.1" else found


def _on_page(body: ListRequest, page: int | None, page_size: int | None) -> ListRequest:
    return (
        body
        if page is None and page_size is None
        else body.model_copy(update={"page": page or 1, "page_size": page_size})
    )


def _page_of(found: list[Json], params: ListRequest, path: str) -> Json:
    page, size = params.page or 1, params.page_size or _PAGE

    def address(number: int) -> str:
        return f"{path}?{urlencode({'page': number, 'page_size': size})}"

    return {
        "count": len(found),
        "next": address(page + 1) if page * size < len(found) else None,
        "previous": address(page - 1) if page > 1 else None,
        "results": found[(page - 1) * size : page * size],
    }
