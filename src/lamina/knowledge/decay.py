"""How fresh a memory is: it halves with every half life since its last use, and each use lifts it again."""

from datetime import datetime, timedelta
from typing import Any

from lamina.values.fact import Episode, Fact

HALF_LIFE_DAYS = 30.0
_LIFT = 0.1  # for each access
_MAX_LIFT = 0.5
_DAY = timedelta(days=1)


def decay(accesses: int, last: datetime, now: datetime, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """The freshness of a memory last used at `last`: 1 just used, 0 long forgotten."""
    days = max((now - last) / _DAY, 0.0)
    lift = min(_LIFT * max(accesses, 0), _MAX_LIFT)
    return min(1.0, float(fade(days, half_life_days)) + lift)


def freshness(item: Fact | Episode, now: datetime, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """The freshness of a memory since it was last used, or came into this memory, however old what it tells of is."""
    return decay(item.accesses, last_use(item), now, half_life_days)


def last_use(item: Fact | Episode) -> datetime:
    """When a memory was last used, or else came into this memory."""
    return item.created_at if item.accessed_at is None else max(item.accessed_at, item.created_at)


def fade(days: Any, half_life_days: float) -> Any:
    """What is left after `days`, a number or an array of them: a half after every half life."""
    if half_life_days <= 0:  # nothing lasts
        return (days <= 0) * 1.0
    return 0.5 ** (days / half_life_days)
