"""Keys of the service: made, shown once, found again by their hash."""

import base64
import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from lamina.errors import Conflict, InputError, NotFound, StoreError
from lamina.log.messages import check_id
from lamina.protocols.store import Store
from lamina.values.access_key import KEY_ROLES, ApiKey, KeyRole

PREFIX = "lam_"
_BYTES = 32
_ROTATED = "rotated:"  # settings that name the successor of a key
_MAX_NAME = 200  # of a name
_COARSE = timedelta(hours=1)  # how exactly the last use is known
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_HIDDEN = r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
# Of a key: no controls, no marks that do not show, not only spaces.
NAME = rf"^[^{_HIDDEN}]*[^\s{_HIDDEN}][^{_HIDDEN}]*$"
_MAX_TIME = timedelta(days=36_500)
_BELIEVED_S = 1.0  # for so long a key that another process revoked is still accepted here
_MAX_CACHED = 10_000


class Keys:
    """The keys of one tenant."""

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], datetime],
        new_id: Callable[[str], str],
        random_bytes: Callable[[int], bytes],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`changed` is called when a key was made, or is no longer valid."""
        self._store = store
        self._changed = changed
        self._now = now
        self._new_id = new_id
        self._random_bytes = random_bytes

    async def create(
        self, name: str, role: KeyRole, lasts: timedelta | None = None, user_id: str | None = None
    ) -> tuple[ApiKey, str]:
        """A new key and its secret, which is not stored anywhere; `user_id` is for requests that name nobody."""
        if not name.strip() or len(name) > _MAX_NAME or not re.fullmatch(NAME, name):
            raise InputError(f"a key has a name of 1 to {_MAX_NAME} printable characters")
        if role not in KEY_ROLES:
            raise InputError(f"no role {role!r}; there are {list(KEY_ROLES)}")
        if lasts is not None and lasts <= timedelta():
            raise InputError("a key lasts for some time, e.g. 90 days")
        key, secret = self._make(name, role, lasts, None if user_id is None else check_id(user_id, "the key's user"))
        await self._store.add_key(key, hash_secret(secret))
        self._changed()
        return key, secret

    async def rotate(
        self, key_id: str, *, overlap: timedelta | None = None, lasts: timedelta | None = None
    ) -> tuple[ApiKey, str]:
        """A successor with the same name, role and user; the key itself is accepted for the `overlap`, or no longer.

        The successor lasts as long as the key was made for, unless `lasts` says otherwise.
        """
        old = next((key for key in await self._store.keys() if key.id == key_id), None)
        if old is None:
            raise NotFound(f"no key {key_id!r}")
        if (successor := await self._store.setting(_ROTATED + key_id)) is not None:
            raise Conflict(f"key {key_id!r} was rotated already; rotate its successor {successor!r}, or make a new key")
        if old.expires_at is not None and lasts is None:
            lasts = old.expires_at - old.created_at
        key, secret = self._make(old.name, old.role, lasts, old.user_id)
        if old.expires_at is not None and old.expires_at <= key.created_at:
            raise _unusable(key_id)
        until = None if overlap is None else key.created_at + overlap
        if not await self._store.add_key(key, hash_secret(secret), replaces=key_id, until=until):
            raise _unusable(key_id)
        await self._store.put_setting(_ROTATED + key_id, key.id)
        self._changed()
        return key, secret

    def _make(self, name: str, role: KeyRole, lasts: timedelta | None, user_id: str | None) -> tuple[ApiKey, str]:
        now = self._now()
        secret = PREFIX + base64.urlsafe_b64encode(self._random_bytes(_BYTES)).decode().rstrip("=")
        key = ApiKey(
            id=self._new_id("key"),
            tenant=self._store.tenant,
            name=name,
            role=role,
            created_at=now,
            expires_at=None if lasts is None else now + lasts,
            user_id=user_id,
        )
        return key, secret

    async def all(self) -> list[ApiKey]:
        """The oldest first, also those that are revoked."""
        return await self._store.keys()

    async def revoke(self, key_id: str) -> None:
        """Let a key in no longer, from now on."""
        if not await self._store.update_key(key_id, revoked_at=self._now()):
            raise NotFound(f"no key {key_id!r}")
        self._changed()


def _unusable(key_id: str) -> Conflict:
    return Conflict(f"key {key_id!r} is revoked or expired, and has no successor; make a new key")


def lasting(given: str) -> timedelta:
    """A time such as 12h, 90d or 52w."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([hdw])", given.strip())
    lasts = int(found[1]) * _UNITS[found[2]] if found else _MAX_TIME * 2
    if lasts > _MAX_TIME:
        raise InputError(f"a time is a number of hours, days or weeks up to 100 years, e.g. 90d, not {given!r}")
    return lasts


class KeyChecker:
    """Checks keys of all tenants. A key is looked up once a second, so that no request waits for the look-up."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[bytes, tuple[float, ApiKey]] = {}  # by hash: until when it is believed, the key
        self._changes = 0

    async def check(self, secret: str, now: datetime) -> ApiKey | None:
        """The key of whichever tenant, if it is valid; its use is noted, to the hour."""
        key = await self._find(hash_secret(secret)) if secret.startswith(PREFIX) else None
        if key is None or key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
            return None
        if key.used_at is None or key.used_at + _COARSE <= now:
            await self._note(key, hash_secret(secret), now.replace(minute=0, second=0, microsecond=0))
        return key

    async def _find(self, wanted: bytes) -> ApiKey | None:
        until, known = self._known.get(wanted, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        changes = self._changes
        key = await self._store.find_key(wanted)
        if key is not None and changes == self._changes:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[wanted] = (time.monotonic() + _BELIEVED_S, key)
        return key

    async def _note(self, key: ApiKey, wanted: bytes, at: datetime) -> None:
        if wanted in self._known:
            self._known[wanted] = (self._known[wanted][0], replace(key, used_at=at))
        with suppress(StoreError):  # a note is no reason to refuse a key
            await self._store.for_tenant(key.tenant).update_key(key.id, used_at=at)

    def forget(self) -> None:
        """Look every key up again: one was revoked or followed by another."""
        self._changes += 1
        self._known.clear()


def hash_secret(secret: str) -> bytes:
    """What is stored of a key: it has 256 random bits, so that a plain hash cannot be turned round."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
