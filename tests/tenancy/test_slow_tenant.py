"""What takes long for one tenant keeps no other waiting."""

import asyncio
import secrets
import threading

import pytest

from lamina.storage.sqlite import sqlite_connection
from lamina.tenancy.open_tenants import tenants
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio


class Gate:
    """Holds every read of one tenant, in the thread that does it, until it is opened."""

    def __init__(self, tenant, patch):
        self.tenant, self.open, self.held = tenant, threading.Event(), 0
        self.open.set()
        self._rows = sqlite_connection.SqliteTransaction.rows
        gate = self

        async def rows(tx, sql, values=()):
            if gate.tenant in (values.values() if isinstance(values, dict) else values) and not gate.open.is_set():
                gate.held += 1
                assert gate.open.wait(CEILING)
            return await gate._rows(tx, sql, values)

        patch.setattr(sqlite_connection.SqliteTransaction, "rows", rows)


@pytest.fixture
def gate(monkeypatch):
    gate = Gate("slow", monkeypatch)
    yield gate
    gate.open.set()


@pytest.fixture
async def held(tmp_path, gate):
    async with tenants(tmp_path / "shared.db", worker=False) as held:
        for tenant in ("slow", "quick"):
            await (await held.engine(tenant)).add("I live in Porto.", user_id="ann", session_id=f"{tenant}-1")
        yield held
        gate.open.set()


LONG = {
    "verify": lambda memory, folder: memory.verify(),
    "repair": lambda memory, folder: memory.repair(),
    "stats": lambda memory, folder: memory.stats(),
    "export": lambda memory, folder: memory.export(folder / f"{secrets.token_hex(4)}.jsonl"),
}


@pytest.mark.parametrize("verb", LONG)
async def test_requests_go_on_while_another_tenant_is_looked_through(held, gate, verb, tmp_path):
    """Held in the midst of it, four times at once: others still come in, write, read and search."""
    slow, quick = await held.engine("slow"), await held.engine("quick")
    _, secret = await held.keys("quick").create("app", "write")
    gate.open.clear()
    running = [asyncio.create_task(LONG[verb](slow, tmp_path)) for _ in range(4)]
    await until(lambda: gate.held)
    async with asyncio.timeout(CEILING):
        assert (await held.check_key(secret)).tenant == "quick"
        await quick.add("I moved to Lisbon.", user_id="ann", session_id="quick-1")
        assert len(await quick.messages("quick-1")) == 2
        assert await quick.search("Lisbon", user_id="ann")
    assert not any(task.done() for task in running)
    gate.open.set()
    await asyncio.gather(*running)


async def test_a_key_is_looked_up_once_for_many_requests(held, monkeypatch):
    """A hundred requests in a row ask the store once; after a revocation it is asked again."""
    key, secret = await held.keys("quick").create("app", "write")
    looked = 0
    real = type(held._store).find_key

    async def find_key(store, hashed):
        nonlocal looked
        looked += 1
        return await real(store, hashed)

    monkeypatch.setattr(type(held._store), "find_key", find_key)
    monkeypatch.setattr("lamina.tenancy.keys._BELIEVED_S", CEILING)
    assert all([await held.check_key(secret) for _ in range(100)])
    assert looked == 1
    await held.keys("quick").revoke(key.id)
    assert await held.check_key(secret) is None
    assert looked == 2
