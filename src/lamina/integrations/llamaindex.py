"""A memory for LlamaIndex's agents and chat engines."""

import json
from collections.abc import Mapping
from typing import Any, Self

from lamina import InputError, Memory, MissingExtra, NotFound
from lamina.integrations.history import everything, forget_session, tool_call
from lamina.values.message import Message, Span

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory.types import BaseMemory
    from llama_index.core.schema import QueryBundle
except ImportError as error:
    raise MissingExtra("llama-index-core", "llamaindex") from error

_MESSAGE = "llamaindex"  # the key in a message's metadata
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "developer"}  # that are called otherwise in a chat


class LaminaMemory(BaseMemory):
    """One conversation: `get_all` gives every message as it was put, `get` what is remembered for the input."""

    session_id: str
    user_id: str | None = None
    budget: int | None = None
    _memory: Memory = PrivateAttr()

    def __init__(self, memory: Memory, **values: Any) -> None:
        unknown = sorted(values.keys() - type(self).model_fields.keys())
        if unknown:
            fields = ", ".join(type(self).model_fields)
            raise InputError(f"LaminaMemory has no {unknown}; there are {fields}, and chat_history of from_defaults")
        super().__init__(**values)
        self._memory = memory

    @classmethod
    def class_name(cls) -> str:
        return "LaminaMemory"

    @classmethod
    def from_defaults(cls, memory: Memory | None = None, **kwargs: Any) -> Self:
        """A memory with `session_id`, and optionally `user_id`, `budget` and a `chat_history` to begin with."""
        if memory is None:
            raise InputError("give the Memory that keeps it: LaminaMemory.from_defaults(memory=..., session_id=...)")
        history = kwargs.pop("chat_history", None)
        made = cls(memory, **kwargs)
        if history:
            made.put_messages(history)
        return made

    def get(
        self,
        input: str | QueryBundle | ChatMessage | None = None,  # noqa: A002 - the name it has there
        *,
        initial_token_count: int = 0,
        **others: Any,
    ) -> list[ChatMessage]:
        """The newest messages as they were, with what is known and recalled in system messages, within the budget.

        `initial_token_count` are tokens of the budget that are used already.
        """
        if others:
            raise InputError(f"get takes input and initial_token_count, not {sorted(others)}")
        asked = _question(input)
        budget = self._remaining(initial_token_count)
        context = self._memory.context(asked, user_id=self.user_id, session_id=self.session_id, budget=budget)
        shown, verbatim = context.messages, context.manifest.coverage.verbatim
        stored = {json.dumps(message.to_openai()): message for span in verbatim for message in self._messages(span)}
        newest = max(stored.values(), key=lambda message: message.seq, default=None)
        is_put = newest is not None and newest.role == "user" and newest.text == asked
        if shown and shown[-1] == {"role": "user", "content": asked} and not is_put:
            shown = shown[:-1]  # the caller will put it there
        keys = [json.dumps(message) for message in shown]
        return [
            _to_llamaindex(stored[key]) if key in stored else _from_chat(message)
            for key, message in zip(keys, shown, strict=True)
        ]

    def _remaining(self, used: int) -> int | None:
        """What is left of the budget."""
        if not used:
            return self.budget
        whole = self.budget or self._memory.profile.budget
        if isinstance(used, bool) or not isinstance(used, int) or not 0 <= used < whole:
            raise InputError(
                f"initial_token_count must be a number of tokens below the budget of {whole}, not {used!r}"
            )
        return whole - used

    def _messages(self, span: Span) -> list[Message]:
        """Messages of the session; none if it is forgotten meanwhile."""
        try:
            return self._memory.messages(self.session_id, span.first, span.last)
        except NotFound:
            return []

    def get_all(self) -> list[ChatMessage]:
        return [_to_llamaindex(message) for message in everything(self._memory, self.session_id)]

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages: all of them, or none."""
        if messages:
            chat = [_chat(message) for message in messages]
            self._memory.add(chat, user_id=self.user_id, session_id=self.session_id)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages; if these begin with the stored ones, only the rest is appended."""
        known = self.get_all()
        if known and messages[: len(known)] == known:
            self.put_messages(messages[len(known) :])
            return
        chat = [_chat(message) for message in messages]
        self.reset()
        if chat:
            self._memory.add(chat, user_id=self.user_id, session_id=self.session_id)

    def reset(self) -> None:
        """Forget the whole session; there is no undo."""
        forget_session(self._memory, self.session_id)


def _question(given: Any) -> str | None:
    """The words of an input."""
    match given:
        case None | str():
            return given
        case QueryBundle():
            return given.query_str
        case ChatMessage():
            return given.content
    raise InputError(f"input must be text, a QueryBundle or a ChatMessage, not {type(given).__name__}")


def _chat(message: ChatMessage) -> dict[str, Any]:
    """A message as a chat message, which search finds, with the original in its metadata."""
    metadata = {_MESSAGE: message.model_dump(mode="json")}
    words = [_words(block) for block in message.blocks]
    chat: dict[str, Any] = {"content": "\n".join(text for text in words if text), "metadata": metadata}
    call = message.additional_kwargs.get("tool_call_id")
    if message.role is MessageRole.TOOL:
        return chat | ({"role": "tool", "tool_call_id": call} if isinstance(call, str) else {"role": "developer"})
    calls = [
        tool_call(block.tool_call_id, block.tool_name, block.tool_kwargs)
        for block in message.blocks
        if isinstance(block, ToolCallBlock) and block.tool_call_id
    ]
    chat["role"] = _ROLES.get(message.role.value, message.role.value)
    return chat | ({"tool_calls": calls} if calls else {})


def _words(block: Any) -> str:
    if isinstance(block, TextBlock):
        return block.text
    return "" if isinstance(block, ToolCallBlock) else f"[{block.block_type}]"


def _to_llamaindex(message: Message) -> ChatMessage:
    """The message as it was put; one from elsewhere in the same form."""
    stored = message.metadata.get(_MESSAGE)
    return ChatMessage.model_validate(stored) if isinstance(stored, Mapping) else _from_chat(message.to_openai())


def _from_chat(message: Mapping[str, Any]) -> ChatMessage:
    content = message.get("content") or ""
    parts = [content] if isinstance(content, str) else [str(part.get("text", "")) for part in content]
    calls = [
        ToolCallBlock(
            tool_call_id=call["id"], tool_name=call["function"]["name"], tool_kwargs=call["function"]["arguments"]
        )
        for call in message.get("tool_calls") or ()
    ]
    text = "\n".join(part for part in parts if part)
    more = {"tool_call_id": message["tool_call_id"]} if message["role"] == "tool" else {}
    blocks = [*([TextBlock(text=text)] if text or not calls else []), *calls]
    return ChatMessage(role=MessageRole(message["role"]), blocks=blocks, additional_kwargs=more)
