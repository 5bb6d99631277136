"""What changes in a tenant's memory, told to those who listen, whoever changed it.

The store counts the changes of each user. While somebody listens, the counts are looked at again and again; what has
changed of a user is then found by comparing. So changes by other processes are seen, too.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from lamina.coroutines import raise_if_cancelled
from lamina.errors import LaminaError
from lamina.log.pages import every_session
from lamina.protocols.store import Store
from lamina.values.fact import Fact
from lamina.values.session import Session
from lamina.values.summary import Summary

logger = logging.getLogger("lamina.watch")

EventType = Literal["message.added", "session.folded", "session.renamed", "fact.changed", "forgotten", "gap"]

LOOK_S = 1.0
_KEPT = 1000  # events for those who come back, or are slow
_LINGER_S = 60.0  # how long a watch goes on when nobody listens
_CLOCKS = timedelta(seconds=5)  # by how much those of other machines may differ
_USERS = 1000  # whose standing is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that changed; nothing of what was said."""

    id: str
    number: int
    type: EventType
    user_id: str | None = None
    session_id: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Standing:
    """What was known of a user at the last look."""

    summaries: frozenset[str]
    facts: Mapping[str, str]  # with their tags


class Watch:
    """Looks for changes in one tenant while somebody listens; each listener has its own place in what was found."""

    def __init__(
        self, store: Store, *, now: Callable[[], datetime], epoch: str, look_s: float = LOOK_S, kept: int = _KEPT
    ) -> None:
        """`epoch` begins the ids of its events: those of another watch are not of this one."""
        self._store = store
        self._now = now
        self._epoch = epoch
        self._look_s = look_s
        self._kept: deque[Event] = deque(maxlen=kept)
        self._number = 0
        self._news = asyncio.Event()
        self._beginning = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._listeners = 0
        self._closed = False
        self._counts: dict[str, int] = {}
        self._messages: dict[str, int] = {}
        self._titles: dict[str, str] = {}
        self._receipts = 0
        self._since = now()
        self._standing: OrderedDict[str, _Standing] = OrderedDict()

    async def begin(self) -> None:
        """Know how everything is now; what changes from here on is told."""
        async with self._beginning:
            if self._closed or (self._task is not None and not self._task.done()):
                return
            self._since = self._now()
            self._standing.clear()
            self._counts = await self._store.change_counts()
            self._receipts = len(await self._store.receipts())
            self._messages, self._titles = {}, {}
            async for session in every_session(self._store, None, None):
                self._messages[session.id] = session.counters.messages
                self._note_title(session)
            if self._number:
                self._number += 1  # what happened while nobody looked is a gap
                self._kept.clear()
            if not self._closed:
                self._task = asyncio.create_task(self._run(), name="lamina-watch")

    def place(self) -> str:
        """The id of the newest event."""
        return f"{self._epoch}.{self._number}"

    async def listen(self, last: str | None, beat_s: float) -> AsyncIterator[Event | None]:
        """Events behind an id, or from now on; None when there was nothing for so many seconds, or after a nudge."""
        self._listeners += 1
        try:
            at = self._number if last is None else self._number_of(last)
            while not self._closed:
                news = self._news
                if at is None or at < self._number - len(self._kept):
                    at = self._number - len(self._kept)
                    yield Event(id=f"{self._epoch}.{at}", number=at, type="gap")
                for event in [one for one in self._kept if one.number > at]:
                    at = event.number
                    yield event
                if news is self._news and not (await _came(news, beat_s) and (at < self._number or self._closed)):
                    yield None
        finally:
            self._listeners -= 1

    def nudge(self) -> None:
        """Have all listeners look up."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def close(self) -> None:
        """Let all listeners go."""
        self._closed = True
        self._news.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _number_of(self, last: str) -> int | None:
        """The number of an event's id; None if it is not of this watch."""
        epoch, _, number = last.partition(".")
        known = epoch == self._epoch and number.isdecimal() and len(number) < 18  # noqa: PLR2004 - digits
        return int(number) if known and int(number) <= self._number else None

    async def _run(self) -> None:
        idle = 0.0
        while idle < _LINGER_S:
            raise_if_cancelled()
            await asyncio.sleep(self._look_s)
            idle = 0.0 if self._listeners else idle + self._look_s
            try:
                await self._look()
            except LaminaError as error:
                logger.warning("not_watched", extra={"reason": str(error)[:500]})

    async def _look(self) -> None:
        counts = await self._store.change_counts()
        if counts == self._counts:
            return
        for user_id, count in counts.items():
            known = self._counts.get(user_id, 0)
            if count != known:
                await self._look_at(user_id, known)
                self._counts[user_id] = count
        self._counts = counts
        receipts = await self._store.receipts()
        for row in receipts[self._receipts :]:
            self._tell("forgotten", None, None, receipt_id=row.id)
        self._receipts = len(receipts)

    def _note_title(self, session: Session) -> bool:
        """Keep what a session is called; whether that is news."""
        before = self._titles.pop(session.id, None)
        if session.title is not None:
            self._titles[session.id] = session.title
        return before != session.title

    async def _look_at(self, user_id: str, since: int) -> None:
        changed = (await self._store.changes(user_id, since)).sessions
        for session_id, messages in changed:
            known = self._messages.get(session_id, 0)
            self._messages[session_id] = messages
            if messages != known:
                first = known + 1 if messages > known else 1  # fewer: it was forgotten, and began again
                self._tell("message.added", user_id, session_id, first=first, last=messages)
        ids = [session_id for session_id, _ in changed]
        for session in await self._store.sessions(ids=ids, limit=max(1, len(ids))):
            if self._note_title(session):
                self._tell("session.renamed", user_id, session.id)
        summaries = await self._store.summaries(user_id=user_id)
        facts = await self._store.facts(user_id)
        before = self._standing.pop(user_id, None) or self._state_at_start(summaries, facts)
        self._standing[user_id] = _Standing(
            frozenset(one.id for one in summaries), {fact.id: fact.tag for fact in facts}
        )
        if len(self._standing) > _USERS:
            self._standing.popitem(last=False)
        for summary in summaries:
            if summary.id not in before.summaries and summary.session_id is not None and summary.covers is not None:
                covers = {"first": summary.covers.first, "last": summary.covers.last}
                self._tell(
                    "session.folded", user_id, summary.session_id, summary_id=summary.id, layer=summary.layer, **covers
                )
        for fact in facts:
            if before.facts.get(fact.id) != fact.tag:
                self._tell("fact.changed", user_id, fact.session_id, fact_id=fact.id, status=fact.status)

    def _state_at_start(self, summaries: Iterable[Summary], facts: Iterable[Fact]) -> _Standing:
        """How a user stood when the watch began, as far as times tell."""
        since = self._since - _CLOCKS
        return _Standing(
            frozenset(one.id for one in summaries if one.created_at < since),
            {fact.id: fact.tag for fact in facts if max(fact.created_at, fact.verdict_at or fact.created_at) < since},
        )

    def _tell(self, kind: EventType, user_id: str | None, session_id: str | None, **about: Any) -> None:
        self._number += 1
        self._kept.append(
            Event(
                id=self.place(),
                number=self._number,
                type=kind,
                user_id=user_id,
                session_id=session_id,
                about=about,
            )
        )
        self.nudge()


async def _came(news: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True
