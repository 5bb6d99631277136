"""Chat completions: requests and replies."""

from typing import Any

from lamina.server.proxy.dialect import (
    ChatMessage,
    Dialect,
    Json,
    Listener,
    Place,
    Remembered,
    as_json,
    for_the_log,
    index_of,
    insert_memory,
    is_shaped,
    objects,
)
from lamina.server.proxy.ownership import ITEMS, references

_LOGGED = ("user", "assistant", "tool")
_KEPT = ("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call")


class Chat(Dialect):
    """`POST /chat/completions`."""

    def reads(self, body: Json) -> bool:
        messages = body.get("messages")
        return isinstance(messages, list) and all(map(is_shaped, messages))

    def conversation(self, body: Json) -> list[ChatMessage]:
        given = [one for one in objects(body.get("messages")) if one.get("role") in _LOGGED]
        return [{name: one[name] for name in _KEPT if one.get(name) is not None} for one in given]

    def with_memory(self, body: Json, remembered: Remembered, place: Place) -> dict[str, Any]:
        return {**body, "messages": insert_memory(body["messages"], remembered, place, remembered.window)}

    def reply(self, answer: Json) -> ChatMessage | None:
        choice = next(objects(answer.get("choices")), {})
        message = choice.get("message")
        if not isinstance(message, dict):
            return None
        return for_the_log(
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

    def listener(self) -> Listener:
        return _ChatListener()


class _ChatListener(Listener):
    """Puts the pieces of the first choice together."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._model: Any = None
        self._id: Any = None

    def hear(self, data: str) -> None:
        if data.strip() == "[DONE]":
            self.ended = True
            return
        chunk = as_json(data)
        if chunk is None:
            return
        self._model, self._id = chunk.get("model") or self._model, chunk.get("id") or self._id
        for choice in objects(chunk.get("choices")):
            if index_of(choice.get("index"), 0) == 0:
                self._take(choice)

    def _take(self, choice: Json) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._text.append(_text(delta.get("content")) or "")
            self._refusal.append(_text(delta.get("refusal")) or "")
            for place, piece in enumerate(objects(delta.get("tool_calls"))):
                self._call(index_of(piece.get("index"), place), piece)
        self._finish = choice.get("finish_reason") or self._finish

    def _call(self, index: int, piece: Json) -> None:
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = piece.get("id") or call["id"]
        call["type"] = piece.get("type") or call["type"]
        function = piece.get("function")
        if isinstance(function, dict):
            for name in ("name", "arguments"):
                call["function"][name] += _text(function.get(name)) or ""

    def reply(self) -> ChatMessage | None:
        return for_the_log(
            "".join(self._text) or None,
            [self._calls[index] for index in sorted(self._calls)],
            refusal="".join(self._refusal) or None,
            model=self._model,
            more={"finish_reason": self._finish, "response_id": self._id},
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
