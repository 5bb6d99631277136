"""Several files, folders and archives in one import: what is read, what is not, and what is said of it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina import BadRecords, Conflict, InputError, Memory
from lamina.formats import json_items, sources
from lamina.formats.json_items import ItemReader, Position
from tests.formats.test_foreign import FOLDER


@pytest.fixture
def memory():
    with Memory(":memory:", worker=False) as memory:
        yield memory


def archive(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "/").replace("_json", ".json"), text)
    return path


def text(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def conversations(number: int) -> list[dict[str, Any]]:
    template = json.loads(text("claude_conversations.json"))[1]
    return [{**template, "uuid": f"c{n}", "name": f"Talk {n}"} for n in range(number)]


def test_archives_of_chatgpt_and_claude(memory: Memory, tmp_path: Path) -> None:
    """Conversations are found where they are, also in several files; what is beside them is passed over."""
    chats = json.loads(text("openai_export.json"))
    split = {"conversations-000_json": json.dumps(chats[:1]), "conversations-001_json": json.dumps(chats[1:])}
    one = archive(tmp_path / "chatgpt.zip", **split, user_json="{}", chat_html="<html>", file__picture_png="")
    two = archive(tmp_path / "claude.zip", data__conversations_json=text("claude_conversations.json"), users_json="[]")
    done = memory.import_([one, two], user_id="mara")
    assert [(file.name, file.format, file.sessions) for file in done.files] == [
        ("chatgpt.zip/conversations-000.json", "ChatGPT", 1),
        ("chatgpt.zip/conversations-001.json", "ChatGPT", 1),
        ("claude.zip/data/conversations.json", "Claude", 2),
    ]
    assert (done.problems, done.messages) == ((), 22)
    assert {session.title for session in memory.sessions("mara")} >= {"Sourdough", "Balcony herb garden"}
    again = memory.import_([two, one, tmp_path], user_id="mara")
    assert (again.messages, again.duplicates, len(again.files)) == (0, 22, 3)


def test_a_broken_file_leaves_the_others(memory: Memory, tmp_path: Path) -> None:
    """Each file says what came of it; a file of no known format, found in a folder, is left out."""
    (tmp_path / "a.json").write_text('[{"chat_messages": [')
    (tmp_path / "b.json").write_text(text("claude_conversations.json"))
    (tmp_path / "notes.txt").write_text("Buy milk.")
    (tmp_path / "README.md").write_text("# Notes")
    done = memory.import_(tmp_path)
    broken, good = done.files
    assert (broken.name, broken.sessions, good.sessions) == ("a.json", 0, 2)
    assert "a.json is damaged: it ends in the middle of item 1" in broken.problems[0]
    assert done.problems == broken.problems
    assert {"notes.txt: no known format", "README.md: no known format"} <= done.skipped.keys()
    with pytest.raises(
        InputError, match=r"notes.txt seems to be plain text, .*no chat that WhatsApp exports; what can be imported"
    ):
        memory.import_(tmp_path / "notes.txt")


def test_half_a_file_is_imported_and_said(memory: Memory, tmp_path: Path) -> None:
    """A conversation that cannot be read is named, the next ones follow; a file that ends early keeps what it had."""
    data = conversations(5)
    data[2]["chat_messages"] = "none"
    (tmp_path / "odd.json").write_text(json.dumps(data))
    done = memory.import_([tmp_path / "odd.json"])
    assert done.sessions == 4
    assert done.problems == (
        "odd.json, conversation 3 has no list of chat_messages, but text",
        "the other conversations of the file were imported (4)",
    )
    (tmp_path / "cut.json").write_text(json.dumps(conversations(9))[:-300])
    with pytest.raises(InputError, match=r"ends in the middle of item 9; 8 came before it.*were imported \(8\)"):
        memory.import_(tmp_path / "cut.json")
    assert len(memory.sessions()) == 8
    with pytest.raises(BadRecords, match="conversation 3"):
        memory.import_(tmp_path / "odd.json", whole=True, user_id="nobody")
    assert memory.sessions("nobody") == []


def test_everything_that_failed_is_named(memory: Memory, tmp_path: Path) -> None:
    """Paths that are not there, empty folders, archives that are none or have nothing to import."""
    (tmp_path / "none.zip").write_text("no archive")
    archive(tmp_path / "pictures.zip", picture_png="")
    (tmp_path / "empty").mkdir()
    (tmp_path / "void.json").write_text("[]")
    (tmp_path / "bare.jsonl").write_text("")
    paths = [tmp_path / name for name in ("gone.zip", "none.zip", "pictures.zip", "empty", "void.json", "bare.jsonl")]
    done = memory.import_(paths)
    assert len(done.problems) == len(paths)
    for problem, words in zip(
        done.problems,
        [
            "there is no file or folder",
            "no archive that can be read",
            "has no file that can be imported",
            "has no file",
            "empty",
            "empty",
        ],
        strict=True,
    ):
        assert words in problem
    with pytest.raises(InputError, match="nothing to import"):
        memory.import_([])
    with pytest.raises(InputError, match="there is no zone 'Mars'"):
        memory.import_(paths, zone="Mars")


def test_an_archive_that_would_fill_the_disk_is_refused(memory: Memory, tmp_path: Path) -> None:
    """By the sizes it tells, before anything is unpacked."""
    bomb = archive(tmp_path / "bomb.zip", conversations_json=" " * 40_000_000)
    with pytest.raises(InputError, match="said to be 40,000,000 bytes from"):
        memory.import_(bomb)


def test_names_in_an_archive_lead_nowhere(memory: Memory, tmp_path: Path) -> None:
    """A file is unpacked into a folder of its own, whatever path its name is."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("../../outside/conversations.json", text("claude_conversations.json"))
        packed.writestr("/absolute/conversations-001.json", text("openai_export.json"))
    (tmp_path / "there").mkdir()
    assert memory.import_(tmp_path / "a.zip").sessions == 4
    assert {one.name for one in tmp_path.rglob("*")} == {"a.zip", "there"}


