"""Everything out: JSON Lines with all that is stored, the folder of document 001, the markdown file of document 000."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamina.errors import NotFound
from lamina.folding import layouts
from lamina.forgetting.redact import receipt_of
from lamina.formats import folder, lines
from lamina.formats.lines import Record, Value
from lamina.formats.whole_files import PartFile
from lamina.log.pages import every_message, every_session, every_user, required_session
from lamina.parts import Parts, Progress
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import Message, Span
from lamina.values.session import Milestone, Session
from lamina.values.summary import Summary

_TRIES = 5  # to read what was derived from a session while nothing changes it
_MARKDOWN_MESSAGES = 10
_HEADER = 320  # characters: the counts are known at the end, and written over the ones that stand there at first
_COUNTS = {
    "session": "sessions",
    "message": "messages",
    "summary": "summaries",
    "fact": "facts",
    "episode": "episodes",
    "link": "links",
    "milestone": "milestones",
    "receipt": "receipts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is exported: one session, one user, or everything."""

    session_id: str | None
    user_id: str | None
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A session with what was derived from it."""

    session: Session
    summaries: Sequence[Summary]
    facts: Sequence[Fact]
    episodes: Sequence[Episode]
    milestones: Sequence[Milestone]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset([*(fact.id for fact in self.facts), *(episode.id for episode in self.episodes)])

    @property
    def derived(self) -> list[Value]:
        return [*self.summaries, *self.facts, *self.episodes, *self.milestones]


class Export:
    """Writes memories to files."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store.for_maintenance()

    # lines

    async def lines(self, target: Path, scope: Scope) -> int:
        """Write all that is stored as JSON Lines; returns the bytes."""
        counts: Counter[str] = Counter()
        async with PartFile(target) as file:
            await file.write(_header(counts))
            async for record in self._records(scope):
                counts[record["type"]] += 1
                await file.write(lines.line(record))
            await file.write_first(_header(counts))
            return await file.whole()

    async def _records(self, scope: Scope) -> AsyncIterator[Record]:
        async for kept in self._sessions(scope):
            yield _session_record(kept)
            async for message in self._messages(kept.session):
                yield lines.record(message)
            for value in kept.derived:
                yield lines.record(value)
            if scope.session_id is not None:
                for link in await self._links(kept.session.user_id, kept.ids):
                    yield lines.record(link)
        async for user_id in self._users(scope):
            for value in await self._own(user_id):
                yield lines.record(value)
        if scope.session_id is None and scope.user_id is None:
            for row in await self._store.receipts():
                yield lines.record(receipt_of(row))

    async def _own(self, user_id: str) -> list[Value]:
        """What belongs to a user, and to no session."""
        told = [fact for fact in await self._store.facts(user_id) if fact.session_id is None]
        digests = await self._store.digests(user_id)
        return [*reversed(digests), *told, *await self._links(user_id, None)]

    # the folder

    async def folder(self, target: Path, scope: Scope) -> int:
        """Write the four files of document 001; returns their bytes."""
        await asyncio.to_thread(target.mkdir, exist_ok=True)
        async with AsyncExitStack() as stack:
            files = {name: _ListFile(await stack.enter_async_context(PartFile(target / name))) for name in folder.FILES}
            async for kept in self._sessions(scope):
                messages = [message async for message in self._messages(kept.session)]
                chunks, recent = folder.chunked(kept.summaries, messages)
                for number, (summary, said) in enumerate(chunks, 1):
                    await files[folder.CHUNKS].add(folder.chunk(summary, number, said))
                active = [fact.id for fact in kept.facts if fact.status == "active"]
                item = folder.conversation(kept.session, recent, active, kept.milestones)
                await files[folder.CONVERSATIONS].add(item)
                if scope.session_id is not None:
                    links = await self._links(kept.session.user_id, kept.ids)
                    await _add_memories(files, kept.facts, kept.episodes, links)
            async for user_id in self._users(scope):
                facts, episodes = await self._store.facts(user_id), await self._store.episodes(user_id)
                await _add_memories(files, facts, episodes, await self._links(user_id, None))
            return sum([await file.whole() for file in files.values()])

    # markdown

    async def markdown(self, target: Path, session_id: str) -> int:
        """Write one session as the markdown file of document 000; returns the bytes."""
        session = await required_session(self._store, session_id)
        count = session.counters.messages
        span = Span(first=max(1, count - _MARKDOWN_MESSAGES + 1), last=count)
        messages = await self._store.messages(session.id, span)
        live = await self._store.summaries(session.id)
        summary = "\n\n".join(summary.text for summary in live)
        version = max((one.version for one in live), default=0)
        async with PartFile(target) as file:
            await file.write(layouts.session_markdown(session, messages, summary, version))
            return await file.whole()

    # what there is

    async def _sessions(self, scope: Scope) -> AsyncIterator[_Kept]:
        """The sessions, one after the other; progress is told in messages."""
        total = sum([session.counters.messages async for session in self._found(scope)]) if scope.progress else 0
        done = 0
        async for session in self._found(scope):
            with suppress(NotFound):  # forgotten meanwhile
                yield await self._kept(session.id)
            done += session.counters.messages
            if scope.progress is not None:
                scope.progress(done, total)

    async def _found(self, scope: Scope) -> AsyncIterator[Session]:
        if scope.session_id is not None:
            yield await required_session(self._store, scope.session_id)
            return
        async for session in every_session(self._store, scope.user_id):
            yield session

    async def _kept(self, session_id: str) -> _Kept:
        """What was derived from a session, read while nothing folded, read or erased it."""
        store = self._store
        session = await required_session(self._store, session_id)
        for _ in range(_TRIES):
            kept = _Kept(
                session=session,
                summaries=await store.summaries(session.id, live=False),
                facts=await store.facts(session.user_id, session.id),
                episodes=await store.episodes(session.user_id, session.id),
                milestones=await store.milestones(session.id),
            )
            session = await required_session(self._store, session_id)
            if _standing(session) == _standing(kept.session):
                break
        return kept

    def _messages(self, session: Session) -> AsyncIterator[Message]:
        return every_message(self._store, session.id, 1, session.counters.messages)

    async def _users(self, scope: Scope) -> AsyncIterator[str]:
        """Whose memories are exported whole; of one session, only what was said in it is."""
        if scope.session_id is not None:
            return
        if scope.user_id is not None:
            yield scope.user_id
            return
        async for user_id in every_user(self._store):
            yield user_id

    async def _links(self, user_id: str, among: frozenset[str] | None) -> list[Link]:
        found = await self._store.links(user_id)
        return [link for link in found if among is None or {link.source, link.target} <= among]


