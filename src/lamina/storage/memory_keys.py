"""The reference store's keys of the service."""

import hmac
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lamina.storage.memory_workers import MemoryQueue
from lamina.values.access_key import ApiKey


class MemoryKeys(MemoryQueue):
    """Who may come in; a key is found before it is known whose it is."""

    @abstractmethod
    def _everyone(self) -> "Iterable[MemoryKeys]":
        """The stores of all tenants."""

    async def add_key(self, key: ApiKey, hashed: bytes) -> None:
        self._keys[key.id] = (replace(key, tenant=self.tenant), hashed)

    async def find_key(self, hashed: bytes) -> ApiKey | None:
        for store in self._everyone():
            for key, known in store._keys.values():  # noqa: SLF001 - of its own kind
                if hmac.compare_digest(known, hashed):
                    return key
        return None

    async def has_keys(self) -> bool:
        return any(store._keys for store in self._everyone())  # noqa: SLF001

    async def keys(self) -> list[ApiKey]:
        return [key for _, (key, _) in sorted(self._keys.items())]

    async def revoke_key(self, key_id: str, at: datetime) -> bool:
        if key_id not in self._keys:
            return False
        key, hashed = self._keys[key_id]
        self._keys[key_id] = (replace(key, revoked_at=key.revoked_at or at), hashed)
        return True

    async def succeed_key(self, key_id: str, successor: ApiKey, hashed: bytes, until: datetime | None) -> bool:
        key, known = self._keys.get(key_id, (None, b""))
        if key is None or key.revoked_at is not None:
            return False
        if until is None:
            old = replace(key, revoked_at=successor.created_at)
        else:
            old = replace(key, expires_at=until if key.expires_at is None else min(until, key.expires_at))
        self._keys[key_id] = (old, known)
        await self.add_key(successor, hashed)
        return True

    async def keyed_tenants(self) -> list[str]:
        return sorted(store.tenant for store in self._everyone() if store._keys)  # noqa: SLF001

    async def note_key(self, key_id: str, at: datetime) -> None:
        if key_id in self._keys:
            key, hashed = self._keys[key_id]
            self._keys[key_id] = (replace(key, used_at=at), hashed)
