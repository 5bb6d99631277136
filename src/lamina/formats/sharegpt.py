"""Conversations in the form of ShareGPT: `from` and `value`."""

import json
from collections import Counter
from typing import Any

from lamina.errors import InputError
from lamina.formats.foreign_values import Calls, call, call_id, digest, identifier, item, joined, text
from lamina.formats.lines import Converted, Record, laid_out
from lamina.values.codec import json_kind

LISTS = ("conversations", "conversation", "messages")
_CALL = "function_call"
_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
    _CALL: "assistant",
}


def converted(data: Any, name: str) -> Converted:
    """Each conversation as a session, under its own id or a hash of what is said in it."""
    skipped: Counter[str] = Counter()
    records: list[Record] = []
    taken: set[str] = set()
    for number, given in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{name}, conversation {number}"
        conversation = item(given, place)
        spoken = _spoken(conversation, place)
        mark = digest(spoken)
        session_id = _session_id(conversation, name, mark, taken)
        if session_id is None:
            skipped["the same conversation again"] += 1
            continue
        said = _messages(spoken, session_id, place, skipped)
        if not said:
            skipped["conversation without a message"] += 1
            continue
        skipped["description of tools"] += bool(conversation.get("tools"))
        records += [{"type": "session", "id": session_id}, *said]
    return Converted(records=records, skipped=+skipped)


def _session_id(conversation: dict[str, Any], name: str, mark: str, taken: set[str]) -> str | None:
    """The conversation's own id; a number only counts in its file, and the second of an id is told by its content."""
    given = conversation.get("id")
    own = identifier(given)
    base = f"sharegpt-{mark}" if own is None else joined(name, own) if isinstance(given, int) else own
    for candidate in (base, joined(base, mark)):
        if candidate not in taken:
            taken |= {candidate, joined(base, mark)}
            return candidate
    return None


def _spoken(conversation: dict[str, Any], place: str) -> list[Any]:
    found = next((conversation[key] for key in LISTS if key in conversation), None)
    if not isinstance(found, list):
        raise InputError(f"{place} has no list of messages; it is expected under one of {list(LISTS)}")
    system = conversation.get("system")
    return [{"from": "system", "value": system}, *found] if isinstance(system, str) and system.strip() else found


def _messages(spoken: list[Any], session_id: str, place: str, skipped: Counter[str]) -> list[Record]:
    calls = Calls()
    records = []
    for number, raw in enumerate(spoken, 1):
        where = f"{place}, message {number}"
        speaker, value = _said(item(raw, where), where)
        message_id = joined(session_id, str(number))
        body = _body(speaker, text(value, skipped), message_id, calls)
        if not value.strip() and body["role"] != "tool":
            skipped["empty"] += 1
            continue
        records.append(laid_out(session_id, message_id, body, None))
    return records


def _said(raw: dict[str, Any], where: str) -> tuple[str, str]:
    speaker, value = raw.get("from", raw.get("role")), raw.get("value", raw.get("content"))
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
        calls.forget()
    if speaker == _CALL:
        made = [call(name, arguments, f"{message_id}-{at}") for at, (name, arguments) in enumerate(_called(value), 1)]
        for one in made:
            calls.make(one["function"]["name"], one["id"])
        return {"role": role, "content": None, "tool_calls": made}
    body = {"role": role, "content": value}
    return body | {"tool_call_id": calls.answered(None, call_id(message_id))} if role == "tool" else body


def _called(value: str) -> list[tuple[str, str]]:
    """The calls in a function call's text, which is JSON with a name and arguments; else the text as one call."""
    try:
        given = json.loads(value)
    except (ValueError, RecursionError):
        return [("function", value)]
    found = given if isinstance(given, list) else [given]
    if not found or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in found):
        return [("function", value)]
    return [(one["name"], _arguments(one.get("arguments", {}))) for one in found]


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
