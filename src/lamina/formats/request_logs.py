"""Logs of chat requests and replies, fine-tuning files, and plain lists of chat messages.

A log repeats the conversation with each request. So each message is known by all that was said up to it: a request
whose messages all come in a longer one is that conversation, seen earlier, and is not taken twice. The ids follow from
what was said; importing a log again after it has grown adds only what is new.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from lamina.errors import InputError
from lamina.formats.foreign_values import Calls, call, call_id, digest, identifier, item, joined, moment
from lamina.formats.lines import Converted, Record, laid_out
from lamina.values.codec import json_kind
from lamina.values.message import ROLES

_ENVELOPE = frozenset({"id", "created_at", "timestamp", "model", "metadata", "weight"})
_SAYS = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_SESSIONS = ("session_id", "conversation_id", "thread_id", "chat_id")
_USERS = ("user_id", "user")
_TIMES = ("created", "created_at", "timestamp", "time")
_SHAPES = "'messages', 'request', 'body', or role and content"


@dataclass(frozen=True, slots=True)
class _Chat:
    """One entry of a log: who says what, each message with the mark of all that was said up to it."""

    session_id: str | None
    user_id: str | None
    roles: Sequence[str]
    marks: Sequence[str]

    @property
    def steps(self) -> list[tuple[str, str]]:
        return list(pairwise([f"session {self.session_id}", *self.marks]))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A message as it was seen first; a reply may have more fields than later requests repeat."""

    said: dict[str, Any]
    at: datetime | None
    model: str | None


def converted(data: Any, name: str) -> Converted:
    """Each conversation of a log as a session."""
    skipped: Counter[str] = Counter()
    seen: dict[str, _Seen] = {}
    chats = []
    for number, entry in enumerate(_entries(data, name), 1):
        chat = _chat(entry, f"{name}, entry {number}", seen, skipped)
        if chat.marks:
            chats.append(chat)
        else:
            skipped["entry without a message"] += 1
    records: list[Record] = []
    continued = _continued(chats)
    for chat in _longest(chats, skipped):
        records += _records(chat, _session_id(chat, continued), seen)
    return Converted(records=records, skipped=+skipped)


def _entries(data: Any, name: str) -> list[dict[str, Any]]:
    """The entries of a log; a list of messages is one."""
    given = data if isinstance(data, list) else [data]
    if given and isinstance(given[0], dict) and "role" in given[0]:
        return [{"messages": given}]
    entries = [{"messages": one} if isinstance(one, list) else one for one in given]
    return [item(one, f"{name}, entry {number}") for number, one in enumerate(entries, 1)]


def _chat(entry: dict[str, Any], place: str, seen: dict[str, _Seen], skipped: Counter[str]) -> _Chat:
    request, response = _request(entry, place), _response(entry)
    about = [entry, request, entry.get("metadata"), request.get("metadata")]
    session_id, user_id = _first(about, _SESSIONS), _first(about, _USERS)
    raws = request.get("messages")
    if not isinstance(raws, list):
        raise InputError(f"{place}: messages must be a list, not {json_kind(raws)}")
    reply = _reply(response, skipped)
    at = _time([response, entry, request], place)
    roles, marks = [], []
    mark = digest(session_id, user_id)
    for index, raw in enumerate([*raws, *reply], 1):
        where = f"{place}, message {index}"
        said = _checked(raw, where)
        if said is None:
            skipped["empty"] += 1
            continue
        mark = digest(mark, [said.get(key) for key in _SAYS])
        model = _first([response, request], ("model",)) if index > len(raws) else None
        own = moment(raw.get("created_at", raw.get("timestamp")), f"{where}: created_at")
        seen.setdefault(mark, _Seen(said, own or at, identifier(raw.get("model")) or model))
        roles.append(said["role"])
        marks.append(mark)
    return _Chat(session_id, user_id, roles, marks)


def _request(entry: dict[str, Any], place: str) -> dict[str, Any]:
    """The part of an entry that has the messages."""
    for held in (entry, entry.get("request"), entry.get("body")):
        for inner in (held, held.get("body") if isinstance(held, dict) else None):
            if isinstance(inner, dict) and "messages" in inner:
                return inner
    raise InputError(f"{place} has no messages; an entry has {_SHAPES}")


def _response(entry: dict[str, Any]) -> dict[str, Any]:
    """The part of an entry that has the reply, if there is one."""
    response = entry.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    found = next((held for held in (body, response, entry) if isinstance(held, dict) and "choices" in held), {})
    return dict(found)


