"""Keys of the service."""

from dataclasses import replace

from lamina.protocols.store import Store
from lamina.testing.samples import at
from lamina.testing.suites.checks_suite import Suite
from lamina.values.access_key import ApiKey

KEY = ApiKey(
    id="key_1", tenant="default", name="phone", role="write", created_at=at(1), expires_at=at(90), user_id="ann"
)
HASH = b"\x00\xff" * 16


def _successor(key_id: str) -> ApiKey:
    return replace(KEY, id=key_id, created_at=at(9), expires_at=at(98))


class Keys(Suite):
    """Who may come in, and to which tenant."""

    async def test_a_key_is_found_by_its_hash_alone(self, store: Store, neighbour: Store) -> None:
        """Also by the store of another tenant: whose it is shows only then."""
        assert not await store.tenants(with_keys=True)
        await store.add_key(KEY, HASH)
        assert await store.find_key(HASH) == await neighbour.find_key(HASH) == KEY
        assert await store.find_key(b"\x00" * 32) is None
        assert await store.tenants(with_keys=True)
        assert await neighbour.tenants(with_keys=True)

    async def test_keys_are_listed_for_their_tenant_alone(self, store: Store, neighbour: Store) -> None:
        await store.add_key(replace(KEY, id="key_2", expires_at=None), b"b" * 32)
        await store.add_key(KEY, HASH)
        await neighbour.add_key(replace(KEY, tenant=neighbour.tenant), b"c" * 32)
        assert [key.id for key in await store.keys()] == ["key_1", "key_2"]
        assert await neighbour.keys() == [replace(KEY, tenant=neighbour.tenant)]

    async def test_a_revoked_key_stays_and_says_since_when(self, store: Store, neighbour: Store) -> None:
        """Revoking it again changes nothing; another tenant cannot."""
        await store.add_key(KEY, HASH)
        assert not await neighbour.update_key("key_1", revoked_at=at(5))
        assert not await store.update_key("key_9", revoked_at=at(5))
        assert await store.update_key("key_1", revoked_at=at(6))
        assert await store.update_key("key_1", revoked_at=at(7))
        assert await store.find_key(HASH) == replace(KEY, revoked_at=at(6))

    async def test_a_successor_comes_in_while_the_key_still_does_for_a_time(self, store: Store) -> None:
        """Never for longer than the key had anyway."""
        await store.add_key(KEY, HASH)
        for number, until in enumerate((50, 60), 2):
            assert await store.add_key(
                _successor(f"key_{number}"), bytes([number]) * 32, replaces="key_1", until=at(until)
            )
            assert await store.find_key(HASH) == replace(KEY, expires_at=at(50))
        await store.add_key(replace(KEY, id="key_4", expires_at=None), b"d" * 32)
        assert await store.add_key(_successor("key_5"), b"e" * 32, replaces="key_4", until=at(60))
        assert await store.find_key(b"d" * 32) == replace(KEY, id="key_4", expires_at=at(60))
        assert await store.find_key(b"e" * 32) == _successor("key_5")

    async def test_a_successor_takes_the_place_of_a_key_once(self, store: Store, neighbour: Store) -> None:
        """Without a time, the key is revoked; a revoked one, or another tenant's, has no successor."""
        await store.add_key(KEY, HASH)
        assert not await neighbour.add_key(_successor("key_2"), b"b" * 32, replaces="key_1", until=None)
        assert not await store.add_key(_successor("key_2"), b"b" * 32, replaces="key_9", until=None)
        assert await store.add_key(_successor("key_2"), b"b" * 32, replaces="key_1", until=None)
        assert not await store.add_key(_successor("key_3"), b"c" * 32, replaces="key_1", until=at(60))
        assert await store.keys() == [replace(KEY, revoked_at=at(9)), _successor("key_2")]

    async def test_the_tenants_that_have_keys_are_known(self, store: Store, neighbour: Store) -> None:
        assert await store.tenants(with_keys=True) == []
        await store.add_key(KEY, HASH)
        assert await neighbour.tenants(with_keys=True) == [store.tenant]
        await neighbour.add_key(replace(KEY, tenant=neighbour.tenant), b"c" * 32)
        assert await store.tenants(with_keys=True) == sorted((store.tenant, neighbour.tenant))

    async def test_the_last_use_is_noted(self, store: Store, neighbour: Store) -> None:
        """By its own tenant; for a key that is gone, nothing happens."""
        await store.add_key(KEY, HASH)
        await neighbour.update_key("key_1", used_at=at(3))
        await store.update_key("key_9", used_at=at(3))
        assert await store.keys() == [KEY]
        await store.update_key("key_1", used_at=at(4))
        assert await store.keys() == [replace(KEY, used_at=at(4))]
