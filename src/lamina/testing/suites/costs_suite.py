"""What models cost."""

from dataclasses import replace
from datetime import datetime, timedelta

from lamina.protocols.models import LedgerEntry
from lamina.protocols.store import Store
from lamina.testing.samples import at
from lamina.testing.suites.checks_suite import Suite
from lamina.values.cost import Cost, Purpose

ENTRY = LedgerEntry(
    at=at(0), tenant="default", purpose="summary", model="small", tokens_in=100, tokens_out=20, cost=0.25
)


class Costs(Suite):
    """Sums by day, purpose and model."""

    async def test_calls_of_a_day_are_summed(self, store: Store, neighbour: Store) -> None:
        """For each purpose and model; a day is one of UTC; other tenants have their own."""
        day = at(0).date()
        later = at(0) + timedelta(days=1)
        calls: list[tuple[datetime, Purpose]]
        calls = [(at(0), "summary"), (at(1), "summary"), (at(1), "facts"), (later, "summary")]
        for when, purpose in calls:
            await store.add_cost(replace(ENTRY, at=when, purpose=purpose))
        one = Cost(day=day, purpose="facts", model="small", calls=1, tokens_in=100, tokens_out=20, cost=0.25)
        assert await store.costs() == [
            one,
            replace(one, purpose="summary", calls=2, tokens_in=200, tokens_out=40, cost=0.5),
            replace(one, purpose="summary", day=later.date()),
        ]
        assert [cost.calls for cost in await store.costs(later.date())] == [1]
        assert await neighbour.costs() == []
