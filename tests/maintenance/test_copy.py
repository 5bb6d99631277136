"""Copies: the same in every row, whenever they are made, however often they are stopped."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lamina import AsyncMemory, Memory
from lamina.errors import Conflict, InputError, StoreError
from lamina.protocols.store import Part
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing import FakeClock
from lamina.values.fact import FACT_STATUSES
from tests.places import Place
from tests.random_memories import a_memory, opened, talk
from tests.sizes import share

ASKED = "2026-01-01T12:00:00+00:00"
QUERIES = ("Where do I live?", "favourite colour", "harbour", "猫")


def found(memory: Memory) -> list[Any]:
    """What can be seen of a memory from outside."""
    seen: list[Any] = []
    for user_id in ("ann", "bob"):
        seen.append(memory.facts(user_id, statuses=FACT_STATUSES))
        seen.append(memory.episodes(user_id))
        seen.append(memory.digest(user_id))
        seen += [memory.search(query, user_id=user_id, explain=True, at=ASKED) for query in QUERIES]
        for session in memory.sessions(user_id=user_id):
            seen.append(session)
            seen.append(memory.summaries(session.id, live=False))
            seen.append(memory.context(QUERIES[0], user_id=user_id, session_id=session.id, budget=300, at=ASKED).text)
    return seen


@pytest.mark.also_postgres
@pytest.mark.parametrize("seed", range(share(4)))
def test_a_copy_is_the_same_memory(tmp_path: Path, place: Place, seed: int) -> None:
    """In what is found, in what is shown, and after more was said, forgotten and copied again; also copied back."""
    target, chance, clock = place("target.db"), random.Random(seed), FakeClock()
    with a_memory(tmp_path / "source.db", seed) as memory:
        first = memory.copy_to(target)
        assert first.complete
        assert first.rows["messages"] == memory.verify().messages
        again = memory.copy_to(target)
        assert (again.complete, again.users, again.sessions, again.messages) == (True, 0, 0, 0)
        with opened(target) as copy:
            assert copy.copy_to(tmp_path / "back.db").complete
            with opened(tmp_path / "back.db") as back:
                assert found(back) == found(copy) == found(memory)

        sessions = memory.sessions()
        chosen = chance.choice(sessions)
        talk(memory, chance, chosen.id, chosen.user_id, clock)
        memory.remember("The kettle is red", user_id="ann")
        memory.forget(message_id=memory.messages(chance.choice(sessions).id)[0].id)
        memory.forget(session_id=chance.choice(sessions).id)
        memory.settle()
        assert memory.copy_to(target).complete
        with opened(target) as copy:
            assert found(copy) == found(memory)
            assert [one.digest for one in copy.receipts()] == [one.digest for one in memory.receipts()]
            copy.add("I live in Faro now.", user_id="ann", session_id="after")
            copy.settle()
            assert copy.verify().ok


def test_what_is_forgotten_is_gone_from_the_copy(tmp_path: Path, place: Place) -> None:
    """Copied again, no byte of it is left there."""
    target = place("target.db")
    with opened(tmp_path / "source.db") as memory:
        memory.add([f"Remark {n} about my zanzibarian ferry." for n in range(30)], user_id="ann", session_id="s1")
        memory.settle()
        assert memory.copy_to(target).complete
        assert b"zanzibarian" in place.every_byte()
        memory.forget(text="zanzibarian", user_id="ann")
        assert memory.copy_to(target).complete
    assert b"zanzibarian" not in place.every_byte()
    with opened(target) as copy:
        assert copy.verify().ok


def test_a_user_who_is_forgotten_is_gone_from_the_copy(tmp_path: Path, place: Place) -> None:
    """Also where nobody else is left."""
    target = place("target.db")
    with opened(tmp_path / "source.db") as memory:
        memory.add("I live in Porto.", user_id="ann", session_id="s1")
        memory.settle()
        assert memory.copy_to(target).complete
        memory.forget(user_id="ann")
        assert memory.copy_to(target).complete
    with opened(target) as copy:
        assert (copy.sessions(), copy.facts("ann")) == ([], [])


def test_a_session_that_is_forgotten_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not copied; the rest is."""

    async def copied() -> Any:
        async with AsyncMemory(tmp_path / "source.db", worker=False) as memory:
            for session_id in ("s1", "s2"):
                await memory.add("I live in Porto.", user_id="ann", session_id=session_id)
            store: Any = memory._parts.store
            real = store.rows

            async def forgets(part: Part, **options: Any) -> Any:
                monkeypatch.undo()
                await memory.forget(session_id=part.session_id)
                return await real(part, **options)

            monkeypatch.setattr(store, "for_tenant", lambda *_, **__: store)
            monkeypatch.setattr(store, "rows", forgets)
            return await memory.copy_to(tmp_path / "target.db")

    assert asyncio.run(copied()).complete
    with opened(tmp_path / "target.db") as copy:
        assert len(copy.sessions()) == 1


