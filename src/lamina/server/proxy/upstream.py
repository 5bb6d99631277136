"""Asks the endpoint behind the proxy; filters the headers that go there and come back."""

from collections.abc import Mapping, Sequence

import httpx2
from fastapi import Request

from lamina.open import OPENAI
from lamina.server.proxy.upstream_errors import Endpoint, KeySource
from lamina.settings import Settings, without_password
from lamina.tenancy.keys import PREFIX

_CONNECT_S = 10.0
_IDLE_S = 4.0  # for which a connection is kept; most servers close theirs after five
_HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
        "upgrade", "host", "content-length", "content-encoding", "accept-encoding",
    }
)  # fmt: skip
_IDEMPOTENT = frozenset({"GET", "HEAD", "DELETE"})
_OURS = "x-lamina-"
_NOT_FORWARDED = frozenset({"x-api-key", "cookie", "authorization", "idempotency-key", "forwarded"})
_ACCOUNT = frozenset({"openai-organization", "openai-project"})  # which account a key is for


class Upstream:
    """Asks the endpoint as the caller asked us, with its own key."""

    def __init__(self, settings: Settings) -> None:
        self._base = settings.proxy_endpoint()
        shared = settings.llm_api_key if self._base == (settings.llm_base_url or OPENAI).rstrip("/") else None
        self._key = settings.proxy_api_key or shared
        self._key_source: KeySource = "proxy_api_key" if settings.proxy_api_key else "llm_api_key"
        self.endpoint = Endpoint(
            address=without_password(self._base),
            is_default=not settings.has_proxy(),
            connect_seconds=_CONNECT_S,
            answer_seconds=settings.proxy_seconds,
        )
        timeout = httpx2.Timeout(settings.proxy_seconds, connect=_CONNECT_S)
        kept = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=_IDLE_S)
        once = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        trust = httpx2.create_ssl_context()
        self._client, self._once = (
            httpx2.AsyncClient(timeout=timeout, limits=limits, follow_redirects=False, verify=trust)
            for limits in (kept, once)
        )

    def is_shared(self, given: Mapping[str, str]) -> bool:
        """Whether a request is made on an account that others use, too: with the operator's key, or without any."""
        return self._key is not None or not _own_key(given)

    def key_source(self, given: Mapping[str, str]) -> KeySource:
        """With whose key a request is made."""
        if self._key is not None:
            return self._key_source
        return "caller" if _own_key(given) else "none"

    async def ask(self, request: Request, path: str, content: bytes) -> httpx2.Response:
        """The answer's headers; the caller reads its body, and closes it.

        A request is sent twice only if that changes nothing: the endpoint may have read the first one before the
        connection broke, and what it does costs money.
        """
        asked = self._client.build_request(
            request.method,
            f"{self._base}/{path}",
            params=str(request.query_params),
            headers=self._headers(request.headers),
            content=content or None,
        )
        try:
            return await self._client.send(asked, stream=True)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):  # a kept connection was just closed
            if request.method not in _IDEMPOTENT:
                raise
            return await self._once.send(asked, stream=True)

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request that go to the endpoint, with the key that is used there."""
        kept = {
            name: value
            for name, value in given.items()
            if name not in _HOP_BY_HOP and name not in _NOT_FORWARDED and not name.startswith((_OURS, "x-forwarded"))
            if name not in _ACCOUNT or not self.is_shared(given)
        }
        authorization = f"Bearer {self._key}" if self._key else _own_key(given)
        return {**kept, **({"authorization": authorization} if authorization else {}), "accept-encoding": "identity"}

    async def close(self) -> None:
        await self._client.aclose()
        await self._once.aclose()


def _own_key(given: Mapping[str, str]) -> str | None:
    """The caller's own key for the endpoint; a key for us goes no further."""
    authorization = given.get("authorization", "")
    key = authorization.partition(" ")[2].strip()
    return None if not key or key.startswith(PREFIX) else authorization


def caller_headers(answer: httpx2.Response) -> list[tuple[str, str]]:
    """The headers of an answer that are for the caller; the endpoint's number of the request gets another name."""
    names = {"x-request-id": "x-upstream-request-id"}
    kept = [(name.lower(), value) for name, value in answer.headers.multi_items() if name.lower() not in _HOP_BY_HOP]
    return [(names.get(name, name), value) for name, value in kept if name not in {"set-cookie", "server", "date"}]


def encode_headers(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
