"""Messages: appending, replacing and reading them."""

import json
from collections.abc import Sequence
from dataclasses import replace

from lamina.documents.versions import earlier_version
from lamina.folding.due import has_work
from lamina.log import chain
from lamina.log.messages import check_project, session_conflict
from lamina.protocols.store import Append, Appended, MessageRow, Replacement
from lamina.storage import changes_sql, erasure_sql, facts_sql, sessions_sql
from lamina.storage.relational_rows import MESSAGE, SESSION, message_row, session_value, to_us
from lamina.storage.shared import (
    FORGOTTEN_APPEND,
    append_fingerprint,
    changes_more,
    key_conflict,
    not_stored,
    whole_messages,
)
from lamina.storage.transaction import Transaction
from lamina.values.message import Message, MessageDraft, Span
from lamina.values.opt_out import PREFIX, opt_out_of
from lamina.values.session import Counters, Session, Status

_ALL = 2**62


async def raw_messages(tx: Transaction, session_id: str) -> list[MessageRow]:
    sql = f"select {MESSAGE} from messages where tenant = ? and session_id = ? order by seq"
    return [message_row(row) for row in await tx.rows(sql, (tx.tenant, session_id))]


async def messages(
    tx: Transaction,
    session_id: str | None = None,
    span: Span | None = None,
    *,
    ids: Sequence[str] | None = None,
    unread: bool = False,
    limit: int | None = None,
) -> list[Message]:
    if unread:
        return await _unread(tx, session_id, _ALL if limit is None else limit)
    where = "" if session_id is None else " and session_id = :session"
    where += "" if span is None else " and seq between :first and :last"
    where += "" if ids is None else f" and id {tx.among(':ids')}"
    order = "" if session_id is None else " order by seq"
    found = await tx.rows(
        f"select {MESSAGE} from messages where tenant = :tenant{where}{order} limit :limit",
        {
            "tenant": tx.tenant,
            "session": session_id,
            "first": span.first if span else 0,
            "last": span.last if span else 0,
            "ids": tx.array(ids or ()),
            "limit": _ALL if limit is None else limit,
        },
    )
    return list(whole_messages(map(message_row, found)))


async def _unread(tx: Transaction, session_id: str | None, limit: int) -> list[Message]:
    found = await tx.rows(
        f"select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
        " and session_id = :session and unread = 1 order by seq limit :limit) as again"
        f" union select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
        " and session_id = :session and seq > (select extracted from sessions where tenant = :tenant"
        " and id = :session) order by seq limit :limit) as new order by seq limit :limit",
        {"tenant": tx.tenant, "session": session_id, "limit": limit},
    )
    return list(whole_messages(map(message_row, found)))


async def _replace(tx: Transaction, session: Session, replaces: Replacement) -> tuple[Session, bytes]:
    """The session without its messages, or with them in other words, and the end of its chain."""
    gone = erasure_sql.Losses()
    if replaces.keep_salt is None:
        await _take_messages(tx, session, gone)
    else:
        await _keep_versions(tx, session, replaces.keep_salt, gone)
    await erasure_sql.erase_facts(tx, session.user_id, await _facts_said_in(tx, gone.messages), gone)
    await erasure_sql.erase_episodes(tx, session.user_id, await _episodes_told_in(tx, session, gone.messages), gone)
    await facts_sql.unlink(tx, [*gone.fact_ids, *gone.episodes])
    await facts_sql.resolve_slots(tx, session.user_id, gone.slots, replaces.rule)
    await tx.execute("delete from proposals where tenant = ? and session_id = ?", (tx.tenant, session.id))
    await erasure_sql.mend_words(tx, session.user_id, gone)
    await changes_sql.note_cut(tx, session.user_id, [session.id])
    (digest,) = await tx.one("select digest from sessions where tenant = ? and id = ?", (tx.tenant, session.id))
    return await sessions_sql.require_session(tx, session.id), digest


