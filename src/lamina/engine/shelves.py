"""What can be found of each user, kept at hand: read once, then only what has changed."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lamina.engine.parts import Parts
from lamina.policy.recall.catalogue import Catalogue
from lamina.policy.recall.entries import entry_of, marks_of
from lamina.policy.redaction import says_something
from lamina.ports import Changes, Embedder, VectorRow
from lamina.types import Episode, Fact, Message, Span, Summary

_PAGE = 2_000  # messages that are read at once
_TRIES = 5
_MATCHES = 400  # that are looked at of a user who has more than can be kept
_AROUND = 3  # messages before and after each


@dataclass(slots=True)
class Shelf:
    """A user's catalogue and how far it has been read."""

    catalogue: Catalogue
    embedder: str | None
    count: int = 0
    cuts: int = -1
    place: int = 0
    read: dict[str, int] = field(default_factory=dict)  # session -> messages read
    facts: dict[str, Fact] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # of facts, episodes and summaries
    archived: frozenset[str] = frozenset()  # sessions
    lock: Any = field(default_factory=threading.Lock)

    def known(self, key: str) -> Fact | Episode | Summary | None:
        """A fact, episode or summary by its id."""
        return self.facts.get(key) or self.episodes.get(key) or self.summaries.get(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fresh:
    """What has changed since a shelf was read."""

    changes: Changes
    messages: Sequence[tuple[str, list[Message]]] = ()
    known: Sequence[Fact | Episode | Summary] | None = None  # all of them; None: as before
    archived: frozenset[str] = frozenset()
    vectors: Sequence[VectorRow] = ()


class Shelves:
    """The shelves of the users who were asked about last, within a bound of memory."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept: OrderedDict[str, Shelf] = OrderedDict()
        self._large: dict[str, int] = {}  # users who have more than can be kept, and how many messages that was
        self._lock = threading.Lock()

    async def of(self, user_id: str, embedder: Embedder | None) -> Shelf | None:
        """A user's shelf as it is now; None if there is more than can be kept at hand."""
        if await self._too_large(user_id):
            return None
        with self._lock:
            shelf = self._kept.get(user_id)
        if shelf is None or shelf.embedder != (embedder.name if embedder else None):
            shelf = self._empty(embedder)
        for _ in range(_TRIES):
            since, cuts = shelf.count, shelf.cuts
            vectors = await self._vectors(user_id, shelf)  # first: all that they are of is read after them
            changes = await self._parts.store.changes(user_id, since)
            if shelf.count == since and changes.cuts != cuts != -1:  # words were taken away: all is read again
                shelf = self._empty(embedder)
                vectors = await self._vectors(user_id, shelf)
                changes = await self._parts.store.changes(user_id, 0)
            fresh = await self._fresh(user_id, shelf, changes, vectors)
            with shelf.lock:
                if shelf.count == since or shelf.cuts == -1:
                    _apply(shelf, fresh)
                    break
        self._keep(user_id, shelf)
        return shelf

    async def by_words(self, user_id: str, terms: Sequence[str]) -> Shelf:
        """A shelf for one question, of what has its words and what was said around that."""
        store, shelf = self._parts.store, self._empty(None)
        found = await store.find_words(user_id, terms, _MATCHES)
        wanted: dict[str, set[int]] = {}
        for match in found.matches:
            if isinstance(match, Message):
                around = range(max(1, match.seq - _AROUND), match.seq + _AROUND + 1)
                wanted.setdefault(match.session_id, set()).update(around)
        messages = [
            (session_id, await store.messages(session_id, span))
            for session_id, places in wanted.items()
            for span in _spans(places)
        ]
        fresh = replace(await self._known(user_id, shelf), messages=messages)
        _apply(shelf, fresh)
        shelf.catalogue.count_as(found.documents, found.frequency)
        return shelf

    async def _too_large(self, user_id: str) -> bool:
        with self._lock:
            if user_id in self._kept or user_id not in self._large:
                return False
            known = self._large[user_id]
        changes = await self._parts.store.changes(user_id, 0)
        return sum(session.messages for session in changes.sessions) >= known

    def forget(self) -> None:
        """Let go of all shelves."""
        with self._lock:
            self._kept.clear()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(shelf.catalogue.nbytes for shelf in self._kept.values())

    def _empty(self, embedder: Embedder | None) -> Shelf:
        lexicon = self._parts.lexicon
        dimensions = embedder.dimensions if embedder else lexicon.dimensions
        catalogue = Catalogue(dimensions, lexicon.word_vectors, lexicon.dimensions)
        return Shelf(catalogue=catalogue, embedder=embedder.name if embedder else None)

    async def _vectors(self, user_id: str, shelf: Shelf) -> Sequence[VectorRow]:
        if shelf.embedder is None:
            return ()
        return await self._parts.store.vectors(user_id, shelf.embedder, shelf.place)

    async def _fresh(self, user_id: str, shelf: Shelf, changes: Changes, vectors: Sequence[VectorRow]) -> _Fresh:
        if changes.count == shelf.count and shelf.cuts != -1:
            return _Fresh(changes=changes, archived=shelf.archived, vectors=vectors)
        store = self._parts.store
        messages = []
        for session in changes.sessions:
            first = shelf.read.get(session.id, 0) + 1
            while first <= session.messages:
                last = min(first + _PAGE - 1, session.messages)
                messages.append((session.id, await store.messages(session.id, Span(first=first, last=last))))
                first = last + 1
        return replace(await self._known(user_id, shelf), changes=changes, messages=messages, vectors=vectors)

    async def _known(self, user_id: str, shelf: Shelf) -> _Fresh:
        """Everything of a user but the messages."""
        store = self._parts.store
        known: list[Fact | Episode | Summary] = [
            *await store.live_summaries(user_id),
            *(fact for fact in await store.facts(user_id) if fact.status != "evidence" or fact.id in shelf.texts),
            *await store.episodes(user_id),
        ]
        archived = await store.sessions(user_id=user_id, status="archived", limit=1_000_000)
        return _Fresh(
            changes=Changes(count=0, cuts=0, sessions=()),
            known=known,
            archived=frozenset(session.id for session in archived),
        )

    def _keep(self, user_id: str, shelf: Shelf) -> None:
        """Keep a shelf at hand; those not asked about for the longest time go while there are too many."""
        with self._lock:
            self._kept[user_id] = shelf
            self._kept.move_to_end(user_id)
            sizes = {user: kept.catalogue.nbytes for user, kept in self._kept.items()}
            total = sum(sizes.values())
            if sizes[user_id] > self._parts.cache_bytes:
                self._large[user_id] = sum(shelf.read.values())
                del self._kept[user_id]
                return
            self._large.pop(user_id, None)
            while total > self._parts.cache_bytes and self._kept:
                gone, _ = self._kept.popitem(last=False)
                total -= sizes[gone]


def _apply(shelf: Shelf, fresh: _Fresh) -> None:
    catalogue = shelf.catalogue
    said = [message for _, messages in fresh.messages for message in messages if says_something(message)]
    catalogue.add([entry_of(message) for message in said])
    for session_id, messages in fresh.messages:
        shelf.read[session_id] = messages[-1].seq if messages else shelf.read.get(session_id, 0)
    if fresh.known is not None:
        _apply_known(shelf, fresh.known)
    if fresh.vectors:
        catalogue.set_vectors({row.item_id: row.vector for row in fresh.vectors})
        shelf.place = fresh.vectors[-1].place
    shelf.archived = fresh.archived
    shelf.count, shelf.cuts = fresh.changes.count, fresh.changes.cuts


def _apply_known(shelf: Shelf, known: Sequence[Fact | Episode | Summary]) -> None:
    entries = [entry_of(item) for item in known]
    texts = {entry.id: entry.text for entry in entries}
    shelf.catalogue.remove(gone for gone in shelf.texts if gone not in texts)
    shelf.catalogue.add(entry for entry in entries if shelf.texts.get(entry.id) != entry.text)
    shelf.catalogue.note(entries)
    shelf.texts = texts
    shelf.facts = {item.id: item for item in known if isinstance(item, Fact)}
    shelf.episodes = {item.id: item for item in known if isinstance(item, Episode)}
    shelf.summaries = {item.id: item for item in known if isinstance(item, Summary)}
    shelf.catalogue.mark(marks_of(shelf.facts.values()))


def _spans(places: set[int]) -> list[Span]:
    """Places in a session as stretches."""
    spans: list[Span] = []
    for place in sorted(places):
        if spans and place == spans[-1].last + 1:
            spans[-1] = Span(first=spans[-1].first, last=place)
        else:
            spans.append(Span(first=place, last=place))
    return spans
