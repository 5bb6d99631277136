"""The queue of work: claims, leases, failures, and what workers tell of themselves."""

from collections.abc import Sequence
from datetime import datetime

from lamina.protocols.store import Claim, Lease
from lamina.storage.relational_rows import SESSION, from_us, maybe_from_us, maybe_us, session_value, to_us
from lamina.storage.sessions_sql import TAKES_PART
from lamina.storage.shared import FAILING, REASON
from lamina.storage.transaction import Row, Transaction
from lamina.values.report import Backlog, Failing, WorkerNote

_NOTE = "id, started_us, seen_us, session_id, since_us, done, failed"


async def claim(
    tx: Transaction,
    owner: str,
    now: datetime,
    until: datetime,
    *,
    impatient: bool = False,
    skip: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> Claim | None:
    found = await tx.row(
        f"select touch, {SESSION} from sessions where tenant = :tenant and pending = 1 and aside = 0"
        " and (lease_us is null or lease_us < :now) "
        " and (:impatient = 1 or retry_us is null or retry_us <= :now)"
        f" and not id {tx.among(':skip')}"
        f" and (:all = 1 or id {tx.among(':only')})"
        " order by touched_us, id limit 1" + tx.free,
        {"tenant": tx.tenant, "now": to_us(now), "impatient": int(impatient), "skip": tx.array(skip),
         "all": int(only is None), "only": tx.array(only or ())},
    )  # fmt: skip
    if found is None:
        return None
    session = session_value(found[1:])
    await tx.execute(
        "update sessions set lease_owner = ?, lease_us = ? where tenant = ? and id = ?",
        (owner, to_us(until), tx.tenant, session.id),
    )
    return Claim(session=session, owner=owner, touch=found[0])


async def renew(tx: Transaction, claim: Claim, until: datetime) -> bool:
    changed = await tx.execute(
        "update sessions set lease_us = ? where tenant = ? and id = ? and lease_owner = ?",
        (to_us(until), tx.tenant, claim.session.id, claim.owner),
    )
    return changed == 1


async def release(
    tx: Transaction, claim: Claim, *, failed: str | None = None, retry_at: datetime | None = None
) -> None:
    if failed is not None:
        await _note_failure(tx, claim, retry_at, failed)
        return
    await tx.execute(
        "update sessions set lease_owner = null, lease_us = null, attempts = 0, retry_us = null,"
        " aside = 0, reason = null, pending = case when touch = ? then 0 else pending end"
        " where tenant = ? and id = ? and lease_owner = ?",
        (claim.touch, tx.tenant, claim.session.id, claim.owner),
    )


async def _note_failure(tx: Transaction, claim: Claim, retry_at: datetime | None, reason: str) -> None:
    await tx.execute(
        "update sessions set lease_owner = null, lease_us = null, attempts = attempts + 1,"
        " retry_us = :retry, reason = :reason,"
        " aside = case when cast(:retry as bigint) is null and touch = :touch then 1 else 0 end"
        " where tenant = :tenant and id = :id and lease_owner = :owner",
        {"retry": maybe_us(retry_at), "reason": reason[:REASON],
         "touch": claim.touch, "tenant": tx.tenant, "id": claim.session.id, "owner": claim.owner},
    )  # fmt: skip


async def requeue(tx: Transaction, session_id: str | None = None, *, set_aside: bool = False) -> int:
    forget, only = (", attempts = 0, retry_us = null, reason = null", " and aside = 1") if set_aside else ("", "")
    return await tx.execute(
        f"update sessions set aside = 0, pending = 1, touch = touch + 1{forget} where tenant = :tenant and id in"
        f" (select id from sessions where tenant = :tenant and (cast(:id as text) is null or id = :id){only}"
        f" order by id{tx.ordered}){only}",
        {"tenant": tx.tenant, "id": session_id},
    )


async def pending(tx: Transaction, skip: Sequence[str] = (), only: Sequence[str] | None = None) -> int:
    found = await tx.one(
        "select count(*) from sessions where tenant = :tenant and pending = 1 and aside = 0"
        f" and not id {tx.among(':skip')}"
        f" and (:all = 1 or id {tx.among(':only')})",
        {"tenant": tx.tenant, "skip": tx.array(skip), "all": int(only is None), "only": tx.array(only or ())},
    )
    return int(found[0])


async def leases(tx: Transaction) -> list[Lease]:
    found = await tx.rows(
        "select id, lease_owner, lease_us from sessions where tenant = ? and lease_owner is not null order by id",
        (tx.tenant,),
    )
    return [Lease(session_id=a, owner=b, until=from_us(c)) for a, b, c in found]


async def backlog(tx: Transaction, now: datetime, embedder: str | None = None) -> Backlog:
    held, waits = "coalesce(lease_us, -1) >= :now", "coalesce(retry_us, -1) > :now"
    states = {
        "leased": held,
        "aside": f"aside = 1 and not {held}",
        "waiting": f"{waits} and aside = 0 and not {held}",
        "pending": f"aside = 0 and not {waits} and not {held}",
    }
    counts = ", ".join(f"count(case when {state} then 1 end)" for state in states.values())
    *counted, oldest = await tx.one(
        f"select {counts}, min(case when {states['pending']} then touched_us end) from sessions"
        " where tenant = :tenant and pending = 1",
        {"tenant": tx.tenant, "now": to_us(now)},
    )
    return Backlog(
        **{state: int(count) for state, count in zip(states, counted, strict=True)},
        oldest=maybe_from_us(oldest),
        unembedded=0 if embedder is None else await _count_unembedded(tx, embedder),
        failing=tuple([_failing(row) for row in await _failing_rows(tx)]),
    )


async def _failing_rows(tx: Transaction) -> list[Row]:
    return await tx.rows(
        "select id, user_id, attempts, reason, retry_us from sessions where tenant = ? and pending = 1"
        " and (aside = 1 or retry_us is not null) order by aside desc, attempts desc, id limit ?",
        (tx.tenant, FAILING),
    )


async def _count_unembedded(tx: Transaction, embedder: str) -> int:
    (count,) = await tx.one(
        "select count(*) from changes where tenant = :tenant"
        " and count > coalesce((select e.count from embedded as e where e.tenant = :tenant"
        f" and e.embedder = :embedder and e.user_id = changes.user_id), 0) and {TAKES_PART}",
        {"tenant": tx.tenant, "embedder": embedder},
    )
    return int(count)


async def note_worker(tx: Transaction, note: WorkerNote) -> None:
    await tx.execute(
            f"insert into workers (tenant, {_NOTE}) values (?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, id) do update set started_us = excluded.started_us, seen_us = excluded.seen_us,"
            " session_id = excluded.session_id, since_us = excluded.since_us, done = excluded.done,"
            " failed = excluded.failed",
            (tx.tenant, note.id, to_us(note.started_at), to_us(note.seen_at), note.session_id,
             maybe_us(note.since), note.done, note.failed),
        )  # fmt: skip


async def workers(tx: Transaction) -> list[WorkerNote]:
    found = await tx.rows(f"select {_NOTE} from workers where tenant = ? order by id", (tx.tenant,))
    return [_note(row) for row in found]


async def drop_worker(tx: Transaction, worker_id: str) -> None:
    await tx.execute(
        "update sessions set lease_owner = null, lease_us = null where tenant = :tenant and id in"
        " (select id from sessions where tenant = :tenant and lease_owner = :owner order by id"
        + tx.ordered
        + ") and lease_owner = :owner",
        {"tenant": tx.tenant, "owner": worker_id},
    )
    await tx.execute("delete from workers where tenant = ? and id = ?", (tx.tenant, worker_id))


def _failing(row: Row) -> Failing:
    session_id, user_id, attempts, reason, retry_us = row
    return Failing(
        session_id=session_id,
        user_id=user_id,
        attempts=attempts,
        reason=reason or "",
        retry_at=maybe_from_us(retry_us),
    )


def _note(row: Row) -> WorkerNote:
    worker_id, started_us, seen_us, session_id, since_us, done, failed = row
    return WorkerNote(
        id=worker_id,
        started_at=from_us(started_us),
        seen_at=from_us(seen_us),
        session_id=session_id,
        since=maybe_from_us(since_us),
        done=done,
        failed=failed,
    )
