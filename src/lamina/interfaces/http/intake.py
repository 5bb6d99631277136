"""The body of a request: what kind it is said to be, how large, how deep, and how long it takes to come."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope

from lamina.interfaces.http.nesting import Nesting
from lamina.interfaces.http.problems import Refused
from lamina.interfaces.http.shares import Full, Shares

READS = frozenset({"GET", "HEAD"})
_LINES_PATH, _LINES = "/v1/import", ("application/x-ndjson", "application/ndjson", "application/jsonl")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_DEEPEST = 120  # levels of lists and objects
_SLICE = 16_384  # bytes that are looked at before others have their turn
_SMALL = 65_536  # bytes of a body that every request may hold


class Gone(Exception):
    """The caller hung up before all was said."""


class Intake:
    """Reads bodies. What they hold together is bounded, and one caller may hold half of it."""

    def __init__(self, most: int, seconds: float, held: int) -> None:
        self._most = most
        self._seconds = seconds
        self._held = Shares(max(held, most), max(held // 2, most))

    @asynccontextmanager
    async def body(self, receive: Receive, headers: Mapping[str, str], whose: str) -> AsyncIterator[bytes]:
        """All of it; it counts until the request is answered."""
        taken = 0

        def hold(size: int) -> None:
            nonlocal taken
            if size - _SMALL > taken:
                self._held.take(whose, size - _SMALL - taken)
                taken = size - _SMALL

        try:
            yield await self._arrived(receive, headers, hold)
        finally:
            self._held.give(whose, taken)

    async def _arrived(self, receive: Receive, headers: Mapping[str, str], hold: Callable[[int], None]) -> bytes:
        close = {"Connection": "close"}
        try:
            async with asyncio.timeout(self._seconds):
                return await self._read(receive, headers, hold)
        except TimeoutError:
            told = f"the body did not arrive within {self._seconds:g} seconds; nothing was done"
            raise Refused(408, told, close) from None
        except Full:
            told = "too many large bodies are under way; try again when they are answered, or send less at once"
            raise Refused(503, told, {"Retry-After": "1", **close}) from None

    async def _read(self, receive: Receive, headers: Mapping[str, str], hold: Callable[[int], None]) -> bytes:
        most = self._most
        told = headers.get("content-length", "0")
        parts, size = [], int(told) if told.isdigit() else 0
        if size > most:
            raise Refused(413, f"a body has up to {most} bytes; send less at once")
        size, more, nesting = 0, True, Nesting()
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise Refused(413, f"a body has up to {most} bytes; send less at once")
            hold(size)
            await _check_depth(nesting, part)
            parts.append(part)
            more = message.get("more_body", False)
        body = b"".join(parts)
        _check_text(body)
        return body


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


async def _check_depth(nesting: Nesting, part: bytes) -> None:
    """Refuse lists and objects that go too deep as soon as that is seen."""
    for start in range(0, len(part), _SLICE):
        nesting.feed(part[start : start + _SLICE])
        if nesting.deepest > _DEEPEST:
            raise Refused(400, f"lists and objects go {_DEEPEST} levels deep at the most", {"Connection": "close"})
        if start:
            await asyncio.sleep(0)


def _check_text(body: bytes) -> None:
    """Refuse what could not be read, or not be written again."""
    try:
        body.decode()
        if _SURROGATE.search(body):
            json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise Refused(400, "the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise Refused(400, "the body has a lone surrogate, which is no valid Unicode; remove it") from None
    except ValueError:
        return  # no JSON: the route says so
