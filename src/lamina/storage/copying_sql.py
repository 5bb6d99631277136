"""Rows as they are, read from one store and put into another, whichever databases these are."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lamina.protocols.store import Part, RawRow, Standing
from lamina.storage import erasure_sql, messages_sql, sessions_sql, summaries_sql, vectors_sql
from lamina.storage.relational_rows import MESSAGE, SUMMARY, message_row
from lamina.storage.shared import text_of_row
from lamina.storage.transaction import Transaction

# What a session row says beside its id. Leases stay behind: who works on the copy has its own.
_SESSION = (
    "user_id, agent_id, status, started_us, last_us, touched_us, ended_us, archived_us, messages, turns, tokens,"
    " closed, cursor, cursor_turn, cursor_tokens, version, digest, pending, touch, attempts, retry_us, extracted,"
    " erasures, changed, aside, reason, title, project_id"
)

_COMPLETE = "touch"  # below 0 while a session is being copied

_MESSAGE = f"{MESSAGE}, unread"

_VECTOR = "user_id, embedder, item_id, session_id, seq, vector"

_IN_SESSION = "session_id in (select id from sessions where tenant = :tenant and user_id = :user)"

_FACT = (
    'id, user_id, session_id, message_id, start, "end", category, slot, claim, status, valid_until, of_fact, version,'
    " accesses, accessed_at, decay, learnt_us, record, digest"
)

_EPISODE = (
    "id, user_id, session_id, anchor, kind, significance, happened_us, accesses, accessed_at, decay, record, digest"
)

# What belongs to a user as a whole: columns, which rows, and their order.
_OF_USER: Mapping[str, tuple[str, str, str]] = {
    "facts": (_FACT, "user_id = :user", "id"),
    "episodes": (_EPISODE, "user_id = :user", "id"),
    "milestones": ("id, session_id, turn, title, created_at", _IN_SESSION, "id"),
    "proposals": ("id, user_id, session_id, status, created_us, record", "user_id = :user", "id"),
    "links": ("user_id, source, target, type, strength, created_at", "user_id = :user", "source, target, type"),
    "forgotten": ("user_id, mark", "user_id = :user", "mark"),
    "embedded": ("embedder, user_id, count, cuts", "user_id = :user", "embedder"),
    "changes": ("user_id, count, cuts, derived", "user_id = :user", "user_id"),
}

# What belongs to a session: columns, which rows, and their places.
_OF_SESSION: Mapping[str, tuple[str, str, str]] = {
    "sessions": (_SESSION, "sessions where id = :session", "1"),
    "messages": (_MESSAGE, "messages where session_id = :session", "seq"),
    "unread": ("seq", "messages where unread = 1 and session_id = :session", "seq"),
    "summaries": (SUMMARY, "summaries where session_id = :session", "place"),
    "vectors": (_VECTOR, "vectors where session_id = :session", "place"),
}

# What belongs to the tenant as a whole: columns, which rows, and their order.
_OF_TENANT: Mapping[str, tuple[str, str, str]] = {
    "appends": ("key, fingerprint, result", "", "key"),
    "costs": ("day, purpose, model, calls, tokens_in, tokens_out, cost", "", "day, purpose, model"),
    "receipts": ("id, created_us, record, previous, digest", "", "place"),
    "settings": ("key, value", " and key not in ('scrub', 'copy', 'words')", "key"),  # which are of the database itself
}


async def standing(tx: Transaction, user_id: str) -> Standing:
    key = {"tenant": tx.tenant, "user": user_id}
    sessions = await tx.rows(
        f"select id, {_SESSION},"
        " (select count(*) from vectors v where v.tenant = s.tenant and v.session_id = s.id),"
        " (select count(*) from messages m where m.tenant = s.tenant and m.session_id = s.id and m.unread = 1)"
        " from sessions s where tenant = :tenant and user_id = :user order by id",
        key,
    )
    whole = [await _rows_of_user(tx, table, key) for table in _OF_USER]
    loose = await _loose(tx, key)
    return Standing(
        user=_checksum([whole, loose]) if any(whole) or any(loose) or sessions else "",
        sessions={row[0]: _checksum(row[1:]) for row in sessions},
    )


async def rows(tx: Transaction, part: Part, *, after: int = 0, limit: int = 500) -> Mapping[str, Sequence[RawRow]]:
    if part.session_id is not None:
        return {table: await _rows_of_session(tx, part.session_id, table, after, limit) for table in part.tables}
    if part.user_id is not None:
        return await _all_rows_of_user(tx, part.user_id)
    return {table: await _rows_of_tenant(tx, table) for table in part.tables}


async def put_rows(tx: Transaction, part: Part, rows: Mapping[str, Sequence[RawRow]]) -> None:
    if part.session_id is not None and part.user_id is not None:
        for table, some in rows.items():
            await _put_rows_of_session(tx, part.user_id, part.session_id, table, some)
    elif part.user_id is not None:
        await _put_user(tx, part.user_id, rows)
    else:
        for table, some in rows.items():
            await _put_rows_of_tenant(tx, table, some)


async def _rows_of_user(tx: Transaction, table: str, key: Mapping[str, Any]) -> list[RawRow]:
    columns, which, order = _OF_USER[table]
    return await tx.rows(f"select {columns} from {table} where tenant = :tenant and {which} order by {order}", key)


async def _loose(tx: Transaction, key: Mapping[str, Any]) -> tuple[list[RawRow], list[RawRow]]:
    """Summaries and vectors that belong to no session."""
    mine = "tenant = :tenant and user_id = :user and session_id is null"
    return (
        await tx.rows(f"select {SUMMARY} from summaries where {mine} order by place", key),
        await tx.rows(f"select {_VECTOR} from vectors where {mine} order by embedder, item_id", key),
    )


async def chain_end(tx: Transaction, session_id: str, seq: int | None = None) -> tuple[int, bytes, int]:
    found = await tx.row(
        "select m.seq, m.digest, s.erasures from messages m join sessions s on s.tenant = m.tenant"
        " and s.id = m.session_id where m.tenant = :tenant and m.session_id = :id"
        " and (:seq = 0 or m.seq = :seq) order by m.seq desc limit 1",
        {"tenant": tx.tenant, "id": session_id, "seq": seq or 0},
    )
    return (0, b"", 0) if found is None else (found[0], found[1], found[2])


async def _all_rows_of_user(tx: Transaction, user_id: str) -> Mapping[str, Sequence[RawRow]]:
    key = {"tenant": tx.tenant, "user": user_id}
    rows: dict[str, Sequence[RawRow]] = {table: await _rows_of_user(tx, table, key) for table in _OF_USER}
    rows["summaries"], rows["vectors"] = await _loose(tx, key)
    sql = "select id from sessions where tenant = :tenant and user_id = :user order by id"
    rows["sessions"] = await tx.rows(sql, key)
    return rows


async def _rows_of_session(tx: Transaction, session_id: str, table: str, after: int, limit: int) -> list[RawRow]:
    columns, which, place = _OF_SESSION[table]
    return await tx.rows(
        f"select {place}, {columns} from {which} and tenant = :tenant and {place} > :after"
        f" order by {place} limit :limit",
        {"tenant": tx.tenant, "session": session_id, "after": after, "limit": limit},
    )


async def _rows_of_tenant(tx: Transaction, table: str) -> list[RawRow]:
    columns, which, order = _OF_TENANT[table]
    return await tx.rows(f"select {columns} from {table} where tenant = ?{which} order by {order}", (tx.tenant,))


async def put_session(
    tx: Transaction, session_id: str, row: RawRow, state: Literal["new", "unfinished", "whole"]
) -> None:
    if state == "new" and await sessions_sql.session(tx, session_id) is not None:
        await _drop_session(tx, row[0], session_id)
    await _put_session(tx, session_id, row if state == "whole" else _with(row, _SESSION, _COMPLETE, -1))
    if state != "whole":
        await tx.execute("delete from vectors where tenant = ? and session_id = ?", (tx.tenant, session_id))


async def _put_session(tx: Transaction, session_id: str, row: RawRow) -> None:
    named = f"tenant, id, {_SESSION}"
    changed = ", ".join(f"{name} = excluded.{name}" for name in _names(_SESSION))
    await tx.execute(
        f"insert into sessions ({named}) values ({_marks(named)}) on conflict (tenant, id) do update set {changed}",
        (tx.tenant, session_id, *row),
    )


async def _drop_session(tx: Transaction, user_id: str, session_id: str) -> None:
    gone = erasure_sql.Losses()
    await erasure_sql.erase_session(tx, session_id, gone)
    await erasure_sql.mend_words(tx, user_id, gone)


async def _put_rows_of_session(
    tx: Transaction, user_id: str, session_id: str, table: str, rows: Sequence[RawRow]
) -> None:
    if table == "messages":
        await _put_messages(tx, user_id, rows)
    elif table == "unread":
        mine = "where tenant = ? and session_id = ?"
        await tx.execute(f"update messages set unread = 0 {mine} and unread = 1", (tx.tenant, session_id))
        await tx.execute(
            f"update messages set unread = 1 {mine} and seq {tx.among('?')}",
            (tx.tenant, session_id, tx.array([seq for (seq,) in rows])),
        )
    elif table == "vectors":
        await _put_vectors(tx, rows)
    else:
        await _put_summaries(tx, user_id, "session_id = :session", session_id, rows)


async def _put_messages(tx: Transaction, user_id: str, rows: Sequence[RawRow]) -> None:
    known = {row.id for row in (await messages_sql.rows_by_id(tx, [message_row(row[:-1]).id for row in rows])).values()}
    fresh = [row for row in rows if message_row(row[:-1]).id not in known]
    places = await tx.places("messages", len(fresh))
    named = f"place, tenant, {_MESSAGE}"
    await tx.many(
        f"insert into messages ({named}) values ({_marks(named)})",
        [(place, tx.tenant, *row) for place, row in zip(places, fresh, strict=True)],
    )
    texts = [(place, text_of_row(message_row(row[:-1])) or "") for place, row in zip(places, fresh, strict=True)]
    await tx.words.add_messages(tx, user_id, texts)


async def _put_vectors(tx: Transaction, rows: Sequence[RawRow]) -> None:
    for embedder in {row[1] for row in rows}:
        await vectors_sql.drop_vectors_of(tx, embedder, [row[2] for row in rows if row[1] == embedder])
    await tx.insert_vectors([(tx.tenant, *row) for row in rows])


async def _put_summaries(
    tx: Transaction, user_id: str, which: str, session_id: str | None, rows: Sequence[RawRow]
) -> None:
    """Exactly these summaries; their vectors stay with those that are the same."""
    key = {"tenant": tx.tenant, "user": user_id, "session": session_id}
    known = {
        row[0]: row
        for row in await tx.rows(
            f"select {SUMMARY} from summaries where tenant = :tenant and user_id = :user and {which}", key
        )
    }
    wanted = {row[0]: row for row in rows}
    gone = erasure_sql.Losses()
    await erasure_sql.drop_summaries(tx, [one for one, row in known.items() if wanted.get(one) != row], gone)
    await erasure_sql.mend_words(tx, user_id, gone)
    for row in rows:
        if known.get(row[0]) != row:
            named = f"tenant, {SUMMARY}"
            await tx.execute(f"insert into summaries ({named}) values ({_marks(named)})", (tx.tenant, *row))
            await summaries_sql.index_summary(tx, row[0])


async def _put_user(tx: Transaction, user_id: str, rows: Mapping[str, Sequence[RawRow]]) -> None:
    """Exactly these rows, and no session but these."""
    sessions = {session_id for (session_id,) in rows["sessions"]}
    key = {"tenant": tx.tenant, "user": user_id}
    for table, (_, which, _) in _OF_USER.items():
        await tx.execute(f"delete from {table} where tenant = :tenant and {which}", key)
    for (session_id,) in await tx.rows("select id from sessions where tenant = :tenant and user_id = :user", key):
        if session_id not in sessions:
            await _drop_session(tx, user_id, session_id)
    await _put_summaries(tx, user_id, "session_id is null", None, rows["summaries"])
    for table, (columns, _, _) in _OF_USER.items():
        named = f"tenant, {columns}"
        await tx.many(
            f"insert into {table} ({named}) values ({_marks(named)})",
            [(tx.tenant, *row) for row in rows[table]],
        )
    await tx.execute("delete from vectors where tenant = :tenant and user_id = :user and session_id is null", key)
    await _put_vectors(tx, rows["vectors"])


async def _put_rows_of_tenant(tx: Transaction, table: str, rows: Sequence[RawRow]) -> None:
    """Exactly these rows, in this order."""
    columns, which, order = _OF_TENANT[table]

    await tx.alone_in_tenant()
    await tx.execute(f"delete from {table} where tenant = ?{which}", (tx.tenant,))
    values = [(tx.tenant, *row) for row in rows]
    named = f"tenant, {columns}"
    if order == "place":
        places = await tx.places(table, len(rows))
        named, values = f"place, {named}", [(place, *row) for place, row in zip(places, values, strict=True)]
    await tx.many(f"insert into {table} ({named}) values ({_marks(named)})", values)


def _names(columns: str) -> list[str]:
    return [name.strip() for name in columns.split(",")]


def _marks(columns: str) -> str:
    """A mark for each column's value."""
    return ", ".join("?" for _ in _names(columns))


def _with(row: RawRow, columns: str, name: str, value: Any) -> RawRow:
    place = _names(columns).index(name)
    return (*row[:place], value, *row[place + 1 :])


def _checksum(rows: Any) -> str:
    text = json.dumps(rows, default=lambda value: bytes(value).hex(), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
