"""The engine's verbs, awaited: what `AsyncMemory` and `Memory` offer."""

import asyncio
import importlib
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lamina.context.build import ContextBuilder
from lamina.documents.documents import Documents
from lamina.errors import InputError, LaminaError, NotFound
from lamina.folding.regenerate import Regeneration
from lamina.folding.schedule import has_work
from lamina.forgetting.forget import Forgetting
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.episodes import KEY_MOMENT, milestone_of
from lamina.knowledge.facts import Knowledge
from lamina.language.times import day_of, moment
from lamina.log.append import Ingest
from lamina.log.messages import check_text, checked_id, main_session
from lamina.log.pages import every_session, every_user, required_session
from lamina.log.window import newest_units
from lamina.maintenance.verify import Maintenance
from lamina.memory_knowledge import DEFAULT_USER, KnownVerbs
from lamina.memory_search import MEMORABLE, SearchVerbs
from lamina.parts import Parts, Progress
from lamina.profiles import Profile, profile_kept, profile_named, profile_values
from lamina.protocols.store import Reach
from lamina.search.lazy_search import Retrieval
from lamina.tracing import traced
from lamina.values.cost import Cost
from lamina.values.manifest import Context
from lamina.values.message import Added, Message, Span
from lamina.values.report import Backlog, Imported, Report, Settled, WorkerNote
from lamina.values.session import STATUSES, Conversation, Milestone, Session, Status
from lamina.values.statistics import Outline, Stats
from lamina.values.summary import Summary
from lamina.workers.loop import Worker
from lamina.workers.slots import is_gone

logger = logging.getLogger("lamina.memory")

MOST_PARTS = 1000  # of an outline
_DAYS = 366  # that stats tell of


