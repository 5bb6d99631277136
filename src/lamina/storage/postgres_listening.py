"""Hears, on a connection of its own, when another process has made work."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
from psycopg import sql

from lamina.errors import StoreError
from lamina.storage.postgres_connection import Connection


class Listener:
    """Waits for notices of one tenant; a lost connection is made again with the next wait."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], channel: str, tenant: str) -> None:
        self._connect = connect
        self._channel = channel
        self._tenant = tenant
        self._connection: Connection | None = None
        self._waiting = asyncio.Lock()
        self._heard = asyncio.Event()

    async def heard(self, seconds: float) -> bool:
        """True when a notice came in that time; several may wait at once."""
        if self._waiting.locked():
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._heard.wait(), seconds)
            return False
        async with self._waiting:
            self._heard.clear()
            began = asyncio.get_running_loop().time()
            try:
                found = await self._notice(seconds)
            except (psycopg.Error, StoreError):  # without it work is still found by looking, only later
                await self.close()
                spent = asyncio.get_running_loop().time() - began
                await asyncio.sleep(max(0.0, seconds - spent))
                found = False
            if found:
                self._heard.set()
            return found

    async def _notice(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        if self._connection is None:
            self._connection = await self._connect()
            await self._connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
        while (left := until - loop.time()) > 0:
            async for notice in self._connection.notifies(timeout=left, stop_after=1):
                if notice.payload == self._tenant:
                    return True
        return False

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
