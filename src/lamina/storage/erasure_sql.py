"""Forgetting: rows, word index and derived rows in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from lamina.errors import Conflict, NotFound
from lamina.forgetting.receipts import FIRST_RECEIPT, build_receipt, marks_to_block, receipt_row, sign
from lamina.forgetting.redact import remaining_answer, remaining_episode, remaining_facts
from lamina.knowledge.conflicts import new_slots
from lamina.knowledge.fact_words import INSTEAD
from lamina.log import chain
from lamina.log.messages import OWN_KEY
from lamina.log.records import encode_summary
from lamina.maintenance.integrity import faults
from lamina.protocols.store import Erased, Erasure, FactRow, MessageRow, ReceiptRow, Rewrite
from lamina.storage import changes_sql, facts_sql, sessions_sql, summaries_sql
from lamina.storage.relational_rows import FACT, MESSAGE, fact_columns, from_us, message_row, to_us
from lamina.storage.shared import FORGOTTEN_APPEND, Gone, text_of_row, whole_episodes, whole_facts
from lamina.storage.transaction import Sql, Transaction
from lamina.values.fact import Fact
from lamina.values.message import Span
from lamina.values.session import Session

_IDS_OF_RESULT = Sql(
    sqlite="json_each(case when json_valid(result) then result else '{}' end, '$.ids') as ids",
    postgres="jsonb_array_elements_text(result -> 'ids') as ids (value)",
)


class DryRun(Exception):
    """Carries what would be erased out of a transaction that is rolled back."""

    def __init__(self, erased: Erased) -> None:
        self.erased = erased


@dataclass(slots=True)
class Losses(Gone):
    """With what has to be put right before the transaction ends."""

    slots: set[facts_sql.Slot] = field(default_factory=set)
    stale_words: bool = False  # an entry could not be taken out of the word index of summaries alone
    stale_message_words: bool = False


async def erase(tx: Transaction, erasure: Erasure) -> Erased:
    gone = Losses()
    await tx.hold_sessions(erasure.user_id)
    await _erase_rewrites(tx, erasure, gone)
    for session_id in erasure.sessions:
        session = await _own_session(tx, erasure, session_id)
        if session.touched_at == erasure.unless_touched.get(session_id, session.touched_at):
            await erase_session(tx, session_id, gone)
    await erase_facts(tx, erasure.user_id, erasure.facts, gone)
    await erase_episodes(tx, erasure.user_id, erasure.episodes, gone)
    await _erase_milestones(tx, erasure, gone)
    await _cut_titles(tx, erasure, gone)
    if erasure.vectors:
        await changes_sql.forget_vectors(tx, erasure.user_id)
    if erasure.user:
        await _erase_user(tx, erasure.user_id, gone)
    elif erasure.derived:
        await _erase_digests(tx, erasure.user_id, gone)
        await _drop_proposals(tx, erasure.user_id)
    await facts_sql.unlink(tx, [*gone.fact_ids, *gone.episodes])
    marks = marks_to_block(erasure, gone.facts)
    await tx.many(
        "insert into forgotten (tenant, user_id, mark) values (?, ?, ?) on conflict do nothing",
        [(tx.tenant, erasure.user_id, mark) for mark in marks],
    )
    gone.slots |= await _rename_slots(tx, erasure.user_id)
    await facts_sql.resolve_slots(tx, erasure.user_id, gone.slots, erasure.rule)
    await mend_words(tx, erasure.user_id, gone)
    if erasure.user:
        await changes_sql.forget_changes(tx, erasure.user_id)
    else:
        await changes_sql.note_cut(tx, erasure.user_id, erasure.changed_sessions)
    erased = await _sign(tx, erasure, gone.outcome(len(marks)))
    if erasure.dry_run:
        raise DryRun(erased)
    return erased


async def mend_words(tx: Transaction, user_id: str, gone: Losses) -> None:
    """Build anew what could not be taken out of the word index alone."""
    if gone.stale_words:
        await tx.words.rebuild_summaries(tx, user_id)
    if gone.stale_message_words:
        await tx.words.rebuild_messages(tx, user_id)


async def _own_session(tx: Transaction, erasure: Erasure, session_id: str) -> Session:
    """A session of the user whose memory is erased from; no erasure reaches another's."""
    session = await sessions_sql.require_session(tx, session_id)
    if session.user_id != erasure.user_id:
        raise NotFound(f"no session {session_id!r} of user {erasure.user_id!r}")
    return session


