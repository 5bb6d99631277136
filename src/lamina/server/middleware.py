"""What every request passes, in this order, and what its response gets on the way back.

1. `Middleware.__call__`: an id and a span. `_Response` adds headers to the response.
2. `_respond`: each error becomes a problem. The request is counted and audited.
3. `_check`: headers, host, origin and address (`request_checks`).
4. `_serve_open` (health, schema, the inspector's files), or `_serve_caller` for all else: room for one more request
   (`quotas`), the key (`auth`), the rate (`rate_limit`), the content type and the body (`request_body`).
5. The route.
"""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.errors import LaminaError
from lamina.server.audit import Audit
from lamina.server.auth import Caller, Service, authenticate, key_advice
from lamina.server.inspector.page_routes import PAGE_HEADERS, is_page
from lamina.server.openai_errors import as_openai_error
from lamina.server.problems import MEDIA_TYPE, Refusal, error_problem, http_problem, is_internal, problem
from lamina.server.quotas import Quota, QuotaExceeded
from lamina.server.rate_limit import Allowance, RateLimiter
from lamina.server.request_body import BodyReader, Disconnected, check_content_type, has_body
from lamina.server.request_checks import check_headers, check_host, check_origin, check_parameters, decode_path
from lamina.server.spans import request_span
from lamina.server.wrong_paths import is_openai

logger = logging.getLogger("lamina.http")

_OPEN = frozenset({"/healthz", "/readyz", "/version", "/openapi.json"})
_STREAMS = frozenset({"/v1/events"})  # requests that have no end
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_CLIENT_CLOSED = 499


@dataclass(frozen=True, slots=True)
class Rules:
    """Which requests are accepted, and how many."""

    hosts: frozenset[str] | None  # names of the service; None: any
    body_bytes: int
    origins: frozenset[str] = frozenset()  # of pages that may call the service besides its own
    proxied: tuple[str, ...] = ()  # how the addresses of the proxy begin
    body_seconds: float = 60.0  # in which the whole body must arrive
    held_bytes: int = 256 * 1024 * 1024  # of all bodies together
    at_once: int = 1000
    at_once_each: int = 500  # of one key
    listeners_each: int = 50  # of one key, or of all who need none
    per_minute: int | None = None  # of a key, or of an address without one; None: any number


class _Response:
    """Sends the response with the headers that every response has, and notes its status."""

    def __init__(self, send: Send, scope: Scope, request_id: str) -> None:
        self._send = send
        self._scope = scope
        self._request_id = request_id
        self._is_page, self._is_mem0 = is_page(scope["path"]), _is_mem0(scope)
        self._deaf = False
        self.status = 500
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.has_begun = message["status"], True
            try:
                await self._send({**message, "headers": self._headers(message)})
            except Exception as error:  # noqa: BLE001 - the server gave up the connection: it did not carry HTTP
                self.status, self._deaf = _CLIENT_CLOSED, True
                logger.info("answer_not_sent", extra={"request": self._request_id, "reason": type(error).__name__})
        elif not self._deaf:
            await self._send(message)

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        headers = [*message["headers"]]
        if self._is_mem0:  # mem0's clients read the detail of an error only from plain JSON
            headers = [
                (name, b"application/json" if value == MEDIA_TYPE.encode() else value) for name, value in headers
            ]
        allowance: Allowance | None = self._scope.get("lamina.allowance")
        added = {"x-request-id": self._request_id, **(allowance.headers if allowance else {})}
        if self._scope.get("lamina.close"):
            added["connection"] = "close"
        if self._is_page:
            added |= PAGE_HEADERS
        return headers + [(name.lower().encode(), value.encode()) for name, value in added.items()]


