"""Which memories were used: counted as they are read, written down in batches by the worker."""

import threading
from collections.abc import Iterable

from lamina.errors import StoreReadOnly
from lamina.parts import Parts
from lamina.protocols.store import Access


class Accesses:
    """Counts uses of facts and episodes; safe from any thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._waiting: dict[str, Access] = {}

    def note(self, ids: Iterable[str]) -> None:
        now = self._parts.now()
        with self._lock:
            for item in ids:
                known = self._waiting.get(item)
                self._waiting[item] = Access(id=item, times=known.times + 1 if known else 1, at=now)

    async def flush(self) -> None:
        """Write down what was counted."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        try:
            await self._parts.store.note_accesses(list(waiting.values()))
        except StoreReadOnly:  # a file that may only be read is only read
            return
