"""Rate limits: a bucket of requests for each caller, refilled evenly over a minute."""

import math
from collections import OrderedDict
from dataclasses import dataclass

_WINDOW_S = 60
_MAX_CALLERS = 100_000  # who are remembered


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a caller has left, in the words of the IETF's draft on RateLimit header fields."""

    quota: int
    left: int
    full_s: int  # until all of it is there again
    wait_s: int  # until there is one more; 0: this request is allowed

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"minute";q={self.quota};w={_WINDOW_S}',
            "RateLimit": f'"minute";r={self.left};t={self.full_s}',
        }


class RateLimiter:
    """Counts the requests of each caller."""

    def __init__(self, per_minute: int) -> None:
        self._quota = per_minute
        self._callers: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was left, and when

    def take(self, caller: str, now: float) -> Allowance:
        """Count one request, if there is one left."""
        each = _WINDOW_S / self._quota
        left, then = self._callers.pop(caller, (float(self._quota), now))
        left = min(float(self._quota), left + (now - then) / each)
        allowed = left >= 1
        left -= allowed
        self._callers[caller] = (left, now)
        if len(self._callers) > _MAX_CALLERS:
            self._callers.popitem(last=False)
        return Allowance(
            quota=self._quota,
            left=int(left),
            full_s=math.ceil((self._quota - left) * each),
            wait_s=0 if allowed else max(1, math.ceil((1 - left) * each)),
        )
