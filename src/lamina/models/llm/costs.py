"""What models have cost: kept in the store, so that a budget holds over restarts and over all processes."""

import logging
from datetime import datetime

from lamina.errors import StoreError
from lamina.language.times import day_of
from lamina.protocols.models import LedgerEntry
from lamina.protocols.store import Store

logger = logging.getLogger("lamina.llm")


class StoreLedger:
    """The ledger of one tenant's store; days are those of UTC."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, entry: LedgerEntry) -> None:
        """Record a call. It is paid for already: that it could not be counted is no reason to call again."""
        try:
            await self._store.add_cost(entry)
        except StoreError as error:
            detail = {"purpose": entry.purpose, "model": entry.model, "reason": str(error)}
            logger.warning("cost_not_kept", extra=detail)

    async def cost_since(self, tenant: str, since: datetime) -> float:  # noqa: ARG002 - a store is of one tenant
        """What the calls have cost since the beginning of that day."""
        return sum(one.cost for one in await self._store.costs(day_of(since)))
