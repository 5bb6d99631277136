"""Conversations of a ChatGPT data export (`conversations.json`): trees, of which the path that is shown is taken."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.formats.foreign_values import Calls, call, call_id, digest, identifier, item, joined, moment, text
from lamina.formats.lines import Converted, Record, laid_out
from lamina.values.codec import json_kind

_ROLES = ("system", "user", "assistant", "tool")
_REASONING = ("thoughts", "reasoning_recap")
_CONTEXT = ("user_editable_context", "model_editable_context")
_WORDED = ("text", "multimodal_text", "code", "execution_output", None)
_EVERYONE = "all"
_Mapping = dict[str, dict[str, Any]]


def converted(data: Any, name: str) -> Converted:
    """Each conversation as a session; what its owner did not see at the end is left out and counted."""
    skipped: Counter[str] = Counter()
    records: list[Record] = []
    for number, conversation in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{name}, conversation {number}"
        records += _conversation(item(conversation, place), place, skipped)
    return Converted(records=records, skipped=+skipped)


@dataclass(slots=True)
class _Reading:
    """One conversation while it is read."""

    session_id: str
    place: str
    skipped: Counter[str]
    at: datetime | None  # time of the newest message; one without a time has that
    calls: Calls = field(default_factory=Calls)


def _conversation(conversation: dict[str, Any], place: str, skipped: Counter[str]) -> list[Record]:
    mapping = _mapping(conversation, place)
    path = _path(mapping, conversation.get("current_node"), place)
    shown = set(path)
    skipped["on another branch"] += sum(1 for key, node in mapping.items() if node.get("message") and key not in shown)
    session_id = identifier(conversation.get("conversation_id")) or identifier(conversation.get("id"))
    session_id = session_id or f"chatgpt-{digest(conversation.get('create_time'), path[:2])}"
    at = moment(conversation.get("create_time"), f"{place}: create_time")
    reading = _Reading(session_id, f"{place} ({session_id})", skipped, at)
    said = [found for key in path if (found := _message(mapping[key].get("message"), key, reading))]
    if not said:
        skipped["conversation without a message"] += 1
        return []
    return [{"type": "session", "id": session_id}, *said, *_title(conversation, said, reading)]


def _mapping(conversation: dict[str, Any], place: str) -> _Mapping:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise InputError(f"{place} has no mapping of messages; a ChatGPT export has one in each conversation")
    return {key: item(node, f"{place}, node {key!r}") for key, node in mapping.items()}


def _path(mapping: _Mapping, current: Any, place: str) -> list[str]:
    """Node ids from the root to the current one."""
    key = current if isinstance(current, str) and current in mapping else _newest(mapping)
    path: list[str] = []
    seen: set[str] = set()
    while isinstance(key, str) and key in mapping:
        if key in seen:
            raise InputError(f"{place}, node {key!r} comes before itself; the parents go in a circle")
        seen.add(key)
        path.append(key)
        key = mapping[key].get("parent")
    return path[::-1]


def _newest(mapping: _Mapping) -> str | None:
    """Where no node is said to be current: the leaf with the newest message."""
    leaves = [(key, node) for key, node in mapping.items() if not node.get("children")]
    return max(leaves, key=lambda leaf: _seconds(leaf[1]), default=(None, {}))[0]


def _seconds(node: dict[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return at if isinstance(at, int | float) else 0.0


def _title(conversation: dict[str, Any], said: list[Record], reading: _Reading) -> Iterator[Record]:
    """The title as a milestone, since it may be changed later and a message may not."""
    title, at = conversation.get("title"), said[0].get("created_at")
    if not isinstance(title, str) or not title.strip():
        return
    if at is None:
        reading.skipped["title of a conversation without times"] += 1
        return
    turn = 1 if any(one["role"] == "user" for one in said) else 0
    milestone_id = joined(reading.session_id, "title")
    yield {
        "type": "milestone",
        "id": milestone_id,
        "session_id": reading.session_id,
        "turn": turn,
        "title": text(title, reading.skipped),
        "created_at": at,
    }


def _message(message: Any, key: str, reading: _Reading) -> Record | None:
    if message is None:
        return None
    place = f"{reading.place}, node {key!r}"
    message = item(message, f"{place}: message")
    content = item(message.get("content") or {}, f"{place}: content")
    reading.at = moment(message.get("create_time"), f"{place}: create_time") or reading.at
    words, others = _words(content, place, reading.skipped)
    if (reason := _left_out(message, content, words)) is not None:
        reading.skipped[reason] += 1
        return None
    message_id = joined(reading.session_id, key)
    body = _body(message, words, message_id, reading.calls)
    at = None if reading.at is None else reading.at.isoformat()
    about = _metadata(message)
    model = about.get("model_slug") if body["role"] == "assistant" else None
    kept = {"parts": others, "attachments": about.get("attachments")}
    metadata = {name: value for name, value in kept.items() if value}
    return laid_out(reading.session_id, message_id, body, at, metadata, identifier(model))


def _left_out(message: dict[str, Any], content: dict[str, Any], words: str) -> str | None:
    """Why a message is no part of what was said, if so."""
    kind = content.get("content_type")
    if message.get("weight") == 0:
        return "of weight 0"
    if _metadata(message).get("is_visually_hidden_from_conversation") or kind in _CONTEXT:
        return "hidden"
    if kind in _REASONING:
        return "reasoning"
    role = _author(message).get("role")
    if role not in _ROLES:
        return f"role {role!r}"
    if words.strip():
        return None
    return "empty" if kind in _WORDED else f"content of type {kind!r}"


def _body(message: dict[str, Any], words: str, message_id: str, calls: Calls) -> dict[str, Any]:
    author = _author(message)
    role, name, recipient = author["role"], author.get("name"), message.get("recipient")
    if role == "user":
        calls.forget()
    if role == "assistant" and isinstance(recipient, str) and recipient != _EVERYONE:
        calls.make(recipient, call_id(message_id))
        return {"role": role, "content": None, "tool_calls": [call(recipient, words, message_id)]}
    body = {"role": role, "content": words}
    if isinstance(name, str) and name:
        body["name"] = name
    if role == "tool":
        body["tool_call_id"] = calls.answered(body.get("name"), call_id(message_id))
    return body


def _words(content: dict[str, Any], place: str, skipped: Counter[str]) -> tuple[str, list[Any]]:
    """The words of a message, and the parts that are none: pictures, recordings, files."""
    parts = content.get("parts")
    if parts is None:
        single = [content.get(name) for name in ("title", "url", "text", "result", "content")]
        parts = [value for value in single if isinstance(value, str) and value]
    if not isinstance(parts, list):
        raise InputError(f"{place}: parts must be a list, not {json_kind(parts)}")
    others = [part for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str)]
    said = [_part(part, place) for part in parts if part is not None]
    return text("\n".join(piece for piece in said if piece), skipped), others


def _part(part: Any, place: str) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise InputError(f"{place}: a part must be text or an object, not {json_kind(part)}")
    if isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("content_type") or ("image" if "asset_pointer" in part else "part"))
    return f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"


def _author(message: dict[str, Any]) -> dict[str, Any]:
    author = message.get("author")
    return author if isinstance(author, dict) else {}


def _metadata(message: dict[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