def test_what_is_written_while_the_copy_is_compared_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is not complete, and says where it differs."""

    async def copied() -> Any:
        async with AsyncMemory(tmp_path / "source.db", worker=False) as memory:
            await memory.add("I live in Porto.", user_id="ann", session_id="s1")
            real = SqliteStore.scrub

            async def writes(store: SqliteStore) -> Any:
                await memory._parts.store.put_setting("colour", "green")
                return await real(store)

            monkeypatch.setattr(SqliteStore, "scrub", writes)
            return await memory.copy_to(tmp_path / "target.db", rounds=1)

    found = asyncio.run(copied())
    assert (found.complete, found.differing) == (False, ("(settings)",))


def test_a_copy_is_made_while_others_write(tmp_path: Path, place: Place) -> None:
    """In rounds, until nothing changes any more."""
    done, target = threading.Event(), place("target.db")
    with opened(tmp_path / "source.db") as memory:
        memory.add([f"Remark {n}." for n in range(300)], user_id="ann", session_id="s1")

        def write() -> None:
            for number in range(60):
                memory.add(f"More {number}.", user_id=("ann", "bob")[number % 2], session_id=f"t{number % 2}")
                time.sleep(0.005)
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        while not done.is_set():
            memory.copy_to(target, rounds=1)
        writer.join()
        last = memory.copy_to(target)
        assert last.complete
        assert not last.changing
        with opened(target) as copy:
            assert [m.text for m in copy.messages("t0")] == [m.text for m in memory.messages("t0")]


COPIER = """
import sys
from lamina import Memory
with Memory(sys.argv[1], worker=False) as memory:
    print("begins", flush=True)
    memory.copy_to(sys.argv[2])
"""


def test_a_copy_that_is_killed_goes_on(tmp_path: Path, place: Place) -> None:
    """At whatever point; what was copied is not copied again."""
    source, target = tmp_path / "source.db", str(place("target.db"))
    with opened(source) as memory:
        for number in range(40):
            said = [f"Remark {n} of {number}." for n in range(40)]
            memory.add(said, user_id=f"user-{number % 5}", session_id=f"s{number}")
        memory.settle()
    chance = random.Random(3)
    for _ in range(share(4)):
        copier = subprocess.Popen([sys.executable, "-c", COPIER, str(source), str(target)], stdout=subprocess.PIPE)
        assert copier.stdout is not None
        copier.stdout.readline()
        time.sleep(chance.random() * 0.5)
        os.kill(copier.pid, signal.SIGKILL)
        copier.wait()
        copier.stdout.close()
    with opened(source) as memory:
        copied = memory.copy_to(target)
    assert copied.complete
    assert copied.rows["messages"] == 1600
    with opened(target) as copy:
        assert copy.verify().ok


def break_off(done: int, _total: int) -> None:
    """End a copy at the second user."""
    assert done // (2 - done)


@pytest.mark.also_postgres
def test_a_copy_that_was_broken_off_is_not_taken_for_the_memory(tmp_path: Path, place: Place) -> None:
    """Who opens it is told what to do; done again, it is a memory like any other, until a later copy is broken off."""
    target = place("target.db")
    with opened(tmp_path / "source.db") as memory:
        for _ in range(2):
            for number in range(3):
                memory.add("Hello.", user_id=f"user-{number}")
            with pytest.raises(ZeroDivisionError):
                memory.copy_to(target, progress=break_off)
            with pytest.raises(StoreError, match=r"broken off.*run the same `lamina copy` again.*or delete it"):
                opened(target)
            assert memory.copy_to(target).complete
            with opened(target) as copy:
                assert len(copy.users()) == 3


def test_a_memory_of_its_own_is_not_overwritten(tmp_path: Path) -> None:
    """Nor is one copied onto itself, or into the process, where the copy would be gone at once."""
    with opened(tmp_path / "other.db") as other:
        other.add("Mine.", user_id="ann")
    with opened(tmp_path / "source.db") as memory:
        memory.add("Yours.", user_id="ann")
        with pytest.raises(Conflict, match="memory of its own"):
            memory.copy_to(tmp_path / "other.db")
        with pytest.raises(InputError, match="is this memory"):
            memory.copy_to(tmp_path / "source.db")
        with pytest.raises(InputError, match="gone at once"):
            memory.copy_to(":memory:")
    with opened(tmp_path / "other.db") as other:
        assert [hit.text for hit in other.search("mine", user_id="ann")] == ["Mine."]


def test_a_memory_in_the_process_is_copied_to_a_file(tmp_path: Path) -> None:
    """So what was tried out is kept."""
    with opened(":memory:") as memory:
        memory.add("I drink tea.", user_id="ann", session_id="s1")
        assert memory.copy_to(tmp_path / "new.db").complete
    with opened(tmp_path / "new.db") as copy:
        assert [hit.text for hit in copy.search("tea", user_id="ann")] == ["I drink tea."]


def test_tenants_are_copied_apart(tmp_path: Path) -> None:
    """A copy has what its tenant has, and leaves the others' alone."""
    for tenant in ("a", "b"):
        with opened(tmp_path / "source.db", tenant=tenant) as memory:
            memory.add(f"I am of {tenant}.", user_id="ann", session_id="s1")
            memory.settle()
            assert memory.copy_to(tmp_path / "target.db").complete
    for tenant in ("a", "b"):
        with opened(tmp_path / "target.db", tenant=tenant) as copy:
            assert [message.text for message in copy.messages("s1")] == [f"I am of {tenant}."]


def test_damage_is_copied_and_told(tmp_path: Path) -> None:
    """A row that does not match its digest is no reason to lose it; the copy says what is wrong with it."""
    with opened(tmp_path / "source.db") as memory:
        memory.add(["One.", "Two."], user_id="ann", session_id="s1")
    with sqlite3.connect(tmp_path / "source.db") as connection:
        connection.execute("update messages set body = replace(body, 'One', 'Odd')")
    connection.close()
    with opened(tmp_path / "source.db") as memory:
        copied = memory.copy_to(tmp_path / "target.db")
    assert not copied.differing
    assert copied.problems
    assert not copied.complete