def _reply(response: dict[str, Any], skipped: Counter[str]) -> list[Any]:
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices:
        return []
    skipped["another choice of reply"] += len(choices) - 1
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    return [] if message is None else [message]


def _first(held: Sequence[Any], names: Sequence[str]) -> str | None:
    values = (one.get(name) for one in held if isinstance(one, dict) for name in names)
    return next((found for value in values if (found := identifier(value)) is not None), None)


def _time(held: Sequence[dict[str, Any]], place: str) -> datetime | None:
    value = next((one[name] for one in held for name in _TIMES if one.get(name) is not None), None)
    return moment(value, f"{place}: time")


def _checked(raw: Any, where: str) -> dict[str, Any] | None:
    """A message without what is null or empty, which only replies have; None if it says nothing."""
    raw = item(raw, where)
    role, content = raw.get("role"), raw.get("content")
    if role not in (*ROLES, "function"):
        raise InputError(f"{where} has role {role!r:.80}; a role is one of {list(ROLES)}")
    if not isinstance(content, str | list | None):
        raise InputError(f"{where} has {json_kind(content)} as content; it must be text or a list of parts")
    said = {key: value for key, value in raw.items() if value not in (None, [], {}) and key != "content"}
    tells = content is not None or any(key in said for key in ("tool_calls", "function_call", "refusal", "audio"))
    return {**said, "content": content} if tells else None


# conversations


def _longest(chats: Sequence[_Chat], skipped: Counter[str]) -> Iterator[_Chat]:
    """Chats without those that are the beginning of another, or the same."""
    begun = {mark for chat in chats for mark in chat.marks[:-1]}
    for chat in chats:
        if chat.marks[-1] in begun:
            skipped["entry whose messages are all in another"] += 1
            continue
        begun.add(chat.marks[-1])
        yield chat


def _continued(chats: Sequence[_Chat]) -> set[tuple[str, str]]:
    """Steps from a message to the one that first came after it; any other step there leaves for another session."""
    first: dict[str, str] = {}
    for chat in chats:
        for before, mark in chat.steps:
            first.setdefault(before, mark)
    return set(first.items())


def _session_id(chat: _Chat, continued: set[tuple[str, str]]) -> str:
    """The log's own id, or the mark of the user's first words; and the mark where it left another session, if it did.

    Neither changes when the log grows.
    """
    left = max((index for index, step in enumerate(chat.steps) if step not in continued), default=-1)
    if chat.session_id is not None:
        return chat.session_id if left < 0 else joined(chat.session_id, f"chat-{chat.marks[left]}")
    begins = chat.roles.index("user") if "user" in chat.roles else 0
    return f"chat-{chat.marks[max(left, begins)]}"


def _records(chat: _Chat, session_id: str, seen: dict[str, _Seen]) -> Iterator[Record]:
    yield {"type": "session", "id": session_id, **({"user_id": chat.user_id} if chat.user_id else {})}
    calls = Calls()
    for mark in chat.marks:
        first = seen[mark]
        said, metadata = first.said, first.said.get("metadata")
        kept = dict(metadata) if isinstance(metadata, dict) else {}
        if "weight" in said:  # of a fine-tuning file; no chat API takes it
            kept["weight"] = said["weight"]
        at = None if first.at is None else first.at.isoformat()
        yield laid_out(session_id, joined(session_id, mark), _body(said, mark, calls), at, kept, first.model)


def _body(said: dict[str, Any], mark: str, calls: Calls) -> dict[str, Any]:
    """A message as chat APIs have it now: a function call is a tool call, and a result says which call it answers."""
    body = {key: value for key, value in said.items() if key not in _ENVELOPE}
    if body["role"] == "user":
        calls.forget()
    function = body.get("function_call")
    if body["role"] == "assistant" and isinstance(function, dict) and "tool_calls" not in body:
        del body["function_call"]
        body["tool_calls"] = [call(str(function.get("name")), str(function.get("arguments", "")), mark)]
    for name, made in _made(body):
        calls.make(name, made)
    if body["role"] == "function":
        body["role"] = "tool"
    if body["role"] == "tool" and not isinstance(body.get("tool_call_id"), str):
        body["tool_call_id"] = calls.answered(identifier(body.get("name")), call_id(mark))
    return body


def _made(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and ids of the tool calls in a message."""
    calls = body.get("tool_calls")
    for one in calls if isinstance(calls, list) else []:
        function = one.get("function") if isinstance(one, dict) else None
        if isinstance(function, dict) and isinstance(one.get("id"), str):
            yield str(function.get("name")), one["id"]
