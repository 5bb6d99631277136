"""Either kind of memory, awaited."""

import asyncio
from typing import Any

from lamina import AsyncMemory, Memory


class Awaited:
    """The verbs of an `AsyncMemory`, or those of a `Memory` in a thread, to be awaited."""

    def __init__(self, memory: AsyncMemory | Memory) -> None:
        self._memory = memory

    async def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        call = getattr(self._memory, verb)
        if isinstance(self._memory, AsyncMemory):
            return await call(*args, **kwargs)
        return await asyncio.to_thread(call, *args, **kwargs)
