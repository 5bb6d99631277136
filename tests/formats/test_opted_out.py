"""Users who have opted out: what an import leaves out, and what an export takes along."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lamina import AsyncMemory, Memory, OptedOut, OptOut
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
        importer = Importer(memory._parts, memory._worker.reader, None, None, nothing, memory._opt_outs.restore)
        with pytest.raises(type(error)) as raised:
            await importer.run(records(), lambda: None)
    assert str(raised.value) == f"{text}; everything before it was imported, nothing after it"


# an export takes the opt-out along


def left(path: Path, *, keep_log: bool = True) -> Memory:
    """Eva has opted out, and goes on talking; Sam has not."""
    memory = filled(opened(path))
    memory.opt_out("eva", keep_log=keep_log)
    memory.add("My cat is called Brutus.", user_id="eva", session_id="eva-1")
    memory.settle()
    return memory


@pytest.mark.also_postgres
@pytest.mark.parametrize("scope", [{}, {"user_id": "eva"}, {"session_id": "eva-1"}], ids=["all", "user", "session"])
@pytest.mark.parametrize("suffix", [".jsonl", ""], ids=["lines", "folder"])
def test_an_opt_out_lasts_in_another_memory(place: Place, tmp_path: Path, suffix: str, scope: dict[str, Any]) -> None:
    """An export has it before everything else, so that nothing of the user is derived where it is imported."""
    source = left(tmp_path / "source.db")
    source.export(tmp_path / f"some{suffix}", **scope)
    with Memory(place(), profile=PROFILE, now=FakeClock()) as copy:
        taken = copy.import_(tmp_path / f"some{suffix}")
        copy.settle()
        assert copy.opt_outs() == source.opt_outs() == [OptOut(user_id="eva", since=FakeClock()(), keep_log=True)]
        assert derived(copy, "eva") == []
        assert len(copy.messages("eva-1")) == 14
        assert [note for file in taken.files for note in file.notes] == ["user 'eva' has opted out since 2025-01-06"]
        assert bool(copy.facts("sam")) is not bool(scope)
        copy.import_(tmp_path / f"some{suffix}")
        assert copy.opt_outs() == source.opt_outs()
        copy.opt_in("eva")
        assert copy.import_(tmp_path / f"some{suffix}").skipped["opt-out of a user who has opted in again here"] == 1
        assert copy.opt_outs() == []
        copy.settle()
        assert copy.facts("eva")


def test_an_opt_out_without_a_log_travels_in_lines(tmp_path: Path) -> None:
    """Of such a user there is nothing else in the file; a folder has conversations only, so it cannot tell."""
    source = left(tmp_path / "source.db", keep_log=False)
    source.export(tmp_path / "all.jsonl")
    source.export(tmp_path / "folder")
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "folder")
    assert copy.opt_outs() == []
    copy.import_(tmp_path / "all.jsonl")
    assert [(one.user_id, one.keep_log) for one in copy.opt_outs()] == [("eva", False)]
    assert copy.add("Hello", user_id="eva").ids == ()


@pytest.mark.also_postgres
def test_an_opt_out_that_comes_in_erases_what_was_derived_here(place: Place, tmp_path: Path) -> None:
    """As `opt_out` does, except that an import takes no messages away; others keep theirs."""
    left(tmp_path / "source.db", keep_log=False).export(tmp_path / "all.jsonl")
    with Memory(place(), profile=PROFILE, worker=False, now=FakeClock()) as copy:
        filled(copy)
        copy.regenerate("eva-1")
        (file,) = copy.import_(tmp_path / "all.jsonl").files
        assert "what was derived here is erased" in file.notes[0]
        assert derived(copy, "eva") == []
        assert len(copy.messages("eva-1")) == 13
        assert copy.facts("sam")


def test_an_opt_out_goes_to_the_user_who_gets_the_file(tmp_path: Path) -> None:
    """Somebody who is new here; the memory of somebody who is known is not erased for it."""
    left(tmp_path / "source.db").export(tmp_path / "eva.jsonl", user_id="eva")
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "eva.jsonl", user_id="evelyn")
    copy.settle()
    assert [one.user_id for one in copy.opt_outs()] == ["evelyn"]
    assert copy.facts("evelyn") == []
    other = opened(tmp_path / "other.db")
    other.add("I live in Porto.", user_id="max")
    other.settle()
    with pytest.raises(InputError, match=r"line 2.*'eva' has opted out.*'max'.*has a memory here.*opt_out\('max'\)"):
        other.import_(tmp_path / "eva.jsonl", user_id="max")
    assert other.facts("max")
    assert other.opt_outs() == []


def test_an_export_of_somebody_else_has_no_opt_out(tmp_path: Path) -> None:
    """Only of those whose memories are in it."""
    left(tmp_path / "source.db").export(tmp_path / "sam.jsonl", user_id="sam")
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "sam.jsonl")
    assert copy.opt_outs() == []


@pytest.mark.parametrize(
    ("record", "says"),
    [
        pytest.param({"user_id": "eva", "since": "today", "keep_log": True}, "since", id="no-time"),
        pytest.param({"since": "2025-03-01T00:00:00Z", "keep_log": True}, "user_id", id="nobody"),
    ],
)
def test_a_wrong_opt_out_is_an_error(tmp_path: Path, record: dict[str, Any], says: str) -> None:
    """It names the line and the field, and nothing is imported."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"type": "opt_out", **record}), "utf-8")
    with pytest.raises(InputError, match=f"line 1.*{says}"):
        opened(tmp_path / "a.db").import_(tmp_path / "a.jsonl", whole=True)
