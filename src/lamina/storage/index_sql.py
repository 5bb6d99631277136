"""What an index of a user's memory reads, in one transaction."""

from lamina.protocols.store import IndexChanges
from lamina.storage.changes_sql import changes
from lamina.storage.facts_sql import episodes, facts
from lamina.storage.sessions_sql import sessions
from lamina.storage.summaries_sql import summaries
from lamina.storage.transaction import Transaction
from lamina.storage.vectors_sql import vectors


async def index_changes(tx: Transaction, user_id: str, since: int, embedder: str | None, after: int) -> IndexChanges:
    found = await changes(tx, user_id, since)
    rows = [] if embedder is None else await vectors(tx, user_id, embedder, after)
    if found.count <= since:
        return IndexChanges(changes=found, vectors=tuple(rows), items=None, archived=frozenset())
    archived = await sessions(tx, user_id=user_id, status="archived", limit=1_000_000)
    return IndexChanges(
        changes=found,
        vectors=tuple(rows),
        items=(*await summaries(tx, user_id=user_id), *await facts(tx, user_id), *await episodes(tx, user_id)),
        archived=frozenset(session.id for session in archived),
    )
