"""Folds, digests and proposals."""

from lamina.errors import OptedOut
from lamina.protocols.store import FoldCommit, ProposalRow, Swap
from lamina.storage import changes_sql, facts_sql, sessions_sql, summaries_sql
from lamina.storage.relational_rows import from_us, to_us
from lamina.storage.shared import users_of, whole_episodes
from lamina.storage.transaction import Transaction
from lamina.values.fact import ConflictRule
from lamina.values.summary import Source, Summary


async def commit(tx: Transaction, *commits: FoldCommit | Swap | Summary) -> bool:
    for user_id in sorted(users_of(commits)):
        if await sessions_sql.has_opted_out(tx, user_id):
            return False
    for one in commits:
        match one:
            case FoldCommit():
                done = await _commit_fold(tx, one)
            case Swap():
                done = await _swap(tx, one)
            case Summary():
                done = await _commit_digest(tx, one)
        if not done:
            return False
    return True


async def _commit_fold(tx: Transaction, commit: FoldCommit) -> bool:
    moved = await tx.execute(
        "update sessions set cursor = :cursor, version = version + 1, attempts = 0, retry_us = null,"
        " aside = 0, reason = null, cursor_turn = coalesce((select max(turn) from messages where tenant = :tenant"
        " and session_id = :id and seq > sessions.cursor and seq <= :cursor), cursor_turn),"
        " cursor_tokens = cursor_tokens + coalesce((select sum(tokens) from messages where tenant = :tenant"
        " and session_id = :id and seq > sessions.cursor and seq <= :cursor), 0)"
        " where tenant = :tenant and id = :id and version = :expect",
        {"cursor": commit.cursor, "tenant": tx.tenant, "id": commit.session_id, "expect": commit.expect},
    )
    if not moved:
        return False
    for retired in commit.retire:
        await summaries_sql.unindex_summary(tx, retired)
        await tx.execute(
            "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
            (commit.summary.id, tx.tenant, retired),
        )
    await summaries_sql.insert_summary(tx, commit.summary)
    await changes_sql.note_change(tx, commit.summary.user_id)
    return True


async def _commit_digest(tx: Transaction, digest: Summary) -> bool:
    newest = await summaries_sql.newest_digests(tx, digest.user_id, limit=1)
    if newest and newest[0].version >= digest.version:
        return False
    if any([await _has_changed_since(tx, source) for source in digest.sources]):
        return False
    for old in await summaries_sql.live_digests(tx, digest.user_id):
        if old.project_id != digest.project_id:
            continue
        await summaries_sql.unindex_summary(tx, old.id)
        await tx.execute(
            "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
            (digest.id, tx.tenant, old.id),
        )
    unreadable = await tx.execute(
        "delete from summaries where tenant = ? and user_id = ? and kind = 'digest' and version >= ?",
        (tx.tenant, digest.user_id, digest.version),
    )
    if unreadable:
        await tx.words.rebuild_summaries(tx, digest.user_id)
    await summaries_sql.insert_summary(tx, digest)
    await changes_sql.note_change(tx, digest.user_id)
    return True


async def _has_changed_since(tx: Transaction, source: Source) -> bool:
    """Whether a session was folded, or something of it forgotten, since a digest read it."""
    session = await sessions_sql.session(tx, source.session_id)
    return session is None or session.counters.version != source.version


async def _swap(tx: Transaction, swap: Swap) -> bool:
    moved = await tx.execute(
        "update sessions set cursor = ?, version = version + 1, touch = touch + 1, pending = 1, aside = 0"
        " where tenant = ? and id = ? and version = ?",
        (swap.cursor, tx.tenant, swap.session_id, swap.expect),
    )
    if not moved:
        return False
    for retired in swap.retire:
        await summaries_sql.unindex_summary(tx, retired)
        await tx.execute("update summaries set status = 'replaced' where tenant = ? and id = ?", (tx.tenant, retired))
    for summary in sorted(swap.put, key=lambda summary: summary.status == "live"):
        await summaries_sql.insert_summary(tx, summary)
    await sessions_sql.recount_cursor(tx, swap.session_id)
    await changes_sql.note_change(tx, (await sessions_sql.require_session(tx, swap.session_id)).user_id)
    return True


async def put_proposal(tx: Transaction, proposal: ProposalRow, *, erasures: int | None = None) -> bool:
    session = await sessions_sql.require_session(tx, proposal.session_id)
    if await sessions_sql.has_opted_out(tx, session.user_id):
        raise OptedOut(session.user_id)
    if erasures not in {None, session.erasures}:
        return False
    await tx.execute(
        "insert into proposals (tenant, id, user_id, session_id, status, created_us, record)"
        " values (?, ?, ?, ?, ?, ?, ?) on conflict (tenant, id) do update set status = excluded.status,"
        " record = excluded.record",
        (tx.tenant, proposal.id, proposal.user_id, proposal.session_id, proposal.status,
         to_us(proposal.created_at), proposal.record),
    )  # fmt: skip
    return True


async def proposals(tx: Transaction, session_id: str | None = None) -> list[ProposalRow]:
    found = await tx.rows(
        "select id, user_id, session_id, status, record, created_us from proposals where tenant = :tenant"
        " and (cast(:session as text) is null or session_id = :session) order by created_us, id",
        {"tenant": tx.tenant, "session": session_id},
    )
    return [
        ProposalRow(id=a, user_id=b, session_id=c, status=d, record=e, created_at=from_us(f))
        for a, b, c, d, e, f in found
    ]


async def unfold(tx: Transaction, session_id: str, rule: ConflictRule) -> None:
    session = await sessions_sql.require_session(tx, session_id)
    await tx.execute("delete from summaries where tenant = ? and session_id = ?", (tx.tenant, session_id))
    found = await facts_sql.raw_episodes(tx, session.user_id, session_id)
    told = {one.id for one in whole_episodes(found) if one.origin == "told"}
    await facts_sql.drop_episodes(tx, session.user_id, [row.id for row in found if row.id not in told])
    await tx.execute("delete from proposals where tenant = ? and session_id = ?", (tx.tenant, session_id))
    gone = await tx.rows(
        "delete from facts where tenant = ? and session_id = ? and message_id is not null returning category, slot",
        (tx.tenant, session_id),
    )
    await tx.execute(
        "update sessions set cursor = 0, cursor_turn = 0, cursor_tokens = 0, version = version + 1,"
        " extracted = 0, erasures = erasures + 1, touch = touch + 1, pending = 1, attempts = 0,"
        " retry_us = null, aside = 0, reason = null where tenant = ? and id = ?",
        (tx.tenant, session_id),
    )
    await tx.words.rebuild_summaries(tx, session.user_id)
    slots = {(category, slot) for category, slot in gone}
    await facts_sql.resolve_slots(tx, session.user_id, slots, rule)
    await changes_sql.note_cut(tx, session.user_id)
