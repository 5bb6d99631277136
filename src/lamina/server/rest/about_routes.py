"""Routes about the service: health, version, metrics, profile and audit."""

import asyncio
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

from lamina import __version__
from lamina.profiles import PROFILES, PROJECT
from lamina.server.audit import Audit
from lamina.server.auth import KEY_SECURITY, AdminCaller, ReadCaller, Reader, service_of
from lamina.server.inputs import ListQuery
from lamina.server.rest.pagination import Page, make_cursor, read_number
from lamina.values.access_key import KeyRole

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)
service_routes = APIRouter()


class About(BaseModel):
    """What answers, who asks, and by which rules things are remembered."""

    version: str
    tenant: str
    role: KeyRole
    profile: str
    profiles: list[str]
    weights: dict[str, float] = Field(description="Of the weighted sum; where another ranks, those to begin with.")
    relevance_threshold: float
    prompt_token_budget: int
    chat_model: str | None = Field(description="The model of the endpoint behind the proxy, if it is known.")
    proxy: bool = Field(description="Whether POST /openai/v1/chat/completions has an endpoint behind it.")
    proxy_default_user: str | None = Field(
        description="Whose memory a proxied request of this caller is for, if it names nobody; null: nobody's."
    )
    max_body_bytes: int = Field(description="How large a file to import may be.")


@routes.get("/about", tags=["service"], operation_id="about")
async def about(memory: Reader, caller: ReadCaller, request: Request) -> About:
    """What this service is, and what the caller may do with it."""
    settings, profile = service_of(request).settings, memory.profile
    return About(
        version=__version__,
        tenant=caller.tenant,
        role=caller.role,
        profile=profile.name,
        profiles=sorted(PROFILES),
        weights=dict(profile.weights or PROJECT.weights or {}),
        relevance_threshold=profile.relevance_threshold,
        prompt_token_budget=profile.budget,
        chat_model=settings.proxy_model(),
        proxy=settings.has_proxy(),
        proxy_default_user=settings.default_user() if caller.key is None else caller.key.user_id,
        max_body_bytes=settings.max_body_bytes,
    )


@routes.get("/audit", tags=["service"], operation_id="list_audit")
async def list_audit(caller: AdminCaller, request: Request, params: Annotated[ListQuery, Query()]) -> Page[Audit]:
    """Who did what in the caller's tenant, the newest first: of the last 1000 requests that this process answered."""
    found = service_of(request).audits.newest(caller.tenant, read_number("audit", params.cursor))
    some = list(islice(found, params.limit))
    more = next(found, None) is not None
    return Page(items=[audit for _, audit in some], next=make_cursor("audit", some[-1][0]) if more else None)


@service_routes.get("/openapi.json", include_in_schema=False, operation_id="get_schema")
async def get_schema(request: Request) -> Response:
    return JSONResponse(await asyncio.to_thread(request.app.openapi))


@service_routes.get("/healthz", tags=["service"], operation_id="is_alive")
async def is_alive() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


@service_routes.get("/readyz", tags=["service"], operation_id="is_ready")
async def is_ready(request: Request) -> dict[str, str]:
    """Whether the store answers, too."""
    await service_of(request).tenants.ping()
    return {"status": "ok"}


@service_routes.get("/version", tags=["service"], operation_id="get_version")
async def get_version() -> dict[str, str]:
    return {"lamina": __version__}


@service_routes.get(
    "/metrics",
    tags=["service"],
    operation_id="get_metrics",
    response_class=PlainTextResponse,
    dependencies=KEY_SECURITY,
)
async def get_metrics(memory: Reader, caller: ReadCaller, request: Request) -> Response:
    """Figures for Prometheus: of the whole process for the operator of the service, else of the caller's tenant."""
    service = service_of(request)
    whole = service.is_operator(caller)
    text = await service.metrics.render(service.tenants.open_engines if whole else [memory], whole=whole)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
