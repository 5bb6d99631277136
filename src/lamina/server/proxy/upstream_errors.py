"""What is said when the endpoint behind the proxy is not reached, or refuses: which it is, why, and what to change."""

import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
from fastapi.responses import Response

from lamina.server.openai_errors import as_openai_error
from lamina.server.problems import problem
from lamina.server.proxy.dialect import read_json, to_json

logger = logging.getLogger("lamina.proxy")

KeySource = Literal["proxy_api_key", "llm_api_key", "caller", "none"]
_URL = "proxy_base_url (LAMINA_PROXY_BASE_URL)"
_KEY = "proxy_api_key (LAMINA_PROXY_API_KEY)"
_KEYS: dict[KeySource, str] = {
    "proxy_api_key": f"with the key in {_KEY}: check that key",
    "llm_api_key": f"with the key of the language model (LAMINA_LLM_API_KEY): check it, or set {_KEY}",
    "caller": f"with the key that you sent: send one of the endpoint's, or let the service set {_KEY}",
    "none": f"without a key: set {_KEY}, or send a key of the endpoint as Authorization",
}
_UNAUTHORIZED, _NOT_FOUND = 401, 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the proxy asks, in words for callers and logs."""

    address: str  # without a password
    is_default: bool  # no setting names it
    connect_seconds: float
    answer_seconds: float

    @property
    def name(self) -> str:
        return f"the endpoint behind the proxy, {self.address},"

    @property
    def advice(self) -> str:
        if self.is_default:
            return f"No setting names an endpoint, so OpenAI's is asked; for another one, set {_URL}"
        return f"Check that it runs there, or set {_URL} to its address"


def unreachable(endpoint: Endpoint, error: httpx2.HTTPError) -> Response:
    """The answer if the endpoint did not give one; the log has the same."""
    status, why = _explain(endpoint, error)
    logger.warning(
        "upstream_not_reached", extra={"endpoint": endpoint.address, "kind": type(error).__name__, "reason": why}
    )
    detail = f"{endpoint.name} {why}. {endpoint.advice}"
    return as_openai_error(problem(status, detail, kind="upstream"))


def _explain(endpoint: Endpoint, error: httpx2.HTTPError) -> tuple[int, str]:
    if isinstance(error, httpx2.ConnectTimeout):
        return 504, f"took no connection in {endpoint.connect_seconds:g} seconds"
    if isinstance(error, httpx2.TimeoutException):
        return 504, f"did not answer in {endpoint.answer_seconds:g} seconds (proxy_seconds)"
    if isinstance(error, httpx2.UnsupportedProtocol):
        return 502, "is no address of HTTP: it begins with http:// or https://"
    causes = [*_causes(error)]
    for kind, why in (
        (socket.gaierror, "cannot be found: its name is not known here"),
        (ssl.SSLCertVerificationError, "has a certificate that is not trusted here"),
        (ssl.SSLError, "does not speak TLS as it should; if it speaks plain HTTP, its address begins with http://"),
        (ConnectionRefusedError, "refuses connections: nothing listens there"),
    ):
        if any(isinstance(one, kind) for one in causes):
            return 502, why
    if isinstance(error, httpx2.ConnectError):
        return 502, "cannot be reached"
    return 502, "hung up before the end of its answer"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it."""
    yield error
    below = error.exceptions if isinstance(error, BaseExceptionGroup) else (error.__cause__ or error.__context__,)
    for one in below:
        if one is not None:
            yield from _causes(one)


def with_advice(endpoint: Endpoint, path: str, status: int, content: bytes, key: KeySource) -> bytes | None:
    """An answer of the endpoint that refuses the key or the address, with what to change; None for any other."""
    found = read_json(content)
    error = found.get("error") if found is not None else None
    if status == _UNAUTHORIZED:
        logger.warning("upstream_refused", extra={"endpoint": endpoint.address, "status": status, "key": key})
        said = f"{endpoint.name} refused the request. It was asked {_KEYS[key]}"
    elif status == _NOT_FOUND and not isinstance(error, dict):
        logger.warning("upstream_refused", extra={"endpoint": endpoint.address, "status": status, "key": key})
        said = f"{endpoint.name} has no {path}. Its address mostly ends in /v1: check {_URL}"
    else:
        return None
    return to_json({**(found or {}), "error": _with_message(error, said)})


def _with_message(error: Any, said: str) -> dict[str, Any]:
    """The endpoint's own words first."""
    known = error if isinstance(error, dict) else {"type": "lamina_error", "param": None, "code": "upstream"}
    own = error if isinstance(error, str) else known.get("message")
    return {**known, "message": f"{own} ({said})" if isinstance(own, str) and own else said}
