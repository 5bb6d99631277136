"""The word index of the SQLite store: a table without row numbers, in the order of its key."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from lamina.storage.relational_words import TABLES, RowWords, token, tokens
from lamina.storage.transaction import Transaction
from lamina.types import Problem

_OF = {"message_words": "messages", "summary_words": "summaries where status = 'live'"}  # what each has words of
_SEVERAL = 1_000


def owner_number(tenant: str, user_id: str) -> int:
    """What stands for a tenant's user in the word index: shorter than their names in each of many rows."""
    return int.from_bytes(hashlib.sha256(f"{tenant}\0{user_id}".encode()).digest()[:8], "big", signed=True)


class SqliteWords(RowWords):
    """Words of one tenant, in tables that all tenants share."""

    def _owner(self, user_id: str) -> int:
        return owner_number(self._tenant, user_id)

    async def _add(self, tx: Transaction, table: str, user_id: str, texts: Iterable[tuple[int, str]]) -> None:
        owner = self._owner(user_id)
        await tx.many(
            f"insert into {table} (owner, term, place) values (?, ?, ?) on conflict do nothing",
            sorted((owner, term, place) for place, text in texts for term in tokens(text)),  # as the table is
        )

    async def _drop(self, tx: Transaction, table: str, user_id: str, place: int, text: str | None) -> None:
        known = "" if text is None else " and term in (select value from json_each(:terms))"
        await tx.execute(
            f"delete from {table} where owner = :owner and place = :place{known}",
            {"owner": self._owner(user_id), "place": place, "terms": json.dumps(sorted(tokens(text or "")))},
        )

    async def _drop_all(self, tx: Transaction, table: str, user_id: str) -> None:
        await tx.execute(f"delete from {table} where owner = ?", (self._owner(user_id),))

    async def _there(self, tx: Transaction, table: str, user_id: str, wanted: Mapping[int, set[str]]) -> dict[int, int]:
        pairs = [(term, place) for place, terms in wanted.items() for term in terms]
        found = await tx.rows(
            "select w.place, count(*) from (select json_extract(value, '$[0]') as term,"
            f" json_extract(value, '$[1]') as place from json_each(:pairs)) as t join {table} as w"
            " on w.owner = :owner and w.term = t.term and w.place = t.place group by w.place",
            {"owner": self._owner(user_id), "pairs": json.dumps(pairs)},
        )
        return dict(cast("list[tuple[int, int]]", found))

    async def problems(self, tx: Transaction) -> list[Problem]:
        problems = []
        for table in TABLES:
            found = await self.strays(tx, table)
            if found:
                text = f"{len(found)} words or more are of nothing that is there"
                problems.append(Problem(kind="index", where=table, text=text, derived=True))
        return problems

    async def strays(self, tx: Transaction, table: str) -> list[tuple[int, str, int]]:
        """Some words of what is not there, of whichever tenant."""
        found = await tx.rows(
            f"select owner, term, place from {table} where place not in (select place from {_OF[table]}) limit ?",
            (_SEVERAL,),
        )
        return cast("list[tuple[int, str, int]]", found)

    async def drop_strays(self, tx: Transaction, table: str, strays: Sequence[tuple[int, str, int]]) -> None:
        await tx.many(
            f"delete from {table} where owner = ? and term = ? and place = ?"
            f" and place not in (select place from {_OF[table]})",
            strays,
        )

    # finding

    async def frequency(self, tx: Transaction, user_id: str, terms: Sequence[str]) -> dict[str, int]:
        frequency = {}
        for term in terms:
            (frequency[term],) = await tx.one(
                "select (select count(*) from message_words where owner = :owner and term = :term)"
                " + (select count(*) from summary_words where owner = :owner and term = :term)",
                {"owner": self._owner(user_id), "term": token(term)},
            )
        return frequency

    async def best(
        self, tx: Transaction, user_id: str, weights: Mapping[str, int], limit: int
    ) -> tuple[list[int], list[int]]:
        owner = self._owner(user_id)
        values = tuple(value for term, weight in weights.items() for value in (weight, owner, token(term)))
        messages, summaries = [await tx.rows(_best_sql(table, len(weights)), (*values, limit)) for table in TABLES]
        return [row[0] for row in messages], [row[0] for row in summaries]


def _best_sql(table: str, terms: int) -> str:
    having = " union all ".join([f"select place, ? as weight from {table} where owner = ? and term = ?"] * terms)
    return f"select place from ({having}) group by place order by sum(weight) desc, place desc limit ?"
