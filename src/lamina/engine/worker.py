"""The worker: takes what is due, folds it, commits it. Killed at any point, the work is simply still due."""

import asyncio
import importlib
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lamina.engine.accesses import Accesses
from lamina.engine.compact import Compactor
from lamina.engine.consolidate import Consolidation
from lamina.engine.digest import Digester
from lamina.engine.extract import Reader
from lamina.engine.pages import every_user
from lamina.engine.parts import Parts, Progress
from lamina.errors import LaminaError, ModelError, StoreError
from lamina.policy.folding import Fold
from lamina.policy.integrity import faults
from lamina.ports import Claim, FoldCommit, Reach
from lamina.types import Session, Settled, Summary

logger = logging.getLogger("lamina.fold")


_SWEEP_SECONDS = 60.0
_GATHER_SECONDS = 0.05  # vectors are given in batches, not after each message


class Worker:
    """Folds sessions, one at a time, under a lease that other workers respect."""

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
        self._embedding: Any = None

    def wake(self) -> None:
        """Say that something may be due; from any thread."""
        if self._loop is not None and not self._wakened.is_set():
            self._loop.call_soon_threadsafe(self._wakened.set)

    async def run(self) -> None:
        """Work until cancelled."""
        self._loop = asyncio.get_running_loop()
        try:
            while True:
                self._wakened.clear()
                await self._round()
                if self._wakened.is_set():  # new work came in the meantime: let its vectors be a batch
                    await asyncio.sleep(_GATHER_SECONDS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._parts.patience.poll_seconds):
                        await self._wakened.wait()
        finally:
            with suppress(LaminaError):
                await self._parts.store.revoke(self._parts.owner)

    async def _round(self) -> None:
        """All that is due now; a worker outlives whatever goes wrong in a round."""
        try:
            await self._worked()
        except LaminaError as error:
            logger.warning("worker_round_failed", extra={"reason": str(error)})
        except Exception:
            logger.exception("worker_round_failed")

    async def _worked(self) -> None:
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _SWEEP_SECONDS
            await self._revoke_the_dead()
            await self._sweep()
            await self._tidy()
        await self._accesses.flush()
        while (claim := await self._claim(impatient=False, skip=())) is not None:
            await self._handled(claim, thorough=False)
        await self._embedded()

    async def _embedded(self) -> int:
        """Give vectors to what has none yet; how many. Without them words still find everything."""
        if self._parts.embedder is None:
            return 0
        if self._embedding is None:
            self._embedding = importlib.import_module("lamina.engine.embed").Embedding(
                self._parts, self._parts.embedder
            )
        try:
            given: int = await self._embedding.all_due()
        except ModelError as error:
            logger.warning("not_embedded", extra={"embedder": self._parts.embedder.name, "reason": str(error)})
            return 0
        return given

    async def _tidy(self) -> None:
        """Consolidation and retention, if they are due."""
        await self.consolidation.if_due()
        if self.retention is not None:
            await self.retention()

    async def settle(
        self, timeout: float | None = None, progress: Progress | None = None, *, tidy: bool = True
    ) -> Settled:
        """Work until nothing is due, here or with other workers; sessions that keep failing are named."""
        await self._accesses.flush()
        done = Settled(folds=0, digests=0, archived=await self._sweep())
        failed: list[str] = []
        async with asyncio.timeout(timeout):
            await self._revoke_the_dead()
            while True:
                claim = await self._claim(impatient=True, skip=failed)
                if claim is not None:
                    outcome = await self._handled(claim, thorough=True, progress=progress, before=done.folds)
                    done = replace(
                        done,
                        folds=done.folds + outcome.folds,
                        digests=done.digests + outcome.digests,
                        facts=done.facts + outcome.facts,
                    )
                    failed += outcome.failed
                elif await self._others_at_work():
                    await asyncio.sleep(0.02)
                else:
                    break
        digests, vectors = await self._refresh_digests(timeout), 0
        if tidy:
            await self._tidy()
            async with asyncio.timeout(timeout):
                vectors = await self._embedded()
        return replace(
            done,
            digests=done.digests + digests,
            archived=done.archived + await self._sweep(),
            failed=tuple(failed),
            vectors=vectors,
        )

    async def _refresh_digests(self, timeout: float | None) -> int:
        async with asyncio.timeout(timeout):
            users = [user_id async for user_id in every_user(self._parts.store)]
            return sum([await self._digester.refresh(user_id, thorough=True) for user_id in users])

    async def _others_at_work(self) -> bool:
        await self._revoke_the_dead()
        now = self._parts.now()
        return any(lease.until >= now for lease in await self._parts.store.leases())

    async def _revoke_the_dead(self) -> None:
        for lease in await self._parts.store.leases():
            if not self._parts.alive(lease.owner):
                await self._parts.store.revoke(lease.owner)

    async def _claim(self, *, impatient: bool, skip: tuple[str, ...] | list[str]) -> Claim | None:
        now = self._parts.now()
        until = now + timedelta(seconds=self._parts.patience.lease_seconds)
        return await self._parts.store.claim(self._parts.owner, now, until, impatient=impatient, skip=skip)

    async def _handled(
        self, claim: Claim, *, thorough: bool, progress: Progress | None = None, before: int = 0
    ) -> Settled:
        """Everything that is due in one session; a failure is logged, counted and tried again later."""
        keeper = asyncio.create_task(self._keep_lease(claim))
        folds = facts = 0
        try:
            facts, unread = await self._read(claim.session.id)
            while (step := await self._next(claim.session.id)) is not None:
                folds += await self._fold(*step)
                if progress is not None:
                    progress(before + folds, 0)
            digests = await self._digester.refresh(claim.session.user_id, thorough=thorough)
        except asyncio.CancelledError:
            # still due, and free at once: as if it had been touched since the claim
            await self._parts.store.release(replace(claim, touch=-1))
            raise
        except Exception as error:  # noqa: BLE001 - whatever a plug-in throws is a failed fold, still due
            return await self._failed(claim, error, folds)
        finally:
            keeper.cancel()
        if unread is not None:
            return await self._failed(claim, unread, folds)
        await self._parts.store.release(claim)
        return Settled(folds=folds, digests=int(digests), archived=0, facts=facts)

    async def _read(self, session_id: str) -> tuple[int, ModelError | None]:
        """Facts found; and what kept them from being found, which must not keep the session from being folded."""
        try:
            return await self.reader.read(session_id), None
        except ModelError as error:
            return 0, error

    async def _failed(self, claim: Claim, error: Exception, folds: int) -> Settled:
        patience = self._parts.patience
        session = await self._parts.store.session(claim.session.id)
        attempts = session.attempts if session else 0
        wait = min(patience.backoff_seconds * 2 ** min(attempts, 20), 3600)
        logger.warning(
            "fold_failed",
            extra={"session": claim.session.id, "attempt": attempts + 1, "retry_seconds": wait, "reason": str(error)},
            exc_info=None if isinstance(error, LaminaError) else error,
        )
        await self._parts.store.fail(claim, self._parts.now() + timedelta(seconds=wait))
        hopeless = not isinstance(error, ModelError) or attempts + 1 >= patience.attempts
        return Settled(folds=folds, digests=0, archived=0, failed=(claim.session.id,) if hopeless else ())

    async def _keep_lease(self, claim: Claim) -> None:
        seconds = self._parts.patience.lease_seconds
        while True:
            await asyncio.sleep(seconds / 3)
            with suppress(LaminaError):  # the next renewal may succeed; if none does, another worker takes over
                await self._parts.store.renew(claim, self._parts.now() + timedelta(seconds=seconds))

    async def _next(self, session_id: str) -> tuple[Session, list[Summary], Fold] | None:
        standing = await self._standing(session_id)
        if standing is None:
            return None
        session, live = standing
        fold = await self._compactor.due(session, live)
        return None if fold is None else (session, live, fold)

    async def _standing(self, session_id: str) -> tuple[Session, list[Summary]] | None:
        """A session with its live summaries; raises StoreError if these do not stand for all that was folded."""
        session = await self._parts.store.session(session_id)
        if session is None:
            return None
        live = await self._parts.store.summaries(session_id)
        if _fault(session, live):  # a fold may have come between the two reads: one look at both will tell
            view = await self._parts.store.view(session.user_id, session_id, Reach(tokens=0))
            session, live = view.session or session, list(view.summaries)
        if fault := _fault(session, live):
            raise StoreError(f"session {session_id}: {fault}; `repair` writes them again from the log")
        return session, live

    async def _fold(self, session: Session, live: list[Summary], fold: Fold) -> int:
        started = time.perf_counter()
        commit = await self._compactor.compacted(session, live, fold)
        if not await self._parts.store.commit(commit):
            logger.info("fold_overtaken", extra={"session": session.id, "version": session.counters.version})
            return 0
        self._report(session, live, fold, commit, time.perf_counter() - started)
        return 1

    def _report(self, session: Session, live: list[Summary], fold: Fold, commit: FoldCommit, seconds: float) -> None:
        counters, covered = session.counters, commit.summary.turns
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
                "tokens_before": counters.unfolded_tokens + sum(summary.tokens for summary in live),
                "tokens_after": commit.summary.tokens,
                "seconds": round(seconds, 4),
                "model": commit.summary.recipe.model,
                "fallback": commit.summary.recipe.fallback is not None,
            },
        )

    async def _sweep(self) -> int:
        """End what idled out, archive what ended long ago; how many were archived."""
        profile, now, store = self._parts.profile, self._parts.now(), self._parts.store
        if profile.idle_hours is not None:
            for session_id in await store.end_idle(now - timedelta(hours=profile.idle_hours), now):
                logger.info("session_idled_out", extra={"session": session_id})
        if profile.archive_days is None:
            return 0
        archived = await store.archive_ended(now - timedelta(days=profile.archive_days), now)
        for session_id in archived:
            logger.info("session_archived", extra={"session": session_id})
        return len(archived)


def _fault(session: Session, live: list[Summary]) -> str | None:
    return next(faults([summary.covers for summary in live if summary.covers], session.counters.cursor), None)