def test_a_file_that_was_changed_behind_its_size_is_refused(memory: Memory, tmp_path: Path) -> None:
    """A damaged archive is named."""
    path = archive(tmp_path / "a.zip", conversations_json=text("claude_conversations.json"))
    raw = bytearray(path.read_bytes())
    raw[60:90] = b"\0" * 30
    path.write_bytes(raw)
    done = memory.import_([path])
    assert "cannot be unpacked" in done.problems[0]


def test_progress_knows_all_bytes(memory: Memory, tmp_path: Path) -> None:
    """It rises over all files, and ends at their size."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps([{**one, "uuid": name + one["uuid"]} for one in conversations(200)]))
    seen: list[tuple[int, int]] = []
    memory.import_([tmp_path], progress=lambda done, of: seen.append((done, of)))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert seen == sorted(seen)
    assert len(seen) > 4
    assert seen[-1] == (size, size)


# items of a list


def read(path: Path) -> list[Any]:
    return list(ItemReader(path, Position()).items())


@pytest.mark.parametrize(
    "written",
    [json.dumps, lambda data: json.dumps(data, indent=4), lambda data: json.dumps(data, ensure_ascii=False) + "\n\n"],
    ids=["plain", "indented", "utf-8"],
)
def test_items_are_read_piece_by_piece(written: Callable[[Any], str], tmp_path: Path, monkeypatch) -> None:
    """Whatever the pieces are that the file is read in."""
    data = [{"a": ["ü", "\u8336\U0001f989", '"]}{[', 1.5e3]}, 17, -3.25, "x" * 300, None, True, [], {}, 12345678]
    path = tmp_path / "a.json"
    path.write_text(written(data), "utf-8")
    for size in (1, 2, 3, 7, 64, 1 << 20):
        monkeypatch.setattr(json_items, "_PIECE", size)
        assert read(path) == data
    path.write_text("\ufeff" + written({"one": data}), "utf-8")
    assert read(path) == [{"one": data}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'[{"a": 1}, {"b": ', "ends in the middle of item 2; 1 came before", id="cut"),
        pytest.param(b'[{"a": 1} {"b": 2}]', "a comma is missing", id="comma"),
        pytest.param(b'[{"a": 1}', "a comma is missing", id="no-end"),
        pytest.param(b'[{"a": 1}] []', "something follows", id="more"),
        pytest.param(b'[{"a": nix}]', "middle of item 1", id="word"),
        pytest.param(b'["\xff"]', "not UTF-8", id="bytes"),
        pytest.param(b"[" * 100_000, "nested too deep", id="deep"),
        pytest.param(b"", "ends in the middle of item 1", id="empty"),
    ],
)
def test_items_of_a_damaged_file(content: bytes, words: str, tmp_path: Path) -> None:
    """The error says how many items came before."""
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "a.json")


def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """A list of many items is never in memory as a whole."""
    path = tmp_path / "a.json"
    item = json.dumps({"text": "x" * 10_000})
    with path.open("w") as file:
        file.write("[" + ",".join([item] * 2_000) + "]")
    reader = ItemReader(path, Position())
    longest = max(len(reader._text) for _ in reader.items())
    assert longest <= 2 * json_items._PIECE + len(item)


def test_folders_are_searched_but_not_what_is_hidden(tmp_path: Path) -> None:
    """Hidden folders and files that have no conversations are passed over, each file is taken once."""
    for name in (".git/a.json", "x/b.json", "x/users.json", "x/.c.json", "y/d.jsonl", "e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[]")
    found = sources.find([tmp_path])
    assert ([one.name for one in found.sources], found.failed) == (["x/b.json", "y/d.jsonl"], [])
    assert found.left_out == {
        "x/users.json: settings of the account": 1,
        "file of a type that is not read: .png": 1,
    }
    assert [one.name for one in sources.find([tmp_path, tmp_path / "x"]).sources] == ["x/b.json", "y/d.jsonl"]


def test_many_types_of_files_are_counted_together(tmp_path: Path) -> None:
    """The result stays short, whatever is in a folder."""
    for number in range(30):
        (tmp_path / f"a.type{number}").write_text("")
    (tmp_path / "a.jsonl").write_text("")
    left_out = sources.find([tmp_path]).left_out
    assert (len(left_out), left_out["file of another type"], left_out.total()) == (11, 20, 30)


MEMORIES = [
    {
        "conversations_memory": "**Work context**\n\nMara is a harbour master in Ghent.\nShe runs two tugs.\n\n---\n\n"
        "## Preferences\n- Short answers\n- **Metric** units\n",
        "project_memories": {"p1": "The tide table is due in May.", "p2": None},
        "account_uuid": "a1",
    }
]


def test_memories_of_claude(memory: Memory, tmp_path: Path) -> None:
    """Each paragraph is remembered once, under its heading; documents of projects are named as left out."""
    files = {"conversations_json": text("claude_conversations.json"), "memories_json": json.dumps(MEMORIES)}
    path = archive(tmp_path / "claude.zip", **files, projects_json="[]", users_json="[]")
    done = memory.import_(path, user_id="mara")
    assert (done.problems, done.facts) == ((), 4)
    assert [(file.format, file.facts) for file in done.files] == [("Claude", 0), ("memories of Claude", 4)]
    assert done.skipped["claude.zip/projects.json: documents of projects, which nobody said"] == 1
    assert done.skipped["memory of a project without text"] == 1
    told = {fact.value: fact.tags for fact in memory.facts("mara") if fact.origin == "told"}
    assert (
        told.items()
        >= {
            "Mara is a harbour master in Ghent. She runs two tugs.": ("claude", "Work context"),
            "Short answers": ("claude", "Preferences"),
            "**Metric** units": ("claude", "Preferences"),
            "The tide table is due in May.": ("claude", "project:p1"),
        }.items()
    )
    assert "harbour master" in memory.context("Where do I work?", user_id="mara").text
    assert memory.import_(path, user_id="mara").facts == 0
    memory.forget(user_id="mara", text="tide table")
    assert memory.import_(path, user_id="mara").facts == 0


def test_an_empty_file_in_an_archive_is_left_out(memory: Memory, tmp_path: Path) -> None:
    """Claude writes one where it remembers nothing."""
    path = archive(tmp_path / "c.zip", conversations_json=text("claude_conversations.json"), memories_json="[]")
    done = memory.import_(path)
    assert (done.problems, done.skipped["c.zip/memories.json: empty"]) == ((), 1)


def test_an_archive_in_an_archive_is_to_be_unpacked(memory: Memory, tmp_path: Path) -> None:
    """The error says so, instead of asking whether it is the right one."""
    archive(tmp_path / "inner.zip", conversations_json=json.dumps(conversations(1)))
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as outer:
        outer.write(tmp_path / "inner.zip", "inner.zip")
    with pytest.raises(InputError, match=r"outer.zip has no file .*unpack it, and import the archive that is in it"):
        memory.import_(tmp_path / "outer.zip")


def test_a_conversation_of_another_user_says_what_would_work(memory: Memory, tmp_path: Path) -> None:
    """Ids are the file's, so choosing another is no advice."""
    (tmp_path / "a.json").write_text(json.dumps(conversations(1)))
    memory.import_(tmp_path / "a.json", user_id="ann")
    with pytest.raises(Conflict, match="is taken by another user of this memory; import it for that user") as found:
        memory.import_(tmp_path / "a.json", user_id="bob")
    assert "ann" not in str(found.value)
    assert "choose" not in str(found.value)
