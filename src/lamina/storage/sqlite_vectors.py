"""The SQLite store's vectors: what has one, what needs one. Triggers take each away with what it was made of."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from lamina.ports import EpisodeRow, FactRow, Unembedded, VectorRow
from lamina.storage.connection import rows
from lamina.storage.shared import needs_vector, whole_episodes, whole_facts, whole_messages, whole_summaries
from lamina.storage.sqlite_facts import FactTables
from lamina.storage.sqlite_rows import EPISODE, FACT, MESSAGE, SUMMARY, message_row, summary_row
from lamina.types import Episode, Fact, Message, Problem, Summary

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


class VectorTables(FactTables):
    """Vectors of messages, live summaries, facts and episodes."""

    # reading

    async def messages_by_id(self, ids: Sequence[str]) -> list[Message]:
        def work(connection: sqlite3.Connection) -> list[Message]:
            sql = f"select {MESSAGE} from messages where tenant = ? and id in (select value from json_each(?))"
            return list(whole_messages(map(message_row, rows(connection, sql, (self.tenant, json.dumps(list(ids)))))))

        return await self._connections.read(work)

    async def summaries_by_id(self, ids: Sequence[str]) -> list[Summary]:
        def work(connection: sqlite3.Connection) -> list[Summary]:
            sql = f"select {SUMMARY} from summaries where tenant = ? and id in (select value from json_each(?))"
            return list(whole_summaries(map(summary_row, rows(connection, sql, (self.tenant, json.dumps(list(ids)))))))

        return await self._connections.read(work)

    async def live_summaries(self, user_id: str) -> list[Summary]:
        def work(connection: sqlite3.Connection) -> list[Summary]:
            sql = f"select {SUMMARY} from summaries where tenant = ? and user_id = ? and status = 'live' order by +id"
            return list(whole_summaries(map(summary_row, rows(connection, sql, (self.tenant, user_id)))))

        return await self._connections.read(work)

    async def vectors(self, user_id: str, embedder: str, after: int) -> list[VectorRow]:
        def work(connection: sqlite3.Connection) -> list[VectorRow]:
            found = connection.execute(
                "select place, item_id, vector from vectors where tenant = ? and user_id = ? and embedder = ?"
                " and place > ? order by place",
                (self.tenant, user_id, embedder, after),
            )
            return list(map(VectorRow._make, found))

        return await self._connections.read(work)

    async def embedders(self) -> dict[str, int]:
        def work(connection: sqlite3.Connection) -> dict[str, int]:
            sql = "select embedder, count(*) from vectors where tenant = ? group by embedder order by embedder"
            return dict(rows(connection, sql, (self.tenant,)))

        return await self._connections.read(work)

    # what needs a vector

    async def unembedded(self, user_id: str, embedder: str, limit: int) -> Unembedded:
        def work(connection: sqlite3.Connection) -> Unembedded:
            count, cuts = self._counted(connection, user_id)
            key = {"tenant": self.tenant, "user": user_id, "embedder": embedder}
            lacking = chain(self._derived_lacking(connection, key), self._messages_lacking(connection, key, cuts))
            found = list(islice(filter(needs_vector, lacking), limit + 1))
            return Unembedded(count=count, cuts=cuts, items=tuple(found[:limit]), done=len(found) <= limit)

        return await self._connections.read(work)

    def _derived_lacking(
        self, connection: sqlite3.Connection, key: Mapping[str, str]
    ) -> Iterator[Summary | Fact | Episode]:
        lacking = (
            "where {0}.tenant = :tenant and {0}.user_id = :user and not exists (select 1 from vectors as v"
            " where v.tenant = :tenant and v.item_id = {0}.id and v.embedder = :embedder)"
        )
        sql = f"select {SUMMARY} from summaries {lacking.format('summaries')} and status = 'live' order by +id"
        yield from whole_summaries(map(summary_row, connection.execute(sql, key)))
        # without being told, SQLite goes through all facts and episodes of the tenant
        sql = f"select {FACT} from facts indexed by facts_by_user {lacking.format('facts')}"
        sql += " and status <> 'evidence' order by +id"
        yield from whole_facts(FactRow(*row) for row in connection.execute(sql, key))
        sql = f"select {EPISODE} from episodes indexed by episodes_by_user {lacking.format('episodes')} order by +id"
        yield from whole_episodes(EpisodeRow(*row) for row in connection.execute(sql, key))

    def _messages_lacking(self, connection: sqlite3.Connection, key: Mapping[str, str], cuts: int) -> Iterator[Message]:
        """Behind the last one with a vector in each session that has changed; after a cut, wherever they are."""
        noted = connection.execute(
            "select count, cuts from embedded where tenant = :tenant and embedder = :embedder and user_id = :user", key
        ).fetchone()
        cut = noted is not None and noted[1] != cuts
        where = (
            "not exists (select 1 from vectors as v where v.tenant = :tenant and v.embedder = :embedder"
            " and v.session_id = :session and v.seq = messages.seq)"
            if cut
            else "seq > (select coalesce(max(seq), 0) from vectors as v where v.tenant = :tenant"
            " and v.embedder = :embedder and v.session_id = :session)"
        )
        changed = rows(
            connection,
            "select id from sessions where tenant = :tenant and user_id = :user and changed > :since"
            " order by changed, id",
            {**key, "since": 0 if cut or noted is None else noted[0]},
        )
        for (session_id,) in changed:
            found = connection.execute(
                f"select {MESSAGE} from messages where tenant = :tenant and session_id = :session and {where}"
                " order by seq",
                {**key, "session": session_id},
            )
            yield from whole_messages(map(message_row, found))

    async def unembedded_users(self, embedder: str, limit: int) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            # what is noted of a user is never above their count, so as long as the sums agree nobody is due
            found = rows(
                connection,
                "select user_id from changes where tenant = :tenant"
                " and (select sum(count) from changes where tenant = :tenant) >"
                " (select coalesce(sum(count), 0) from embedded where tenant = :tenant and embedder = :embedder)"
                " and count > coalesce((select e.count from embedded as e where e.tenant = :tenant"
                " and e.embedder = :embedder and e.user_id = changes.user_id), 0) order by user_id limit :limit",
                {"tenant": self.tenant, "embedder": embedder, "limit": limit},
            )
            return [row[0] for row in found]

        return await self._connections.read(work)

    # writing

    async def put_vectors(
        self, user_id: str, embedder: str, cuts: int, vectors: Mapping[str, bytes], upto: int | None
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if self._counted(connection, user_id)[1] != cuts:
                return False
            places = self._places(connection, user_id, list(vectors))
            connection.executemany(
                "insert or replace into vectors (tenant, user_id, embedder, item_id, session_id, seq, vector)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                [
                    (self.tenant, user_id, embedder, item_id, *places[item_id], vector)
                    for item_id, vector in vectors.items()
                    if item_id in places
                ],
            )
            connection.execute(
                "insert into embedded (tenant, embedder, user_id, count, cuts)"
                " select tenant, :embedder, user_id, min(coalesce(:upto, 0), count), cuts from changes"
                " where tenant = :tenant and user_id = :user"
                " on conflict (tenant, embedder, user_id) do update set count = max(count, excluded.count),"
                " cuts = excluded.cuts where :upto is not null",
                {"tenant": self.tenant, "user": user_id, "embedder": embedder, "upto": upto},
            )
            return True

        return await self._connections.write(work)

    def _places(
        self, connection: sqlite3.Connection, user_id: str, ids: Sequence[str]
    ) -> dict[str, tuple[str | None, int | None]]:
        """Which of these the user has, and may have a vector; of messages, the session and the number."""
        wanted = "tenant = :tenant and user_id = :user and id in (select value from json_each(:ids))"
        found = rows(
            connection,
            f"select id, null, null from summaries where {wanted} and status = 'live'"
            f" union all select id, null, null from facts where {wanted}"
            f" union all select id, null, null from episodes where {wanted}"
            " union all select m.id, m.session_id, m.seq from messages as m join sessions as s"
            " on s.tenant = m.tenant and s.id = m.session_id where m.tenant = :tenant and s.user_id = :user"
            " and m.id in (select value from json_each(:ids))",
            {"tenant": self.tenant, "user": user_id, "ids": json.dumps(ids)},
        )
        return {item_id: (session_id, seq) for item_id, session_id, seq in found}

    async def drop_vectors(self, embedder: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for table in ("vectors", "embedded"):
                connection.execute(f"delete from {table} where tenant = ? and embedder = ?", (self.tenant, embedder))

        await self._connections.write(work)

    # keeping house

    def _vector_problems(self, connection: sqlite3.Connection) -> Iterator[Problem]:
        """Vectors of what is not there, or not that user's."""
        found = rows(
            connection,
            f"select embedder, count(*), min(item_id) from vectors where {_STRAY} group by embedder",
            {"tenant": self.tenant},
        )
        for embedder, count, item_id in found:
            text = f"{count} are of nothing that their user has, e.g. {item_id}"
            yield Problem(kind="vector", where=f"vectors of {embedder}", text=text, derived=True)

    def _drop_stray_vectors(self, connection: sqlite3.Connection) -> None:
        """What has read vectors of this tenant must read them again."""
        connection.execute(f"delete from vectors where {_STRAY}", {"tenant": self.tenant})
        connection.execute("update changes set count = count + 1, cuts = cuts + 1 where tenant = ?", (self.tenant,))
