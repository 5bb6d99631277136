"""Rollouts of the Codex command line (`~/.codex/sessions/**/rollout-*.jsonl`): one item on each line."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import call, call_id, identifier, join_id, object_at
from lamina.formats.json_lines import Conversion, Record, message_record

_ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
# What the program writes in the user's name.
_WRITTEN = re.compile(r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted)|# AGENTS\.md instr)")


def is_item(first: dict[str, Any]) -> bool:
    """Whether a line is one of a rollout; before 2025-09 the items had no envelope."""
    if first.get("type") in _ENVELOPES and "payload" in first:
        return True
    return {"id", "timestamp", "instructions"} <= first.keys() and "role" not in first


@dataclass(slots=True)
class _Reader:
    session_id: str
    skipped: Counter[str]
    model: str | None = None
    cwd: str | None = None
    calls: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


def convert(data: Any, name: str) -> Conversion:
    """The session of a rollout: what was said, and tool calls with their results."""
    skipped: Counter[str] = Counter()
    reader = _Reader(name.removesuffix(".jsonl"), skipped)
    for number, (place, line) in enumerate(foreign.objects(data, name, "line"), 1):
        kind = line.get("type")
        payload = object_at(line, "payload") if kind in _ENVELOPES else line
        if kind == "session_meta" or (kind is None and "instructions" in line):
            reader.session_id = identifier(payload.get("id")) or reader.session_id
            reader.cwd = identifier(payload.get("cwd"))
        elif kind == "turn_context":
            reader.model = identifier(payload.get("model")) or reader.model
        elif kind not in {"event_msg", "compacted"}:  # which tell the same again
            at = foreign.timestamp(line.get("timestamp"), f"{place}: timestamp")
            _read(reader, payload, number, None if at is None else at.isoformat())
    if not reader.records:
        return Conversion(records=[], skipped=+skipped)
    title = foreign.first_words(reader.records, skipped)
    return Conversion(
        records=[{"type": "session", "id": reader.session_id, **title}, *reader.records], skipped=+skipped
    )


def _read(reader: _Reader, item: Mapping[str, Any], number: int, at: str | None) -> None:
    kind, skipped = item.get("type"), reader.skipped
    message_id = join_id(reader.session_id, str(number))
    if kind == "message":
        body = _spoken(item, skipped)
    elif kind in _CALLS:
        given = item.get(_CALLS[kind])
        arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
        reader.calls[str(item.get("call_id"))] = call_id(message_id)
        made = call(identifier(item.get("name")) or "shell", foreign.clean_text(arguments, skipped), message_id)
        body = {"role": "assistant", "content": None, "tool_calls": [made]}
    elif kind in _RESULTS:
        body = _result(reader, item)
    else:
        skipped["reasoning" if kind == "reasoning" else f"item of type {kind!r:.40}"] += 1
        return
    if body is not None:
        model = reader.model if body["role"] == "assistant" else None
        metadata = {"cwd": reader.cwd} if reader.cwd and not reader.records else None
        reader.records.append(message_record(reader.session_id, message_id, body, at, metadata, model))


def _spoken(item: Mapping[str, Any], skipped: Counter[str]) -> dict[str, Any] | None:
    text = foreign.clean_text(foreign.block_text(item.get("content")), skipped)
    role = item.get("role")
    if role not in {"user", "assistant"} or _WRITTEN.match(text):
        skipped["hidden"] += 1
        return None
    if not text.strip():
        skipped["empty"] += 1
        return None
    return {"role": role, "content": text}


def _result(reader: _Reader, item: Mapping[str, Any]) -> dict[str, Any] | None:
    answered = reader.calls.get(str(item.get("call_id")))
    if answered is None:
        reader.skipped["tool result without its call"] += 1
        return None
    output = item.get("output")
    text = output.get("content") if isinstance(output, dict) else output
    text = foreign.shorten(foreign.block_text(text), reader.skipped)
    return {"role": "tool", "content": foreign.clean_text(text, reader.skipped), "tool_call_id": answered}
