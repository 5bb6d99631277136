"""Forgetting touches what it must: other sessions that are due stay as they are, and the files are scrubbed first."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, AsyncMemory, Memory
from lamina.protocols.models import SummaryDraft, SummaryTask
from lamina.storage.sqlite.sqlite_store import SqliteStore
from tests.places import Place

USER, WORD = "ann", "Zanzibarquay"
OTHERS = tuple(f"user{number}" for number in range(3))
PROFILE = PROFILES["project"].but(max_recent_messages=4, chunk_size=4, digest_sessions=2)


def talk(turns: int, word: str = WORD) -> list[dict[str, Any]]:
    """Turns of which the third has the word."""
    said: list[dict[str, Any]] = []
    for number in range(1, turns + 1):
        text = f"I live in {word}." if number == 3 else f"Turn {number} is about lamps and ladders."
        said += [{"role": "user", "content": text}, {"role": "assistant", "content": f"Noted, number {number}."}]
    return said


async def state(memory: AsyncMemory, session_id: str) -> tuple[object, ...]:
    """All that work on a session would change."""
    store = memory._parts.store
    session = await memory.session(session_id)
    return (
        session,
        await store.pending(only=[session_id]),
        [lease for lease in await store.leases() if lease.session_id == session_id],
        await memory.summaries(session_id, live=False),
        await store.summaries(user_id=session.user_id, digests=True, live=False),
        await memory.facts(session.user_id),
    )


@pytest.mark.anyio
@pytest.mark.also_postgres
@pytest.mark.parametrize("way", ["text", "session", "user"])
async def test_what_is_due_to_others_stays_due(place: Place, way: str) -> None:
    """Sessions of other users, one of them in work elsewhere, are as they were; the user's own are written again."""
    async with AsyncMemory(place(), profile=PROFILE, worker=False) as memory:
        await memory.add(talk(12), user_id=USER, session_id="s1")
        await memory.settle()
        for other in OTHERS:
            await memory.add(talk(12, "Porto"), user_id=other, session_id=other)
        parts = memory._parts
        assert await parts.store.claim("elsewhere/1/a", parts.now(), parts.now().replace(year=2099), only=OTHERS[:1])
        before = [await state(memory, other) for other in OTHERS]
        target: dict[str, dict[str, Any]] = {
            "text": {"text": WORD, "user_id": USER},
            "session": {"session_id": "s1"},
            "user": {"user_id": USER},
        }
        receipt = await memory.forget(**target[way])
        assert [await state(memory, other) for other in OTHERS] == before
        assert receipt.summaries
        if way == "text":
            assert receipt.rewritten
            assert await parts.store.pending(only=["s1"]) == 0
            assert not any(WORD in one.text for one in await memory.summaries("s1", live=False))


class _Watching:
    """A summariser that looks into the files whenever it is asked."""

    name = "watching"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: list[bool] = []

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        files = self._path.parent.glob(self._path.name + "*")
        self.found.append(any(WORD.encode() in file.read_bytes() for file in files))
        return SummaryDraft(text=f"They spoke about {len(task.messages)} lamps and ladders, with numbers.")


def test_the_files_are_scrubbed_before_anything_is_written_again(tmp_path: Path) -> None:
    """A slow model does not hold up the scrubbing: when it is first asked, the words are in no file."""
    path = tmp_path / "f.db"
    with Memory(path, profile=PROFILE, worker=False) as memory:
        memory.add(talk(12), user_id=USER, session_id="s1")
        memory.settle()
    watching = _Watching(path)
    with Memory(path, profile=PROFILE, worker=False, summariser=watching) as memory:
        receipt = memory.forget(text=WORD, user_id=USER)
        assert receipt.rewritten
    assert watching.found
    assert not any(watching.found)


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("profile", PROFILES)
def test_few_transactions_find_erase_and_write_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, settled: bool
) -> None:
    """Over 60 messages, with every profile, also where summaries are written again: at most nine."""
    counted: Counter[str] = Counter()
    with Memory(tmp_path / "f.db", profile=profile, worker=False) as memory:
        memory.add(talk(30), user_id=USER, session_id="s1")
        if settled:
            memory.settle()
        before = memory.summaries("s1")
        store = memory._memory._parts.store
        assert isinstance(store, SqliteStore)
        database = type(store._database)
        for kind in ("read", "write"):
            run = getattr(database, kind)

            async def count(self: Any, *work: Any, _run: Any = run, _kind: str = kind, **options: Any) -> Any:
                counted[_kind] += 1
                return await _run(self, *work, **options)

            monkeypatch.setattr(database, kind, count)
        receipt = memory.forget(text=WORD, user_id=USER)
    assert sum(counted.values()) <= 9, counted
    assert len(receipt.messages) == 1
    assert not before or receipt.rewritten
