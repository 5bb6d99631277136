"""Routes of the proxy: completions with memory, and requests that are only forwarded."""

import asyncio
import re
from functools import partial
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
from lamina.server.proxy.dialect import ChatMessage, Dialect, read_json, to_json
from lamina.server.proxy.exchange import ContextCache, Exchange
from lamina.server.proxy.ownership import Seals
from lamina.server.proxy.reply_stream import ReplyStream
from lamina.server.proxy.responses import Responses
from lamina.server.proxy.scope import read_scope, without_ids
from lamina.server.proxy.upstream import Upstream, caller_headers, encode_headers
from lamina.settings import Settings

_GRACE_S = 10.0
_STREAM = "text/event-stream"
_UNSAFE_PATH = re.compile(r"(^|/)\.{0,2}(/|$)|[\\\x00-\x1f?#]")
_RETRY_HEADER = "x-stainless-retry-count"  # what the official clients say when they try again


class Proxy:
    """Answers clients by asking the endpoint, with memory or without."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._upstream = Upstream(settings)
        self._cache = ContextCache()
        self._work: set[asyncio.Task[None]] = set()

    async def complete(self, engine: AsyncMemory, request: Request, path: str, dialect: Dialect) -> Response:
        """Ask the endpoint, with memory; store what is new and the reply."""
        body = read_json(await request.body())
        scope = None if body is None else read_scope(request.headers, body, self._settings.user)
        if body is None or scope is None or not dialect.reads(body):
            return await self.forward(request, path)
        tenants, is_shared = service_of(request).tenants, self._upstream.is_shared(request.headers)
        seals = Seals(partial(tenants.secret, engine.tenant), scope)
        if is_shared:
            await ownership.check(without_ids(body), partial(ownership.ids_of_session, engine, scope, seals))
        exchange = Exchange(
            engine=engine,
            scope=scope,
            dialect=dialect,
            body=body,
            budget=scope.budget or self._settings.proxy_memory_tokens,
            place="user" if self._settings.proxy_place == "user" else "system",
            cache=self._cache,
            seals=seals,
            is_shared=is_shared,
            work=self._work,
            retried=request.headers.get(_RETRY_HEADER, "0") not in {"", "0"},
        )
        content = to_json(await exchange.prepare())
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return upstream_error(error)
        finally:
            await exchange.wait_until_stored()
        return await self._respond(answer, exchange, dialect)

    async def forward(self, request: Request, path: str) -> Response:
        """Ask the endpoint, without memory."""
        content = await request.body()
        if self._upstream.is_shared(request.headers):
            content = await _check_forwarded(request.method, path, content)
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return upstream_error(error)
        return await self._respond(answer, None, None)

    async def _respond(self, answer: httpx2.Response, exchange: Exchange | None, dialect: Dialect | None) -> Response:
        known = exchange is not None and dialect is not None and answer.is_success

        async def store(reply: ChatMessage | None, broke_off: str | None) -> None:
            if exchange is not None and known:
                await exchange.store_reply(reply, broke_off)
                self._metrics.count_completion(
                    exchange.tokens, "nothing" if reply is None else broke_off or "whole", exchange.faults
                )

        if answer.headers.get("content-type", "").startswith(_STREAM):
            return ReplyStream(
                answer,
                [*caller_headers(answer), *_headers(exchange)],
                dialect.reader() if known and dialect else None,
                store,
            )
        try:
            content = await answer.aread()
        except httpx2.HTTPError as error:
            return upstream_error(error)
        finally:
            await answer.aclose()
        found = read_json(content) if known else None
        if found is not None and dialect is not None:
            await store(dialect.reply(found), None)
        response = Response(content, answer.status_code)
        headers = [*caller_headers(answer), *_headers(exchange)]
        response.raw_headers = encode_headers([*headers, ("content-length", str(len(content)))])
        return response

    async def close(self) -> None:
        """Wait for what is still to be stored."""
        if self._work:
            await asyncio.wait(self._work, timeout=_GRACE_S)
        await self._upstream.close()


async def _check_forwarded(method: str, path: str, content: bytes) -> bytes:
    """What is sent for a request that reaches nothing of others; as it was read here, so that it is read alike."""
    if not ownership.may_pass(method, path):
        raise ownership.address_error(method, path)
    if method != "POST":
        return b""
    body = read_json(content)
    if body is None:
        raise HTTPException(400, "the body must be a JSON object")
    await ownership.check(body)
    return to_json(body)


def proxy_routes(proxy: Proxy, prefix: str = PREFIX) -> APIRouter:
    """The proxy's routes under a prefix; they are no part of our own schema."""
    router = APIRouter(prefix=prefix, include_in_schema=False)

    @router.post("/chat/completions", operation_id="proxy_chat")
    async def chat(memory: Writer, request: Request) -> Response:
        return await proxy.complete(memory, request, "chat/completions", Chat())

    @router.post("/responses", operation_id="proxy_responses")
    async def responses(memory: Writer, request: Request) -> Response:
        return await proxy.complete(memory, request, "responses", Responses())

    async def read(_memory: Reader, request: Request) -> Response:
        return await proxy.forward(request, _path(request))

    async def write(_memory: Writer, request: Request) -> Response:
        return await proxy.forward(request, _path(request))

    for path in PASSTHROUGH:
        for address in (f"/{path}", f"/{path}/{{rest:path}}"):
            router.add_api_route(address, read, methods=["GET"], operation_id="proxy_read")
            router.add_api_route(address, write, methods=["POST", "DELETE"], operation_id="proxy_passed")
    if prefix == PREFIX:
        router.add_api_route("/{rest:path}", _unknown, methods=["GET", "POST", "DELETE", "PUT", "PATCH"])
    return router


async def _unknown() -> Response:
    raise HTTPException(
        404, f"the proxy has {', '.join(sorted(PASSTHROUGH))}; ask the endpoint itself for anything else"
    )


def _path(request: Request) -> str:
    """The address below the endpoint's; none that an endpoint might read as one beside or above it."""
    path: str = request.scope["path"].removeprefix(PREFIX).removeprefix("/v1").strip("/")
    if _UNSAFE_PATH.search(_decode(path)):
        raise HTTPException(404, "the proxy passes on no address with empty parts, dots for folders or backslashes")
    return quote(path, safe="/%:")


def _decode(path: str) -> str:
    """A path as an endpoint may read it that decodes more than once."""
    while (plain := unquote(path)) != path:
        path = plain
    return path


def _headers(exchange: Exchange | None) -> list[tuple[str, str]]:
    """Headers that tell a client of its memory."""
    if exchange is None:
        return []
    ids = [("x-lamina-session", quote(exchange.scope.session_id)), ("x-lamina-memory-tokens", str(exchange.tokens))]
    return ids + [("x-lamina-fault", fault) for fault in dict.fromkeys(exchange.faults)]
