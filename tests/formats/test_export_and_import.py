"""Everything out and in again: the same memory, once, however often and however interrupted."""

import json
import random
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Conflict, InputError, Memory
from lamina.formats import files
from lamina.formats import folder_write as folder
from lamina.story import story
from lamina.testing import FakeClock, FakeSummariser
from tests.formats.random_values import disturbed
from tests.random_memories import a_memory, everything, opened, records
from tests.sizes import examples, share

SEEDS = range(share(12))


# there and back


@pytest.mark.parametrize("seed", SEEDS)
def test_an_export_comes_back_whole(seed: int, tmp_path: Path) -> None:
    """Lines in, lines out: the same sessions, messages, summaries, facts, episodes, links and milestones."""
    before = everything(a_memory(tmp_path / "a.db", seed), tmp_path / "a.jsonl")
    copy = opened(":memory:" if seed % 2 else tmp_path / "copy.db")
    taken = copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "b.jsonl") == before
    assert copy.verify().problems == ()
    assert taken.facts == sum(kind == "fact" for kind, _ in before)
    assert taken.links == sum(kind == "link" for kind, _ in before)
    again = copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "c.jsonl") == before
    assert again.duplicates == taken.messages
    assert (again.messages, again.summaries, again.facts, again.episodes, again.links, again.milestones) == (0,) * 6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_folder_comes_back_whole(seed: int, tmp_path: Path) -> None:
    """The readable files bring back the same, too."""
    memory = a_memory(tmp_path / "a.db", seed)
    before = everything(memory, tmp_path / "a.jsonl")
    size = memory.export(tmp_path / "folder")
    assert size == sum(file.stat().st_size for file in (tmp_path / "folder").iterdir())
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "folder")
    copy.import_(tmp_path / "folder")
    assert everything(copy, tmp_path / "b.jsonl") == before
    assert copy.verify().problems == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_interrupted_import_is_taken_up_again(seed: int, tmp_path: Path) -> None:
    """A file that was cut at any line, or within one, and then comes whole gives the same as at once."""
    before = everything(a_memory(tmp_path / "a.db", seed), tmp_path / "a.jsonl")
    whole = (tmp_path / "a.jsonl").read_text("utf-8")
    chance = random.Random(seed)
    copy = opened(tmp_path / "copy.db")
    rows = whole.split("\n")
    for end in sorted(chance.sample(range(len(rows)), 4)):
        (tmp_path / "cut.jsonl").write_text("\n".join(rows[:end]) + "\n" + rows[end][: chance.choice([0, 9])], "utf-8")
        with suppress(InputError):
            copy.import_(tmp_path / "cut.jsonl")
        assert copy.verify().problems == ()
    copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "b.jsonl") == before


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    """As long as the messages of a session stay in order."""
    before = everything(a_memory(tmp_path / "a.db", 1), tmp_path / "a.jsonl")
    header, *rest = records(tmp_path / "a.jsonl")
    rest.sort(key=lambda record: record["type"] in {"session", "message"})
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in [header, *rest]))
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "b.jsonl")
    assert everything(copy, tmp_path / "c.jsonl") == before


def test_the_demo_story_moves_without_a_model(tmp_path: Path) -> None:
    """Eight months of talk are restored with a worker at hand, and nothing has to be summarised or read again."""
    sessions: dict[str, list[Any]] = {}
    for message in story():
        sessions.setdefault(message.pop("session_id"), []).append(message)
    memory = opened(tmp_path / "a.db")
    for session_id, messages in sessions.items():
        memory.add(messages, user_id="mara", session_id=session_id)
        memory.end(session_id)
    memory.settle()
    before = everything(memory, tmp_path / "a.jsonl")
    model = FakeSummariser()
    with opened(tmp_path / "copy.db", summariser=model, worker=True) as copy:
        copy.import_(tmp_path / "a.jsonl")
        done = copy.settle()
        assert (done.folds, done.digests, done.facts, model.tasks) == (0, 0, 0, [])
        assert everything(copy, tmp_path / "b.jsonl") == before
        mine, theirs = memory.digest("mara"), copy.digest("mara")
        assert mine is not None
        assert theirs is not None
        assert (mine.id, mine.text) == (theirs.id, theirs.text)
        copy.add("The worker is at it again.", user_id="mara", session_id="new")
        assert copy.settle().failed == ()
        assert copy.verify().problems == ()


