"""Tenants, API keys, and what models cost."""

import hmac
from datetime import date, datetime
from typing import cast

from lamina.language.times import day_of
from lamina.protocols.models import LedgerEntry
from lamina.storage.relational_rows import from_us, maybe_from_us, maybe_us, to_us
from lamina.storage.transaction import Row, Transaction
from lamina.values.access_key import ApiKey, KeyRole
from lamina.values.cost import Cost, Purpose

_KEY = "tenant, id, name, role, created_us, expires_us, revoked_us, used_us, user_id"


async def tenants(tx: Transaction, *, with_keys: bool = False) -> list[str]:
    found = await tx.rows(
        "select distinct tenant from api_keys order by tenant"
        if with_keys
        else "select tenant from tenants order by tenant"
    )
    return [tenant for (tenant,) in found]


async def add_key(
    tx: Transaction, key: ApiKey, hashed: bytes, *, replaces: str | None = None, until: datetime | None = None
) -> bool:
    if replaces is not None and not await _end_key(tx, replaces, key.created_at, until):
        return False
    values = (tx.tenant, key.id, key.name, key.role, to_us(key.created_at), maybe_us(key.expires_at), key.user_id)
    await tx.execute(
        "insert into api_keys (tenant, id, name, role, created_us, expires_us, user_id, hash)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, hashed),
    )
    return True


async def _end_key(tx: Transaction, key_id: str, now: datetime, until: datetime | None) -> bool:
    changed = await tx.execute(
        "update api_keys set revoked_us = :revoked,"
        " expires_us = case when expires_us < :until then expires_us else coalesce(:until, expires_us) end"
        " where tenant = :tenant and id = :id and revoked_us is null",
        {"revoked": to_us(now) if until is None else None, "until": maybe_us(until), "tenant": tx.tenant, "id": key_id},
    )
    return changed == 1


async def find_key(tx: Transaction, hashed: bytes) -> ApiKey | None:
    found = await tx.row(f"select hash, {_KEY} from api_keys where hash = ?", (hashed,))
    if found is None or not hmac.compare_digest(bytes(found[0]), hashed):
        return None
    return _key(found[1:])


async def keys(tx: Transaction) -> list[ApiKey]:
    found = await tx.rows(f"select {_KEY} from api_keys where tenant = ? order by id", (tx.tenant,))
    return [_key(row) for row in found]


async def update_key(
    tx: Transaction, key_id: str, *, revoked_at: datetime | None = None, used_at: datetime | None = None
) -> bool:
    changed = await tx.execute(
        "update api_keys set revoked_us = coalesce(revoked_us, ?), used_us = coalesce(?, used_us)"
        " where tenant = ? and id = ?",
        (maybe_us(revoked_at), maybe_us(used_at), tx.tenant, key_id),
    )
    return changed == 1


async def add_cost(tx: Transaction, entry: LedgerEntry) -> None:
    key = (tx.tenant, day_of(entry.at).isoformat(), entry.purpose, entry.model)
    await tx.execute(
        "insert into costs (tenant, day, purpose, model, calls, tokens_in, tokens_out, cost)"
        " values (?, ?, ?, ?, 1, ?, ?, ?) on conflict (tenant, day, purpose, model) do update set"
        " calls = costs.calls + 1, tokens_in = costs.tokens_in + excluded.tokens_in,"
        " tokens_out = costs.tokens_out + excluded.tokens_out, cost = costs.cost + excluded.cost",
        (*key, entry.tokens_in, entry.tokens_out, entry.cost),
    )


async def costs(tx: Transaction, since: date | None = None) -> list[Cost]:
    found = await tx.rows(
        "select day, purpose, model, calls, tokens_in, tokens_out, cost from costs"
        " where tenant = ? and day >= ? order by day, purpose, model",
        (tx.tenant, "" if since is None else since.isoformat()),
    )
    return [
        Cost(
            day=date.fromisoformat(day),
            purpose=cast("Purpose", purpose),
            model=model,
            calls=calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost,
        )
        for day, purpose, model, calls, tokens_in, tokens_out, cost in found
    ]


def _key(row: Row) -> ApiKey:
    tenant, key_id, name, role, created_us, expires_us, revoked_us, used_us, user_id = row
    return ApiKey(
        id=key_id,
        tenant=tenant,
        name=name,
        role=cast("KeyRole", role),
        created_at=from_us(created_us),
        expires_at=maybe_from_us(expires_us),
        revoked_at=maybe_from_us(revoked_us),
        used_at=maybe_from_us(used_us),
        user_id=user_id,
    )
