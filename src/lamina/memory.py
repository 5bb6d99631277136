"""The verbs of a memory, awaited. `Memory` (in blocking.py) has the same ones, blocking."""

import asyncio
import functools
import importlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from lamina.context.build import ContextBuilder
from lamina.documents.documents import Documents
from lamina.errors import PICKLED, InputError, LaminaError, NotFound
from lamina.folding import layouts
from lamina.folding.regenerate import Regeneration
from lamina.forgetting import receipts
from lamina.forgetting.forget import Forgetting, Plan
from lamina.forgetting.opt_out import OptOuts
from lamina.forgetting.retention import Retention
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.episodes import key_moments, milestone_of
from lamina.knowledge.facts import Knowledge
from lamina.knowledge.told import check_told
from lamina.language.times import day_of, moment
from lamina.log.append import Ingest
from lamina.log.conversations import Conversations
from lamina.log.default_user import resolve_user
from lamina.log.messages import EVERY_PROJECT, check_id, check_project_id, check_text, check_title, main_session
from lamina.log.pages import every_session, every_user, require_session, single
from lamina.log.window import newest_units
from lamina.maintenance.verify import Maintenance
from lamina.open import Llm, Options, copy_store, current_time, how_to_dump, open_store, shown_place
from lamina.parts import Parts, Patience, Progress
from lamina.profiles import Profile, profile_kept, profile_values
from lamina.protocols.models import Embedder, EpisodeExtractor, Extractor, Prompt, Summariser, TokenCounter
from lamina.protocols.store import Reach
from lamina.search.filters import HIT_KINDS, as_filter, as_span, as_words, build_request, one_of
from lamina.search.lazy_search import LazySearch
from lamina.tracing import span
from lamina.values.cost import Cost
from lamina.values.fact import (
    EPISODE_KINDS,
    Arc,
    Consolidated,
    Episode,
    EpisodeKind,
    Fact,
    FactType,
    Fading,
    Graph,
    Link,
    Remembered,
    UserProfile,
    Why,
)
from lamina.values.hit import Explained, Hit
from lamina.values.manifest import Context
from lamina.values.message import Added, Limits, Message, Span
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt
from lamina.values.report import Backlog, Backup, Copied, FoldDone, Imported, Report, Settled, WorkerNote
from lamina.values.session import STATUSES, Brief, Conversation, Milestone, Session, Status
from lamina.values.statistics import Outline, Stats
from lamina.values.summary import Divergence, Proposal, Summary
from lamina.workers.loop import Worker
from lamina.workers.slots import is_gone

logger = logging.getLogger("lamina.memory")

MAX_PARTS = 1000  # of an outline
_BRIEF = 100  # messages among which the last reply of a brief is looked for
_DAYS = 366  # of growth in stats
_COUNTED = frozenset(("fact", "episode"))  # kinds of things whose use is counted

M = TypeVar("M")
P = ParamSpec("P")


def _refuse_unknown(init: Callable[Concatenate[M, P], None]) -> Callable[Concatenate[M, P], None]:
    """Answer options that do not exist with those that do."""
    known = sorted(init.__kwdefaults__ or ())

    @functools.wraps(init)
    def check(self: M, /, *args: P.args, **options: P.kwargs) -> None:
        if unknown := sorted(set(options) - {*known, "location"}):
            raise InputError(f"unknown options {unknown}; there are {known}")
        init(self, *args, **options)

    return check


