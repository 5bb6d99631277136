"""Several tenants served in one process: each by an engine of its own, all by turns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from lamina.errors import LaminaError
from lamina.memory import AsyncMemory, close_all
from lamina.protocols.store import Store
from lamina.values.report import Settled

logger = logging.getLogger("lamina.worker")


class WorkerPool:
    """Works for all tenants of a store, or for some, each under the rules that are stored with its data."""

    def __init__(
        self,
        store: Store,
        make_engine: Callable[[Store], Awaitable[AsyncMemory]],
        *,
        tenants: Sequence[str] = (),
        poll_seconds: float = 5.0,
    ) -> None:
        """`make_engine` makes an engine for the store of one tenant; without `tenants`, all are served."""
        self._store = store
        self._make_engine = make_engine
        self._only = frozenset(tenants)
        self._poll_seconds = poll_seconds
        self._engines: dict[str, AsyncMemory] = {}

    async def tenants(self) -> list[str]:
        """Those to be served that there are."""
        return [tenant for tenant in await self._store.tenants() if not self._only or tenant in self._only]

    async def run(self, stop: asyncio.Event, grace: float) -> None:
        """Work until told to stop; what is in work then is finished if there is time, else given back."""
        try:
            while not stop.is_set():
                await self._look()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_seconds):
                        await stop.wait()
        except asyncio.CancelledError:
            grace = 0
            raise
        finally:
            await close_all(self._engines, grace)

    async def _look(self) -> None:
        """See who there is to be served, and under which rules."""
        try:
            found = await self.tenants()
        except LaminaError as error:
            logger.warning("tenants_not_found", extra={"reason": str(error)})
            return
        for tenant in found:
            try:
                await self._serve(tenant)
            except LaminaError as error:
                logger.warning("tenant_not_served", extra={"tenant": tenant, "reason": str(error)})

    async def _serve(self, tenant: str) -> None:
        store = self._store.for_tenant(tenant)
        if (engine := self._engines.get(tenant)) is not None:
            if await store.setting("profile") in {None, engine.rules}:
                return
            del self._engines[tenant]
            await engine.close()
            await store.requeue()  # it may have looked at some under the old rules since
        engine = await self._make_engine(store)
        self._engines[tenant] = await engine.open()
        logger.info("tenant_served", extra={"tenant": tenant, "profile": engine.profile.name})

    async def once(self, stop: asyncio.Event, grace: float) -> dict[str, Settled]:
        """Work until nothing is due, or told to stop; what was done for each tenant."""
        found = await self.tenants()
        self._engines = {tenant: await self._make_engine(self._store.for_tenant(tenant)) for tenant in found}
        work = asyncio.gather(*(engine.settle() for engine in self._engines.values()))
        halting = asyncio.create_task(self._halt(work, stop, grace))
        try:
            return dict(zip(found, await work, strict=True))
        finally:
            halting.cancel()
            await close_all(self._engines)

    async def _halt(self, work: "asyncio.Future[list[Settled]]", stop: asyncio.Event, grace: float) -> None:
        await stop.wait()
        for engine in self._engines.values():
            engine.wind_down()
        await asyncio.wait([work], timeout=grace)
        work.cancel()
