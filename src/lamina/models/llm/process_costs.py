"""What calls have cost, kept in the process."""

import threading
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from lamina.protocols.models import LedgerEntry
from lamina.values.cost import Purpose

_NEWEST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What the calls of one tenant, purpose and model came to."""

    tenant: str
    purpose: Purpose
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


@dataclass(slots=True)
class _Account:
    times: list[datetime] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)  # of all costs up to that time


class MemoryLedger:
    """A ledger that lives as long as the process; any number of memories may share it."""

    def __init__(self) -> None:
        self.entries: deque[LedgerEntry] = deque(maxlen=_NEWEST)  # the newest calls
        self._accounts: dict[str, _Account] = {}
        self._totals: dict[tuple[str, Purpose, str], Total] = {}
        self._lock = threading.Lock()

    async def add(self, entry: LedgerEntry) -> None:
        with self._lock:
            self.entries.append(entry)
            account = self._accounts.setdefault(entry.tenant, _Account())
            at = max(entry.at, account.times[-1]) if account.times else entry.at
            account.times.append(at)
            account.sums.append((account.sums[-1] if account.sums else 0.0) + entry.cost)
            key = (entry.tenant, entry.purpose, entry.model)
            self._totals[key] = _more(self._totals.get(key), entry)

    async def spent(self, tenant: str, since: datetime) -> float:
        with self._lock:
            account = self._accounts.get(tenant)
            if account is None:
                return 0.0
            before = bisect_left(account.times, since)
            return account.sums[-1] - (account.sums[before - 1] if before else 0.0)

    def totals(self) -> list[Total]:
        """What was spent by tenant, purpose and model."""
        with self._lock:
            return list(self._totals.values())


def _more(known: Total | None, entry: LedgerEntry) -> Total:
    return Total(
        tenant=entry.tenant,
        purpose=entry.purpose,
        model=entry.model,
        calls=(known.calls if known else 0) + 1,
        tokens_in=(known.tokens_in if known else 0) + entry.tokens_in,
        tokens_out=(known.tokens_out if known else 0) + entry.tokens_out,
        cost=(known.cost if known else 0.0) + entry.cost,
    )
