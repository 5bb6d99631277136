"""The word index of the PostgreSQL store: a row for each term of a text, so that a user's are found by equality."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from lamina.language.words import terms as terms_of
from lamina.protocols.store import MessageRow
from lamina.storage.relational_rows import MESSAGE, SUMMARY, message_row, summary_row
from lamina.storage.shared import text_of_row, whole_summaries
from lamina.storage.transaction import Transaction
from lamina.values.report import Problem
from lamina.values.session import Session
from lamina.values.summary import Summary

_LONGEST = 64  # characters of a term that are kept as they are
_PAGE = 1_000
_STRAY_MESSAGE = (
    "not exists (select 1 from messages as m join sessions as s on s.tenant = m.tenant and s.id = m.session_id"
    " where m.tenant = w.tenant and m.place = w.place and s.user_id = w.user_id)"
)
_STRAY_SUMMARY = (
    "not exists (select 1 from summaries as m where m.tenant = w.tenant and m.place = w.place"
    " and m.user_id = w.user_id and m.status = 'live')"
)


def token(term: str) -> str:
    """A term as it is kept; a very long one is hashed."""
    return term if len(term) <= _LONGEST else "\u00f8" + hashlib.sha256(term.encode()).hexdigest()


def tokens(text: str) -> set[str]:
    return set(map(token, terms_of(text)))


class PostgresWords:
    """Words of one tenant."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant

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
        known = "" if text is None else " and term = any(:terms)"
        await tx.execute(
            f"delete from {table} where tenant = :tenant and user_id = :user and place = :place{known}",
            {"tenant": self._tenant, "user": user_id, "place": place, "terms": sorted(tokens(text or ""))},
        )

    async def add_messages(self, tx: Transaction, user_id: str, texts: Sequence[tuple[int, str]]) -> None:
        await self._add(tx, "message_words", user_id, texts)

    async def drop_message(self, tx: Transaction, user_id: str, place: int, text: str | None) -> bool:
        await self._drop(tx, "message_words", user_id, place, text)
        return True

    async def add_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await self._add(tx, "summary_words", summary.user_id, [(place, summary.text)])

    async def drop_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await self._drop(tx, "summary_words", summary.user_id, place, summary.text)

    async def forget_summary(self, tx: Transaction, user_id: str, place: int) -> bool:
        await self._drop(tx, "summary_words", user_id, place, None)
        return True

    # building anew

    async def rebuild_messages(self, tx: Transaction, user_id: str) -> None:
        key = {"tenant": self._tenant, "user": user_id, "limit": _PAGE}
        await tx.execute("delete from message_words where tenant = :tenant and user_id = :user", key)
        columns = ", ".join("messages." + name for name in MESSAGE.split(", "))
        after = 0
        while page := await tx.rows(
            f"select place, {columns} from messages join sessions on sessions.tenant = messages.tenant"
            " and sessions.id = messages.session_id where messages.tenant = :tenant and user_id = :user"
            " and place > :after order by place limit :limit",
            {**key, "after": after},
        ):
            await self.add_messages(tx, user_id, [(place, text_of_row(message_row(row)) or "") for place, *row in page])
            after = page[-1][0]

    async def rebuild_summaries(self, tx: Transaction, user_id: str) -> None:
        key = {"tenant": self._tenant, "user": user_id}
        await tx.execute("delete from summary_words where tenant = :tenant and user_id = :user", key)
        live = await tx.rows(
            f"select place, {SUMMARY} from summaries where tenant = :tenant and user_id = :user and status = 'live'",
            key,
        )
        for place, *row in live:
            for summary in whole_summaries([summary_row(row)]):
                await self.add_summary(tx, place, summary)

    async def drop_strays(self, tx: Transaction) -> None:
        """Take out words of what is not there."""
        for table, stray in (("message_words", _STRAY_MESSAGE), ("summary_words", _STRAY_SUMMARY)):
            await tx.execute(f"delete from {table} as w where tenant = ? and {stray}", (self._tenant,))

    # whether it is whole

    async def lacking(self, tx: Transaction, session: Session, found: Sequence[MessageRow]) -> list[str]:
        key = {"tenant": self._tenant, "session": session.id}
        at = await tx.rows("select id, place from messages where tenant = :tenant and session_id = :session", key)
        places = dict(cast("list[tuple[str, int]]", at))
        wanted = {places[row.id]: tokens(text_of_row(row) or "") for row in found}
        there = await self._there(tx, "message_words", session.user_id, wanted)
        lacking = [row.id for row in found if there.get(places[row.id], 0) < len(wanted[places[row.id]])]
        rows = await tx.rows(
            f"select place, {SUMMARY} from summaries where tenant = :tenant and session_id = :session", key
        )
        kept = {place: one for place, *row in rows for one in whole_summaries([summary_row(row)])}
        wanted = {place: tokens(one.text) for place, one in kept.items()}
        there = await self._there(tx, "summary_words", session.user_id, wanted)
        stale = [
            one.id
            for place, one in kept.items()
            if there.get(place, 0) != (len(wanted[place]) if one.status == "live" else 0)
        ]
        return [*lacking, *stale]

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

    async def problems(self, tx: Transaction) -> list[Problem]:
        problems = []
        for table, stray in (("message_words", _STRAY_MESSAGE), ("summary_words", _STRAY_SUMMARY)):
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
            for table in ("message_words", "summary_words")
        ]
        return [row[0] for row in messages], [row[0] for row in summaries]
