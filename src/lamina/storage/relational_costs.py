"""What models cost, in a relational database."""

from datetime import date
from typing import cast

from lamina.language.times import day_of
from lamina.protocols.models import LedgerEntry
from lamina.storage.relational_keys import KeyTables
from lamina.values.cost import Cost, Purpose


class CostTables(KeyTables):
    """Sums by day: what a call said is not kept."""

    async def add_cost(self, entry: LedgerEntry) -> None:
        key = (self.tenant, day_of(entry.at).isoformat(), entry.purpose, entry.model)
        await self._database.write(
            lambda tx: tx.execute(
                "insert into costs (tenant, day, purpose, model, calls, tokens_in, tokens_out, cost)"
                " values (?, ?, ?, ?, 1, ?, ?, ?) on conflict (tenant, day, purpose, model) do update set"
                " calls = costs.calls + 1, tokens_in = costs.tokens_in + excluded.tokens_in,"
                " tokens_out = costs.tokens_out + excluded.tokens_out, cost = costs.cost + excluded.cost",
                (*key, entry.tokens_in, entry.tokens_out, entry.cost),
            )
        )

    async def costs(self, since: date | None = None) -> list[Cost]:
        found = await self._database.read(
            lambda tx: tx.rows(
                "select day, purpose, model, calls, tokens_in, tokens_out, cost from costs"
                " where tenant = ? and day >= ? order by day, purpose, model",
                (self.tenant, "" if since is None else since.isoformat()),
            )
        )
        return [
            Cost(
                day=date.fromisoformat(day),
                purpose=cast("Purpose", purpose),
                model=model,
                calls=calls,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                cost=cost,
            )
            for day, purpose, model, calls, tokens_in, tokens_out, cost in found
        ]