def test_ten_thousand_messages_are_quick(tmp_path: Path) -> None:
    """Lines go in by sessions, not one by one, with all that was derived from them."""
    memory, clock, sessions = opened(tmp_path / "a.db"), FakeClock(), share(20)
    for number in range(sessions):
        said = [{"role": "user" if n % 2 else "assistant", "content": f"Word {n} of many."} for n in range(500)]
        memory.add(said, session_id=f"s{number}")
        clock.advance(hours=1)
    told: list[tuple[int, int]] = []
    memory.export(tmp_path / "a.jsonl", progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (500 * sessions, 500 * sessions)
    copy = opened(tmp_path / "copy.db")
    written = writes_of(copy)
    taken = copy.import_(tmp_path / "a.jsonl", progress=lambda done, of: told.append((done, of)))
    assert taken.messages == 500 * sessions
    assert told[-1][0] == told[-1][1] == (tmp_path / "a.jsonl").stat().st_size
    assert 0 < len(written) <= 5 * sessions


def writes_of(memory: Memory) -> list[object]:
    """The transactions in which a memory writes from now on."""
    engine: Any = memory._memory
    database, written = engine._parts.store._database, []
    write = database.write

    def noted(work: object, *about: Any) -> Any:
        written.append(work)
        return write(work, *about)

    database.write = noted
    return written


# parts


def test_a_session_or_user_alone(tmp_path: Path) -> None:
    """Of a session, all that was said in it; of a user, all that is theirs; nothing of others."""
    memory = a_memory(tmp_path / "a.db", 3)
    sessions = memory.sessions()
    own = {session.id for session in sessions if session.user_id == "ann"}
    memory.export(tmp_path / "ann.jsonl", user_id="ann")
    memory.export(tmp_path / "one.jsonl", session_id=sessions[0].id)
    ann, one = records(tmp_path / "ann.jsonl"), records(tmp_path / "one.jsonl")
    assert {record["id"] for record in ann if record["type"] == "session"} == own
    assert {record["user_id"] for record in ann if record["type"] == "fact"} == {"ann"}
    assert {record["session_id"] for record in one if "session_id" in record} == {sessions[0].id}
    assert not [record for record in (*ann, *one) if record["type"] == "receipt"]
    for name in ("ann.jsonl", "one.jsonl"):
        copy = opened(":memory:")
        copy.import_(tmp_path / name)
        assert copy.verify().problems == ()
    memory.export(tmp_path / "one", session_id=sessions[0].id)
    (item,) = json.loads((tmp_path / "one" / folder.CONVERSATIONS).read_text("utf-8"))
    assert item["id"] == sessions[0].id


def test_a_session_alone_takes_the_links_of_its_memories(tmp_path: Path) -> None:
    """Those among themselves, not those to what was told elsewhere."""
    with opened(tmp_path / "a.db") as memory:
        memory.add("I live in Porto and my favourite colour is green.", user_id="ann", session_id="s1")
        memory.settle()
        one, other = memory.facts("ann")
        told = memory.remember("Porto is by the sea", user_id="ann")
        memory.link(one.id, other.id, "supports")
        memory.link(one.id, told.id, "supports")
        memory.export(tmp_path / "s.jsonl", session_id="s1")
    links = [row for row in records(tmp_path / "s.jsonl") if row["type"] == "link"]
    assert [(row["source"], row["target"]) for row in links] == [(one.id, other.id)]
    with opened(tmp_path / "b.db") as copy:
        assert copy.import_(tmp_path / "s.jsonl").links == 1


def test_a_long_export_is_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same file."""
    with a_memory(tmp_path / "a.db", 1) as memory:
        size = memory.export(tmp_path / "whole.jsonl")
        monkeypatch.setattr(files, "_BUFFER", 100)
        assert memory.export(tmp_path / "pieces.jsonl") == size == (tmp_path / "whole.jsonl").stat().st_size
    assert (tmp_path / "pieces.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_the_header_counts_the_lines(tmp_path: Path) -> None:
    """Exactly those that follow."""
    a_memory(tmp_path / "a.db", 2).export(tmp_path / "a.jsonl")
    header, *rest = records(tmp_path / "a.jsonl")
    counts = {key: value for key, value in header.items() if key not in {"type", "format", "version"}}
    assert sum(counts.values()) == len(rest)
    assert counts["messages"] == sum(record["type"] == "message" for record in rest)


def test_a_failed_export_leaves_what_was_there(tmp_path: Path) -> None:
    """Files, and the files of a folder, are exchanged whole or not at all."""
    memory = a_memory(tmp_path / "a.db", 2)
    memory.export(tmp_path / "out.jsonl")
    memory.export(tmp_path / "out")
    before = {path: path.read_bytes() for path in tmp_path.rglob("out*") if path.is_file()}

    def stop(_done: int, _of: int) -> None:
        raise RuntimeError("stop")

    for target in ("out.jsonl", "out"):
        with pytest.raises(RuntimeError):
            memory.export(tmp_path / target, progress=stop)
    assert {path: path.read_bytes() for path in tmp_path.rglob("out*") if path.is_file()} == before
    assert not list(tmp_path.rglob("*.part"))


def test_paths_that_mean_nothing_are_named(tmp_path: Path) -> None:
    """With what would work."""
    memory = a_memory(":memory:", 2)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"ends in '.zip'; everything goes to a .jsonl file or, .* to a folder"):
        memory.export(tmp_path / "out.zip")
    with pytest.raises(InputError, match="cannot be written"):
        memory.export(tmp_path / "file")
    with pytest.raises(InputError, match=r"has no file that can be imported: .json, .*or the files of a memory folder"):
        memory.import_(tmp_path)


def test_a_given_user_owns_what_is_imported(tmp_path: Path) -> None:
    """Sessions, facts, episodes and digests of whoever become theirs."""
    a_memory(tmp_path / "a.db", 4).export(tmp_path / "a.jsonl")
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "a.jsonl", user_id="eve")
    copy.settle()
    assert copy.verify().problems == ()
    copy.export(tmp_path / "b.jsonl")
    owners = {record["user_id"] for record in records(tmp_path / "b.jsonl") if "user_id" in record}
    assert owners == {"eve"}


# files that are not as they should be


def test_a_wrong_line_is_named_and_all_before_it_is_kept(tmp_path: Path) -> None:
    """Messages, facts and milestones; the file can be mended and read again."""
    before = everything(a_memory(tmp_path / "a.db", 5), tmp_path / "a.jsonl")
    rows = (tmp_path / "a.jsonl").read_text("utf-8").split("\n")
    at = next(number for number, row in enumerate(rows) if '"origin": "told"' in row and '"fact_type"' in row)
    wrong = json.dumps(json.loads(rows[at]) | {"confidence": 3})
    (tmp_path / "wrong.jsonl").write_text("\n".join([*rows[:at], wrong, *rows[at + 1 :]]), "utf-8")
    copy = opened(tmp_path / "copy.db")
    said = rf"line {at + 1} \(fact\): confidence is 3.0; it is between 0 and 1; everything before it was imported"
    with pytest.raises(InputError, match=said):
        copy.import_(tmp_path / "wrong.jsonl")
    here = everything(copy, tmp_path / "b.jsonl")
    firm = {"message", "milestone", "session", "summary"}  # what facts stand for also follows from later ones
    assert [here[key] for key in here if key[0] in firm] == [before[key] for key in before if key[0] in firm]
    assert here.keys() <= before.keys()
    copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "c.jsonl") == before


def test_a_wrong_message_is_named_by_its_line(tmp_path: Path) -> None:
    """Also in the middle of others, and also one whose id is taken."""
    good = [{"session_id": "s", "id": f"m{n}", "role": "user", "content": str(n)} for n in range(9)]
    for wrong, kind, words in (
        ({"role": "robot"}, InputError, r"line 5: message has role 'robot'.*; everything before it was imported"),
        ({"id": "m0"}, Conflict, r"line 5: message id 'm0' is taken by other content"),
    ):
        memory = opened(":memory:")
        rows = [row | wrong if number == 4 else row for number, row in enumerate(good)]
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(kind, match=words):
            memory.import_(tmp_path / "in.jsonl")
        assert [message.id for message in memory.messages("s")] == ["m0", "m1", "m2", "m3"]


def test_summaries_that_do_not_fit_are_written_again(tmp_path: Path) -> None:
    """A gap in what they cover would blind the context, so none of them is taken; the import says so."""
    memory = a_memory(tmp_path / "a.db", 6)
    memory.export(tmp_path / "a.jsonl")
    found = records(tmp_path / "a.jsonl")
    for record in found:
        if record["type"] == "summary" and record["covers"] and record["covers"]["first"] == 1:
            record["covers"]["first"] = 2
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in found))
    copy = opened(tmp_path / "copy.db")
    taken = copy.import_(tmp_path / "b.jsonl")
    assert any("which will be written again: messages 1 to 1 are in no live summary" in why for why in taken.skipped)
    copy.settle()
    assert copy.verify().problems == ()
    cursors = {session.id: session.counters.cursor for session in memory.sessions()}
    assert {session.id: session.counters.cursor for session in copy.sessions()} == cursors


@cache
def exported(seed: int) -> str:
    with TemporaryDirectory() as folder:
        a_memory(":memory:", seed).export(Path(folder) / "a.jsonl")
        return (Path(folder) / "a.jsonl").read_text("utf-8")


@examples(60)
@given(seed=st.integers(0, 3), chance=st.data())
def test_nonsense_is_refused_or_harmless(tmp_path_factory: pytest.TempPathFactory, seed: int, chance: Any) -> None:
    """With anything in any place of a line, an import ends well or with a named error, and leaves a clean memory."""
    place = tmp_path_factory.mktemp("nonsense")
    (place / "a.jsonl").write_text(exported(seed), "utf-8")
    found = records(place / "a.jsonl")
    for _ in range(2):
        at = chance.draw(st.integers(0, len(found) - 1))
        found[at] = disturbed(found[at], chance)
    (place / "b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in found))
    copy = opened(":memory:")
    with suppress(InputError, Conflict):
        copy.import_(place / "b.jsonl")
    copy.settle()
    assert copy.verify().problems == ()
    with suppress(InputError, Conflict):
        copy.import_(place / "a.jsonl")
    copy.settle()
    assert copy.verify().problems == ()
