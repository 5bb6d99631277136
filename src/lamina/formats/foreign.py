"""Chats and memories of other tools as records that can be imported: what a file is, and what is in it."""

from collections.abc import Callable, Mapping
from typing import Any

from lamina.errors import InputError
from lamina.formats import chatgpt, mem0_export, request_logs, sharegpt
from lamina.formats.lines import KINDS, Converted
from lamina.values.codec import json_kind

FORMATS = """\
  - an export of Lamina: JSON Lines that begin with a header, or messages with a session_id
  - ChatGPT's conversations.json: conversations with a mapping of messages
  - ShareGPT: conversations of {"from": …, "value": …}
  - mem0: {"results": [{"id": …, "memory": …}]}
  - chat messages {"role": …, "content": …}, or a log with {"messages": [...]} in each entry"""

_READERS: Mapping[str, Callable[[Any, str], Converted]] = {
    "openai": chatgpt.converted,
    "sharegpt": sharegpt.converted,
    "mem0": mem0_export.converted,
    "messages": request_logs.converted,
}
_FOLDER_FIELDS = frozenset({"recentMessages", "chunkNumber", "conversationRef", "validFrom"})


def recognised(data: Any, name: str) -> str:
    """Which format parsed JSON has: lamina, openai, sharegpt, mem0 or messages; `name` is the file's, for errors.

    Of JSON Lines, `data` is the list of the lines' objects.
    """
    if isinstance(data, dict) and any(isinstance(data.get(key), list) for key in mem0_export.LISTS):
        return "mem0"
    if data == []:
        raise InputError(f"{name} has nothing in it; what can be imported:\n{FORMATS}")
    first = data[0] if isinstance(data, list) else data
    if isinstance(first, list):
        first = {"messages": first}
    if isinstance(first, dict):
        if _FOLDER_FIELDS & first.keys():
            raise InputError(f"{name} is a file of a memory folder; import the folder that it is in")
        found = next((known for known, fits in _SIGNS.items() if fits(first)), None)
        if found is not None:
            return found
    what = f"an object with {sorted(first)[:8]}" if isinstance(first, dict) else json_kind(first)
    raise InputError(f"{name} begins with {what}, which is no known format; what can be imported:\n{FORMATS}")


def converted(data: Any, name: str) -> Converted:
    """The records in parsed JSON of another tool, and how much was left out and why."""
    found = recognised(data, name)
    if found == "lamina":
        raise InputError(f"{name} is an export of Lamina, which is read line by line")
    return _READERS[found](data, name)


def _is_lamina(first: dict[str, Any]) -> bool:
    return first.get("type") in KINDS or ("session_id" in first and "role" in first)


def _is_sharegpt(first: dict[str, Any]) -> bool:
    if "conversations" in first or "conversation" in first:
        return True
    spoken = first.get("messages")
    return isinstance(spoken, list) and bool(spoken) and isinstance(spoken[0], dict) and "from" in spoken[0]


def _is_messages(first: dict[str, Any]) -> bool:
    held = [first, first.get("request"), first.get("body")]
    held += [one.get("body") for one in held if isinstance(one, dict)]
    return "role" in first or any(isinstance(one, dict) and "messages" in one for one in held)


_SIGNS: Mapping[str, Callable[[dict[str, Any]], bool]] = {
    "lamina": _is_lamina,
    "openai": lambda first: "mapping" in first,
    "sharegpt": _is_sharegpt,
    "mem0": lambda first: isinstance(first.get("memory"), str),  # which may have a role too
    "messages": _is_messages,
}
