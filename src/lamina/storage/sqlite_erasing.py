"""Forgetting in the SQLite store: rows, word index and derived rows in one transaction, then the files themselves."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lamina.errors import Conflict, NotFound
from lamina.policy import log
from lamina.policy.integrity import faults
from lamina.policy.redaction import FIRST_RECEIPT
from lamina.ports import Erased, Erasure, FactRow, MessageRow, ReceiptRow, Rewrite
from lamina.storage.connection import rows
from lamina.storage.shared import FORGOTTEN_APPEND, Gone, whole_episodes, whole_facts, whole_messages
from lamina.storage.sqlite_facts import Slot
from lamina.storage.sqlite_rows import FACT, MESSAGE, from_us, message_row, to_us
from lamina.storage.sqlite_vectors import VectorTables
from lamina.storage.sqlite_words import indexed, words_of
from lamina.types import Session, Span


class _Rehearsed(Exception):
    """Carries what would be erased out of a transaction that is rolled back."""

    def __init__(self, erased: Erased) -> None:
        self.erased = erased


@dataclass(slots=True)
class _Gone(Gone):
    """With what has to be put right before the transaction ends."""

    slots: set[Slot] = field(default_factory=set)
    stale_words: bool = False  # an entry could not be taken out of the word index of summaries alone
    stale_message_words: bool = False


class Erasing(VectorTables):
    """Takes away what is to be forgotten."""

    async def erase(self, erasure: Erasure) -> Erased:
        try:
            return await self._connections.write(lambda connection: self._erase(connection, erasure))
        except _Rehearsed as rehearsed:
            return rehearsed.erased

    def _erase(self, connection: sqlite3.Connection, erasure: Erasure) -> Erased:
        gone = _Gone()
        self._erase_rewrites(connection, erasure, gone)
        for session_id in erasure.sessions:
            self._owned(connection, erasure, session_id)
            self._erase_session(connection, session_id, gone)
        self._erase_facts(connection, erasure.user_id, erasure.facts, gone)
        self._erase_episodes(connection, erasure.user_id, erasure.episodes, gone)
        self._erase_milestones(connection, erasure, gone)
        if erasure.user:
            self._erase_user(connection, erasure.user_id, gone)
        elif erasure.derived:
            self._erase_digests(connection, erasure.user_id, gone)
            self._drop_proposals(connection, erasure.user_id)
        self._unlink(connection, [*gone.fact_ids, *gone.episodes])
        marks = [] if erasure.user else list(erasure.block(gone.facts))
        connection.executemany(
            "insert into forgotten (tenant, user_id, mark) values (?, ?, ?) on conflict do nothing",
            [(self.tenant, erasure.user_id, mark) for mark in marks],
        )
        self._settle(connection, erasure.user_id, gone.slots, erasure.settle)
        if gone.stale_words:
            self._reindex_summaries(connection)
        if gone.stale_message_words:
            self._reindex_messages(connection)
        if erasure.user:
            self._forget_changes(connection, erasure.user_id)
        else:
            self._cut(connection, erasure.user_id, {change.session_id for change in erasure.rewrites})
        erased = gone.erased(len(marks))
        self._sign(connection, erasure, erased)
        if erasure.rehearse:
            raise _Rehearsed(erased)
        return erased

    def _owned(self, connection: sqlite3.Connection, erasure: Erasure, session_id: str) -> Session:
        """A session of the user whose memory is erased from; no erasure reaches another's."""
        session = self._require_session(connection, session_id)
        if session.user_id != erasure.user_id:
            raise NotFound(f"no session {session_id!r} of user {erasure.user_id!r}")
        return session

    def _sign(self, connection: sqlite3.Connection, erasure: Erasure, erased: Erased) -> None:
        found = connection.execute(
            "select digest from receipts where tenant = ? order by place desc limit 1", (self.tenant,)
        ).fetchone()
        row = erasure.receipt(erased, FIRST_RECEIPT if found is None else found[0])
        connection.execute(
            "insert into receipts (tenant, id, created_us, record, previous, digest) values (?, ?, ?, ?, ?, ?)",
            (self.tenant, row.id, to_us(row.created_at), row.record, row.previous, row.digest),
        )
        connection.execute(
            "insert into settings (tenant, key, value) values (?, 'scrub', 'due') on conflict do nothing",
            (self.tenant,),
        )

    # messages

    def _erase_rewrites(self, connection: sqlite3.Connection, erasure: Erasure, gone: _Gone) -> None:
        first: dict[str, int] = dict(erasure.unfold)
        for change in erasure.rewrites:
            self._rewrite(connection, erasure.user_id, change, gone)
            (gone.messages if change.whole else gone.redacted).append(change.message_id)
            first[change.session_id] = min(change.seq, first.get(change.session_id, change.seq))
        ids = {change.message_id for change in erasure.rewrites}
        if erasure.derived:
            self._erase_facts(connection, erasure.user_id, self._said_in(connection, ids), gone)
            self._erase_episodes(connection, erasure.user_id, self._happened_in(connection, erasure, ids), gone)
        self._forget_appends(connection, ids)
        for session_id, seq in first.items():
            if self._session(connection, session_id) is None:
                continue  # nothing is left of it to unfold
            self._owned(connection, erasure, session_id)
            connection.execute(
                "update sessions set erasures = erasures + 1, touch = touch + 1, pending = 1,"
                " tokens = (select coalesce(sum(tokens), 0) from messages where tenant = :tenant and session_id = :id)"
                " where tenant = :tenant and id = :id",
                {"tenant": self.tenant, "id": session_id},
            )
            if erasure.derived:
                self._unfold_from(connection, session_id, seq, gone)
            else:
                self._recount_cursor(connection, session_id)

    def _rewrite(self, connection: sqlite3.Connection, user_id: str, change: Rewrite, gone: _Gone) -> None:
        found = connection.execute(
            f"select place, {MESSAGE} from messages where tenant = ? and session_id = ? and seq = ?",
            (self.tenant, change.session_id, change.seq),
        ).fetchone()
        if found is None or message_row(found[1:]).leaf != change.expect:
            raise Conflict(f"message {change.message_id!r} has changed meanwhile; try again")
        place, row = found[0], message_row(found[1:])
        new = log.rewritten(row, change)
        self._unindex_message(connection, user_id, place, row, gone)
        connection.execute(
            "update messages set body = ?, metadata = ?, model = null, tokens = ?, salt = ?, leaf = ?, erased = ?,"
            " unread = ? where place = ?",
            (new.body, new.metadata, new.tokens, new.salt, new.leaf, new.erased, not change.whole, place),
        )
        connection.execute(
            "insert into message_words (rowid, owner, body) values (?, ?, ?)",
            (place, self._owner(user_id), indexed(words_of(new))),
        )

    def _unindex_message(
        self, connection: sqlite3.Connection, user_id: str, place: int, row: MessageRow, gone: _Gone
    ) -> None:
        for message in whole_messages([row]):
            connection.execute(
                "insert into message_words (message_words, rowid, owner, body) values ('delete', ?, ?, ?)",
                (place, self._owner(user_id), indexed(message.text)),
            )
            return
        gone.stale_message_words = True  # what a damaged message said is not known, but its words may be in the index

    def _said_in(self, connection: sqlite3.Connection, message_ids: set[str]) -> list[str]:
        sql = "select id from facts where tenant = ? and message_id in (select value from json_each(?))"
        return [row[0] for row in rows(connection, sql, (self.tenant, json.dumps(sorted(message_ids))))]

    def _happened_in(self, connection: sqlite3.Connection, erasure: Erasure, message_ids: set[str]) -> list[str]:
        """Episodes that tell of these messages, and damaged ones, of which that cannot be known."""
        found = [
            row
            for session_id in {change.session_id for change in erasure.rewrites}
            for row in self._raw_episodes(connection, erasure.user_id, session_id)
        ]
        whole = {episode.id: episode for episode in whole_episodes(found)}
        return [row.id for row in found if row.id not in whole or message_ids.intersection(whole[row.id].message_ids)]

    def _forget_appends(self, connection: sqlite3.Connection, message_ids: set[str]) -> None:
        """An append that is tried again stays known, but its fingerprint tells nothing any more."""
        connection.execute(
            "update appends set fingerprint = ? where tenant = ? and exists (select 1 from"
            " json_each(case when json_valid(result) then result else '{}' end, '$.ids') as told"
            " where told.value in (select value from json_each(?)))",
            (FORGOTTEN_APPEND, self.tenant, json.dumps(sorted(message_ids))),
        )

    # summaries

    def _unfold_from(self, connection: sqlite3.Connection, session_id: str, seq: int, gone: _Gone) -> None:
        """Drop every summary that covers this message or a later one; what those were folded from is live again."""
        doomed = rows(
            connection,
            "select id, status from summaries where tenant = ? and session_id = ? and last >= ? order by place",
            (self.tenant, session_id, seq),
        )
        ids = [summary_id for summary_id, _ in doomed]
        gone.summaries.extend(ids)
        self._drop_summaries(connection, ids, gone)
        self._orphan(connection, session_id, [summary_id for summary_id, status in doomed if status == "replaced"])
        live = rows(
            connection,
            "select id, first, last, status from summaries where tenant = ? and session_id = ? and (status = 'live'"
            " or (status = 'folded' and folded_into in (select value from json_each(?)))) order by first",
            (self.tenant, session_id, json.dumps(ids)),
        )
        cursor = max((last for _, _, last, _ in live), default=0)
        if next(faults([Span(first=first, last=last) for _, first, last, _ in live], cursor), None):
            self._unfold_from(connection, session_id, 0, gone)
            return
        self._revive(connection, [summary_id for summary_id, _, _, status in live if status == "folded"])
        connection.execute(
            "update sessions set cursor = ?, version = version + 1, attempts = 0, retry_us = null"
            " where tenant = ? and id = ?",
            (cursor, self.tenant, session_id),
        )
        self._recount_cursor(connection, session_id)

    def _recount_cursor(self, connection: sqlite3.Connection, session_id: str) -> None:
        connection.execute(
            "update sessions set (cursor_turn, cursor_tokens) = (select coalesce(max(turn), 0),"
            " coalesce(sum(tokens), 0) from messages where tenant = :tenant and session_id = :id"
            " and seq <= sessions.cursor) where tenant = :tenant and id = :id",
            {"tenant": self.tenant, "id": session_id},
        )

    def _orphan(self, connection: sqlite3.Connection, session_id: str, gone: Sequence[str]) -> None:
        """What was folded into a replaced summary that is gone was replaced with it."""
        connection.execute(
            "update summaries set status = 'replaced', folded_into = null where tenant = ? and session_id = ?"
            " and status = 'folded' and folded_into in (select value from json_each(?))",
            (self.tenant, session_id, json.dumps(list(gone))),
        )

    def _revive(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        for summary_id in ids:
            connection.execute(
                "update summaries set status = 'live', folded_into = null where tenant = ? and id = ?",
                (self.tenant, summary_id),
            )
            self._index_summary(connection, summary_id)

    def _drop_summaries(self, connection: sqlite3.Connection, ids: Iterable[str], gone: _Gone) -> None:
        for summary_id in ids:
            self._unindex_summary(connection, summary_id)
            places = rows(
                connection,
                "delete from summaries where tenant = ? and id = ? returning place,"
                " exists (select 1 from summary_words_docsize where summary_words_docsize.id = place)",
                (self.tenant, summary_id),
            )
            gone.stale_words = gone.stale_words or any(indexed_still for _, indexed_still in places)

    def _drop_proposals(self, connection: sqlite3.Connection, user_id: str) -> None:
        """Proposals quote summaries and facts, so none of them may stay."""
        connection.execute("delete from proposals where tenant = ? and user_id = ?", (self.tenant, user_id))

    def _erase_digests(self, connection: sqlite3.Connection, user_id: str, gone: _Gone) -> None:
        found = rows(
            connection,
            "select id from summaries where tenant = ? and user_id = ? and kind = 'digest'",
            (self.tenant, user_id),
        )
        ids = [row[0] for row in found]
        gone.digests.extend(ids)
        self._drop_summaries(connection, ids, gone)

    # whole sessions and users

    def _erase_session(self, connection: sqlite3.Connection, session_id: str, gone: _Gone) -> None:
        session = self._require_session(connection, session_id)
        key = (self.tenant, session_id)
        for place, *raw in rows(
            connection, f"select place, {MESSAGE} from messages where tenant = ? and session_id = ?", key
        ):
            row = message_row(raw)
            self._unindex_message(connection, session.user_id, place, row, gone)
            gone.messages.append(row.id)
        summaries = [
            r[0] for r in rows(connection, "select id from summaries where tenant = ? and session_id = ?", key)
        ]
        gone.summaries.extend(summaries)
        self._drop_summaries(connection, summaries, gone)
        facts = [r[0] for r in rows(connection, "select id from facts where tenant = ? and session_id = ?", key)]
        self._erase_facts(connection, session.user_id, facts, gone)
        episodes = [r[0] for r in rows(connection, "select id from episodes where tenant = ? and session_id = ?", key)]
        self._erase_episodes(connection, session.user_id, episodes, gone)
        self._delete_appends(connection, session_id)
        for table in ("proposals", "milestones", "messages"):
            deleted = connection.execute(f"delete from {table} where tenant = ? and session_id = ?", key)
            gone.milestones += deleted.rowcount if table == "milestones" else 0
        connection.execute("delete from sessions where tenant = ? and id = ?", key)
        self._next_generation(connection, session)
        gone.sessions.append(session_id)

    def _next_generation(self, connection: sqlite3.Connection, erased: Session) -> None:
        generation = max(self._generation(connection), erased.counters.version + 1, erased.erasures + 1)
        connection.execute(
            "insert into settings (tenant, key, value) values (?, 'generation', ?)"
            " on conflict (tenant, key) do update set value = excluded.value",
            (self.tenant, str(generation)),
        )

    def _delete_appends(self, connection: sqlite3.Connection, session_id: str) -> None:
        connection.execute(
            "delete from appends where tenant = :tenant and exists (select 1 from"
            " json_each(case when json_valid(result) then result else '{}' end, '$.ids') as told where"
            " told.value in (select id from messages where tenant = :tenant and session_id = :session))",
            {"tenant": self.tenant, "session": session_id},
        )

    def _erase_user(self, connection: sqlite3.Connection, user_id: str, gone: _Gone) -> None:
        key = (self.tenant, user_id)
        for (session_id,) in rows(connection, "select id from sessions where tenant = ? and user_id = ?", key):
            self._erase_session(connection, session_id, gone)
        facts = [row[0] for row in rows(connection, "select id from facts where tenant = ? and user_id = ?", key)]
        self._erase_facts(connection, user_id, facts, gone)
        self._erase_digests(connection, user_id, gone)
        for table in ("links", "forgotten"):
            connection.execute(f"delete from {table} where tenant = ? and user_id = ?", key)

    # facts, episodes, milestones

    def _erase_facts(self, connection: sqlite3.Connection, user_id: str, ids: Sequence[str], gone: _Gone) -> None:
        found = rows(
            connection,
            f"select {FACT} from facts where tenant = ? and user_id = ? and id in (select value from json_each(?))"
            " order by id",
            (self.tenant, user_id, json.dumps(list(ids))),
        )
        gone.facts.extend(whole_facts(FactRow(*row) for row in found))
        gone.fact_ids.extend(row[0] for row in found)
        gone.slots |= self._drop_facts(connection, user_id, [row[0] for row in found])

    def _erase_episodes(self, connection: sqlite3.Connection, user_id: str, ids: Sequence[str], gone: _Gone) -> None:
        gone.episodes.extend(self._drop_episodes(connection, user_id, ids))

    def _erase_milestones(self, connection: sqlite3.Connection, erasure: Erasure, gone: _Gone) -> None:
        deleted = connection.execute(
            "delete from milestones where tenant = :tenant and id in (select value from json_each(:ids)) and exists"
            " (select 1 from sessions s where s.tenant = :tenant and s.id = session_id and s.user_id = :user)",
            {"tenant": self.tenant, "ids": json.dumps(list(erasure.milestones)), "user": erasure.user_id},
        )
        gone.milestones += deleted.rowcount

    def _unlink(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        connection.execute(
            "delete from links where tenant = :tenant and (source in (select value from json_each(:ids))"
            " or target in (select value from json_each(:ids)))",
            {"tenant": self.tenant, "ids": json.dumps(list(ids))},
        )

    # the files

    async def scrub(self) -> bool:
        """Rewrite the word index and the file, and empty the write-ahead log: no page keeps what was deleted."""

        def work(connection: sqlite3.Connection) -> bool:
            for table in ("message_words", "summary_words"):
                connection.execute(f"insert into {table} ({table}) values ('optimize')")
            connection.execute("vacuum")
            (busy, *_) = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
            if not busy:  # until then it is still due, also after a crash
                connection.execute("delete from settings where tenant = ? and key = 'scrub'", (self.tenant,))
            return not busy

        return await self._connections.alone(work)

    async def receipts(self) -> list[ReceiptRow]:
        return await self._connections.read(self._receipts)

    def _receipts(self, connection: sqlite3.Connection) -> list[ReceiptRow]:
        found = rows(
            connection,
            "select id, created_us, record, previous, digest from receipts where tenant = ? order by place",
            (self.tenant,),
        )
        return [ReceiptRow(a, from_us(b), c, d, e) for a, b, c, d, e in found]
