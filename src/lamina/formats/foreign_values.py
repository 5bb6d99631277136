"""What the readers of other tools' files share: times, ids, texts, and tool calls with their results."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lamina.errors import InputError
from lamina.log.messages import MAX_TITLE
from lamina.values.codec import json_kind

REPAIRED = "text with invalid Unicode characters, which were replaced"
MAX_RESULT = 20_000  # characters
_FIRST_WORDS = 80  # characters
_MAX_ID = 256
_MAX_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def timestamp(value: Any, place: str) -> datetime | None:
    """A time given as seconds since 1970 or as ISO 8601, taken as UTC if it has no time zone; None stays None."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=UTC) if found.utcoffset() is None else found
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InputError(f"{place} is {value!r:.80}; a time is seconds since 1970 or ISO 8601")


def clean_text(value: str, skipped: Counter[str]) -> str:
    """Text that can be stored: lone surrogates and NUL, which some exports have, become U+FFFD."""
    if value.isascii() and "\0" not in value:
        return value
    clean = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")
    skipped[REPAIRED] += clean != value
    return clean


def title(value: Any, skipped: Counter[str]) -> dict[str, str]:
    """The title of a session's record, on one line and not too long; nothing if there is none."""
    text = " ".join(clean_text(value, skipped).split()) if isinstance(value, str) else ""
    return {"title": text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"} if text else {}


def first_words(messages: Iterable[Mapping[str, Any]], skipped: Counter[str]) -> dict[str, str]:
    """A title from what the user said first, for a conversation without one."""
    for one in messages:
        content = one.get("content")
        if one.get("role") == "user" and isinstance(content, str) and content.strip():
            line = " ".join(content.strip().splitlines()[0].split())
            return title(line if len(line) <= _FIRST_WORDS else f"{line[:_FIRST_WORDS]}…", skipped)
    return {}


def shorten(text: str, skipped: Counter[str]) -> str:
    """The beginning of what a tool gave, or of a file: the rest would be most of the memory."""
    if len(text) <= MAX_RESULT:
        return text
    skipped[f"end of a tool result or file with more than {MAX_RESULT:,} characters"] += 1
    return f"{text[:MAX_RESULT]}\n[… {len(text) - MAX_RESULT:,} more characters]"


def block_text(content: Any) -> str:
    """The text of content that is a text, or a list of blocks of which some have one."""
    if isinstance(content, str):
        return content
    found = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            found.append(block["text"])
        elif isinstance(block, dict) and "image" in str(block.get("type")):
            found.append("[image]")
    return "\n".join(found)


def identifier(value: Any) -> str | None:
    """An id as text, if there is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def join_id(*parts: str) -> str:
    """An id made of others; one that would be too long is hashed."""
    joined = ":".join(parts)
    return joined if len(joined) <= _MAX_ID else content_hash(joined)


def content_hash(*values: Any) -> str:
    """A short hash of JSON data, the same for the same data everywhere."""
    data = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(data.encode()).hexdigest()[:32]


def require_object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place} must be an object, not {json_kind(value)}")
    return value


def objects(data: Any, name: str, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, or the only one, each with its place for error messages."""
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{name}, {what} {number}"
        yield place, require_object(one, place)


def object_at(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; an empty one if there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


class Calls:
    """The tool calls since the user's last message, for results that do not name the call they belong to."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, str]] = []  # name and id
        self._with_result: set[str] = set()

    def clear(self) -> None:
        self._calls.clear()

    def add(self, name: str, call_id: str) -> None:
        self._calls.append((name, call_id))

    def match(self, name: str | None, default: str) -> str:
        """The call of a result: the first one without a result, else the last; `default` if none has that name."""
        ids = [call_id for called, call_id in self._calls if name is None or called == name]
        found = next((call_id for call_id in ids if call_id not in self._with_result), ids[-1] if ids else default)
        self._with_result.add(found)
        return found


def call(name: str, arguments: str, place: str) -> dict[str, Any]:
    """A tool call that chat APIs accept: a short id, a name without dots, and an object of arguments."""
    function = {"name": _NOT_IN_NAMES.sub("_", name)[:_MAX_NAME] or "function", "arguments": _object(arguments)}
    return {"id": call_id(place), "type": "function", "function": function}


def call_id(place: str) -> str:
    """The id of the call at a place in the file, also of a call that is missing there though its result is not."""
    return f"call_{content_hash(place)[:24]}"


def _object(arguments: str) -> str:
    if not arguments.strip():
        return "{}"
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    return arguments if is_object else json.dumps({"input": arguments}, ensure_ascii=False)