async def _sign(tx: Transaction, erasure: Erasure, erased: Erased) -> Erased:
    await tx.alone_in_tenant()
    found = await tx.row("select digest from receipts where tenant = ? order by place desc limit 1", (tx.tenant,))
    (place,) = await tx.places("receipts", 1)
    row = receipt_row(sign(build_receipt(erasure, erased), FIRST_RECEIPT if found is None else found[0]))
    await tx.execute(
        "insert into receipts (place, tenant, id, created_us, record, previous, digest) values (?, ?, ?, ?, ?, ?, ?)",
        (place, tx.tenant, row.id, to_us(row.created_at), row.record, row.previous, row.digest),
    )
    await tx.execute(
        "insert into settings (tenant, key, value) values (?, 'scrub', ?)"
        " on conflict (tenant, key) do update set value = excluded.value",
        (tx.tenant, f"due {row.id}"),  # another one than before, so that a scrub that began earlier leaves it
    )
    return replace(erased, receipt=row)


async def _erase_rewrites(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    first: dict[str, int] = dict(erasure.unfold)
    for change in erasure.rewrites:
        before = await rewrite(tx, erasure.user_id, change, gone)
        (gone.messages if change.whole else gone.redacted).append(change.message_id)
        first[change.session_id] = min(change.seq, first.get(change.session_id, change.seq))
        if erasure.derived:
            await _erase_said(tx, erasure, change, before, gone)
    if erasure.derived:
        await _erase_asked(tx, erasure, gone)
        await _erase_happened(tx, erasure, gone)
    await _forget_appends(tx, {change.message_id for change in erasure.rewrites})
    await _cut_summaries(tx, erasure, gone)
    for session_id, seq in first.items():
        if await sessions_sql.session(tx, session_id) is None:
            continue  # nothing is left of it to unfold
        await _own_session(tx, erasure, session_id)
        await tx.execute(
            "update sessions set erasures = erasures + 1, touch = touch + 1, pending = 1, aside = 0,"
            " tokens = (select coalesce(sum(tokens), 0) from messages where tenant = :tenant and session_id = :id)"
            " where tenant = :tenant and id = :id",
            {"tenant": tx.tenant, "id": session_id},
        )
        if erasure.derived:
            await unfold_from(tx, session_id, max(seq, erasure.stands.get(session_id, -1) + 1), gone)
        else:
            await sessions_sql.recount_cursor(tx, session_id)


async def _cut_summaries(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    """Take words out of summaries that stay; their vectors go with the words."""
    for cut in erasure.cuts:
        row = encode_summary(cut.after)
        await summaries_sql.unindex_summary(tx, row.id)
        changed = await tx.execute(
            "update summaries set record = ?, digest = ? where tenant = ? and id = ? and user_id = ? and digest = ?",
            (row.record, row.digest, tx.tenant, row.id, erasure.user_id, cut.expect),
        )
        if not changed:
            raise Conflict(f"summary {row.id!r} has changed meanwhile; try again")
        await summaries_sql.index_summary(tx, row.id)
        gone.summaries.append(row.id)


async def rewrite(tx: Transaction, user_id: str, change: Rewrite, gone: Losses) -> str:
    """Rewrite a message; gives what it said."""
    found = await tx.row(
        f"select place, {MESSAGE} from messages where tenant = ? and session_id = ? and seq = ?",
        (tx.tenant, change.session_id, change.seq),
    )
    if found is None or message_row(found[1:]).leaf != change.expect:
        raise Conflict(f"message {change.message_id!r} has changed meanwhile; try again")
    place, row = found[0], message_row(found[1:])
    new = chain.rewrite_row(row, change)
    await unindex_message(tx, user_id, place, row, gone)
    await tx.execute(
        "update messages set body = ?, metadata = ?, model = null, tokens = ?, salt = ?, leaf = ?, erased = ?,"
        " unread = unread * ? where tenant = ? and place = ?",
        (
            new.body,
            new.metadata,
            new.tokens,
            new.salt,
            new.leaf,
            new.erased,
            int(not change.whole),
            tx.tenant,
            place,
        ),
    )
    await tx.words.add_messages(tx, user_id, [(place, text_of_row(new) or "")])
    return text_of_row(row) or ""


async def unindex_message(tx: Transaction, user_id: str, place: int, row: MessageRow, gone: Losses) -> None:
    """What a damaged message said is not known, but its words may be in the index."""
    alone = await tx.words.drop_message(tx, user_id, place, text_of_row(row))
    gone.stale_message_words = gone.stale_message_words or not alone


async def _erase_said(tx: Transaction, erasure: Erasure, change: Rewrite, before: str, gone: Losses) -> None:
    """Erase the facts of a message; where only words were cut out of it, those that tell of them."""
    sql = f"select {FACT} from facts where tenant = ? and message_id = ?"
    found = [FactRow(*row) for row in await tx.rows(sql, (tx.tenant, change.message_id))]
    kept: dict[str, Fact] = {}
    if change.words:
        others = [fact for fact in whole_facts(found) if fact.id not in erasure.facts]
        kept = {fact.id: fact for fact in remaining_facts(others, change, before)}
    await erase_facts(tx, erasure.user_id, [row.id for row in found if row.id not in kept], gone)
    await _reword_facts(tx, [kept[row.id] for row in found if row.id in kept])


async def _reword_facts(tx: Transaction, facts: Iterable[Fact]) -> None:
    await tx.many(
        'update facts set start = :start, "end" = :end, record = :record, digest = :digest'
        " where tenant = :tenant and id = :id and digest <> :digest",
        [{**fact_columns(fact), "tenant": tx.tenant} for fact in facts],
    )


async def _erase_asked(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    """Erase rewritten questions from the facts that answer them, and damaged facts, whose question is not known."""
    changes = {change.message_id: change for change in erasure.rewrites}
    for session_id in sorted({change.session_id for change in erasure.rewrites}):
        found = await facts_sql.raw_facts(tx, erasure.user_id, session_id)
        whole = {fact.id: fact for fact in whole_facts(found)}
        asked = {one.id: changes[one.question_id] for one in whole.values() if one.question_id in changes}
        left = {fact_id: remaining_answer(whole[fact_id], change) for fact_id, change in asked.items()}
        lost = [row.id for row in found if row.id not in whole or (row.id in left and left[row.id] is None)]
        await erase_facts(tx, erasure.user_id, lost, gone)
        await _reword_facts(tx, [fact for fact in left.values() if fact is not None])


async def _erase_happened(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    """Erase the episodes that tell of rewritten messages, and damaged ones, of which that cannot be known.

    Those of which something is left are read again.
    """
    changes = {change.message_id: change for change in erasure.rewrites}
    dead, again = {*gone.fact_ids, *erasure.facts}, set[str]()
    for session_id in sorted({change.session_id for change in erasure.rewrites}):
        found = await facts_sql.raw_episodes(tx, erasure.user_id, session_id)
        whole = {episode.id: episode for episode in whole_episodes(found)}
        touched = {one.id: one for one in whole.values() if not changes.keys().isdisjoint(one.message_ids)}
        kept = {one.id: remaining_episode(one, changes, dead) for one in touched.values()}
        lost = [row.id for row in found if row.id not in whole or (row.id in kept and kept[row.id] is None)]
        await erase_episodes(tx, erasure.user_id, lost, gone)
        left = [episode for episode in kept.values() if episode is not None]
        await facts_sql.change_episodes(tx, erasure.user_id, left)
        again.update(*(one.message_ids for one in touched.values() if one.origin == "said"))
    again -= {change.message_id for change in erasure.rewrites if change.whole}
    await tx.execute(
        f"update messages set unread = 1 where tenant = ? and id {tx.among('?')}",
        (tx.tenant, tx.array(sorted(again))),
    )


async def _forget_appends(tx: Transaction, message_ids: set[str]) -> None:
    """An append that is tried again stays known, but its fingerprint tells nothing any more, nor does its key."""
    mine = f"tenant = ? and exists (select 1 from {tx.pick(_IDS_OF_RESULT)} where ids.value {tx.among('?')})"
    key = (tx.tenant, tx.array(sorted(message_ids)))
    own = (len(OWN_KEY), OWN_KEY)
    await tx.execute(f"delete from appends where {mine} and substr(key, 1, ?) = ?", (*key, *own))
    await tx.execute(f"update appends set fingerprint = ? where {mine}", (FORGOTTEN_APPEND, *key))


async def unfold_from(tx: Transaction, session_id: str, seq: int, gone: Losses) -> None:
    """Drop every summary that covers this message or a later one; what those were folded from is live again.

    From message 0 on, all are dropped, also damaged ones that do not say what they cover.
    """
    doomed = await tx.rows(
        "select id, status from summaries where tenant = :tenant and session_id = :session"
        " and (last >= :seq or :seq = 0) order by place",
        {"tenant": tx.tenant, "session": session_id, "seq": seq},
    )
    ids = [summary_id for summary_id, _ in doomed]
    gone.summaries.extend(ids)
    await drop_summaries(tx, ids, gone)
    await _orphan(tx, session_id, [summary_id for summary_id, status in doomed if status == "replaced"])
    live = await tx.rows(
        "select id, coalesce(first, 0), coalesce(last, 0), status from summaries where tenant = ? and session_id = ?"
        " and (status = 'live'"
        f" or (status = 'folded' and folded_into {tx.among('?')})) order by first",
        (tx.tenant, session_id, tx.array(ids)),
    )
    cursor = max((last for _, _, last, _ in live), default=0)
    senseless = any(not 1 <= first <= last for _, first, last, _ in live)
    if senseless or next(faults([Span(first=first, last=last) for _, first, last, _ in live], cursor), None):
        await unfold_from(tx, session_id, 0, gone)
        return
    await _revive(tx, [summary_id for summary_id, _, _, status in live if status == "folded"])
    await tx.execute(
        "update sessions set cursor = ?, version = version + 1, attempts = 0, retry_us = null,"
        " aside = 0, reason = null"
        " where tenant = ? and id = ?",
        (cursor, tx.tenant, session_id),
    )
    await sessions_sql.recount_cursor(tx, session_id)


async def _orphan(tx: Transaction, session_id: str, gone: Sequence[str]) -> None:
    """What was folded into a replaced summary that is gone was replaced with it."""
    await tx.execute(
        "update summaries set status = 'replaced', folded_into = null where tenant = ? and session_id = ?"
        f" and status = 'folded' and folded_into {tx.among('?')}",
        (tx.tenant, session_id, tx.array(gone)),
    )


async def _revive(tx: Transaction, ids: Sequence[str]) -> None:
    for summary_id in ids:
        await tx.execute(
            "update summaries set status = 'live', folded_into = null where tenant = ? and id = ?",
            (tx.tenant, summary_id),
        )
        await summaries_sql.index_summary(tx, summary_id)


async def drop_summaries(tx: Transaction, ids: Iterable[str], gone: Losses) -> None:
    for summary_id in ids:
        await summaries_sql.unindex_summary(tx, summary_id)
        for user_id, place in await tx.rows(
            "delete from summaries where tenant = ? and id = ? returning user_id, place", (tx.tenant, summary_id)
        ):
            alone = await tx.words.forget_summary(tx, user_id, place)
            gone.stale_words = gone.stale_words or not alone


async def _drop_proposals(tx: Transaction, user_id: str) -> None:
    """Proposals quote summaries and facts, so none of them may stay."""
    await tx.execute("delete from proposals where tenant = ? and user_id = ?", (tx.tenant, user_id))


async def _erase_digests(tx: Transaction, user_id: str, gone: Losses) -> None:
    found = await tx.rows(
        "select id from summaries where tenant = ? and user_id = ? and kind = 'digest' order by place",
        (tx.tenant, user_id),
    )
    ids = [row[0] for row in found]
    gone.digests.extend(ids)
    await drop_summaries(tx, ids, gone)


async def erase_session(tx: Transaction, session_id: str, gone: Losses) -> None:
    session = await sessions_sql.require_session(tx, session_id)
    key = (tx.tenant, session_id)
    for place, *raw in await tx.rows(
        f"select place, {MESSAGE} from messages where tenant = ? and session_id = ? order by seq", key
    ):
        row = message_row(raw)
        await unindex_message(tx, session.user_id, place, row, gone)
        gone.messages.append(row.id)
    summaries = [
        r[0] for r in await tx.rows("select id from summaries where tenant = ? and session_id = ? order by place", key)
    ]
    gone.summaries.extend(summaries)
    await drop_summaries(tx, summaries, gone)
    facts = [r[0] for r in await tx.rows("select id from facts where tenant = ? and session_id = ?", key)]
    await erase_facts(tx, session.user_id, facts, gone)
    episodes = [
        r[0] for r in await tx.rows("select id from episodes where tenant = ? and session_id = ? order by id", key)
    ]
    await erase_episodes(tx, session.user_id, episodes, gone)
    await _delete_appends(tx, session_id)
    for table in ("proposals", "milestones", "messages"):
        deleted = await tx.execute(f"delete from {table} where tenant = ? and session_id = ?", key)
        gone.milestones += deleted if table == "milestones" else 0
    await tx.execute("delete from sessions where tenant = ? and id = ?", key)
    await _next_generation(tx, session)
    gone.sessions.append(session_id)


async def _next_generation(tx: Transaction, erased: Session) -> None:
    await tx.alone_in_tenant()
    generation = max(await sessions_sql.generation(tx), erased.counters.version + 1, erased.erasures + 1)
    await tx.execute(
        "insert into settings (tenant, key, value) values (?, 'generation', ?)"
        " on conflict (tenant, key) do update set value = excluded.value",
        (tx.tenant, str(generation)),
    )


async def _delete_appends(tx: Transaction, session_id: str) -> None:
    await tx.execute(
        f"delete from appends where tenant = :tenant and exists (select 1 from {tx.pick(_IDS_OF_RESULT)} where"
        " ids.value in (select id from messages where tenant = :tenant and session_id = :session))",
        {"tenant": tx.tenant, "session": session_id},
    )


async def _erase_user(tx: Transaction, user_id: str, gone: Losses) -> None:
    key = (tx.tenant, user_id)
    for (session_id,) in await tx.rows("select id from sessions where tenant = ? and user_id = ? order by id", key):
        await erase_session(tx, session_id, gone)
    facts = [row[0] for row in await tx.rows("select id from facts where tenant = ? and user_id = ?", key)]
    await erase_facts(tx, user_id, facts, gone)
    await _erase_digests(tx, user_id, gone)
    for table in ("links", "forgotten"):
        await tx.execute(f"delete from {table} where tenant = ? and user_id = ?", key)


async def erase_facts(tx: Transaction, user_id: str, ids: Sequence[str], gone: Losses) -> None:
    found = await tx.rows(
        f"select {FACT} from facts where tenant = ? and user_id = ? and id {tx.among('?')} order by id",
        (tx.tenant, user_id, tx.array(ids)),
    )
    gone.facts.extend(whole_facts(FactRow(*row) for row in found))
    gone.fact_ids.extend(row[0] for row in found)
    gone.slots |= await facts_sql.drop_facts(tx, user_id, [row[0] for row in found])


async def _rename_slots(tx: Transaction, user_id: str) -> set[facts_sql.Slot]:
    """Give facts whose slot is made of a value that is gone a slot that does not tell it; gives the new slots."""
    found = await tx.rows(
        f"select {FACT} from facts where tenant = ? and user_id = ? and (substr(slot, 1, 1) = '=' or slot like ?)",
        (tx.tenant, user_id, f"_%{INSTEAD}_%"),
    )
    known = {fact.id: fact for fact in whole_facts(FactRow(*row) for row in found)}
    renamed = new_slots(known.values())
    await tx.many(
        "update facts set slot = ?, status = 'candidate' where tenant = ? and id = ?",
        [(slot, tx.tenant, fact_id) for fact_id, slot in renamed.items()],
    )
    return {(known[fact_id].category, slot) for fact_id, slot in renamed.items()}


async def erase_episodes(tx: Transaction, user_id: str, ids: Sequence[str], gone: Losses) -> None:
    gone.episodes.extend(await facts_sql.drop_episodes(tx, user_id, ids))


async def _erase_milestones(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    deleted = await tx.execute(
        f"delete from milestones where tenant = :tenant and id {tx.among(':ids')} and exists"
        " (select 1 from sessions s where s.tenant = :tenant and s.id = session_id and s.user_id = :user)",
        {"tenant": tx.tenant, "ids": tx.array(erasure.milestones), "user": erasure.user_id},
    )
    gone.milestones += deleted


async def _cut_titles(tx: Transaction, erasure: Erasure, gone: Losses) -> None:
    for cut in erasure.titles:
        gone.titles += await tx.execute(
            "update sessions set title = ? where tenant = ? and id = ? and user_id = ? and title = ?",
            (cut.after, tx.tenant, cut.session_id, erasure.user_id, cut.before),
        )


async def receipts(tx: Transaction) -> list[ReceiptRow]:
    found = await tx.rows(
        "select id, created_us, record, previous, digest from receipts where tenant = ? order by place",
        (tx.tenant,),
    )
    return [ReceiptRow(a, from_us(b), c, d, e) for a, b, c, d, e in found]
