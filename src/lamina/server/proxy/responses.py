"""Responses: requests, whose input is a list of items, and replies, whose output is one."""

from collections.abc import Iterable, Sequence
from typing import Any

from lamina.server.proxy.dialect import (
    AddedMemory,
    ChatMessage,
    Dialect,
    Json,
    Place,
    StreamReader,
    as_index,
    as_log_message,
    insert_memory,
    is_shaped,
    objects,
    read_json,
)
from lamina.server.proxy.ownership import ITEMS, references

_LOGGED_ROLES = ("user", "assistant")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class Responses(Dialect):
    """`POST /responses`."""

    def reads(self, body: Json) -> bool:
        given = body.get("input")
        return given is None or isinstance(given, str) or (isinstance(given, list) and all(map(is_shaped, given)))

    def conversation(self, body: Json) -> list[ChatMessage]:
        return _messages(_items(body))

    def with_memory(self, body: Json, memory: AddedMemory, place: Place) -> dict[str, Any]:
        window = [item for message in memory.window for item in _as_items(message)]
        return {**body, "input": insert_memory(_items(body), memory, place, window)}

    def reply(self, answer: Json) -> ChatMessage | None:
        return _reply(answer.get("output"), answer)

    def reader(self) -> StreamReader:
        return _ResponseStreamReader()


class _ResponseStreamReader(StreamReader):
    """Takes the finished items, and the pieces of the one that is not finished."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._response: dict[str, Any] = {}

    def feed(self, data: str) -> None:
        event = read_json(data)
        if event is None:
            self.ended = self.ended or data.strip() == "[DONE]"
            return
        kind, index = event.get("type"), as_index(event.get("output_index"), 0)
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
        if kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            self._pieces.setdefault(index, []).append(event["delta"])
        elif kind == "response.output_item.done" and isinstance(event.get("item"), dict):
            self._items[index] = event["item"]
        self.ended = self.ended or kind in _ENDS

    def reply(self) -> ChatMessage | None:
        output = self._response.get("output")
        if self.ended and isinstance(output, list) and output:
            return _reply(output, self._response)
        half = {
            index: {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "".join(pieces)}],
            }
            for index, pieces in self._pieces.items()
        }
        return _reply([item for _, item in sorted({**half, **self._items}.items())], self._response)


def _items(body: Json) -> list[ChatMessage]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(objects(given))


def _messages(items: Iterable[Json]) -> list[ChatMessage]:
    """Items as messages: the calls of one turn stand in one message, with the words before them."""
    messages: list[ChatMessage] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(_call(item))
        elif kind == "function_call_output" and isinstance(item.get("call_id"), str):
            messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": _content(item.get("output"))})
        elif kind == "message" and item.get("role") in _LOGGED_ROLES:
            messages.append({"role": item["role"], "content": _content(item.get("content"))})
    return messages


def _call(item: Json) -> dict[str, Any]:
    function = {"name": item.get("name"), "arguments": item.get("arguments", "")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _content(content: Any) -> str | list[Any]:
    """Words, if there is nothing else; else parts as chat completions have them."""
    if isinstance(content, str):
        return content
    parts = [_part(part) for part in objects(content)]
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(str(part.get("text", "")) for part in parts)
    return parts


def _part(part: Json) -> dict[str, Any]:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):  # no set: it may be anything
        return {"type": "text", "text": str(part.get("text", ""))}
    if kind == "refusal":
        return {"type": "text", "text": str(part.get("refusal", ""))}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return dict(part)


def _as_items(message: ChatMessage) -> list[dict[str, Any]]:
    """A message of the log as items of an input."""
    if message["role"] == "tool":
        output = message.get("content")
        text = output if isinstance(output, str) else "\n".join(str(part.get("text", "")) for part in objects(output))
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    items: list[dict[str, Any]] = []
    if message.get("content"):
        items.append({"role": message["role"], "content": _as_input(message["content"])})
    for call in objects(message.get("tool_calls")):
        function = call.get("function", {})
        items.append(
            {
                "type": "function_call",
                "call_id": call.get("id"),
                "name": function.get("name"),
                "arguments": function.get("arguments", ""),
            }
        )
    return items


def _as_input(content: str | Sequence[Any]) -> str | list[Any]:
    if isinstance(content, str):
        return content
    return [_input_part(part) for part in objects(content)]


def _input_part(part: Json) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "input_text", "text": part.get("text", "")}
    picture = part.get("image_url")
    if part.get("type") == "image_url" and isinstance(picture, dict):
        return {"type": "input_image", "image_url": picture.get("url")}
    file = part.get("file")
    if part.get("type") == "file" and isinstance(file, dict):
        return {"type": "input_file", **file}
    return dict(part)


def _reply(output: Any, response: Json) -> ChatMessage | None:
    messages = [one for one in _messages(objects(output)) if one["role"] == "assistant"]
    texts = [one["content"] for one in messages if isinstance(one["content"], str) and one["content"]]
    return as_log_message(
        "\n".join(texts) or None,
        [call for one in messages for call in one.get("tool_calls", ())],
        model=response.get("model"),
        more={
            "finish_reason": _finish_reason(response),
            "response_id": response.get("id"),
            ITEMS: _ids(output, response),
        },
    )


def _ids(output: Any, response: Json) -> list[str] | None:
    """By what later requests may name the response and what is in it."""
    every = [response.get("id"), *(item.get("id") for item in objects(output)), *references(output)]
    return [*dict.fromkeys(one for one in every if isinstance(one, str))] or None


def _finish_reason(response: Json) -> str | None:
    details = response.get("incomplete_details")
    if isinstance(details, dict) and isinstance(details.get("reason"), str):
        return str(details["reason"])
    status = response.get("status")
    return status if isinstance(status, str) and status != "in_progress" else None