class _ListFile:
    """A JSON list, written item by item."""

    def __init__(self, file: PartFile) -> None:
        self._file = file
        self._begun = False

    async def add(self, item: dict[str, Any]) -> None:
        await self._file.write(",\n" if self._begun else "[\n")
        await self._file.write(json.dumps(item, ensure_ascii=False, indent=2))
        self._begun = True

    async def whole(self) -> int:
        await self._file.write("\n]\n" if self._begun else "[]\n")
        return await self._file.whole()


async def _add_memories(
    files: dict[str, _ListFile], facts: Sequence[Fact], episodes: Sequence[Episode], links: Sequence[Link]
) -> None:
    for memory in folder.long_term(facts, links):
        await files[folder.LONG_TERM].add(memory)
    for episode in folder.episodic(episodes, links):
        await files[folder.EPISODIC].add(episode)


def _standing(session: Session) -> tuple[int, int, int]:
    return session.counters.version, session.counters.extracted, session.erasures


def _session_record(kept: _Kept) -> Record:
    """A session's line says how many lines of what was derived belong to it: a file that was cut is noticed."""
    holds = {"summaries": len(kept.summaries), "facts": len(kept.facts), "episodes": len(kept.episodes)}
    return {**lines.record(kept.session), "holds": holds}


def _header(counts: Counter[str]) -> str:
    record = lines.header(**{plural: counts[kind] for kind, plural in _COUNTS.items()})
    return lines.line(record).rstrip("\n").ljust(_HEADER) + "\n"
