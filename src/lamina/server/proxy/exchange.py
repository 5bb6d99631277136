"""One request and its reply, as memory sees them: what is new in the request, what to add to it, and the reply."""

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from lamina.context.build import Built
from lamina.context.rendering import Blocks, fence_both
from lamina.errors import BudgetTooSmall, Conflict, LaminaError, NotFound
from lamina.log.conversations import Whose
from lamina.log.messages import OWN_KEY, check_main, session_conflict, text_of
from lamina.log.resent import Resent, compare, sign
from lamina.memory import AsyncMemory
from lamina.protocols.store import View
from lamina.server.proxy.dialect import AddedMemory, ChatMessage, Dialect, Json, Place
from lamina.server.proxy.ownership import ITEMS, SEAL, Seals, without_references
from lamina.server.proxy.scope import RequestIds, RequestScope, in_session, without_ids

logger = logging.getLogger("lamina.proxy")

PATIENCE_S = 5.0  # for memory; then a request goes on without it, and what is to be stored is stored in the background
_MAX_OTHERS = 32  # messages of the log that may stand between those a client sends
_MAX_QUERY = 20_000  # characters that are read of a message to find what it is about
CACHE_S = 300.0  # how long a context is given again


class CachedContext(NamedTuple):
    """Memory that was added to a request, and what must be so for it to be added again."""

    memory: AddedMemory
    facts: frozenset[str]  # ids of those in it, which must hold
    cuts: int  # of the user's memory before it was built: nothing may have been forgotten since


class ContextCache:
    """Memory that was added to the newest messages of users, for some minutes: the steps of one turn begin alike."""

    def __init__(self, *, max_items: int = 1_000, now: Callable[[], float] = time.monotonic) -> None:
        self._max = max_items
        self._now = now
        self._kept: OrderedDict[Hashable, tuple[float, CachedContext]] = OrderedDict()  # the oldest first

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, turn: Hashable) -> CachedContext | None:
        self._drop_old()
        found = self._kept.get(turn)
        return None if found is None else found[1]

    def put(self, turn: Hashable, context: CachedContext) -> None:
        self.drop(turn)
        self._kept[turn] = (self._now(), context)
        self._drop_old()

    def drop(self, turn: Hashable) -> None:
        self._kept.pop(turn, None)

    def _drop_old(self) -> None:
        while self._kept and (
            len(self._kept) > self._max or next(iter(self._kept.values()))[0] + CACHE_S < self._now()
        ):
            self._kept.popitem(last=False)


def conversation_in(dialect: Dialect, body: Json) -> list[ChatMessage]:
    """The messages of a request, without the beginning of the reply, which comes whole."""
    messages = dialect.conversation(body)
    while messages and messages[-1]["role"] == "assistant":
        messages.pop()
    return messages


async def find_scope(
    engine: AsyncMemory, ids: RequestIds, messages: Sequence[ChatMessage], *, retried: bool
) -> RequestScope:
    """The session that a request names, or that its history goes on; else a new one."""
    if ids.session_id is not None:
        return in_session(ids, ids.session_id, ids.session_source)
    try:
        async with asyncio.timeout(PATIENCE_S):
            found = await _find_session(engine, ids, messages, retried=retried)
    except (LaminaError, TimeoutError) as error:
        logger.warning("memory_failed", extra={"fault": "not_recalled", "kind": type(error).__name__})
        found = None
    if found is not None:
        return in_session(ids, found, "history" if ids.response_id is None else "previous_response_id")
    scope = in_session(ids, engine.conversations.begin(ids.cache_key), "new")
    if scope.user_source == "default":
        logger.info("default_user", extra={"user": scope.user_id, "session": scope.session_id})
    return scope


