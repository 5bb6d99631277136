"""The worker: takes what is due, folds it, commits it. Killed at any point, the work is simply still due."""

import asyncio
import importlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from lamina.coroutines import raise_if_cancelled
from lamina.errors import LaminaError, ModelError, StoreError
from lamina.folding.digest import Digester
from lamina.folding.due import read_before
from lamina.folding.fold import Compactor, FoldRun, Step
from lamina.knowledge.accesses import Accesses
from lamina.knowledge.consolidate import Consolidation
from lamina.knowledge.extract import Reader
from lamina.knowledge.fact_drafts import is_unread
from lamina.log.pages import every_user, require_session, single
from lamina.maintenance.integrity import faults
from lamina.parts import Parts, Progress, beside_loop, load_beside_loop
from lamina.protocols.store import Claim, Workload
from lamina.values.report import FoldDone, Settled
from lamina.workers.slots import Slot, is_gone

logger = logging.getLogger("lamina.fold")


_SWEEP_SECONDS = 60.0
_GATHER_SECONDS = 0.05  # vectors are given in batches, not after each message
_FIRST_LOOK = 256  # unfolded messages read at first; doubled while no fold is found
_QUICK_SECONDS = 0.2  # a session that is done sooner is not noted on its own


class Worker:
    """Folds sessions, each under a lease that other workers respect; one at a time in each of its slots.

    The first slot also does what is done once for all: sweeping, consolidation, retention, vectors.
    """

    def __init__(self, parts: Parts, accesses: Accesses | None = None) -> None:
        self._parts = parts
        self._accesses = accesses or Accesses(parts)
        self._compactor = Compactor(parts)
        self._digester = Digester(parts, self._compactor)
        self.reader = Reader(parts)
        self.consolidation = Consolidation(parts, self.reader)
        self.retention: Callable[[], Awaitable[int]] | None = None  # set by who can forget
        self._wakened = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next_sweep = 0.0
        self._embeddings: list[Any] = []
        self._stopping = False
        self._polling: asyncio.Task[None] | None = None
        names = [parts.owner, *(f"{parts.owner}-{number}" for number in range(2, parts.slots + 1))]
        self._slots = [Slot(parts, name) for name in names]
        self._signals = {slot: asyncio.Event() for slot in self._slots[1:]}  # set: look for work

    def wake(self) -> None:
        """Say that something may be due; from any thread."""
        if self._loop is not None and not (self._wakened.is_set() and not self._signals):
            self._loop.call_soon_threadsafe(self._signal)

    def _signal(self) -> None:
        self._wakened.set()
        if self._slots[0].busy:
            self._signal_free_slot()

    def _signal_free_slot(self) -> None:
        """Have a free slot look for work, too."""
        for slot, signal in self._signals.items():
            if not slot.busy and not signal.is_set():
                signal.set()
                return

    def wind_down(self) -> None:
        """Claim nothing more."""
        self._stopping = True
        self._wakened.set()
        for signal in self._signals.values():
            signal.set()

    async def stop(self, running: asyncio.Task[None], grace: float = 0) -> None:
        """End a task of `run`: claim nothing more, finish what is in work if there is time, else give it back."""
        try:
            if grace > 0:
                self.wind_down()
                await asyncio.wait([running], timeout=grace)
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def run(self) -> None:
        """Work until told to stop, or cancelled."""
        self._loop = asyncio.get_running_loop()
        others = [asyncio.create_task(self._run_slot(slot, signal)) for slot, signal in self._signals.items()]
        try:
            while not self._stopping:
                self._wakened.clear()
                await self._guard(self._round())
                await self._slots[0].report()
                raise_if_cancelled()
                if self._wakened.is_set():  # new work came in the meantime: let its vectors be a batch
                    await asyncio.sleep(_GATHER_SECONDS)
                await self._wait()
            await asyncio.gather(*others)
        finally:
            await _cancel(*others, *filter(None, [self._polling]))
            self._polling = None
            for slot in self._slots:
                await slot.close()

    async def _wait(self) -> None:
        """Until something may be due, or it is time to look."""
        waking = asyncio.create_task(self._wakened.wait())
        self._polling = self._polling or asyncio.create_task(self._poll())
        try:
            await asyncio.wait({waking, self._polling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel(waking)
        if self._polling.done():
            self._polling = None

    async def _poll(self) -> None:
        patience = self._parts.patience
        seconds = min(patience.poll_seconds, patience.lease_seconds / 3)
        try:
            await self._parts.store.wait_for_work(seconds)
        except LaminaError as error:
            logger.warning("worker_round_failed", extra={"reason": str(error)})
            await asyncio.sleep(seconds)

    async def _run_slot(self, slot: Slot, signal: asyncio.Event) -> None:
        """Claim when signalled, or now and then while the first slot is busy and nobody looks."""
        while not self._stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._parts.patience.poll_seconds):
                    await signal.wait()
            if signal.is_set() or self._slots[0].busy:
                signal.clear()
                await self._guard(self._drain(slot))
                await slot.report()
                raise_if_cancelled()

    async def _guard(self, work: Awaitable[None]) -> None:
        """Log whatever goes wrong; the worker goes on."""
        try:
            await work
        except LaminaError as error:
            logger.warning("worker_round_failed", extra={"reason": str(error)})
        except Exception:
            logger.exception("worker_round_failed")

    async def _round(self) -> None:
        """All that is due now."""
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _SWEEP_SECONDS
            await self._revoke_dead_leases()
            await self._drop_dead_workers()
            await self._sweep()
            await self._tidy()
        await self._accesses.flush()
        await self._drain(self._slots[0])
        if not self._stopping:
            await self._embed(thorough=False)

    async def _drain(self, slot: Slot) -> None:
        """Session after session until none is due; each takes a turn, so that others have theirs in between."""
        while not self._stopping:
            async with self._parts.turns:
                claim = None if self._stopping else await self._claim(slot.owner)
                if claim is None:
                    return
                self._signal_free_slot()
                await self._process(claim, _Task(), slot)
            raise_if_cancelled()

    async def _embed(self, *, thorough: bool) -> int:
        """Give vectors to what has none yet; how many. Without them words still find everything.

        Unless it is `thorough`, a slow embedder is given a portion, and the rest with the next round, which is now due.
        """
        embedder, interim = self._parts.embedder, self._parts.interim
        if embedder is None:
            return 0
        if not self._embeddings:
            module = await beside_loop(lambda: importlib.import_module("lamina.search.embed"))  # numpy, above all
            first = [] if interim is None else [module.Embedding(self._parts, interim)]
            self._embeddings = [*first, module.Embedding(self._parts, embedder, interim)]
            await load_beside_loop(interim, embedder)
        given = 0
        for embedding in self._embeddings:
            given = await self._embed_with(embedding, None if thorough else embedding.portion)
        return given

    async def _embed_with(self, embedding: Any, portion: int | None) -> int:
        """Give one embedder's vectors to every user's memory, in turns with other work; how many."""
        given = 0
        try:
            async for user_id in embedding.users():
                async with self._parts.turns:
                    given += int(await embedding.embed_user(user_id, portion))
                if self._stopping:
                    return given
                if portion is not None and given >= portion:
                    self._wakened.set()
                    return given
            if portion is not None:
                await embedding.note_complete()
                return given
            async with self._parts.turns:
                given += int(await embedding.embed_all())
        except ModelError as error:
            logger.warning("not_embedded", extra={"embedder": embedding.name, "reason": str(error)})
        return given

    async def _tidy(self) -> None:
        """Consolidation and retention, if they are due."""
        await self.consolidation.if_due()
        if self.retention is not None:
            await self.retention()

    async def settle(self, timeout: float | None = None, progress: Progress | None = None) -> Settled:
        """Work until nothing is due, here or with other workers; sessions that keep failing are named."""
        await self._accesses.flush()
        archived = await self._sweep()
        async with asyncio.timeout(timeout):
            done = await self._work_off(_Task(thorough=True, progress=progress))
        digests = await self._refresh_digests(timeout)
        await self._tidy()
        async with asyncio.timeout(timeout):
            vectors = await self._embed(thorough=True)
        failing = (await self._parts.store.backlog(self._parts.now())).failing
        aside = [one.session_id for one in failing if one.retry_at is None]
        return replace(
            done,
            digests=done.digests + digests,
            archived=archived + await self._sweep(),
            failed=tuple(dict.fromkeys([*done.failed, *aside])),
            vectors=vectors,
        )

    async def settle_sessions(
        self, user_id: str, sessions: Sequence[str], progress: Progress | None = None, *, digest: bool = True
    ) -> list[str]:
        """Work until nothing is due in these sessions of a user; gives their live summaries. Touches no others.

        With `digest`, the user's digest is renewed, too.
        """
        task = _Task(thorough=True, progress=progress, digest=digest)
        if sessions:
            await self._work_off(task, sessions)
        if digest and not task.live:
            await self._digester.refresh_all(user_id)
        for session_id in sessions:
            if session_id not in task.live:  # another worker did it
                task.live[session_id] = [one.id for one in await self._parts.store.summaries(session_id)]
        return [summary_id for session_id in sessions for summary_id in task.live[session_id]]

    async def _work_off(self, task: "_Task", only: Sequence[str] | None = None) -> Settled:
        """Work until nothing is due, in all sessions or in some, here or with other workers."""
        done = Settled(folds=0, digests=0, archived=0)
        if only is None:
            await self._revoke_dead_leases()
        tally = _Tally(task.progress, await self._parts.store.pending((), only) if task.progress is not None else 0)
        tally.tell()
        while not self._stopping and (only is None or not task.live.keys() >= {*only}):
            async with self._parts.turns:
                claim = await self._claim(self._parts.owner, impatient=True, skip=done.failed, only=only)
                if claim is not None:
                    outcome = await self._process(claim, replace(task, progress=tally.folded(done.folds)))
            if claim is not None:
                done = replace(
                    done,
                    folds=done.folds + outcome.folds,
                    digests=done.digests + outcome.digests,
                    facts=done.facts + outcome.facts,
                    failed=(*done.failed, *outcome.failed),
                )
                if tally.counts_sessions:
                    tally.tell(await self._parts.store.pending(done.failed, only))
            elif await self._parts.store.pending(done.failed, only):  # others are at work, or just taking it up
                await asyncio.sleep(0.02)
                await self._revoke_dead_leases(only)
            else:
                break
        return done

    async def settle_facts(self, session_id: str, timeout: float | None = None) -> Settled:
        """Work until a session was read for facts, here or with other workers, or could not be."""
        done = Settled(folds=0, digests=0, archived=0)
        failed = (await require_session(self._parts.store, session_id)).attempts
        async with asyncio.timeout(timeout):
            await self._revoke_dead_leases([session_id])
            while not self._stopping:
                session = await require_session(self._parts.store, session_id)
                if session.attempts > failed:
                    return replace(done, failed=(session_id,))
                if not is_unread(self._parts.profile, session.counters):
                    break
                async with self._parts.turns:
                    claim = await self._claim(self._parts.owner, impatient=True, only=[session_id])
                    outcome = None if claim is None else await self._process(claim, _Task())
                if outcome is None:
                    await asyncio.sleep(0.02)
                else:
                    done = replace(done, folds=done.folds + outcome.folds, facts=done.facts + outcome.facts)
        return done

    async def _refresh_digests(self, timeout: float | None) -> int:
        async with asyncio.timeout(timeout):
            users = [user_id async for user_id in every_user(self._parts.store)]
            return sum([await self._digester.refresh_all(user_id) for user_id in users])

    async def _revoke_dead_leases(self, only: Sequence[str] | None = None) -> None:
        for lease in await self._parts.store.leases():
            if (only is None or lease.session_id in only) and not self._parts.alive(lease.owner):
                await self._parts.store.drop_worker(lease.owner)

    async def _drop_dead_workers(self) -> None:
        for note in await self._parts.store.workers():
            if is_gone(self._parts, note):
                await self._parts.store.drop_worker(note.id)

    async def _claim(
        self, owner: str, *, impatient: bool = False, skip: Sequence[str] = (), only: Sequence[str] | None = None
    ) -> Claim | None:
        now = self._parts.now()
        until = now + timedelta(seconds=self._parts.patience.lease_seconds)
        return await self._parts.store.claim(owner, now, until, impatient=impatient, skip=skip, only=only)

    async def _process(self, claim: Claim, task: "_Task", slot: Slot | None = None) -> Settled:
        """Everything that is due in one session, for as long as the lease is ours."""
        if slot is not None:
            slot.take(claim.session.id)
        keeper = asyncio.create_task(self._keep_lease(claim, slot))
        working = asyncio.create_task(self._work(claim, task))
        good = False
        try:
            await asyncio.wait({keeper, working}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                logger.warning("lease_lost", extra={"session": claim.session.id})
                return Settled(folds=0, digests=0, archived=0)
            good, outcome = working.result()
            return outcome
        finally:
            await _cancel(keeper, working)
            if slot is not None:
                slot.release(failed=not good)

    async def _work(self, claim: Claim, task: "_Task") -> tuple[bool, Settled]:
        """Whether all went well, and what was done; a failure is logged, counted and tried again later."""
        done = _Done()
        try:
            load = await self._read(claim.session.id, done)
            await self._fold(load, task, done)
            session = claim.session
            digests = task.digest and await self._digester.refresh(
                session.user_id, session.project_id, thorough=task.thorough
            )
        except asyncio.CancelledError:
            # still due, and free at once: as if it had been touched since the claim
            await self._parts.store.release(replace(claim, touch=-1))
            raise
        except Exception as error:  # noqa: BLE001 - whatever a plug-in throws is a failed fold, still due
            return False, await self._fail(claim, error, done.folds)
        if done.unread is not None:
            return False, await self._fail(claim, done.unread, done.folds)
        await self._parts.store.release(claim)
        task.live[claim.session.id] = done.live
        return True, Settled(folds=done.folds, digests=int(digests), archived=0, facts=done.facts)

    async def _load(self, session_id: str, limit: int = _FIRST_LOOK) -> Workload | None:
        """What there is to do in a session; raises StoreError if its summaries do not stand for all that was folded."""
        before, unread = read_before(self._parts.profile), self.reader.batch
        load = await self._parts.store.workload(session_id, before=before, limit=limit, unread=unread)
        if load is not None:
            covered = [summary.covers for summary in load.summaries if summary.covers]
            if fault := next(faults(covered, load.session.counters.cursor), None):
                raise StoreError(f"session {session_id}: {fault}; `repair` writes them again from the log")
        return load

    async def _read(self, session_id: str, done: "_Done") -> Workload | None:
        """Read all that was not read for facts. A model that fails must not keep the session from being folded."""
        profile = self._parts.profile
        load = await self._load(session_id)
        while load is not None and (load.unread or is_unread(profile, load.session.counters)):
            try:
                done.facts += await self.reader.read(load.session, load.unread)
            except ModelError as error:
                done.unread = error
                break
            load = await self._load(session_id)
        return load

    async def _fold(self, load: Workload | None, task: "_Task", done: "_Done") -> None:
        """Make and commit all folds that are due."""
        limit = _FIRST_LOOK
        while load is not None:
            session = load.session
            whole = session.counters.cursor + limit >= session.counters.messages
            run = FoldRun(self._compactor, session, load.summaries, load.messages, load.facts, whole=whole)
            before = done.folds
            while steps := await self._next_folds(run):
                started = time.perf_counter()
                if not await self._parts.store.commit(*(step.commit for step in steps)):
                    logger.info("fold_overtaken", extra={"session": session.id, "version": session.counters.version})
                    whole = False
                    break
                commit_seconds = time.perf_counter() - started
                for step in steps:
                    self._report(step, commit_seconds)
                    done.folds += 1
                    if task.progress is not None:
                        task.progress(done.folds, 0)
            if whole:
                done.live = [summary.id for summary in run.live]
                return
            limit = limit * 2 if done.folds == before else _FIRST_LOOK
            load = await self._load(session.id, limit)

    async def _next_folds(self, run: FoldRun) -> list[Step]:
        """Folds to commit together: all that are due, or one if it was written by a model that takes its time."""
        steps: list[Step] = []
        try:
            while (step := await run.next()) is not None:
                steps.append(step)
                if self._parts.summariser is not self._parts.offline:
                    break
        except Exception:
            if not steps:
                raise
            # what was made before is committed; the same fold is tried again, and its failure raised
        return steps

    async def _fail(self, claim: Claim, error: Exception, folds: int) -> Settled:
        patience = self._parts.patience
        session = single(await self._parts.store.sessions(ids=[claim.session.id]))
        attempts = session.attempts if session else 0
        wait = min(patience.backoff_seconds * 2 ** min(attempts, 20), 3600)
        logger.warning(
            "fold_failed",
            extra={"session": claim.session.id, "attempt": attempts + 1, "retry_seconds": wait, "reason": str(error)},
            exc_info=None if isinstance(error, LaminaError) else error,
        )
        aside = attempts + 1 >= patience.aside_after
        if aside:
            logger.warning("session_set_aside", extra={"session": claim.session.id, "attempts": attempts + 1})
        retry_at = None if aside else self._parts.now() + timedelta(seconds=wait)
        await self._parts.store.release(claim, failed=_reason(error), retry_at=retry_at)
        hopeless = aside or not isinstance(error, ModelError) or attempts + 1 >= patience.attempts
        return Settled(folds=folds, digests=0, archived=0, failed=(claim.session.id,) if hopeless else ())

    async def _keep_lease(self, claim: Claim, slot: Slot | None) -> None:
        """Renew the lease again and again; ends when it is lost."""
        seconds = self._parts.patience.lease_seconds
        await asyncio.sleep(min(_QUICK_SECONDS, seconds / 3))
        while True:
            if slot is not None:
                await slot.report()
            raise_if_cancelled()
            await asyncio.sleep(seconds / 3)
            try:
                if not await self._parts.store.renew(claim, self._parts.now() + timedelta(seconds=seconds)):
                    return
            except LaminaError as error:  # the next renewal may succeed; if none does, another worker takes over
                logger.info("lease_not_renewed", extra={"session": claim.session.id, "reason": str(error)})

    def _report(self, step: Step, commit_seconds: float) -> None:
        session, live, fold, commit, seconds = step
        counters, covered = session.counters, commit.summary.turns
        before = counters.unfolded_tokens + sum(summary.tokens for summary in live)
        summary, recipe = commit.summary, commit.summary.recipe
        if self._parts.on_fold is not None:
            done = FoldDone(
                layer=fold.layer,
                tokens_before=before,
                tokens_after=summary.tokens,
                seconds=seconds,
                model=recipe.model,
                fallback=recipe.fallback is not None,
            )
            self._parts.on_fold(done)
        logger.info(
            "folded",
            extra={
                "session": session.id,
                "task": fold.task,
                "layer": fold.layer,
                "first": fold.covers.first,
                "last": fold.covers.last,
                "messages_folded": max(0, commit.cursor - counters.cursor),
                "turns_folded": max(0, covered.last - counters.cursor_turn) if covered and fold.reads else 0,
                "tokens_before": before,
                "tokens_after": summary.tokens,
                "seconds": round(seconds, 4),
                "commit_seconds": round(commit_seconds, 4),
                "model": recipe.model,
                "fallback": recipe.fallback is not None,
            },
        )

    async def _sweep(self) -> int:
        """End what idled out, archive what ended long ago; how many were archived."""
        profile, now, store = self._parts.profile, self._parts.now(), self._parts.store
        if profile.idle_hours is not None:
            for session_id in await store.age_sessions("ended", now - timedelta(hours=profile.idle_hours), now):
                logger.info("session_idled_out", extra={"session": session_id})
        if profile.archive_days is None:
            return 0
        archived = await store.age_sessions("archived", now - timedelta(days=profile.archive_days), now)
        for session_id in archived:
            logger.info("session_archived", extra={"session": session_id})
        return len(archived)


@dataclass(slots=True)
class _Task:
    """How a session is to be worked on."""

    thorough: bool = False  # also renew a digest of which only the messages have changed
    progress: Progress | None = None
    digest: bool = True  # renew the user's digest
    live: dict[str, list[str]] = field(default_factory=dict)  # live summaries of sessions in which nothing is left


@dataclass(slots=True)
class _Tally:
    """Tells how far work on all that is pending is: in sessions, or if it is one only, in folds."""

    progress: Progress | None
    of: int  # sessions
    done: int = 0

    @property
    def counts_sessions(self) -> bool:
        return self.progress is not None and self.of > 1

    def folded(self, before: int) -> Progress | None:
        """What is told of each fold in a session, after so many in others."""
        if self.progress is None:
            return None
        tell = self.progress
        return lambda folds, _of: tell(self.done, self.of) if self.counts_sessions else tell(before + folds, 0)

    def tell(self, left: int | None = None) -> None:
        """So many sessions are to be done yet, here or by other workers; there may be new ones."""
        left = self.of if left is None else left
        self.of = max(self.of, left)
        self.done = max(self.done, self.of - left)
        if self.progress is not None and self.counts_sessions:
            self.progress(self.done, self.of)


@dataclass(slots=True)
class _Done:
    """What was done in a session so far."""

    folds: int = 0
    facts: int = 0
    unread: ModelError | None = None  # why it could not be read for facts
    live: list[str] = field(default_factory=list)


def _reason(error: Exception) -> str:
    """Why work failed, as it may be kept: what foreign code says may repeat what was said, so only its kind counts."""
    if isinstance(error, StoreError) and error.__cause__ is not None:  # a driver's words tell of the machine
        return type(error).__name__
    foreign = error.__cause__ if isinstance(error, ModelError) else None
    if foreign is not None and not isinstance(foreign, LaminaError | TimeoutError):
        return f"{type(error).__name__}: {type(foreign).__name__}"
    return str(error) if isinstance(error, LaminaError) else type(error).__name__


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
