"""The service put together."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp

from lamina import __version__
from lamina.errors import LaminaError
from lamina.server import problems
from lamina.server.auth import KEYS_SHOWN, ReadCaller, Reader, Service
from lamina.server.bodies import PLAIN, PLAIN_NAME
from lamina.server.inspector.page_files import PACKAGED
from lamina.server.inspector.page_routes import attach as attach_inspector
from lamina.server.mem0.mem0_routes import attach as attach_mem0
from lamina.server.metrics import Metrics
from lamina.server.middleware import LOOPBACK, Border, Rules
from lamina.server.openai_errors import PREFIX, in_openai_shape, prefixes
from lamina.server.proxy.proxy_routes import Proxy
from lamina.server.proxy.proxy_routes import routes as proxied
from lamina.server.rest import (
    about_routes,
    admin_routes,
    conversation_routes,
    event_routes,
    key_routes,
    knowledge_routes,
    transfer_routes,
)
from lamina.server.rest.cursors import pattern_of
from lamina.server.temporary import clear_away
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from lamina.tenancy.tenants import Tenants

logger = logging.getLogger("lamina.http")

_ABOUT = """Layered memory for conversations with language models.

Errors are problems as RFC 9457 has them; their `type` is stable. Times are RFC 3339. `X-Request-ID` is
echoed, or made."""

# FastAPI's own spans have addresses in them, so the ids of sessions and the words of searches; see spans.py for ours.
_UNTRACED: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def create_app(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    worker: bool = True,
    held: Tenants | None = None,
    metrics: Metrics | None = None,
    beside: Mapping[str, ASGIApp] = MappingProxyType({}),
    page: Path = PACKAGED,
) -> FastAPI:
    """The service over the store that the settings name; `host` is where it listens.

    `beside` are other applications, by path, that are reached through the same border; `page` is where the built files
    of the inspector are.
    With the tenants of an open store in `held`, whoever opened it has called `begin`, and closes it.
    """
    service = Service(metrics=metrics or Metrics(), settings=settings)
    proxy = Proxy(settings, service.metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(clear_away)
        if held is not None:
            service.held = held
            yield
            await proxy.close()
            return
        async with tenants(settings.database, **opening(settings, service.metrics, worker=worker)) as opened:
            service.held = opened
            await begin(opened, settings, host, worker=worker)
            yield
            await proxy.close()
            service.held = None

    app = FastAPI(
        title="Lamina",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_UNTRACED,
    )
    app.state.service = service
    for part in (
        conversation_routes,
        knowledge_routes,
        admin_routes,
        transfer_routes,
        key_routes,
        event_routes,
        about_routes,
    ):
        app.router.routes.extend(part.routes.routes)  # `include_router` would make each anew, at its first request
    for prefix in (PREFIX, *(["/v1"] if settings.proxy_at_v1 else [])):
        app.router.routes.extend(proxied(proxy, prefix).routes)
    _about(app, service)
    app.router.routes.extend(Route(path, endpoint=other) for path, other in beside.items())
    app.add_exception_handler(RequestValidationError, _shape)
    app.add_exception_handler(HTTPException, _refusal)
    app.add_middleware(Border, service=service, rules=_rules(settings, host))
    attach_mem0(app)
    attach_inspector(app, page)
    app.openapi = lambda: _schema(app)  # type: ignore[method-assign]
    return app


def opening(settings: Settings, metrics: Metrics, *, worker: bool) -> dict[str, Any]:
    """How the service opens its store."""
    return {"tenant": settings.tenant, "worker": worker, "on_fold": metrics.folded, **settings.options()}


async def begin(held: Tenants, settings: Settings, host: str, *, worker: bool) -> None:
    """Refuse to be open to everybody; have workers begin where there may be something due."""
    if host not in LOOPBACK and not await held.has_keys():
        raise LaminaError(
            f"{host} can be reached from other machines, and there is no key yet: make one with"
            " `lamina keys create NAME --role write`, or listen on 127.0.0.1"
        )
    for tenant in dict.fromkeys([settings.tenant, *(await held.with_data() if worker else [])]):
        await held.engine(tenant)


def _rules(settings: Settings, host: str) -> Rules:
    named = _listed(settings.service_hosts)
    hosts = frozenset({*LOOPBACK, *named}) if host in LOOPBACK or named else None
    return Rules(
        hosts=hosts,
        origins=frozenset(origin.rstrip("/") for origin in _listed(settings.service_origins)),
        body_bytes=settings.max_body_bytes,
        proxied=prefixes(at_v1=settings.proxy_at_v1),
        body_seconds=settings.request_seconds,
        held_bytes=settings.max_held_bytes,
        at_once=settings.max_concurrent_requests,
        at_once_each=settings.max_concurrent_requests_per_key,
        listeners_each=settings.max_listeners_per_key,
        per_minute=settings.max_requests_per_minute,
    )


def _listed(setting: str | None) -> set[str]:
    return {word.strip().lower() for word in (setting or "").split(",") if word.strip()}


def _about(app: FastAPI, service: Service) -> None:
    """Routes about the service itself."""

    @app.get("/openapi.json", include_in_schema=False, operation_id="get_schema")
    async def get_schema() -> Response:
        return JSONResponse(await asyncio.to_thread(app.openapi))

    @app.get("/healthz", tags=["service"], operation_id="is_alive")
    async def is_alive() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["service"], operation_id="is_ready")
    async def is_ready() -> dict[str, str]:
        """Whether the store answers, too."""
        await service.tenants.ping()
        return {"status": "ok"}

    @app.get("/version", tags=["service"], operation_id="get_version")
    async def get_version() -> dict[str, str]:
        return {"lamina": __version__}

    @app.get(
        "/metrics",
        tags=["service"],
        operation_id="get_metrics",
        response_class=PlainTextResponse,
        dependencies=KEYS_SHOWN,
    )
    async def get_metrics(memory: Reader, caller: ReadCaller) -> Response:
        """Figures for Prometheus: of the whole process for the operator of the service, else of the caller's tenant."""
        whole = service.is_operator(caller)
        shown = await service.metrics.shown(service.tenants.open_engines if whole else [memory], whole=whole)
        return Response(shown, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _shape(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.of_shape(error)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = problems.of_refusal(error)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := await _methods(request)):
        response.headers["Allow"] = ", ".join(methods)
    return in_openai_shape(response) if request.url.path.startswith(PREFIX) else response


async def _methods(request: Request) -> list[str]:
    """What may be done at an address, by all routes that it has."""
    path, paths = request.scope["path"], (await asyncio.to_thread(request.app.openapi))["paths"]
    found = [methods for template, methods in paths.items() if compile_path(template)[0].match(path)]
    return sorted({method.upper() for methods in found for method in methods})


def _schema(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI of the service, in which every error is a problem."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        shapes: dict[str, Any] = schema["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            shapes.pop(name, None)
        shapes["ProblemDetails"] = dict(problems.SCHEMA)
        shapes[PLAIN_NAME] = dict(PLAIN)
        content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
        for operation in _operations(schema):
            _show_parameters(operation)
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "What went wrong.", "content": content}
        app.openapi_schema = schema
    return app.openapi_schema


def _show_parameters(operation: dict[str, Any]) -> None:
    """Say what is so of parameters: none can be null, and each list has cursors of its own."""
    for parameter in operation.get("parameters", ()):
        shape = parameter["schema"]
        if {"type": "null"} in shape.get("anyOf", ()):
            (given,) = (one for one in shape.pop("anyOf") if one != {"type": "null"})
            shape |= given
        if parameter["name"] == "cursor":
            shape["pattern"] = pattern_of(operation["operationId"].removeprefix("list_"))


def _operations(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in schema["paths"].values() for operation in path.values()]
