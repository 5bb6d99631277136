"""Users who have opted out: what an import leaves out, and what an export takes along."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lamina import AsyncMemory, Memory, OptedOut
from lamina.errors import BadRecords, Conflict, InputError
from lamina.formats.importing import Importer
from lamina.formats.restorable import Forgotten
from lamina.testing import FakeClock
from lamina.values.fact import FACT_STATUSES
from tests.places import Place
from tests.random_memories import PROFILE, opened
from tests.ship_talk import turn


def filled(memory: Memory) -> Memory:
    """Eva and Sam, with sessions that are folded and read, and with what was told by hand."""
    for user_id in ("eva", "sam"):
        session_id = f"{user_id}-1"
        for number in range(6):
            memory.add(turn(number), user_id=user_id, session_id=session_id)
        memory.add("I live in Ghent. We decided to ship on Friday.", user_id=user_id, session_id=session_id)
        memory.remember(f"{user_id} likes tea", user_id=user_id)
        memory.remember(f"{user_id} has a boat", user_id=user_id)
        memory.add_episode(session_id, "breakthrough", "The boat floats")
        memory.settle()
    assert memory.summaries("eva-1")
    return memory


def derived(memory: Memory, user_id: str) -> list[Any]:
    """What is known of a user beyond their messages."""
    session_id = f"{user_id}-1"
    known = [*memory.facts(user_id, statuses=FACT_STATUSES), *memory.episodes(user_id), memory.digest(user_id)]
    return [*filter(None, known), *memory.summaries(session_id, live=False), *memory.proposals(session_id)]


@pytest.mark.also_postgres
@pytest.mark.parametrize("suffix", [".jsonl", ""], ids=["lines", "folder"])
def test_what_was_told_of_who_has_opted_out_is_left_out(place: Place, tmp_path: Path, suffix: str) -> None:
    """It is counted, as what was extracted is, and everybody else's facts and episodes come in."""
    source = filled(opened(tmp_path / "source.db"))
    source.export(tmp_path / f"all{suffix}")
    with Memory(place(), profile=PROFILE, worker=False, now=FakeClock()) as copy:
        copy.opt_out("eva")
        taken = copy.import_(tmp_path / f"all{suffix}")
        facts = len(source.facts("eva", statuses=FACT_STATUSES))
        assert taken.problems == ()
        assert taken.skipped["fact of a user who has opted out"] == facts > 2
        assert taken.skipped["episode of a user who has opted out"] == len(source.episodes("eva"))
        assert taken.skipped["summary of a user who has opted out"] == len(source.summaries("eva-1", live=False))
        assert derived(copy, "eva") == []
        assert [one.id for one in copy.facts("sam")] == [one.id for one in source.facts("sam")]
        assert [one.id for one in copy.episodes("sam")] == [one.id for one in source.episodes("sam")]
        assert len(copy.messages("eva-1")) == len(source.messages("eva-1"))


def test_messages_of_who_has_opted_out_without_a_log_are_counted(tmp_path: Path) -> None:
    """They are not stored, and the outcome says how many."""
    filled(opened(tmp_path / "source.db")).export(tmp_path / "all.jsonl")
    copy = opened(tmp_path / "copy.db")
    copy.opt_out("eva", keep_log=False)
    taken = copy.import_(tmp_path / "all.jsonl")
    assert (taken.messages, taken.skipped["message of a user who has opted out"]) == (13, 13)
    assert copy.sessions("eva") == []


@pytest.mark.parametrize(
    "error",
    [OptedOut("eva"), BadRecords([("line 1", "no role")], 1), InputError("no role"), Conflict("taken")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.anyio
async def test_an_error_of_an_import_says_once_what_is_wrong(tmp_path: Path, error: InputError | Conflict) -> None:
    """Whatever it is made of, it keeps its kind and its text, and says what was imported."""
    text = str(error)

    async def records() -> AsyncIterator[tuple[str, dict[str, Any]]]:
        yield "line 1", {"role": "user", "content": "Hello", "session_id": "s"}
        raise error

    async with AsyncMemory(tmp_path / "copy.db", worker=False) as memory:
        nothing = Forgotten(ids=frozenset(), erased=())
        importer = Importer(memory._parts, memory._worker.reader, None, None, nothing)
        with pytest.raises(type(error)) as raised:
            await importer.run(records(), lambda: None)
    assert str(raised.value) == f"{text}; everything before it was imported, nothing after it"
