"""A word index of rows, one for each term of a text, so that a user's are found by equality and go one by one."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from lamina.policy.words import terms as terms_of
from lamina.ports import MessageRow
from lamina.storage.relational_rows import MESSAGE, SUMMARY, message_row, summary_row
from lamina.storage.shared import text_of_row, whole_summaries
from lamina.storage.transaction import Transaction
from lamina.types import Session, Summary

TABLES = ("message_words", "summary_words")
_LONGEST = 64  # characters of a term that are kept as they are
_PAGE = 1_000


def token(term: str) -> str:
    """A term as it is kept; a very long one is hashed."""
    return term if len(term) <= _LONGEST else "\u00f8" + hashlib.sha256(term.encode()).hexdigest()


def tokens(text: str) -> set[str]:
    return set(map(token, terms_of(text)))


class RowWords:
    """Words of one tenant; each database has its own way to ask for many rows at once."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant

    async def _add(self, tx: Transaction, table: str, user_id: str, texts: Iterable[tuple[int, str]]) -> None:
        """Add the terms of texts by their places; those that are there stay."""
        raise NotImplementedError

    async def _drop(self, tx: Transaction, table: str, user_id: str, place: int, text: str | None) -> None:
        """By its terms, which is quick; if they are not known, by a look at all of the user's."""
        raise NotImplementedError

    async def _drop_all(self, tx: Transaction, table: str, user_id: str) -> None:
        raise NotImplementedError

    async def _there(self, tx: Transaction, table: str, user_id: str, wanted: Mapping[int, set[str]]) -> dict[int, int]:
        """How many of the terms of each place there are."""
        raise NotImplementedError

    async def add_messages(self, tx: Transaction, user_id: str, texts: Sequence[tuple[int, str]]) -> None:
        await self._add(tx, "message_words", user_id, texts)

    async def drop_message(self, tx: Transaction, user_id: str, place: int, text: str | None) -> None:
        await self._drop(tx, "message_words", user_id, place, text)

    async def add_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await self._add(tx, "summary_words", summary.user_id, [(place, summary.text)])

    async def drop_summary(self, tx: Transaction, place: int, summary: Summary) -> None:
        await self._drop(tx, "summary_words", summary.user_id, place, summary.text)

    async def forget_summary(self, tx: Transaction, user_id: str, place: int) -> None:
        await self._drop(tx, "summary_words", user_id, place, None)

    # building anew

    async def rebuild_messages(self, tx: Transaction, user_id: str) -> None:
        key = {"tenant": self._tenant, "user": user_id, "limit": _PAGE}
        await self._drop_all(tx, "message_words", user_id)
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
        await self._drop_all(tx, "summary_words", user_id)
        live = await tx.rows(
            f"select place, {SUMMARY} from summaries where tenant = :tenant and user_id = :user and status = 'live'",
            key,
        )
        for place, *row in live:
            for summary in whole_summaries([summary_row(row)]):
                await self.add_summary(tx, place, summary)

    # whether it is whole

    async def lacking(self, tx: Transaction, session: Session, found: Sequence[MessageRow]) -> list[str]:
        key = {"tenant": self._tenant, "session": session.id}
        at = await tx.rows("select id, place from messages where tenant = :tenant and session_id = :session", key)
        places = dict(cast("list[tuple[str, int]]", at))
        wanted = {places[row.id]: tokens(text_of_row(row) or "") for row in found}
        there = await self._counted(tx, "message_words", session.user_id, wanted)
        lacking = [row.id for row in found if there.get(places[row.id], 0) < len(wanted[places[row.id]])]
        rows = await tx.rows(
            f"select place, {SUMMARY} from summaries where tenant = :tenant and session_id = :session", key
        )
        kept = {place: one for place, *row in rows for one in whole_summaries([summary_row(row)])}
        wanted = {place: tokens(one.text) for place, one in kept.items()}
        there = await self._counted(tx, "summary_words", session.user_id, wanted)
        stale = [
            one.id
            for place, one in kept.items()
            if there.get(place, 0) != (len(wanted[place]) if one.status == "live" else 0)
        ]
        return [*lacking, *stale]

    async def _counted(
        self, tx: Transaction, table: str, user_id: str, wanted: Mapping[int, set[str]]
    ) -> dict[int, int]:
        places = sorted(wanted)
        found: dict[int, int] = {}
        for start in range(0, len(places), _PAGE):
            page = {place: wanted[place] for place in places[start : start + _PAGE]}
            found |= await self._there(tx, table, user_id, page)
        return found
