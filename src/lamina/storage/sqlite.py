"""The SQLite store: one file, safe with several threads and several processes."""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from lamina.errors import NotFound, StoreBusy
from lamina.policy import log, records
from lamina.policy.window import take_back
from lamina.policy.words import terms
from lamina.ports import (
    Append,
    Appended,
    Audit,
    Claim,
    FoldCommit,
    Lease,
    MessageRow,
    Reach,
    SummaryRow,
    View,
    WordMatch,
    WordMatches,
)
from lamina.storage.connection import Connections, rows
from lamina.storage.migrations import inspect, migrate
from lamina.storage.shared import (
    append_fingerprint,
    foreign_session,
    normalised,
    reused_key,
    skipped,
    whole_messages,
    whole_summaries,
)
from lamina.types import (
    Counters,
    Fact,
    Message,
    MessageDraft,
    Milestone,
    Problem,
    Session,
    Span,
    Status,
    Summary,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_SESSION = (
    "id, user_id, agent_id, status, started_us, last_us, touched_us, ended_us, archived_us, messages, turns, tokens, "
    "closed, cursor, cursor_turn, cursor_tokens, version, attempts"
)
_MESSAGE = "session_id, seq, turn, id, role, body, created_at, metadata, model, tokens, salt, leaf, digest"
_SUMMARY = "id, user_id, session_id, kind, layer, version, first, last, status, folded_into, record, digest"
_FACT = 'id, user_id, session_id, message_id, category, quote, start, "end", confidence, importance, created_at'


class SqliteStore:
    """One tenant's memory in one SQLite file."""

    inline = True

    def __init__(self, path: str | Path, *, tenant: str = "default", durable: bool = False) -> None:
        self.tenant = tenant
        self.path = Path(path)
        self._connections = Connections(self.path, durable=durable)

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
            session = self._touched(connection, append, session, counters, digest, fresh)
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
            f"select digest, {_SESSION} from sessions where tenant = ? and id = ?", (self.tenant, append.session_id)
        ).fetchone()
        if found is not None:
            session = _session_value(found[1:])
            if session.user_id != append.user_id:
                raise foreign_session(append, session.user_id)
            return session, found[0]
        started = to_us(append.drafts[0].created_at)
        digest = log.first_digest(append.session_id)
        connection.execute(
            "insert into sessions (tenant, id, user_id, agent_id, status, started_us, last_us, touched_us, digest)"
            " values (?, ?, ?, ?, 'active', ?, ?, ?, ?)",
            (
                self.tenant,
                append.session_id,
                append.user_id,
                append.agent_id,
                started,
                started,
                to_us(append.now),
                digest,
            ),
        )
        return self._require_session(connection, append.session_id), digest

    def _stored(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, MessageRow]:
        if not ids:
            return {}
        found = rows(
            connection,
            f"select {_MESSAGE} from messages where tenant = ? and id in (select value from json_each(?))",
            (self.tenant, json.dumps(ids)),
        )
        return {row.id: row for row in map(_message_row, found)}

    def _insert_messages(
        self, connection: sqlite3.Connection, user_id: str, placed: Sequence[MessageRow], drafts: Sequence[MessageDraft]
    ) -> None:
        (place,) = connection.execute("select coalesce(max(place), 0) from messages").fetchone()
        connection.executemany(
            f"insert into messages (place, tenant, {_MESSAGE}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    ) -> Session:
        """The session with its new counters, stored; an ended or archived one is active again."""
        connection.execute(
            "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, last_us = ?, "
            "touched_us = ?, status = 'active', ended_us = null, archived_us = null, touch = touch + 1, "
            "pending = max(pending, ?) where tenant = ? and id = ?",
            (counters.messages, counters.turns, counters.tokens, counters.closed, digest,
             to_us(fresh[-1].created_at), to_us(append.now), append.due(counters, "active"),
             self.tenant, append.session_id),
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
        if found[0] != append_fingerprint(append):
            raise reused_key(append)
        result = json.loads(found[1])
        span = result["span"]
        return Appended(
            session=self._require_session(connection, append.session_id),
            ids=tuple(result["ids"]),
            span=Span(first=span[0], last=span[1]) if span else None,
            duplicates=tuple(result["ids"]),
        )

    def _remember_append(self, connection: sqlite3.Connection, append: Append, result: Appended) -> None:
        span = [result.span.first, result.span.last] if result.span else None
        connection.execute(
            "insert into appends (tenant, key, fingerprint, result) values (?, ?, ?, ?)",
            (self.tenant, append.key, append_fingerprint(append), json.dumps({"ids": result.ids, "span": span})),
        )

    async def messages(self, session_id: str, span: Span) -> list[Message]:
        def work(connection: sqlite3.Connection) -> list[Message]:
            found = connection.execute(
                f"select {_MESSAGE} from messages where tenant = ? and session_id = ? and seq between ? and ?"
                " order by seq",
                (self.tenant, session_id, span.first, span.last),
            )
            return list(whole_messages(map(_message_row, found)))

        return await self._connections.read(work)

    async def message(self, message_id: str) -> Message | None:
        found = await self._connections.read(lambda connection: self._stored(connection, [message_id]))
        return next(whole_messages(found.values()), None)

    # sessions

    async def session(self, session_id: str) -> Session | None:
        return await self._connections.read(lambda connection: self._session(connection, session_id))

    def _session(self, connection: sqlite3.Connection, session_id: str) -> Session | None:
        found = connection.execute(
            f"select {_SESSION} from sessions where tenant = ? and id = ?", (self.tenant, session_id)
        ).fetchone()
        return None if found is None else _session_value(found)

    def _require_session(self, connection: sqlite3.Connection, session_id: str) -> Session:
        found = self._session(connection, session_id)
        if found is None:
            raise NotFound(f"no session {session_id!r}")
        return found

    async def sessions(
        self, *, user_id: str | None = None, status: Status | None = None, limit: int = 1000, after: str | None = None
    ) -> list[Session]:
        def work(connection: sqlite3.Connection) -> list[Session]:
            found = rows(
                connection,
                f"select {_SESSION} from sessions where tenant = :tenant and id > :after"
                " and (:user is null or user_id = :user) and (:status is null or status = :status)"
                " order by id limit :limit",
                {"tenant": self.tenant, "after": after or "", "user": user_id, "status": status, "limit": limit},
            )
            return [_session_value(row) for row in found]

        return await self._connections.read(work)

    async def newest_sessions(self, user_id: str, limit: int) -> list[Session]:
        def work(connection: sqlite3.Connection) -> list[Session]:
            found = rows(
                connection,
                f"select {_SESSION} from sessions where tenant = ? and user_id = ?"
                " order by started_us desc, id desc limit ?",
                (self.tenant, user_id, limit),
            )
            return [_session_value(row) for row in found]

        return await self._connections.read(work)

    async def set_status(self, session_id: str, status: Status, at: datetime) -> Session:
        def work(connection: sqlite3.Connection) -> Session:
            self._require_session(connection, session_id)
            connection.execute(
                "update sessions set status = :status, touched_us = :at, touch = touch + 1, pending = 1,"
                " ended_us = case when :status in ('ended', 'archived') then coalesce(ended_us, :at) end,"
                " archived_us = case when :status = 'archived' then coalesce(archived_us, :at) end"
                " where tenant = :tenant and id = :id",
                {"status": status, "at": to_us(at), "tenant": self.tenant, "id": session_id},
            )
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
                facts=tuple(self._facts(connection, user_id)),
            )

        return await self._connections.read(work)

    def _tail(self, connection: sqlite3.Connection, session: Session, reach: Reach) -> list[Message]:
        newest_first = connection.execute(
            f"select {_MESSAGE} from messages where tenant = ? and session_id = ? order by seq desc",
            (self.tenant, session.id),
        )
        return take_back(whole_messages(map(_message_row, newest_first)), reach, session.counters.cursor)

    async def summaries(self, session_id: str, *, live: bool = True) -> list[Summary]:
        return await self._connections.read(lambda connection: self._summaries(connection, session_id, live=live))

    def _summaries(self, connection: sqlite3.Connection, session_id: str, *, live: bool) -> list[Summary]:
        found = rows(
            connection,
            f"select {_SUMMARY} from summaries where tenant = ? and session_id = ? and (? = 0 or status = 'live')"
            " order by first, place",
            (self.tenant, session_id, live),
        )
        return list(whole_summaries(map(_summary_row, found)))

    async def summary(self, summary_id: str) -> Summary | None:
        def work(connection: sqlite3.Connection) -> Summary | None:
            found = rows(
                connection, f"select {_SUMMARY} from summaries where tenant = ? and id = ?", (self.tenant, summary_id)
            )
            return next(whole_summaries(map(_summary_row, found)), None)

        return await self._connections.read(work)

    async def digests(self, user_id: str) -> list[Summary]:
        return await self._connections.read(lambda connection: self._digests(connection, user_id, limit=1000))

    def _digests(self, connection: sqlite3.Connection, user_id: str, *, limit: int) -> list[Summary]:
        found = connection.execute(
            f"select {_SUMMARY} from summaries where tenant = ? and user_id = ? and kind = 'digest'"
            " order by version desc",
            (self.tenant, user_id),
        )
        return list(islice(whole_summaries(map(_summary_row, found)), limit))

    async def facts(self, user_id: str, session_id: str | None = None) -> list[Fact]:
        return await self._connections.read(lambda connection: self._facts(connection, user_id, session_id))

    def _facts(self, connection: sqlite3.Connection, user_id: str, session_id: str | None = None) -> list[Fact]:
        whole = []
        for row in self._raw_facts(connection, user_id, session_id):
            try:
                whole.append(_fact_value(row))
            except (ValueError, TypeError) as damage:
                skipped("facts", row[0], damage)
        return whole

    def _raw_facts(self, connection: sqlite3.Connection, user_id: str, session_id: str | None) -> list[Any]:
        return rows(
            connection,
            f"select {_FACT} from facts where tenant = :tenant and user_id = :user"
            " and (:session is null or session_id = :session) order by importance desc, created_at, message_id, start",
            {"tenant": self.tenant, "user": user_id, "session": session_id},
        )

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
        quoted = [f'"{_token(term)}"' for term in terms]
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

    def _matching_messages(self, connection: sqlite3.Connection, match: str, limit: int) -> Iterator[WordMatch]:
        found = rows(
            connection,
            f"select {_MESSAGE} from (select rowid as found from message_words where message_words match ?"
            " order by rank, rowid limit ?) join messages on place = found where tenant = ? order by place",
            (match, limit, self.tenant),
        )
        for message in whole_messages(map(_message_row, found)):
            yield WordMatch(kind="message", message=message, summary=None)

    def _matching_summaries(self, connection: sqlite3.Connection, match: str, limit: int) -> Iterator[WordMatch]:
        found = rows(
            connection,
            f"select {_SUMMARY} from (select rowid as found from summary_words where summary_words match ?"
            " order by rank, rowid limit ?) join summaries on place = found"
            " where tenant = ? and status = 'live' order by place",
            (match, limit, self.tenant),
        )
        for summary in whole_summaries(map(_summary_row, found)):
            yield WordMatch(kind="summary", message=None, summary=summary)

    # folding

    async def claim(
        self, owner: str, now: datetime, until: datetime, *, impatient: bool = False, skip: Sequence[str] = ()
    ) -> Claim | None:
        def work(connection: sqlite3.Connection) -> Claim | None:
            found = connection.execute(
                f"select touch, {_SESSION} from sessions where tenant = :tenant and pending = 1"
                " and (lease_us is null or lease_us < :now) and (:impatient or retry_us is null or retry_us <= :now)"
                " and id not in (select value from json_each(:skip)) order by touched_us, id limit 1",
                {"tenant": self.tenant, "now": to_us(now), "impatient": impatient, "skip": json.dumps(list(skip))},
            ).fetchone()
            if found is None:
                return None
            session = _session_value(found[1:])
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
        connection.executemany(
            f"insert into facts (tenant, normalised, {_FACT}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, user_id, normalised) do nothing",
            [(self.tenant, normalised(fact.quote), *_fact_row(fact)) for fact in commit.facts],
        )
        return True

    def _insert_summary(self, connection: sqlite3.Connection, summary: Summary) -> None:
        row = records.encoded(summary)
        place = connection.execute(
            f"insert into summaries (tenant, {_SUMMARY}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.tenant, row.id, row.user_id, row.session_id, row.kind, row.layer, row.version, row.first, row.last,
             row.status, row.folded_into, row.record, row.digest),
        ).lastrowid  # fmt: skip
        connection.execute(
            "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
            (place, self._owner(row.user_id), indexed(summary.text)),
        )

    def _unindex_summary(self, connection: sqlite3.Connection, summary_id: str) -> None:
        found = rows(
            connection,
            f"select place, {_SUMMARY} from summaries where tenant = ? and id = ? and status = 'live'",
            (self.tenant, summary_id),
        )
        for place, *row in found:
            for summary in whole_summaries([_summary_row(row)]):
                connection.execute(
                    "insert into summary_words (summary_words, rowid, owner, body) values ('delete', ?, ?, ?)",
                    (place, self._owner(summary.user_id), indexed(summary.text)),
                )

    async def commit_digest(self, digest: Summary) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            newest = self._digests(connection, digest.user_id, limit=1)
            if newest and newest[0].version >= digest.version:
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
            return True

        return await self._connections.write(work)

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
        return await self._set_many(
            "update sessions set status = 'ended', ended_us = ?, touch = touch + 1, pending = 1"
            " where tenant = ? and status = 'active' and touched_us < ? returning id",
            (to_us(at), self.tenant, to_us(touched_before)),
        )

    async def archive_ended(self, ended_before: datetime, at: datetime) -> list[str]:
        return await self._set_many(
            "update sessions set status = 'archived', archived_us = ?"
            " where tenant = ? and status = 'ended' and ended_us < ? and cursor = messages returning id",
            (to_us(at), self.tenant, to_us(ended_before)),
        )

    async def _set_many(self, sql: str, values: tuple[Any, ...]) -> list[str]:
        return await self._connections.write(lambda connection: sorted(row[0] for row in rows(connection, sql, values)))

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
                facts=tuple(map(_audited_fact, self._raw_facts(connection, session.user_id, session_id))),
                unindexed=tuple(self._unindexed(connection, session, messages)),
            )

        return await self._connections.read(work)

    def _raw_messages(self, connection: sqlite3.Connection, session_id: str) -> list[MessageRow]:
        sql = f"select {_MESSAGE} from messages where tenant = ? and session_id = ? order by seq"
        return [_message_row(row) for row in rows(connection, sql, (self.tenant, session_id))]

    def _raw_summaries(self, connection: sqlite3.Connection, session_id: str) -> list[SummaryRow]:
        sql = f"select {_SUMMARY} from summaries where tenant = ? and session_id = ? order by first, place"
        return [_summary_row(row) for row in rows(connection, sql, (self.tenant, session_id))]

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
        lacking = [row.id for row in found if not _indexed(connection, places[row.id], owner, _words_of(row))]
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
            problems.extend(_word_index_problems(connection))
            problems.extend(self._digest_problems(connection))
            return problems

        return await self._connections.write(work)

    def _digest_problems(self, connection: sqlite3.Connection) -> Iterator[Problem]:
        """Damaged digests, which belong to no session."""
        sql = f"select {_SUMMARY} from summaries where tenant = ? and session_id is null"
        for row in map(_summary_row, rows(connection, sql, (self.tenant,))):
            try:
                records.decoded(row)
            except log.Damaged as damage:
                yield Problem(kind="digest", where=f"user {row.user_id}", text=str(damage), derived=True)

    async def reindex(self) -> None:
        """Words are rebuilt for the whole file: an entry whose text has changed cannot be taken out alone."""

        def work(connection: sqlite3.Connection) -> None:
            self._reindex_messages(connection)
            self._reindex_summaries(connection)

        await self._connections.write(work)

    def _reindex_messages(self, connection: sqlite3.Connection) -> None:
        connection.execute("insert into message_words (message_words) values ('delete-all')")
        for tenant, user_id in rows(connection, "select distinct tenant, user_id from sessions"):
            owner = owner_token(tenant, user_id)
            found = connection.execute(
                f"select place, {', '.join('messages.' + name for name in _MESSAGE.split(', '))} from messages"
                " join sessions on sessions.tenant = messages.tenant and sessions.id = session_id"
                " where messages.tenant = ? and user_id = ?",
                (tenant, user_id),
            )
            connection.executemany(
                "insert into message_words (rowid, owner, body) values (?, ?, ?)",
                ((place, owner, indexed(_words_of(_message_row(row)))) for place, *row in found.fetchall()),
            )

    def _reindex_summaries(self, connection: sqlite3.Connection) -> None:
        connection.execute("insert into summary_words (summary_words) values ('delete-all')")
        live = rows(connection, f"select tenant, place, {_SUMMARY} from summaries where status = 'live'")
        for tenant, place, *row in live:
            for summary in whole_summaries([_summary_row(row)]):
                connection.execute(
                    "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
                    (place, owner_token(tenant, summary.user_id), indexed(summary.text)),
                )

    async def recount(self, session_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            self._require_session(connection, session_id)
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

        await self._connections.write(work)

    async def unfold(self, session_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            self._require_session(connection, session_id)
            connection.execute("delete from summaries where tenant = ? and session_id = ?", (self.tenant, session_id))
            connection.execute("delete from facts where tenant = ? and session_id = ?", (self.tenant, session_id))
            connection.execute(
                "update sessions set cursor = 0, cursor_turn = 0, cursor_tokens = 0, version = version + 1,"
                " touch = touch + 1, pending = 1, attempts = 0, retry_us = null where tenant = ? and id = ?",
                (self.tenant, session_id),
            )
            self._reindex_summaries(connection)

        await self._connections.write(work)

    async def drop_digests(self, user_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "delete from summaries where tenant = ? and user_id = ? and kind = 'digest'", (self.tenant, user_id)
            )
            self._reindex_summaries(connection)

        await self._connections.write(work)

    def _owner(self, user_id: str) -> str:
        return owner_token(self.tenant, user_id)


def owner_token(tenant: str, user_id: str) -> str:
    """One word that stands for a tenant's user in the word index."""
    return "o" + hashlib.sha256(f"{tenant}\0{user_id}".encode()).hexdigest()[:20]


def indexed(text: str) -> str:
    """The terms of a text as the word index keeps them."""
    found = " ".join(terms(text))
    return found if found.isascii() and "'" not in found else " ".join(map(_token, found.split(" ")))


def _token(term: str) -> str:
    """A term as one token, whatever SQLite takes for letters; the first letter keeps it apart from plain terms."""
    return term if term.isascii() and term.isalnum() else "\u00f8" + term.encode().hex()


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _indexed(connection: sqlite3.Connection, place: int, owner: str, text: str) -> bool:
    """Whether the word index has this message, with its owner and (a sample of) its words."""
    found = terms(text)
    sample = dict.fromkeys([*found[:1], *found[len(found) // 2 : len(found) // 2 + 1], *found[-1:]])
    match = " AND ".join([f"owner : {owner}", *(f'body : "{_token(term)}"' for term in sample)])
    sql = (
        "select 1 from message_words where message_words match ? and rowid = ?"
        " and exists (select 1 from message_words_docsize where id = ?)"
    )
    try:
        return connection.execute(sql, (match, place, place)).fetchone() is not None
    except sqlite3.DatabaseError:  # the index itself is damaged
        return False


def _words_of(row: MessageRow) -> str:
    for message in whole_messages([row]):
        return message.text
    return ""


def _word_index_problems(connection: sqlite3.Connection) -> list[Problem]:
    problems = []
    for table in ("message_words", "summary_words"):
        try:
            connection.execute(f"insert into {table} ({table}) values ('integrity-check')")
        except sqlite3.DatabaseError as error:
            problems.append(Problem(kind="index", where=table, text=str(error), derived=True))
    return problems


def _session_value(row: Sequence[Any]) -> Session:
    times = [None if value is None else from_us(value) for value in row[4:9]]
    return Session(
        id=row[0],
        user_id=row[1],
        agent_id=row[2],
        status=row[3],
        started_at=times[0],  # type: ignore[arg-type]  # not null in the table
        last_at=times[1],  # type: ignore[arg-type]
        touched_at=times[2],  # type: ignore[arg-type]
        ended_at=times[3],
        archived_at=times[4],
        counters=Counters(
            messages=row[9],
            turns=row[10],
            tokens=row[11],
            closed=bool(row[12]),
            cursor=row[13],
            cursor_turn=row[14],
            cursor_tokens=row[15],
            version=row[16],
        ),
        attempts=row[17],
    )


def _message_row(row: Sequence[Any]) -> MessageRow:
    return MessageRow._make(row)


def _summary_row(row: Sequence[Any]) -> SummaryRow:
    return SummaryRow(
        id=row[0],
        user_id=row[1],
        session_id=row[2],
        kind=row[3],
        layer=row[4],
        version=row[5],
        first=row[6],
        last=row[7],
        status=row[8],
        folded_into=row[9],
        record=row[10],
        digest=row[11],
    )


def _fact_row(fact: Fact) -> tuple[Any, ...]:
    return (
        fact.id,
        fact.user_id,
        fact.session_id,
        fact.message_id,
        fact.category,
        fact.quote,
        fact.start,
        fact.end,
        fact.confidence,
        fact.importance,
        fact.created_at.isoformat(),
    )


def _audited_fact(row: Sequence[Any]) -> Fact:
    """The fact in a row; without a quote, which no fact may be, if it cannot be read."""
    try:
        return _fact_value(row)
    except (ValueError, TypeError):
        return _fact_value((*row[:4], "", "", 0, 0, 0.0, 0.0, _EPOCH.isoformat()))


def _fact_value(row: Sequence[Any]) -> Fact:
    if not all(isinstance(value, str) for value in row[:6]) or not all(isinstance(v, int | float) for v in row[6:10]):
        raise TypeError(f"fact {row[0]} has values of the wrong type")
    return Fact(
        id=row[0],
        user_id=row[1],
        session_id=row[2],
        message_id=row[3],
        category=row[4],
        quote=row[5],
        start=row[6],
        end=row[7],
        confidence=row[8],
        importance=row[9],
        created_at=datetime.fromisoformat(row[10]),
    )
