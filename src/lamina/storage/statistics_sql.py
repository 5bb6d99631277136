"""What there is, counted without reading what was said."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from lamina.maintenance import counting
from lamina.maintenance import outline as strata
from lamina.protocols.store import Imprint, Mark
from lamina.storage import sessions_sql
from lamina.storage.shared import log_skip
from lamina.storage.transaction import Row, Sql, Transaction
from lamina.values.session import Session
from lamina.values.statistics import Outline, Stats

_DAY_US = 86_400_000_000

_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC).date()

_OF_THEIRS = " and session_id in (select id from sessions where tenant = :tenant and user_id = :user)"


def _field(path: str) -> Sql:
    """A field of a summary's record; null if it cannot be read.

    PostgreSQL finds a key by its quotation marks: inside of a text, each has a backslash before it.
    """
    key = path.rpartition(".")[2]
    return Sql(
        sqlite=f"json_extract(case when json_valid(record) then record end, '$.{path}')",
        postgres=f"""substring(record from '[{{,]"{key}":"{{0,1}}([^",}}]+)')""",
    )


def _utc_day(column: str) -> Sql:
    """The day of a time in UTC; null if it is none."""
    return Sql(
        sqlite=f"date({column})",
        postgres=f"case when {column} ~ '^[0-9-]{{10}}T[0-9:.]+[+-][0-9:]+$'"
        f" then to_char(cast({column} as timestamptz) at time zone 'utc', 'YYYY-MM-DD') end",
    )


_TOKENS, _DUE = _field("tokens"), _field("recipe.details.due")
_CREATED_AT, _UPDATED_AT = _field("created_at"), _field("updated_at")
_DAY_CREATED, _DAY_UPDATED = _utc_day("created_at"), _utc_day("updated_at")


async def outline(tx: Transaction, session_id: str, parts: int) -> Outline:
    session = await sessions_sql.require_session(tx, session_id)
    imprints = [*_imprints(await _imprint_rows(tx, session_id))]
    seqs = strata.places_to_read(session.counters.messages, parts, imprints)
    marks = await _marks(tx, session, seqs)
    return strata.build_outline(session, parts, marks, imprints, await _seqs_with_erasures(tx, session))


async def _imprint_rows(tx: Transaction, session_id: str) -> list[Row]:
    return await tx.rows(
        "select id, kind, layer, version, first, last, status, folded_into,"
        f" {tx.pick(_TOKENS)}, {tx.pick(_DUE)}, {tx.pick(_CREATED_AT)}"
        " from summaries where tenant = ? and session_id = ? and first is not null",
        (tx.tenant, session_id),
    )


async def _marks(tx: Transaction, session: Session, seqs: Sequence[int]) -> list[Mark]:
    """Each message is added up once: the tokens between two marks; a damaged time is told by the one before it."""
    found = await tx.rows(
        "with marked as (select seq, turn, created_at, coalesce(lag(seq) over (order by seq), 0) as before"
        " from messages where tenant = :tenant and session_id = :session"
        f" and seq {tx.among(':seqs')})"
        " select marked.seq, marked.turn, marked.created_at, (select cast(sum(tokens) as bigint) from messages"
        " where tenant = :tenant and session_id = :session and seq > marked.before and seq <= marked.seq)"
        " from marked order by marked.seq",
        {"tenant": tx.tenant, "session": session.id, "seqs": tx.array(seqs)},
    )
    marks, time = [], session.started_at.isoformat()
    for seq, turn, created_at, tokens in found:
        time = time if _day(created_at) is None else created_at
        marks.append(Mark(seq, turn, time, tokens))
    return marks


async def _seqs_with_erasures(tx: Transaction, session: Session) -> list[int]:
    """The numbers of messages of which something was erased; no look where nothing ever was."""
    if not session.erasures:
        return []
    found = await tx.rows(
        "select seq from messages where tenant = ? and session_id = ? and erased is not null order by seq",
        (tx.tenant, session.id),
    )
    return [seq for (seq,) in found]


async def stats(tx: Transaction, user_id: str | None = None, *, days: int) -> Stats:
    key = {"tenant": tx.tenant} if user_id is None else {"tenant": tx.tenant, "user": user_id}

    own = "tenant = :tenant" if user_id is None else "tenant = :tenant and user_id = :user"
    sums = await tx.one(
        "select count(*), cast(coalesce(sum(messages), 0) as bigint), cast(coalesce(sum(tokens), 0) as bigint),"
        f" cast(coalesce(sum(tokens - cursor_tokens), 0) as bigint) from sessions where {own}",
        key,
    )
    learnt = await tx.rows(
        f"select status, learnt_us / {_DAY_US} as day, count(*) from facts where {own} group by status, day",
        key,
    )
    (episodes,) = await tx.one(f"select count(*) from episodes where {own}", key)
    return counting.build_stats(
        counting.Totals._make(sums),
        await _messages_by_day(tx, key),
        await _summaries_by_day(tx, own, key),
        [counting.DayFacts(status, _FIRST_DAY + timedelta(days=day), number) for status, day, number in learnt],
        episodes=episodes,
        days=days,
    )


async def _messages_by_day(tx: Transaction, key: Mapping[str, str]) -> list[counting.DayMessages]:
    theirs = _OF_THEIRS if "user" in key else ""
    found = await tx.rows(
        f"select coalesce({tx.pick(_DAY_CREATED)}, substr(created_at, 1, 10)) as day, count(*),"
        f" cast(sum(tokens) as bigint) from messages where tenant = :tenant{theirs} group by day",
        key,
    )
    return [
        counting.DayMessages(read, number, tokens) for day, number, tokens in found if (read := _day(day)) is not None
    ]


async def _summaries_by_day(tx: Transaction, own: str, key: Mapping[str, str]) -> list[counting.DaySummaries]:
    found = await tx.rows(
        f"select kind, layer, status, coalesce({tx.pick(_DAY_UPDATED)}, substr(updated_at, 1, 10)) as day, count(*),"
        " cast(coalesce(sum(tokens), 0) as bigint) from (select kind, layer, status,"
        f" {tx.pick(_UPDATED_AT)} as updated_at, cast({tx.pick(_TOKENS)} as bigint) as tokens"
        f" from summaries where {own}) as written group by kind, layer, status, day",
        key,
    )
    return [
        counting.DaySummaries(kind, layer, status, _day(day), number, tokens)
        for kind, layer, status, day, number, tokens in found
    ]


def _imprints(found: Sequence[Row]) -> Iterator[Imprint]:
    """The rows that can be read; the others are skipped with a warning."""
    for row in found:
        try:
            datetime.fromisoformat(row[10])
            yield Imprint._make((*row[:8], int(row[8]), None if row[9] is None else int(row[9]), row[10]))
        except (TypeError, ValueError) as error:
            log_skip("summaries", row[0], error)


def _day(time: Any) -> date | None:
    """The day of a time or a date; None if it is damaged."""
    try:
        return datetime.fromisoformat(time).date()
    except (TypeError, ValueError):
        return None
