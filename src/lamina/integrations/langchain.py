"""A chat history and a retriever for LangChain."""

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from lamina import InputError, Memory, MissingExtra
from lamina.integrations.history import everything, forget_session, tool_call
from lamina.values.hit import Hit
from lamina.values.message import Message

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        ToolMessage,
        convert_to_messages,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field
except ImportError as error:
    raise MissingExtra("langchain-core", "langchain") from error

_MESSAGE = "langchain"  # the key in a message's metadata
_ROLES = {"human": "user", "ai": "assistant", "system": "system"}
_OTHERS = "developer"  # the role of what no chat has
_FILTERS = [
    name
    for name in inspect.signature(Memory.search).parameters
    if name not in {"self", "query", "user_id", "top_k", "explain"}
]


class LaminaChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation: each comes back as it was given; `clear` forgets them."""

    def __init__(self, session_id: str, memory: Memory, *, user_id: str | None = None) -> None:
        super().__init__()
        self.session_id = session_id
        self.user_id = user_id
        self._memory = memory

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base allows a property, says its docstring
        return [one for message in everything(self._memory, self.session_id) for one in _to_langchain(message)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages: all of them, or none."""
        if messages:
            chat = [_chat(message) for message in messages]
            self._memory.add(chat, user_id=self.user_id, session_id=self.session_id)

    def clear(self) -> None:
        forget_session(self._memory, self.session_id)


class LaminaRetriever(BaseRetriever):
    """What Lamina recalls for a question, as documents; `filters` are those of `Memory.search`.

    Arguments of `invoke` override those of the retriever: `user_id`, `top_k`, `filters`, or a filter by its name.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory
    user_id: str | None = None
    top_k: int = 10
    min_score: float = 0.0
    filters: Mapping[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        del run_manager  # there is nothing to tell on the way
        given.pop("verbose", None)  # of LangChain's own handlers
        user_id = self.memory.resolve_user(given.pop("user_id", self.user_id))
        top_k = given.pop("top_k", self.top_k)
        filters = {"min_score": self.min_score, **self.filters, **(given.pop("filters", None) or {}), **given}
        unknown = sorted(filters.keys() - set(_FILTERS))
        if unknown:
            raise InputError(f"a search has no {unknown}; there are user_id, top_k, filters, {', '.join(_FILTERS)}")
        hits = self.memory.search(query, user_id=user_id, top_k=top_k, **filters)
        return [_document(hit, user_id) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **given)


def _document(hit: Hit, user_id: str) -> Document:
    metadata = {
        "kind": hit.kind,
        "score": hit.score,
        "created_at": hit.created_at.isoformat(),
        "user_id": user_id,
        "session_id": hit.session_id,
        "message_ids": list(hit.message_ids),
        "role": hit.role,
        "name": hit.name,
    }
    return Document(page_content=hit.text, id=hit.id, metadata=metadata)


def _chat(message: BaseMessage) -> dict[str, Any]:
    """A message as a chat message, which search finds, with the original in its metadata."""
    metadata = {_MESSAGE: message_to_dict(message)}
    if isinstance(message, ToolMessage):
        return {
            "role": "tool", "tool_call_id": message.tool_call_id, "content": message.content, "metadata": metadata,
        }  # fmt: skip
    role = message.role if isinstance(message, ChatMessage) else message.type
    known = role if role in _ROLES.values() else _ROLES.get(role.removesuffix("MessageChunk").lower(), _OTHERS)
    chat = {"role": known, "content": message.content, "metadata": metadata}
    if isinstance(message, AIMessage) and message.tool_calls:
        chat["tool_calls"] = [tool_call(call["id"], call["name"], call["args"]) for call in message.tool_calls]
    return chat


def _to_langchain(message: Message) -> list[BaseMessage]:
    stored = message.metadata.get(_MESSAGE)
    return messages_from_dict([stored]) if isinstance(stored, dict) else convert_to_messages([message.to_openai()])