class Engine(SearchVerbs, KnownVerbs):
    """Layered memory for conversations over the parts it is given."""

    def __init__(self, parts: Parts, *, worker: bool = True, follows: bool = False) -> None:
        """With `follows`, it works under the rules that are stored with the data, and never sets them."""
        self._parts = parts
        self._accesses = Accesses(parts)
        self._worker = Worker(parts, self._accesses)
        self._ingest = Ingest(parts, self._worker.wake, partial(has_work, parts.profile))
        self._retrieval = Retrieval(parts)
        self._context = ContextBuilder(parts, self._retrieval)
        self._maintenance = Maintenance(parts, self._worker.reader, self._worker.settle)
        self._knowledge = Knowledge(parts, self._worker.reader)
        self._consolidation = self._worker.consolidation
        self._forgetting = Forgetting(parts, self._worker.reader, self._worker.settle)
        self._worker.retention = self._forgetting.retain
        self._regeneration = Regeneration(parts, self._worker.reader)
        self._documents = Documents(
            parts, self._ingest, self._forgetting, self._worker.reader.settle, self._note_profile
        )
        self._importing = asyncio.Lock()
        self._works = worker
        self._task: asyncio.Task[None] | None = None
        self._noted = follows

    @property
    def profile(self) -> Profile:
        return self._parts.profile

    @property
    def rules(self) -> str:
        """The profile as it is stored with the data."""
        return json.dumps(profile_values(self._parts.profile), sort_keys=True, ensure_ascii=False)

    @property
    def documents(self) -> Documents:
        """Documents under names, each put in the place of what was there."""
        return self._documents

    @property
    def inline(self) -> bool:
        """Whether the verbs that only ask the store may be driven without an event loop."""
        embedder = self._parts.embedder
        return self._parts.store.inline and (embedder is None or embedder.inline)

    async def open(self) -> Self:
        """Start the embedded worker."""
        if self._works:
            await self._note_profile()
        if self._works and self._task is None:
            self._task = asyncio.create_task(self._worker.run(), name="lamina-worker")
        return self

    async def _note_profile(self) -> None:
        """Remember the profile with the data; under another one, every session and every fact is looked at again.

        Done when this memory begins to write, so that looking at a file with another profile changes nothing.
        """
        if self._noted:
            return
        self._noted = True
        known = await self._parts.store.setting("profile")
        if known != self.rules:
            if known is not None:
                await self._maintenance.follow(profile_kept(known))
            await self._parts.store.put_setting("profile", self.rules)
            if known is not None:
                logger.info("profile_changed", extra={"profile": self._parts.profile.name})
                await self._parts.store.mark_pending()

    def wind_down(self) -> None:
        """Have no more work begun; what is in hand goes on."""
        self._worker.wind_down()

    async def close(self, grace: float = 0) -> None:
        """Stop the worker and close the store; what is due stays due.

        What the worker has in hand is finished if that takes no more than `grace` seconds, else handed back.
        """
        self._works = False
        task, self._task = self._task, None
        if task is not None:
            await self._worker.ended(task, grace)
        with suppress(LaminaError):  # counts of use are no reason to fail
            await self._accesses.flush()
        await self._parts.store.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # in

    @traced("upsert_memory")
    async def add(
        self,
        messages: Any,
        *,
        user_id: str = DEFAULT_USER,
        session_id: str | None = None,
        agent_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Added:
        """Append messages (text, a chat message, or a list of them) to a session; safe once it returns."""
        await self._note_profile()
        return await self._ingest.add(
            messages,
            user_id=user_id,
            session_id=main_session(user_id) if session_id is None else session_id,
            agent_id=agent_id,
            key=idempotency_key,
        )

    # out

    @traced("search_memory")
    async def context(
        self,
        query: str | None = None,
        *,
        user_id: str = DEFAULT_USER,
        session_id: str | None = None,
        budget: int | None = None,
        profile: str | Profile | None = None,
        system: str | None = None,
        sources: Sequence[str] = (),
        at: Any = None,
        seen_from: int | None = None,
        rehearsal: bool = False,
    ) -> Context:
        """What the model should see for the next message: never above the budget, with a manifest of what and why.

        `query` is the current user message; `system` is your own system prompt; `sources` are texts of your own
        (retrieved documents) to place before the question; `at` is when it is asked, if not now; the model sees the
        session's messages from number `seen_from` on anyway, because you send them yourself. A `rehearsal` is only
        looked at: it is no use of the facts and episodes in it, and keeps nothing from fading.
        """
        chosen = self._parts.profile if profile is None else as_profile(profile)
        for name, text in (("query", query), ("system", system)):
            if text is not None:
                check_text(name, text)
        if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
            raise InputError("sources must be a list of texts")
        context = await self._context.build(
            query,
            user_id=checked_id(user_id, "user_id"),
            session_id=main_session(user_id) if session_id is None else checked_id(session_id, "session_id"),
            budget=budget,
            profile=chosen,
            system=system,
            sources=sources,
            at=None if at is None else moment(at, "at"),
            seen_from=seen_from,
        )
        if not rehearsal:
            self._accesses.note(piece.id for piece in context.manifest.items if piece.id and piece.kind in MEMORABLE)
        return context

    # sessions

    async def session(self, session_id: str) -> Session:
        return await required_session(self._parts.store, session_id)

    async def sessions(
        self,
        user_id: str | None = None,
        *,
        status: Status | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> list[Session]:
        """Sessions of a user (or of all), by id; with `limit` at most so many, with `after` those behind that id."""
        if status is not None and status not in STATUSES:
            raise InputError(f"no status {status!r}; there are {list(STATUSES)}")
        if limit is not None or after is not None:
            if limit is not None and (not isinstance(limit, int) or limit < 1):
                raise InputError(f"limit must be a whole number of at least 1, not {limit!r}")
            most = 1_000_000_000 if limit is None else limit
            return await self._parts.store.sessions(user_id=user_id, status=status, limit=most, after=after)
        return [session async for session in every_session(self._parts.store, user_id, status)]

    async def users(self) -> list[str]:
        """Everybody of whom there is a session or a fact, by id."""
        return [user_id async for user_id in every_user(self._parts.store)]

    async def conversation(self, session_id: str) -> Conversation:
        """The whole record of a session: status, turns, chunks, recent messages, facts, milestones."""
        session = await self.session(session_id)
        window = self._parts.profile.window
        reach = Reach(messages=window.size, turns=window.size, tokens=self._parts.profile.budget)
        view = await self._parts.store.view(session.user_id, session_id, reach)
        recent = newest_units(view.tail, window.unit, window.size)
        return Conversation(
            session=session,
            chunks=view.summaries,
            recent=tuple(message for unit in recent for message in unit),
            active_facts=tuple(await self.facts(session.user_id, session_id=session_id)),
            milestones=tuple(await self._milestones(session)),
        )

    async def _milestones(self, session: Session) -> list[Milestone]:
        """What was marked by hand, and the episodes that mattered most."""
        marked = await self._parts.store.milestones(session.id)
        found = await self._parts.store.episodes(session.user_id, session.id)
        moments = [milestone_of(episode) for episode in found if episode.significance >= KEY_MOMENT]
        return sorted((*marked, *moments), key=lambda one: (one.turn, one.created_at, one.id))

    async def messages(self, session_id: str, first: int = 1, last: int | None = None) -> list[Message]:
        """Messages of a session by sequence number, first and last included."""
        session = await self.session(session_id)
        end = session.counters.messages if last is None else last
        if not isinstance(first, int) or not isinstance(end, int):
            raise InputError(f"first and last are message numbers, not {first!r} and {last!r}")
        return await self._parts.store.messages(session_id, Span(first=first, last=end))

    async def message(self, message_id: str) -> Message:
        found = await self._parts.store.message(message_id)
        if found is None:
            raise NotFound(f"no message {message_id!r}")
        return found

    async def end(self, session_id: str, outcome: str | None = None, *, expect: str | None = None) -> Session:
        """End a session: it gets its final summary and feeds the user's digest. `outcome` becomes a milestone."""
        session = await self._set_status(session_id, "ended", expect)
        if outcome:
            await self.milestone(session_id, outcome)
        return session

    async def pause(self, session_id: str, *, expect: str | None = None) -> Session:
        return await self._set_status(session_id, "paused", expect)

    async def resume(self, session_id: str, *, expect: str | None = None) -> Session:
        """Make a paused, ended or archived session active again."""
        return await self._set_status(session_id, "active", expect)

    async def archive(self, session_id: str, *, expect: str | None = None) -> Session:
        return await self._set_status(session_id, "archived", expect)

    async def _set_status(self, session_id: str, status: Status, expect: str | None) -> Session:
        session = await self._parts.store.set_status(session_id, status, self._parts.now(), expect)
        self._worker.wake()
        return session

    async def milestone(self, session_id: str, title: str) -> Milestone:
        """Mark this point of a session with a title."""
        check_text("title", title)
        if not title.strip():
            raise InputError("a milestone needs a title")
        session = await self.session(session_id)
        milestone = Milestone(
            id=self._parts.new_id("mile"),
            session_id=session_id,
            turn=session.counters.turns,
            title=title,
            created_at=self._parts.now(),
        )
        await self._parts.store.add_milestone(milestone)
        return milestone

    # layers

    async def summaries(self, session_id: str, *, live: bool = True) -> list[Summary]:
        """The summaries of a session in order; with live=False also those that were folded into others."""
        await self.session(session_id)
        return await self._parts.store.summaries(session_id, live=live)

    async def outline(self, session_id: str, parts: int = 200) -> Outline:
        """A session as strata, without its words: its log in at most so many parts, and every summary above it."""
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
            raise InputError(f"parts must be a whole number from 1 to {MOST_PARTS}, not {parts!r}")
        return await self._parts.store.outline(session_id, parts)

    async def zoom(self, summary_id: str) -> list[Message]:
        """The raw messages that a summary covers."""
        summary = await self._parts.store.summary(summary_id)
        if summary is None or summary.session_id is None or summary.covers is None:
            raise NotFound(f"no summary {summary_id!r} over messages")
        return await self._parts.store.messages(summary.session_id, summary.covers)

    async def digest(self, user_id: str = DEFAULT_USER) -> Summary | None:
        """What a new session of this user hears of the last ones."""
        found = await self._parts.store.digests(user_id)
        return found[0] if found else None

    async def settle(
        self, timeout: float | None = None, *, session_id: str | None = None, progress: Progress | None = None
    ) -> Settled:
        """Wait until nothing is due: every fold made, every digest written.

        With a `session_id`, only until what was said there was read for facts.
        """
        await self._note_profile()
        if session_id is not None:
            return await self._worker.settle_facts(session_id, timeout)
        return await self._worker.settle(timeout, progress)

    async def lag(self) -> int:
        """How many sessions wait for a worker to look whether something is due."""
        return await self._parts.store.pending()

    async def costs(self, since: Any = None) -> list[Cost]:
        """What language models have cost, by day (UTC), purpose and model; `since`: from that day on."""
        return await self._parts.store.costs(None if since is None else day_of(moment(since, "since")))

    async def stats(self, user_id: str | None = None) -> Stats:
        """How much there is of everything, of a user or of all, and how it grew by day (UTC)."""
        whose = None if user_id is None else checked_id(user_id, "user_id")
        return await self._parts.store.for_maintenance().stats(whose, days=_DAYS)

    # workers

    async def backlog(self) -> Backlog:
        """What there is to do for workers: what is due, in work, failing or set aside, and who has no vectors yet."""
        embedder = self._parts.embedder
        return await self._parts.store.backlog(self._parts.now(), None if embedder is None else embedder.name)

    async def workers(self) -> list[WorkerNote]:
        """The workers of this memory, in whichever process, and what each is at."""
        notes = await self._parts.store.workers()
        return [replace(note, alive=not is_gone(self._parts, note)) for note in notes]

    async def retry(self, session_id: str | None = None) -> int:
        """Have a session that was set aside, or all of them, be worked on again; how many there were."""
        if session_id is not None:
            await self.session(session_id)
        freed = await self._parts.store.retry(session_id)
        self._worker.wake()
        return freed

    # keeping house

    async def verify(self, session_id: str | None = None, *, progress: Progress | None = None) -> Report:
        """Check that everything stored is whole; changes nothing."""
        return await self._maintenance.verify(session_id, progress)

    async def repair(self, session_id: str | None = None, *, progress: Progress | None = None) -> Report:
        """Make anew what is derived and damaged; the report says what was mended and what cannot be."""
        return await self._maintenance.repair(session_id, progress)

    async def export(
        self,
        path: str | Path,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write all, or what is of a session or user, to a .jsonl file, a folder, or (one session) a .md file."""
        size: int = await self._transfer().write(Path(path), session_id, user_id, progress)
        return size

    async def import_(
        self, path: str | Path, *, user_id: str | None = None, whole: bool = False, progress: Progress | None = None
    ) -> Imported:
        """Read what `export` wrote, or chats and memories of other tools; what is here already is left as it is.

        A record that is wrong ends it, with all before it imported; with `whole`, all are looked at first, and
        nothing is imported unless every one is right (`BadRecords` has those that are not).
        """
        await self._note_profile()
        async with self._importing, self._resting():
            taken: Imported = await self._transfer().read(Path(path), user_id, progress, whole=whole)
        return taken

    def _transfer(self) -> Any:
        """Loaded when it is needed: the formats of other tools would be a good part of the time of `import lamina`."""
        return importlib.import_module("lamina.formats.transfer").Transfer(self._parts, self._worker.reader)

    @asynccontextmanager
    async def _resting(self) -> AsyncIterator[None]:
        """Have the worker rest: what it would make anew of a session may be in the file that is being read."""
        task, self._task = self._task, None
        if task is not None:
            await self._worker.ended(task)
        try:
            yield
        finally:
            if task is not None and self._works:
                self._task = asyncio.create_task(self._worker.run(), name="lamina-worker")


def as_profile(profile: str | Profile) -> Profile:
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, str):
        return profile_named(profile)
    raise InputError(f"profile must be a name or a Profile, not {type(profile).__name__}")


async def close_all(engines: dict[str, Engine], grace: float = 0) -> None:
    """Close engines at once, each with so many seconds for what it has in hand; none is left in the table."""
    held = [*engines.values()]
    engines.clear()
    await asyncio.gather(*(engine.close(grace) for engine in held))
