"""The SQLite store: one file, safe with several threads and several processes."""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from lamina.errors import StoreBusy
from lamina.policy import log, records
from lamina.policy.redaction import broken_receipts
from lamina.policy.window import take_back
from lamina.ports import (
    Append,
    Appended,
    Audit,
    Claim,
    FactRow,
    FoldCommit,
    Lease,
    MessageRow,
    ProposalRow,
    Reach,
    Settle,
    SummaryRow,
    Swap,
    View,
    WordMatches,
)
from lamina.storage.connection import rows
from lamina.storage.migrations import inspect, migrate
from lamina.storage.shared import (
    FORGOTTEN_APPEND,
    append_fingerprint,
    foreign_session,
    reused_key,
    skipped,
    whole_episodes,
    whole_messages,
    whole_summaries,
)
from lamina.storage.sqlite_erasing import Erasing
from lamina.storage.sqlite_rows import (
    FACT,
    MESSAGE,
    SESSION,
    SUMMARY,
    from_us,
    message_row,
    session_value,
    summary_row,
    to_us,
)
from lamina.storage.sqlite_words import has_words, indexed, token, word_index_problems, words_of
from lamina.types import (
    Counters,
    Message,
    MessageDraft,
    Milestone,
    Problem,
    Session,
    Source,
    Span,
    Status,
    Summary,
)


