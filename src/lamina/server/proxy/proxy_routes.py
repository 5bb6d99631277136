"""Routes of the proxy: completions with memory, and requests that are only forwarded."""

import asyncio
import logging
import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote, unquote

import httpx2
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from lamina.log.default_user import DEFAULT_USER
from lamina.memory import AsyncMemory
from lamina.server.auth import Caller, Reader, Writer, service_of
from lamina.server.metrics import Metrics
from lamina.server.openai_errors import PASSTHROUGH, PREFIX
from lamina.server.proxy import ownership
from lamina.server.proxy.chat import Chat
from lamina.server.proxy.dialect import ChatMessage, Dialect, read_json, to_json
from lamina.server.proxy.exchange import ContextCache, Exchange, conversation_in, find_scope
from lamina.server.proxy.ownership import Seals
from lamina.server.proxy.reply_stream import ReplyStream
from lamina.server.proxy.responses import Responses
from lamina.server.proxy.scope import RequestUser, read_ids, without_ids
from lamina.server.proxy.upstream import Upstream, caller_headers, encode_headers
from lamina.server.proxy.upstream_errors import unreachable, with_advice
from lamina.server.wrong_paths import is_doubled, openai_advice
from lamina.settings import Settings

logger = logging.getLogger("lamina.proxy")

_GRACE_S = 10.0
_STREAM = "text/event-stream"
_FAULTS = {
    "no_user": "the request names no user, and neither its key nor the service has one for it; X-Lamina-User names one",
    "invalid_shape": "the request is no conversation that can be read",
}  # why a request that could have memory is passed on without
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
        if body is None:
            return await self.forward(request, path)
        ids = read_ids(
            request.headers,
            body,
            self._default_user(request.scope["lamina.caller"]),
            self._settings.user or DEFAULT_USER,
        )
        if ids is None or not dialect.reads(body):
            return await self.forward(request, path, "no_user" if ids is None else "invalid_shape")
        messages = conversation_in(dialect, body)
        retried = request.headers.get(_RETRY_HEADER, "0") not in {"", "0"}
        scope = await find_scope(engine, ids, messages, retried=retried)
        tenants, is_shared = service_of(request).tenants, self._upstream.is_shared(request.headers)
        seals = Seals(partial(tenants.secret, engine.tenant), scope)
        if is_shared:
            await ownership.check(without_ids(body), partial(ownership.ids_of_session, engine, scope, seals))
        exchange = Exchange(
            engine=engine,
            scope=scope,
            dialect=dialect,
            body=body,
            messages=messages,
            budget=ids.budget or self._settings.proxy_memory_tokens,
            place="user" if self._settings.proxy_place == "user" else "system",
            cache=self._cache,
            seals=seals,
            is_shared=is_shared,
            work=self._work,
            retried=retried,
        )
        content = to_json(await exchange.prepare())
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return _with_headers(unreachable(self._upstream.endpoint, error), _headers(exchange))
        finally:
            await exchange.wait_until_stored()
        return await self._respond(request, path, answer, _headers(exchange), exchange)

    def _default_user(self, caller: Caller) -> RequestUser | None:
        """Whose memory it is if a request names nobody: the key's own user, or without keys that of the settings."""
        if caller.key is not None:
            return None if caller.key.user_id is None else RequestUser(user_id=caller.key.user_id, source="key")
        name = self._settings.default_user()
        return None if name is None else RequestUser(user_id=name, source="default")

    async def forward(self, request: Request, path: str, fault: str | None = None) -> Response:
        """Ask the endpoint, without memory; `fault` says why, if there could be some."""
        content = await request.body()
        if self._upstream.is_shared(request.headers):
            content = await _check_forwarded(request.method, path, content)
        headers: list[tuple[str, str]] = []
        if fault is not None:
            headers.append(("x-lamina-fault", fault))
            self._metrics.count_fault(fault)
            logger.warning("memory_failed", extra={"fault": fault, "reason": _FAULTS[fault]})
        try:
            answer = await self._upstream.ask(request, path, content)
        except httpx2.HTTPError as error:
            return _with_headers(unreachable(self._upstream.endpoint, error), headers)
        return await self._respond(request, path, answer, headers, None)

    async def _respond(
        self,
        request: Request,
        path: str,
        answer: httpx2.Response,
        headers: Sequence[tuple[str, str]],
        exchange: Exchange | None,
    ) -> Response:
        """The answer for the caller; a reply is stored if there is an exchange."""
        known = exchange if answer.is_success else None

        async def store(reply: ChatMessage | None, broke_off: str | None) -> None:
            if known is not None:
                await known.store_reply(reply, broke_off)
                self._metrics.count_completion(
                    known.tokens, "nothing" if reply is None else broke_off or "whole", known.faults
                )

        if answer.headers.get("content-type", "").startswith(_STREAM):
            reader = None if known is None else known.dialect.reader()
            return ReplyStream(answer, [*caller_headers(answer), *headers], reader, store)
        try:
            content = await answer.aread()
        except httpx2.HTTPError as error:
            return _with_headers(unreachable(self._upstream.endpoint, error), headers)
        finally:
            await answer.aclose()
        found = read_json(content) if known else None
        if found is not None and known is not None:
            await store(known.dialect.reply(found), None)
            headers = _headers(known)  # by now there may be a fault
        return self._whole(request, path, answer, content, headers)

    def _whole(
        self, request: Request, path: str, answer: httpx2.Response, content: bytes, headers: Sequence[tuple[str, str]]
    ) -> Response:
        """An answer that came whole, byte for byte; only where a key or an address is refused, with advice."""
        upstream, given = self._upstream, caller_headers(answer)
        advised = with_advice(
            upstream.endpoint, path, answer.status_code, content, upstream.key_source(request.headers)
        )
        if advised is not None:
            content = advised
            given = [(name, value) for name, value in given if name != "content-type"]
            given.append(("content-type", "application/json"))
        response = Response(content, answer.status_code)
        response.raw_headers = encode_headers([*given, *headers, ("content-length", str(len(content)))])
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
    @router.post("/chat/completions/", operation_id="proxy_chat")
    async def chat(memory: Writer, request: Request) -> Response:
        return await proxy.complete(memory, request, "chat/completions", Chat())

    @router.post("/responses", operation_id="proxy_responses")
    @router.post("/responses/", operation_id="proxy_responses")
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


