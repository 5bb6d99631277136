"""Transcripts of Claude Code (`~/.claude/projects/**/*.jsonl`): one event on each line."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import call, call_id, identifier, join_id, object_at
from lamina.formats.json_lines import Conversion, Record, message_record

_SAID = ("user", "assistant")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}  # the first is worth most
_KEYS = ({"sessionId"}, {"leafUuid"}, {"messageId", "snapshot"})
# What the program writes in the user's name.
_WRITTEN = re.compile(
    r"\s*(?:<(?:command-name|command-message|command-args|local-command-stdout|local-command-stderr|"
    r"local-command-caveat|system-reminder|user-memory-input|bash-input|bash-stdout|bash-stderr|task-notification)>"
    r"|Caveat: The messages below were generated|\[Request interrupted by user|API Error:)"
)


def is_event(first: dict[str, Any]) -> bool:
    """Whether a line is one of a transcript."""
    return isinstance(first.get("type"), str) and any(keys <= first.keys() for keys in _KEYS) and "role" not in first


def convert(data: Any, name: str) -> Conversion:
    """The sessions of a transcript: what was said, tool calls with their results; not what ran beside it."""
    skipped: Counter[str] = Counter()
    sessions: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for place, event in foreign.objects(data, name, "line"):
        if event.get("type") in _SAID and (reason := _skip_reason(event)):
            skipped[reason] += 1
        elif event.get("type") in _SAID:
            session_id = identifier(event.get("sessionId")) or f"claude-code-{name}"
            sessions.setdefault(session_id, []).append((place, event))
    records: list[Record] = []
    for session_id, events in sessions.items():
        messages = _messages(session_id, events, skipped)
        if messages:
            records += [{"type": "session", "id": session_id, **_title(data, session_id, messages, skipped)}, *messages]
    return Conversion(records=records, skipped=+skipped)


def _skip_reason(event: dict[str, Any]) -> str | None:
    if event.get("isSidechain"):
        return "message of a subagent"
    if event.get("isMeta") or event.get("isApiErrorMessage") or event.get("isCompactSummary"):
        return "hidden"
    content = object_at(event, "message").get("content")
    if isinstance(content, list) and len(content) == 1 and object_at({"one": content[0]}, "one").get("type") == "text":
        content = content[0].get("text")
    return "hidden" if isinstance(content, str) and _WRITTEN.match(content) else None


def _title(data: Any, session_id: str, messages: Sequence[Record], skipped: Counter[str]) -> dict[str, str]:
    """What the session was called; else the first words of the user."""
    events = [one for one in data if isinstance(one, dict)]
    own = {one.get("uuid") for one in events if one.get("sessionId") == session_id}
    for kind, key in _TITLES.items():
        for event in reversed(events):
            mine = event.get("sessionId", session_id) == session_id and event.get("leafUuid") in {None, *own}
            if event.get("type") == kind and mine and (found := foreign.title(event.get(key), skipped)):
                return found
    return foreign.first_words(messages, skipped)


def _messages(session_id: str, events: Sequence[tuple[str, dict[str, Any]]], skipped: Counter[str]) -> list[Record]:
    found: list[Record] = []
    answer: str | None = None  # whose blocks come one by one
    calls: dict[str, str] = {}
    for place, event in events:
        message = object_at(event, "message")
        at = foreign.timestamp(event.get("timestamp"), f"{place}: timestamp")
        model = identifier(message.get("model")) if event["type"] == "assistant" else None
        same = event["type"] == "assistant" and message.get("id") is not None and message.get("id") == answer
        answer = message.get("id") if event["type"] == "assistant" else None
        base = join_id(session_id, identifier(event.get("uuid")) or place)
        for number, body in enumerate(_bodies(event["type"], message.get("content"), base, calls, skipped)):
            if same and found and found[-1]["role"] == body["role"] == "assistant":
                _join(found[-1], body)
                continue
            message_id = base if number == 0 else join_id(base, str(number))
            metadata = {"cwd": event["cwd"]} if not found and isinstance(event.get("cwd"), str) else None
            stamp = None if at is None else at.isoformat()
            found.append(message_record(session_id, message_id, body, stamp, metadata, model))
            same = event["type"] == "assistant"
    return found


def _join(record: Record, body: dict[str, Any]) -> None:
    """Add what an answer goes on with to what was read of it."""
    if body.get("content"):
        record["content"] = "\n\n".join(filter(None, (record.get("content"), body["content"])))
    if body.get("tool_calls"):
        record["tool_calls"] = [*record.get("tool_calls", []), *body["tool_calls"]]


def _bodies(
    role: str, content: Any, base: str, calls: dict[str, str], skipped: Counter[str]
) -> Iterator[dict[str, Any]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    texts: list[str] = []
    for number, block in enumerate(content if isinstance(content, list) else []):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            if not _WRITTEN.match(block["text"]):
                texts.append(block["text"])
        elif kind == "tool_use":
            yield _call(block, f"{base}-{number}", calls, skipped)
        elif kind == "tool_result":
            text = foreign.clean_text(foreign.shorten(foreign.block_text(block.get("content")), skipped), skipped)
            answered = calls.get(str(block.get("tool_use_id")))
            if answered is None:
                skipped["tool result without its call"] += 1
            else:
                yield {"role": "tool", "content": text, "tool_call_id": answered}
        elif kind == "image":
            texts.append("[image]")
        else:
            skipped["reasoning" if kind in {"thinking", "redacted_thinking"} else f"content of type {kind!r:.40}"] += 1
    text = foreign.clean_text("\n".join(texts), skipped)
    if text.strip():
        yield {"role": role, "content": text}


def _call(block: dict[str, Any], place: str, calls: dict[str, str], skipped: Counter[str]) -> dict[str, Any]:
    name = block.get("name")
    arguments = foreign.clean_text(json.dumps(block.get("input") or {}, ensure_ascii=False), skipped)
    calls[str(block.get("id"))] = call_id(place)
    made = call(name if isinstance(name, str) and name else "tool", arguments, place)
    return {"role": "assistant", "content": None, "tool_calls": [made]}
