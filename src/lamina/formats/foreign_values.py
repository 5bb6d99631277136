"""What the readers of other tools' files share: times, ids and texts, and results that find their tool calls."""

import hashlib
import json
import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from lamina.errors import InputError
from lamina.values.codec import json_kind

REPAIRED = "text with characters that are no valid Unicode, which were replaced"
_LONGEST_ID = 256
_LONGEST_NAME = 64
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]")


def moment(value: Any, place: str) -> datetime | None:
    """A time given as seconds since 1970 or as ISO 8601, taken as UTC where no zone is said; None stays None."""
    try:
        return None if value is None else _moment(value)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{place} is {value!r:.80}; a time is seconds since 1970 or ISO 8601") from None


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.utcoffset() is None else found
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(value)
    return datetime.fromtimestamp(value, UTC)


def text(value: str, skipped: Counter[str]) -> str:
    """Text that can be stored: half characters and NUL, which some exports have, become U+FFFD."""
    if value.isascii() and "\0" not in value:
        return value
    whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")
    skipped[REPAIRED] += whole != value
    return whole


def identifier(value: Any) -> str | None:
    """An id as text, if there is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def joined(*parts: str) -> str:
    """An id made of others; one that would be too long is hashed."""
    whole = ":".join(parts)
    return whole if len(whole) <= _LONGEST_ID else digest(whole)


def digest(*values: Any) -> str:
    """A short hash of plain data, the same for the same data everywhere."""
    written = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def item(value: Any, place: str) -> dict[str, Any]:
    """An item that must be an object."""
    if not isinstance(value, dict):
        raise InputError(f"{place} must be an object, not {json_kind(value)}")
    return value


class Calls:
    """The tool calls since the user last spoke, for results that do not say which one they answer."""

    def __init__(self) -> None:
        self._made: list[tuple[str, str]] = []  # name and id
        self._answered: set[str] = set()

    def forget(self) -> None:
        """The user speaks: what comes now belongs to other calls."""
        self._made.clear()

    def make(self, name: str, call_id: str) -> None:
        self._made.append((name, call_id))

    def answered(self, name: str | None, own: str) -> str:
        """The call that a result answers: the first that waits, else the last; `own` if there is none of that name."""
        fits = [call_id for called, call_id in self._made if name is None or called == name]
        found = next((call_id for call_id in fits if call_id not in self._answered), fits[-1] if fits else own)
        self._answered.add(found)
        return found


def call(name: str, arguments: str, place: str) -> dict[str, Any]:
    """A tool call that chat APIs take: they want a short id, a name without dots and an object of arguments."""
    return {
        "id": call_id(place),
        "type": "function",
        "function": {"name": _UNNAMEABLE.sub("_", name)[:_LONGEST_NAME] or "function", "arguments": _object(arguments)},
    }


def call_id(place: str) -> str:
    """The id of the call made at a place, or of one that nobody made, for a result there."""
    return f"call_{digest(place)[:24]}"


def _object(arguments: str) -> str:
    if not arguments.strip():
        return "{}"
    try:
        whole = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        whole = False
    return arguments if whole else json.dumps({"input": arguments}, ensure_ascii=False)
