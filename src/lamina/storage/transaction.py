"""The seam between the verbs, which are written once, and the databases that they are sent to.

SQL is written in what SQLite and PostgreSQL have in common, with `?` or `:name` for values. Where they differ, both
texts stand beside each other as `Sql`, and `pick` gives that of the transaction's database. A list is one value, made
by `array` and compared by `among`: `f"select id from facts where tenant = ? and id {tx.among('?')}"`.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from lamina.protocols.store import MessageRow
from lamina.values.report import Problem
from lamina.values.session import Session
from lamina.values.summary import Summary

T = TypeVar("T")

Values = tuple[Any, ...] | Mapping[str, Any]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """A statement, or a piece of one, that the databases write differently."""

    sqlite: str
    postgres: str


UNINDEXED_ID = Sql(sqlite="+id", postgres="id")  # keeps SQLite from the index of ids, where another one is better


class Transaction(Protocol):
    """One transaction on a database, for one tenant."""

    tenant: str
    words: "WordIndex"

    async def rows(self, sql: str, values: Values = ()) -> list[Row]: ...

    async def row(self, sql: str, values: Values = ()) -> Row | None:
        """The first row, if there is any."""
        ...

    async def one(self, sql: str, values: Values = ()) -> Row:
        """The row of a query that always has one."""
        ...

    async def execute(self, sql: str, values: Values = ()) -> int:
        """How many rows it changed."""
        ...

    async def many(self, sql: str, values: Sequence[Values]) -> None:
        """Run it once for each of the values."""
        ...

    def pick(self, text: Sql) -> str:
        """The text for this database."""
        ...

    def array(self, values: Iterable[Any]) -> Any:
        """A list as one value."""
        ...

    def among(self, values: str) -> str:
        """The condition that a column is one of an `array`, whose place in the statement is `?` or `:name`."""
        ...

    async def insert_vectors(self, rows: Sequence[Row]) -> None:
        """Rows of tenant, user, embedder, item, session, number and vector."""
        ...

    async def places(self, table: str, count: int) -> Sequence[int]:
        """So many new places at the end of a table."""
        ...

    async def alone_in_tenant(self) -> None:
        """Until the end, no other transaction does what has to be done by one at a time in the whole tenant."""
        ...

    async def hold_sessions(self, user_id: str) -> None:
        """Until the end, no other transaction changes a session of this user."""
        ...

    ordered: str  # ends a query for rows that are to be changed: they are held in its order
    free: str  # the same, passing over those that others hold


Work = Callable[[Transaction], Awaitable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Whose memory is written: a user's, that of a session's user, or those of the users of some items.

    With `again` it does no harm if the work is run once more after it was kept.
    """

    user: str | None = None
    session: str | None = None
    items: Sequence[str] = ()
    again: bool = False


NOBODY = About()


class Database(Protocol):
    """Runs work in transactions; what is written of one user is written one after the other."""

    def read(self, work: Work[T]) -> Coroutine[Any, Any, T]:
        """Run `work` on one consistent state."""
        ...

    def write(self, work: Work[T], about: About = NOBODY) -> Coroutine[Any, Any, T]:
        """Run `work`; all of it is kept, or nothing."""
        ...


class DamagedIndex(Exception):
    """The word index cannot be read; it is derived, and can be built again."""


class WordIndex(Protocol):
    """Finds messages and live summaries of a user by their terms."""

    async def add_messages(self, tx: Transaction, user_id: str, texts: Sequence[tuple[int, str]]) -> None:
        """Add texts by their places."""
        ...

    async def drop_message(self, tx: Transaction, user_id: str, place: int, text: str | None) -> bool:
        """Take a message out; False if that cannot be done alone, e.g. because its text is not known."""
        ...

    async def add_summary(self, tx: Transaction, place: int, summary: Summary) -> None: ...

    async def drop_summary(self, tx: Transaction, place: int, summary: Summary) -> None: ...

    async def forget_summary(self, tx: Transaction, user_id: str, place: int) -> bool:
        """See that nothing is left of a summary that is gone; False if that cannot be done alone."""
        ...

    async def rebuild_messages(self, tx: Transaction, user_id: str) -> None:
        """Build the index of messages anew, at least that of this user."""
        ...

    async def rebuild_summaries(self, tx: Transaction, user_id: str) -> None: ...

    async def lacking(self, tx: Transaction, session: Session, found: Sequence[MessageRow]) -> list[str]:
        """Ids of a session's messages and summaries of which it has too little or too much."""
        ...

    async def problems(self, tx: Transaction) -> list[Problem]: ...

    async def frequency(self, tx: Transaction, user_id: str, terms: Sequence[str]) -> dict[str, int]:
        """How many messages and summaries have each term."""
        ...

    async def best(
        self, tx: Transaction, user_id: str, weights: Mapping[str, int], limit: int
    ) -> tuple[list[int], list[int]]:
        """The places of up to so many messages, and summaries, whose terms weigh most; of equals the newest."""
        ...
