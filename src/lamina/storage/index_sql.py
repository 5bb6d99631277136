"""What an index of a user's memory reads, in one transaction."""

from dataclasses import replace

from lamina.protocols.store import ChangedSession, Changes
from lamina.storage.changes_sql import counts
from lamina.storage.facts_sql import episodes, facts
from lamina.storage.sessions_sql import sessions
from lamina.storage.summaries_sql import summaries
from lamina.storage.transaction import UNINDEXED_ID, Transaction
from lamina.storage.vectors_sql import vectors


async def changes(
    tx: Transaction,
    user_id: str,
    since: int,
    *,
    items: bool = False,
    embedder: str | None = None,
    after: int = 0,
) -> Changes:
    count, cuts, derived = await counts(tx, user_id)
    rows = () if embedder is None else tuple(await vectors(tx, user_id, embedder, after))
    if count <= since:
        return Changes(count=count, cuts=cuts, derived=derived, vectors=rows)
    found = await tx.rows(
        "select id, messages from sessions where tenant = ? and user_id = ? and changed > ?"
        f" order by {tx.pick(UNINDEXED_ID)}",
        (tx.tenant, user_id, since),
    )
    sessions_changed = tuple(ChangedSession(*row) for row in found)
    changed = Changes(count=count, cuts=cuts, derived=derived, sessions=sessions_changed, vectors=rows)
    if not items or derived <= since:
        return changed
    archived = await sessions(tx, user_id=user_id, status="archived", limit=1_000_000)
    projects = await tx.rows(
        "select id, project_id from sessions where tenant = ? and user_id = ? and project_id is not null",
        (tx.tenant, user_id),
    )
    return replace(
        changed,
        items=(*await summaries(tx, user_id=user_id), *await facts(tx, user_id), *await episodes(tx, user_id)),
        archived=frozenset(session.id for session in archived),
        projects=dict(projects),
    )
