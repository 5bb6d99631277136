"""Export: JSON Lines with all that is stored, the readable folder, or one session as markdown."""

import asyncio
import importlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamina.errors import InputError, NotFound
from lamina.forgetting.receipts import receipt_of
from lamina.formats import folder_write as folder
from lamina.formats import json_lines, session_file
from lamina.formats.files import PartFile
from lamina.formats.json_lines import Record, Value
from lamina.log.pages import every_message, every_opt_out, every_session, every_user, require_session
from lamina.parts import Parts, Progress
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import Message, Span
from lamina.values.opt_out import OptOut
from lamina.values.session import Milestone, Session
from lamina.values.summary import Summary

_TRIES = 5  # to read a session while nothing changes it
_MARKDOWN_MESSAGES = 10
_HEADER = 320  # characters; the counts are known at the end, when the header is written again
_KINDS = ("session", "message", "summary", "fact", "episode", "link", "milestone", "receipt", "opt_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is exported: one session, one user, one project, or everything."""

    session_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None
    embeddings: bool = False
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionData:
    """A session with what was derived from it."""

    session: Session
    summaries: Sequence[Summary]
    facts: Sequence[Fact]
    episodes: Sequence[Episode]
    milestones: Sequence[Milestone]

    @property
    def ids(self) -> frozenset[str]:
        return _ids(self.facts, self.episodes)

    @property
    def derived(self) -> list[Value]:
        return [*self.summaries, *self.facts, *self.episodes, *self.milestones]


class Export:
    """Writes memories to files."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store.for_tenant(parts.store.tenant, maintenance=True)
        self._embedder = parts.embedder

    # lines

    async def lines(self, target: Path, scope: Scope) -> int:
        """Write all that is stored as JSON Lines; returns the bytes."""
        counts: Counter[str] = Counter()
        async with PartFile(target) as file:
            await file.write(_header(counts))
            async for record in self._records(scope):
                counts[record["type"]] += 1
                await file.write(json_lines.line(record))
            await file.overwrite_start(_header(counts))
            return await file.finish()

    async def _records(self, scope: Scope) -> AsyncIterator[Record]:
        for choice in (await self._opt_outs(scope)).values():  # first, so that an import derives nothing before it
            yield json_lines.record(choice)
        async for data in self._sessions(scope):
            async for record in self._records_of(data, scope):
                yield record
        async for user_id in self._users(scope):
            own = await self._own(user_id, scope.project_id)
            vectors = await self._vectors(scope, user_id, [one.id for one in own if isinstance(one, Fact)])
            for value in own:
                yield _with_vector(value, vectors)
        if scope.session_id is None and scope.user_id is None and scope.project_id is None:
            for row in await self._store.receipts():
                yield json_lines.record(receipt_of(row))

    async def _records_of(self, data: _SessionData, scope: Scope) -> AsyncIterator[Record]:
        yield _session_record(data)
        async for message in self._messages(data.session):
            yield json_lines.record(message)
        vectors = await self._vectors(scope, data.session.user_id, sorted(data.ids))
        for value in data.derived:
            yield _with_vector(value, vectors)
        if scope.session_id is not None:
            for link in await self._links(data.session.user_id, data.ids):
                yield json_lines.record(link)

    async def _own(self, user_id: str, project_id: str | None) -> list[Value]:
        """What belongs to a user, or to a project of theirs, and to no session."""
        facts, episodes = await self._memories(user_id, project_id)
        manual = [fact for fact in facts if fact.session_id is None]
        digests = await self._store.summaries(user_id=user_id, digests=True, live=False)
        digests = [one for one in digests if project_id in {None, one.project_id}]
        among = None if project_id is None else _ids(facts, episodes)
        return [*reversed(digests), *manual, *await self._links(user_id, among)]

    async def _memories(self, user_id: str, project_id: str | None) -> tuple[list[Fact], list[Episode]]:
        """Facts and episodes of a user; of a project, its own and whatever was said in its sessions."""
        facts, episodes = await self._store.facts(user_id), await self._store.episodes(user_id)
        if project_id is None:
            return facts, episodes
        said_in = {session.id async for session in every_session(self._store, user_id, project_id=project_id)}
        return (
            [fact for fact in facts if fact.project_id == project_id or fact.session_id in said_in],
            [episode for episode in episodes if episode.session_id in said_in],
        )

    async def _vectors(self, scope: Scope, user_id: str, ids: Sequence[str]) -> dict[str, list[float]] | None:
        """The embeddings of memories, by their ids; None if they are not asked for."""
        if not scope.embeddings:
            return None
        if self._embedder is None:
            raise InputError("this memory has no embedder, so there are no embeddings to export")
        rows = await self._store.vectors(user_id, self._embedder.name, ids=ids) if ids else []
        vectors = importlib.import_module("lamina.search.vectors")
        found = vectors.unpack([row.vector for row in rows], self._embedder.dimensions)
        return {row.item_id: [round(float(x), 6) for x in one] for row, one in zip(rows, found, strict=True)}

    # the folder

    async def folder(self, target: Path, scope: Scope) -> int:
        """Write the four files of the readable folder; returns their bytes."""
        await asyncio.to_thread(target.mkdir, exist_ok=True)
        async with AsyncExitStack() as stack:
            files = {name: _ListFile(await stack.enter_async_context(PartFile(target / name))) for name in folder.FILES}
            opt_outs = await self._opt_outs(scope)
            async for data in self._sessions(scope):
                messages = [message async for message in self._messages(data.session)]
                chunks, recent = folder.chunks(data.summaries, messages)
                for number, (summary, covered) in enumerate(chunks, 1):
                    await files[folder.CHUNKS].add(folder.chunk(summary, number, covered))
                active = [fact.id for fact in data.facts if fact.status == "active"]
                item = folder.conversation(
                    data.session, recent, active, data.milestones, opt_outs.get(data.session.user_id)
                )
                await files[folder.CONVERSATIONS].add(item)
                if scope.session_id is not None:
                    await self._add_memories(files, scope, data.session.user_id, data.facts, data.episodes)
            async for user_id in self._users(scope):
                facts, episodes = await self._memories(user_id, scope.project_id)
                await self._add_memories(files, scope, user_id, facts, episodes)
            return sum([await file.finish() for file in files.values()])

    async def _add_memories(
        self,
        files: Mapping[str, "_ListFile"],
        scope: Scope,
        user_id: str,
        facts: Sequence[Fact],
        episodes: Sequence[Episode],
    ) -> None:
        ids = _ids(facts, episodes)
        is_whole = scope.session_id is None and scope.project_id is None
        links = await self._links(user_id, None if is_whole else ids)
        vectors = await self._vectors(scope, user_id, sorted(ids))
        for memory in folder.long_term(facts, links, vectors):
            await files[folder.LONG_TERM].add(memory)
        for episode in folder.episodic(episodes, links, vectors):
            await files[folder.EPISODIC].add(episode)

    # markdown

    async def markdown(self, target: Path, session_id: str) -> int:
        """Write one session as a markdown file; returns the bytes."""
        session = await require_session(self._store, session_id)
        count = session.counters.messages
        span = Span(first=max(1, count - _MARKDOWN_MESSAGES + 1), last=count)
        messages = await self._store.messages(session.id, span)
        live = await self._store.summaries(session.id)
        async with PartFile(target) as file:
            await file.write(session_file.write(session, messages, live))
            return await file.finish()

    # what there is

    async def _sessions(self, scope: Scope) -> AsyncIterator[_SessionData]:
        """The sessions with their data; progress is counted in messages."""
        total = sum([session.counters.messages async for session in self._matching(scope)]) if scope.progress else 0
        done = 0
        async for session in self._matching(scope):
            with suppress(NotFound):  # forgotten meanwhile
                yield await self._read(session.id)
            done += session.counters.messages
            if scope.progress is not None:
                scope.progress(done, total)

    async def _matching(self, scope: Scope) -> AsyncIterator[Session]:
        if scope.session_id is not None:
            yield await require_session(self._store, scope.session_id)
            return
        async for session in every_session(self._store, scope.user_id, project_id=scope.project_id):
            yield session

    async def _read(self, session_id: str) -> _SessionData:
        """A session with what was derived from it, read while nothing folded, extracted or erased."""
        store = self._store
        session = await require_session(store, session_id)
        for _ in range(_TRIES):
            data = _SessionData(
                session=session,
                summaries=await store.summaries(session.id, live=False),
                facts=await store.facts(session.user_id, session.id),
                episodes=await store.episodes(session.user_id, session.id),
                milestones=await store.milestones(session.id),
            )
            session = await require_session(store, session_id)
            if _revision(session) == _revision(data.session):
                break
        return data

    def _messages(self, session: Session) -> AsyncIterator[Message]:
        return every_message(self._store, session.id, 1, session.counters.messages)

    async def _users(self, scope: Scope) -> AsyncIterator[str]:
        """The users whose memories are all exported; with one session, only what was said in it is."""
        if scope.session_id is not None:
            return
        if scope.user_id is not None:
            yield scope.user_id
            return
        async for user_id in every_user(self._store):
            yield user_id

    async def _opt_outs(self, scope: Scope) -> dict[str, OptOut]:
        """Who of those whose memories are exported has opted out."""
        choices = {choice.user_id: choice for choice in await every_opt_out(self._store)}
        if not choices or (scope.session_id is None and scope.user_id is None and scope.project_id is None):
            return choices
        owners = {scope.user_id} if scope.user_id else {one.user_id async for one in self._matching(scope)}
        return {user_id: choice for user_id, choice in choices.items() if user_id in owners}

    async def _links(self, user_id: str, among: frozenset[str] | None) -> list[Link]:
        found = await self._store.links(user_id)
        return [link for link in found if among is None or {link.source, link.target} <= among]


class _ListFile:
    """A JSON list, written item by item."""

    def __init__(self, file: PartFile) -> None:
        self._file = file
        self._has_items = False

    async def add(self, item: dict[str, Any]) -> None:
        await self._file.write(",\n" if self._has_items else "[\n")
        await self._file.write(json.dumps(item, ensure_ascii=False, indent=2))
        self._has_items = True

    async def finish(self) -> int:
        await self._file.write("\n]\n" if self._has_items else "[]\n")
        return await self._file.finish()


def _ids(facts: Iterable[Fact], episodes: Iterable[Episode]) -> frozenset[str]:
    return frozenset([*(fact.id for fact in facts), *(episode.id for episode in episodes)])


def _with_vector(value: Value, vectors: Mapping[str, Sequence[float]] | None) -> Record:
    """A record, with the embedding of a memory that has one."""
    record = json_lines.record(value)
    vector = (vectors or {}).get(str(record.get("id")))
    return record if vector is None else {**record, json_lines.EMBEDDING: vector}


def _revision(session: Session) -> tuple[int, int, int]:
    return session.counters.version, session.counters.extracted, session.erasures


def _session_record(data: _SessionData) -> Record:
    """A session's line has the number of lines derived from it, so that a truncated file is noticed."""
    holds = {"summaries": len(data.summaries), "facts": len(data.facts), "episodes": len(data.episodes)}
    return {**json_lines.record(data.session), "holds": holds}


def _header(counts: Counter[str]) -> str:
    plurals = {"summary": "summaries"}
    record = json_lines.header(**{plurals.get(kind, f"{kind}s"): counts[kind] for kind in _KINDS})
    return json_lines.line(record).rstrip("\n").ljust(_HEADER) + "\n"
