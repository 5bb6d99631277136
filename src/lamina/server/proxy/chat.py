"""Chat completions: requests and replies."""

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

_LOGGED_ROLES = ("user", "assistant", "tool")
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call")


class Chat(Dialect):
    """`POST /chat/completions`."""

    def reads(self, body: Json) -> bool:
        messages = body.get("messages")
        return isinstance(messages, list) and all(map(is_shaped, messages))

    def conversation(self, body: Json) -> list[ChatMessage]:
        given = [one for one in objects(body.get("messages")) if one.get("role") in _LOGGED_ROLES]
        return [{name: one[name] for name in _FIELDS if one.get(name) is not None} for one in given]

    def with_memory(self, body: Json, memory: AddedMemory, place: Place) -> dict[str, Any]:
        return {**body, "messages": insert_memory(body["messages"], memory, place, memory.window)}

    def reply(self, answer: Json) -> ChatMessage | None:
        choice = next(objects(answer.get("choices")), {})
        message = choice.get("message")
        if not isinstance(message, dict):
            return None
        return as_log_message(
            _text(message.get("content")),
            list(objects(message.get("tool_calls"))),
            refusal=_text(message.get("refusal")),
            model=answer.get("model"),
            more={
                "finish_reason": choice.get("finish_reason"),
                "response_id": answer.get("id"),
                ITEMS: list(references(message.get("audio"))) or None,
            },
        )

    def reader(self) -> StreamReader:
        return _ChatStreamReader()


class _ChatStreamReader(StreamReader):
    """Puts the pieces of the first choice together."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._model: Any = None
        self._id: Any = None

    def feed(self, data: str) -> None:
        if data.strip() == "[DONE]":
            self.ended = True
            return
        chunk = read_json(data)
        if chunk is None:
            return
        self._model, self._id = chunk.get("model") or self._model, chunk.get("id") or self._id
        for choice in objects(chunk.get("choices")):
            if as_index(choice.get("index"), 0) == 0:
                self._add_choice(choice)

    def _add_choice(self, choice: Json) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._text.append(_text(delta.get("content")) or "")
            self._refusal.append(_text(delta.get("refusal")) or "")
            for place, piece in enumerate(objects(delta.get("tool_calls"))):
                self._add_call(as_index(piece.get("index"), place), piece)
        self._finish = choice.get("finish_reason") or self._finish

    def _add_call(self, index: int, piece: Json) -> None:
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = piece.get("id") or call["id"]
        call["type"] = piece.get("type") or call["type"]
        function = piece.get("function")
        if isinstance(function, dict):
            for name in ("name", "arguments"):
                call["function"][name] += _text(function.get(name)) or ""

    def reply(self) -> ChatMessage | None:
        return as_log_message(
            "".join(self._text) or None,
            [self._calls[index] for index in sorted(self._calls)],
            refusal="".join(self._refusal) or None,
            model=self._model,
            more={"finish_reason": self._finish, "response_id": self._id},
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
