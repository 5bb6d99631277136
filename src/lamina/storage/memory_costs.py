"""The reference store's costs of models."""

from dataclasses import replace
from datetime import date

from lamina.language.times import day_of
from lamina.protocols.models import LedgerEntry
from lamina.storage.memory_keys import MemoryKeys
from lamina.values.cost import Cost


class MemoryCosts(MemoryKeys):
    """Sums by day."""

    async def add_cost(self, entry: LedgerEntry) -> None:
        day = day_of(entry.at)
        key = (day, entry.purpose, entry.model)
        before = self._costs.get(key) or Cost(day=day, purpose=entry.purpose, model=entry.model)
        self._costs[key] = replace(
            before,
            calls=before.calls + 1,
            tokens_in=before.tokens_in + entry.tokens_in,
            tokens_out=before.tokens_out + entry.tokens_out,
            cost=before.cost + entry.cost,
        )

    async def costs(self, since: date | None = None) -> list[Cost]:
        return [cost for (day, *_), cost in sorted(self._costs.items()) if since is None or day >= since]