class Middleware:
    """The checks and limits before the routes."""

    def __init__(self, app: ASGIApp, *, service: Service, rules: Rules) -> None:
        self._app = app
        self._service = service
        self._rules = rules
        self._rates = None if rules.per_minute is None else RateLimiter(rules.per_minute)
        self._bodies = BodyReader(rules.body_bytes, rules.body_seconds, rules.held_bytes, rules.proxied)
        self._open = Quota(rules.at_once, rules.at_once)
        self._requests = Quota(rules.at_once, rules.at_once_each)
        self._listeners = Quota(rules.at_once, rules.listeners_each)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else f"req_{uuid4().hex}"
        response = _Response(send, scope, request_id)
        began = time.perf_counter()
        with request_span(scope["method"], headers) as span:
            try:
                await self._respond(scope, receive, response, headers, request_id)
            finally:
                self._record(scope, request_id, response.status, time.perf_counter() - began)
            span.status, span.operation = response.status, _operation(scope)

    async def _respond(
        self, scope: Scope, receive: Receive, response: _Response, headers: dict[str, str], request_id: str
    ) -> None:
        refusal: Response | None = None
        try:
            await self._check(scope, receive, response, headers)
        except Disconnected:
            response.status = _CLIENT_CLOSED
        except Refusal as error:
            refusal = error.response
        except HTTPException as error:  # the service has not begun
            refusal = http_problem(error)
        except (LaminaError, TimeoutError) as error:
            _log(error, request_id)
            refusal = error_problem(error)
        except Exception:
            logger.exception("request_failed", extra={"request": request_id})
            if response.has_begun:
                raise
            refusal = problem(500, "this is a fault of the service; its log has more under this request's id")
        if refusal is not None:
            proxied = self._is_proxied(scope["path"])
            await (as_openai_error(refusal) if proxied else refusal)(scope, receive, response)

    async def _check(self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str]) -> None:
        check_headers(scope["headers"])
        check_host(headers.get("host", ""), self._rules.hosts)
        check_origin(scope, headers, self._rules.origins)
        check_parameters(scope["query_string"])
        scope["path"] = decode_path(scope)
        serve = self._serve_open if is_open(scope["path"]) else self._serve_caller
        try:
            await serve(scope, receive, send, headers)
        except QuotaExceeded as full:
            retry = {"Retry-After": "1"}
            if not full.own:
                raise Refusal(503, "there are too many requests at once; try again shortly", retry) from None
            if scope["path"] in _STREAMS:
                what = f"listens for events up to {self._listeners.each} times at once; end some, or use another"
            else:
                what = f"has up to {self._requests.each} requests under way at once; wait for their answers"
            raise Refusal(429, f"a key {what}", retry) from None

    async def _serve_open(self, scope: Scope, _: Receive, send: Send, headers: dict[str, str]) -> None:
        """What needs no key; no body is read, however long it is and however slowly it comes."""
        with self._open.reserve():
            if is_page(scope["path"]):
                self._limit_rate(scope, None)
            scope["lamina.close"] = has_body(headers)
            await self._app(scope, _no_body, send)

    async def _serve_caller(self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str]) -> None:
        quota = self._listeners if scope["path"] in _STREAMS else self._requests
        async with AsyncExitStack() as stack:
            stack.enter_context(quota.reserve())
            caller = await self._authenticate(scope, headers)
            key_id = caller.key.id if caller.key else ""
            if key_id or quota is self._listeners:
                stack.enter_context(quota.reserve_for(key_id))
            check_content_type(scope, headers)
            body = await stack.enter_async_context(self._bodies.read(receive, scope["path"], headers, key_id))
            messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def receive_again() -> Message:
                return next(messages, None) or await receive()

            await self._app(scope, receive_again, send)

    async def _authenticate(self, scope: Scope, headers: dict[str, str]) -> Caller:
        """Who calls, if their key is accepted; the request counts for their rate."""
        proxied = self._is_proxied(scope["path"])
        caller = await authenticate(self._service, headers, proxied=proxied)
        self._limit_rate(scope, caller)
        if caller is None:
            advice = await key_advice(self._service, headers, proxied=proxied)
            raise Refusal(401, advice, {"WWW-Authenticate": "Bearer"})
        scope["lamina.caller"] = caller
        return caller

    def _is_proxied(self, path: str) -> bool:
        """Whether a client of the OpenAI API asks, though it may have the address wrong."""
        return path.startswith(self._rules.proxied) or is_openai(path)

    def _limit_rate(self, scope: Scope, caller: Caller | None) -> None:
        """Count a request for its key; without one that is accepted, for its address."""
        if self._rates is None:
            return
        address = (scope.get("client") or ("unknown", 0))[0]
        counted_for = caller.key.id if caller and caller.key else f"address {address}"
        allowance = self._rates.take(counted_for, time.monotonic())
        scope["lamina.allowance"] = allowance
        if allowance.wait_s:
            detail = f"{allowance.quota} requests a minute are allowed; try again in {allowance.wait_s} seconds"
            raise Refusal(429, detail, {"Retry-After": str(allowance.wait_s)})

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """Count the request, and audit who did what: never with what content."""
        operation = _operation(scope)
        self._service.metrics.count_request(operation, status, seconds)
        if is_open(scope["path"]):
            return
        caller: Caller | None = scope.get("lamina.caller")
        audit = Audit(
            at=datetime.now(UTC),
            key=caller.key.id if caller and caller.key else None,
            verb=operation,
            outcome=status,
            request=request_id,
            ms=round(seconds * 1000, 1),
        )
        self._service.audits.add(audit, caller.tenant if caller else None)


def is_open(path: str) -> bool:
    """Whether anybody may ask for an address, without a key."""
    return path in _OPEN or is_page(path)


def _is_mem0(scope: Scope) -> bool:
    """Whether an address is one of mem0's: theirs end in a slash, and none of ours does but the page."""
    return not is_page(scope["path"]) and bool((scope.get("raw_path") or scope["path"].encode()).endswith(b"/"))


def _operation(scope: Scope) -> str:
    return getattr(scope.get("route"), "operation_id", None) or "other"


def _log(error: Exception, request_id: str) -> None:
    """Log what the caller is not told. What the caller sent is in no log."""
    if is_internal(error):
        logger.warning(
            "store_or_model_failed",
            extra={"request": request_id, "kind": type(error).__name__, "reason": str(error)[:500]},
        )


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
