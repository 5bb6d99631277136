"""The body of a request: its content type, and bounds of its size, its depth, and the time in which it arrives."""

import asyncio
import codecs
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import Receive, Scope

from lamina.server.json_depth import Nesting, Surrogates
from lamina.server.problems import Refusal
from lamina.server.quotas import Quota, QuotaExceeded
from lamina.server.request_checks import READ_METHODS
from lamina.server.uploads import BINARY, LINES, UPLOAD_PATHS

_CONVERSATIONS = re.compile(r"/v1/sessions/[^/]+/messages|/v1/memories/|/v\d/memories/add/")
_MAX_DEPTH = 120  # levels of lists and objects
_MAX_VALUES = 20_000  # in one body, so that the time to read and check it is short
_MAX_CONVERSATION_VALUES = 500_000  # in one that brings a conversation: 100,000 messages and more
_MAX_BYTES = 4 * 1024 * 1024  # of one that brings none
_SLICE = 16_384  # bytes that are looked at before others have their turn
_SMALL = 65_536  # bytes of a body that every request may hold


class Disconnected(Exception):
    """The caller closed the connection before all of the body had arrived."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """How large a body may be; `values` is None for a file to import, which is read line by line."""

    size: int
    values: int | None
    binary: bool = False  # bytes that need not be text


class BodyReader:
    """Reads bodies. Those in memory have a bound together, and one key may have half of it."""

    def __init__(self, max_bytes: int, seconds: float, held_bytes: int, proxied: tuple[str, ...]) -> None:
        self._max_bytes = max_bytes
        self._proxied = proxied
        self._seconds = seconds
        self._held = Quota(max(held_bytes, max_bytes), max(held_bytes // 2, max_bytes))

    def _limits(self, path: str, headers: Mapping[str, str]) -> _Limits:
        if path in UPLOAD_PATHS:
            return _Limits(self._max_bytes, None, _content_type(headers) in BINARY)
        if _CONVERSATIONS.fullmatch(path) or path.startswith(self._proxied):
            return _Limits(self._max_bytes, _MAX_CONVERSATION_VALUES)
        return _Limits(min(self._max_bytes, _MAX_BYTES), _MAX_VALUES)

    @asynccontextmanager
    async def read(self, receive: Receive, path: str, headers: Mapping[str, str], key_id: str) -> AsyncIterator[bytes]:
        """All of it; it counts until the request is answered."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if size - _SMALL > held:
                self._held.take(key_id, size - _SMALL - held)
                held = size - _SMALL

        close = {"Connection": "close"}
        try:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read(receive, self._limits(path, headers), headers, hold)
            except TimeoutError:
                detail = f"the body did not arrive within {self._seconds:g} seconds; nothing was done"
                raise Refusal(408, detail, close) from None
            except QuotaExceeded:
                detail = "too many large bodies are under way; try again when they are answered, or send less at once"
                raise Refusal(503, detail, {"Retry-After": "1", **close}) from None
            yield body
        finally:
            self._held.release(key_id, held)


async def _read(receive: Receive, limits: _Limits, headers: Mapping[str, str], hold: Callable[[int], None]) -> bytes:
    length = headers.get("content-length", "0")
    _check_size(int(length) if length.isdigit() else 0, limits)
    parts, size, more = [], 0, True
    nesting, surrogates, characters = Nesting(), Surrogates(), codecs.getincrementaldecoder("utf-8")()
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        _check_size(size, limits)
        hold(size)
        for start in range(0, 0 if limits.binary else len(part), _SLICE):
            piece = part[start : start + _SLICE]
            _check_depth(nesting, piece, limits)
            _check_text(characters, surrogates, piece)
            if start:
                await asyncio.sleep(0)
        parts.append(part)
        more = message.get("more_body", False)
    _check_text(characters, surrogates, b"", last=True)
    return b"".join(parts)


def _check_size(size: int, limits: _Limits) -> None:
    if size > limits.size:
        raise Refusal(413, f"a body has up to {limits.size} bytes here; send less at once")


def check_content_type(scope: Scope, headers: Mapping[str, str]) -> None:
    """Refuse what a page of another site may send: forms, plain text, bytes without a type."""
    if scope["method"] in READ_METHODS or not has_body(headers):
        return
    kind = _content_type(headers)
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return
    is_upload = scope["path"] in UPLOAD_PATHS
    if not (is_upload and kind in (*LINES, *BINARY)):
        wanted = f"application/json{f', {LINES[0]} or {BINARY[0]}' if is_upload else ''}"
        raise Refusal(415, f"the Content-Type of a body is {wanted}, not {kind or 'missing'!r:.100}")


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def has_body(headers: Mapping[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def _check_depth(nesting: Nesting, piece: bytes, limits: _Limits) -> None:
    """Refuse what goes too deep, or has too many values, as soon as that is seen."""
    nesting.feed(piece)
    if nesting.deepest > _MAX_DEPTH:
        raise Refusal(400, f"lists and objects go {_MAX_DEPTH} levels deep at the most", {"Connection": "close"})
    if limits.values is not None and nesting.values > limits.values:
        detail = f"a body has up to {limits.values} values here, in lists and objects; send less at once"
        raise Refusal(413, detail, {"Connection": "close"})


def _check_text(
    characters: codecs.IncrementalDecoder, surrogates: Surrogates, piece: bytes, *, last: bool = False
) -> None:
    """Refuse what could not be read, or not be written again."""
    try:
        characters.decode(piece, last)
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8", {"Connection": "close"}) from None
    surrogates.feed(piece, last=last)
    if surrogates.lone:
        raise Refusal(400, "the body has a lone surrogate, which is no valid Unicode; remove it")
