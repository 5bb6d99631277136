"""The service put together: routes, middleware, and what is opened and closed with it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lamina.errors import LaminaError, MissingExtra

try:
    from fastapi import FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import Response
except ModuleNotFoundError as error:
    raise MissingExtra("fastapi", "server") from error
from starlette.exceptions import HTTPException
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp

from lamina import __version__
from lamina.server.auth import Service
from lamina.server.inspector.page_files import PACKAGED
from lamina.server.inspector.page_routes import page_routes
from lamina.server.mem0 import mem0_routes
from lamina.server.metrics import Metrics
from lamina.server.middleware import Middleware, Rules
from lamina.server.openai_errors import PREFIX, as_openai_error, prefixes
from lamina.server.openapi import openapi
from lamina.server.problems import http_problem, validation_problem
from lamina.server.proxy.proxy_routes import Proxy, proxy_routes
from lamina.server.request_checks import LOOPBACK
from lamina.server.rest import (
    about_routes,
    admin_routes,
    conversation_routes,
    event_routes,
    key_routes,
    knowledge_routes,
    transfer_routes,
)
from lamina.server.temporary import remove_stale
from lamina.server.wrong_paths import advice, is_openai, openai_advice
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from lamina.tenancy.tenants import Tenants

_DESCRIPTION = """Layered memory for conversations with language models.

Errors are problems as RFC 9457 has them; their `type` is stable. Times are RFC 3339. `X-Request-ID` is
echoed, or made."""

# FastAPI's own spans have addresses in them, so the ids of sessions and the words of searches; see spans.py for ours.
_UNTRACED: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def create_app(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    worker: bool = True,
    opened: Tenants | None = None,
    metrics: Metrics | None = None,
    mounts: Mapping[str, ASGIApp] = MappingProxyType({}),
    page: Path = PACKAGED,
) -> FastAPI:
    """The service over the store that the settings name; `host` is where it listens.

    `mounts` are other applications, by path, behind the same middleware; `page` is where the built files of the
    inspector are. With the tenants of an open store in `opened`, whoever opened it has called `start`, and closes it.
    """
    service = Service(metrics=metrics or Metrics(), settings=settings)
    proxy = Proxy(settings, service.metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(remove_stale)
        if opened is not None:
            service.opened = opened
            yield
            await service.jobs.close()
            await proxy.close()
            return
        async with tenants(settings.database, **store_options(settings, service.metrics, worker=worker)) as own:
            service.opened = own
            await start(own, settings, host, worker=worker)
            yield
            await service.jobs.close()
            await proxy.close()
            service.opened = None

    app = FastAPI(
        title="Lamina",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_UNTRACED,
    )
    app.state.service = service
    app.add_middleware(Middleware, service=service, rules=_rules(settings, host))
    for router in (
        conversation_routes.routes,
        knowledge_routes.routes,
        admin_routes.routes,
        transfer_routes.routes,
        key_routes.routes,
        event_routes.routes,
        about_routes.routes,
        about_routes.service_routes,
        *(proxy_routes(proxy, prefix) for prefix in (PREFIX, *(["/v1"] if settings.proxy_at_v1 else []))),
        mem0_routes.routes,
        page_routes(page),
    ):
        app.router.routes.extend(router.routes)  # `include_router` would build each again, at its first request
    app.router.routes.extend(Route(path, endpoint=other) for path, other in mounts.items())
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    return app


def store_options(settings: Settings, metrics: Metrics, *, worker: bool) -> dict[str, Any]:
    """How the service opens its store."""
    return {"tenant": settings.tenant, "worker": worker, "on_fold": metrics.count_fold, **settings.options()}


async def start(opened: Tenants, settings: Settings, host: str, *, worker: bool) -> None:
    """Refuse to be open to everybody; start workers where there may be something due."""
    if host not in LOOPBACK and not await opened.has_keys():
        raise LaminaError(
            f"{host} can be reached from other machines, and there is no key yet: make one with"
            " `lamina keys create NAME --role write`, or listen on 127.0.0.1"
        )
    for tenant in dict.fromkeys([settings.tenant, *(await opened.with_data() if worker else [])]):
        await opened.engine(tenant)


def _rules(settings: Settings, host: str) -> Rules:
    names = _split(settings.service_hosts)
    return Rules(
        hosts=frozenset({*LOOPBACK, *names}) if host in LOOPBACK or names else None,
        origins=frozenset(origin.rstrip("/") for origin in _split(settings.service_origins)),
        body_bytes=settings.max_body_bytes,
        proxied=prefixes(at_v1=settings.proxy_at_v1),
        body_seconds=settings.request_seconds,
        held_bytes=settings.max_held_bytes,
        at_once=settings.max_concurrent_requests,
        at_once_each=settings.max_concurrent_requests_per_key,
        listeners_each=settings.max_listeners_per_key,
        per_minute=settings.max_requests_per_minute,
    )


def _split(setting: str | None) -> set[str]:
    return {word.strip().lower() for word in (setting or "").split(",") if word.strip()}


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return validation_problem(error.errors())


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase:  # no such route
        error = HTTPException(error.status_code, await _advise(request), error.headers)
    response = http_problem(error)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := await _methods(request)):
        shown = f"{request.scope['path'][:200]} takes {', '.join(methods)}, not {request.method}"
        response = http_problem(HTTPException(error.status_code, shown, {"Allow": ", ".join(methods)}))
    return as_openai_error(response) if is_openai(request.scope["path"]) else response


async def _advise(request: Request) -> str:
    """What to say at an address that does not exist."""
    path, origin = request.scope["path"], str(request.base_url).rstrip("/")
    if is_openai(path):
        return openai_advice(path, origin)
    routes = [route for route in request.app.router.routes if isinstance(route, Route)]
    return advice(
        request.method,
        path,
        origin,
        (await asyncio.to_thread(request.app.openapi))["paths"],
        with_mcp=any(route.path == "/mcp" for route in routes),
        with_slash=any(route.path_regex.match(f"{path}/") for route in routes),
    )


async def _methods(request: Request) -> list[str]:
    """The methods of all routes that an address has."""
    path, paths = request.scope["path"], (await asyncio.to_thread(request.app.openapi))["paths"]
    found = [methods for template, methods in paths.items() if compile_path(template)[0].match(path)]
    return sorted({method.upper() for methods in found for method in methods})
