"""Messages that take the place of others, in the transaction that appends them."""

from collections.abc import Sequence

from lamina.log import chain
from lamina.protocols.store import Replacement
from lamina.storage.relational_erasing import Erasing, Losses
from lamina.storage.relational_rows import MESSAGE, message_row
from lamina.storage.shared import whole_messages
from lamina.storage.transaction import Transaction
from lamina.values.session import Session


class Replacing(Erasing):
    """Takes away what is to be replaced. That is no forgetting: there is no receipt, and no value is blocked."""

    async def _replace(self, tx: Transaction, session: Session, replaces: Replacement) -> tuple[Session, bytes]:
        """The session without its messages, or with them in other words, and the end of its chain."""
        gone = Losses()
        if replaces.earlier is None:
            await self._take_messages(tx, session, gone)
        else:
            await self._reword_messages(tx, session, replaces, gone)
        await self._erase_facts(tx, session.user_id, await self._said_in(tx, gone.messages), gone)
        await self._erase_episodes(tx, session.user_id, await self._told_in(tx, session, gone.messages), gone)
        await self._unlink(tx, [*gone.fact_ids, *gone.episodes])
        await self._settle(tx, session.user_id, gone.slots, replaces.settle)
        await tx.execute("delete from proposals where tenant = ? and session_id = ?", (self.tenant, session.id))
        await self._mend_words(tx, session.user_id, gone)
        await self._cut(tx, session.user_id, [session.id])
        (digest,) = await tx.one("select digest from sessions where tenant = ? and id = ?", (self.tenant, session.id))
        return await self._require_session(tx, session.id), digest

    async def _take_messages(self, tx: Transaction, session: Session, gone: Losses) -> None:
        key = (self.tenant, session.id)
        found = await tx.rows(f"select place, {MESSAGE} from messages where tenant = ? and session_id = ?", key)
        for place, *raw in found:
            row = message_row(raw)
            await self._unindex_message(tx, session.user_id, place, row, gone)
            gone.messages.append(row.id)
        await tx.execute("delete from messages where tenant = ? and session_id = ?", key)
        await tx.execute(
            "update sessions set messages = 0, turns = 0, tokens = 0, closed = 1, extracted = 0, digest = ?,"
            " erasures = erasures + 1 where tenant = ? and id = ?",
            (chain.first_digest(session.id), *key),
        )
        await self._unfold_from(tx, session.id, 0, gone)

    async def _reword_messages(self, tx: Transaction, session: Session, replaces: Replacement, gone: Losses) -> None:
        assert replaces.earlier is not None
        found = await tx.rows(
            f"select {MESSAGE} from messages where tenant = :tenant and session_id = :id and seq > coalesce("
            "(select seq from messages where tenant = :tenant and session_id = :id and erased is not null"
            " order by seq desc limit 1), 0) order by seq",
            {"tenant": self.tenant, "id": session.id},
        )
        tokens = 0
        for message in whole_messages(map(message_row, found)):
            change = replaces.earlier(message)
            await self._rewrite(tx, session.user_id, change, gone)
            gone.messages.append(message.id)
            tokens += change.tokens - message.tokens
        await tx.execute(
            "update sessions set tokens = tokens + ?, erasures = erasures + 1 where tenant = ? and id = ?",
            (tokens, self.tenant, session.id),
        )
        if found and message_row(found[0]).seq <= session.counters.cursor:
            await self._unfold_from(tx, session.id, message_row(found[0]).seq, gone)

    async def _said_in(self, tx: Transaction, message_ids: Sequence[str]) -> list[str]:
        sql = "select id from facts where tenant = ? and message_id in (select value from json_each(?))"
        return [row[0] for row in await tx.rows(sql, (self.tenant, tx.listed(message_ids)))]

    async def _told_in(self, tx: Transaction, session: Session, message_ids: Sequence[str]) -> list[str]:
        found = await self._episodes(tx, session.user_id, session.id)
        return [one.id for one in found if set(message_ids).intersection(one.message_ids)]