async def _unknown(request: Request) -> Response:
    raise _wrong_address(request)


def _wrong_address(request: Request) -> HTTPException:
    return HTTPException(404, openai_advice(request.scope["path"], str(request.base_url).rstrip("/")))


def _path(request: Request) -> str:
    """The address below the endpoint's; none that an endpoint might read as one beside or above it."""
    given: str = request.scope["path"]
    path = given.removeprefix(PREFIX if given.startswith(PREFIX) else "/v1").strip("/")
    if is_doubled(path):
        raise _wrong_address(request)
    if _UNSAFE_PATH.search(_decode(path)):
        raise HTTPException(404, "the proxy passes on no address with empty parts, dots for folders or backslashes")
    return quote(path, safe="/%:")


def _decode(path: str) -> str:
    """A path as an endpoint may read it that decodes more than once."""
    while (plain := unquote(path)) != path:
        path = plain
    return path


def _headers(exchange: Exchange) -> list[tuple[str, str]]:
    """Headers that tell a client of its memory."""
    scope = exchange.scope
    named = [
        ("x-lamina-user", quote(scope.user_id)),
        ("x-lamina-user-from", scope.user_source),
        ("x-lamina-session", quote(scope.session_id)),
        ("x-lamina-session-from", scope.session_source),
        ("x-lamina-memory-tokens", str(exchange.tokens)),
    ]
    return named + [("x-lamina-fault", fault) for fault in dict.fromkeys(exchange.faults)]


def _with_headers(response: Response, headers: Sequence[tuple[str, str]]) -> Response:
    response.raw_headers += encode_headers(headers)
    return response
