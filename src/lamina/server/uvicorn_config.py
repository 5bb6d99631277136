"""How uvicorn serves: a connection on which no request comes is closed; uvicorn itself would wait for ever."""

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class IdleConnections:
    """Connections that wait for the head of a request, the oldest first."""

    def __init__(self, seconds: float, max_idle: int) -> None:
        self._seconds, self._max = seconds, max_idle
        self._timers: dict[TimedConnection, asyncio.TimerHandle] = {}

    def begin(self, one: "TimedConnection") -> None:
        if one in self._timers or one.transport.is_closing():
            return
        self._timers[one] = one.loop.call_later(self._seconds, self._close, one)
        if len(self._timers) > self._max:
            self._close(next(iter(self._timers)))

    def end(self, one: "TimedConnection") -> None:
        timer = self._timers.pop(one, None)
        if timer is not None:
            timer.cancel()

    def _close(self, one: "TimedConnection") -> None:
        self.end(one)
        if not one.transport.is_closing():
            if not one.newest_request:  # otherwise it was answered, and what follows may be the rest of a body
                one.transport.write(_LATE)
            one.transport.close()


class TimedConnection(H11Protocol):
    """A connection that waits for a head for a limited time."""

    idle: IdleConnections

    @property
    def newest_request(self) -> Any:
        """The newest request, if there was one."""
        return self.cycle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle.begin(self)

    def data_received(self, data: bytes) -> None:
        before = self.newest_request
        super().data_received(data)
        if self.newest_request is not before:
            self.idle.end(self)
        elif before is None or before.response_complete:
            self.idle.begin(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.end(self)
        super().connection_lost(exc)


def uvicorn_config(app: ASGIApp, *, header_seconds: float, max_idle: int, grace_s: int, **more: Any) -> uvicorn.Config:
    """No content in logs; the headers of a request arrive within so many seconds.

    Up to `max_idle` connections wait for a request; then the one that has waited longest is closed.
    """
    protocol: type[asyncio.Protocol] = type(
        "TimedConnection", (TimedConnection,), {"idle": IdleConnections(header_seconds, max_idle)}
    )
    return uvicorn.Config(
        app,
        http=protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_s,
        **more,
    )
