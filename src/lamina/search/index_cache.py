"""The indexes of users, kept at hand: read once, then only what has changed."""

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lamina.knowledge.conflicts import by_importance
from lamina.knowledge.fact_words import names
from lamina.log.erased import says_something
from lamina.parts import Parts, beside_loop, on_loop
from lamina.protocols.models import Embedder
from lamina.protocols.store import Changes, VectorRow
from lamina.search.fact_table import FactTable
from lamina.search.hit_cache import HitCache, size_of
from lamina.search.index import Index, entry_of, hash_words, marks_of
from lamina.values.fact import Episode, Fact
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

_Page = tuple[str, list[Message]]  # of a session

_PAGE = 2_000  # messages that are read at once
_LARGE = 100_000  # characters of new messages beyond which their words are read beside the event loop
_PAUSE = 0.001  # seconds until an index that is being added to is asked for again
_TRIES = 5
_MATCHES = 150  # messages with words of a question, of a user who has more than can be kept
_NEAREST = 100  # the same, by meaning
_AROUND = 3  # messages before and after each
_WIDER = (1, 8, 64)  # times as many are read, while most of them say the same
_COPIES = 3  # messages with the same words around which others are read


class Standing(NamedTuple):
    """The facts of a user that may be true, as of a `derived` count of changes, the most important first."""

    at: int
    facts: tuple[Fact, ...]
    shown: dict[tuple[str, str], Any]  # layout and fact -> how a context shows it; filled in use


