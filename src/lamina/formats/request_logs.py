"""Logs of chat requests and replies, fine-tuning files, and plain lists of chat messages.

A log repeats the conversation with each request. So each message is identified by a hash of all messages up to it. A
request whose messages all occur in a longer one is the same conversation, and is not imported twice. Importing a log
again after it has grown adds only what is new.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats import request_shapes
from lamina.formats.foreign_values import Calls, call, call_id, content_hash, identifier, join_id
from lamina.formats.json_lines import Conversion, Record, message_record
from lamina.values.codec import json_kind
from lamina.values.message import ROLES

_ENVELOPE = frozenset({"id", "created_at", "timestamp", "model", "metadata", "weight"})
_CONTENT_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_SESSIONS = ("session_id", "conversation_id", "thread_id", "chat_id")
_USERS = ("user_id", "user")
_TIMES = ("created", "created_at", "timestamp", "time")


@dataclass(frozen=True, slots=True)
class _Chat:
    """One entry of a log: its roles, and for each message the hash of all messages up to it."""

    session_id: str | None
    user_id: str | None
    roles: Sequence[str]
    hashes: Sequence[str]

    @property
    def steps(self) -> list[tuple[str, str]]:
        return list(pairwise([f"session {self.session_id}", *self.hashes]))


@dataclass(frozen=True, slots=True)
class _First:
    """A message where it occurs first: a reply may have more fields than later requests repeat."""

    message: dict[str, Any]
    at: datetime | None
    model: str | None


def convert(data: Any, name: str) -> Conversion:
    """Each conversation of a log as a session."""
    skipped: Counter[str] = Counter()
    messages: dict[str, _First] = {}
    earlier: dict[str, Any] = {}  # the messages up to each response, by its id
    chats = []
    for place, entry in foreign.objects(_entries(data), name, "entry"):
        chat = _chat(entry, place, messages, earlier, skipped)
        if chat.hashes:
            chats.append(chat)
        else:
            skipped["entry without a message"] += 1
    records: list[Record] = []
    steps = _first_steps(chats)
    for chat in _longest(chats, skipped):
        records += _records(chat, _session_id(chat, steps), messages)
    return Conversion(records=records, skipped=+skipped)


def _entries(data: Any) -> list[Any]:
    """The entries of a log; a list of messages is one."""
    given = data if isinstance(data, list) else [data]
    if given and isinstance(given[0], dict) and "role" in given[0]:
        return [{"messages": given}]
    return [{"messages": one} if isinstance(one, list) else one for one in given]


def _chat(
    entry: dict[str, Any], place: str, messages: dict[str, _First], earlier: dict[str, Any], skipped: Counter[str]
) -> _Chat:
    exchange = request_shapes.read(entry, place, earlier, skipped)
    request, response = exchange.request, exchange.response
    places = [entry, request, entry.get("metadata"), request.get("metadata")]
    session_id, user_id = _first_id(places, _SESSIONS), _first_id(places, _USERS)
    times = (part[name] for part in (response, entry, request) for name in _TIMES if part.get(name) is not None)
    at = foreign.timestamp(next(times, None), f"{place}: time")
    roles, hashes = [], []
    before = content_hash(session_id, user_id)
    raws = [*exchange.sent, *exchange.reply]
    for index, (where, raw) in enumerate(foreign.objects(raws, place, "message"), 1):
        message = _check_message(raw, where)
        if message is None:
            skipped["empty"] += 1
            continue
        before = content_hash(before, [message.get(key) for key in _CONTENT_KEYS])
        model = _first_id([response, request], ("model",)) if index > len(exchange.sent) else None
        own = foreign.timestamp(raw.get("created_at", raw.get("timestamp")), f"{where}: created_at")
        messages.setdefault(before, _First(message, own or at, identifier(raw.get("model")) or model))
        roles.append(message["role"])
        hashes.append(before)
    return _Chat(session_id, user_id, roles, hashes)


def _first_id(places: Sequence[Any], names: Sequence[str]) -> str | None:
    values = (one.get(name) for one in places if isinstance(one, dict) for name in names)
    return next((found for value in values if (found := identifier(value)) is not None), None)


def _check_message(raw: dict[str, Any], where: str) -> dict[str, Any] | None:
    """A message without null and empty fields, which only replies have; None if it has no content."""
    role, content = raw.get("role"), raw.get("content")
    if role not in (*ROLES, "function"):
        raise InputError(f"{where} has role {role!r:.80}; a role is one of {list(ROLES)}")
    if not isinstance(content, str | list | None):
        raise InputError(f"{where} has {json_kind(content)} as content; it must be text or a list of parts")
    fields = {key: value for key, value in raw.items() if value not in (None, [], {}) and key != "content"}
    if content is None and not fields.keys() & {"tool_calls", "function_call", "refusal", "audio"}:
        return None
    return {**fields, "content": content}


# conversations


def _longest(chats: Sequence[_Chat], skipped: Counter[str]) -> Iterator[_Chat]:
    """Chats without those that are the beginning of another, or the same."""
    earlier = {one for chat in chats for one in chat.hashes[:-1]}
    for chat in chats:
        if chat.hashes[-1] in earlier:
            skipped["entry whose messages are all in another"] += 1
            continue
        earlier.add(chat.hashes[-1])
        yield chat


def _first_steps(chats: Sequence[_Chat]) -> set[tuple[str, str]]:
    """Steps from a message to the first one that came after it; any other step there begins another session."""
    first: dict[str, str] = {}
    for chat in chats:
        for before, after in chat.steps:
            first.setdefault(before, after)
    return set(first.items())


def _session_id(chat: _Chat, first_steps: set[tuple[str, str]]) -> str:
    """The log's own id, or the hash at the user's first message; and the hash where it left another session, if it did.

    Neither changes when the log grows.
    """
    branch = max((index for index, step in enumerate(chat.steps) if step not in first_steps), default=-1)
    if chat.session_id is not None:
        return chat.session_id if branch < 0 else join_id(chat.session_id, f"chat-{chat.hashes[branch]}")
    begin = chat.roles.index("user") if "user" in chat.roles else 0
    return f"chat-{chat.hashes[max(branch, begin)]}"


def _records(chat: _Chat, session_id: str, messages: dict[str, _First]) -> Iterator[Record]:
    yield {"type": "session", "id": session_id, **({"user_id": chat.user_id} if chat.user_id else {})}
    calls = Calls()
    for key in chat.hashes:
        first = messages[key]
        metadata = dict(foreign.object_at(first.message, "metadata"))
        if "weight" in first.message:  # of a fine-tuning file; no chat API takes it
            metadata["weight"] = first.message["weight"]
        at = None if first.at is None else first.at.isoformat()
        body = _body(first.message, key, calls)
        yield message_record(session_id, join_id(session_id, key), body, at, metadata, first.model)


def _body(message: dict[str, Any], key: str, calls: Calls) -> dict[str, Any]:
    """A message as chat APIs have it now: a function call is a tool call, and a result names its call."""
    body = {name: value for name, value in message.items() if name not in _ENVELOPE}
    if body["role"] == "user":
        calls.clear()
    function = body.get("function_call")
    if body["role"] == "assistant" and isinstance(function, dict) and "tool_calls" not in body:
        del body["function_call"]
        body["tool_calls"] = [call(str(function.get("name")), str(function.get("arguments", "")), key)]
    tool_calls = body.get("tool_calls")
    for one in tool_calls if isinstance(tool_calls, list) else []:
        if isinstance(one, dict) and isinstance(one.get("function"), dict) and isinstance(one.get("id"), str):
            calls.add(str(one["function"].get("name")), one["id"])
    if body["role"] == "function":
        body["role"] = "tool"
    if body["role"] == "tool" and not isinstance(body.get("tool_call_id"), str):
        body["tool_call_id"] = calls.match(identifier(body.get("name")), call_id(key))
    return body
