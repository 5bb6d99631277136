"""Who may name what the endpoint stores: all who ask with the operator's key share one account there.

A request may name things that the endpoint keeps: an earlier response or one of its items, a conversation, a prompt, a
file. With a key of their own, callers reach what is theirs. Else they may name only what replies in the same session
had: the log has the ids of those, under a seal that nobody else can make.
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from fastapi import HTTPException

from lamina.errors import NotFound
from lamina.memory import AsyncMemory
from lamina.server.proxy.dialect import ChatMessage, Json
from lamina.server.proxy.scope import RequestScope

READ = ("models",)  # what all may look at
ASKED = ("embeddings", "completions", "moderations", "chat/completions", "responses")  # what all may ask
ITEMS, SEAL = "item_ids", "item_seal"  # in the metadata of a reply

_SKIPPED = frozenset(
    {"metadata", "parameters", "schema", "tool_calls", "annotations", "logprobs"}
)  # where ids name nothing
_NO_REFERENCES = frozenset(
    {"call_id", "tool_call_id", "request_id", "user_id", "session_id", "trace_id", "connector_id"}
)
_NAMES = frozenset({"conversation", "container"})  # whose text is an id
_INLINE = frozenset({"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"})
_CONTENT = frozenset({"content", "tool_calls", "function_call", "refusal"})
_PAGE = 200  # messages that are looked through at once
_MAX_MESSAGES = 2_000
_OWN_KEY = "with a key of your own for the endpoint (as Authorization, beside X-API-Key) where the proxy has none"


def references(value: Any) -> Iterator[str]:
    """The ids of things that the endpoint would have to look up; what is there with its words needs no look."""
    if isinstance(value, Mapping):
        if isinstance(value.get("id"), str) and not _is_inline(value):
            yield value["id"]
        for name, inner in value.items():
            if name not in _SKIPPED:
                yield from _ids_under(name.lower(), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def _ids_under(name: str, inner: Any) -> Iterator[str]:
    one = name in _NAMES or (name.endswith("_id") and name not in _NO_REFERENCES)
    if one and isinstance(inner, str):
        yield inner
    elif name.endswith("_ids") and isinstance(inner, list):
        yield from (each for each in inner if isinstance(each, str))
    yield from references(inner)


def _is_inline(item: Json) -> bool:
    """Whether an item with an id says itself what it is."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind == "message":
        return "role" in item and not _CONTENT.isdisjoint(item)
    return kind in _INLINE or (kind == "reasoning" and bool(item.get("encrypted_content")))


def without_references(message: ChatMessage) -> ChatMessage:
    """A message of the log without what names things at the endpoint: anybody may have put them there."""
    content = message.get("content")
    kept = [part for part in content if not any(references(part))] or "" if isinstance(content, list) else content
    rest = {name: value for name, value in message.items() if name == "content" or not any(_ids_under(name, value))}
    return {**rest, "content": kept} if "content" in rest else rest


def may_pass(method: str, path: str) -> bool:
    """Whether an address is for all who share an account: it neither shows nor changes what the endpoint keeps."""
    return path in ASKED if method == "POST" else method == "GET" and path.partition("/")[0] in READ


def address_error(method: str, path: str) -> HTTPException:
    return HTTPException(
        403,
        f"{method} {path.partition('/')[0]}/… would reach what the endpoint keeps for all who ask with the proxy's key;"
        f" there are POST {', '.join(ASKED)} and GET {', '.join(READ)}, the rest is only passed on {_OWN_KEY}",
    )


class Seals:
    """Knows again the ids that replies of a session had."""

    def __init__(self, secret: Callable[[], Awaitable[bytes]], scope: RequestScope) -> None:
        self._secret = secret
        self._scope = scope

    async def of(self, ids: Sequence[str]) -> str:
        """What goes with the ids into the log."""
        signed = json.dumps([self._scope.user_id, self._scope.session_id, *ids]).encode()
        return hmac.new(await self._secret(), b"proxy" + signed, hashlib.sha256).hexdigest()

    async def read(self, metadata: Json) -> list[str]:
        """The ids in the metadata of a reply, if the seal is ours."""
        given, seal = metadata.get(ITEMS), metadata.get(SEAL)
        if not isinstance(given, list) or not isinstance(seal, str):
            return []
        ids = [str(one) for one in given]
        return ids if hmac.compare_digest(seal.encode(), (await self.of(ids)).encode()) else []


async def check(body: Json, own_ids: Callable[[set[str]], Awaitable[set[str]]] | None = None) -> None:
    """Refuse a request that names what others may have at the endpoint; `own_ids` finds the caller's own."""
    if body.get("background"):
        raise HTTPException(403, f"background responses are kept by the endpoint; ask without, or {_OWN_KEY}")
    wanted = set(references({name: value for name, value in body.items() if name != "id"}))
    if wanted and own_ids is not None:
        wanted -= await own_ids(wanted)
    if wanted:
        raise HTTPException(
            403,
            f"{min(wanted)[:80]!r} is kept by the endpoint, and was in no reply of this session: name the session"
            " (X-Lamina-User, X-Lamina-Session) whose reply it was in, send what it says instead, or ask"
            f" {_OWN_KEY}",
        )


async def ids_of_session(engine: AsyncMemory, scope: RequestScope, seals: Seals, wanted: set[str]) -> set[str]:
    """Which of the ids were in replies of the session; the newest are looked through first."""
    try:
        session = await engine.session(scope.session_id)
    except NotFound:
        return set()
    if session.user_id != scope.user_id:
        return set()
    found: set[str] = set()
    last = session.counters.messages
    while last > max(0, session.counters.messages - _MAX_MESSAGES) and not wanted <= found:
        for message in await engine.messages(session.id, max(1, last - _PAGE + 1), last):
            found.update(await seals.read(message.metadata))
        last -= _PAGE
    return found
