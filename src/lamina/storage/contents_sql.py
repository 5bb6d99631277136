"""Everything of a user, read in one transaction."""

from collections.abc import Sequence

from lamina.protocols.store import Contents, MessageRow
from lamina.storage import facts_sql, folding_sql, sessions_sql, summaries_sql
from lamina.storage.relational_rows import MESSAGE, SESSION, message_row, session_value
from lamina.storage.shared import whole_messages
from lamina.storage.transaction import Transaction
from lamina.values.message import Message


async def contents(
    tx: Transaction,
    user_id: str,
    session_id: str | None = None,
    *,
    after: tuple[str, int] | None = None,
    limit: int = 500,
) -> Contents:
    found = await tx.rows(
        f"select {SESSION} from sessions where tenant = :tenant and user_id = :user"
        " and (cast(:session as text) is null or id = :session) order by id",
        {"tenant": tx.tenant, "user": user_id, "session": session_id},
    )
    sessions = [session_value(row) for row in found]
    ids = [session.id for session in sessions]
    messages, place = await _page(tx, ids, after, limit)
    if after is not None:
        return Contents(messages=messages, next=place)
    return Contents(
        messages=messages,
        next=place,
        sessions=tuple(sessions),
        summaries=tuple([one for key in ids for one in await summaries_sql.summaries(tx, key, live=False)]),
        digests=tuple(await summaries_sql.newest_digests(tx, user_id, limit=1000)),
        facts=tuple(await facts_sql.facts(tx, user_id, session_id)),
        episodes=tuple(await facts_sql.episodes(tx, user_id, session_id)),
        milestones=tuple([one for key in ids for one in await sessions_sql.milestones(tx, key)]),
        proposals=tuple([one for key in ids for one in await folding_sql.proposals(tx, key)]),
    )


async def _page(
    tx: Transaction, sessions: Sequence[str], after: tuple[str, int] | None, limit: int
) -> tuple[tuple[Message, ...], tuple[str, int] | None]:
    """Messages of sessions in their order, and the place of the last one if there are more."""
    first, seq = after or ("", 0)
    rows: list[MessageRow] = []
    for session_id in sorted(sessions):
        if session_id >= first and len(rows) <= limit:
            found = await tx.rows(
                f"select {MESSAGE} from messages where tenant = ? and session_id = ? and seq > ? order by seq limit ?",
                (tx.tenant, session_id, seq if session_id == first else 0, limit + 1 - len(rows)),
            )
            rows += map(message_row, found)
    page = rows[:limit]
    place = (page[-1].session_id, page[-1].seq) if len(rows) > limit else None
    return tuple(whole_messages(page)), place