class AsyncMemory:
    """Layered memory for conversations, awaited.

    `location` is a path, ':memory:', a sqlite:/// or a postgresql:// URL. Use it as
    `async with AsyncMemory("chat.db") as memory:`, or call `open` and `close`.
    """

    @_refuse_unknown
    def __init__(
        self,
        location: str | Path = "lamina.db",
        *,
        profile: str | Profile | None = None,
        tenant: str = "default",
        llm: Llm | None = None,
        summariser: Summariser | None = None,
        extractor: Extractor | None = None,
        episode_extractor: EpisodeExtractor | None = None,
        embedder: Embedder | Llm | str = "auto",
        minilm_path: str | Path | None = None,
        counter: TokenCounter | None = None,
        worker: bool = True,
        durable: bool = False,
        cache_mb: int = 256,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        patience: Patience = Patience(),  # noqa: B008 - frozen
        now: Callable[[], datetime] = current_time,
        on_fold: Callable[[FoldDone], None] | None = None,
    ) -> None:
        """What may be chosen; everything has a default.

        - `profile`: how it folds and fills contexts, by name or as a value. None: the one that the file was last
          opened with, else `default`.
        - `tenant`: whose part of the store it is.
        - `llm`: writes summaries, finds facts and episodes, as its `use` says. None: all offline.
        - `summariser`, `extractor`, `episode_extractor`: models of your own for summaries, facts and episodes.
        - `embedder`: "static", "minilm", an endpoint, or one of your own; "none": words alone are searched. "auto":
          MiniLM if `lamina[minilm]` is installed, else static.
        - `minilm_path`: folder or file of MiniLM's weights, for "minilm". None: an installed package has them.
        - `counter`: counts tokens. None: exact.
        - `worker`: fold in the background of this process.
        - `durable`: wait for the disk at each append, which survives power loss too.
        - `cache_mb`: memory for search indexes.
        - `limits`: of what a message may be; `patience`: how long to wait for models and other workers.
        - `now`: gives the time, with its zone; `on_fold`: is called after each fold of this process.
        """
        self._location: str | Path | None = location
        self._options = Options(
            profile=profile,
            tenant=tenant,
            llm=llm,
            summariser=summariser,
            extractor=extractor,
            episode_extractor=episode_extractor,
            embedder=embedder,
            minilm_path=minilm_path,
            counter=counter,
            worker=worker,
            durable=durable,
            cache_mb=cache_mb,
            limits=limits,
            patience=patience,
            now=now,
            on_fold=on_fold,
        )
        self._resources = AsyncExitStack()  # what `close` closes besides the store
        self._works = worker
        self._task: asyncio.Task[None] | None = None
        self._is_target = False  # of a copy

    @classmethod
    def from_parts(cls, parts: Parts, *, worker: bool = True, follows: bool = False) -> Self:
        """A memory over a store that is open, such as that of one tenant of many.

        With `follows`, it works under the rules that are stored with the data, and never sets them.
        """
        memory = cls(tenant=parts.store.tenant, worker=worker)
        memory._location = None
        memory._build(parts, follows=follows)
        return memory

    def _build(self, parts: Parts, *, follows: bool = False) -> None:
        self._parts = parts
        self._accesses = Accesses(parts)
        self._worker = Worker(parts, self._accesses)
        self._ingest = Ingest(parts, self._worker.wake)
        self._search = LazySearch(parts)
        self._contexts = ContextBuilder(parts, self._search, self._accesses)
        self._maintenance = Maintenance(parts, self._worker.reader, self._worker.settle)
        self._knowledge = Knowledge(parts, self._worker.reader)
        self._consolidation = self._worker.consolidation
        self._forgetting = Forgetting(parts, self._worker.reader, self._worker.settle_sessions)
        self._opt_outs = OptOuts(parts, self._worker.reader, self._forgetting)
        self._retention = Retention(parts, self._forgetting)
        self._worker.retention = self._retention.run
        self._regeneration = Regeneration(parts, self._worker.reader)
        self._documents = Documents(parts, self._ingest, self._forgetting, self._worker.reader.rule, self._note_profile)
        self._importing = asyncio.Lock()
        self._noted = follows

    if not TYPE_CHECKING:  # to type checkers, a misspelt verb is an error

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") and not name.startswith("__"):  # what `open` would have set
                raise LaminaError("this memory is not open; use `async with AsyncMemory(...)` or `await memory.open()`")
            raise AttributeError(name)

    def __repr__(self) -> str:
        return f"AsyncMemory({self._place!r}, tenant={self._options.tenant!r})"

    def __reduce__(self) -> str:
        raise LaminaError(PICKLED)

    @property
    def _place(self) -> str:
        """The location, without a password or parameters."""
        return shown_place(self._location)

    async def open(self) -> Self:
        """Open the store and start the embedded worker."""
        try:
            if self._location is not None:
                opened = await self._resources.enter_async_context(open_store(self._location, self._options))
                self._build(await opened.parts(opened.store, self._options.profile, unfinished=self._is_target))
            if self._works:
                await self._note_profile()
                self._task = self._task or asyncio.create_task(self._worker.run(), name="lamina-worker")
        except BaseException:
            await self._resources.aclose()
            raise
        return self

    @property
    def profile(self) -> Profile:
        return self._parts.profile

    @property
    def tenant(self) -> str:
        """Whose memory it is."""
        return self._parts.store.tenant

    @property
    def rules(self) -> str:
        """The profile as it is stored with the data."""
        return json.dumps(profile_values(self._parts.profile), sort_keys=True, ensure_ascii=False)

    @property
    def contexts(self) -> ContextBuilder:
        """Contexts with their blocks, for interfaces that place these themselves."""
        return self._contexts

    @property
    def conversations(self) -> Conversations:
        """Finds the session of a client that names none."""
        return Conversations(self._parts)

    @property
    def documents(self) -> Documents:
        """Documents under names, each put in the place of what was there."""
        return self._documents

    @property
    def inline(self) -> bool:
        """Whether the verbs that only ask the store may be driven without an event loop."""
        embedder = self._parts.embedder
        return self._parts.store.inline and (embedder is None or embedder.inline)

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
                await self._parts.store.requeue()

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
            await self._worker.stop(task, grace)
        with suppress(LaminaError):  # counts of use are no reason to fail
            await self._accesses.flush()
        await self._parts.store.close()
        await self._resources.aclose()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # messages in

    async def resolve_user(self, user_id: str | None = None) -> str:
        """Whose memory a verb means by this `user_id`: without one `default`, if there is no other user here."""
        return await resolve_user(self._parts.store, user_id)

    async def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        project_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Added:
        """Append messages (text, a chat message, or a list of them) to a session; safe once it returns.

        A new session belongs to the project `project_id`, or to none; later messages need not name it.
        """
        with span("upsert_memory", "add", self.tenant):
            await self._note_profile()
            owner = await self.resolve_user(user_id)
            append = await self._ingest.prepare(
                messages,
                user_id=owner,
                session_id=main_session(owner, project_id=project_id) if session_id is None else session_id,
                agent_id=agent_id,
                project_id=project_id,
                key=idempotency_key,
            )
            await self._ingest.check_owner(append)
            return self._ingest.finish(append, await self._parts.store.append(append))

    # context and search

    async def context(
        self,
        query: str | None = None,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        project_id: str | None = None,
        budget: int | None = None,
        profile: str | Profile | None = None,
        system: str | None = None,
        sources: Sequence[str] = (),
        at: Any = None,
        seen_from: int | None = None,
        mode: str = "active",
        record_access: bool = True,
    ) -> Context:
        """What the model should see for the next message: never above the budget, with a manifest of what and why.

        `query` is the current user message; `system` is your own system prompt; `sources` are texts of your own
        (retrieved documents) to place before the question; `at` is when it is asked, if not now; the model sees the
        session's messages from number `seen_from` on anyway, because you send them yourself. With mode="passive", it
        is the recent conversation alone: no facts, no summaries, nothing retrieved. With record_access=False, the
        facts and episodes in it do not count as used, which would keep them from fading. What is recalled is of no
        project or of the session's; with `project_id`, of that one, or of all ("*").
        """
        built = await self._contexts.build(
            query,
            user_id=await self.resolve_user(user_id),
            session_id=session_id,
            project_id=project_id,
            budget=budget,
            profile=profile,
            system=system,
            sources=sources,
            at=at,
            seen_from=seen_from,
            mode=mode,
            record_access=record_access,
        )
        return built.context

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        context: str | None = None,
        top_k: int = 10,
        explain: bool = False,
        kinds: Sequence[str] = HIT_KINDS,
        types: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_importance: float = 0.0,
        session_id: str | None = None,
        role: str | None = None,
        as_of: Any = None,
        archived: bool = False,
        weights: Mapping[str, float] | None = None,
        semantic: str | None = None,
        min_score: float = 0.0,
        at: Any = None,
    ) -> list[Hit]:
        """Messages, summaries, facts and episodes that answer the query, best first.

        Without `project_id`, what belongs to no project; with it, also what belongs to that one, or to any ("*").
        `context` is text of the current conversation: hits that fit it come higher, nothing is left out for it.
        `explain` adds the parts of the scores. `at` is when it is asked, if not now: "last week" is counted from
        there. `weights` are those of the weighted sum (semantic, keyword, recency, importance, access) for this
        query; with semantic="tfidf", their semantic part compares TF-IDF terms, not vectors. `min_score` leaves out
        what is less likely to answer. The rest are filters: kinds of hits; types,
        categories, tags and least importance of facts (with one of the first three, only facts are found); times; a
        session; the role of messages; facts that held at `as_of`; and `archived`: also archived facts and what is in
        archived sessions.
        """
        with span("search_memory", "search", self.tenant):
            request = build_request(
                query,
                self.profile,
                user_id=await self.resolve_user(user_id),
                project_id=project_id,
                context=context,
                top_k=top_k,
                kinds=kinds,
                types=types,
                categories=categories,
                tags=tags,
                since=since,
                until=until,
                min_importance=min_importance,
                session_id=session_id,
                role=role,
                as_of=as_of,
                archived=archived,
                weights=weights,
                semantic=semantic,
                min_score=min_score,
                at=at,
            )
            hits = [*(await self._search.explain(request)).hits]
            self._accesses.note(hit.id for hit in hits if hit.kind in _COUNTED)
            return hits if explain else [replace(hit, parts={}) for hit in hits]

    async def search_explained(
        self,
        query: str,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        context: str | None = None,
        top_k: int = 10,
        kinds: Sequence[str] = HIT_KINDS,
        types: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_importance: float = 0.0,
        session_id: str | None = None,
        role: str | None = None,
        as_of: Any = None,
        archived: bool = False,
        weights: Mapping[str, float] | None = None,
        semantic: str | None = None,
        min_score: float = 0.0,
        at: Any = None,
    ) -> Explained:
        """A search with how it went: also hits below the least score, with their parts, the counts and the times.

        The arguments are those of `search`. Looking at it is no use of what is found.
        """
        with span("search_memory", "search_explained", self.tenant):
            request = build_request(
                query,
                self.profile,
                user_id=await self.resolve_user(user_id),
                project_id=project_id,
                context=context,
                top_k=top_k,
                kinds=kinds,
                types=types,
                categories=categories,
                tags=tags,
                since=since,
                until=until,
                min_importance=min_importance,
                session_id=session_id,
                role=role,
                as_of=as_of,
                archived=archived,
                weights=weights,
                semantic=semantic,
                min_score=min_score,
                at=at,
            )
            found = await self._search.explain(replace(request, min_score=0.0))
            return replace(found, least=request.min_score)

    # sessions

    async def session(self, session_id: str) -> Session:
        return await require_session(self._parts.store, session_id)

    async def sessions(
        self,
        user_id: str | None = None,
        *,
        project_id: str | None = None,
        status: Status | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> list[Session]:
        """Sessions of a user (or of all), by id; with `limit` at most so many, with `after` those behind that id.

        With `project_id`, only those of that project.
        """
        project_id = None if project_id in {None, EVERY_PROJECT} else check_id(project_id, "project_id")
        if status is not None and status not in STATUSES:
            raise InputError(f"no status {status!r}; there are {list(STATUSES)}")
        if limit is not None or after is not None:
            if limit is not None and (not isinstance(limit, int) or limit < 1):
                raise InputError(f"limit must be a whole number of at least 1, not {limit!r}")
            most = 1_000_000_000 if limit is None else limit
            return await self._parts.store.sessions(
                user_id=user_id, project_id=project_id, status=status, limit=most, after=after
            )
        return [session async for session in every_session(self._parts.store, user_id, status, project_id)]

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

    async def brief(self, session_id: str) -> Brief:
        """The summary of a session's older messages as one text, and the last reply that is in it."""
        await self.session(session_id)
        live = await self._parts.store.summaries(session_id)
        last = max((summary.covers.last for summary in live if summary.covers), default=0)
        span = Span(first=max(1, last - _BRIEF + 1), last=last)
        covered = await self._parts.store.messages(session_id, span) if last else []
        replies = [message for message in covered if message.role == "assistant"] or covered
        return Brief(
            global_summary="\n\n".join(layouts.unframe(self._parts.profile.title, summary.text) for summary in live),
            last_summarized_message_id=replies[-1].id if replies else None,
        )

    async def _milestones(self, session: Session) -> list[Milestone]:
        """What was marked by hand, and the episodes that mattered most."""
        marked = await self._parts.store.milestones(session.id)
        found = await self._parts.store.episodes(session.user_id, session.id)
        moments = map(milestone_of, key_moments(found, session.counters.turns))
        return sorted((*marked, *moments), key=lambda one: (one.turn, one.created_at, one.id))

    async def messages(self, session_id: str, first: int = 1, last: int | None = None) -> list[Message]:
        """Messages of a session by sequence number, first and last included."""
        session = await self.session(session_id)
        end = session.counters.messages if last is None else last
        if not isinstance(first, int) or not isinstance(end, int):
            raise InputError(f"first and last are message numbers, not {first!r} and {last!r}")
        return await self._parts.store.messages(session_id, Span(first=first, last=end))

    async def message(self, message_id: str) -> Message:
        found = single(await self._parts.store.messages(ids=[message_id]))
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

    async def rename(self, session_id: str, title: str | None, *, expect: str | None = None) -> Session:
        """Give a session a title, shown wherever sessions are listed; None takes it away."""
        checked = "" if title is None else check_title(title)
        return await self._parts.store.update_session(session_id, self._parts.now(), title=checked, expect=expect)

    async def _set_status(self, session_id: str, status: Status, expect: str | None) -> Session:
        session = await self._parts.store.update_session(session_id, self._parts.now(), status=status, expect=expect)
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
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MAX_PARTS:
            raise InputError(f"parts must be a whole number from 1 to {MAX_PARTS}, not {parts!r}")
        return await self._parts.store.outline(session_id, parts)

    async def zoom(self, summary_id: str) -> list[Message]:
        """The raw messages that a summary covers."""
        summary = single(await self._parts.store.summaries(ids=[summary_id], live=False))
        if summary is None or summary.session_id is None or summary.covers is None:
            raise NotFound(f"no summary {summary_id!r} over messages")
        return await self._parts.store.messages(summary.session_id, summary.covers)

    async def digest(self, user_id: str | None = None, *, project_id: str | None = None) -> Summary | None:
        """What a new session of this user is told of the last ones; of a project, of those of the project."""
        owner = await self.resolve_user(user_id)
        found = await self._parts.store.summaries(user_id=owner, digests=True, live=False)
        return next((one for one in found if one.project_id == project_id), None)

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

    async def costs(self, since: Any = None) -> list[Cost]:
        """What language models have cost, by day (UTC), purpose and model; `since`: from that day on."""
        return await self._parts.store.costs(None if since is None else day_of(moment(since, "since")))

    async def stats(self, user_id: str | None = None) -> Stats:
        """How much there is of everything, of a user or of all, and how it grew by day (UTC)."""
        whose = None if user_id is None else check_id(user_id, "user_id")
        return await self._parts.store.for_tenant(self._parts.store.tenant, maintenance=True).stats(whose, days=_DAYS)

    # facts in time

    async def facts(
        self,
        user_id: str | None = None,
        *,
        as_of: Any = None,
        known_at: Any = None,
        session_id: str | None = None,
        about: str | None = None,
        project_id: str | None = None,
        statuses: Sequence[str] = (),
        types: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_importance: float = 0.0,
    ) -> list[Fact]:
        """What holds of a user now, or at `as_of`, by what was known at `known_at`; the most important first.

        `about`: only what is known of one person, by name or relation ("Lena", "sister"), or by the user's own name or
        id of the user alone. Without `project_id`, what belongs to no project; with it, also what belongs to that one,
        or to any ("*"). With `statuses`, all facts that have one of them, whether they hold or not. The rest are
        filters.
        """
        return await self._knowledge.facts(
            await self.resolve_user(user_id),
            as_of=None if as_of is None else moment(as_of, "as_of"),
            known_at=None if known_at is None else moment(known_at, "known_at"),
            session_id=session_id,
            about=about,
            project_id=_asked(project_id),
            wanted=as_filter(
                types=types,
                categories=categories,
                tags=tags,
                statuses=statuses,
                since=since,
                until=until,
                min_importance=min_importance,
            ),
        )

    async def fact(self, fact_id: str, *, record_access: bool = True) -> Fact:
        """One fact. Reading it counts as a use, which keeps it fresh; with record_access=False it does not."""
        found = await self._knowledge.fact(fact_id)
        if record_access:
            self._accesses.note([fact_id])
        return found

    async def history(self, fact_id: str) -> list[Fact]:
        """Every value of what a fact is about, in the order they were learnt."""
        return await self._knowledge.history(fact_id)

    async def why(self, fact_id: str) -> Why:
        """Where a fact comes from, word for word, and why it stands as it does."""
        return await self._knowledge.why(fact_id)

    async def user_profile(
        self, user_id: str | None = None, *, as_of: Any = None, known_at: Any = None, project_id: str | None = None
    ) -> UserProfile:
        """What is known of a user, as a page (`markdown`) and as data (`to_dict()`), now or at another time.

        `project_id` is as for `facts`.
        """
        return await self._knowledge.user_profile(
            await self.resolve_user(user_id),
            None if as_of is None else moment(as_of, "as_of"),
            None if known_at is None else moment(known_at, "known_at"),
            _asked(project_id),
        )

    # memories by hand

    async def remember(
        self,
        text: str,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        type: FactType | None = None,  # noqa: A002 - the word of the glossary
        category: str | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        confidence: float | None = None,
        valid_from: Any = None,
        valid_until: Any = None,
    ) -> Fact:
        """Store a memory by hand, such as "User lives in Ghent"; told twice, it is one.

        With `project_id`, it belongs to that project, whatever it says; without, it is true everywhere.

        It is read as if the user had said it: a new location takes the place of the old one. With a `key`, it takes
        the place of what that key had. `remember_all` gives every fact of a text that says several things.
        """
        made = await self.remember_all(
            text,
            user_id=user_id,
            project_id=project_id,
            type=type,
            category=category,
            key=key,
            tags=tags,
            importance=importance,
            confidence=confidence,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return made[0].fact

    async def remember_all(
        self,
        text: str,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        type: FactType | None = None,  # noqa: A002 - the word of the glossary
        category: str | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        confidence: float | None = None,
        valid_from: Any = None,
        valid_until: Any = None,
        verbatim: bool = False,
    ) -> list[Remembered]:
        """Like `remember`, with all facts of the text, and what each took the place of.

        With `verbatim`, the text is stored as it is, and no facts are read from it.
        """
        with span("create_memory", "remember", self.tenant):
            await self._note_profile()
            told = check_told(
                text,
                user_id=await self.resolve_user(user_id),
                project_id=project_id,
                type=type,
                category=category,
                key=key,
                tags=tags,
                importance=importance,
                confidence=confidence,
                valid_from=valid_from,
                valid_until=valid_until,
            )
            return await self._knowledge.remember(told, verbatim=verbatim)

    async def is_statement(self, text: str, *, user_id: str | None = None) -> bool:
        """Whether a text tells facts of the user in the third person, as `remember` reads them."""
        return await self._knowledge.is_statement(text, await self.resolve_user(user_id))

    async def update(
        self,
        fact_id: str,
        value: str | None = None,
        *,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        valid_until: Any = None,
        expect: str | None = None,
    ) -> Fact:
        """A new version of a memory; the old one stays in its history.

        `expect` is the tag that the fact had when it was read; if it has another by now, nothing changes.
        """
        with span("update_memory", "update", self.tenant):
            await self._note_profile()
            return await self._knowledge.update(
                fact_id, value, tags=tags, importance=importance, valid_until=valid_until, expect=expect
            )

    async def promote(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Make a candidate, or one side of a conflict, the value that holds."""
        with span("update_memory", "promote", self.tenant):
            await self._note_profile()
            return await self._knowledge.judge(fact_id, "promoted", expect)

    async def demote(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Make a fact a candidate; what held before holds again."""
        with span("update_memory", "demote", self.tenant):
            await self._note_profile()
            return await self._knowledge.judge(fact_id, "demoted", expect)

    async def retract(self, fact_id: str, *, expect: str | None = None) -> Fact:
        """Say that a fact never held; what held before holds again. Its history tells."""
        with span("update_memory", "retract", self.tenant):
            await self._note_profile()
            return await self._knowledge.judge(fact_id, "retracted", expect)

    async def link(self, source: str, target: str, type: str = "related_to", strength: float = 1.0) -> Link:  # noqa: A002
        """Link two memories of a user, facts or episodes."""
        return await self._knowledge.link(source, target, type, strength)

    async def graph(self, memory_id: str, depth: int = 2, types: Sequence[str] = ()) -> Graph:
        """The memories that can be reached from one in so many steps, with the links between them."""
        return await self._knowledge.graph(memory_id, depth, as_words(types, "types"))

    # episodes

    async def episodes(
        self,
        user_id: str | None = None,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        kinds: Sequence[str] = (),
        since: Any = None,
        until: Any = None,
        min_significance: float = 0.0,
    ) -> list[Episode]:
        """The moments that mattered, in the order they happened; `project_id` is as for `facts`."""
        return await self._knowledge.episodes(
            await self.resolve_user(user_id),
            session_id=session_id,
            project_id=_asked(project_id),
            kinds=one_of(kinds, EPISODE_KINDS, "kind"),
            wanted=as_filter(since=since, until=until, min_importance=min_significance),
        )

    async def add_episode(
        self,
        session_id: str,
        kind: EpisodeKind,
        title: str,
        *,
        summary: str = "",
        context: str = "",
        participants: Sequence[str] = (),
        outcome: str | None = None,
        valence: float = 0.0,
        significance: float = 0.7,
        turns: tuple[int, int] | None = None,
        linked: Sequence[str] = (),
    ) -> Episode:
        """Store an episode by hand; `turns` are the first and last turn, by default the newest."""
        one_of([kind], EPISODE_KINDS, "kind")
        return await self._knowledge.add_episode(
            session_id,
            kind,
            title,
            summary=summary,
            context=context,
            participants=participants,
            outcome=outcome,
            valence=valence,
            significance=significance,
            turns=None if turns is None else as_span(*turns),
            linked=linked,
        )

    async def arc(self, session_id: str) -> Arc:
        """The course of a session in episodes: beginning, middle, end, and the moments that mattered most."""
        return await self._knowledge.arc(session_id)

    # keeping what is known in order

    async def consolidate(self, user_id: str | None = None, *, progress: Progress | None = None) -> Consolidated:
        """Let memories decay, archive the faded ones, merge what is the same; of one user, or of all.

        For all, the profile's retention rules are applied too.
        """
        await self._accesses.flush()
        dropped = await self._retention.run() if user_id is None else 0
        return replace(await self._consolidation.consolidate(user_id, progress), messages_dropped=dropped)

    async def fading(self, user_id: str | None = None) -> list[Fading]:
        """How fresh each fact that holds and each episode is, the most faded first, and when it would be archived."""
        return await self._consolidation.fading(await self.resolve_user(user_id))

    async def consistency(self, user_id: str | None = None) -> list[Divergence]:
        """Where summaries do not agree with the facts: values that no longer hold, or that are missing."""
        return await self._knowledge.divergences(await self.resolve_user(user_id))

    async def regenerate(
        self,
        session_id: str,
        first: int = 1,
        *,
        summariser: Summariser | None = None,
        extractor: Extractor | None = None,
        prompts: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Proposal:
        """Write the summaries and facts of a session again, from a message on, beside the old ones.

        Nothing changes until `accept`. `summariser` and `extractor` are other models, `prompts` other prompts by name.
        """
        parts = self._parts
        texts = {name: Prompt(name=name, version=0, text=text) for name, text in (prompts or {}).items()}
        if unknown := sorted(set(texts) - set(parts.prompts)):
            raise InputError(f"no prompts {unknown}; there are {sorted(parts.prompts)}")
        recipe = replace(
            parts,
            summariser=summariser or parts.summariser,
            extractor=extractor or parts.extractor,
            prompts={**parts.prompts, **texts},
        )
        return await self._regeneration.propose(session_id, first, recipe, progress)

    async def proposals(self, session_id: str | None = None) -> list[Proposal]:
        """What was regenerated, the oldest first."""
        return await self._regeneration.proposals(session_id)

    async def accept(self, proposal_id: str) -> Proposal:
        """Put what was regenerated in place of what there is; the old versions are kept."""
        return await self._regeneration.accept(proposal_id)

    async def roll_back(self, proposal_id: str) -> Proposal:
        """Discard what was regenerated, or take its acceptance back."""
        return await self._regeneration.roll_back(proposal_id)

    # forgetting

    async def forget(
        self,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        session_id: str | None = None,
        message_id: str | Sequence[str] | None = None,
        first: int | None = None,
        last: int | None = None,
        fact_id: str | None = None,
        text: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Erase for good, with all that was derived, and rewrite the rest; the receipt says what was done.

        Give one of: `message_id` (one or several); `session_id` with `first` and `last`; `session_id` alone; `fact_id`;
        `text`, with `user_id` or `session_id`; `project_id`, for the sessions and facts of a project of a user; or
        `user_id` alone, for everything of a user, in every project.
        """
        with span("delete_memory", "forget", self.tenant):
            named = [
                name for name, given in (("message_id", message_id), ("fact_id", fact_id), ("text", text)) if given
            ]
            _check_targets(named, user_id, project_id, session_id, first, last)
            forgetting = self._forgetting
            if project_id is not None:
                plan = await forgetting.project(await self.resolve_user(user_id), check_project_id(project_id))
            elif message_id:
                plan = await forgetting.messages([message_id] if isinstance(message_id, str) else list(message_id))
            elif fact_id:
                plan = await forgetting.fact(fact_id)
            elif text is not None:
                of_session = session_id is not None  # which is of one user
                owner = user_id or "" if of_session else await self.resolve_user(user_id)
                plan = await forgetting.text(text, owner, session_id)
            elif session_id is not None and first is not None and last is not None:
                plan = await forgetting.span(session_id, as_span(first, last))
            elif session_id is not None:
                plan = await forgetting.session(session_id)
            elif user_id is not None:
                plan = Plan(user_id=check_id(user_id, "user_id"), target="a user", user=True)
                plan.nothing = f"there is nothing of user {user_id!r}"
            else:
                raise InputError("say what to forget: message_id, session_id, fact_id, text, project_id or user_id")
            return await forgetting.execute(plan, dry_run=dry_run, progress=progress)

    async def opt_out(self, user_id: str, *, keep_log: bool = True) -> Receipt:
        """Derive nothing more from what a user says, and erase what was derived; it lasts until `opt_in`.

        Their messages are kept, and shown as the newest turns. Without `keep_log` all of them are erased, too, and what
        is added later is not stored. The receipt says what was erased.
        """
        return await self._opt_outs.opt_out(check_id(user_id, "user_id"), keep_log=keep_log)

    async def opt_in(self, user_id: str) -> OptOut | None:
        """End an `opt_out`: the messages that were kept are read again. Gives what ended; None if there was none."""
        ended = await self._opt_outs.opt_in(check_id(user_id, "user_id"))
        self._worker.wake()
        return ended

    async def opt_outs(self, user_id: str | None = None) -> list[OptOut]:
        """Who has opted out, and since when: everybody, or this user if they have."""
        if user_id is None:
            return await self._opt_outs.all()
        found = await self._opt_outs.of(check_id(user_id, "user_id"))
        return [] if found is None else [found]

    async def receipts(self) -> list[Receipt]:
        """What was forgotten so far, the oldest first: how much and when, never what."""
        store = self._parts.store
        scrub = receipts.scrub_state(await store.setting("scrub"), store.clean)
        return [receipts.with_scrub(receipts.receipt_of(row), scrub) for row in await store.receipts()]

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
        freed = await self._parts.store.requeue(session_id, set_aside=True)
        self._worker.wake()
        return freed

    # maintenance

    async def verify(self, session_id: str | None = None, *, progress: Progress | None = None) -> Report:
        """Check that everything stored is whole; changes nothing."""
        return await self._maintenance.verify(session_id, progress)

    async def repair(self, session_id: str | None = None, *, progress: Progress | None = None) -> Report:
        """Rebuild what is derived and damaged; the report says what was repaired and what cannot be."""
        return await self._maintenance.repair(session_id, progress)

    async def export(
        self,
        path: str | Path,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        project_id: str | None = None,
        embeddings: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Write all, or what is of a session, user or project, to a .jsonl file, a folder, or (one session) a .md file.

        With `embeddings`, facts and episodes have their vectors.
        """
        size: int = await self._transfer().write(
            Path(path),
            session_id=session_id,
            user_id=user_id,
            project_id=None if project_id == EVERY_PROJECT else _asked(project_id),
            embeddings=embeddings,
            progress=progress,
        )
        return size

    async def import_(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        me: str | Sequence[str] | None = None,
        zone: str | None = None,
        whole: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Read what `export` wrote, or chats and memories of other tools; what is here already is left as it is.

        `path` is a file, a folder or an archive, or several. Everything goes to `user_id` and to `project_id`, if these
        are given; what is extracted of the person is true everywhere. `me` is the name that the user has in a chat of
        several people, or their names in several chats; `zone` that of times without one. What is wrong with the only
        file is raised, with all before it imported; of several files, those that can be read are imported, and
        `problems` of the outcome names the rest.
        With `whole`, all are looked at first, and nothing is imported unless every record is right.
        """
        await self._note_profile()
        is_one = isinstance(path, str | Path)
        paths = [Path(one) for one in ([path] if isinstance(path, str | Path) else path)]
        if not paths:
            raise InputError("nothing to import; give a file, a folder or an archive")
        project_id = None if project_id is None else check_project_id(project_id)
        names = None if me is None else sorted(as_words(me, "me"))
        options = {"user_id": user_id, "project_id": project_id, "me": names, "zone": zone}
        async with self._importing, self._resting():
            imported: Imported = await self._transfer().read(paths, options, progress, strict=is_one, whole=whole)
        return imported

    async def backup(self, target: str | Path, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Write a backup of the whole file, of all tenants, while it is in use; then read it again, and check it.

        It opens like any memory. A file that is there stays, unless `overwrite` says otherwise. PostgreSQL has its own
        tool for this: the error names the command.
        """
        back_up = getattr(self._parts.store, "back_up", None)
        if back_up is None:
            raise InputError(how_to_dump(self._location, target))
        written: Backup = await back_up(Path(target), progress, overwrite=overwrite)
        return written

    async def copy_to(
        self,
        location: str | Path,
        *,
        rounds: int = 5,
        progress: Progress | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Copied:
        """Copy everything to another store, row by row, also while this memory is in use; then compare every row.

        An earlier copy is brought up to date. What changes meanwhile is copied again, in so many rounds at the most;
        nobody may write to the copy until it is complete. `options` are for opening the other store.
        """
        if location == ":memory:":
            raise InputError("a copy in the process would be gone at once; give a path or a URL to copy to")
        if str(location) == str(self._location):
            raise InputError(f"{location} is this memory; give another place to copy it to")
        chosen = {"tenant": self._options.tenant, **(options or {}), "worker": False, "profile": self.profile}
        target = AsyncMemory(location, **chosen)
        target._is_target = True
        async with target:
            copied = await copy_store(self._parts.store, target._parts.store, rounds, progress)
            return replace(copied, problems=(await target.verify()).problems)

    def _transfer(self) -> Any:
        """Loaded when it is needed: the formats of other tools would be a good part of the time of `import lamina`."""
        return importlib.import_module("lamina.formats.transfer").Transfer(
            self._parts, self._worker.reader, self._opt_outs.restore
        )

    @asynccontextmanager
    async def _resting(self) -> AsyncIterator[None]:
        """Stop the worker for a while: what it would rebuild of a session may be in the file that is being read."""
        task, self._task = self._task, None
        if task is not None:
            await self._worker.stop(task)
        try:
            yield
        finally:
            if task is not None and self._works:
                self._task = asyncio.create_task(self._worker.run(), name="lamina-worker")


def _check_targets(
    named: Sequence[str],
    user_id: str | None,
    project_id: str | None,
    session_id: str | None,
    first: int | None,
    last: int | None,
) -> None:
    """Raise InputError if it is not clear what is to be forgotten; `named` are targets that stand alone."""
    if len(named) > 1 or (named and named != ["text"] and (session_id or user_id)):
        raise InputError(f"forget one thing at a time; {named} with {session_id=}, {user_id=} is not clear")
    if (first is None) != (last is None) or (first is not None and (session_id is None or named)):
        raise InputError("first and last are given together, with the session_id they count in")
    if session_id is not None and user_id is not None and not named and first is None:
        raise InputError("give session_id for one session, or user_id for everything of a user, not both")
    if project_id is not None and (named or session_id is not None):
        raise InputError("project_id is given alone or with user_id, for everything of that project")


def _asked(project_id: str | None) -> str | None:
    return None if project_id is None else check_id(project_id, "project_id")


async def close_all(memories: dict[str, AsyncMemory], grace: float = 0) -> None:
    """Close memories at once, each with so many seconds for what it has in hand; none is left in the table."""
    closing = [*memories.values()]
    memories.clear()
    await asyncio.gather(*(memory.close(grace) for memory in closing))
