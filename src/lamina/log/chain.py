"""The log: places, turns and chained digests of messages, and rows read back only if they are whole."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lamina.errors import Conflict
from lamina.log.messages import calls_of, text_of
from lamina.protocols.store import Append, MessageRow, Rewrite
from lamina.values.message import Json, Message, MessageDraft
from lamina.values.session import Counters


class Damaged(Exception):
    """A stored row does not match its digest or cannot be read."""


def first_hash(session_id: str) -> bytes:
    """Where a session's chain of digests begins."""
    return hashlib.sha256(b"lamina session\0" + session_id.encode()).digest()


def leaf(salt: bytes, *content: str | None) -> bytes:
    """The digest of one message's content; the salt keeps short contents from being guessed once they are erased."""
    joined = "\0".join([item or "" for item in content])
    return hashlib.sha256(salt + joined.encode()).digest()


def extend_chain(previous: bytes, own: bytes) -> bytes:
    return hashlib.sha256(previous + own).digest()


def build_rows(
    session_id: str, counters: Counters, previous: bytes, drafts: Sequence[MessageDraft], salts: Sequence[bytes]
) -> tuple[list[MessageRow], Counters, bytes]:
    """Drafts at the end of a session: rows, the new counters and the new end of the chain."""
    rows = []
    seq, turn, tokens, closed = counters.messages, counters.turns, counters.tokens, counters.closed
    for draft, salt in zip(drafts, salts, strict=True):
        seq += 1
        turn += draft.role == "user"
        tokens += draft.tokens
        closed = closes(draft.role, bool(draft.calls), was=closed)
        created_at = draft.created_at.isoformat()
        own = leaf(salt, draft.id, draft.role, draft.body, created_at, draft.metadata, draft.model)
        previous = extend_chain(previous, own)
        rows.append(
            MessageRow(
                session_id, seq, turn, draft.id, draft.role, draft.body, created_at, draft.metadata, draft.model,
                draft.tokens, salt, own, previous,
            )
        )  # fmt: skip
    return rows, replace(counters, messages=seq, turns=turn, tokens=tokens, closed=closed), previous


def closes(role: str, has_calls: bool, *, was: bool) -> bool:
    """Whether the newest turn has its reply, after a message of that role."""
    if role in {"system", "developer"}:
        return was
    return role == "assistant" and not has_calls


def rewrite_row(row: MessageRow, change: Rewrite) -> MessageRow:
    """A row with other words; its place in the chain of digests stays."""
    own = leaf(change.salt, row.id, row.role, change.body, row.created_at, change.metadata, None)
    return row._replace(
        body=change.body,
        metadata=change.metadata,
        model=None,
        tokens=change.tokens,
        salt=change.salt,
        leaf=own,
        erased=row.leaf if row.erased is None else row.erased,
    )


def link_of(row: MessageRow) -> bytes:
    """The leaf by which a message is in the chain: that of its first words, even if they are gone."""
    return row.leaf if row.erased is None else row.erased


def recount(messages: Iterable[Message | MessageRow]) -> Counters:
    """The counters that these messages, all of a session, give; the cursor is left at the start."""
    last = turns = tokens = 0
    closed = True
    for message in messages:
        calls = message.calls if isinstance(message, Message) else _row_calls(message)
        last, turns, tokens = message.seq, message.turn, tokens + message.tokens
        closed = closes(message.role, bool(calls), was=closed)
    return Counters(messages=last, turns=turns, tokens=tokens, closed=closed)


def _row_calls(row: MessageRow) -> tuple[str, ...]:
    try:
        return calls_of(json.loads(row.body))
    except (ValueError, AttributeError):
        return ()


def decode_message(row: MessageRow) -> Message:
    """The message in a row; Damaged if a bit of it has changed."""
    try:
        if leaf(row.salt, row.id, row.role, row.body, row.created_at, row.metadata, row.model) != row.leaf:
            raise Damaged(f"message {row.id} does not match its digest")
        body = json.loads(row.body)
        return Message(
            id=row.id,
            session_id=row.session_id,
            seq=row.seq,
            turn=row.turn,
            role=row.role,  # type: ignore[arg-type]  # checked when it was stored, and by the digest since
            body=body,
            created_at=datetime.fromisoformat(row.created_at),
            metadata=json.loads(row.metadata) if row.metadata != "{}" else {},
            model=row.model,
            tokens=row.tokens,
            text=text_of(body),
            leaf=row.leaf.hex(),
            digest=row.digest.hex(),
            calls=calls_of(body),
            answers=body.get("tool_call_id") if row.role == "tool" else None,
            forgotten=row.erased is not None,
        )
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise Damaged(f"message {row.id} cannot be read: {error}") from error


def new_drafts(
    append: Append, stored: Mapping[str, MessageRow]
) -> tuple[list[MessageDraft], list[bytes], tuple[str, ...]]:
    """The drafts (and salts) that are not stored yet, and the ids that are; an id with other content is a conflict."""
    fresh: dict[str, MessageDraft] = {}
    salts, duplicates = [], []
    for draft, salt in zip(append.drafts, append.salts, strict=True):
        row, twin = stored.get(draft.id), fresh.get(draft.id)
        if row is None and twin is None:
            fresh[draft.id] = draft
            salts.append(salt)
        elif (row is not None and row.session_id == append.session_id and _stands(row, draft)) or (
            twin is not None and _same(twin, json.loads(twin.body), json.loads(twin.metadata), draft)
        ):
            duplicates.append(draft.id)
        else:
            raise Conflict(f"message id {draft.id!r} is taken by other content; use another id")
    return list(fresh.values()), salts, tuple(duplicates)


def _stands(row: MessageRow, draft: MessageDraft) -> bool:
    """Whether a draft is a stored message again; one that was forgotten stays so, whatever it comes with."""
    return row.erased is not None or same_content(row, draft)


def same_content(row: MessageRow, draft: MessageDraft) -> bool:
    """Whether a draft with a stored message's id is that message again."""
    try:
        message = decode_message(row)
    except Damaged:
        return False
    return _same(message, message.body, message.metadata, draft)


def _same(one: Message | MessageDraft, body: Json, metadata: Json, draft: MessageDraft) -> bool:
    return (
        body == json.loads(draft.body)
        and metadata == json.loads(draft.metadata)
        and one.model == draft.model
        and (not draft.timed or one.created_at == draft.created_at)
    )
