"""Summaries and digests as rows, and their words in the index."""

from collections.abc import Sequence

from lamina.errors import StoreError
from lamina.log import records
from lamina.protocols.store import (
    SummaryRow,
)
from lamina.storage import changes_sql
from lamina.storage.relational_rows import SUMMARY, summary_row
from lamina.storage.shared import whole_summaries
from lamina.storage.transaction import UNINDEXED_ID, Transaction
from lamina.values.summary import Summary

_HIGHEST = 2**62


async def insert_summary(tx: Transaction, summary: Summary) -> None:
    """Store a summary; one with a known id takes its own place again."""
    row = records.encode_summary(summary)
    if not await unindex_summary(tx, row.id):
        raise StoreError(f"summary {row.id} is damaged; `repair` writes it again from the log")
    await tx.execute(
        f"insert into summaries (tenant, {SUMMARY}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " on conflict (tenant, id) do update set version = excluded.version, first = excluded.first,"
        " last = excluded.last, status = excluded.status, folded_into = excluded.folded_into,"
        " record = excluded.record, digest = excluded.digest",
        (tx.tenant, row.id, row.user_id, row.session_id, row.kind, row.layer, row.version, row.first, row.last,
         row.status, row.folded_into, row.record, row.digest),
    )  # fmt: skip
    await index_summary(tx, row.id)


async def index_summary(tx: Transaction, summary_id: str) -> None:
    """Make a live summary findable by its words."""
    for place, summary in await _live_summary(tx, summary_id):
        await tx.words.add_summary(tx, place, summary)


async def unindex_summary(tx: Transaction, summary_id: str) -> bool:
    """Take a summary out of the word index; False if it cannot be read, so that its words are not known."""
    (live,) = await tx.one(
        "select count(*) from summaries where tenant = ? and id = ? and status = 'live'", (tx.tenant, summary_id)
    )
    found = await _live_summary(tx, summary_id)
    for place, summary in found:
        await tx.words.drop_summary(tx, place, summary)
    return len(found) == int(live)


async def _live_summary(tx: Transaction, summary_id: str) -> list[tuple[int, Summary]]:
    found = await tx.rows(
        f"select place, {SUMMARY} from summaries where tenant = ? and id = ? and status = 'live'",
        (tx.tenant, summary_id),
    )
    return [(place, summary) for place, *row in found for summary in whole_summaries([summary_row(row)])]


async def summaries(
    tx: Transaction,
    session_id: str | None = None,
    *,
    user_id: str | None = None,
    ids: Sequence[str] | None = None,
    live: bool = True,
    digests: bool = False,
) -> list[Summary]:
    if digests and user_id is not None:
        found = await newest_digests(tx, user_id, limit=1000)
        return [digest for digest in found if not live or digest.status == "live"]
    where = "" if session_id is None else " and session_id = :session"
    where += "" if user_id is None else " and user_id = :user"
    where += "" if ids is None else f" and id {tx.among(':ids')}"
    where += " and status = 'live'" if live else ""
    rows = await tx.rows(
        f"select {SUMMARY} from summaries where tenant = :tenant{where}"
        f" order by {tx.pick(UNINDEXED_ID) if session_id is None else 'first, place'}",
        {"tenant": tx.tenant, "session": session_id, "user": user_id, "ids": tx.array(ids or ())},
    )
    return list(whole_summaries(map(summary_row, rows)))


async def newest_digests(tx: Transaction, user_id: str, *, limit: int) -> list[Summary]:
    found: list[Summary] = []
    below = _HIGHEST
    while len(found) < limit:
        page = await tx.rows(
            f"select {SUMMARY} from summaries where tenant = ? and user_id = ? and kind = 'digest' and version < ?"
            " order by version desc limit ?",
            (tx.tenant, user_id, below, limit),
        )
        found.extend(whole_summaries(map(summary_row, page)))
        if len(page) < limit:
            break
        below = page[-1][5]
    return found[:limit]


async def live_digests(tx: Transaction, user_id: str) -> list[Summary]:
    """The current digest of each project, and that of the sessions of none, the newest first."""
    found = await tx.rows(
        f"select {SUMMARY} from summaries where tenant = ? and user_id = ? and kind = 'digest' and status = 'live'"
        " order by version desc",
        (tx.tenant, user_id),
    )
    return list(whole_summaries(map(summary_row, found)))


async def raw_summaries(tx: Transaction, session_id: str) -> list[SummaryRow]:
    sql = f"select {SUMMARY} from summaries where tenant = ? and session_id = ? order by first, place"
    return [summary_row(row) for row in await tx.rows(sql, (tx.tenant, session_id))]


async def drop_digests(tx: Transaction, user_id: str) -> None:
    gone = await tx.execute(
        "delete from summaries where tenant = ? and user_id = ? and kind = 'digest'", (tx.tenant, user_id)
    )
    await tx.words.rebuild_summaries(tx, user_id)
    if gone:
        await changes_sql.note_change(tx, user_id)
