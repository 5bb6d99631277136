"""What chat completions and responses, the two APIs of an endpoint, have in common here."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ChatMessage = dict[str, Any]
Json = Mapping[str, Any]
Place = Literal["system", "user"]
SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedMemory:
    """What memory has for a request: texts between fences, and messages that the client did not send itself."""

    block: str = ""  # what stays the same from message to message
    window: tuple[ChatMessage, ...] = ()
    late: str = ""  # what was recalled for this message
    tokens: int = 0


class StreamReader(ABC):
    """Reads the events of a stream and puts the reply together."""

    ended = False  # the reply is complete

    @abstractmethod
    def feed(self, data: str) -> None:
        """Take one event's data; what cannot be read is passed over."""

    @abstractmethod
    def reply(self) -> ChatMessage | None:
        """The reply so far as a message for the log; None if there is none."""


class Dialect(ABC):
    """How requests and replies of one API look."""

    @abstractmethod
    def reads(self, body: Json) -> bool:
        """Whether a request has the shape that it should; if not, the endpoint judges it, and memory stays out."""

    @abstractmethod
    def conversation(self, body: Json) -> list[ChatMessage]:
        """The conversation in a request, as messages for the log: without instructions of the system."""

    @abstractmethod
    def with_memory(self, body: Json, memory: AddedMemory, place: Place) -> dict[str, Any]:
        """The request with memory in it; nothing of the caller's is changed or moved."""

    @abstractmethod
    def reply(self, answer: Json) -> ChatMessage | None:
        """The reply in a whole answer."""

    @abstractmethod
    def reader(self) -> StreamReader: ...


def insert_memory(
    messages: Sequence[ChatMessage], memory: AddedMemory, place: Place, window: Sequence[ChatMessage]
) -> list[ChatMessage]:
    """Memory among the messages: as late as can be, so that a provider's cache of the beginning stays valid.

    `window` is memory's window in the form of these messages. Without one everything stands before the newest message
    of the user; with one, what stays the same stands before it.
    """
    lead = next((i for i, one in enumerate(messages) if one.get("role") not in SYSTEM), len(messages))
    newest = next((i for i in reversed(range(len(messages))) if messages[i].get("role") == "user"), len(messages))
    role = "developer" if any(one.get("role") == "developer" for one in messages) else "system"
    first, late = (memory.block, memory.late) if window else ("", _join(memory.block, memory.late))
    if place == "user":
        text = _join(first, late)
        merged = [with_text(one, text) if text and i == newest else one for i, one in enumerate(messages)]
        return [*merged[:lead], *window, *merged[lead:]]

    def system(text: str) -> list[ChatMessage]:
        return [{"role": role, "content": text}] if text else []

    return [*messages[:lead], *system(first), *window, *messages[lead:newest], *system(late), *messages[newest:]]


def with_text(message: ChatMessage, text: str) -> ChatMessage:
    """A message of the user with a text before its own."""
    content = message.get("content")
    if isinstance(content, list):
        kind = "input_text" if any(_is_input(part) for part in content) else "text"
        return {**message, "content": [{"type": kind, "text": text}, *content]}
    return {**message, "content": _join(text, content if isinstance(content, str) else "")}


def _is_input(part: Any) -> bool:
    return isinstance(part, Mapping) and str(part.get("type", "")).startswith("input_")


def _join(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def read_json(data: str | bytes) -> dict[str, Any] | None:
    """An object, or None if it is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def to_json(body: Json) -> bytes:
    """A request as it is sent."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list, if it is one."""
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def is_shaped(message: Any) -> bool:
    """Whether a message or an item can be read: words, parts and calls are where and what they should be."""
    if not isinstance(message, dict) or not all(_is_text(message.get(name)) for name in ("role", "type")):
        return False
    parts_fit = all(_has_parts(message.get(name)) for name in ("content", "output"))
    calls = message.get("tool_calls")
    return parts_fit and (calls is None or (isinstance(calls, list) and all(_is_call(one) for one in calls)))


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _has_parts(content: Any) -> bool:
    parts = content if isinstance(content, list) else []
    shaped = all(isinstance(one, dict) and _is_text(one.get("type")) and _is_text(one.get("text")) for one in parts)
    return shaped and (isinstance(content, list) or _is_text(content))


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and (call.get("function") is None or isinstance(call["function"], dict))


def as_index(value: Any, otherwise: int) -> int:
    """Which of several pieces of a stream belong together, as far as the endpoint says so."""
    return value if isinstance(value, int) else otherwise


def as_log_message(
    text: str | None, calls: Sequence[Json], *, model: Any, more: Json, refusal: str | None = None
) -> ChatMessage | None:
    """A reply as a message; None if there is nothing in it."""
    if not (text or calls or refusal):
        return None
    message: ChatMessage = {"role": "assistant", "content": text}
    if refusal:
        message["refusal"] = refusal
    if calls:
        message["tool_calls"] = list(calls)
    if isinstance(model, str) and model:
        message["model"] = model
    message["metadata"] = {name: value for name, value in more.items() if value is not None}
    return message
