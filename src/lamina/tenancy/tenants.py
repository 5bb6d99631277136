"""The memories of all tenants of one store, in one process."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from lamina.log.messages import check_tenant
from lamina.memory import AsyncMemory, close_all
from lamina.protocols.store import Store
from lamina.tenancy.changes import Watch
from lamina.tenancy.keys import KeyChecker, Keys
from lamina.values.access_key import ApiKey

_SECRET_BYTES = 32
_OLD = timedelta(seconds=1)
_GRACE_S = 10.0  # for what is in work when the process ends


class Tenants:
    """Gives each tenant an engine of its own over one store, and checks keys."""

    def __init__(
        self,
        store: Store,
        make_engine: Callable[[Store], Awaitable[AsyncMemory]],
        *,
        now: Callable[[], datetime],
        new_id: Callable[[str], str],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """`make_engine` makes an engine for the store of one tenant."""
        self._store = store
        self._make_engine = make_engine
        self._now = now
        self._new_id = new_id
        self._random_bytes = random_bytes
        self._engines: dict[str, AsyncMemory] = {}
        self._opening = asyncio.Lock()
        self._keyed = False
        self._key_checker = KeyChecker(store)
        self._watches: dict[str, Watch] = {}
        self._secrets: dict[str, bytes] = {}
        self._watching = True
        self._good: dict[str, tuple[datetime, dict[str, datetime | None]]] = {}  # keys, and when they were looked at

    @property
    def open_engines(self) -> list[AsyncMemory]:
        """Those of the tenants who were asked for so far."""
        return [*self._engines.values()]

    async def engine(self, tenant: str) -> AsyncMemory:
        """The memory of a tenant, with its worker."""
        if tenant in self._engines:
            return self._engines[tenant]
        async with self._opening:
            if tenant not in self._engines:
                engine = await self._make_engine(self._store.for_tenant(tenant))
                self._engines[tenant] = await engine.open()
        return self._engines[tenant]

    async def with_data(self) -> list[str]:
        """The tenants that have written something."""
        return await self._store.tenants()

    async def all_names(self) -> list[str]:
        """The tenants that have written something, or have a key, by name."""
        return sorted({*await self._store.tenants(), *await self._store.tenants(with_keys=True)})

    async def secret(self, tenant: str) -> bytes:
        """What only this tenant's memory has, to know again what was signed with it."""
        if tenant not in self._secrets:
            fresh = self._random_bytes(_SECRET_BYTES).hex()
            kept = await self._store.for_tenant(tenant).put_setting("secret", fresh, keep=True)
            self._secrets[tenant] = bytes.fromhex(kept)
        return self._secrets[tenant]

    async def watch(self, tenant: str) -> Watch:
        """What changes in a tenant's memory, looked for from now on at the latest; nothing once watches have ended."""
        if tenant not in self._watches:
            self._watches[tenant] = Watch(
                self._store.for_tenant(tenant), now=self._now, epoch=self._random_bytes(4).hex()
            )
            if not self._watching:
                await self._watches[tenant].close()
        watch = self._watches[tenant]
        await watch.begin()
        return watch

    async def end_watches(self) -> None:
        """Let all go who listen for changes, and whoever comes yet."""
        self._watching = False
        for watch in [*self._watches.values()]:
            await watch.close()

    async def ping(self) -> None:
        """Ask the store something; raises StoreError if it does not answer."""
        await self._store.setting("profile")

    def keys(self, tenant: str) -> Keys:
        check_tenant(tenant)
        return Keys(
            self._store.for_tenant(tenant),
            now=self._now,
            new_id=self._new_id,
            random_bytes=self._random_bytes,
            changed=self._keys_changed,
        )

    def _keys_changed(self) -> None:
        """Look keys up again, also of those who listen."""
        self._key_checker.forget()
        self._good.clear()
        for watch in self._watches.values():
            watch.nudge()

    async def is_still_valid(self, key: ApiKey | None) -> bool:
        """Whether a key is still valid, as of a second ago; None, no key, is until there is one."""
        if key is None:
            return not await self.has_keys()
        now = self._now()
        looked, good = self._good.get(key.tenant, (None, {}))
        if looked is None or now - looked >= _OLD:
            found = await self._store.for_tenant(key.tenant).keys()
            good = {one.id: one.expires_at for one in found if one.revoked_at is None}
            self._good[key.tenant] = (now, good)
        until = good.get(key.id, now)
        return until is None or until > now

    async def has_keys(self) -> bool:
        """Whether there is, or was, any key; once there is one, every request needs one."""
        self._keyed = self._keyed or bool(await self._store.tenants(with_keys=True))
        return self._keyed

    async def check_key(self, secret: str) -> ApiKey | None:
        """The key of this secret, if it is valid now."""
        return await self._key_checker.check(secret, self._now())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end_watches()
        await close_all(self._engines, _GRACE_S)
