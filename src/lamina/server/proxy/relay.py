"""Passes an answer on while it comes, listens to it, and keeps what was said before the last byte goes out."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lamina.server.proxy.dialect import ChatMessage, Listener
from lamina.server.proxy.stream import Events
from lamina.server.proxy.upstream import in_bytes

logger = logging.getLogger("lamina.proxy")

Keep = Callable[[ChatMessage | None, str | None], Coroutine[Any, Any, None]]  # the reply, and who broke it off


class Relay(Response):
    """A stream on its way to the caller. Its bytes are those of the endpoint, as soon as they are there.

    Whoever breaks off, endpoint or caller, what was said so far is kept. A stream that the endpoint broke off is broken
    off for the caller, too.
    """

    def __init__(
        self, answer: httpx2.Response, headers: Sequence[tuple[str, str]], listener: Listener | None, keep: Keep
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self.raw_headers = in_bytes(headers)
        self._answer = answer
        self._listener = listener
        self._keep = keep
        self._kept: asyncio.Task[None] | None = None
        self._broke_off = "client"

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        leaving = asyncio.ensure_future(receive())  # all of the request was read: what comes is that the caller left
        passing = asyncio.create_task(self._pass(send))
        try:
            await asyncio.wait({leaving, passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, passing):
                task.cancel()
            await asyncio.gather(leaving, passing, return_exceptions=True)
            await self._answer.aclose()
            await self._remember()

    async def _pass(self, send: Send) -> None:
        events = Events()
        try:
            async for piece in self._answer.aiter_bytes():
                if self._ends(events.take(piece)):
                    await self._remember()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx2.HTTPError as error:
            self._broke_off = "upstream"
            logger.warning("upstream_broke_off", extra={"kind": type(error).__name__})
            return
        self._broke_off = "upstream"  # unless it said that this is all
        await self._remember()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _ends(self, heard: Sequence[str]) -> bool:
        """Whether the reply is whole now."""
        if self._listener is None:
            return False
        for data in heard:
            self._listener.hear(data)
        return self._listener.ended

    async def _remember(self) -> None:
        """Once, and to its end though the caller has left."""
        if self._kept is None:
            reply = self._listener.reply() if self._listener is not None else None
            whole = (
                self._listener is None or self._listener.ended or bool(reply and reply["metadata"].get("finish_reason"))
            )
            self._kept = asyncio.create_task(self._keep(reply, None if whole else self._broke_off))
        await asyncio.shield(self._kept)
