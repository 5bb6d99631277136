"""Conversations in the form of ShareGPT: `from` and `value`."""

import json
from collections import Counter
from typing import Any

from lamina.errors import InputError
from lamina.formats import foreign_values as foreign
from lamina.formats.foreign_values import Calls, call, call_id, join_id
from lamina.formats.json_lines import Conversion, Record, message_record
from lamina.values.codec import json_kind

LISTS = ("conversations", "conversation", "messages")
_CALL = "function_call"
_SPEAKERS = {
    "user": ("human", "user"),
    "assistant": ("gpt", "chatgpt", "assistant", "model", "bot", "bing", "bard", _CALL),
    "system": ("system",),
    "tool": ("tool", "observation", "function_response"),
}
_ROLES = {speaker: role for role, speakers in _SPEAKERS.items() for speaker in speakers}


def convert(data: Any, name: str) -> Conversion:
    """Each conversation as a session, under its own id or a hash of its content."""
    skipped: Counter[str] = Counter()
    records: list[Record] = []
    used: set[str] = set()
    for place, conversation in foreign.objects(data, name, "conversation"):
        raw = _raw_messages(conversation, place)
        session_id = _session_id(conversation, name, foreign.content_hash(raw), used)
        if session_id is None:
            skipped["the same conversation again"] += 1
            continue
        messages = _messages(raw, session_id, place, skipped)
        if not messages:
            skipped["conversation without a message"] += 1
            continue
        skipped["description of tools"] += bool(conversation.get("tools"))
        records += [{"type": "session", "id": session_id}, *messages]
    return Conversion(records=records, skipped=+skipped)


def _session_id(conversation: dict[str, Any], name: str, content: str, used: set[str]) -> str | None:
    """The conversation's own id. A number counts in its file only; a second conversation of an id gets a hash, too."""
    given = conversation.get("id")
    own = foreign.identifier(given)
    base = f"sharegpt-{content}" if own is None else join_id(name, own) if isinstance(given, int) else own
    for candidate in (base, join_id(base, content)):
        if candidate not in used:
            used |= {candidate, join_id(base, content)}
            return candidate
    return None


def _raw_messages(conversation: dict[str, Any], place: str) -> list[Any]:
    found = next((conversation[key] for key in LISTS if key in conversation), None)
    if not isinstance(found, list):
        raise InputError(f"{place} has no list of messages; it is expected under one of {list(LISTS)}")
    system = conversation.get("system")
    return [{"from": "system", "value": system}, *found] if isinstance(system, str) and system.strip() else found


def _messages(raw: list[Any], session_id: str, place: str, skipped: Counter[str]) -> list[Record]:
    calls = Calls()
    records = []
    for number, (where, message) in enumerate(foreign.objects(raw, place, "message"), 1):
        speaker, value = _speaker_and_value(message, where)
        message_id = join_id(session_id, str(number))
        body = _body(speaker, foreign.clean_text(value, skipped), message_id, calls)
        if not value.strip() and body["role"] != "tool":
            skipped["empty"] += 1
            continue
        records.append(message_record(session_id, message_id, body, None))
    return records


def _speaker_and_value(message: dict[str, Any], where: str) -> tuple[str, str]:
    speaker, value = message.get("from", message.get("role")), message.get("value", message.get("content"))
    if not isinstance(speaker, str) or speaker.lower() not in _ROLES:
        raise InputError(f"{where} is from {speaker!r:.80}; a speaker is one of {list(_ROLES)}")
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        raise InputError(f"{where} has {json_kind(value)} as its value; it must be text")
    return speaker.lower(), value


def _body(speaker: str, value: str, message_id: str, calls: Calls) -> dict[str, Any]:
    role = _ROLES[speaker]
    if role == "user":
        calls.clear()
    if speaker == _CALL:
        found = [call(*one, f"{message_id}-{number}") for number, one in enumerate(_parse_calls(value), 1)]
        for one in found:
            calls.add(one["function"]["name"], one["id"])
        return {"role": role, "content": None, "tool_calls": found}
    body = {"role": role, "content": value}
    return body | {"tool_call_id": calls.match(None, call_id(message_id))} if role == "tool" else body


def _parse_calls(value: str) -> list[tuple[str, str]]:
    """Names and arguments in a function call's text, which is JSON; other text is the arguments of one call."""
    try:
        given = json.loads(value)
    except (ValueError, RecursionError):
        return [("function", value)]
    calls = given if isinstance(given, list) else [given]
    if not calls or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in calls):
        return [("function", value)]
    arguments = [one.get("arguments", {}) for one in calls]
    texts = [given if isinstance(given, str) else json.dumps(given, ensure_ascii=False) for given in arguments]
    return [(one["name"], text) for one, text in zip(calls, texts, strict=True)]
