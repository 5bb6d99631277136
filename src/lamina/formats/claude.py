"""Conversations of a Claude.ai data export (`conversations.json` with `chat_messages`)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import call, call_id, identifier, join_id, object_at
from lamina.formats.json_lines import Record, message_record
from lamina.values.codec import json_kind

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_REASONING = ("thinking", "redacted_thinking", "token_budget", "flag")
_ATTACHMENT = "open_attachment"
_Message = Mapping[str, Any]


def conversation(data: dict[str, Any], place: str, skipped: Counter[str]) -> list[Record]:
    """A conversation as a session; what was not visible at its end is left out and counted."""
    messages = data.get("chat_messages")
    if not isinstance(messages, list):
        raise InputError(f"{place} has no list of chat_messages, but {json_kind(messages)}")
    session_id = identifier(data.get("uuid")) or f"claude-{foreign.content_hash(data.get('created_at'), messages[:1])}"
    place = f"{place} ({session_id})"
    listed = [foreign.require_object(one, f"{place}, message {number}") for number, one in enumerate(messages, 1)]
    visible = _visible(listed, data.get("current_leaf_message_uuid"))
    skipped["on another branch"] += len(listed) - len(visible)
    records = [record for number, one in visible for record in _records(one, number, session_id, place, skipped)]
    if not records:
        skipped["conversation without a message"] += 1
        return []
    title = foreign.title(data.get("name"), skipped) or foreign.first_words(records, skipped)
    return [{"type": "session", "id": session_id, **title}, *records]


def _visible(messages: list[dict[str, Any]], leaf: Any) -> list[tuple[int, dict[str, Any]]]:
    """The messages up to the one that was shown last, numbered; all of them where none names the one before it."""
    numbered = list(enumerate(messages, 1))
    by_id = {one.get("uuid"): (number, one) for number, one in numbered if isinstance(one.get("uuid"), str)}
    if not any(one.get("parent_message_uuid") in by_id for one in messages):
        return numbered
    at = leaf if leaf in by_id else messages[-1].get("uuid")
    path: dict[str, tuple[int, dict[str, Any]]] = {}
    while isinstance(at, str) and at in by_id and at not in path:
        path[at] = by_id[at]
        at = by_id[at][1].get("parent_message_uuid")
    return [*path.values()][::-1]


def _records(
    message: dict[str, Any], number: int, session_id: str, place: str, skipped: Counter[str]
) -> Iterator[Record]:
    """A message, its tool calls with their results, and the files that came with it."""
    place = f"{place}, message {number}"
    sender = message.get("sender")
    if sender not in _ROLES:
        skipped[f"sender {sender!r:.40}"] += 1
        return
    at = foreign.timestamp(message.get("created_at"), f"{place}: created_at")
    base = join_id(session_id, identifier(message.get("uuid")) or str(number))
    found = [*_bodies(message, _ROLES[sender], base, place, skipped)]
    if not found:
        skipped["empty"] += 1
    for index, body in enumerate(found):
        message_id = base if index == 0 else join_id(base, str(index))
        metadata = {"files": message["files"]} if index == 0 and message.get("files") else None
        yield message_record(session_id, message_id, body, None if at is None else at.isoformat(), metadata)


def _bodies(message: _Message, role: str, base: str, place: str, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    text: list[str] = []
    blocks = message.get("content")
    called: list[str] = []
    for raw in blocks if isinstance(blocks, list) else []:
        block = foreign.require_object(raw, f"{place}: content")
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            text.append(block["text"])
        elif kind in _REASONING:
            skipped["reasoning"] += kind in _REASONING[:2]
        elif kind in ("tool_use", "tool_result"):
            yield from _spoken(role, text, skipped)
            text = []
            yield from _tool(block, f"{base}-{len(called)}", called, skipped)
        else:
            skipped[f"content of type {kind!r:.40}"] += 1
    if not text and not called and isinstance(message.get("text"), str):
        text = [message["text"]]
    marks = [f"[file: {name}]" for name in map(_file_name, message.get("files") or []) if name]
    yield from _spoken(role, [*text, *marks], skipped)
    yield from _attachments(message.get("attachments"), base, skipped)


def _spoken(role: str, text: list[str], skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    joined = foreign.clean_text("\n".join(text), skipped)
    if joined.strip():
        yield {"role": role, "content": joined}


def _tool(block: _Message, place: str, called: list[str], skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """A call, or the result of the last one; a result without a call is left out."""
    if block["type"] == "tool_use":
        given = block.get("input")
        arguments = foreign.clean_text(json.dumps({} if given is None else given, ensure_ascii=False), skipped)
        called.append(call_id(place))
        yield {"role": "assistant", "content": None, "tool_calls": [call(_name(block), arguments, place)]}
    elif called:
        text = foreign.shorten(foreign.block_text(block.get("content")), skipped)
        yield {"role": "tool", "content": foreign.clean_text(text, skipped), "tool_call_id": called[-1]}
    else:
        skipped["tool result without its call"] += 1


def _attachments(attachments: Any, base: str, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """The text of a file as the result of opening it: found by a search, but nobody said it."""
    for number, one in enumerate(attachments if isinstance(attachments, list) else []):
        text = object_at({"one": one}, "one").get("extracted_content")
        if not isinstance(text, str) or not text.strip():
            skipped["attachment without text"] += 1
            continue
        place = f"{base}-attachment-{number}"
        name = json.dumps({"file_name": _file_name(one) or "pasted text"}, ensure_ascii=False)
        opened = call(_ATTACHMENT, foreign.clean_text(name, skipped), place)
        yield {"role": "assistant", "content": None, "tool_calls": [opened]}
        text = foreign.clean_text(foreign.shorten(text, skipped), skipped)
        yield {"role": "tool", "content": text, "tool_call_id": opened["id"]}


def _name(block: _Message) -> str:
    name = block.get("name")
    return name if isinstance(name, str) and name else "tool"


def _file_name(file: Any) -> str | None:
    return identifier(file.get("file_name")) if isinstance(file, dict) else None
