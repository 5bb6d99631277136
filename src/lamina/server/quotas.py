"""What callers share: so much in all, and so much of it for one of them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Full(Exception):
    """There is no more: for this caller (`own`), or for anybody."""

    def __init__(self, *, own: bool) -> None:
        super().__init__("own" if own else "all")
        self.own = own


class Shares:
    """Counts what is taken and not yet given back."""

    def __init__(self, most: int, each: int) -> None:
        self._most, self.each = most, each
        self._taken = 0
        self._own: Counter[str] = Counter()

    @contextmanager
    def one(self) -> Iterator[None]:
        """One of all, for whoever it is."""
        if self._taken >= self._most:
            raise Full(own=False)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    @contextmanager
    def one_of(self, whose: str) -> Iterator[None]:
        """One of a caller's own, beside the one of all."""
        if self._own[whose] >= self.each:
            raise Full(own=True)
        self._own[whose] += 1
        try:
            yield
        finally:
            self._own_back(whose, 1)

    def take(self, whose: str, amount: int) -> None:
        """So much of all and of a caller's own, to be given back."""
        if self._own[whose] + amount > self.each or self._taken + amount > self._most:
            raise Full(own=self._own[whose] + amount > self.each)
        self._taken += amount
        self._own[whose] += amount

    def give(self, whose: str, amount: int) -> None:
        self._taken -= amount
        self._own_back(whose, amount)

    def _own_back(self, whose: str, amount: int) -> None:
        self._own[whose] -= amount
        if not self._own[whose]:
            del self._own[whose]
