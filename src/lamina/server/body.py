"""The body of a request: what kind it is said to be, how large, how deep, and how long it takes to come."""

import asyncio
import codecs
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import Receive, Scope

from lamina.server.json_depth import Nesting, Surrogates
from lamina.server.problems import Refused
from lamina.server.quotas import Full, Shares

READS = frozenset({"GET", "HEAD"})
_LINES_PATH, _LINES = "/v1/import", ("application/x-ndjson", "application/ndjson", "application/jsonl")
_CONVERSATIONS = re.compile(r"/v1/sessions/[^/]+/messages|/v1/memories/|/v\d/memories/add/")
_DEEPEST = 120  # levels of lists and objects
_MOST_VALUES = 20_000  # in one body, so that the time to read and check it is short
_MOST_TOLD = 500_000  # in one that brings a conversation: 100,000 messages and more
_MOST_BYTES = 4 * 1024 * 1024  # of one that brings none
_SLICE = 16_384  # bytes that are looked at before others have their turn
_SMALL = 65_536  # bytes of a body that every request may hold


class Gone(Exception):
    """The caller hung up before all was said."""


@dataclass(frozen=True, slots=True)
class _Size:
    """How much a body may be; `values` is None for lines, which are read one by one."""

    size: int
    values: int | None


class Intake:
    """Reads bodies. What they hold together is bounded, and one caller may hold half of it."""

    def __init__(self, most: int, seconds: float, held: int, proxied: tuple[str, ...]) -> None:
        self._most = most
        self._proxied = proxied
        self._seconds = seconds
        self._held = Shares(max(held, most), max(held // 2, most))

    def _allowed(self, path: str) -> _Size:
        if path == _LINES_PATH:
            return _Size(self._most, None)
        if _CONVERSATIONS.fullmatch(path) or path.startswith(self._proxied):
            return _Size(self._most, _MOST_TOLD)
        return _Size(min(self._most, _MOST_BYTES), _MOST_VALUES)

    @asynccontextmanager
    async def body(self, receive: Receive, path: str, headers: Mapping[str, str], whose: str) -> AsyncIterator[bytes]:
        """All of it; it counts until the request is answered."""
        taken = 0

        def hold(size: int) -> None:
            nonlocal taken
            if size - _SMALL > taken:
                self._held.take(whose, size - _SMALL - taken)
                taken = size - _SMALL

        try:
            yield await self._arrived(receive, self._allowed(path), headers, hold)
        finally:
            self._held.give(whose, taken)

    async def _arrived(
        self, receive: Receive, allowed: _Size, headers: Mapping[str, str], hold: Callable[[int], None]
    ) -> bytes:
        close = {"Connection": "close"}
        try:
            async with asyncio.timeout(self._seconds):
                return await _read(receive, allowed, headers, hold)
        except TimeoutError:
            told = f"the body did not arrive within {self._seconds:g} seconds; nothing was done"
            raise Refused(408, told, close) from None
        except Full:
            told = "too many large bodies are under way; try again when they are answered, or send less at once"
            raise Refused(503, told, {"Retry-After": "1", **close}) from None


async def _read(receive: Receive, allowed: _Size, headers: Mapping[str, str], hold: Callable[[int], None]) -> bytes:
    told = headers.get("content-length", "0")
    _check_size(int(told) if told.isdigit() else 0, allowed)
    parts, size, more = [], 0, True
    nesting, surrogates, characters = Nesting(), Surrogates(), codecs.getincrementaldecoder("utf-8")()
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        size += len(part)
        _check_size(size, allowed)
        hold(size)
        for start in range(0, len(part), _SLICE):
            piece = part[start : start + _SLICE]
            _check_shape(nesting, piece, allowed)
            _check_text(characters, surrogates, piece)
            if start:
                await asyncio.sleep(0)
        parts.append(part)
        more = message.get("more_body", False)
    _check_text(characters, surrogates, b"", last=True)
    return b"".join(parts)


def _check_size(size: int, allowed: _Size) -> None:
    if size > allowed.size:
        raise Refused(413, f"a body has up to {allowed.size} bytes here; send less at once")


def check_kind(scope: Scope, headers: Mapping[str, str]) -> None:
    """Refuse what a page may send anywhere without leave: forms, plain text, bytes of no kind."""
    if scope["method"] in READS or not has_body(headers):
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return
    lines = scope["path"] == _LINES_PATH
    if not (lines and kind in _LINES):
        wanted = f"application/json{f' or {_LINES[0]}' if lines else ''}"
        raise Refused(415, f"the Content-Type of a body is {wanted}, not {kind or 'missing'!r:.100}")


def has_body(headers: Mapping[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def _check_shape(nesting: Nesting, piece: bytes, allowed: _Size) -> None:
    """Refuse what goes too deep, or has too many values, as soon as that is seen."""
    nesting.feed(piece)
    if nesting.deepest > _DEEPEST:
        raise Refused(400, f"lists and objects go {_DEEPEST} levels deep at the most", {"Connection": "close"})
    if allowed.values is not None and nesting.values > allowed.values:
        told = f"a body has up to {allowed.values} values here, in lists and objects; send less at once"
        raise Refused(413, told, {"Connection": "close"})


def _check_text(
    characters: codecs.IncrementalDecoder, surrogates: Surrogates, piece: bytes, *, last: bool = False
) -> None:
    """Refuse what could not be read, or not be written again."""
    try:
        characters.decode(piece, last)
    except UnicodeDecodeError:
        raise Refused(400, "the body is not UTF-8", {"Connection": "close"}) from None
    surrogates.feed(piece, last=last)
    if surrogates.lone:
        raise Refused(400, "the body has a lone surrogate, which is no valid Unicode; remove it")
