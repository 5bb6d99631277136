"""What can be found of each user, kept at hand: read once, then only what has changed."""

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lamina.log.erased import says_something
from lamina.parts import Parts
from lamina.protocols.models import Embedder
from lamina.protocols.store import Changes, IndexChanges, VectorRow
from lamina.search.entries import entry_of, marks_of
from lamina.search.index import Catalogue
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

_Page = tuple[str, list[Message]]  # of a session

_PAGE = 2_000  # messages that are read at once
_TRIES = 5
_MATCHES = 150  # messages with words of a question, of a user who has more than can be kept
_NEAREST = 100  # the same, by meaning
_AROUND = 3  # messages before and after each


@dataclass(slots=True)
class Shelf:
    """A user's catalogue and how far it has been read."""

    catalogue: Catalogue
    embedder: str | None
    count: int = 0
    cuts: int = 0
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
    messages: Sequence[_Page] = ()
    known: Sequence[Fact | Episode | Summary] | None = None  # all of them; None: as before
    archived: frozenset[str] = frozenset()
    vectors: Sequence[VectorRow] = ()


class Shelves:
    """The shelves of the users who were asked about last, within a bound of memory."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept: OrderedDict[str, Shelf] = OrderedDict()
        self._sizes: dict[str, int] = {}  # of those that are kept
        self._held = 0  # their sum
        self._large: dict[str, Changes] = {}  # users who had more than can be kept, when their changes were these
        self._lock = threading.Lock()

    async def of(self, user_id: str, embedder: Embedder | None) -> Shelf | None:
        """A user's shelf as it is now; None if there is more than can be kept at hand."""
        with self._lock:
            shelf = self._kept.get(user_id)
        if shelf is None or shelf.embedder != (embedder.name if embedder else None):
            return await self._filled(user_id, embedder)
        for _ in range(_TRIES):
            since = shelf.count
            read = await self._parts.store.index_changes(user_id, since, shelf.embedder, shelf.place)
            changes = read.changes
            if changes.cuts != shelf.cuts:  # words were taken away: all is read again
                return await self._filled(user_id, embedder)
            fresh = await self._fresh(shelf, read)
            with shelf.lock:
                if shelf.count == since:
                    _apply(shelf, fresh)
                    break
        return self._kept_if_room(user_id, shelf, changes)

    async def _filled(self, user_id: str, embedder: Embedder | None) -> Shelf | None:
        """A user's shelf, read page by page; None as soon as there is more than can be kept at hand."""
        store, shelf = self._parts.store, self._empty(embedder)
        with self._lock:
            large = self._large.get(user_id)
        if large and large.cuts == (await store.changes(user_id, large.count)).cuts:  # what was too much only grew
            return None
        changes = await store.changes(user_id, 0)
        least = shelf.catalogue.least_bytes(sum(session.messages for session in changes.sessions))
        if not self._room(user_id, least, changes):
            return None
        vectors = await self._vectors(user_id, shelf)  # first: all that they are of is read after them
        changes = await store.changes(user_id, 0)
        async for pages in self._pages(shelf, changes):
            _take(shelf, pages)
            if not self._room(user_id, shelf.catalogue.nbytes, changes):
                return None
        _apply(shelf, replace(await self._known(user_id, shelf), changes=changes, vectors=vectors))
        return self._kept_if_room(user_id, shelf, changes)

    async def for_question(
        self, user_id: str, terms: Sequence[str], embedder: Embedder | None, vector: bytes | None
    ) -> Shelf:
        """A shelf for one question: what has its words, what is nearest in meaning, and what was said around that."""
        store, shelf = self._parts.store, self._empty(None if vector is None else embedder)
        found = await store.find_words(user_id, terms, _MATCHES)
        matches = [match for match in found.matches if isinstance(match, Message)]
        if shelf.embedder is not None and vector is not None:
            near = await store.nearest(user_id, shelf.embedder, vector, _NEAREST)
            matches += await store.messages_by_id(near)
        wanted: dict[str, set[int]] = {}
        for match in matches:
            around = range(max(1, match.seq - _AROUND), match.seq + _AROUND + 1)
            wanted.setdefault(match.session_id, set()).update(around)
        messages = [
            (session_id, await store.messages(session_id, span))
            for session_id, places in wanted.items()
            for span in _spans(places)
        ]
        _apply(shelf, replace(await self._known(user_id, shelf), messages=messages))
        if shelf.embedder is not None:
            vectors = await store.vectors_of(user_id, shelf.embedder, shelf.catalogue.ids)
            shelf.catalogue.set_vectors({row.item_id: row.vector for row in vectors})
        shelf.catalogue.count_as(found.documents, found.frequency)
        return shelf

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

    async def _fresh(self, shelf: Shelf, read: IndexChanges) -> _Fresh:
        if read.changes.count == shelf.count:
            return _Fresh(changes=read.changes, archived=shelf.archived, vectors=read.vectors)
        messages = [page async for pages in self._pages(shelf, read.changes) for page in pages]
        return replace(_items(shelf, read), messages=messages)

    async def _pages(self, shelf: Shelf, changes: Changes) -> AsyncIterator[list[_Page]]:
        """The messages that a shelf does not have yet, so many at once that it is worth it."""
        pages: list[_Page] = []
        for session in changes.sessions:
            for first in range(shelf.read.get(session.id, 0) + 1, session.messages + 1, _PAGE):
                span = Span(first=first, last=min(first + _PAGE - 1, session.messages))
                pages.append((session.id, await self._parts.store.messages(session.id, span)))
                if sum(len(messages) for _, messages in pages) >= _PAGE:
                    yield pages
                    pages = []
        if pages:
            yield pages

    async def _known(self, user_id: str, shelf: Shelf) -> _Fresh:
        """Everything of a user but the messages."""
        known = _items(shelf, await self._parts.store.index_changes(user_id, -1, None, 0))
        return replace(known, changes=Changes(count=0, cuts=0, sessions=()))

    def _kept_if_room(self, user_id: str, shelf: Shelf, changes: Changes) -> Shelf | None:
        size = shelf.catalogue.nbytes
        if not self._room(user_id, size, changes):
            return None
        with self._lock:
            self._large.pop(user_id, None)
            self._drop(user_id)
            self._kept[user_id] = shelf
            self._sizes[user_id] = size
            self._held += size
        return shelf

    def _drop(self, user_id: str) -> None:
        if self._kept.pop(user_id, None) is not None:
            self._held -= self._sizes.pop(user_id)

    def _room(self, user_id: str, needed: int, changes: Changes) -> bool:
        """Make room for a user's shelf: those of others go, the ones not asked about for the longest time first.

        False if there can never be enough, which is noted.
        """
        with self._lock:
            if needed > self._parts.cache_bytes:
                self._drop(user_id)
                self._large[user_id] = replace(changes, sessions=())
                return False
            while self._held - self._sizes.get(user_id, 0) + needed > self._parts.cache_bytes:
                self._drop(next(user for user in self._kept if user != user_id))
            return True


def _items(shelf: Shelf, read: IndexChanges) -> _Fresh:
    """Summaries, facts and episodes that were read; a fact that is only evidence counts if the shelf has it."""
    known = [
        one
        for one in read.items or ()
        if not isinstance(one, Fact) or one.status != "evidence" or one.id in shelf.texts
    ]
    return _Fresh(changes=read.changes, known=known, archived=read.archived, vectors=read.vectors)


def _take(shelf: Shelf, pages: Sequence[_Page]) -> None:
    """Put messages on a shelf."""
    said = [message for _, messages in pages for message in messages if says_something(message)]
    shelf.catalogue.add([entry_of(message) for message in said])
    for session_id, messages in pages:
        shelf.read[session_id] = messages[-1].seq if messages else shelf.read.get(session_id, 0)


def _apply(shelf: Shelf, fresh: _Fresh) -> None:
    _take(shelf, fresh.messages)
    if fresh.known is not None:
        _apply_known(shelf, fresh.known)
    if fresh.vectors:
        shelf.catalogue.set_vectors({row.item_id: row.vector for row in fresh.vectors})
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
