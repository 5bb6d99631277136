"""Who did what, of the last requests that this process answered: never with what content."""

import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

lines = logging.getLogger("lamina.audit")

_MAX_KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One request: by which key, what, and how it ended."""

    at: datetime
    key: str | None  # its id; None: nobody needed one
    verb: str
    outcome: int
    request: str
    ms: float


class Audits:
    """Logs each request, and keeps the newest in memory."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, str | None, Audit]] = deque(maxlen=_MAX_KEPT)
        self._count = 0

    def add(self, audit: Audit, tenant: str | None) -> None:
        self._count += 1
        self._kept.append((self._count, tenant, audit))
        fields = {field: getattr(audit, field) for field in ("key", "verb", "outcome", "request", "ms")}
        lines.info("audit", extra={**fields, "tenant": tenant})

    def newest(self, tenant: str, before: int | None = None) -> Iterator[tuple[int, Audit]]:
        """What a tenant's callers did, the newest first, each with its number; `before`: those below that one."""
        for number, owner, audit in reversed([*self._kept]):
            if owner == tenant and (before is None or number < before):
                yield number, audit
