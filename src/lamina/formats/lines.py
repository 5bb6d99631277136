"""One JSON object a line for everything Lamina keeps: each thing as a record, and back."""

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
from lamina.values.receipt import Receipt
from lamina.values.session import Counters, Milestone, Session, Status
from lamina.values.summary import Summary

FORMAT = "lamina"
VERSION = 2
_READABLE = ((FORMAT, VERSION), ("lamina-sessions", 1))

Record = dict[str, Any]
Value = Session | Summary | Fact | Episode | Link | Milestone | Receipt
_KINDS: Mapping[str, type[Value]] = {
    "session": Session,
    "summary": Summary,
    "fact": Fact,
    "episode": Episode,
    "link": Link,
    "milestone": Milestone,
    "receipt": Receipt,
}
_NAMES: Mapping[type, str] = {kind: name for name, kind in _KINDS.items()}
KINDS = ("header", "message", *_KINDS)
_OWN_TYPE: Mapping[str, str] = {"fact": "fact_type", "link": "link_type"}  # `type` says what the line is
_FORGOTTEN = "forgotten"
_LINE_KEYS = frozenset({"type", "session_id", "user_id", "body"})  # what a line says beside the message itself
_UNIT = (0.0, 1.0)
_RANGES = {
    "confidence": _UNIT,
    "importance": _UNIT,
    "significance": _UNIT,
    "strength": _UNIT,
    "decay": _UNIT,
    "valence": (-1.0, 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Records made from something else, and how many things were left out or changed, by why."""

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
    """The objects on the lines, numbered; one that cannot be read comes as such, after what was read before it."""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            found = {"type": "unreadable", "reason": f"is not JSON: {error}"}
        if not isinstance(found, dict):
            found = {"type": "unreadable", "reason": f"is {json_kind(found)}, not a JSON object"}
        yield number, found


def header(**counts: int) -> Record:
    """The first line of an export."""
    return {"type": "header", "format": FORMAT, "version": VERSION, **counts}


def checked_header(record: Record) -> int:
    """The version of an export that this Lamina can read."""
    version = record.get("version")
    if isinstance(version, int) and (record.get("format"), version) in _READABLE:
        return version
    raise InputError(
        f"the file says format {record.get('format')!r} version {version!r}; "
        f"this Lamina reads {' and '.join(f'{name!r} version {number}' for name, number in sorted(_READABLE))}"
    )


def kind_of(record: Record, place: str) -> str:
    """What a record is; one that has a role is a message, whatever else it says."""
    kind = record.get("type", "message")
    if kind in KINDS:
        return str(kind)
    if "role" in record:
        return "message"
    raise InputError(f"{place} has type {kind!r:.80}; a line is one of {list(KINDS)}")


# messages


def message_record(message: Message) -> Record:
    """A message as one flat line; apart, as `body`, if it has keys that a line uses itself."""
    record = laid_out(
        message.session_id, message.id, message.body, message.created_at.isoformat(), message.metadata, message.model
    )
    return {**record, _FORGOTTEN: True} if message.forgotten else record


def is_forgotten(record: Record) -> bool:
    """Whether something of a message, or all, was erased before it was exported."""
    return record.get("type") == "message" and record.get(_FORGOTTEN) is True


def laid_out(
    session_id: str,
    message_id: str,
    body: Mapping[str, Any],
    created_at: str | None,
    metadata: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Record:
    """The parts of a message as one record."""
    clashes = any(key in body for key in (*_LINE_KEYS, _FORGOTTEN))
    said: Record = {"body": dict(body)} if clashes else dict(body)
    record = {"type": "message", "session_id": session_id, "id": message_id, **said}
    if created_at is not None:
        record["created_at"] = created_at
    if metadata:
        record["metadata"] = metadata
    if model is not None:
        record["model"] = model
    return record


def message_of(record: Record) -> Record:
    """The message on a line, ready to be added."""
    envelope = {key: value for key, value in record.items() if key not in _LINE_KEYS}
    if is_forgotten(record):
        del envelope[_FORGOTTEN]
    apart = record.get("body")
    return {**apart, **envelope} if isinstance(apart, dict) and "role" not in record else envelope


# everything else


def record(value: Value | Message) -> Record:
    """A value as a record."""
    if isinstance(value, Message):
        return message_record(value)
    kind = _NAMES[type(value)]
    held = encode(value)
    if kind in _OWN_TYPE:
        held[_OWN_TYPE[kind]] = held.pop("type")
    return {"type": kind, **held}


def value(record: Record, place: str = "the record") -> Value:
    """The value in a record; an error says which field is wrong."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"{place} has type {kind!r:.80}; a value is one of {list(_KINDS)}")
    held = {name: item for name, item in record.items() if name != "type"}
    if kind in _OWN_TYPE and _OWN_TYPE[kind] in held:
        held["type"] = held.pop(_OWN_TYPE[kind])
    found = decode(_KINDS[kind], held, f"{place} ({kind})")
    _check_ranges(found, f"{place} ({kind})")
    return found


def session_head(record: Record, place: str) -> SessionHead:
    """What an import needs of a session's record, which may be of an older version or of another tool."""
    known = {entry.name for entry in fields(SessionHead)}
    return decode(SessionHead, {name: item for name, item in record.items() if name in known}, f"{place} (session)")


def _check_ranges(found: Value, place: str) -> None:
    for entry in fields(found):
        held = getattr(found, entry.name)
        if isinstance(held, Span) and not 0 <= held.first <= held.last:
            raise InputError(f"{place}: {entry.name} goes from {held.first} to {held.last}; the first comes first")
        if isinstance(held, float) and entry.name in _RANGES:
            least, most = _RANGES[entry.name]
            if not least <= held <= most:
                raise InputError(f"{place}: {entry.name} is {held}; it is between {least:g} and {most:g}")


def told(
    *,
    fact_id: str,
    fact_type: FactType,
    category: str,
    text: str,
    user_id: str | None = None,
    tags: Sequence[str] = (),
    learnt_at: datetime | None = None,
    created_at: datetime | None = None,
    valid_from: datetime | None = None,
    until: datetime | None = None,
    importance: float | None = None,
) -> Record:
    """The record of a memory that another tool kept. What is not known is left out, for the import to fill in."""
    times = {
        "learnt_at": learnt_at or created_at,
        "valid_from": valid_from or learnt_at or created_at,
        "created_at": created_at or learnt_at,
        "until": until,
    }
    found = {
        "type": "fact",
        "id": fact_id,
        "user_id": user_id,
        "fact_type": fact_type,
        "category": category,
        "key": None,
        "value": text,
        "origin": "told",
        "confidence": 1.0,
        "importance": FACT_TYPES[fact_type] if importance is None else importance,
        "tags": list(tags),
        **encode(times),
    }
    return {name: item for name, item in found.items() if item is not None or name == "key"}