async def _take_messages(tx: Transaction, session: Session, gone: erasure_sql.Losses) -> None:
    key = (tx.tenant, session.id)
    found = await tx.rows(f"select place, {MESSAGE} from messages where tenant = ? and session_id = ?", key)
    for place, *raw in found:
        row = message_row(raw)
        await erasure_sql.unindex_message(tx, session.user_id, place, row, gone)
        gone.messages.append(row.id)
    await tx.execute("delete from messages where tenant = ? and session_id = ?", key)
    await tx.execute(
        "update sessions set messages = 0, turns = 0, tokens = 0, closed = 1, extracted = 0, digest = ?,"
        " erasures = erasures + 1 where tenant = ? and id = ?",
        (chain.first_hash(session.id), *key),
    )
    await erasure_sql.unfold_from(tx, session.id, 0, gone)


async def _keep_versions(tx: Transaction, session: Session, salt: bytes, gone: erasure_sql.Losses) -> None:
    found = await tx.rows(
        f"select {MESSAGE} from messages where tenant = :tenant and session_id = :id and seq > coalesce("
        "(select seq from messages where tenant = :tenant and session_id = :id and erased is not null"
        " order by seq desc limit 1), 0) order by seq",
        {"tenant": tx.tenant, "id": session.id},
    )
    tokens = 0
    for message in whole_messages(map(message_row, found)):
        change = earlier_version(message, salt)
        await erasure_sql.rewrite(tx, session.user_id, change, gone)
        gone.messages.append(message.id)
        tokens += change.tokens - message.tokens
    await tx.execute(
        "update sessions set tokens = tokens + ?, erasures = erasures + 1 where tenant = ? and id = ?",
        (tokens, tx.tenant, session.id),
    )
    if found and message_row(found[0]).seq <= session.counters.cursor:
        await erasure_sql.unfold_from(tx, session.id, message_row(found[0]).seq, gone)


async def _facts_said_in(tx: Transaction, message_ids: Sequence[str]) -> list[str]:
    sql = f"select id from facts where tenant = ? and message_id {tx.among('?')}"
    return [row[0] for row in await tx.rows(sql, (tx.tenant, tx.array(message_ids)))]


async def _episodes_told_in(tx: Transaction, session: Session, message_ids: Sequence[str]) -> list[str]:
    found = await facts_sql.episodes(tx, session.user_id, session.id)
    return [one.id for one in found if set(message_ids).intersection(one.message_ids)]


async def append(tx: Transaction, append: Append) -> Appended:
    if append.key is not None and (known := await _earlier_append(tx, append)) is not None:
        return known
    choice = opt_out_of(PREFIX, await sessions_sql.setting(tx, PREFIX + append.user_id))
    if choice is not None and not choice.keep_log:
        return not_stored(append)
    session, digest = await _session_for(tx, append)
    if append.replaces is not None and session.counters.messages:
        session, digest = await _replace(tx, session, append.replaces)
    stored = await rows_by_id(tx, [draft.id for draft in append.drafts if draft.named])
    fresh, salts, duplicates = chain.new_drafts(append, stored)
    placed, counters, digest = chain.build_rows(append.session_id, session.counters, digest, fresh, salts)
    if placed:
        changed = await changes_sql.note_change(tx, append.user_id, derived=changes_more(append, session))
        session = await _touch(tx, append, session, counters, digest, fresh, changed)
        await _insert_messages(tx, append.user_id, placed, fresh)
    result = Appended(
        session=session,
        ids=tuple([draft.id for draft in append.drafts]),
        span=Span(first=placed[0].seq, last=placed[-1].seq) if placed else None,
        duplicates=duplicates,
        due=has_work(append.profile, session.counters, session.status),
    )
    if append.key is not None:
        await _remember_append(tx, append, result)
    return result