@dataclass(slots=True)
class UserIndex:
    """A user's index and how far it has been read."""

    index: Index
    embedder: str | None
    count: int = 0
    cuts: int = 0
    place: int = 0
    read: dict[str, int] = field(default_factory=dict)  # session -> messages read
    items: dict[str, Fact | Episode | Summary] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    fact_table: FactTable = field(default_factory=lambda: FactTable(()))
    standing: Standing | None = None
    episodes: dict[str, Episode] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # of the items
    hits: HitCache = field(default_factory=HitCache)
    names: tuple[str, ...] = ()  # of the user
    archived: frozenset[str] = frozenset()  # sessions
    projects: Mapping[str, str] = field(default_factory=dict)  # session -> its project
    lock: Any = field(default_factory=threading.Lock)

    @property
    def nbytes(self) -> int:
        """What it takes, with the most that the hits may come to take."""
        return self.index.nbytes + size_of(len(self.index), int(self.index.size.all.sum()))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Hold the lock; what else is on the event loop goes on while another thread has it."""
        while not self.lock.acquire(blocking=not on_loop()):  # noqa: ASYNC110 - threads and other loops share it
            await asyncio.sleep(_PAUSE)
        try:
            yield
        finally:
            self.lock.release()

    def take(self, pages: Sequence[_Page], changes: Changes, since: int) -> bool:
        """Take over what is new since a count of changes; False if others did so in the meantime."""
        if self.count != since:
            return False
        self.add_messages(pages)
        if changes.items is not None:
            self.set_items(changes)
        self.add_vectors(changes.vectors)
        self.count = changes.count
        return True

    def take_alone(self, pages: Sequence[_Page], changes: Changes, since: int) -> bool:
        """The same for another thread than that of the event loop, which may wait."""
        with self.lock:
            return self.take(pages, changes, since)

    def add_messages(self, pages: Sequence[_Page]) -> None:
        self.index.add([entry_of(one) for _, messages in pages for one in messages if says_something(one)])
        for session_id, messages in pages:
            self.read[session_id] = messages[-1].seq if messages else self.read.get(session_id, 0)

    def add_vectors(self, vectors: Sequence[VectorRow]) -> None:
        if vectors:
            self.index.set_vectors({row.item_id: row.vector for row in vectors})
            self.place = vectors[-1].place

    def set_items(self, read: Changes) -> None:
        """Take over all summaries, facts and episodes; a fact that is only evidence counts if it was there before."""
        items = [
            one
            for one in read.items or ()
            if not isinstance(one, Fact) or one.status != "evidence" or one.id in self.texts
        ]
        entries = [entry_of(item) for item in items]
        texts = {entry.id: entry.text for entry in entries}
        self.index.remove(gone for gone in self.texts if gone not in texts)
        self.index.add(entry for entry in entries if self.texts.get(entry.id) != entry.text)
        self.index.note(entries)
        self.texts = texts
        self.items = {item.id: item for item in items}
        self.facts = {item.id: item for item in items if isinstance(item, Fact)}
        self.fact_table = FactTable(self.facts.values())
        may_be_true = (fact for fact in self.facts.values() if fact.status in {"active", "conflicted"})
        self.standing = Standing(read.derived, tuple(sorted(may_be_true, key=by_importance)), {})
        self.episodes = {item.id: item for item in items if isinstance(item, Episode)}
        self.summaries = {item.id: item for item in items if isinstance(item, Summary)}
        self.index.mark(marks_of(self.facts.values()))
        self.names = names(self.facts.values())
        self.archived, self.projects = read.archived, read.projects


class IndexCache:
    """The indexes of the users who were asked about last, within a bound of memory."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept: OrderedDict[str, UserIndex] = OrderedDict()
        self._sizes: dict[str, int] = {}  # of those that are kept
        self._used = 0  # their sum
        self._large: dict[str, Changes] = {}  # users who had more than can be kept, when their changes were these
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(user.nbytes for user in self._kept.values())

    def standing_facts(self, user_id: str) -> Standing | None:
        """The facts of a user that may be true, if they are kept."""
        with self._lock:
            user = self._kept.get(user_id)
        return None if user is None else user.standing

    async def get(self, user_id: str, embedder: Embedder | None) -> UserIndex | None:
        """A user's index as it is now; None if there is more than can be kept at hand."""
        with self._lock:
            user = self._kept.get(user_id)
        if user is None or user.embedder != (embedder.name if embedder else None):
            return await self._read(user_id, embedder)
        for _ in range(_TRIES):
            since = user.count
            changes = await self._parts.store.changes(
                user_id, since, items=True, embedder=user.embedder, after=user.place
            )
            if changes.cuts != user.cuts:  # words were taken away: all is read again
                return await self._read(user_id, embedder)
            if changes.count == since and not changes.vectors:
                with self._lock:
                    if self._kept.get(user_id) is user:
                        self._kept.move_to_end(user_id)
                        return user
            pages = [page async for some in self._pages(user, changes) for page in some]
            if await self._take(user, pages, changes, since):
                break
        return self._keep(user_id, user, changes)

    async def _take(self, user: UserIndex, pages: Sequence[_Page], changes: Changes, since: int) -> bool:
        if _is_large(pages) and on_loop():
            return await beside_loop(lambda: user.take_alone(pages, changes, since))
        async with user.alone():
            return user.take(pages, changes, since)

    async def _read(self, user_id: str, embedder: Embedder | None) -> UserIndex | None:
        """A user's index, read page by page; None as soon as there is more than can be kept at hand."""
        store, user = self._parts.store, self._empty(embedder)
        with self._lock:
            large = self._large.get(user_id)
        if large and large.cuts == (await store.changes(user_id, large.count)).cuts:  # what was too much only grew
            return None
        changes = await store.changes(user_id, 0)
        min_bytes = user.index.min_bytes(sum(session.messages for session in changes.sessions))
        if not self._make_room(user_id, min_bytes, changes):
            return None
        # items and vectors as of one moment; all messages that they are of are read after them
        changes = await store.changes(user_id, -1, items=True, embedder=user.embedder, after=user.place)
        async for pages in self._pages(user, changes):
            await _add(user, pages)
            if not self._make_room(user_id, user.nbytes, changes):
                return None
        user.set_items(changes)
        user.add_vectors(changes.vectors)
        user.count, user.cuts = changes.count, changes.cuts
        return self._keep(user_id, user, changes)

    async def for_question(
        self, user_id: str, terms: Sequence[str], embedder: Embedder | None, vector: bytes | None
    ) -> UserIndex:
        """An index for one question: what has its words, what is nearest in meaning, and what was said around that."""
        store, user = self._parts.store, self._empty(None if vector is None else embedder)
        for limit in (_MATCHES * times for times in _WIDER):  # until there are enough that say different things
            found = await store.find_words(user_id, terms, limit)
            matches = [match for match in found.matches if isinstance(match, Message)]
            if len(matches) < limit or _different(matches) >= _MATCHES // 2:
                break
        if user.embedder is not None and vector is not None:
            for limit in (_NEAREST * times for times in _WIDER):
                near = await store.messages(ids=await store.nearest(user_id, user.embedder, vector, limit))
                if len(near) < limit or _different(near) >= _NEAREST // 2:
                    break
            matches += near
        pages = await self._pages_around(matches)
        items = await store.changes(user_id, -1, items=True)
        await _add(user, pages)
        user.set_items(items)
        if user.embedder is not None:
            vectors = await store.vectors(user_id, user.embedder, ids=user.index.ids)
            user.index.set_vectors({row.item_id: row.vector for row in vectors})
        user.index.words.count_as(found.documents, found.frequency)
        return user

    async def _pages_around(self, matches: Sequence[Message]) -> list[_Page]:
        """Messages in their order, with those around them; around the same words, a few times only."""
        wanted: dict[str, set[int]] = {}
        read: dict[str, dict[int, Message]] = {}
        copies: Counter[int] = Counter()
        for match in matches:
            read.setdefault(match.session_id, {})[match.seq] = match
            copies[words := hash_words(entry_of(match))] += 1
            if copies[words] <= _COPIES:
                around = range(max(1, match.seq - _AROUND), match.seq + _AROUND + 1)
                wanted.setdefault(match.session_id, set()).update(around)
        for session_id, places in wanted.items():
            for span in _spans(places):
                read[session_id] |= {one.seq: one for one in await self._parts.store.messages(session_id, span)}
        return [(session_id, [found[seq] for seq in sorted(found)]) for session_id, found in read.items()]

    def _empty(self, embedder: Embedder | None) -> UserIndex:
        lexicon = self._parts.lexicon
        dimensions = embedder.dimensions if embedder else lexicon.dimensions
        index = Index(dimensions, lexicon.word_vectors, lexicon.dimensions)
        return UserIndex(index=index, embedder=embedder.name if embedder else None)

    async def _pages(self, user: UserIndex, changes: Changes) -> AsyncIterator[list[_Page]]:
        """The messages that an index does not have yet, so many at once that it is worth it."""
        pages: list[_Page] = []
        for session in changes.sessions:
            for first in range(user.read.get(session.id, 0) + 1, session.messages + 1, _PAGE):
                span = Span(first=first, last=min(first + _PAGE - 1, session.messages))
                pages.append((session.id, await self._parts.store.messages(session.id, span)))
                if sum(len(messages) for _, messages in pages) >= _PAGE:
                    yield pages
                    pages = []
        if pages:
            yield pages

    def _keep(self, user_id: str, user: UserIndex, changes: Changes) -> UserIndex | None:
        size = user.nbytes
        if not self._make_room(user_id, size, changes):
            return None
        with self._lock:
            self._large.pop(user_id, None)
            self._drop(user_id)
            self._kept[user_id] = user
            self._sizes[user_id] = size
            self._used += size
        return user

    def _drop(self, user_id: str) -> None:
        if self._kept.pop(user_id, None) is not None:
            self._used -= self._sizes.pop(user_id)

    def _make_room(self, user_id: str, needed: int, changes: Changes) -> bool:
        """Drop indexes of others, the ones not asked about for the longest time first.

        False if there can never be enough, which is noted.
        """
        with self._lock:
            if needed > self._parts.cache_bytes:
                self._drop(user_id)
                self._large[user_id] = Changes(count=changes.count, cuts=changes.cuts)
                return False
            while self._used - self._sizes.get(user_id, 0) + needed > self._parts.cache_bytes:
                self._drop(next(user for user in self._kept if user != user_id))
            return True


async def _add(user: UserIndex, pages: Sequence[_Page]) -> None:
    """Add messages to an index that nobody else has yet."""
    if _is_large(pages):
        await beside_loop(lambda: user.add_messages(pages))
    else:
        user.add_messages(pages)


def _is_large(pages: Sequence[_Page]) -> bool:
    return sum(len(message.text) for _, messages in pages for message in messages) > _LARGE


def _different(messages: Sequence[Message]) -> int:
    """How many different things are said."""
    return len({hash_words(entry_of(message)) for message in messages})


def _spans(places: set[int]) -> list[Span]:
    """Places in a session as stretches."""
    spans: list[Span] = []
    for place in sorted(places):
        if spans and place == spans[-1].last + 1:
            spans[-1] = Span(first=spans[-1].first, last=place)
        else:
            spans.append(Span(first=place, last=place))
    return spans
