"""The word index of the SQLite store: FTS5 over stems that were made in Python."""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lamina.language.words import terms as terms_of
from lamina.protocols.store import MessageRow
from lamina.storage.relational_rows import MESSAGE, SUMMARY, message_row, summary_row
from lamina.storage.shared import text_of_row, whole_summaries
from lamina.storage.transaction import DamagedIndex, Transaction
from lamina.values.report import Problem
from lamina.values.session import Session
from lamina.values.summary import Summary

TABLES = ("message_words", "summary_words")


def owner_token(tenant: str, user_id: str) -> str:
    """One word that stands for a tenant's user in the word index."""
    return "o" + hashlib.sha256(f"{tenant}\0{user_id}".encode()).hexdigest()[:20]


def index_text(text: str) -> str:
    """The terms of a text as the word index keeps them."""
    found = " ".join(terms_of(text))
    return found if found.isascii() and "'" not in found else " ".join(map(token, found.split(" ")))


def token(term: str) -> str:
    """A term as one token, whatever SQLite takes for letters; the first letter keeps it apart from plain terms."""
    return term if term.isascii() and term.isalnum() else "\u00f8" + term.encode().hex()


class SqliteWords:
    """Words of all tenants of a file; an entry can only be taken out by who knows what was put in."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant

    def _owner(self, user_id: str) -> str:
        return owner_token(self._tenant, user_id)

    async def add_messages(self, tx: Transaction, user_id: str, texts: Sequence[tuple[int, str]]) -> None:
        owner = self._owner(user_id)
        await tx.many(
            "insert into message_words (rowid, owner, body) values (?, ?, ?)",
            [(place, owner, index_text(text)) for place, text in texts],
        )

    async def drop_message(self, tx: Transaction, user_id: str, place: int, text: str | None) -> bool:
        if text is not None:
            await tx.execute(
                "insert into message_words (message_words, rowid, owner, body) values ('delete', ?, ?, ?)",
                (place, self._owner(user_id), index_text(text)),
            )
        return text is not None

    async def add_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await tx.execute(
            "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
            (place, self._owner(summary.user_id), index_text(summary.text)),
        )

    async def drop_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await tx.execute(
            "insert into summary_words (summary_words, rowid, owner, body) values ('delete', ?, ?, ?)",
            (place, self._owner(summary.user_id), index_text(summary.text)),
        )

    async def forget_summary(self, tx: Transaction, user_id: str, place: int) -> bool:  # noqa: ARG002 - places are unique
        return await tx.row("select 1 from summary_words_docsize where id = ?", (place,)) is None

    # building anew: always for the whole file, because an entry whose text has changed cannot be taken out alone

    async def rebuild_messages(self, tx: Transaction, user_id: str = "") -> None:  # noqa: ARG002
        await tx.execute("insert into message_words (message_words) values ('delete-all')")
        for tenant, owner in await tx.rows("select distinct tenant, user_id from sessions"):
            found = await tx.rows(
                f"select place, {', '.join('messages.' + name for name in MESSAGE.split(', '))} from messages"
                " join sessions on sessions.tenant = messages.tenant and sessions.id = session_id"
                " where messages.tenant = ? and user_id = ?",
                (tenant, owner),
            )
            texts = [(place, text_of_row(message_row(row)) or "") for place, *row in found]
            await SqliteWords(tenant).add_messages(tx, owner, texts)

    async def rebuild_summaries(self, tx: Transaction, user_id: str = "") -> None:  # noqa: ARG002
        await tx.execute("insert into summary_words (summary_words) values ('delete-all')")
        live = await tx.rows(f"select tenant, place, {SUMMARY} from summaries where status = 'live'")
        for tenant, place, *row in live:
            for summary in whole_summaries([summary_row(row)]):
                await SqliteWords(tenant).add_summary(tx, place, summary)

    # whether it is whole

    async def lacking(self, tx: Transaction, session: Session, found: Sequence[MessageRow]) -> list[str]:
        key = {"tenant": self._tenant, "session": session.id}
        stale = await tx.rows(
            "select id from summaries where tenant = :tenant and session_id = :session and (status = 'live')"
            " <> exists (select 1 from summary_words_docsize where summary_words_docsize.id = place)",
            key,
        )
        places: dict[Any, Any] = dict(
            await tx.rows("select id, place from messages where tenant = :tenant and session_id = :session", key)
        )
        owner = self._owner(session.user_id)
        lacking = [row.id for row in found if not await _has_words(tx, places[row.id], owner, text_of_row(row) or "")]
        return [*lacking, *(row[0] for row in stale)]

    async def problems(self, tx: Transaction) -> list[Problem]:
        problems = []
        for table in TABLES:
            try:
                await tx.execute(f"insert into {table} ({table}) values ('integrity-check')")
            except sqlite3.DatabaseError as error:
                problems.append(Problem(kind="index", where=table, text=str(error), derived=True))
        return problems

    # finding

    async def frequency(self, tx: Transaction, user_id: str, terms: Sequence[str]) -> dict[str, int]:
        frequency = {}
        with _translate_damage():
            for term in terms:
                (frequency[term],) = await tx.one(
                    "select (select count(*) from message_words where message_words match :match)"
                    " + (select count(*) from summary_words where summary_words match :match)",
                    {"match": self._match(user_id, term)},
                )
        return frequency

    async def best(
        self, tx: Transaction, user_id: str, weights: Mapping[str, int], limit: int
    ) -> tuple[list[int], list[int]]:
        values = tuple(value for term, weight in weights.items() for value in (weight, self._match(user_id, term)))
        with _translate_damage():
            messages, summaries = [await tx.rows(_best_sql(table, len(weights)), (*values, limit)) for table in TABLES]
        return [row[0] for row in messages], [row[0] for row in summaries]

    def _match(self, user_id: str, term: str) -> str:
        return f'owner : {self._owner(user_id)} AND body : "{token(term)}"'


def merge(table: str, pages: int, connection: sqlite3.Connection) -> bool:
    """Write so many pages of an index anew, without what was taken out of it; whether more is to do.

    A negative number begins with all of it.
    """
    before = connection.total_changes
    connection.execute(f"insert into {table} ({table}, rank) values ('merge', ?)", (pages,))
    return connection.total_changes - before >= 2  # noqa: PLR2004 - one is the command itself


def _best_sql(table: str, terms: int) -> str:
    having = " union all ".join([f"select rowid as place, ? as weight from {table} where {table} match ?"] * terms)
    return f"select place from ({having}) group by place order by sum(weight) desc, place desc limit ?"


async def _has_words(tx: Transaction, place: int, owner: str, text: str) -> bool:
    """Whether the word index has this message, with its owner and (a sample of) its words."""
    found = terms_of(text)
    sample = dict.fromkeys([*found[:1], *found[len(found) // 2 : len(found) // 2 + 1], *found[-1:]])
    match = " AND ".join([f"owner : {owner}", *(f'body : "{token(term)}"' for term in sample)])
    sql = (
        "select 1 from message_words where message_words match ? and rowid = ?"
        " and exists (select 1 from message_words_docsize where id = ?)"
    )
    try:
        return await tx.row(sql, (match, place, place)) is not None
    except sqlite3.DatabaseError:  # the index itself is damaged
        return False


@contextmanager
def _translate_damage() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        raise DamagedIndex(str(error)) from error
