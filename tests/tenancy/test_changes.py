"""A watch on what changes: it outlives a store that fails, and tells of what it missed."""

import pytest

from lamina.errors import StoreBusy
from lamina.tenancy import changes
from lamina.tenancy.changes import Watch
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory(opened):
    return await opened()


@pytest.fixture
async def watch(memory, clock):
    watch = Watch(memory._parts.store, now=clock, epoch="e", look_s=0.001)
    await watch.begin()
    yield watch
    await watch.close()


async def test_a_store_that_fails_is_looked_at_again(memory, watch, monkeypatch, caplog):
    """What changed meanwhile is told when it is back."""
    store = memory._parts.store
    real = store.change_counts

    async def busy():
        raise StoreBusy("the database is locked")

    monkeypatch.setattr(store, "change_counts", busy)
    await memory.add("Hello.", user_id="ann", session_id="s1")
    await until(lambda: "not_watched" in caplog.messages)
    monkeypatch.setattr(store, "change_counts", real)
    heard = watch.listen("e.0", CEILING)
    assert (await anext(heard)).type == "message.added"
    await heard.aclose()


async def test_more_users_than_are_kept(memory, watch, monkeypatch):
    """Each change of each of them is told."""
    monkeypatch.setattr(changes, "_USERS", 1)
    heard = watch.listen("e.0", CEILING)
    for user in ("ann", "bob", "ann"):
        await memory.add("Hello.", user_id=user, session_id=user)
        event = await anext(heard)
        assert (event.type, event.user_id) == ("message.added", user)
    assert len(watch._standing) == 1
    await heard.aclose()


async def test_what_nobody_looked_for_is_a_gap(memory, watch, monkeypatch):
    """A watch ends when nobody listens for long; who comes back is told that something may be missing."""
    await memory.add("Hello.", user_id="ann", session_id="s1")
    await until(lambda: watch.place() == "e.1")
    monkeypatch.setattr(changes, "_LINGER_S", 0.0)
    await until(watch._task.done)
    monkeypatch.undo()
    await memory.add("Are you there?", user_id="ann", session_id="s1")
    await watch.begin()
    heard = watch.listen("e.1", CEILING)
    assert (await anext(heard)).type == "gap"
    await memory.add("Hello again.", user_id="ann", session_id="s1")
    event = await anext(heard)
    assert (event.type, event.about) == ("message.added", {"first": 3, "last": 3})
    await heard.aclose()
