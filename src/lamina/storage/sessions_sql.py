"""Sessions, milestones and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lamina.errors import NotFound
from lamina.protocols.store import (
    Newest,
)
from lamina.storage import changes_sql
from lamina.storage.relational_rows import MESSAGE, SESSION, message_row, session_value, to_us
from lamina.storage.shared import (
    behind,
    escape,
    stale,
    whole_messages,
)
from lamina.storage.transaction import Row, Sql, Transaction
from lamina.values.opt_out import PREFIX
from lamina.values.session import Milestone, Session, Status

_SESSION, _MESSAGE = SESSION.split(", "), MESSAGE.split(", ")

# the session, and its first and last message's times, which have the zone in which they were said
_ZONED = f"{SESSION}, " + ", ".join(
    "(select created_at from messages as m where m.tenant = sessions.tenant and m.session_id = sessions.id"
    f" order by m.seq {order} limit 1)"
    for order in ("asc", "desc")
)

_POSITION = Sql(sqlite="instr", postgres="strpos")


async def note_tenant(tx: Transaction) -> None:
    """Have the tenant be known to workers of all tenants."""
    await tx.execute("insert into tenants (tenant) values (?) on conflict (tenant) do nothing", (tx.tenant,))


async def session(tx: Transaction, session_id: str) -> Session | None:
    found = await tx.row(f"select {_ZONED} from sessions where tenant = ? and id = ?", (tx.tenant, session_id))
    return None if found is None else _zoned(found)


async def require_session(tx: Transaction, session_id: str) -> Session:
    found = await session(tx, session_id)
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


async def generation(tx: Transaction) -> int:
    """Where the versions of a new session begin: past those of all that were erased.

    So work that was under way on a session comes too late for another that has taken its id.
    """
    found = await tx.row("select value from settings where tenant = ? and key = 'generation'", (tx.tenant,))
    return 0 if found is None else int(found[0])


# of a row of `changes`: its user has not opted out
TAKES_PART = (
    "not exists (select 1 from settings as s where s.tenant = :tenant and s.value <> ''"
    f" and s.key = '{PREFIX}' || changes.user_id)"
)


async def users(
    tx: Transaction,
    *,
    limit: int = 1000,
    after: str | None = None,
    everyone: bool = False,
    unembedded: str | None = None,
) -> list[str]:
    if unembedded is not None:
        return await _users_without_vectors(tx, unembedded, after or "", limit)
    tables = ("sessions", "facts", "changes", "forgotten") if everyone else ("sessions", "facts")
    # from each user to the next one by an index, however much there is of each
    least = " union all ".join(
        f"select min(user_id) as user_id from {table} where tenant = :tenant and user_id > {{after}}"
        for table in tables
    )
    first, following = (
        f"(select min(user_id) from ({least.format(after=after)}) as each_table)"
        for after in (":after", "seen.user_id")
    )
    found = await tx.rows(
        f"with recursive seen(user_id, place) as (select {first}, 1"
        f" union all select {following}, place + 1 from seen where user_id is not null and place < :limit)"
        " select user_id from seen where user_id is not null order by place",
        {"tenant": tx.tenant, "after": after or "", "limit": limit},
    )
    return [row[0] for row in found]


def _least_user(tables: Sequence[str], after: str) -> str:
    """The first user behind a place, in any of the tables; null if there is none."""
    each = (f"select min(user_id) as user_id from {t} where tenant = :tenant and user_id > {after}" for t in tables)
    return f"(select min(user_id) from ({' union all '.join(each)}) as first_of_each)"


async def _users_without_vectors(tx: Transaction, embedder: str, after: str, limit: int) -> list[str]:
    # what is noted of a user is never above their count, so as long as the sums agree nobody is due
    found = await tx.rows(
        "select user_id from changes where tenant = :tenant and user_id > :after"
        " and (select sum(count) from changes where tenant = :tenant) >"
        " (select coalesce(sum(count), 0) from embedded where tenant = :tenant and embedder = :embedder)"
        " and count > coalesce((select e.count from embedded as e where e.tenant = :tenant"
        f" and e.embedder = :embedder and e.user_id = changes.user_id), 0) and {TAKES_PART}"
        " order by user_id limit :limit",
        {"tenant": tx.tenant, "embedder": embedder, "after": after, "limit": limit},
    )
    return [row[0] for row in found]


async def recount_cursor(tx: Transaction, session_id: str) -> None:
    await tx.execute(
        "update sessions set (cursor_turn, cursor_tokens) = (select coalesce(max(turn), 0),"
        " coalesce(sum(tokens), 0) from messages where tenant = :tenant and session_id = :id"
        " and seq <= sessions.cursor) where tenant = :tenant and id = :id",
        {"tenant": tx.tenant, "id": session_id},
    )


async def sessions(
    tx: Transaction,
    *,
    ids: Sequence[str] | None = None,
    user_id: str | None = None,
    status: Status | None = None,
    project_id: str | None = None,
    newest: bool = False,
    limit: int = 1000,
    after: str | None = None,
) -> list[Session]:
    where = "" if after is None else " and id > :after"
    where += "" if ids is None else f" and id {tx.among(':ids')}"
    where += "" if user_id is None else " and user_id = :user"
    where += "" if status is None else " and status = :status"
    where += "" if project_id is None else " and coalesce(project_id, '') = :project"
    where += " and turns > 0" if newest else ""
    order = "started_us desc, id desc" if newest else "id"
    found = await tx.rows(
        f"select {_ZONED} from sessions where tenant = :tenant{where} order by {order} limit :limit",
        {
            "tenant": tx.tenant,
            "after": after,
            "ids": tx.array(ids or ()),
            "user": user_id,
            "status": status,
            "project": project_id,
            "limit": limit,
        },
    )
    return [_zoned(row) for row in found]


def _zoned(row: Row) -> Session:
    """A session that begins and ends in the zones of its first and last message."""
    found = session_value(row[: len(_SESSION)])
    first, last = (None if said is None else datetime.fromisoformat(said).tzinfo for said in row[len(_SESSION) :])
    return replace(
        found,
        started_at=found.started_at.astimezone(first or UTC),
        last_at=found.last_at.astimezone(last or UTC),
    )


async def newest_messages(
    tx: Transaction,
    prefix: str = "",
    *,
    ids: Sequence[str] | None = None,
    after: str = "",
    has: Sequence[str] = (),
    limit: int = 1000,
) -> list[Newest]:
    if ids is not None:
        where = f"s.id {tx.among(':ids')} order by s.id"
        return _newest(await _ends(tx, where, {"ids": tx.array(ids)}))
    pieces = {f"has{number}": f"%{escape(piece)}%" for number, piece in enumerate(has)}
    wanted = "".join(f" and m.metadata like :{name} escape '!'" for name in pieces)
    where = f"s.id > :after and s.id < :end{wanted} order by s.id limit :limit"
    values = {"after": max(after, prefix), "end": behind(prefix), "limit": limit, **pieces}
    return _newest(await _ends(tx, where, values))


async def _ends(tx: Transaction, where: str, values: Mapping[str, Any]) -> list[Row]:
    columns = ", ".join([*(f"s.{name}" for name in _SESSION), *(f"m.{name}" for name in _MESSAGE)])
    return await tx.rows(
        f"select {columns} from sessions as s join messages as m on m.tenant = s.tenant"
        f" and m.session_id = s.id and m.seq = s.messages where s.tenant = :tenant and {where}",
        {"tenant": tx.tenant, **values},
    )


async def first_sessions(tx: Transaction, prefix: str, mark: str) -> list[str]:
    """A walk along the index that leaps over all sessions of the same beginning."""
    first = (
        "(select id from sessions where tenant = :tenant and id > {} and id < :end"
        " and messages > 0 order by id limit 1)"
    )
    at = f"{tx.pick(_POSITION)}(substr(found.id, :start), :mark)"
    leap = f"case when {at} = 0 then found.id else substr(found.id, 1, :start + {at} - 2) || :behind end"
    values = {"prefix": prefix, "end": behind(prefix), "start": len(prefix) + 1, "mark": mark}
    found = await tx.rows(
        f"with recursive found (id) as (select {first.format(':prefix')} union all"
        f" select {first.format(leap)} from found where found.id is not null)"
        f" select id from found where {at} > 0",
        {"tenant": tx.tenant, "behind": behind(mark), **values},
    )
    return [row[0] for row in found]


async def touch_sessions(tx: Transaction, ids: Sequence[str], at: datetime) -> None:
    await tx.execute(
        "update sessions set touched_us = :at where tenant = :tenant and id in (select id from sessions"
        f" where tenant = :tenant and id {tx.among(':ids')} order by id" + tx.ordered + ")",
        {"at": to_us(at), "tenant": tx.tenant, "ids": tx.array(ids)},
    )


async def update_session(
    tx: Transaction,
    session_id: str,
    at: datetime,
    *,
    status: Status | None = None,
    title: str | None = None,
    expect: str | None = None,
) -> Session:
    before = await require_session(tx, session_id)
    if expect is not None and before.tag != expect:
        raise stale("session", session_id)
    if status is not None:
        await _set_status(tx, before, status, at)
    if title is not None and (title or None) != before.title:
        await _set_title(tx, before, title or None, at)
    return await require_session(tx, session_id)


async def _set_status(tx: Transaction, before: Session, status: Status, at: datetime) -> None:
    await tx.execute(
        "update sessions set status = :status, touched_us = :at, touch = touch + 1, pending = 1, aside = 0,"
        " ended_us = case when :status in ('ended', 'archived') then coalesce(ended_us, :at) end,"
        " archived_us = case when :status = 'archived' then coalesce(archived_us, :at) end"
        " where tenant = :tenant and id = :id",
        {"status": status, "at": to_us(at), "tenant": tx.tenant, "id": before.id},
    )
    if (before.status == "archived") != (status == "archived"):
        await changes_sql.note_change(tx, before.user_id)


async def _set_title(tx: Transaction, before: Session, title: str | None, at: datetime) -> None:
    """No worker has to look at it: nothing is derived from a title."""
    changed = await changes_sql.note_change(tx, before.user_id)
    await tx.execute(
        "update sessions set title = ?, touched_us = ?, changed = ? where tenant = ? and id = ?",
        (title, to_us(at), changed, tx.tenant, before.id),
    )


async def add_milestone(tx: Transaction, milestone: Milestone) -> None:
    await require_session(tx, milestone.session_id)
    await tx.execute(
        "insert into milestones (tenant, id, session_id, turn, title, created_at) values (?, ?, ?, ?, ?, ?)"
        " on conflict (tenant, id) do nothing",
        (tx.tenant, milestone.id, milestone.session_id, milestone.turn, milestone.title,
         milestone.created_at.isoformat()),
    )  # fmt: skip


async def milestones(tx: Transaction, session_id: str) -> list[Milestone]:
    found = await tx.rows(
        "select id, session_id, turn, title, created_at from milestones where tenant = ? and session_id = ?"
        " order by turn, id",
        (tx.tenant, session_id),
    )
    return [
        Milestone(id=a, session_id=b, turn=c, title=d, created_at=datetime.fromisoformat(e)) for a, b, c, d, e in found
    ]


async def setting(tx: Transaction, key: str) -> str | None:
    found = await tx.row("select value from settings where tenant = ? and key = ?", (tx.tenant, key))
    return None if found is None else str(found[0])


async def has_opted_out(tx: Transaction, user_id: str) -> bool:
    """Whether nothing is to be derived from what a user says."""
    return bool(await setting(tx, PREFIX + user_id))


async def put_setting(tx: Transaction, key: str, value: str, *, keep: bool = False) -> str:
    await note_tenant(tx)
    known = "nothing" if keep else "update set value = excluded.value"
    await tx.execute(
        f"insert into settings (tenant, key, value) values (?, ?, ?) on conflict (tenant, key) do {known}",
        (tx.tenant, key, value),
    )
    return (await setting(tx, key) or value) if keep else value


async def end_idle(tx: Transaction, touched_before: datetime, at: datetime) -> list[str]:
    ended = await tx.rows(
        "update sessions set status = 'ended', ended_us = :at, touch = touch + 1, pending = 1, aside = 0"
        " where tenant = :tenant and id in (select id from sessions where tenant = :tenant"
        " and status = 'active' and touched_us < :before order by id" + tx.free + ") returning id",
        {"at": to_us(at), "tenant": tx.tenant, "before": to_us(touched_before)},
    )
    return sorted(row[0] for row in ended)


def _newest(found: Sequence[Row]) -> list[Newest]:
    sessions = {row[0]: session_value(row[: len(_SESSION)]) for row in found}
    messages = whole_messages(message_row(row[len(_SESSION) :]) for row in found)
    return [Newest(sessions[message.session_id], message) for message in messages]


_OLD = "tenant = :tenant and status = 'ended' and ended_us < :before and cursor = messages"


async def users_with_ended(tx: Transaction, ended_before: datetime) -> list[str]:
    """Users who have sessions to archive."""
    sql = f"select distinct user_id from sessions where {_OLD} order by user_id"
    return [user_id for (user_id,) in await tx.rows(sql, {"tenant": tx.tenant, "before": to_us(ended_before)})]


async def archive_of(tx: Transaction, user_id: str, ended_before: datetime, at: datetime) -> list[str]:
    """Archive what has ended of one user; the sessions."""
    archived = await tx.rows(
        f"update sessions set status = 'archived', archived_us = :at where {_OLD} and user_id = :user returning id",
        {"at": to_us(at), "tenant": tx.tenant, "before": to_us(ended_before), "user": user_id},
    )
    if archived:
        await changes_sql.note_change(tx, user_id)
    return [row[0] for row in archived]
