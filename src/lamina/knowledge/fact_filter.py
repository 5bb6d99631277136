"""Which memories are wanted: a filter by type, category, tags, status, time and importance."""

from dataclasses import dataclass
from datetime import datetime

from lamina.values.fact import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are wanted; what is left empty does not restrict."""

    types: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()  # any of them
    statuses: frozenset[str] = frozenset()
    since: datetime | None = None  # learnt or happened at this time or later
    until: datetime | None = None  # before this time
    min_importance: float = 0.0

    @property
    def for_facts(self) -> bool:
        """Whether it asks for what only facts have."""
        return bool(self.types or self.categories or self.tags or self.statuses)

    def takes(self, fact: Fact) -> bool:
        return (
            (not self.types or fact.type in self.types)
            and (not self.categories or fact.category in self.categories)
            and (not self.tags or bool(self.tags.intersection(fact.tags)))
            and (not self.statuses or fact.status in self.statuses)
            and fact.importance >= self.min_importance
            and self.in_time(fact.learnt_at)
        )

    def in_time(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)
