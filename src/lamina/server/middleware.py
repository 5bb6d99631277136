"""What every request passes: the name it calls us by, its key, its size, its number; and what is noted of it."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.errors import LaminaError
from lamina.server.audit import Audit
from lamina.server.auth import Caller, Service, let_in
from lamina.server.body import READS, Gone, Intake, check_kind, has_body
from lamina.server.openai_errors import in_openai_shape
from lamina.server.origins import is_foreign
from lamina.server.problems import OURS, Refused, of_error, of_refusal, problem
from lamina.server.quotas import Full, Shares
from lamina.server.rate_limit import Allowance, Rates
from lamina.server.spans import spanned

logger = logging.getLogger("lamina.http")

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OPEN = frozenset({"/healthz", "/readyz", "/version", "/openapi.json"})
_PAGE, _FILES = "/", "/assets/"  # of the inspector
_ONCE = frozenset({"authorization", "content-type", "host", "origin", "sec-fetch-site", "x-api-key"})
_LISTENS = frozenset({"/v1/events"})  # requests that have no end
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_HUNG_UP = 499
_MOST_PARAMETERS = 200  # of an address; the time to check them grows with their square


@dataclass(frozen=True, slots=True)
class Rules:
    """What is let through."""

    hosts: frozenset[str] | None  # names that we may be called by; None: any
    body_bytes: int
    origins: frozenset[str] = frozenset()  # of pages that may call us besides our own
    proxied: tuple[str, ...] = ()  # how the addresses begin whose callers speak as OpenAI does
    body_seconds: float = 60.0  # in which the whole body must arrive
    held_bytes: int = 256 * 1024 * 1024  # of all bodies together
    at_once: int = 1000
    at_once_each: int = 500  # of one key
    listeners_each: int = 50  # of one key, or of all who need none
    per_minute: int | None = None  # of a key, or of an address without one; None: any number


class _Answer:
    """Sends what is answered, and knows how far it has come."""

    def __init__(self, send: Send, scope: Scope, request_id: str) -> None:
        self._send = send
        self._scope = scope
        self._request_id = request_id
        self._deaf = False
        self.status = 500
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], True
            allowance: Allowance | None = self._scope.get("lamina.allowance")
            told = {"x-request-id": self._request_id, **(allowance.headers if allowance else {})}
            if self._scope.get("lamina.close"):
                told["connection"] = "close"
            added = [(name.lower().encode(), value.encode()) for name, value in told.items()]
            message["headers"] = [*message["headers"], *added]
            try:
                await self._send(message)
            except Exception as error:  # noqa: BLE001 - the server gave the line up: what came on it was no HTTP
                self.status, self._deaf = _HUNG_UP, True
                logger.info("answer_not_sent", extra={"request": self._request_id, "reason": type(error).__name__})
        elif not self._deaf:
            await self._send(message)


class Border:
    """Stands before the routes."""

    def __init__(self, app: ASGIApp, *, service: Service, rules: Rules) -> None:
        self._app = app
        self._service = service
        self._rules = rules
        self._rates = None if rules.per_minute is None else Rates(rules.per_minute)
        self._intake = Intake(rules.body_bytes, rules.body_seconds, rules.held_bytes, rules.proxied)
        self._open = Shares(rules.at_once, rules.at_once)
        self._requests = Shares(rules.at_once, rules.at_once_each)
        self._listeners = Shares(rules.at_once, rules.listeners_each)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else f"req_{uuid4().hex}"
        answer = _Answer(send, scope, request_id)
        with spanned(scope["method"], headers) as told:
            await self._answered(scope, receive, answer, headers, request_id)
            told.status, told.operation = answer.status, _operation(scope)

    async def _answered(
        self, scope: Scope, receive: Receive, answer: "_Answer", headers: dict[str, str], request_id: str
    ) -> None:
        began = time.perf_counter()
        try:
            await self._passed(scope, receive, answer, headers)
        except Refused as refused:
            await self._shaped(scope, refused.response)(scope, receive, answer)
        except HTTPException as refused:  # the service has not begun
            await self._shaped(scope, of_refusal(refused))(scope, receive, answer)
        except (LaminaError, TimeoutError) as error:
            _log(error, request_id)
            await self._shaped(scope, of_error(error))(scope, receive, answer)
        except Gone:
            answer.status = _HUNG_UP
        except Exception:
            logger.exception("request_failed", extra={"request": request_id})
            if answer.begun:
                raise
            told = "this is a fault of the service; its log has more under this request's id"
            await self._shaped(scope, problem(500, told))(scope, receive, answer)
        finally:
            self._noted(scope, request_id, answer.status, time.perf_counter() - began)

    def _shaped(self, scope: Scope, response: Response) -> Response:
        return in_openai_shape(response) if scope["path"].startswith(self._rules.proxied) else response

    async def _passed(self, scope: Scope, receive: Receive, answer: Send, headers: dict[str, str]) -> None:
        _check_headers(scope["headers"])
        self._check_host(headers.get("host", ""))
        self._check_origin(scope, headers)
        if scope["query_string"].count(b"&") >= _MOST_PARAMETERS:
            raise Refused(400, f"an address has up to {_MOST_PARAMETERS} parameters; ask in parts")
        scope["path"] = _path(scope)
        try:
            await (self._anybody if is_open(scope["path"]) else self._somebody)(scope, receive, answer, headers)
        except Full as full:
            again = {"Retry-After": "1"}
            if not full.own:
                raise Refused(503, "there are too many requests at once; try again shortly", again) from None
            if scope["path"] in _LISTENS:
                told = f"a key listens for events up to {self._listeners.each} times at once; end some, or use another"
                raise Refused(429, told, again) from None
            told = f"a key has up to {self._requests.each} requests under way at once; wait for their answers"
            raise Refused(429, told, again) from None

    async def _anybody(self, scope: Scope, _: Receive, answer: Send, headers: dict[str, str]) -> None:
        """What needs no key; no body is read, however long it is and however slowly it comes."""
        with self._open.one():
            if is_page(scope["path"]):
                self._check_rate(scope, None)
            scope["lamina.close"] = has_body(headers)
            await self._app(scope, _no_body, answer)

    async def _somebody(self, scope: Scope, receive: Receive, answer: Send, headers: dict[str, str]) -> None:
        shares = self._listeners if scope["path"] in _LISTENS else self._requests
        async with AsyncExitStack() as stack:
            stack.enter_context(shares.one())
            caller = await self._caller(scope, headers)
            whose = caller.key.id if caller.key else ""
            if whose or shares is self._listeners:
                stack.enter_context(shares.one_of(whose))
            check_kind(scope, headers)
            body = await stack.enter_async_context(self._intake.body(receive, scope["path"], headers, whose))
            sent = False

            async def again() -> Message:
                nonlocal sent
                if sent:
                    return await receive()
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}

            await self._app(scope, again, answer)

    async def _caller(self, scope: Scope, headers: dict[str, str]) -> Caller:
        """Who has a key that is let in; the request is counted."""
        caller = await let_in(self._service, headers, proxied=scope["path"].startswith(self._rules.proxied))
        self._check_rate(scope, caller)
        if caller is None:
            raise Refused(
                401,
                "this needs a key that is known, not revoked and not expired, as `Authorization: Bearer lam_...`",
                {"WWW-Authenticate": "Bearer"},
            )
        scope["lamina.caller"] = caller
        return caller

    def _check_rate(self, scope: Scope, caller: Caller | None) -> None:
        """Count a request for its key; without one that is let in, for its address."""
        if self._rates is None:
            return
        address = (scope.get("client") or ("unknown", 0))[0]
        whose = caller.key.id if caller and caller.key else f"address {address}"
        allowance = self._rates.spend(whose, time.monotonic())
        scope["lamina.allowance"] = allowance
        if allowance.wait_s:
            told = f"{allowance.quota} requests a minute are allowed; try again in {allowance.wait_s} seconds"
            raise Refused(429, told, {"Retry-After": str(allowance.wait_s)})

    def _check_host(self, host: str) -> None:
        """Pages of other sites may make a browser call this machine by a name of theirs."""
        if self._rules.hosts is None:
            return
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            name = None
        if name not in self._rules.hosts:
            raise Refused(421, "the service is not called so; the setting `service_hosts` has the names it answers to")

    def _check_origin(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Pages of other sites may make a browser send us what it likes; a link to the inspector is no harm."""
        if not is_foreign(headers, self._rules.origins) or (scope["path"] == _PAGE and scope["method"] in READS):
            return
        raise Refused(403, "a page of another site asks; the setting `service_origins` has the origins that may")

    def _noted(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """Count it, and say who did what: never with what content."""
        operation = _operation(scope)
        self._service.metrics.answered(operation, status, seconds)
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
        self._service.audits.note(audit, caller.tenant if caller else None)


def is_open(path: str) -> bool:
    """Whether anybody may ask for an address, without a key."""
    return path in _OPEN or is_page(path)


def is_page(path: str) -> bool:
    """Whether an address is of the inspector's files, which hold no data and are open to whoever can reach us."""
    return path == _PAGE or path.startswith(_FILES)


def _operation(scope: Scope) -> str:
    return getattr(scope.get("route"), "operation_id", None) or "other"


def _log(error: Exception, request_id: str) -> None:
    """What the caller is not told; what they gave is in no log."""
    if isinstance(error, OURS):
        logger.warning(
            "store_or_model_failed",
            extra={"request": request_id, "kind": type(error).__name__, "reason": str(error)[:500]},
        )


def _path(scope: Scope) -> str:
    """The path with slashes inside of ids still written as %2F, so that every id can be named."""
    raw = scope.get("raw_path") or scope["path"].encode()
    try:
        parts = [unquote(part, errors="strict") for part in raw.decode("ascii").split("/")]
    except UnicodeError:
        raise Refused(400, "the address is not UTF-8") from None
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def _check_headers(given: Iterable[tuple[bytes, bytes]]) -> None:
    """Whoever stands before us may take the other of two keys or lengths, and see other requests than we do."""
    names = Counter(name.decode("latin-1") for name, _ in given)
    if twice := sorted(name for name in _ONCE if names[name] > 1):
        raise Refused(400, f"the header {twice[0]} was sent {names[twice[0]]} times; send it once")
    if names["transfer-encoding"] and names["content-length"]:
        told = "a body has a Content-Length or comes in chunks, not both"
        raise Refused(400, told, {"Connection": "close"})


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
