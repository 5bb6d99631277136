"""Audits, repairs, and sessions that end with time."""

from lamina.forgetting.receipts import broken_receipts
from lamina.log import chain, records
from lamina.protocols.store import Audit, FactRow
from lamina.storage import changes_sql, erasure_sql, facts_sql, messages_sql, sessions_sql, summaries_sql, vectors_sql
from lamina.storage.relational_rows import FACT, SUMMARY, summary_row
from lamina.storage.transaction import Transaction
from lamina.values.report import Problem


async def audit(tx: Transaction, session_id: str) -> Audit:
    session = await sessions_sql.require_session(tx, session_id)
    found = await tx.one("select digest from sessions where tenant = ? and id = ?", (tx.tenant, session_id))
    messages = await messages_sql.raw_messages(tx, session_id)
    return Audit(
        session=session,
        last_digest=found[0],
        rows=tuple(messages),
        summaries=tuple(await summaries_sql.raw_summaries(tx, session_id)),
        facts=tuple(await facts_sql.raw_facts(tx, session.user_id, session_id)),
        episodes=tuple(await facts_sql.raw_episodes(tx, session.user_id, session_id)),
        unindexed=tuple(await tx.words.lacking(tx, session, messages)),
    )


async def problems(tx: Transaction) -> list[Problem]:
    """What is wrong with rows that belong to no session."""
    return [
        *await _digest_problems(tx),
        *await _manual_fact_problems(tx),
        *await _receipt_problems(tx),
        *await vectors_sql.vector_problems(tx),
    ]


async def _digest_problems(tx: Transaction) -> list[Problem]:
    """Damaged digests, which belong to no session."""
    sql = f"select {SUMMARY} from summaries where tenant = ? and session_id is null"
    problems = []
    for row in map(summary_row, await tx.rows(sql, (tx.tenant,))):
        try:
            records.decode_summary(row)
        except chain.Damaged as damage:
            problems.append(Problem(kind="digest", where=f"user {row.user_id}", text=str(damage), derived=True))
    return problems


async def _manual_fact_problems(tx: Transaction) -> list[Problem]:
    """Damaged facts that were told by hand, which belong to no session."""
    sql = f"select {FACT} from facts where tenant = ? and session_id is null"
    problems = []
    for row in await tx.rows(sql, (tx.tenant,)):
        try:
            records.fact_of(FactRow(*row))
        except chain.Damaged as damage:
            problems.append(Problem(kind="told", where=f"fact {row[0]}", text=str(damage), derived=False))
    return problems


async def _receipt_problems(tx: Transaction) -> list[Problem]:
    """Receipts that were changed, or one before which others are gone."""
    text = "does not follow from the receipt before it, or was changed"
    return [
        Problem(kind="receipt", where=f"receipt {receipt_id}", text=text, derived=False)
        for receipt_id in broken_receipts(await erasure_sql.receipts(tx))
    ]


async def recount(tx: Transaction, session_id: str) -> None:
    session = await sessions_sql.require_session(tx, session_id)
    found = await messages_sql.raw_messages(tx, session_id)
    counters = chain.recount(found)
    (cursor_turn, cursor_tokens) = await tx.one(
        "select coalesce(max(m.turn), 0), cast(coalesce(sum(m.tokens), 0) as bigint) from messages m"
        " join sessions s on s.tenant = m.tenant and s.id = m.session_id"
        " where m.tenant = ? and m.session_id = ? and m.seq <= s.cursor",
        (tx.tenant, session_id),
    )
    await tx.execute(
        "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, cursor_turn = ?,"
        " cursor_tokens = ?, touch = touch + 1, pending = 1, aside = 0 where tenant = ? and id = ?",
        (counters.messages, counters.turns, counters.tokens, int(counters.closed),
         found[-1].digest if found else chain.first_hash(session_id), cursor_turn, cursor_tokens,
         tx.tenant, session_id),
    )  # fmt: skip
    await changes_sql.note_cut(tx, session.user_id, [session_id])
