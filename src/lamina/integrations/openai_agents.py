"""A `Session` of the OpenAI Agents SDK that Lamina stores."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from lamina import AsyncMemory, Conflict, InputError, Memory, MissingExtra, NotFound
from lamina.integrations.history import AwaitedMemory, newest, tool_call
from lamina.values.message import Message

try:
    from agents import SessionSettings, TResponseInputItem
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents") from error

_ITEM = "openai_agents"  # the key in a message's metadata
_ROLES = ("system", "developer", "user", "assistant")
_RESERVED = (
    "id",
    "type",
    "status",
    "created_at",
    "metadata",
    "model",
)  # keys of an item that a stored message has for itself


class LaminaSession:
    """The items of one conversation: stored without a loss, returned as they were, or as what is remembered of them.

    With `remembered`, `get_items()` gives what Lamina would show a model: the newest items word for word, with what it
    knows and recalls in developer items, within `budget` tokens.
    """

    def __init__(
        self,
        session_id: str,
        memory: AsyncMemory | Memory,
        *,
        user_id: str | None = None,
        remembered: bool = False,
        budget: int | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        if budget is not None and not remembered:
            raise InputError("a budget is for what is remembered; give remembered=True as well")
        self.session_id = session_id
        self.user_id = user_id
        self.session_settings = _settings(session_settings)
        self._call = AwaitedMemory(memory)
        self._remembered = remembered
        self._budget = budget

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items in order, or the last `limit`; with `remembered` and no limit, what is remembered."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None and self._remembered:
            return await self._recall_items(None)
        if limit is not None and limit <= 0:
            return []
        found = await newest(self._call, self.session_id, limit)
        items = [item for message in found for item in _original_items(message)]
        return items if limit is None else items[-limit:]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items: all of them, or none."""
        if items:
            messages = [_message(item) for item in items]
            await self._call("add", messages, user_id=self.user_id, session_id=self.session_id)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and forget the newest item, with all derived from it; concurrent callers get different items."""
        while found := await newest(self._call, self.session_id, 1):
            (message,) = found
            with suppress(Conflict, NotFound):  # another took it, or cleared the session, first
                receipt = await self._call("forget", message_id=message.id)
                if message.id in receipt.messages:
                    item: TResponseInputItem = _original_items(message)[-1]
                    return item
        return None

    async def clear_session(self) -> None:
        """Forget the whole session; there is no undo."""
        with suppress(NotFound):
            await self._call("forget", session_id=self.session_id)

    async def recall(
        self, history: list[TResponseInputItem], new: list[TResponseInputItem]
    ) -> list[TResponseInputItem]:
        """A `session_input_callback`: replaces the history by what is remembered for the new input."""
        said = [item for item in new if isinstance(item, dict) and item.get("role") == "user"]
        query = _words(said[-1].get("content")) if said else ""
        history[:] = await self._recall_items(query or None)  # in place, so that none of it is stored as new
        return [*history, *new]

    async def _recall_items(self, query: str | None) -> list[TResponseInputItem]:
        context = await self._call(
            "context", query, user_id=self.user_id, session_id=self.session_id, budget=self._budget
        )
        messages = list(context.messages)
        if query is not None and messages and messages[-1] == {"role": "user", "content": query}:
            del messages[-1]
        return [item for message in messages for item in _items(message)]


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings | None:
    try:
        return None if given is None else SessionSettings().resolve(given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"session_settings must be SessionSettings or such a dict, not {given!r:.80}: {error}"
        ) from None


def _message(item: Any) -> dict[str, Any]:
    """An item as a chat message that search finds; fields that such a message does not have go into its metadata."""
    if not isinstance(item, Mapping):
        raise InputError(f"an item must be a dict such as {{'role': 'user', 'content': 'hi'}}, not {item!r:.80}")
    if item.get("role") in _ROLES and isinstance(item.get("content"), str | list):
        reserved = {key: item[key] for key in _RESERVED if key in item}
        body = {key: value for key, value in item.items() if key not in _RESERVED}
        return {**body, "metadata": {_ITEM: {"beside": reserved}}}
    return {**_chat(item), "metadata": {_ITEM: {"whole": dict(item)}}}


def _chat(item: Mapping[str, Any]) -> dict[str, Any]:
    """A call, its output, reasoning or another item as a chat message."""
    kind, call = str(item.get("type", "item")), item.get("call_id")
    if not isinstance(call, str):
        return {"role": "assistant", "content": "" if kind == "reasoning" else f"[{kind}]"}
    if kind.endswith("_output"):
        return {"role": "tool", "tool_call_id": call, "content": _words(item.get("output")) or f"[{kind}]"}
    given = item.get("arguments", item.get("input"))
    arguments = given if isinstance(given, str) else "{}"
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [tool_call(call, str(item.get("name", kind)), arguments)],
    }


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))


def _original_items(message: Message) -> list[Any]:
    """The item that a message was made from; for other messages, items with the same content."""
    stored = message.metadata.get(_ITEM)
    if not isinstance(stored, Mapping):
        return [*_items(message.body)] or [{"role": message.role, "content": ""}]
    return [dict(stored["whole"])] if "whole" in stored else [{**message.body, **stored["beside"]}]


def _items(message: Mapping[str, Any]) -> Iterator[Any]:
    """A message of a context as items: text, calls and their outputs apart."""
    content = message.get("content")
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}
        return
    if content:
        role = "developer" if message["role"] == "system" else message["role"]
        yield {"role": role, "content": _words(content) if role == "assistant" else content}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield {"type": "function_call", "call_id": call["id"], **{key: function[key] for key in ("name", "arguments")}}