async def _session_for(tx: Transaction, append: Append) -> tuple[Session, bytes]:
    found = await tx.row(
        f"select digest, {SESSION} from sessions where tenant = ? and id = ?", (tx.tenant, append.session_id)
    )
    if found is not None:
        session = session_value(found[1:])
        if session.user_id != append.user_id:
            raise session_conflict(append.session_id)
        check_project(session, append.project_id)
        return session, found[0]
    started = to_us(append.drafts[0].created_at)
    digest = chain.first_hash(append.session_id)
    generation = await sessions_sql.generation(tx)
    await sessions_sql.note_tenant(tx)
    await tx.execute(
        "insert into sessions (tenant, id, user_id, agent_id, project_id, status, started_us, last_us, touched_us,"
        " digest, version, erasures) values (?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)",
        (tx.tenant, append.session_id, append.user_id, append.agent_id, append.project_id, started, started,
         to_us(append.now), digest, generation, generation),
    )  # fmt: skip
    return await sessions_sql.require_session(tx, append.session_id), digest


async def rows_by_id(tx: Transaction, ids: Sequence[str]) -> dict[str, MessageRow]:
    if not ids:
        return {}
    found = await tx.rows(
        f"select {MESSAGE} from messages where tenant = ? and id {tx.among('?')}",
        (tx.tenant, tx.array(ids)),
    )
    return {row.id: row for row in map(message_row, found)}


async def _insert_messages(
    tx: Transaction, user_id: str, placed: Sequence[MessageRow], drafts: Sequence[MessageDraft]
) -> None:
    places = await tx.places("messages", len(placed))
    await tx.many(
        f"insert into messages (place, tenant, {MESSAGE}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(place, tx.tenant, *row) for place, row in zip(places, placed, strict=True)],
    )
    texts = [(place, draft.text) for place, draft in zip(places, drafts, strict=True)]
    await tx.words.add_messages(tx, user_id, texts)


async def _touch(
    tx: Transaction,
    append: Append,
    session: Session,
    counters: Counters,
    digest: bytes,
    fresh: Sequence[MessageDraft],
    changed: int,
) -> Session:
    """The session with its new counters, stored; an ended or archived one is active again."""
    status: Status = "active" if append.replaces is None else append.replaces.status
    await tx.execute(
        "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, last_us = ?, "
        "touched_us = ?, status = ?, ended_us = null, archived_us = null, touch = touch + 1, "
        "pending = pending | ?, aside = 0, changed = ? where tenant = ? and id = ?",
        (counters.messages, counters.turns, counters.tokens, int(counters.closed), digest,
         to_us(fresh[-1].created_at), to_us(append.now), status, int(has_work(append.profile, counters, status)),
         changed, tx.tenant, append.session_id),
    )  # fmt: skip
    return replace(
        session,
        status=status,
        ended_at=None,
        archived_at=None,
        last_at=fresh[-1].created_at,
        touched_at=append.now,
        counters=counters,
    )


async def _earlier_append(tx: Transaction, append: Append) -> Appended | None:
    found = await tx.row(
        "select fingerprint, cast(result as text) from appends where tenant = ? and key = ?",
        (tx.tenant, append.key),
    )
    if found is None:
        return None
    if found[0] not in {FORGOTTEN_APPEND, append_fingerprint(append)}:
        raise key_conflict(append)
    result = json.loads(found[1])
    if found[0] == FORGOTTEN_APPEND and not await _is_in(tx, append.session_id, result["ids"]):
        raise key_conflict(append)
    span, session = result["span"], await sessions_sql.require_session(tx, append.session_id)
    return Appended(
        session=session,
        ids=tuple(result["ids"]),
        span=Span(first=span[0], last=span[1]) if span else None,
        duplicates=tuple(result["ids"]),
        due=has_work(append.profile, session.counters, session.status),
    )


async def _is_in(tx: Transaction, session_id: str, ids: Sequence[str]) -> bool:
    return any(row.session_id == session_id for row in (await rows_by_id(tx, ids)).values())


async def _remember_append(tx: Transaction, append: Append, result: Appended) -> None:
    span = [result.span.first, result.span.last] if result.span else None
    await tx.execute(
        "insert into appends (tenant, key, fingerprint, result) values (?, ?, ?, ?)",
        (tx.tenant, append.key, append_fingerprint(append), json.dumps({"ids": result.ids, "span": span})),
    )