async def _find_session(
    engine: AsyncMemory, ids: RequestIds, messages: Sequence[ChatMessage], *, retried: bool
) -> str | None:
    group, find = ids.cache_key, engine.conversations
    whose = Whose(user_id=ids.user_id, agent_id=ids.agent_id, project_id=ids.project_id)
    if ids.response_id is not None:
        return await find.find_reply(ids.response_id, whose, group=group)
    signs = [sign(one) for one in messages]
    return await find.find(signs, whose, group=group, retried=retried)


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request and its reply; memory that fails makes it poorer, never slower or impossible."""

    engine: AsyncMemory
    scope: RequestScope
    dialect: Dialect
    body: Json
    messages: Sequence[ChatMessage]  # of the body, without the beginning of a reply
    budget: int
    place: Place
    cache: ContextCache
    seals: Seals
    is_shared: bool  # the account at the endpoint is not the caller's own
    retried: bool
    tokens: int = 0
    faults: list[str] = field(default_factory=list)
    _resent: Resent = field(default=Resent(new=(), seen=None, answered=False), init=False)
    work: set[asyncio.Task[None]] = field(default_factory=set)  # that goes on though nobody waits for it
    _count: int = field(default=0, init=False)  # messages of the session before this request
    _storing: asyncio.Task[None] | None = field(default=None, init=False)

    async def prepare(self) -> dict[str, Any]:
        """The request for the endpoint; what is new in it is being stored when this returns."""
        messages = self.messages
        self._resent = compare([sign(one) for one in messages[-1:]], [])
        asked = without_ids(self.body)
        try:
            memory = await self._recall(messages)
        except (Conflict, NotFound):
            raise
        except (LaminaError, TimeoutError) as error:
            self._note_fault("not_recalled", error)
            memory = AddedMemory()
        new = [messages[place] for place in self._resent.new]
        self._storing = self._start(self._add_new(new)) if new else None
        if self.is_shared:
            memory = replace(memory, window=tuple(map(without_references, memory.window)))
        self.tokens = memory.tokens
        return self.dialect.with_memory(asked, memory, self.place) if memory.tokens else asked

    async def wait_until_stored(self) -> None:
        """Returns once what is new in the request is safe; if that takes too long, it goes on."""
        if self._storing is not None:
            await self._wait(self._storing)

    async def store_reply(self, reply: ChatMessage | None, interrupted: str | None) -> None:
        """Store the reply, or as much of it as there was."""
        if reply is not None:
            await self._wait(self._start(self._add_reply(reply, interrupted)))

    async def _wait(self, task: asyncio.Task[None]) -> None:
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        if not done:
            self._note_fault("not_stored_yet", TimeoutError())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.work.add(task)
        task.add_done_callback(self.work.discard)
        return task

    async def _add_reply(self, reply: ChatMessage, interrupted: str | None) -> None:
        if self._storing is not None:
            await asyncio.wait({self._storing})
        more: dict[str, Any] = {"interrupted": interrupted, "regenerated": self._resent.answered or None}
        if ids := reply["metadata"].get(ITEMS):
            with suppress(LaminaError, TimeoutError):  # then what is in the reply cannot be named later
                more[SEAL] = await self.seals.of(ids)
        metadata = {**reply["metadata"], **{name: value for name, value in more.items() if value is not None}}
        await self._add([{**reply, "metadata": metadata}], None)

    async def _compare(self, messages: Sequence[ChatMessage]) -> tuple[View, int]:
        """Find what is new; returns the view, and the number of the first message that was compared."""
        read = len(messages) + _MAX_OTHERS
        view = await self.engine.contexts.read(
            self.scope.user_id, self.scope.session_id, self.engine.profile, self.budget, min_messages=read
        )
        if view.session is None:
            check_main(self.scope.session_id, self.scope.user_id)
        elif view.session.user_id != self.scope.user_id:
            raise session_conflict(view.session.id)
        self._count = view.session.counters.messages if view.session else 0
        first = max(1, self._count - read + 1)
        kept = [one for one in view.tail if one.seq >= first]
        self._resent = compare(
            [sign(one) for one in messages],
            [sign(one.body) for one in kept],
            gone=[place for place, one in enumerate(kept) if one.forgotten],
            retried=self.retried,
        )
        return view, first

    async def _recall(self, messages: Sequence[ChatMessage]) -> AddedMemory:
        """Compare with the log, and find what memory has for the newest message of the user."""
        view, first = await self._compare(messages)
        newest = next((place for place in reversed(range(len(messages))) if messages[place]["role"] == "user"), None)
        if newest is None:
            return AddedMemory()
        query = text_of(messages[newest])[:_MAX_QUERY]
        turn = self._turn(messages[: newest + 1])
        cached = self._find_cached(turn, view) if newest < len(messages) - 1 else None
        if cached is not None:
            return cached
        seen = self._resent.seen
        seen_from = 1 if self.scope.kept_upstream else None if seen is None else first + seen
        async with asyncio.timeout(PATIENCE_S):
            building = asyncio.create_task(self._build(query, seen_from, view))
            context, blocks = await asyncio.shield(building)  # also when it comes too late: then it is quick next time
        memory = _to_memory(blocks, query, context.tokens)
        facts = frozenset(piece.id for piece in context.manifest.items if piece.kind == "fact" and piece.id)
        self.cache.put(turn, CachedContext(memory, facts, view.cuts))  # what is forgotten from here on counts
        return memory

    def _turn(self, messages: Sequence[ChatMessage]) -> bytes:
        """What the steps of one turn have in common: the scope, the budget, and all up to the question."""
        signs = json.dumps([sign(one) for one in messages]).encode()
        scope = self.scope
        asked = repr(
            (
                self.engine.tenant,
                scope.user_id,
                scope.session_id,
                scope.agent_id,
                scope.project_id,
                scope.kept_upstream,
                self.budget,
            )
        ).encode()
        return hashlib.sha256(asked + signs).digest()

    def _find_cached(self, turn: bytes, view: View) -> AddedMemory | None:
        """The memory of the step before, if nothing of it was forgotten, retracted or changed meanwhile."""
        cached = self.cache.get(turn)
        if cached is None:
            return None
        if cached.cuts == view.cuts and cached.facts <= self.engine.contexts.facts_in(view):
            return cached.memory
        self.cache.drop(turn)
        return None

    async def _build(self, query: str, seen_from: int | None, view: View | None) -> Built:
        budget = self.budget
        while True:
            try:
                return await self.engine.contexts.build(
                    query or None,
                    user_id=self.scope.user_id,
                    session_id=self.scope.session_id,
                    project_id=self.scope.project_id,
                    budget=budget,
                    seen_from=seen_from,
                    view=view,
                )
            except BudgetTooSmall as error:  # the budget is for memory: the message itself comes on top
                budget, view = max(budget, error.smallest) + self.budget, None

    async def _add_new(self, new: Sequence[ChatMessage]) -> None:
        place = json.dumps([self.scope.session_id, self._count, new], sort_keys=True)
        await self._add(new, f"{OWN_KEY}{hashlib.sha256(place.encode()).hexdigest()}")  # two tries at once are one

    async def _add(self, messages: Sequence[ChatMessage], key: str | None) -> None:
        try:
            await self.engine.add(
                messages,
                user_id=self.scope.user_id,
                session_id=self.scope.session_id,
                agent_id=self.scope.agent_id,
                project_id=self.scope.project_id,
                idempotency_key=key,
            )
        except (LaminaError, TimeoutError) as error:
            self._note_fault("not_stored", error)

    def _note_fault(self, what: str, error: Exception) -> None:
        self.faults.append(what)
        logger.warning("memory_failed", extra={"fault": what, "kind": type(error).__name__})


def _to_memory(blocks: Blocks, query: str, tokens: int) -> AddedMemory:
    """The blocks of a context without the query, which the caller sends."""
    window = [*blocks.recent, *blocks.current]
    if blocks.query is None and window and window[-1] == {"role": "user", "content": query}:
        window.pop()
    memory, late = fence_both(blocks.memory, blocks.late)
    if not (memory or late or window):
        return AddedMemory()
    return AddedMemory(block=memory, window=tuple(window), late=late, tokens=tokens)
