"""What the integrations share: sessions without forgotten messages, tool calls, either kind of memory awaited."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from lamina import AsyncMemory, Memory, NotFound
from lamina.values.message import Message

_PAGE = 200
_GONE = ("[forgotten]", "[dropped]")


class AwaitedMemory:
    """The verbs of an `AsyncMemory`, or those of a `Memory` in a thread, to be awaited."""

    def __init__(self, memory: AsyncMemory | Memory) -> None:
        self._memory = memory

    async def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        call = getattr(self._memory, verb)
        if isinstance(self._memory, AsyncMemory):
            return await call(*args, **kwargs)
        return await asyncio.to_thread(call, *args, **kwargs)


def tool_call(call_id: Any, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call as a chat message has it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def is_there(message: Message) -> bool:
    """Whether a message still says something of its own."""
    return not (message.forgotten and message.content in _GONE)


def everything(memory: Memory, session_id: str) -> list[Message]:
    """All messages of a session that are still there; none if it is not there, or is forgotten meanwhile."""
    try:
        return [message for message in memory.messages(session_id) if is_there(message)]
    except NotFound:
        return []


def forget_session(memory: Memory, session_id: str) -> None:
    """Forget a session, if there is one."""
    with suppress(NotFound):
        memory.forget(session_id=session_id)


async def newest(call: AwaitedMemory, session_id: str, limit: int | None) -> list[Message]:
    """The last messages of a session that are still there, in order; all of them without a limit.

    None of a session that is not there, or is forgotten meanwhile.
    """
    found: list[Message] = []
    try:
        last = (await call("session", session_id)).counters.messages
        while last > 0 and (limit is None or len(found) < limit):
            first = max(1, last - _PAGE + 1)
            page = [message for message in await call("messages", session_id, first, last) if is_there(message)]
            found[:0] = page
            last = first - 1
    except NotFound:
        return []
    return found if limit is None else found[len(found) - min(limit, len(found)) :]
