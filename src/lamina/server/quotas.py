"""Quotas of requests at once and of bytes in memory: so much in all, and so much of it for one key."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class QuotaExceeded(Exception):
    """There is no more: for this key (`own`), or for anybody."""

    def __init__(self, *, own: bool) -> None:
        super().__init__("own" if own else "all")
        self.own = own


class Quota:
    """Counts what is taken and not yet released."""

    def __init__(self, total: int, each: int) -> None:
        self._total, self.each = total, each
        self._taken = 0
        self._taken_by: Counter[str] = Counter()

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """One of the total, whoever it is for."""
        if self._taken >= self._total:
            raise QuotaExceeded(own=False)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    @contextmanager
    def reserve_for(self, key_id: str) -> Iterator[None]:
        """One of a key's own, besides the one of the total."""
        if self._taken_by[key_id] >= self.each:
            raise QuotaExceeded(own=True)
        self._taken_by[key_id] += 1
        try:
            yield
        finally:
            self._subtract(key_id, 1)

    def take(self, key_id: str, amount: int) -> None:
        """So much of the total and of a key's own, to be released."""
        own = self._taken_by[key_id] + amount > self.each
        if own or self._taken + amount > self._total:
            raise QuotaExceeded(own=own)
        self._taken += amount
        self._taken_by[key_id] += amount

    def release(self, key_id: str, amount: int) -> None:
        self._taken -= amount
        self._subtract(key_id, amount)

    def _subtract(self, key_id: str, amount: int) -> None:
        self._taken_by[key_id] -= amount
        if not self._taken_by[key_id]:
            del self._taken_by[key_id]
