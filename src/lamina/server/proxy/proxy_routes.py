"""Routes of the proxy: what is remembered, and what is only passed on."""

import asyncio
import re
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import httpx2
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from lamina.memory import AsyncMemory
from lamina.server.auth import Reader, Writer, service_of
from lamina.server.metrics import Metrics
from lamina.server.openai_errors import PASSTHROUGH, PREFIX, upstream_error
from lamina.server.proxy import ownership
from lamina.server.proxy.chat import Chat
from lamina.server.proxy.dialect import ChatMessage, Dialect, as_json, in_json
from lamina.server.proxy.exchange import Shown, Turn
from lamina.server.proxy.ownership import Seals
from lamina.server.proxy.relay import Relay
from lamina.server.proxy.responses import Responses
from lamina.server.proxy.scope import whose, without_ids
from lamina.server.proxy.upstream import Upstream, caller_headers, in_bytes
from lamina.settings import Settings

_GRACE_S = 10.0
_STREAM = "text/event-stream"
_STEPS_OUT = re.compile(r"(^|/)\.{0,2}(/|$)|[\\\x00-\x1f?#]")
_RETRIES = "x-stainless-retry-count"  # what the official clients say when they try again


class Proxy:
    """Stands between clients and the endpoint."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._upstream = Upstream(settings)
        self._shown = Shown()
        self._work: set[asyncio.Task[None]] = set()

    async def remembering(self, engine: AsyncMemory, request: Request, path: str, dialect: Dialect) -> Response:
        """Ask the endpoint, with memory; keep what is new and what is replied."""
        body = as_json(await request.body())
        about = None if body is None else whose(request.headers, body, self._settings.user)
        if body is None or about is None or not dialect.reads(body):
            return await self.passing(request, path)
        tenants, shared = service_of(request).tenants, self._upstream.shared(request.headers)
        seals = Seals(partial(tenants.secret, engine.tenant), about)
        if shared:
            await ownership.check(without_ids(body), partial(ownership.ids_of_session, engine, about, seals))
        turn = Turn(
            engine=engine,
            whose=about,
            dialect=dialect,
            body=body,
            budget=about.budget or self._settings.proxy_memory_tokens,
            place="user" if self._settings.proxy_place == "user" else "system",
            shown=self._shown,
            cuts=partial(tenants.cuts, engine.tenant),
            seals=seals,
            shared=shared,
            work=self._work,
            retried=request.headers.get(_RETRIES, "0") not in {"", "0"},
        )
        content = in_json(await turn.prepare())
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return upstream_error(error)
        finally:
            await turn.wait_until_stored()
        return await self._respond(answer, turn, dialect)

    async def passing(self, request: Request, path: str) -> Response:
        """Ask the endpoint, and remember nothing."""
        content = await request.body()
        if self._upstream.shared(request.headers):
            content = await _passable(request.method, path, content)
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return upstream_error(error)
        return await self._respond(answer, None, None)

    async def _respond(self, answer: httpx2.Response, turn: Turn | None, dialect: Dialect | None) -> Response:
        known = turn is not None and dialect is not None and answer.is_success

        async def keep(reply: ChatMessage | None, broke_off: str | None) -> None:
            if turn is not None and known:
                await turn.store_reply(reply, broke_off)
                self._metrics.count_completion(
                    turn.tokens, "nothing" if reply is None else broke_off or "whole", turn.faults
                )

        if answer.headers.get("content-type", "").startswith(_STREAM):
            return Relay(
                answer,
                [*caller_headers(answer), *_headers(turn)],
                dialect.listener() if known and dialect else None,
                keep,
            )
        try:
            content = await answer.aread()
        except httpx2.HTTPError as error:
            return upstream_error(error)
        finally:
            await answer.aclose()
        said = as_json(content) if known else None
        if said is not None and dialect is not None:
            await keep(dialect.reply(said), None)
        response = Response(content, answer.status_code)
        heads = [*caller_headers(answer), *_headers(turn)]
        response.raw_headers = in_bytes([*heads, ("content-length", str(len(content)))])
        return response

    async def close(self) -> None:
        """What is still to be stored is, if the store can."""
        if self._work:
            await asyncio.wait(self._work, timeout=_GRACE_S)
        await self._upstream.close()


async def _passable(method: str, path: str, content: bytes) -> bytes:
    """What is sent for a request that reaches nothing of others; as it was read here, so that it is read alike."""
    if not ownership.may_pass(method, path):
        raise ownership.address_error(method, path)
    if method != "POST":
        return b""
    body = as_json(content)
    if body is None:
        raise HTTPException(400, "the body must be a JSON object")
    await ownership.check(body)
    return in_json(body)


def proxy_routes(proxy: Proxy, prefix: str = PREFIX) -> APIRouter:
    """The proxy's routes under a prefix; they are no part of our own schema."""
    router = APIRouter(prefix=prefix, include_in_schema=False)

    @router.post("/chat/completions", operation_id="proxy_chat")
    async def chat(memory: Writer, request: Request) -> Response:
        return await proxy.remembering(memory, request, "chat/completions", Chat())

    @router.post("/responses", operation_id="proxy_responses")
    async def responses(memory: Writer, request: Request) -> Response:
        return await proxy.remembering(memory, request, "responses", Responses())

    for path in PASSTHROUGH:
        for address in (path, f"{path}/{{rest:path}}"):
            router.add_api_route(f"/{address}", _looks(proxy), methods=["GET"], operation_id="proxy_read")
            router.add_api_route(f"/{address}", _asks(proxy), methods=["POST", "DELETE"], operation_id="proxy_passed")
    if prefix == PREFIX:
        router.add_api_route("/{rest:path}", _unknown, methods=["GET", "POST", "DELETE", "PUT", "PATCH"])
    return router


def _looks(proxy: Proxy) -> Any:
    async def look(_memory: Reader, request: Request) -> Response:
        return await proxy.passing(request, _path(request))

    return look


def _asks(proxy: Proxy) -> Any:
    async def ask(_memory: Writer, request: Request) -> Response:
        return await proxy.passing(request, _path(request))

    return ask


async def _unknown() -> Response:
    raise HTTPException(
        404, f"the proxy has {', '.join(sorted(PASSTHROUGH))}; ask the endpoint itself for anything else"
    )


def _path(request: Request) -> str:
    """The address below the endpoint's; none that an endpoint might read as one beside or above it."""
    path: str = request.scope["path"].removeprefix(PREFIX).removeprefix("/v1").strip("/")
    if _STEPS_OUT.search(_decode(path)):
        raise HTTPException(404, "the proxy passes on no address with empty parts, dots for folders or backslashes")
    return quote(path, safe="/%:")


def _decode(path: str) -> str:
    """A path as an endpoint may read it that decodes more than once."""
    while (plain := unquote(path)) != path:
        path = plain
    return path


def _headers(turn: Turn | None) -> list[tuple[str, str]]:
    """What a client may want to know of its memory."""
    if turn is None:
        return []
    told = [("x-lamina-session", quote(turn.whose.session_id)), ("x-lamina-memory-tokens", str(turn.tokens))]
    return told + [("x-lamina-fault", fault) for fault in dict.fromkeys(turn.faults)]
