"""Streams the endpoint's reply to the caller, reads it on the way, and stores it before the last byte goes out."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lamina.server.proxy.dialect import ChatMessage, StreamReader
from lamina.server.proxy.upstream import encode_headers

logger = logging.getLogger("lamina.proxy")

Store = Callable[[ChatMessage | None, str | None], Coroutine[Any, Any, None]]  # the reply, and who broke it off
_EVENT_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\r")


class ReplyStream(Response):
    """A stream on its way to the caller. Its bytes are those of the endpoint, as soon as they are there.

    Whoever breaks off, endpoint or caller, the reply so far is stored. A stream that the endpoint broke off is broken
    off for the caller, too.
    """

    def __init__(
        self, answer: httpx2.Response, headers: Sequence[tuple[str, str]], reader: StreamReader | None, store: Store
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = encode_headers(headers)
        self._answer = answer
        self._reader = reader
        self._store = store
        self._storing: asyncio.Task[None] | None = None
        self._broke_off = "client"

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        leaving = asyncio.ensure_future(receive())  # all of the request was read: the next message is a disconnect
        passing = asyncio.create_task(self._pass(send))
        try:
            await asyncio.wait({leaving, passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, passing):
                task.cancel()
            await asyncio.gather(leaving, passing, return_exceptions=True)
            await self._answer.aclose()
            await self._store_reply()

    async def _pass(self, send: Send) -> None:
        events = EventParser()
        try:
            async for piece in self._answer.aiter_bytes():
                if self._is_complete(events.feed(piece)):
                    await self._store_reply()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx2.HTTPError as error:
            self._broke_off = "upstream"
            logger.warning("upstream_broke_off", extra={"kind": type(error).__name__})
            return
        self._broke_off = "upstream"  # unless it said that this is all
        await self._store_reply()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _is_complete(self, events: Sequence[str]) -> bool:
        """Whether the reply is complete with these events."""
        if self._reader is None:
            return False
        for data in events:
            self._reader.feed(data)
        return self._reader.ended

    async def _store_reply(self) -> None:
        """Once, and to its end though the caller has left."""
        if self._storing is None:
            reader = self._reader
            reply = reader.reply() if reader is not None else None
            complete = reader is None or reader.ended or bool(reply and reply["metadata"].get("finish_reason"))
            self._storing = asyncio.create_task(self._store(reply, None if complete else self._broke_off))
        await asyncio.shield(self._storing)


class EventParser:
    """Server-sent events in the bytes of a stream, however they are cut."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[str]:
        """The data of each event that is complete."""
        self._rest += piece
        found: list[str] = []
        while True:
            ends = [(place, len(end)) for end in _EVENT_ENDS if (place := self._rest.find(end)) >= 0]
            if not ends:
                return found
            place, length = min(ends)
            event, self._rest = self._rest[:place], self._rest[place + length :]
            lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
            if lines:
                found.append(b"\n".join(lines).decode("utf-8", "replace"))
