"""Opens the memories of all tenants of one store, or workers for them."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamina.errors import InputError
from lamina.memory import AsyncMemory
from lamina.open import Options, new_id, open_store
from lamina.protocols.store import Store
from lamina.tenancy.tenants import Tenants
from lamina.tenancy.worker_pool import WorkerPool


@asynccontextmanager
async def open_worker_pool(
    location: str | Path, *, tenants: Sequence[str] = (), concurrency: int = 1, **options: Any
) -> AsyncIterator[WorkerPool]:
    """Workers for the tenants of a store, all or these, with so many sessions in work at once."""
    chosen = Options(**options)
    if location == ":memory:":
        raise InputError("a worker needs a memory that others can open, too: give a path, not ':memory:'")
    turns = asyncio.Semaphore(concurrency)
    async with open_store(location, chosen) as opened:

        async def make_engine(own: Store) -> AsyncMemory:
            parts = await opened.parts(own, None if await own.setting("profile") else chosen.profile)
            return AsyncMemory.from_parts(replace(parts, slots=concurrency, turns=turns), follows=True)

        yield WorkerPool(opened.store, make_engine, tenants=tenants, poll_seconds=chosen.patience.poll_seconds)


@asynccontextmanager
async def tenants(location: str | Path, **options: Any) -> AsyncIterator[Tenants]:
    """The memories of all tenants of one store, each opened when it is first asked for."""
    chosen = Options(**options)
    async with open_store(location, chosen) as opened:

        async def make_engine(own: Store) -> AsyncMemory:
            return AsyncMemory.from_parts(await opened.parts(own, chosen.profile), worker=chosen.worker)

        async with Tenants(opened.store, make_engine, now=chosen.now, new_id=new_id, random_bytes=os.urandom) as found:
            yield found
