"""A session read from its end, without what was forgotten."""

from collections.abc import Awaitable, Callable
from typing import Any

from lamina import NotFound
from lamina.types import Message

Call = Callable[..., Awaitable[Any]]
_PAGE = 200
_GONE = ("[forgotten]", "[dropped]")


def is_there(message: Message) -> bool:
    """Whether a message still says something of its own."""
    return not (message.forgotten and message.content in _GONE)


async def newest(call: Call, session_id: str, limit: int | None) -> list[Message]:
    """The last messages of a session that are still there, in order; all of them without a limit."""
    try:
        last = (await call("session", session_id)).counters.messages
    except NotFound:
        return []
    found: list[Message] = []
    while last > 0 and (limit is None or len(found) < limit):
        first = max(1, last - _PAGE + 1)
        page = [message for message in await call("messages", session_id, first, last) if is_there(message)]
        found[:0] = page
        last = first - 1
    return found if limit is None else found[len(found) - min(limit, len(found)) :]
