"""The reference store's queue of work, and what workers tell of themselves."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lamina.protocols.store import Claim, Lease
from lamina.storage.shared import FAILING, REASON
from lamina.testing.oracle.oracle_erasure import OracleErasure
from lamina.testing.oracle.oracle_tables import Kept, mended, touched
from lamina.values.report import Backlog, Failing


class OracleQueue(OracleErasure):
    """What is to be done, and who is at it."""

    async def claim(
        self,
        owner: str,
        now: datetime,
        until: datetime,
        *,
        impatient: bool = False,
        skip: Sequence[str] = (),
        only: Sequence[str] | None = None,
    ) -> Claim | None:
        free = [
            kept
            for kept in self._sessions.values()
            if kept.pending
            and not kept.aside
            and (kept.lease is None or kept.lease.until < now)
            and (impatient or kept.retry_at is None or kept.retry_at <= now)
            and kept.session.id not in skip
            and (only is None or kept.session.id in only)
        ]
        if not free:
            return None
        kept = min(free, key=lambda kept: (kept.session.touched_at, kept.session.id))
        kept.lease = Lease(session_id=kept.session.id, owner=owner, until=until)
        return Claim(session=kept.session, owner=owner, touch=kept.touch)

    def _held(self, claim: Claim) -> Kept | None:
        kept = self._sessions.get(claim.session.id)
        return kept if kept and kept.lease and kept.lease.owner == claim.owner else None

    async def renew(self, claim: Claim, until: datetime) -> bool:
        if (kept := self._held(claim)) is None or kept.lease is None:
            return False
        kept.lease = replace(kept.lease, until=until)
        return True

    async def release(self, claim: Claim, *, failed: str | None = None, retry_at: datetime | None = None) -> None:
        kept = self._held(claim)
        if kept is None:
            return
        kept.lease = None
        if failed is None:
            mended(kept)
            kept.pending = kept.pending and kept.touch != claim.touch
            return
        kept.retry_at, kept.reason = retry_at, failed[:REASON]
        kept.aside = retry_at is None and kept.touch == claim.touch
        kept.session = replace(kept.session, attempts=kept.session.attempts + 1)

    async def requeue(self, session_id: str | None = None, *, set_aside: bool = False) -> int:
        wanted = [kept for key, kept in self._sessions.items() if session_id in {None, key}]
        found = [kept for kept in wanted if kept.aside or not set_aside]
        for kept in found:
            if set_aside:
                mended(kept)
            touched(kept)
        return len(found)

    async def pending(self, skip: Sequence[str] = (), only: Sequence[str] | None = None) -> int:
        wanted = {key: kept for key, kept in self._sessions.items() if only is None or key in only}
        return sum(kept.pending and not kept.aside and key not in skip for key, kept in wanted.items())

    async def leases(self) -> list[Lease]:
        return [kept.lease for _, kept in sorted(self._sessions.items()) if kept.lease]

    async def drop_worker(self, worker_id: str) -> None:
        for kept in self._sessions.values():
            if kept.lease and kept.lease.owner == worker_id:
                kept.lease = None

    # workers

    async def backlog(self, now: datetime, embedder: str | None = None) -> Backlog:
        due = [kept for kept in self._sessions.values() if kept.pending]
        leased = [kept for kept in due if kept.lease is not None and kept.lease.until >= now]
        free = [kept for kept in due if kept.lease is None or kept.lease.until < now]
        aside = [kept for kept in free if kept.aside]
        waiting = [kept for kept in free if not kept.aside and kept.retry_at is not None and kept.retry_at > now]
        pending = [kept for kept in free if not kept.aside and (kept.retry_at is None or kept.retry_at <= now)]
        failing = sorted(
            (kept for kept in due if kept.aside or kept.retry_at is not None),
            key=lambda kept: (not kept.aside, -kept.session.attempts, kept.session.id),
        )
        return Backlog(
            pending=len(pending),
            leased=len(leased),
            waiting=len(waiting),
            aside=len(aside),
            oldest=min((kept.session.touched_at for kept in pending), default=None),
            unembedded=0 if embedder is None else len(self._users_without_vectors(embedder)),
            failing=tuple(_failing(kept) for kept in failing[:FAILING]),
        )


def _failing(kept: Kept) -> Failing:
    session = kept.session
    return Failing(
        session_id=session.id,
        user_id=session.user_id,
        attempts=session.attempts,
        reason=kept.reason or "",
        retry_at=kept.retry_at,
    )
