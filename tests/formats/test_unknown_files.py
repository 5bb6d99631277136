"""Files that are nothing to import: what they seem to be is said, and what would work; nothing is stored."""

import json
from pathlib import Path

import pytest

from lamina import InputError, Memory
from lamina.formats.detect import UnknownFormat
from tests.formats.test_foreign import FOLDER

CHAT = "13.10.24, 18:02 - Mara: Gr\u00fc\u00dfe"


@pytest.fixture
def memory():
    with Memory(":memory:", worker=False) as memory:
        yield memory


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("report.pdf", b"%PDF-1.7\n%\xe2\xe3", "a PDF document", id="pdf"),
        pytest.param("letter.docx", b"PK\x03\x04\x14\0[Content_Types].xml", "a Word document", id="docx"),
        pytest.param("export", b"PK\x03\x04\x14\0", r"a zip archive: give it a name that ends in \.zip", id="zip"),
        pytest.param("cat.png", b"\x89PNG\r\n\x1a\n\0", r"a picture \(PNG\)", id="png"),
        pytest.param("cat.json", b"\xff\xd8\xff\xe0\0\x10JFIF", r"a picture \(JPEG\)", id="whatever-its-name"),
        pytest.param("cat.heic", b"\0\0\0\x18ftypheic", r"a picture \(HEIC\)", id="heic"),
        pytest.param("cat.webp", b"RIFF\0\0\0\0WEBPVP8 ", r"a picture \(WebP\)", id="webp"),
        pytest.param("note.opus", b"OggS\0\x02", r"a recording \(Ogg\)", id="ogg"),
        pytest.param("film.mp4", b"\0\0\0\x18ftypisom", r"a video \(MP4\)", id="mp4"),
        pytest.param("all.tar.gz", b"\x1f\x8b\x08\0", "a gzip archive: unpack it", id="gzip"),
        pytest.param("old.db", b"SQLite format 3\0" + bytes(50), "a SQLite database: .*--db", id="sqlite"),
        pytest.param("data.bin", bytes(range(256)), "a file without text", id="bytes"),
        pytest.param("chat.txt", CHAT.encode("utf-16"), "text in UTF-16: save it as UTF-8", id="utf-16"),
        pytest.param("people.csv", b"name,age,city\nann,3,x\n", r"a table \(CSV\)", id="csv"),
        pytest.param("people.txt", b"name;age;city\nann;3;x\n", r"a table \(CSV\)", id="table"),
        pytest.param("chat.html", b"<!DOCTYPE html><html>", "a web page: .*conversations.json", id="html"),
        pytest.param("feed.xml", b'<?xml version="1.0"?><feed>', "XML", id="xml"),
        pytest.param("letter.rtf", rb"{\rtf1 hello", "a document in Rich Text Format", id="rtf"),
        pytest.param("ann.vcf", b"BEGIN:VCARD\nFN:Ann\n", "a contact card", id="vcard"),
        pytest.param("notes", b"Buy milk.\n", "plain text", id="text"),
        pytest.param("notes.jsonl", b"Buy milk.\n" * 50, "plain text", id="long-text"),
    ],
)
def test_what_a_file_seems_to_be(memory: Memory, tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """The error names the file, what it seems to be and what can be imported, in one line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        UnknownFormat, match=rf"^{name} seems to be {words}.*; what can be imported: .*ChatGPT"
    ) as found:
        memory.import_(tmp_path / name)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("a.json", b"", "a.json is empty; what can be imported", id="empty"),
        pytest.param("a.txt", b"\n \n", "a.txt is empty; what can be imported", id="blank"),
        pytest.param(
            "a.json", b'{"a": 1 "b"}', "a.json is not JSON: .*column 9.*what can be imported", id="wrong-json"
        ),
        pytest.param("a.jsonl", b'{"a": 1 "b"}', "a.jsonl, line 1 is not JSON.*what can be imported", id="wrong-line"),
        pytest.param("a.txt", CHAT.encode("latin-1"), "a.txt cannot be read: .*save it as UTF-8", id="latin-1"),
    ],
)
def test_files_that_are_empty_or_damaged(memory: Memory, tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """The error names the file and what would work."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        memory.import_(tmp_path / name)
    assert memory.users() == []


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex_rollout.jsonl"])
def test_a_transcript_whose_last_line_is_cut(memory: Memory, tmp_path: Path, name: str) -> None:
    """What was complete is imported, the line is named; importing the whole file later adds the rest."""
    whole = (FOLDER / name).read_text("utf-8").rstrip("\n")
    number = whole.count("\n") + 1
    path = tmp_path / name
    path.write_text(whole[:-40], "utf-8")
    done = memory.import_(path)
    assert done.problems == ()
    (note,) = done.files[0].notes
    assert note.startswith(f"line {number}, the last one, is cut and was left out; {number - 1} lines before it could")
    path.write_text(whole, "utf-8")
    assert memory.import_(path).files[0].notes == ()
    with Memory(":memory:", worker=False) as other:
        other.import_(path)
        session = other.sessions()[0].id
        assert [one.text for one in memory.messages(session)] == [one.text for one in other.messages(session)]


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex_rollout.jsonl"])
def test_a_transcript_with_lines_that_cannot_be_read(memory: Memory, tmp_path: Path, name: str) -> None:
    """How many they are and which is said, and that the others were imported."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    path = tmp_path / name
    path.write_text("\n".join([*lines[:3], '{"type": ', *lines[3:], "[1]", ""]), "utf-8")
    with Memory(":memory:", worker=False) as other:
        expected = other.import_(FOLDER / name).messages
    done = memory.import_([path])
    assert done.messages == expected
    total = len(lines) + 2
    assert done.problems == (
        f"{name}: 2 of {total} lines cannot be read (4, {total}): line 4 is cut: it ends in the middle",
        f"the other lines of the file were imported ({len(lines)})",
    )


def test_chat_messages_with_a_line_that_is_cut(memory: Memory, tmp_path: Path) -> None:
    """The others are imported, and the line is named; an import of all or nothing stores nothing."""
    path = tmp_path / "chat.jsonl"
    said = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    path.write_text("".join(json.dumps(one) + "\n" for one in said) + '{"role": "us')
    with pytest.raises(InputError, match=r"and nothing was: chat.jsonl: 1 of 3 lines cannot be read: line 3"):
        memory.import_(path, whole=True)
    assert memory.users() == []
    with pytest.raises(InputError, match=r"1 of 3 lines cannot be read: line 3 is cut.*were imported \(2\)"):
        memory.import_(path)
    assert [one.text for one in memory.messages(memory.sessions()[0].id)] == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param({"name": "Jo", "type": "personal_chat", "id": 1, "messages": [{"from": "Jo", "text": "hi"}]},
                     "a chat of Telegram", id="telegram"),
        pytest.param([{"type": "message", "user": "U1", "ts": "17.0", "text": "hi"}], "a channel of Slack", id="slack"),
        pytest.param([{"header": "Gemini Apps", "title": "hi", "time": "2025-01-01", "products": []}],
                     "an activity log of Google", id="gemini"),
        pytest.param({"guild": {}, "channel": {}, "messages": [{"content": "hi"}]},
                     "a channel of Discord", id="discord"),
    ],
)  # fmt: skip
def test_exports_of_tools_that_are_not_read_are_named(memory: Memory, tmp_path: Path, content, words: str) -> None:
    """The error says whose export it is, and what it can be written as."""
    (tmp_path / "result.json").write_text(json.dumps(content))
    with pytest.raises(UnknownFormat, match=rf"^result.json seems to be {words}.*: write it as chat messages: .*role"):
        memory.import_(tmp_path / "result.json")


def test_a_log_with_a_name_and_a_type_is_no_chat_of_another_tool(memory: Memory, tmp_path: Path) -> None:
    """Messages with roles are chat messages, whatever stands beside them."""
    messages = [{"role": "user", "content": "hi"}]
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "type": "chat", "id": 1, "messages": messages}))
    assert memory.import_(tmp_path / "a.json").messages == 1
