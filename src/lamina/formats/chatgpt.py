"""Conversations of a ChatGPT data export (`conversations.json`): trees, of which the visible path is read."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import Calls, call, call_id, identifier, join_id, object_at
from lamina.formats.json_lines import Record, message_record
from lamina.values.codec import json_kind

_ROLES = ("system", "user", "assistant", "tool")
_REASONING = ("thoughts", "reasoning_recap")
_CONTEXT = ("user_editable_context", "model_editable_context")
_TEXT_TYPES = ("text", "multimodal_text", "code", "execution_output", None)
_TO_ALL = "all"
_TRANSCRIPTION = "audio_transcription"
_CITATION = re.compile("[ ]?\ue200[^\ue200\ue201]*\ue201")  # marks that the page shows as links
_Mapping = dict[str, dict[str, Any]]


@dataclass(slots=True)
class _Reader:
    """One conversation while it is read."""

    session_id: str
    place: str
    skipped: Counter[str]
    at: datetime | None  # time of the newest message, for messages without a time
    calls: Calls = field(default_factory=Calls)


def conversation(conversation: dict[str, Any], place: str, skipped: Counter[str]) -> list[Record]:
    """A conversation as a session; what was not visible at its end is left out and counted."""
    mapping = _mapping(conversation, place)
    path = _path(mapping, conversation.get("current_node"), place)
    visible = set(path)
    skipped["on another branch"] += sum(
        bool(node.get("message")) for key, node in mapping.items() if key not in visible
    )
    session_id = identifier(conversation.get("conversation_id")) or identifier(conversation.get("id"))
    session_id = session_id or f"chatgpt-{foreign.content_hash(conversation.get('create_time'), path[:2])}"
    at = foreign.timestamp(conversation.get("create_time"), f"{place}: create_time")
    reader = _Reader(session_id, f"{place} ({session_id})", skipped, at)
    messages = [found for key in path if (found := _message(mapping[key].get("message"), key, reader))]
    if not messages:
        skipped["conversation without a message"] += 1
        return []
    title = foreign.title(conversation.get("title"), skipped) or foreign.first_words(messages, skipped)
    return [{"type": "session", "id": session_id, **title}, *messages]


def _mapping(conversation: dict[str, Any], place: str) -> _Mapping:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise InputError(f"{place} has no mapping of messages; a ChatGPT export has one in each conversation")
    return {key: foreign.require_object(node, f"{place}, node {key!r}") for key, node in mapping.items()}


def _path(mapping: _Mapping, current: Any, place: str) -> list[str]:
    """Node ids from the root to the current one."""
    key = current if isinstance(current, str) and current in mapping else _newest(mapping)
    path: dict[str, None] = {}  # in order
    while isinstance(key, str) and key in mapping:
        if key in path:
            raise InputError(f"{place}, node {key!r} comes before itself; the parents go in a circle")
        path[key] = None
        key = mapping[key].get("parent")
    return [*path][::-1]


def _newest(mapping: _Mapping) -> str | None:
    """The leaf with the newest message, for a conversation without a current node."""

    def seconds(key: str) -> float:
        at = object_at(mapping[key], "message").get("create_time")
        return at if isinstance(at, int | float) else 0.0

    return max((key for key, node in mapping.items() if not node.get("children")), key=seconds, default=None)


def _message(message: Any, key: str, reader: _Reader) -> Record | None:
    if message is None:
        return None
    place = f"{reader.place}, node {key!r}"
    message = foreign.require_object(message, f"{place}: message")
    content = foreign.require_object(message.get("content") or {}, f"{place}: content")
    reader.at = foreign.timestamp(message.get("create_time"), f"{place}: create_time") or reader.at
    text, attachments = _text(content, place, reader.skipped)
    if (reason := _skip_reason(message, content, text)) is not None:
        reader.skipped[reason] += 1
        return None
    message_id = join_id(reader.session_id, key)
    body = _body(message, text, message_id, reader.calls)
    metadata = object_at(message, "metadata")
    model = metadata.get("model_slug") if body["role"] == "assistant" else None
    extra = {"parts": attachments, "attachments": metadata.get("attachments")}
    return message_record(
        reader.session_id,
        message_id,
        body,
        None if reader.at is None else reader.at.isoformat(),
        {name: value for name, value in extra.items() if value},
        identifier(model),
    )


def _skip_reason(message: dict[str, Any], content: dict[str, Any], text: str) -> str | None:
    """Why a message is no part of the visible conversation, if so."""
    kind = content.get("content_type")
    if message.get("weight") == 0:
        return "of weight 0"
    if object_at(message, "metadata").get("is_visually_hidden_from_conversation") or kind in _CONTEXT:
        return "hidden"
    if kind in _REASONING:
        return "reasoning"
    role = object_at(message, "author").get("role")
    if role not in _ROLES:
        return f"role {role!r}"
    if text.strip():
        return None
    return "empty" if kind in _TEXT_TYPES else f"content of type {kind!r}"


def _body(message: dict[str, Any], text: str, message_id: str, calls: Calls) -> dict[str, Any]:
    author = object_at(message, "author")
    role, name, recipient = author["role"], author.get("name"), message.get("recipient")
    if role == "user":
        calls.clear()
    if role == "assistant" and isinstance(recipient, str) and recipient != _TO_ALL:
        calls.add(recipient, call_id(message_id))
        return {"role": role, "content": None, "tool_calls": [call(recipient, text, message_id)]}
    body = {"role": role, "content": text}
    if isinstance(name, str) and name:
        body["name"] = name
    if role == "tool":
        body["tool_call_id"] = calls.match(body.get("name"), call_id(message_id))
    return body


def _text(content: dict[str, Any], place: str, skipped: Counter[str]) -> tuple[str, list[Any]]:
    """The text of a message, and the parts that are none: pictures, recordings, files."""
    parts = content.get("parts")
    if parts is None:
        single = [content.get(name) for name in ("title", "url", "text", "result", "content")]
        parts = [value for value in single if isinstance(value, str) and value]
    if not isinstance(parts, list):
        raise InputError(f"{place}: parts must be a list, not {json_kind(parts)}")
    attachments = [part for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str)]
    is_spoken = any(isinstance(part, dict) and part.get("content_type") == _TRANSCRIPTION for part in parts)
    texts = [_part(part, place) for part in parts if part is not None and not (is_spoken and _is_recording(part))]
    joined = _CITATION.sub("", "\n".join(text for text in texts if text)).rstrip()
    return foreign.clean_text(joined, skipped), attachments


def _is_recording(part: Any) -> bool:
    """Whether a part is the sound of words that another part has as text."""
    return isinstance(part, dict) and "audio" in str(part.get("content_type")) and "text" not in part


def _part(part: Any, place: str) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise InputError(f"{place}: a part must be text or an object, not {json_kind(part)}")
    if isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("content_type") or ("image" if "asset_pointer" in part else "part"))
    return f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"
