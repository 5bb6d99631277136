"""Vectors: what has one, what needs one. Triggers take each away with what it was made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lamina.protocols.store import EpisodeRow, FactRow, Unembedded, VectorRow
from lamina.storage import changes_sql
from lamina.storage.relational_rows import EPISODE, FACT, MESSAGE, SUMMARY, message_row, summary_row
from lamina.storage.shared import (
    Best,
    needs_vector,
    whole_episodes,
    whole_facts,
    whole_messages,
    whole_summaries,
)
from lamina.storage.transaction import UNINDEXED_ID, Row, Sql, Transaction
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message
from lamina.values.report import Problem
from lamina.values.summary import Summary

Item = Message | Summary | Fact | Episode

_CHUNK = 4096  # vectors looked at in one go

# without a hint, SQLite goes through all facts and episodes of the tenant
_FACTS_BY_USER = Sql(sqlite="facts indexed by facts_by_user", postgres="facts")
_EPISODES_BY_USER = Sql(sqlite="episodes indexed by episodes_by_user", postgres="episodes")

_LACKING = (
    f"select {MESSAGE} from messages where tenant = :tenant and session_id = :session and seq > :after"
    " order by seq limit :limit"
)

_LACKING_AFTER_CUT = (
    f"select {MESSAGE} from messages where tenant = :tenant and session_id = :session and seq > :after"
    " and not exists (select 1 from vectors as v where v.tenant = :tenant and v.embedder = :embedder"
    " and v.session_id = :session and v.seq = messages.seq) order by seq limit :limit"
)

_STRAY = (
    "tenant = :tenant"
    " and not exists (select 1 from messages as m join sessions as s on s.tenant = m.tenant and s.id = m.session_id"
    " where m.tenant = :tenant and m.id = item_id and s.user_id = vectors.user_id"
    " and m.session_id = vectors.session_id and m.seq = vectors.seq)"
    " and not exists (select 1 from summaries as o where o.tenant = :tenant and o.id = item_id"
    " and o.user_id = vectors.user_id and o.status = 'live' and vectors.session_id is null)"
    " and not exists (select 1 from facts as o where o.tenant = :tenant and o.id = item_id"
    " and o.user_id = vectors.user_id and vectors.session_id is null)"
    " and not exists (select 1 from episodes as o where o.tenant = :tenant and o.id = item_id"
    " and o.user_id = vectors.user_id and vectors.session_id is null)"
)


async def vectors(
    tx: Transaction, user_id: str, embedder: str, after: int = 0, *, ids: Sequence[str] | None = None
) -> list[VectorRow]:
    wanted = "place > :after" if ids is None else f"item_id {tx.among(':ids')}"
    found = await tx.rows(
        "select place, item_id, vector from vectors where tenant = :tenant and user_id = :user"
        f" and embedder = :embedder and {wanted} order by place",
        {"tenant": tx.tenant, "user": user_id, "embedder": embedder, "after": after, "ids": tx.array(ids or ())},
    )
    return list(map(VectorRow._make, found))


async def nearest(tx: Transaction, user_id: str, embedder: str, vector: bytes, limit: int) -> list[str]:
    best, after = Best(vector, limit), 0
    while page := await tx.rows(
        "select place, item_id, vector from vectors where tenant = ? and user_id = ? and embedder = ?"
        " and place > ? order by place limit ?",
        (tx.tenant, user_id, embedder, after, _CHUNK),
    ):
        best.look([(item_id, kept) for _, item_id, kept in page])
        after = page[-1][0]
    return best.ids


async def to_embed(tx: Transaction, user_id: str, embedder: str, limit: int) -> Unembedded:
    count, cuts, _ = await changes_sql.counts(tx, user_id)
    key = {"tenant": tx.tenant, "user": user_id, "embedder": embedder, "limit": limit + 1}
    found: list[Item] = await _items_lacking(tx, key)
    if len(found) <= limit:
        found.extend(await _messages_lacking(tx, key, cuts, limit + 1 - len(found)))
    return Unembedded(count=count, cuts=cuts, items=tuple(found[:limit]), done=len(found) <= limit)


async def _items_lacking(tx: Transaction, key: Mapping[str, Any]) -> list[Item]:
    lacking = (
        "where {0}.tenant = :tenant and {0}.user_id = :user and not exists (select 1 from vectors as v"
        " where v.tenant = :tenant and v.item_id = {0}.id and v.embedder = :embedder)"
    )
    item_id = tx.pick(UNINDEXED_ID)
    behind = f"and {item_id} > :after order by {item_id} limit :limit"
    facts = f"{tx.pick(_FACTS_BY_USER)} {lacking.format('facts')} and status <> 'evidence'"
    episodes = f"{tx.pick(_EPISODES_BY_USER)} {lacking.format('episodes')}"
    kinds: tuple[tuple[str, Callable[[Iterable[Row]], Iterator[Item]]], ...] = (
        (f"select {SUMMARY} from summaries {lacking.format('summaries')} and status = 'live' {behind}", _summaries),
        (f"select {FACT} from {facts} {behind}", _facts),
        (f"select {EPISODE} from {episodes} {behind}", _episodes),
    )
    found: list[Item] = []
    for sql, values in kinds:
        after = ""
        while len(found) < key["limit"]:
            page = await tx.rows(sql, {**key, "after": after})
            found.extend(filter(needs_vector, values(page)))
            if len(page) < key["limit"]:
                break
            after = page[-1][0]
    return found


async def _messages_lacking(tx: Transaction, key: Mapping[str, Any], cuts: int, limit: int) -> list[Message]:
    """Behind the last one with a vector in each session that has changed; after a cut, wherever they are."""
    noted = await tx.row(
        "select count, cuts from embedded where tenant = :tenant and embedder = :embedder and user_id = :user", key
    )
    cut = noted is not None and noted[1] != cuts
    changed = await tx.rows(
        "select id from sessions where tenant = :tenant and user_id = :user and changed > :since order by changed, id",
        {**key, "since": 0 if cut or noted is None else noted[0]},
    )
    found: list[Message] = []
    for (session_id,) in changed:
        own = {**key, "session": session_id}
        after = 0 if cut else await _last_with_vector(tx, own)
        while len(found) < limit:
            page = await tx.rows(_LACKING_AFTER_CUT if cut else _LACKING, {**own, "after": after})
            found.extend(filter(needs_vector, whole_messages(map(message_row, page))))
            if len(page) < key["limit"]:
                break
            after = page[-1][1]
    return found[:limit]


async def _last_with_vector(tx: Transaction, key: Mapping[str, Any]) -> int:
    (seq,) = await tx.one(
        "select coalesce(max(seq), 0) from vectors where tenant = :tenant and embedder = :embedder"
        " and session_id = :session",
        key,
    )
    return int(seq)


async def put_vectors(
    tx: Transaction, user_id: str, embedder: str, cuts: int, vectors: Mapping[str, bytes], upto: int | None
) -> bool:
    if (await changes_sql.counts(tx, user_id))[1] != cuts:
        return False
    places = await _places(tx, user_id, list(vectors))
    await drop_vectors_of(tx, embedder, places)
    made = [
        (tx.tenant, user_id, embedder, item_id, *places[item_id], vector)
        for item_id, vector in vectors.items()
        if item_id in places
    ]
    await tx.insert_vectors(made)
    await tx.execute(
        "insert into embedded (tenant, embedder, user_id, count, cuts) select tenant, :embedder, user_id,"
        " case when count < :done then count else :done end, cuts from changes"
        " where tenant = :tenant and user_id = :user"
        " on conflict (tenant, embedder, user_id) do update set cuts = excluded.cuts,"
        " count = case when embedded.count < excluded.count then excluded.count else embedded.count end"
        " where :note = 1",
        {"tenant": tx.tenant, "user": user_id, "embedder": embedder, "done": upto or 0,
         "note": int(upto is not None)},
    )  # fmt: skip
    return True


async def drop_vectors_of(tx: Transaction, embedder: str, ids: Iterable[str]) -> None:
    await tx.execute(
        f"delete from vectors where tenant = ? and embedder = ? and item_id {tx.among('?')}",
        (tx.tenant, embedder, tx.array(ids)),
    )


async def _places(tx: Transaction, user_id: str, ids: Sequence[str]) -> dict[str, tuple[str | None, int | None]]:
    """Which of these the user has, and may have a vector; of messages, the session and the number."""
    wanted = f"tenant = :tenant and user_id = :user and id {tx.among(':ids')}"
    found = await tx.rows(
        f"select id, cast(null as text), cast(null as bigint) from summaries where {wanted} and status = 'live'"
        f" union all select id, cast(null as text), cast(null as bigint) from facts where {wanted}"
        f" union all select id, cast(null as text), cast(null as bigint) from episodes where {wanted}"
        " union all select m.id, m.session_id, m.seq from messages as m join sessions as s"
        " on s.tenant = m.tenant and s.id = m.session_id where m.tenant = :tenant and s.user_id = :user"
        f" and m.id {tx.among(':ids')}",
        {"tenant": tx.tenant, "user": user_id, "ids": tx.array(ids)},
    )
    return {item_id: (session_id, seq) for item_id, session_id, seq in found}


async def vector_problems(tx: Transaction) -> list[Problem]:
    """Vectors of what is not there, or not that user's."""
    found = await tx.rows(
        f"select embedder, count(*), min(item_id) from vectors where {_STRAY} group by embedder",
        {"tenant": tx.tenant},
    )
    return [
        Problem(
            kind="vector",
            where=f"vectors of {embedder}",
            text=f"{count} are of nothing that their user has, e.g. {item_id}",
            derived=True,
        )
        for embedder, count, item_id in found
    ]


async def drop_stray_vectors(tx: Transaction) -> None:
    """What has read vectors of this tenant must read them again."""
    await tx.execute(f"delete from vectors where {_STRAY}", {"tenant": tx.tenant})
    await tx.execute(
        "update changes set count = count + 1, cuts = cuts + 1, derived = count + 1 where tenant = ?", (tx.tenant,)
    )


def _summaries(found: Iterable[Row]) -> Iterator[Item]:
    return whole_summaries(map(summary_row, found))


def _facts(found: Iterable[Row]) -> Iterator[Item]:
    return whole_facts(FactRow(*row) for row in found)


def _episodes(found: Iterable[Row]) -> Iterator[Item]:
    return whole_episodes(EpisodeRow(*row) for row in found)
