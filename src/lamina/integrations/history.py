"""A session read as a framework wants to see it: without what was forgotten."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from lamina import Memory, NotFound
from lamina.values.message import Message

Call = Callable[..., Awaitable[Any]]
_PAGE = 200
_GONE = ("[forgotten]", "[dropped]")


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


async def newest(call: Call, session_id: str, limit: int | None) -> list[Message]:
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
