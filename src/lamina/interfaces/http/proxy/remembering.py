"""One request through the proxy, as memory sees it: what is new in it, what to add to it, what was replied."""

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lamina.engine.memory import Engine
from lamina.errors import BudgetTooSmall, Conflict, LaminaError, NotFound
from lamina.interfaces.http.proxy.dialect import ChatMessage, Dialect, Json, Place, Remembered
from lamina.interfaces.http.proxy.whose import Whose, without_ids
from lamina.policy.messages import text_of
from lamina.policy.render import PREAMBLE
from lamina.policy.resent import Resent, compared, sign
from lamina.types import Context

logger = logging.getLogger("lamina.proxy")

PATIENCE_S = 5.0  # for memory; then a request goes on without it, and what is to be stored is stored behind its back
_BESIDE = 32  # messages of the log that may stand between those a client sends
_LONGEST_QUERY = 20_000  # characters that are read of a message to find what it is about
_TURNS_KEPT = 1_000


class Shown:
    """What was shown with the newest messages of users, so that the steps of one turn all begin alike."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Remembered] = OrderedDict()

    def get(self, turn: Hashable) -> Remembered | None:
        return self._kept.get(turn)

    def put(self, turn: Hashable, remembered: Remembered) -> None:
        self._kept[turn] = remembered
        while len(self._kept) > _TURNS_KEPT:
            self._kept.popitem(last=False)


@dataclass(slots=True, kw_only=True)
class Turn:
    """A request on its way; memory that fails makes it poorer, never slower or impossible."""

    engine: Engine
    whose: Whose
    dialect: Dialect
    body: Json
    budget: int
    place: Place
    shown: Shown
    retried: bool
    tokens: int = 0
    faults: list[str] = field(default_factory=list)
    _resent: Resent = field(default=Resent(new=(), seen=None, answered=False), init=False)
    work: set[asyncio.Task[None]] = field(default_factory=set)  # that goes on though nobody waits for it
    _count: int = field(default=0, init=False)  # messages of the session before this request
    _storing: asyncio.Task[None] | None = field(default=None, init=False)

    async def prepared(self) -> dict[str, Any]:
        """The request for the endpoint; what is new in it is being stored when this returns."""
        told = self.dialect.told(self.body)
        while told and told[-1]["role"] == "assistant":  # the beginning of the reply, which comes whole
            told.pop()
        self._resent = compared([sign(one) for one in told[-1:]], [])
        asked = without_ids(self.body)
        try:
            first = await self._compared(told)
            remembered = await self._remembered(told, first)
        except (Conflict, NotFound):
            raise
        except (LaminaError, TimeoutError) as error:
            self._failed("not_recalled", error)
            remembered = Remembered()
        new = [told[place] for place in self._resent.new]
        self._storing = self._begun(self._stored(new)) if new else None
        self.tokens = remembered.tokens
        return self.dialect.with_memory(asked, remembered, self.place) if remembered.tokens else asked

    async def stored(self) -> None:
        """Returns once what is new in the request is safe; if that takes too long, it goes on."""
        if self._storing is not None:
            await self._patiently(self._storing)

    async def replied(self, reply: ChatMessage | None, interrupted: str | None) -> None:
        """Keep the reply, or as much of it as there was."""
        if reply is not None:
            await self._patiently(self._begun(self._kept(reply, interrupted)))

    async def _patiently(self, task: asyncio.Task[None]) -> None:
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        if not done:
            self._failed("not_stored_yet", TimeoutError())

    def _begun(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.work.add(task)
        task.add_done_callback(self.work.discard)
        return task

    async def _kept(self, reply: ChatMessage, interrupted: str | None) -> None:
        if self._storing is not None:
            await asyncio.wait({self._storing})
        more = {"interrupted": interrupted, "regenerated": self._resent.answered or None}
        metadata = {**reply["metadata"], **{name: value for name, value in more.items() if value is not None}}
        await self._add([{**reply, "metadata": metadata}], None)

    async def _compared(self, told: Sequence[ChatMessage]) -> int:
        """Find out what is new; gives the number of the first message that was compared."""
        try:
            session = await self.engine.session(self.whose.session_id)
        except NotFound:
            self._resent = compared([sign(one) for one in told], [])
            return 1
        if session.user_id != self.whose.user_id:
            raise Conflict(f"session {session.id!r} is another user's; give a session of user {self.whose.user_id!r}")
        self._count = session.counters.messages
        first = max(1, self._count - len(told) - _BESIDE + 1)
        kept = await self.engine.messages(session.id, first, self._count)
        self._resent = compared([sign(one) for one in told], [sign(one.body) for one in kept], retried=self.retried)
        return first

    async def _remembered(self, told: Sequence[ChatMessage], first: int) -> Remembered:
        asked = [one for one in told if one["role"] == "user"]
        if not asked:
            return Remembered()
        query = text_of(asked[-1])[:_LONGEST_QUERY]
        turn = (self.engine.tenant, self.whose.session_id, sign(asked[-1]))
        before = self.shown.get(turn)
        if before is not None and told[-1]["role"] != "user":
            return before
        seen = self._resent.seen
        seen_from = 1 if self.whose.kept_there else None if seen is None else first + seen
        building = asyncio.create_task(self._context(query, seen_from))
        async with asyncio.timeout(PATIENCE_S):
            context = await asyncio.shield(building)  # also when it comes too late: then it is quick the next time
        remembered = _parted(context, query)
        self.shown.put(turn, remembered)
        return remembered

    async def _context(self, query: str, seen_from: int | None) -> Context:
        budget = self.budget
        while True:
            try:
                return await self.engine.context(
                    query or None,
                    user_id=self.whose.user_id,
                    session_id=self.whose.session_id,
                    budget=budget,
                    seen_from=seen_from,
                )
            except BudgetTooSmall as error:  # the budget is for memory: the message itself comes on top
                budget = max(budget, error.smallest) + self.budget

    async def _stored(self, new: Sequence[ChatMessage]) -> None:
        place = json.dumps([self.whose.session_id, self._count, new], sort_keys=True)
        await self._add(new, f"proxy:{hashlib.sha256(place.encode()).hexdigest()}")  # two tries at once are one

    async def _add(self, messages: Sequence[ChatMessage], key: str | None) -> None:
        try:
            await self.engine.add(
                messages,
                user_id=self.whose.user_id,
                session_id=self.whose.session_id,
                agent_id=self.whose.agent_id,
                idempotency_key=key,
            )
        except (LaminaError, TimeoutError) as error:
            self._failed("not_stored", error)

    def _failed(self, what: str, error: Exception) -> None:
        self.faults.append(what)
        logger.warning("memory_failed", extra={"fault": what, "kind": type(error).__name__})


def _parted(context: Context, query: str) -> Remembered:
    """A context in its parts, without the query, which the caller sends."""
    messages = list(context.messages)
    if messages and messages[-1] == {"role": "user", "content": query}:
        messages.pop()
    late = str(messages.pop()["content"]) if len(messages) > 1 and _fenced(messages[-1]) else ""
    block = str(messages.pop(0)["content"]) if messages and _fenced(messages[0]) else ""
    if not (late or block or messages):
        return Remembered()
    return Remembered(block=block, window=tuple(messages), late=late, tokens=context.tokens)


def _fenced(message: ChatMessage) -> bool:
    return message["role"] == "system" and str(message["content"]).startswith(PREAMBLE)
