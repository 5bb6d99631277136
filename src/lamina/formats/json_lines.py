"""Our JSON Lines: each stored value as one JSON object on a line, and back."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.values.codec import decode, encode, json_kind
from lamina.values.fact import FACT_TYPES, Episode, Fact, FactType, Link
from lamina.values.message import Message, Span
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt
from lamina.values.session import Counters, Milestone, Session, Status
from lamina.values.summary import Summary

FORMAT = "lamina"
VERSION = 2
UNREAD = " "  # the slot of a memory of another tool until it is read; no fact has it
_READABLE = ((FORMAT, VERSION), ("lamina-sessions", 1))

Record = dict[str, Any]
Value = Session | Summary | Fact | Episode | Link | Milestone | Receipt | OptOut
_KINDS: Mapping[str, type[Value]] = {
    "session": Session,
    "summary": Summary,
    "fact": Fact,
    "episode": Episode,
    "link": Link,
    "milestone": Milestone,
    "receipt": Receipt,
    "opt_out": OptOut,
}
_NAMES: Mapping[type, str] = {kind: name for name, kind in _KINDS.items()}
KINDS = ("header", "message", *_KINDS)
_OWN_TYPE: Mapping[str, str] = {"fact": "fact_type", "link": "link_type"}  # `type` says what the line is
_FORGOTTEN = "forgotten"
EMBEDDING = "embedding"  # of an item, where it was asked for; it is made again where it is imported
_LINE_KEYS = frozenset({"type", "session_id", "user_id", "body"})  # of a line, besides the message itself
_MINIMA = {"confidence": 0, "importance": 0, "significance": 0, "strength": 0, "decay": 0, "valence": -1}  # to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Records made from another format, and how many things were left out or changed, by reason."""

    records: Sequence[Record]
    skipped: Mapping[str, int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """How much was derived from a session: with fewer lines than these, the file was cut."""

    summaries: int
    facts: int
    episodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHead:
    """What an import needs of a session's record; all else follows from its messages."""

    id: str
    user_id: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    title: str | None = None
    status: Status = "active"
    ended_at: datetime | None = None
    archived_at: datetime | None = None
    counters: Counters | None = None
    holds: Holds | None = None


# lines


def line(record: Record) -> str:
    """A record as a line of text."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def records(lines: Iterable[str]) -> Iterator[tuple[int, Record]]:
    """The objects on the lines, numbered; for a line that cannot be read, a record of the type `unreadable`."""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            found = json.loads(text.rstrip())
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
            why = "is cut: it ends in the middle" if cut else f"is not JSON: {error.msg} at column {error.colno:,}"
            found = {"type": "unreadable", "reason": why}
        except (ValueError, RecursionError) as error:
            found = {"type": "unreadable", "reason": f"is not JSON: {error}"}
        if not isinstance(found, dict):
            found = {"type": "unreadable", "reason": f"is {json_kind(found)}, not a JSON object"}
        yield number, found


def header(**counts: int) -> Record:
    """The first line of an export."""
    return {"type": "header", "format": FORMAT, "version": VERSION, **counts}


def header_version(record: Record) -> int:
    """The version that an export's header names; InputError if this Lamina cannot read it."""
    version = record.get("version")
    if isinstance(version, int) and (record.get("format"), version) in _READABLE:
        return version
    readable = " and ".join(f"{name!r} version {number}" for name, number in sorted(_READABLE))
    raise InputError(f"the file has format {record.get('format')!r} version {version!r}; this Lamina reads {readable}")


def kind_of(record: Record, place: str) -> str:
    """What a record is; one that has a role is a message, whatever its type."""
    kind = record.get("type", "message")
    if kind in KINDS:
        return str(kind)
    if "role" in record:
        return "message"
    raise InputError(f"{place} has type {kind!r:.80}; a line is one of {list(KINDS)}")


# messages


def is_forgotten(record: Record) -> bool:
    """Whether a message, or a part of it, was erased before it was exported."""
    return record.get("type") == "message" and record.get(_FORGOTTEN) is True


def message_record(
    session_id: str,
    message_id: str,
    body: Mapping[str, Any],
    created_at: str | None,
    metadata: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Record:
    """A message as one flat record; with its own object under `body` if it has keys that the line uses itself."""
    clashes = any(key in body for key in (*_LINE_KEYS, _FORGOTTEN))
    record: Record = {"type": "message", "session_id": session_id, "id": message_id}
    record |= {"body": dict(body)} if clashes else body
    optional = {"created_at": created_at, "metadata": metadata or None, "model": model}
    return record | {name: item for name, item in optional.items() if item is not None}


def chat_message(record: Record) -> Record:
    """The message on a line, ready to be added."""
    envelope = {key: value for key, value in record.items() if key not in _LINE_KEYS}
    if is_forgotten(record):
        del envelope[_FORGOTTEN]
    body = record.get("body")
    return {**body, **envelope} if isinstance(body, dict) and "role" not in record else envelope


# everything else


def record(value: Value | Message) -> Record:
    """A value as a record."""
    if isinstance(value, Message):
        at = value.created_at.isoformat()
        message = message_record(value.session_id, value.id, value.body, at, value.metadata, value.model)
        return {**message, _FORGOTTEN: True} if value.forgotten else message
    kind = _NAMES[type(value)]
    fields_ = encode(value)
    if kind in _OWN_TYPE:
        fields_[_OWN_TYPE[kind]] = fields_.pop("type")
    return {"type": kind, **fields_}


def value(record: Record, place: str = "the record") -> Value:
    """The value in a record; an error says which field is wrong."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"{place} has type {kind!r:.80}; a value is one of {list(_KINDS)}")
    data = {name: item for name, item in record.items() if name not in {"type", EMBEDDING}}
    if kind in _OWN_TYPE and _OWN_TYPE[kind] in data:
        data["type"] = data.pop(_OWN_TYPE[kind])
    if kind == "receipt" and "rehearsal" in data:  # the name in exports of older versions
        data["dry_run"] = data.pop("rehearsal")
    found = decode(_KINDS[kind], data, f"{place} ({kind})")
    _check_ranges(found, f"{place} ({kind})")
    return found


def session_head(record: Record, place: str) -> SessionHead:
    """What an import needs of a session's record, which may be of an older version or of another tool."""
    known = {entry.name for entry in fields(SessionHead)}
    return decode(SessionHead, {name: item for name, item in record.items() if name in known}, f"{place} (session)")


def _check_ranges(found: Value, place: str) -> None:
    for entry in fields(found):
        item = getattr(found, entry.name)
        if isinstance(item, Span) and not 0 <= item.first <= item.last:
            raise InputError(f"{place}: {entry.name} goes from {item.first} to {item.last}; the first comes first")
        if isinstance(item, float) and entry.name in _MINIMA and not _MINIMA[entry.name] <= item <= 1:
            raise InputError(f"{place}: {entry.name} is {item}; it is between {_MINIMA[entry.name]} and 1")


def fact_record(
    *,
    fact_id: str,
    fact_type: FactType,
    category: str,
    text: str,
    user_id: str | None = None,
    project_id: str | None = None,
    tags: Sequence[str] = (),
    learnt_at: datetime | None = None,
    created_at: datetime | None = None,
    valid_from: datetime | None = None,
    until: datetime | None = None,
    importance: float | None = None,
    unread: bool = False,
) -> Record:
    """The record of another tool's memory. What is not known is left out; the import fills it in.

    `created_at` is when it was made there; here it is as old as its import.
    An `unread` text is read by the import, as one that is told by hand.
    """
    fields_ = {
        "type": "fact",
        "id": fact_id,
        "user_id": user_id,
        "project_id": project_id,
        "fact_type": fact_type,
        "category": category,
        "value": text,
        "origin": "told",
        "confidence": 1.0,
        "importance": FACT_TYPES[fact_type] if importance is None else importance,
        "tags": tags,
        "learnt_at": learnt_at or created_at,
        "valid_from": valid_from or learnt_at or created_at,
        "until": until,
        "slot": UNREAD if unread else None,
    }
    return {"key": None, **{name: encode(item) for name, item in fields_.items() if item is not None}}
