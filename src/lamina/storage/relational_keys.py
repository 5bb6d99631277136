"""Keys of the service in a relational database."""

import hmac
from datetime import datetime
from typing import cast

from lamina.storage.relational_copying import Copying
from lamina.storage.relational_rows import from_us, maybe_from_us, maybe_us, to_us
from lamina.storage.transaction import Row, Transaction
from lamina.values.access_key import ApiKey, KeyRole

_KEY = "tenant, id, name, role, created_us, expires_us, revoked_us, used_us"


class KeyTables(Copying):
    """Who may come in; a key is found before it is known whose it is."""

    async def add_key(self, key: ApiKey, hashed: bytes) -> None:
        await self._database.write(lambda tx: self._put_key(tx, key, hashed))

    async def _put_key(self, tx: Transaction, key: ApiKey, hashed: bytes) -> None:
        values = (self.tenant, key.id, key.name, key.role, to_us(key.created_at), maybe_us(key.expires_at))
        await tx.execute(
            "insert into api_keys (tenant, id, name, role, created_us, expires_us, hash) values (?, ?, ?, ?, ?, ?, ?)",
            (*values, hashed),
        )

    async def find_key(self, hashed: bytes) -> ApiKey | None:
        found = await self._all_tenants.read(
            lambda tx: tx.row(f"select hash, {_KEY} from api_keys where hash = ?", (hashed,))
        )
        if found is None or not hmac.compare_digest(bytes(found[0]), hashed):
            return None
        return _key(found[1:])

    async def has_keys(self) -> bool:
        return await self._all_tenants.read(lambda tx: tx.row("select 1 from api_keys limit 1")) is not None

    async def keys(self) -> list[ApiKey]:
        found = await self._database.read(
            lambda tx: tx.rows(f"select {_KEY} from api_keys where tenant = ? order by id", (self.tenant,))
        )
        return [_key(row) for row in found]

    async def revoke_key(self, key_id: str, at: datetime) -> bool:
        changed = await self._database.write(
            lambda tx: tx.execute(
                "update api_keys set revoked_us = coalesce(revoked_us, ?) where tenant = ? and id = ?",
                (to_us(at), self.tenant, key_id),
            ),
            again=True,
        )
        return changed == 1

    async def succeed_key(self, key_id: str, successor: ApiKey, hashed: bytes, until: datetime | None) -> bool:
        async def work(tx: Transaction) -> bool:
            changed = await tx.execute(
                "update api_keys set revoked_us = :revoked,"
                " expires_us = case when expires_us < :until then expires_us else coalesce(:until, expires_us) end"
                " where tenant = :tenant and id = :id and revoked_us is null",
                {
                    "revoked": to_us(successor.created_at) if until is None else None,
                    "until": maybe_us(until),
                    "tenant": self.tenant,
                    "id": key_id,
                },
            )
            if changed:
                await self._put_key(tx, successor, hashed)
            return changed == 1

        return await self._database.write(work)

    async def keyed_tenants(self) -> list[str]:
        found = await self._all_tenants.read(lambda tx: tx.rows("select distinct tenant from api_keys order by tenant"))
        return [tenant for (tenant,) in found]

    async def note_key(self, key_id: str, at: datetime) -> None:
        await self._database.write(
            lambda tx: tx.execute(
                "update api_keys set used_us = ? where tenant = ? and id = ?", (to_us(at), self.tenant, key_id)
            ),
            again=True,
        )


def _key(row: Row) -> ApiKey:
    tenant, key_id, name, role, created_us, expires_us, revoked_us, used_us = row
    return ApiKey(
        id=key_id,
        tenant=tenant,
        name=name,
        role=cast("KeyRole", role),
        created_at=from_us(created_us),
        expires_at=maybe_from_us(expires_us),
        revoked_at=maybe_from_us(revoked_us),
        used_at=maybe_from_us(used_us),
    )
