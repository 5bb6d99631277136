"""The SQLite store's facts, episodes and links."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from lamina.policy.episodes import capped
from lamina.policy.facts import order
from lamina.policy.records import episode_row, fact_row
from lamina.ports import Access, EpisodeRow, FactRow, FactsCommit, Reading, Settle
from lamina.storage.connection import rows
from lamina.storage.shared import reworded, searchable, whole_episodes, whole_facts, whole_messages
from lamina.storage.sqlite_changes import ChangeTables
from lamina.storage.sqlite_rows import EPISODE, FACT, MESSAGE, episode_columns, fact_columns, message_row, to_us
from lamina.types import Episode, Fact, Link, Message, Span

Slot = tuple[str, str]  # category and slot


class FactTables(ChangeTables):
    """Facts with their standing, episodes, and the links between them."""

    # reading

    async def facts(self, user_id: str, session_id: str | None = None) -> list[Fact]:
        return await self._connections.read(lambda connection: self._facts(connection, user_id, session_id))

    def _facts(self, connection: sqlite3.Connection, user_id: str, session_id: str | None = None) -> list[Fact]:
        return sorted(whole_facts(self._raw_facts(connection, user_id, session_id)), key=order)

    def _raw_facts(self, connection: sqlite3.Connection, user_id: str, session_id: str | None) -> list[FactRow]:
        found = rows(
            connection,
            f"select {FACT} from facts where tenant = :tenant and user_id = :user"
            " and (:session is null or session_id = :session) order by id",
            {"tenant": self.tenant, "user": user_id, "session": session_id},
        )
        return [FactRow(*row) for row in found]

    def _standing_facts(self, connection: sqlite3.Connection, user_id: str) -> list[Fact]:
        found = rows(
            connection,
            f"select {FACT} from facts where tenant = ? and user_id = ? and status in ('active', 'conflicted')",
            (self.tenant, user_id),
        )
        return sorted(whole_facts(FactRow(*row) for row in found), key=order)

    async def facts_in(self, session_id: str, span: Span) -> list[Fact]:
        def work(connection: sqlite3.Connection) -> list[Fact]:
            found = rows(
                connection,
                f"select {FACT} from facts where tenant = :tenant and message_id in (select id from messages"
                " where tenant = :tenant and session_id = :session and seq between :first and :last)",
                {"tenant": self.tenant, "session": session_id, "first": span.first, "last": span.last},
            )
            return sorted(whole_facts(FactRow(*row) for row in found), key=order)

        return await self._connections.read(work)

    async def fact(self, fact_id: str) -> Fact | None:
        def work(connection: sqlite3.Connection) -> Fact | None:
            found = rows(connection, f"select {FACT} from facts where tenant = ? and id = ?", (self.tenant, fact_id))
            return next(whole_facts(FactRow(*row) for row in found), None)

        return await self._connections.read(work)

    async def episodes(self, user_id: str, session_id: str | None = None) -> list[Episode]:
        return await self._connections.read(lambda connection: self._episodes(connection, user_id, session_id))

    def _episodes(self, connection: sqlite3.Connection, user_id: str, session_id: str | None = None) -> list[Episode]:
        return list(whole_episodes(self._raw_episodes(connection, user_id, session_id)))

    def _raw_episodes(self, connection: sqlite3.Connection, user_id: str, session_id: str | None) -> list[EpisodeRow]:
        found = rows(
            connection,
            f"select {EPISODE} from episodes where tenant = :tenant and user_id = :user"
            " and (:session is null or session_id = :session) order by happened_us, id",
            {"tenant": self.tenant, "user": user_id, "session": session_id},
        )
        return [EpisodeRow(*row) for row in found]

    async def episode(self, episode_id: str) -> Episode | None:
        def work(connection: sqlite3.Connection) -> Episode | None:
            sql = f"select {EPISODE} from episodes where tenant = ? and id = ?"
            found = rows(connection, sql, (self.tenant, episode_id))
            return next(whole_episodes(EpisodeRow(*row) for row in found), None)

        return await self._connections.read(work)

    async def links(self, user_id: str) -> list[Link]:
        def work(connection: sqlite3.Connection) -> list[Link]:
            found = rows(
                connection,
                "select source, target, type, strength, created_at from links where tenant = ? and user_id = ?"
                " order by created_at, source, target, type",
                (self.tenant, user_id),
            )
            return [link_value(row) for row in found]

        return await self._connections.read(work)

    async def users(self, *, limit: int = 1000, after: str | None = None) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            found = rows(
                connection,
                "select user_id from sessions where tenant = :tenant and user_id > :after union"
                " select user_id from facts where tenant = :tenant and user_id > :after order by 1 limit :limit",
                {"tenant": self.tenant, "after": after or "", "limit": limit},
            )
            return [row[0] for row in found]

        return await self._connections.read(work)

    async def unread(self, session_id: str, limit: int) -> list[Message]:
        def work(connection: sqlite3.Connection) -> list[Message]:
            found = rows(
                connection,
                f"select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
                " and session_id = :session and unread = 1 order by seq limit :limit)"
                f" union select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
                " and session_id = :session and seq > (select extracted from sessions where tenant = :tenant"
                " and id = :session) order by seq limit :limit) order by seq limit :limit",
                {"tenant": self.tenant, "session": session_id, "limit": limit},
            )
            return list(whole_messages(map(message_row, found)))

        return await self._connections.read(work)

    # writing

    async def commit_facts(self, commit: FactsCommit) -> bool:
        return await self._connections.write(lambda connection: self._commit_facts(connection, commit))

    def _commit_facts(self, connection: sqlite3.Connection, commit: FactsCommit) -> bool:
        if self._overtaken(connection, commit):
            return False
        for session_id in {fact.session_id for fact in commit.put} | {one.session_id for one in commit.episodes}:
            if session_id is not None:
                self._require_session(connection, session_id)
        connection.executemany(
            "delete from forgotten where tenant = ? and user_id = ? and mark = ?",
            [(self.tenant, commit.user_id, mark) for mark in commit.unblock],
        )
        forgotten = {
            row[0]
            for row in rows(
                connection, "select mark from forgotten where tenant = ? and user_id = ?", (self.tenant, commit.user_id)
            )
        }
        touched = self._drop_facts(connection, commit.user_id, commit.drop)
        for fact in commit.put:
            if commit.marks.get(fact.id) not in forgotten:
                self._put_fact(connection, fact)
                if not self._repeats(connection, fact, commit.settle):
                    touched.add((fact.category, fact.slot))
        cuts = [self._change_fact(connection, commit.user_id, fact) for fact in commit.change]
        touched |= {(fact.category, fact.slot) for fact in commit.change}
        self._settle(connection, commit.user_id, touched, commit.settle)
        cuts.append(self._put_episodes(connection, commit))
        self._put_links(connection, commit.user_id, commit.links)
        if any(cuts):
            self._cut(connection, commit.user_id)
        elif searchable(commit):
            self._changed(connection, commit.user_id)
        return True

    def _overtaken(self, connection: sqlite3.Connection, commit: FactsCommit) -> bool:
        """Whether what was read, or is to be joined into another, was read or erased in between."""
        joined = {one for episode in commit.change_episodes for one in episode.merged} & set(commit.drop_episodes)
        (left,) = connection.execute(
            "select count(*) from episodes where tenant = ? and id in (select value from json_each(?))",
            (self.tenant, json.dumps(sorted(joined))),
        ).fetchone()
        return left < len(joined) or (commit.reading is not None and not self._read_on(connection, commit.reading))

    def _read_on(self, connection: sqlite3.Connection, reading: Reading) -> bool:
        moved = connection.execute(
            "update sessions set extracted = max(extracted, ?) where tenant = ? and id = ? and extracted = ?"
            " and erasures = ?",
            (reading.upto, self.tenant, reading.session_id, reading.expect, reading.erasures),
        )
        if moved.rowcount == 0:
            return False
        connection.execute(
            "update messages set unread = 0 where tenant = ? and session_id = ? and unread = 1"
            " and (seq in (select value from json_each(?)) or (seq > ? and seq <= ?))",
            (self.tenant, reading.session_id, json.dumps(reading.again), reading.expect, reading.upto),
        )
        return True

    def _put_fact(self, connection: sqlite3.Connection, fact: Fact) -> None:
        connection.execute(
            'insert into facts (tenant, id, user_id, session_id, message_id, start, "end", category, slot, claim,'
            " status, valid_until, of_fact, version, accesses, accessed_at, decay, learnt_us, record, digest)"
            " values (:tenant, :id, :user_id, :session_id, :message_id, :start, :end, :category, :slot, :claim,"
            " 'candidate', null, null, 1, :accesses, :accessed_at, :decay, :learnt, :record, :digest)"
            " on conflict do nothing",
            {"tenant": self.tenant, **fact_columns(fact)},
        )

    def _repeats(self, connection: sqlite3.Connection, fact: Fact, settle: Settle) -> bool:
        """Whether a new fact, behind all others of its slot, only says again what holds; then it stands at once.

        It saves the replay of a slot that may have thousands of such facts.
        """
        found = connection.execute(
            f"select {FACT} from facts where tenant = :tenant and user_id = :user and category = :category"
            " and slot = :slot and status = 'active' and not exists (select 1 from facts as later where"
            " later.tenant = :tenant and later.user_id = :user and later.category = :category and later.slot = :slot"
            " and later.learnt_us >= :learnt and later.id <> :id)",
            {"tenant": self.tenant, "user": fact.user_id, "category": fact.category, "slot": fact.slot,
             "learnt": to_us(fact.learnt_at), "id": fact.id},
        ).fetchone()  # fmt: skip
        holds = None if found is None else next(whole_facts([FactRow(*found)]), None)
        if holds is None or (holds.verdict, fact.verdict, holds.until) != (None, None, None):
            return False
        (new,) = [one for one in settle([holds, fact]) if one.id == fact.id]
        if new.status != "evidence" or not new.holds:
            return False
        connection.execute(
            "update facts set status = 'evidence', of_fact = ?, valid_until = ? where tenant = ? and id = ?",
            (holds.id, None if new.valid_until is None else new.valid_until.isoformat(), self.tenant, fact.id),
        )
        return True

    def _change_fact(self, connection: sqlite3.Connection, user_id: str, fact: Fact) -> bool:
        """Change a known fact; whether it is told in other words now."""
        row = fact_row(fact)
        sql = f"select {FACT} from facts where tenant = ? and user_id = ? and id = ? and digest is not ?"
        before = [FactRow(*old) for old in rows(connection, sql, (self.tenant, user_id, row.id, row.digest))]
        connection.execute(
            "update facts set record = ?, digest = ?, decay = ? where tenant = ? and user_id = ? and id = ?",
            (row.record, row.digest, row.decay, self.tenant, user_id, row.id),
        )
        known = list(whole_facts(before))
        return len(known) < len(before) or any(reworded(old, fact) for old in known)

    def _drop_facts(self, connection: sqlite3.Connection, user_id: str, ids: Iterable[str]) -> set[Slot]:
        gone = rows(
            connection,
            "delete from facts where tenant = ? and user_id = ? and id in (select value from json_each(?))"
            " returning category, slot",
            (self.tenant, user_id, json.dumps(list(ids))),
        )
        return set(gone)

    def _settle(self, connection: sqlite3.Connection, user_id: str, slots: Iterable[Slot], settle: Settle) -> None:
        """Give every fact of these slots its standing; what is active no longer goes first, and so does damage."""
        for category, slot in sorted(slots):
            found = rows(
                connection,
                f"select {FACT} from facts where tenant = ? and user_id = ? and category = ? and slot = ?",
                (self.tenant, user_id, category, slot),
            )
            before = list(whole_facts(FactRow(*row) for row in found))
            after = sorted(settle(before), key=lambda fact: fact.status == "active")
            stood = {fact.id: fact for fact in before}
            connection.executemany(
                "update facts set status = 'candidate' where tenant = ? and id = ?",
                [(self.tenant, row[0]) for row in found if row[0] not in stood],
            )
            for fact in after:
                if fact != stood[fact.id]:
                    until = None if fact.valid_until is None else fact.valid_until.isoformat()
                    connection.execute(
                        "update facts set status = ?, valid_until = ?, of_fact = ?, version = ?"
                        " where tenant = ? and id = ?",
                        (fact.status, until, fact.of, fact.version, self.tenant, fact.id),
                    )

    def _is_reworded(self, connection: sqlite3.Connection, user_id: str, episode: Episode) -> bool:
        sql = "select 1 from episodes where tenant = ? and user_id = ? and id = ? and digest is not ?"
        return bool(rows(connection, sql, (self.tenant, user_id, episode.id, episode_row(episode).digest)))

    def _put_episodes(self, connection: sqlite3.Connection, commit: FactsCommit) -> bool:
        """Put, change and drop episodes; whether a known one is told in other words now."""
        self._drop_episodes(connection, commit.user_id, commit.drop_episodes)
        connection.executemany(
            "insert into episodes (tenant, id, user_id, session_id, anchor, kind, significance, happened_us, accesses,"
            " accessed_at, decay, record, digest) values (:tenant, :id, :user_id, :session_id, :anchor, :kind,"
            " :significance, :happened, :accesses, :accessed_at, :decay, :record, :digest)"
            " on conflict do nothing",
            [{"tenant": self.tenant, **episode_columns(episode)} for episode in commit.episodes],
        )
        cut = any(self._is_reworded(connection, commit.user_id, episode) for episode in commit.change_episodes)
        connection.executemany(
            "update episodes set significance = :significance, happened_us = :happened, decay = :decay,"
            " record = :record, digest = :digest where tenant = :tenant and user_id = :user and id = :id",
            [
                {"tenant": self.tenant, "user": commit.user_id, **episode_columns(episode)}
                for episode in commit.change_episodes
            ],
        )
        if commit.most_episodes is not None and commit.episodes:
            _, drop = capped(self._episodes(connection, commit.user_id), commit.most_episodes)
            self._drop_episodes(connection, commit.user_id, [episode.id for episode in drop])
        return cut

    def _drop_episodes(self, connection: sqlite3.Connection, user_id: str, ids: Sequence[str]) -> list[str]:
        gone = rows(
            connection,
            "delete from episodes where tenant = ? and user_id = ? and id in (select value from json_each(?))"
            " returning id",
            (self.tenant, user_id, json.dumps(list(ids))),
        )
        return [row[0] for row in gone]

    def _put_links(self, connection: sqlite3.Connection, user_id: str, links: Sequence[Link]) -> None:
        connection.executemany(
            "insert into links (tenant, user_id, source, target, type, strength, created_at)"
            " values (?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, source, target, type) do update set strength = excluded.strength",
            [
                (self.tenant, user_id, link.source, link.target, link.type, link.strength, link.created_at.isoformat())
                for link in links
            ],
        )

    async def note_accesses(self, accesses: Sequence[Access]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for table in ("facts", "episodes"):
                connection.executemany(
                    f"update {table} set accesses = accesses + ?, accessed_at = ?, decay = 1"
                    " where tenant = ? and id = ?",
                    [(access.times, access.at.isoformat(), self.tenant, access.id) for access in accesses],
                )

        await self._connections.write(work)

    async def secret(self, fresh: bytes) -> bytes:
        def work(connection: sqlite3.Connection) -> bytes:
            connection.execute(
                "insert into settings (tenant, key, value) values (?, 'secret', ?) on conflict do nothing",
                (self.tenant, fresh.hex()),
            )
            (found,) = connection.execute(
                "select value from settings where tenant = ? and key = 'secret'", (self.tenant,)
            ).fetchone()
            return bytes.fromhex(found)

        return await self._connections.write(work)


def link_value(row: Sequence[str]) -> Link:
    source, target, kind, strength, created_at = row
    return Link(
        source=source, target=target, type=kind, strength=float(strength), created_at=datetime.fromisoformat(created_at)
    )
