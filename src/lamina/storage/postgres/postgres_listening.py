"""Hears, on a connection of its own, when another process has made work."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import psycopg
from psycopg import sql

from lamina.coroutines import raise_if_cancelled
from lamina.errors import StoreError
from lamina.storage.postgres.postgres_connection import Connection
from lamina.storage.postgres.postgres_errors import Pooled

logger = logging.getLogger("lamina.storage")

_AGAIN_S = 1.0  # before a lost connection is made again


class Listener:
    """Tells those who wait of notices for their tenant. Without one, work is still found by looking, only later."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], channel: str) -> None:
        self._connect = connect
        self._channel = channel
        self._notices: dict[str, asyncio.Event] = {}  # by tenant
        self._task: asyncio.Task[None] | None = None
        self._deaf = False  # a notice for a connection of a pool would reach whoever has it at that time

    async def wait(self, tenant: str, seconds: float) -> bool:
        """True when a notice came in that time, or since the last wait."""
        notice = self._notices.setdefault(tenant, asyncio.Event())
        if not self._deaf and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._listen(), name="lamina-listen")
        try:
            async with asyncio.timeout(seconds):
                await notice.wait()
        except TimeoutError:
            return False
        notice.clear()
        return True

    async def _listen(self) -> None:
        again = False
        while not self._deaf:
            raise_if_cancelled()
            try:
                await self._pass_on(again=again)
            except Pooled as error:
                self._deaf = True
                logger.info("listening_off", extra={"reason": str(error)})
            except (psycopg.Error, StoreError) as error:
                logger.info("listening_again", extra={"reason": str(error)})
                await asyncio.sleep(_AGAIN_S if again else 0)
            again = True

    async def _pass_on(self, *, again: bool) -> None:
        connection = await self._connect()
        try:
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
            for notice in self._notices.values() if again else ():  # some may have been missed
                notice.set()
            async for message in connection.notifies():
                raise_if_cancelled()
                if message.payload in self._notices:
                    self._notices[message.payload].set()
        finally:
            await connection.close()

    async def close(self) -> None:
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.wait([task])
