"""The log: appending, and reading what was appended."""

import json
from collections.abc import Sequence
from dataclasses import replace

from lamina.log import chain
from lamina.log.messages import taken
from lamina.protocols.store import Append, Appended, MessageRow
from lamina.storage.relational_replacing import Replacing
from lamina.storage.relational_rows import MESSAGE, SESSION, message_row, session_value, to_us
from lamina.storage.shared import FORGOTTEN_APPEND, append_fingerprint, reused_key, whole_messages
from lamina.storage.transaction import Transaction
from lamina.values.message import Message, MessageDraft, Span
from lamina.values.session import Counters, Session, Status


class LogTables(Replacing):
    """Messages as they came, in order."""

    # the log

    async def append(self, append: Append) -> Appended:
        return await self._database.write(
            lambda tx: self._append(tx, append),
            user=append.user_id,
            again=append.key is not None or (append.replaces is not None and append.replaces.earlier is None),
        )

    async def _append(self, tx: Transaction, append: Append) -> Appended:
        if append.key is not None and (known := await self._known_append(tx, append)) is not None:
            return known
        session, digest = await self._session_for(tx, append)
        if append.replaces is not None and session.counters.messages:
            session, digest = await self._replace(tx, session, append.replaces)
        stored = await self._stored(tx, [draft.id for draft in append.drafts if draft.named])
        fresh, salts, duplicates = chain.unstored(append, stored)
        placed, counters, digest = chain.placed(append.session_id, session.counters, digest, fresh, salts)
        if placed:
            changed = await self._changed(tx, append.user_id)
            session = await self._touched(tx, append, session, counters, digest, fresh, changed)
            await self._insert_messages(tx, append.user_id, placed, fresh)
        result = Appended(
            session=session,
            ids=tuple([draft.id for draft in append.drafts]),
            span=Span(first=placed[0].seq, last=placed[-1].seq) if placed else None,
            duplicates=duplicates,
        )
        if append.key is not None:
            await self._remember_append(tx, append, result)
        return result

    async def _session_for(self, tx: Transaction, append: Append) -> tuple[Session, bytes]:
        found = await tx.row(
            f"select digest, {SESSION} from sessions where tenant = ? and id = ?", (self.tenant, append.session_id)
        )
        if found is not None:
            session = session_value(found[1:])
            if session.user_id != append.user_id:
                raise taken(append.session_id)
            return session, found[0]
        started = to_us(append.drafts[0].created_at)
        digest = chain.first_digest(append.session_id)
        generation = await self._generation(tx)
        await self._note_tenant(tx)
        await tx.execute(
            "insert into sessions (tenant, id, user_id, agent_id, status, started_us, last_us, touched_us, digest,"
            " version, erasures) values (?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)",
            (self.tenant, append.session_id, append.user_id, append.agent_id, started, started, to_us(append.now),
             digest, generation, generation),
        )  # fmt: skip
        return await self._require_session(tx, append.session_id), digest

    async def _stored(self, tx: Transaction, ids: Sequence[str]) -> dict[str, MessageRow]:
        if not ids:
            return {}
        found = await tx.rows(
            f"select {MESSAGE} from messages where tenant = ? and id in (select value from json_each(?))",
            (self.tenant, tx.listed(ids)),
        )
        return {row.id: row for row in map(message_row, found)}

    async def _insert_messages(
        self, tx: Transaction, user_id: str, placed: Sequence[MessageRow], drafts: Sequence[MessageDraft]
    ) -> None:
        places = await tx.places("messages", len(placed))
        await tx.many(
            f"insert into messages (place, tenant, {MESSAGE}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(place, self.tenant, *row) for place, row in zip(places, placed, strict=True)],
        )
        texts = [(place, draft.text) for place, draft in zip(places, drafts, strict=True)]
        await self._words.add_messages(tx, user_id, texts)

    async def _touched(
        self,
        tx: Transaction,
        append: Append,
        session: Session,
        counters: Counters,
        digest: bytes,
        fresh: Sequence[MessageDraft],
        changed: int,
    ) -> Session:
        """The session with its new counters, stored; an ended or archived one is active again."""
        status: Status = "active" if append.replaces is None else append.replaces.status
        await tx.execute(
            "update sessions set messages = ?, turns = ?, tokens = ?, closed = ?, digest = ?, last_us = ?, "
            "touched_us = ?, status = ?, ended_us = null, archived_us = null, touch = touch + 1, "
            "pending = pending | ?, aside = 0, changed = ? where tenant = ? and id = ?",
            (counters.messages, counters.turns, counters.tokens, int(counters.closed), digest,
             to_us(fresh[-1].created_at), to_us(append.now), status, int(append.due(counters, status)),
             changed, self.tenant, append.session_id),
        )  # fmt: skip
        return replace(
            session,
            status=status,
            ended_at=None,
            archived_at=None,
            last_at=fresh[-1].created_at,
            touched_at=append.now,
            counters=counters,
        )

    async def _known_append(self, tx: Transaction, append: Append) -> Appended | None:
        found = await tx.row(
            "select fingerprint, cast(result as text) from appends where tenant = ? and key = ?",
            (self.tenant, append.key),
        )
        if found is None:
            return None
        if found[0] not in {FORGOTTEN_APPEND, append_fingerprint(append)}:
            raise reused_key(append)
        result = json.loads(found[1])
        if found[0] == FORGOTTEN_APPEND and not await self._is_in(tx, append.session_id, result["ids"]):
            raise reused_key(append)
        span = result["span"]
        return Appended(
            session=await self._require_session(tx, append.session_id),
            ids=tuple(result["ids"]),
            span=Span(first=span[0], last=span[1]) if span else None,
            duplicates=tuple(result["ids"]),
        )

    async def _is_in(self, tx: Transaction, session_id: str, ids: Sequence[str]) -> bool:
        return any(row.session_id == session_id for row in (await self._stored(tx, ids)).values())

    async def _remember_append(self, tx: Transaction, append: Append, result: Appended) -> None:
        span = [result.span.first, result.span.last] if result.span else None
        await tx.execute(
            "insert into appends (tenant, key, fingerprint, result) values (?, ?, ?, ?)",
            (self.tenant, append.key, append_fingerprint(append), json.dumps({"ids": result.ids, "span": span})),
        )

    async def messages(self, session_id: str, span: Span) -> list[Message]:
        async def work(tx: Transaction) -> list[Message]:
            found = await tx.rows(
                f"select {MESSAGE} from messages where tenant = ? and session_id = ? and seq between ? and ?"
                " order by seq",
                (self.tenant, session_id, span.first, span.last),
            )
            return list(whole_messages(map(message_row, found)))

        return await self._database.read(work)

    async def message(self, message_id: str) -> Message | None:
        found = await self._database.read(lambda tx: self._stored(tx, [message_id]))
        return next(whole_messages(found.values()), None)