class SqliteStore(Erasing):
    """One tenant's memory in one SQLite file."""

    inline = True

    async def open(self) -> None:
        await self._connections.alone(lambda connection: inspect(connection, self.path))
        await self._connections.alone(self._use_wal)
        await self._connections.write(lambda connection: migrate(connection, self.path))

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to a write-ahead log; several processes may be at it at once, and SQLite does not wait here."""
        for attempt in range(200):
            try:
                connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if not isinstance(self._connections.named(error), StoreBusy):
                    raise
                time.sleep(0.01 + attempt / 1000)
            else:
                return
        raise StoreBusy(f"{self.path}: other processes kept the file locked while it was opened, try again")

    async def close(self) -> None:
        self._connections.close()

    # the log

    async def append(self, append: Append) -> Appended:
        return await self._connections.write(lambda connection: self._append(connection, append))

    def _append(self, connection: sqlite3.Connection, append: Append) -> Appended:
        if append.key is not None and (known := self._known_append(connection, append)) is not None:
            return known
        session, digest = self._session_for(connection, append)
        stored = self._stored(connection, [draft.id for draft in append.drafts if draft.named])
        fresh, salts, duplicates = log.unstored(append, stored)
        placed, counters, digest = log.placed(append.session_id, session.counters, digest, fresh, salts)
        if placed:
            changed = self._changed(connection, append.user_id)
            session = self._touched(connection, append, session, counters, digest, fresh, changed)
            self._insert_messages(connection, append.user_id, placed, fresh)
        result = Appended(
            session=session,
            ids=tuple([draft.id for draft in append.drafts]),
            span=Span(first=placed[0].seq, last=placed[-1].seq) if placed else None,
            duplicates=duplicates,
        )
        if append.key is not None:
            self._remember_append(connection, append, result)
        return result

    def _session_for(self, connection: sqlite3.Connection, append: Append) -> tuple[Session, bytes]:
        found = connection.execute(
            f"select digest, {SESSION} from sessions where tenant = ? and id = ?", (self.tenant, append.session_id)
        ).fetchone()
        if found is not None:
            session = session_value(found[1:])
            if session.user_id != append.user_id:
                raise foreign_session(append, session.user_id)
            return session, found[0]
        started = to_us(append.drafts[0].created_at)
        digest = log.first_digest(append.session_id)
        generation = self._generation(connection)
        connection.execute(
            "insert into sessions (tenant, id, user_id, agent_id, status, started_us, last_us, touched_us, digest,"
            " version, erasures) values (?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)",
            (self.tenant, append.session_id, append.user_id, append.agent_id, started, started, to_us(append.now),
             digest, generation, generation),
        )  # fmt: skip
        return self._require_session(connection, append.session_id), digest

    def _stored(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, MessageRow]:
        if not ids:
            return {}
        found = rows(
            connection,
            f"select {MESSAGE} from messages where tenant = ? and id in (select value from json_each(?))",
            (self.tenant, json.dumps(ids)),
        )
        return {row.id: row for row in map(message_row, found)}

    def _insert_messages(
        self, connection: sqlite3.Connection, user_id: str, placed: Sequence[MessageRow], drafts: Sequence[MessageDraft]
    ) -> None:
        (place,) = connection.execute("select coalesce(max(place), 0) from messages").fetchone()
        connection.executemany(
            f"insert into messages (place, tenant, {MESSAGE}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(place + offset, self.tenant, *row) for offset, row in enumerate(placed, 1)],
        )
        owner = self._owner(user_id)
        connection.executemany(
            "insert into message_words (rowid, owner, body) values (?, ?, ?)",
            [(place + offset, owner, indexed(draft.text)) for offset, draft in enumerate(drafts, 1)],
        )

    def _touched(
        self,
        connection: sqlite3.Connection,
        append: Append,
        session: Session,
        counters: Counters,
        digest: bytes,
        fresh: Sequence[MessageDraft],
        changed: int,
    ) -> Session:
        """The session with its new counters, stored; an ended or archived one is active again."""
        connection.execute(
            "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, last_us = ?, "
            "touched_us = ?, status = 'active', ended_us = null, archived_us = null, touch = touch + 1, "
            "pending = max(pending, ?), changed = ? where tenant = ? and id = ?",
            (counters.messages, counters.turns, counters.tokens, counters.closed, digest,
             to_us(fresh[-1].created_at), to_us(append.now), append.due(counters, "active"),
             changed, self.tenant, append.session_id),
        )  # fmt: skip
        return replace(
            session,
            status="active",
            ended_at=None,
            archived_at=None,
            last_at=fresh[-1].created_at,
            touched_at=append.now,
            counters=counters,
        )

    def _known_append(self, connection: sqlite3.Connection, append: Append) -> Appended | None:
        found = connection.execute(
            "select fingerprint, result from appends where tenant = ? and key = ?", (self.tenant, append.key)
        ).fetchone()
        if found is None:
            return None
        if found[0] not in {FORGOTTEN_APPEND, append_fingerprint(append)}:
            raise reused_key(append)
        result = json.loads(found[1])
        if found[0] == FORGOTTEN_APPEND and not self._is_in(connection, append.session_id, result["ids"]):
            raise reused_key(append)
        span = result["span"]
        return Appended(
            session=self._require_session(connection, append.session_id),
            ids=tuple(result["ids"]),
            span=Span(first=span[0], last=span[1]) if span else None,
            duplicates=tuple(result["ids"]),
        )

    def _is_in(self, connection: sqlite3.Connection, session_id: str, ids: Sequence[str]) -> bool:
        return any(row.session_id == session_id for row in self._stored(connection, ids).values())

    def _remember_append(self, connection: sqlite3.Connection, append: Append, result: Appended) -> None:
        span = [result.span.first, result.span.last] if result.span else None
        connection.execute(
            "insert into appends (tenant, key, fingerprint, result) values (?, ?, ?, ?)",
            (self.tenant, append.key, append_fingerprint(append), json.dumps({"ids": result.ids, "span": span})),
        )

    async def messages(self, session_id: str, span: Span) -> list[Message]:
        def work(connection: sqlite3.Connection) -> list[Message]:
            found = connection.execute(
                f"select {MESSAGE} from messages where tenant = ? and session_id = ? and seq between ? and ?"
                " order by seq",
                (self.tenant, session_id, span.first, span.last),
            )
            return list(whole_messages(map(message_row, found)))

        return await self._connections.read(work)

    async def message(self, message_id: str) -> Message | None:
        found = await self._connections.read(lambda connection: self._stored(connection, [message_id]))
        return next(whole_messages(found.values()), None)

    # sessions

    async def session(self, session_id: str) -> Session | None:
        return await self._connections.read(lambda connection: self._session(connection, session_id))

    async def sessions(
        self, *, user_id: str | None = None, status: Status | None = None, limit: int = 1000, after: str | None = None
    ) -> list[Session]:
        def work(connection: sqlite3.Connection) -> list[Session]:
            found = rows(
                connection,
                f"select {SESSION} from sessions where tenant = :tenant and id > :after"
                " and (:user is null or user_id = :user) and (:status is null or status = :status)"
                " order by id limit :limit",
                {"tenant": self.tenant, "after": after or "", "user": user_id, "status": status, "limit": limit},
            )
            return [session_value(row) for row in found]

        return await self._connections.read(work)

    async def newest_sessions(self, user_id: str, limit: int) -> list[Session]:
        def work(connection: sqlite3.Connection) -> list[Session]:
            found = rows(
                connection,
                f"select {SESSION} from sessions where tenant = ? and user_id = ?"
                " order by started_us desc, id desc limit ?",
                (self.tenant, user_id, limit),
            )
            return [session_value(row) for row in found]

        return await self._connections.read(work)

    async def set_status(self, session_id: str, status: Status, at: datetime) -> Session:
        def work(connection: sqlite3.Connection) -> Session:
            before = self._require_session(connection, session_id)
            connection.execute(
                "update sessions set status = :status, touched_us = :at, touch = touch + 1, pending = 1,"
                " ended_us = case when :status in ('ended', 'archived') then coalesce(ended_us, :at) end,"
                " archived_us = case when :status = 'archived' then coalesce(archived_us, :at) end"
                " where tenant = :tenant and id = :id",
                {"status": status, "at": to_us(at), "tenant": self.tenant, "id": session_id},
            )
            if (before.status == "archived") != (status == "archived"):
                self._changed(connection, before.user_id)
            return self._require_session(connection, session_id)

        return await self._connections.write(work)

    async def add_milestone(self, milestone: Milestone) -> None:
        def work(connection: sqlite3.Connection) -> None:
            self._require_session(connection, milestone.session_id)
            connection.execute(
                "insert into milestones (tenant, id, session_id, turn, title, created_at) values (?, ?, ?, ?, ?, ?)"
                " on conflict (tenant, id) do nothing",
                (self.tenant, milestone.id, milestone.session_id, milestone.turn, milestone.title,
                 milestone.created_at.isoformat()),
            )  # fmt: skip

        await self._connections.write(work)

    async def milestones(self, session_id: str) -> list[Milestone]:
        def work(connection: sqlite3.Connection) -> list[Milestone]:
            found = rows(
                connection,
                "select id, session_id, turn, title, created_at from milestones where tenant = ? and session_id = ?"
                " order by turn, id",
                (self.tenant, session_id),
            )
            return [
                Milestone(id=a, session_id=b, turn=c, title=d, created_at=datetime.fromisoformat(e))
                for a, b, c, d, e in found
            ]

        return await self._connections.read(work)

    # reading

    async def view(self, user_id: str, session_id: str | None, reach: Reach) -> View:
        def work(connection: sqlite3.Connection) -> View:
            session = None if session_id is None else self._session(connection, session_id)
            digests = self._digests(connection, user_id, limit=1)
            return View(
                session=session,
                summaries=tuple(self._summaries(connection, session.id, live=True)) if session else (),
                tail=tuple(self._tail(connection, session, reach)) if session else (),
                digest=digests[0] if digests else None,
                facts=tuple(self._standing_facts(connection, user_id)),
            )

        return await self._connections.read(work)

    def _tail(self, connection: sqlite3.Connection, session: Session, reach: Reach) -> list[Message]:
        newest_first = connection.execute(
            f"select {MESSAGE} from messages where tenant = ? and session_id = ? order by seq desc",
            (self.tenant, session.id),
        )
        return take_back(whole_messages(map(message_row, newest_first)), reach, session.counters.cursor)

    async def summaries(self, session_id: str, *, live: bool = True) -> list[Summary]:
        return await self._connections.read(lambda connection: self._summaries(connection, session_id, live=live))

    def _summaries(self, connection: sqlite3.Connection, session_id: str, *, live: bool) -> list[Summary]:
        found = rows(
            connection,
            f"select {SUMMARY} from summaries where tenant = ? and session_id = ? and (? = 0 or status = 'live')"
            " order by first, place",
            (self.tenant, session_id, live),
        )
        return list(whole_summaries(map(summary_row, found)))

    async def summary(self, summary_id: str) -> Summary | None:
        def work(connection: sqlite3.Connection) -> Summary | None:
            found = rows(
                connection, f"select {SUMMARY} from summaries where tenant = ? and id = ?", (self.tenant, summary_id)
            )
            return next(whole_summaries(map(summary_row, found)), None)

        return await self._connections.read(work)

    async def digests(self, user_id: str) -> list[Summary]:
        return await self._connections.read(lambda connection: self._digests(connection, user_id, limit=1000))

    def _digests(self, connection: sqlite3.Connection, user_id: str, *, limit: int) -> list[Summary]:
        found = connection.execute(
            f"select {SUMMARY} from summaries where tenant = ? and user_id = ? and kind = 'digest'"
            " order by version desc",
            (self.tenant, user_id),
        )
        return list(islice(whole_summaries(map(summary_row, found)), limit))

    async def find_words(self, user_id: str, terms: Sequence[str], limit: int) -> WordMatches:
        def work(connection: sqlite3.Connection) -> WordMatches:
            try:
                return self._find_words(connection, user_id, terms, limit)
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
                skipped("word index", user_id, error)  # derived: nothing is found until it is rebuilt
                return WordMatches(documents=0, frequency=dict.fromkeys(terms, 0), matches=())

        return await self._connections.read(work)

    def _find_words(
        self, connection: sqlite3.Connection, user_id: str, terms: Sequence[str], limit: int
    ) -> WordMatches:
        (messages,) = connection.execute(
            "select coalesce(sum(messages), 0) from sessions where tenant = ? and user_id = ?", (self.tenant, user_id)
        ).fetchone()
        (summaries,) = connection.execute(
            "select count(*) from summaries where tenant = ? and user_id = ? and status = 'live'",
            (self.tenant, user_id),
        ).fetchone()
        owner = f"owner : {self._owner(user_id)}"
        quoted = [f'"{token(term)}"' for term in terms]
        frequency = {}
        for term, quote in zip(terms, quoted, strict=True):
            (frequency[term],) = connection.execute(
                "select (select count(*) from message_words where message_words match :match)"
                " + (select count(*) from summary_words where summary_words match :match)",
                {"match": f"{owner} AND body : {quote}"},
            ).fetchone()
        any_of = f"{owner} AND body : ({' OR '.join(quoted)})"
        return WordMatches(
            documents=messages + summaries,
            frequency=frequency,
            matches=(
                *self._matching_messages(connection, any_of, limit),
                *self._matching_summaries(connection, any_of, limit),
            )
            if terms
            else (),
        )

    def _matching_messages(self, connection: sqlite3.Connection, match: str, limit: int) -> Iterator[Message]:
        found = rows(
            connection,
            f"select {MESSAGE} from (select rowid as found from message_words where message_words match ?"
            " order by rank, rowid limit ?) join messages on place = found where tenant = ? order by place",
            (match, limit, self.tenant),
        )
        return whole_messages(map(message_row, found))

    def _matching_summaries(self, connection: sqlite3.Connection, match: str, limit: int) -> Iterator[Summary]:
        found = rows(
            connection,
            f"select {SUMMARY} from (select rowid as found from summary_words where summary_words match ?"
            " order by rank, rowid limit ?) join summaries on place = found"
            " where tenant = ? and status = 'live' order by place",
            (match, limit, self.tenant),
        )
        return whole_summaries(map(summary_row, found))

    # folding

    async def claim(
        self, owner: str, now: datetime, until: datetime, *, impatient: bool = False, skip: Sequence[str] = ()
    ) -> Claim | None:
        def work(connection: sqlite3.Connection) -> Claim | None:
            found = connection.execute(
                f"select touch, {SESSION} from sessions where tenant = :tenant and pending = 1"
                " and (lease_us is null or lease_us < :now) and (:impatient or retry_us is null or retry_us <= :now)"
                " and id not in (select value from json_each(:skip)) order by touched_us, id limit 1",
                {"tenant": self.tenant, "now": to_us(now), "impatient": impatient, "skip": json.dumps(list(skip))},
            ).fetchone()
            if found is None:
                return None
            session = session_value(found[1:])
            connection.execute(
                "update sessions set lease_owner = ?, lease_us = ? where tenant = ? and id = ?",
                (owner, to_us(until), self.tenant, session.id),
            )
            return Claim(session=session, owner=owner, touch=found[0])

        if not await self.pending():
            return None
        return await self._connections.write(work)

    async def renew(self, claim: Claim, until: datetime) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                "update sessions set lease_us = ? where tenant = ? and id = ? and lease_owner = ?",
                (to_us(until), self.tenant, claim.session.id, claim.owner),
            )
            return changed.rowcount == 1

        return await self._connections.write(work)

    async def release(self, claim: Claim) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "update sessions set lease_owner = null, lease_us = null, attempts = 0, retry_us = null,"
                " pending = case when touch = ? then 0 else pending end"
                " where tenant = ? and id = ? and lease_owner = ?",
                (claim.touch, self.tenant, claim.session.id, claim.owner),
            )

        await self._connections.write(work)

    async def fail(self, claim: Claim, retry_at: datetime) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "update sessions set lease_owner = null, lease_us = null, attempts = attempts + 1, retry_us = ?"
                " where tenant = ? and id = ? and lease_owner = ?",
                (to_us(retry_at), self.tenant, claim.session.id, claim.owner),
            )

        await self._connections.write(work)

    async def commit(self, commit: FoldCommit) -> bool:
        return await self._connections.write(lambda connection: self._commit(connection, commit))

    def _commit(self, connection: sqlite3.Connection, commit: FoldCommit) -> bool:
        moved = connection.execute(
            "update sessions set cursor = :cursor, version = version + 1, attempts = 0, retry_us = null,"
            " cursor_turn = max(cursor_turn, coalesce((select max(turn) from messages where tenant = :tenant"
            " and session_id = :id and seq > sessions.cursor and seq <= :cursor), 0)),"
            " cursor_tokens = cursor_tokens + coalesce((select sum(tokens) from messages where tenant = :tenant"
            " and session_id = :id and seq > sessions.cursor and seq <= :cursor), 0)"
            " where tenant = :tenant and id = :id and version = :expect",
            {"cursor": commit.cursor, "tenant": self.tenant, "id": commit.session_id, "expect": commit.expect},
        )
        if moved.rowcount == 0:
            return False
        for retired in commit.retire:
            self._unindex_summary(connection, retired)
            connection.execute(
                "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
                (commit.summary.id, self.tenant, retired),
            )
        self._insert_summary(connection, commit.summary)
        self._changed(connection, commit.summary.user_id)
        return True

    async def commit_digest(self, digest: Summary) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            newest = self._digests(connection, digest.user_id, limit=1)
            if newest and newest[0].version >= digest.version:
                return False
            if any(self._changed_since(connection, source) for source in digest.sources):
                return False
            for old in newest:
                self._unindex_summary(connection, old.id)
                connection.execute(
                    "update summaries set status = 'folded', folded_into = ? where tenant = ? and id = ?",
                    (digest.id, self.tenant, old.id),
                )
            unreadable = connection.execute(
                "delete from summaries where tenant = ? and user_id = ? and kind = 'digest' and version >= ?",
                (self.tenant, digest.user_id, digest.version),
            )
            if unreadable.rowcount:
                self._reindex_summaries(connection)
            self._insert_summary(connection, digest)
            self._changed(connection, digest.user_id)
            return True

        return await self._connections.write(work)

    def _changed_since(self, connection: sqlite3.Connection, source: Source) -> bool:
        """Whether a session was folded, or something of it forgotten, since a digest read it."""
        session = self._session(connection, source.session_id)
        return session is None or session.counters.version != source.version

    # making anew

    async def swap(self, swap: Swap) -> bool:
        return await self._connections.write(lambda connection: self._swap(connection, swap))

    def _swap(self, connection: sqlite3.Connection, swap: Swap) -> bool:
        moved = connection.execute(
            "update sessions set cursor = ?, version = version + 1, touch = touch + 1, pending = 1"
            " where tenant = ? and id = ? and version = ?",
            (swap.cursor, self.tenant, swap.session_id, swap.expect),
        )
        if moved.rowcount == 0:
            return False
        for retired in swap.retire:
            self._unindex_summary(connection, retired)
            connection.execute(
                "update summaries set status = 'replaced' where tenant = ? and id = ?", (self.tenant, retired)
            )
        for summary in sorted(swap.put, key=lambda summary: summary.status == "live"):
            self._insert_summary(connection, summary)
        self._recount_cursor(connection, swap.session_id)
        self._changed(connection, self._require_session(connection, swap.session_id).user_id)
        return True

    async def put_proposal(self, proposal: ProposalRow, *, erasures: int | None = None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            session = self._require_session(connection, proposal.session_id)
            if erasures not in {None, session.erasures}:
                return False
            connection.execute(
                "insert into proposals (tenant, id, user_id, session_id, status, created_us, record)"
                " values (?, ?, ?, ?, ?, ?, ?) on conflict (tenant, id) do update set status = excluded.status,"
                " record = excluded.record",
                (self.tenant, proposal.id, proposal.user_id, proposal.session_id, proposal.status,
                 to_us(proposal.created_at), proposal.record),
            )  # fmt: skip
            return True

        return await self._connections.write(work)

    async def proposals(self, session_id: str | None = None) -> list[ProposalRow]:
        def work(connection: sqlite3.Connection) -> list[ProposalRow]:
            found = rows(
                connection,
                "select id, user_id, session_id, status, record, created_us from proposals where tenant = :tenant"
                " and (:session is null or session_id = :session) order by created_us, id",
                {"tenant": self.tenant, "session": session_id},
            )
            return [
                ProposalRow(id=a, user_id=b, session_id=c, status=d, record=e, created_at=from_us(f))
                for a, b, c, d, e, f in found
            ]

        return await self._connections.read(work)

    async def pending(self) -> int:
        def work(connection: sqlite3.Connection) -> int:
            found = connection.execute(
                "select count(*) from sessions where tenant = ? and pending = 1", (self.tenant,)
            ).fetchone()
            return int(found[0])

        return await self._connections.read(work)

    async def mark_pending(self) -> None:
        await self._connections.write(
            lambda connection: connection.execute(
                "update sessions set pending = 1, touch = touch + 1 where tenant = ?", (self.tenant,)
            )
        )

    async def leases(self) -> list[Lease]:
        def work(connection: sqlite3.Connection) -> list[Lease]:
            found = rows(
                connection,
                "select id, lease_owner, lease_us from sessions where tenant = ? and lease_owner is not null"
                " order by id",
                (self.tenant,),
            )
            return [Lease(session_id=a, owner=b, until=from_us(c)) for a, b, c in found]

        return await self._connections.read(work)

    async def revoke(self, owner: str) -> None:
        await self._connections.write(
            lambda connection: connection.execute(
                "update sessions set lease_owner = null, lease_us = null where tenant = ? and lease_owner = ?",
                (self.tenant, owner),
            )
        )

    # keeping house

    async def end_idle(self, touched_before: datetime, at: datetime) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            ended = rows(
                connection,
                "update sessions set status = 'ended', ended_us = ?, touch = touch + 1, pending = 1"
                " where tenant = ? and status = 'active' and touched_us < ? returning id",
                (to_us(at), self.tenant, to_us(touched_before)),
            )
            return sorted(row[0] for row in ended)

        return await self._connections.write(work)

    async def archive_ended(self, ended_before: datetime, at: datetime) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            archived = rows(
                connection,
                "update sessions set status = 'archived', archived_us = ?"
                " where tenant = ? and status = 'ended' and ended_us < ? and cursor = messages returning id, user_id",
                (to_us(at), self.tenant, to_us(ended_before)),
            )
            for user_id in {row[1] for row in archived}:
                self._changed(connection, user_id)
            return sorted(row[0] for row in archived)

        return await self._connections.write(work)

    async def setting(self, key: str) -> str | None:
        def work(connection: sqlite3.Connection) -> str | None:
            found = connection.execute(
                "select value from settings where tenant = ? and key = ?", (self.tenant, key)
            ).fetchone()
            return None if found is None else str(found[0])

        return await self._connections.read(work)

    async def put_setting(self, key: str, value: str) -> None:
        await self._connections.write(
            lambda connection: connection.execute(
                "insert into settings (tenant, key, value) values (?, ?, ?)"
                " on conflict (tenant, key) do update set value = excluded.value",
                (self.tenant, key, value),
            )
        )

    async def audit(self, session_id: str) -> Audit:
        def work(connection: sqlite3.Connection) -> Audit:
            session = self._require_session(connection, session_id)
            found = connection.execute(
                "select digest from sessions where tenant = ? and id = ?", (self.tenant, session_id)
            ).fetchone()
            messages = self._raw_messages(connection, session_id)
            return Audit(
                session=session,
                last_digest=found[0],
                rows=tuple(messages),
                summaries=tuple(self._raw_summaries(connection, session_id)),
                facts=tuple(self._raw_facts(connection, session.user_id, session_id)),
                episodes=tuple(self._raw_episodes(connection, session.user_id, session_id)),
                unindexed=tuple(self._unindexed(connection, session, messages)),
            )

        return await self._connections.read(work)

    def _raw_summaries(self, connection: sqlite3.Connection, session_id: str) -> list[SummaryRow]:
        sql = f"select {SUMMARY} from summaries where tenant = ? and session_id = ? order by first, place"
        return [summary_row(row) for row in rows(connection, sql, (self.tenant, session_id))]

    def _unindexed(self, connection: sqlite3.Connection, session: Session, found: Sequence[MessageRow]) -> list[str]:
        """Ids whose words the index lacks, and folded summaries that it still has."""
        stale = rows(
            connection,
            "select id from summaries where tenant = :tenant and session_id = :session and (status = 'live')"
            " <> exists (select 1 from summary_words_docsize where summary_words_docsize.id = place)",
            {"tenant": self.tenant, "session": session.id},
        )
        places = dict(
            rows(
                connection,
                "select id, place from messages where tenant = ? and session_id = ?",
                (self.tenant, session.id),
            )
        )
        owner = self._owner(session.user_id)
        lacking = [row.id for row in found if not has_words(connection, places[row.id], owner, words_of(row))]
        return [*lacking, *(row[0] for row in stale)]

    async def check(self) -> list[Problem]:
        def work(connection: sqlite3.Connection) -> list[Problem]:
            problems = [
                Problem(kind="file", where=str(self.path), text=text, derived=False)
                for (text,) in rows(connection, "pragma integrity_check(20)")
                if text != "ok"
            ]
            strays = rows(connection, "pragma foreign_key_check")
            problems.extend(
                Problem(kind="stray", where=f"{table} row {row}", text=f"refers to no {parent}", derived=False)
                for table, row, parent, _ in strays
            )
            problems.extend(word_index_problems(connection))
            problems.extend(self._digest_problems(connection))
            problems.extend(self._told_problems(connection))
            problems.extend(self._receipt_problems(connection))
            problems.extend(self._vector_problems(connection))
            return problems

        return await self._connections.write(work)

    def _digest_problems(self, connection: sqlite3.Connection) -> Iterator[Problem]:
        """Damaged digests, which belong to no session."""
        sql = f"select {SUMMARY} from summaries where tenant = ? and session_id is null"
        for row in map(summary_row, rows(connection, sql, (self.tenant,))):
            try:
                records.decoded(row)
            except log.Damaged as damage:
                yield Problem(kind="digest", where=f"user {row.user_id}", text=str(damage), derived=True)

    def _told_problems(self, connection: sqlite3.Connection) -> Iterator[Problem]:
        """Damaged facts that were told by hand, which belong to no session."""
        sql = f"select {FACT} from facts where tenant = ? and session_id is null"
        for row in rows(connection, sql, (self.tenant,)):
            try:
                records.fact_of(FactRow(*row))
            except log.Damaged as damage:
                yield Problem(kind="told", where=f"fact {row[0]}", text=str(damage), derived=False)

    def _receipt_problems(self, connection: sqlite3.Connection) -> Iterator[Problem]:
        """Receipts that were changed, or one before which others are gone."""
        for receipt_id in broken_receipts(self._receipts(connection)):
            text = "does not follow from the receipt before it, or was changed"
            yield Problem(kind="receipt", where=f"receipt {receipt_id}", text=text, derived=False)

    async def reindex(self) -> None:
        """Words are rebuilt for the whole file: an entry whose text has changed cannot be taken out alone."""

        def work(connection: sqlite3.Connection) -> None:
            self._reindex_messages(connection)
            self._reindex_summaries(connection)
            self._drop_stray_vectors(connection)

        await self._connections.write(work)

    async def recount(self, session_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            session = self._require_session(connection, session_id)
            found = self._raw_messages(connection, session_id)
            counters = log.recounted(found)
            (cursor_turn, cursor_tokens) = connection.execute(
                "select coalesce(max(m.turn), 0), coalesce(sum(m.tokens), 0) from messages m join sessions s"
                " on s.tenant = m.tenant and s.id = m.session_id"
                " where m.tenant = ? and m.session_id = ? and m.seq <= s.cursor",
                (self.tenant, session_id),
            ).fetchone()
            connection.execute(
                "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, cursor_turn = ?,"
                " cursor_tokens = ?, touch = touch + 1, pending = 1 where tenant = ? and id = ?",
                (counters.messages, counters.turns, counters.tokens, counters.closed,
                 found[-1].digest if found else log.first_digest(session_id), cursor_turn, cursor_tokens,
                 self.tenant, session_id),
            )  # fmt: skip
            self._cut(connection, session.user_id, [session_id])

        await self._connections.write(work)

    async def unfold(self, session_id: str, settle: Settle) -> None:
        def work(connection: sqlite3.Connection) -> None:
            session = self._require_session(connection, session_id)
            connection.execute("delete from summaries where tenant = ? and session_id = ?", (self.tenant, session_id))
            found = self._raw_episodes(connection, session.user_id, session_id)
            told = {one.id for one in whole_episodes(found) if one.origin == "told"}
            self._drop_episodes(connection, session.user_id, [row.id for row in found if row.id not in told])
            connection.execute("delete from proposals where tenant = ? and session_id = ?", (self.tenant, session_id))
            gone = rows(
                connection,
                "delete from facts where tenant = ? and session_id = ? and message_id is not null"
                " returning category, slot",
                (self.tenant, session_id),
            )
            connection.execute(
                "update sessions set cursor = 0, cursor_turn = 0, cursor_tokens = 0, version = version + 1,"
                " extracted = 0, erasures = erasures + 1, touch = touch + 1, pending = 1, attempts = 0, retry_us = null"
                " where tenant = ? and id = ?",
                (self.tenant, session_id),
            )
            self._reindex_summaries(connection)
            self._settle(connection, session.user_id, set(gone), settle)
            self._cut(connection, session.user_id)

        await self._connections.write(work)

    async def drop_digests(self, user_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            gone = connection.execute(
                "delete from summaries where tenant = ? and user_id = ? and kind = 'digest'", (self.tenant, user_id)
            )
            self._reindex_summaries(connection)
            if gone.rowcount:
                self._changed(connection, user_id)

        await self._connections.write(work)
