"""The word index of the PostgreSQL store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from lamina.storage.relational_words import TABLES, RowWords, token, tokens
from lamina.storage.transaction import Transaction
from lamina.types import Problem

_STRAY_MESSAGE = (
    "not exists (select 1 from messages as m join sessions as s on s.tenant = m.tenant and s.id = m.session_id"
    " where m.tenant = w.tenant and m.place = w.place and s.user_id = w.user_id)"
)
_STRAY_SUMMARY = (
    "not exists (select 1 from summaries as m where m.tenant = w.tenant and m.place = w.place"
    " and m.user_id = w.user_id and m.status = 'live')"
)


class PostgresWords(RowWords):
    """Words of one tenant."""

    async def _add(self, tx: Transaction, table: str, user_id: str, texts: Iterable[tuple[int, str]]) -> None:
        pairs = [(term, place) for place, text in texts for term in sorted(tokens(text))]
        if pairs:
            await tx.execute(
                f"insert into {table} (tenant, user_id, term, place) select :tenant, :user, term, place from"
                " unnest(cast(:terms as text[]), cast(:places as bigint[])) as t (term, place) on conflict do nothing",
                {
                    "tenant": self._tenant,
                    "user": user_id,
                    "terms": [term for term, _ in pairs],
                    "places": [place for _, place in pairs],
                },
            )

    async def _drop(self, tx: Transaction, table: str, user_id: str, place: int, text: str | None) -> None:
        """By its terms, which is quick; what else there may be of it goes by a look at all of the user's."""
        known = "" if text is None else " and term in (select value from json_each(:terms))"
        await tx.execute(
            f"delete from {table} where tenant = :tenant and user_id = :user and place = :place{known}",
            {"tenant": self._tenant, "user": user_id, "place": place, "terms": sorted(tokens(text or ""))},
        )

    async def _drop_all(self, tx: Transaction, table: str, user_id: str) -> None:
        await tx.execute(f"delete from {table} where tenant = ? and user_id = ?", (self._tenant, user_id))

    async def _there(self, tx: Transaction, table: str, user_id: str, wanted: Mapping[int, set[str]]) -> dict[int, int]:
        """How many of the terms of each place there are."""
        pairs = [(term, place) for place, terms in wanted.items() for term in terms]
        found = await tx.rows(
            "select w.place, count(*) from unnest(cast(:terms as text[]), cast(:places as bigint[])) as t (term, place)"
            f" join {table} as w on w.tenant = :tenant and w.user_id = :user and w.term = t.term and w.place = t.place"
            " group by w.place",
            {
                "tenant": self._tenant,
                "user": user_id,
                "terms": [term for term, _ in pairs],
                "places": [place for _, place in pairs],
            },
        )
        return dict(cast("list[tuple[int, int]]", found))

    async def drop_strays(self, tx: Transaction) -> None:
        """Take out words of what is not there."""
        for table, stray in zip(TABLES, (_STRAY_MESSAGE, _STRAY_SUMMARY), strict=True):
            await tx.execute(f"delete from {table} as w where tenant = ? and {stray}", (self._tenant,))

    async def problems(self, tx: Transaction) -> list[Problem]:
        problems = []
        for table, stray in zip(TABLES, (_STRAY_MESSAGE, _STRAY_SUMMARY), strict=True):
            (count,) = await tx.one(f"select count(*) from {table} as w where tenant = ? and {stray}", (self._tenant,))
            if count:
                text = f"{count} words are of nothing that their user has"
                problems.append(Problem(kind="index", where=table, text=text, derived=True))
        return problems

    # finding

    async def frequency(self, tx: Transaction, user_id: str, terms: Sequence[str]) -> dict[str, int]:
        count = "(select count(*) from {} as w where w.tenant = :tenant and w.user_id = :user and w.term = t.term)"
        found = await tx.rows(
            f"select {count.format('message_words')} + {count.format('summary_words')}"
            " from unnest(cast(:terms as text[])) with ordinality as t (term, number) order by number",
            {"tenant": self._tenant, "user": user_id, "terms": list(map(token, terms))},
        )
        return {term: counted for term, (counted,) in zip(terms, found, strict=True)}

    async def best(
        self, tx: Transaction, user_id: str, weights: Mapping[str, int], limit: int
    ) -> tuple[list[int], list[int]]:
        messages, summaries = [
            await tx.rows(
                "select w.place from unnest(cast(:terms as text[]), cast(:weights as bigint[])) as t (term, weight)"
                f" join {table} as w on w.tenant = :tenant and w.user_id = :user and w.term = t.term"
                " group by w.place order by sum(t.weight) desc, w.place desc limit :limit",
                {
                    "tenant": self._tenant,
                    "user": user_id,
                    "terms": list(map(token, weights)),
                    "weights": list(weights.values()),
                    "limit": limit,
                },
            )
            for table in TABLES
        ]
        return [row[0] for row in messages], [row[0] for row in summaries]
