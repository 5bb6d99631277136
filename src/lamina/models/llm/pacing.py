"""When a server may be called: rate limits, and a circuit breaker. The time is always an argument."""

import threading
from email.utils import parsedate_to_datetime

MAX_WAIT = 8.0  # seconds before a call is tried again, unless the server asks for more


class Bucket:
    """A token bucket that refills evenly and has a minute's worth at most; whoever takes more has to wait."""

    def __init__(self, per_minute: int | None) -> None:
        self._most = float(per_minute or 0)
        self._left = self._most
        self._at: float | None = None
        self._lock = threading.Lock()

    def take(self, number: float, now: float) -> float:
        """Take some, and return how many seconds to wait before using them. A negative number gives back."""
        if not self._most:
            return 0.0
        with self._lock:
            elapsed = max(0.0, now - self._at) if self._at is not None else 0.0
            self._at = now
            self._left = min(self._most, self._left + elapsed * self._most / 60) - min(number, self._most)
            return max(0.0, -self._left * 60 / self._most)


class Breaker:
    """Opens after some failures in a row; after a while one call may try, and closes it by succeeding."""

    def __init__(self, failures: int, seconds: float) -> None:
        self._most = failures
        self._seconds = seconds
        self._failures = 0
        self._opened: float | None = None
        self._trying = False
        self._lock = threading.Lock()

    def refusal(self, now: float) -> float | None:
        """None if a call may go out, whose outcome must be recorded; else the seconds until one may."""
        with self._lock:
            if self._opened is None:
                return None
            left = self._opened + self._seconds - now
            if left > 0 or self._trying:
                return max(left, 0.0)
            self._trying = True
            return None

    def record_success(self) -> None:
        with self._lock:
            self._failures, self._opened, self._trying = 0, None, False

    def record_failure(self, now: float) -> None:
        with self._lock:
            self._failures += 1
            if self._trying or self._failures >= self._most:
                self._opened = now
            self._trying = False

    def release(self) -> None:
        """A call was given up without an outcome."""
        with self._lock:
            self._trying = False


def backoff(attempt: int, seconds: float, chance: float) -> float:
    """How long to wait before a call is tried again, with `chance` from 0 to 1 so that not all come at once."""
    return min(MAX_WAIT, seconds * 2.0 ** min(attempt, 20)) * (0.5 + chance / 2)


def retry_after(headers: dict[str, str], now: float) -> float | None:
    """How long the server asks to wait; `now` is in seconds since 1970."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now)
    except ValueError:
        return None
