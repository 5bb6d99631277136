"""Which format a file of another tool has, and its content as records that can be imported."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from lamina.errors import InputError
from lamina.formats import (
    chatgpt,
    claude,
    claude_code,
    claude_memories,
    codex,
    foreign_values,
    mem0_export,
    request_logs,
    request_shapes,
    sharegpt,
)
from lamina.formats.json_lines import KINDS, Conversion, Record
from lamina.formats.unknown_files import CAN_BE_IMPORTED, describe
from lamina.formats.unknown_files import json_kind as other_tool
from lamina.values.codec import json_kind


class UnknownFormat(InputError):
    """A file that begins like none of the known formats."""


class EmptyFile(UnknownFormat):
    """A file with nothing in it."""


_FOLDER_FIELDS = frozenset({"recentMessages", "chunkNumber", "conversationRef", "validFrom"})


def detect(data: Any, name: str) -> str:
    """Which format parsed JSON has: lamina, openai, claude, sharegpt, mem0 …; `name` is the file's, for errors.

    Of JSON Lines, `data` is the list of the lines' objects.
    """
    if isinstance(data, dict) and any(isinstance(data.get(key), list) for key in mem0_export.LISTS):
        return "mem0"
    if data == []:
        raise EmptyFile(f"{name} is empty; {CAN_BE_IMPORTED}")
    first = data[0] if isinstance(data, list) else data
    if isinstance(first, list):
        first = {"messages": first}
    if isinstance(first, dict):
        if _FOLDER_FIELDS & first.keys():
            raise InputError(f"{name} is a file of a memory folder; import the folder that it is in")
        if (other := other_tool(first)) is not None:
            raise UnknownFormat(describe(name, other))
        found = next((known for known, (fits, _) in _FORMATS.items() if fits(first)), None)
        if found is not None:
            return found
    what = f"an object with {sorted(first)[:8]}" if isinstance(first, dict) else json_kind(first)
    raise UnknownFormat(f"{name} is JSON, but begins with {what}, which is no known format; {CAN_BE_IMPORTED}")


def convert(data: Any, name: str) -> Conversion:
    """The records in parsed JSON of another tool, and how much was left out and why."""
    return _FORMATS[detect(data, name)][1](data, name)


def is_transcript(first: dict[str, Any]) -> bool:
    """Whether a line is of a file that a program may still be writing to."""
    return claude_code.is_event(first) or codex.is_item(first)


ReadOne = Callable[[dict[str, Any], str, Counter[str]], list[Record]]


def _conversations(read_one: ReadOne) -> Callable[[Any, str], Conversion]:
    """A converter of a list of conversations, or of one."""

    def convert(data: Any, name: str) -> Conversion:
        skipped: Counter[str] = Counter()
        records: list[Record] = []
        for place, conversation in foreign_values.objects(data, name, "conversation"):
            records += read_one(conversation, place, skipped)
        return Conversion(records=records, skipped=+skipped)

    return convert


def _lamina(_: Any, name: str) -> Conversion:
    raise InputError(f"{name} is an export of Lamina, which is read line by line")


def _is_lamina(first: dict[str, Any]) -> bool:
    return first.get("type") in KINDS or ("session_id" in first and "role" in first)


def _is_sharegpt(first: dict[str, Any]) -> bool:
    if "conversations" in first or "conversation" in first:
        return True
    messages = first.get("messages")
    return isinstance(messages, list) and bool(messages) and isinstance(messages[0], dict) and "from" in messages[0]


def _is_messages(first: dict[str, Any]) -> bool:
    return "role" in first or request_shapes.is_request(first)


_FORMATS: Mapping[str, tuple[Callable[[dict[str, Any]], bool], Callable[[Any, str], Conversion]]] = {
    "claude_code": (claude_code.is_event, claude_code.convert),  # which has lines of the type summary, too
    "lamina": (_is_lamina, _lamina),
    "openai": (lambda first: "mapping" in first, _conversations(chatgpt.conversation)),
    "claude": (lambda first: "chat_messages" in first, _conversations(claude.conversation)),
    "claude_memories": (claude_memories.is_memories, claude_memories.convert),
    "codex": (codex.is_item, codex.convert),
    "sharegpt": (_is_sharegpt, sharegpt.convert),
    "mem0": (lambda first: isinstance(first.get("memory"), str), mem0_export.convert),  # which may have a role too
    "messages": (_is_messages, request_logs.convert),
}
