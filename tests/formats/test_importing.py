"""What comes in beside our own whole exports: other tools, older files, what is here already, what was forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import InputError, Memory, NotFound
from lamina.errors import BadRecords
from lamina.formats import folder_write as folder
from lamina.formats import importing
from lamina.testing import FakeClock
from lamina.values.message import Span
from tests.formats.test_folder import OTHERS
from tests.random_memories import PROFILE, everything, opened, records

DATA = Path(__file__).parent.parent / "data" / "imports"
LIVES = "I live in Porto and my favourite colour is green."


def spoken(memory: Memory, session_id: str = "s", user_id: str = "ann") -> None:
    """A short talk with something to know in it."""
    said = [("m1", "user", LIVES), ("m2", "assistant", "Nice."), ("m3", "user", "We decided to ship on Friday.")]
    messages = [{"id": f"{session_id}-{key}", "role": role, "content": text} for key, role, text in said]
    memory.add(messages, session_id=session_id, user_id=user_id)
    memory.settle()


def values(memory: Memory, user_id: str = "ann") -> set[str]:
    return {fact.value for fact in memory.facts(user_id)}


# other tools


@pytest.mark.parametrize(
    ("name", "has"),
    [
        pytest.param("openai_export.json", "messages", id="chatgpt"),
        pytest.param("sharegpt.json", "messages", id="sharegpt"),
        pytest.param("openai_log.jsonl", "messages", id="log"),
        pytest.param("mem0.json", "facts", id="mem0"),
    ],
)
def test_files_of_other_tools(name: str, has: str, tmp_path: Path) -> None:
    """What is in them comes in once, what is left out is counted, and our own export of it comes back."""
    memory = opened(tmp_path / "a.db")
    taken = memory.import_(DATA / name, user_id="ann")
    assert getattr(taken, has) > 0
    again = memory.import_(DATA / name, user_id="ann")
    assert (again.messages, again.facts, again.milestones, again.duplicates) == (0, 0, 0, taken.messages)
    assert again.skipped == taken.skipped
    memory.settle()
    assert memory.verify().problems == ()
    before = everything(memory, tmp_path / "a.jsonl")
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "b.jsonl") == before


NOBODYS = '{"session_id": "s9", "role": "user", "content": "I live in Ghent."}'


@pytest.mark.parametrize(
    "name", ["openai_export.json", "claude_conversations.json", "sharegpt.json", "openai_log.jsonl",
             "claude_code.jsonl", "codex_rollout.jsonl", "whatsapp_android.txt", "lines.jsonl", "session.md"],
)  # fmt: skip
def test_a_file_that_names_no_user_needs_one_beside_other_users(name: str, tmp_path: Path) -> None:
    """Nothing is imported, of no file; with a user_id, or in a memory of `default` alone, it comes in."""
    path = DATA / name
    if name == "lines.jsonl":
        path = tmp_path / name
        path.write_text(NOBODYS)
    elif name == "session.md":
        path = tmp_path / name
        told = opened(tmp_path / "told.db")
        spoken(told, "s9")
        told.export(path, session_id="s9")
    (tmp_path / "named.jsonl").write_text(NOBODYS.replace('"role"', '"user_id": "eve", "role"').replace("s9", "s8"))
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    for given in (path, [tmp_path / "named.jsonl", path]):
        with pytest.raises(InputError, match=rf"{name} does not say whose it is; .*user_id.*'ann'.*Nothing was"):
            memory.import_(given, me="Mara")
    assert memory.users() == ["ann"]
    assert memory.import_(path, user_id="ann", me="Mara").messages > 0
    alone = opened(tmp_path / "b.db")
    alone.add("Hello.", session_id="s0")
    assert alone.import_(path, me="Mara").messages > 0
    assert "default" in alone.users()


def test_files_that_name_their_users_need_none(tmp_path: Path) -> None:
    """Our own exports, memories of mem0 with users, messages with users."""
    memory, other = opened(tmp_path / "a.db"), opened(tmp_path / "b.db")
    spoken(memory)
    memory.remember("Likes short answers", user_id="ann")
    memory.export(tmp_path / "all.jsonl")
    memory.export(tmp_path / "folder")
    spoken(other, "t", "ben")
    for path in (tmp_path / "all.jsonl", tmp_path / "folder", DATA / "mem0.json"):
        assert other.import_(path).problems == ()
    assert {"ann", "ben"} < set(other.users())
    assert "default" not in other.users()


def test_the_folder_that_chatgpt_gives(tmp_path: Path) -> None:
    """Its conversations.json has the name of a file of ours, and is told apart."""
    (tmp_path / folder.CONVERSATIONS).write_bytes((DATA / "openai_export.json").read_bytes())
    assert (
        opened(":memory:").import_(tmp_path).messages
        == opened(":memory:").import_(DATA / "openai_export.json").messages
    )


def test_a_folder_of_another_program(tmp_path: Path) -> None:
    """Memories belong to the project of the conversations; what has no place is counted."""
    for name, items in OTHERS.items():
        (tmp_path / name).write_text(json.dumps(items))
    memory = opened(":memory:")
    taken = memory.import_(tmp_path, user_id="ann")
    assert (taken.sessions, taken.messages, taken.facts, taken.episodes, taken.links) == (2, 4, 1, 0, 0)
    assert taken.skipped["episode without a session"] == 1
    assert taken.skipped["link to a memory that is not here"] == 1
    assert {fact.value for fact in memory.facts("ann", project_id="shop")} == {"Use PostgreSQL"}
    assert (memory.session("c1").status, memory.session("c1").project_id) == ("ended", "shop")
    assert memory.import_(tmp_path, user_id="ann").messages == 0
    memory.settle()
    assert memory.verify().problems == ()


def test_edits_by_hand_of_the_folder_count(tmp_path: Path) -> None:
    """A memory that was taken out stays out, though the message that said it is there; another reads as edited."""
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    assert {"Porto", "green"} <= values(memory)
    memory.export(tmp_path / "folder")
    path = tmp_path / "folder" / folder.LONG_TERM
    items = [item for item in json.loads(path.read_text("utf-8")) if "Porto" not in item["content"]]
    for item in items:
        item["content"] = item["content"].replace("green", "blue")
    path.write_text(json.dumps(items))
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "folder")
    copy.settle()
    assert values(copy) == (values(memory) - {"Porto", "green"}) | {"blue"}
    assert copy.verify().problems == ()


def test_messages_without_ids_are_known_again(tmp_path: Path) -> None:
    """By all that was said up to them: a file that has grown adds only what is new."""
    rows = [{"session_id": "s", "role": "user", "content": word} for word in ("hello", "hello", "bye")]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:2]))
    memory = opened(":memory:")
    assert memory.import_(path).messages == 2
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = memory.import_(path)
    assert (taken.messages, taken.duplicates) == (1, 2)
    assert [message.text for message in memory.messages("s")] == ["hello", "hello", "bye"]


@pytest.mark.parametrize("name", ["chat.json", "chat.jsonl"])
def test_plain_chat_messages(name: str, tmp_path: Path) -> None:
    """A list of messages, or one a line, is a session; whatever the name says, lines are read as lines."""
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    as_list, as_lines = json.dumps(said), "".join(json.dumps(one) + "\n" for one in said)
    for text in (as_lines, as_list) if name.endswith("json") else (as_lines,):
        (tmp_path / name).write_text(text)
        memory = opened(":memory:")
        assert memory.import_(tmp_path / name).messages == 2
        assert memory.import_(tmp_path / name).messages == 0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("a.json", b"{", r"a.json is not JSON.*a file of JSON Lines must end in .jsonl", id="no-json"),
        pytest.param("a.json", b'{"a": 1}', "an object with .*'a'.*what can be imported", id="unknown"),
        pytest.param("a.jsonl", b"", "is empty; what can be imported", id="empty"),
        pytest.param("a.jsonl", b'{"role": "user", "content": "\xff"}', "line 1 is not UTF-8", id="not-text"),
        pytest.param(
            "a.json", b'[{"role": "user", "content": "\xff"}]', "a.json cannot be read: it is not UTF-8", id="bytes"
        ),
        pytest.param("a.json", b'[{"session_id": "s", "role": "user"}, 3]', "item 2 must be an object", id="item"),
        pytest.param(
            "a.jsonl", b'{"role": "user", "content": ""}\n{"role"', r"line 2 is cut.*were imported \(1\)", id="cut"
        ),
        pytest.param("a.md", b"# Notes", "a.md is not a session file.*what can be imported", id="markdown"),
        pytest.param("a.jsonl", b'{"type": "fact", "id": "f"}', r"line 1 \(fact\) lacks 'type', 'category'", id="bare"),
        pytest.param(
            "a.jsonl", b'{"type": "message", "role": "user", "content": ""}', "line 1 has no session_id", id="whose"
        ),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    """The error says where and what would work."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        opened(":memory:").import_(tmp_path / name)


def test_records_of_ours_as_one_json(tmp_path: Path) -> None:
    """A list of records, or a single one, is read as the lines are."""
    said = {"session_id": "s", "role": "user", "content": "hello"}
    path = tmp_path / "a.json"
    memory = opened(":memory:")
    for content in (said, [said, {**said, "content": "bye"}]):
        path.write_text(json.dumps(content, indent=1))
        assert memory.import_(path).messages == 1
    assert [message.text for message in memory.messages("s")] == ["hello", "bye"]


def test_all_of_another_tools_file_or_nothing(tmp_path: Path) -> None:
    """With `whole`, a record that is wrong keeps out those before it."""
    said = [{"role": "user", "content": "hello"}, {"role": "user", "content": "x" * 5_000_000}]
    (tmp_path / "a.json").write_text(json.dumps(said))
    memory = opened(":memory:")
    with pytest.raises(BadRecords, match=r"a\.json, message"):
        memory.import_(tmp_path / "a.json", whole=True)
    assert memory.sessions() == []
    (tmp_path / "a.json").write_text(json.dumps(said[:1]))
    assert memory.import_(tmp_path / "a.json", whole=True).messages == 1


TIME = "2025-01-06T09:00:00+00:00"
FACT: dict[str, Any] = {"type": "fact", "fact_type": "fact", "category": "identity", "confidence": 1, "importance": 1}
TOLD = {**FACT, "origin": "told", "value": "likes tea", "user_id": "ann"}


def lined(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_records_that_have_no_place(tmp_path: Path) -> None:
    """A fact said nowhere, a milestone and links of what is not here, a link of no known kind: left out, counted."""
    milestone = {"type": "milestone", "id": "mile", "session_id": "none", "turn": 1, "title": "t", "created_at": TIME}
    link = {"type": "link", "source": "f1", "target": "f2", "strength": 1.0, "created_at": TIME}
    path = lined(
        tmp_path / "a.jsonl",
        {**TOLD, "id": "f1"},
        {**TOLD, "id": "f2", "value": "likes coffee"},
        {**TOLD, "id": "f3", "origin": "said"},
        milestone,
        {**link, "link_type": "supports"},
        {**link, "link_type": "rhymes_with"},
    )
    memory = opened(":memory:")
    taken = memory.import_(path)
    assert (taken.facts, taken.links, taken.milestones) == (2, 1, 0)
    assert taken.skipped == {
        "fact without the session that it was said in": 1,
        "milestone whose session is not here": 1,
        "link of the unknown type 'rhymes_with'": 1,
    }
    assert memory.import_(path, user_id="bob").skipped["fact whose id another user has"] == 2
    assert values(memory, "bob") == set()


def test_a_fact_that_says_nothing(tmp_path: Path) -> None:
    """It is refused, by its line."""
    with pytest.raises(InputError, match=r"line 1 \(fact\): value is empty"):
        opened(":memory:").import_(lined(tmp_path / "a.jsonl", {**TOLD, "id": "f1", "value": " "}))


def test_many_facts_come_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, each comes once."""
    monkeypatch.setattr(importing, "_BATCH", 2)
    path = lined(tmp_path / "a.jsonl", *({**TOLD, "id": f"f{n}", "value": f"likes tea {n}"} for n in range(5)))
    memory = opened(":memory:")
    assert memory.import_(path).facts == 5
    assert values(memory) == {f"likes tea {n}" for n in range(5)}


def test_an_episode_without_a_turn(tmp_path: Path) -> None:
    """It belongs to the newest turn of its session."""
    memory = opened(":memory:")
    spoken(memory)
    episode: dict[str, Any] = {
        "type": "episode",
        "id": "e1",
        "kind": "breakthrough",
        "title": "Found it",
        "summary": "",
        "context": "",
        "participants": [],
        "outcome": None,
        "valence": 0,
        "significance": 0.4,
        "session_id": "s",
        "message_ids": [],
        "origin": "told",
        "user_id": "ann",
    }
    assert memory.import_(lined(tmp_path / "a.jsonl", episode)).episodes == 1
    (found,) = [one for one in memory.episodes("ann") if one.id == "e1"]
    assert found.turns == Span(first=2, last=2)


@pytest.mark.parametrize(
    ("kind", "change", "skipped"),
    [
        pytest.param("fact", {"quote": "I live in Faro"}, "fact whose words are not in its message here", id="fact"),
        pytest.param("episode", {"message_ids": ["none"]}, "episode whose messages are not here", id="episode"),
    ],
)
def test_what_the_messages_do_not_bear_out(kind: str, change: dict[str, Any], skipped: str, tmp_path: Path) -> None:
    """A record that was changed by hand is left out, and counted."""
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    memory.export(tmp_path / "a.jsonl")
    rows = records(tmp_path / "a.jsonl")
    meant = [row for row in rows if row["type"] == kind]
    assert meant
    changed = [{**row, **change} if row["type"] == kind else row for row in rows]
    copy = opened(":memory:")
    assert copy.import_(lined(tmp_path / "b.jsonl", *changed)).skipped == {skipped: len(meant)}
    copy.settle()
    assert copy.verify().problems == ()


SESSION_FILE = """# Session: s

## Metadata
- Start: 2025-01-06T09:00:00+00:00
- Message Count: 7
- Summary Version: 1

## Short-Term Messages (Last {count})
{said}
## Medium-Term Summary
They talked about tea.
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("", [], id="none"),
        pytest.param("**Message 7 (Asha):** Tea?", [("user", "Asha", "Tea?")], id="name"),
        pytest.param("**Message 7 (Asha, user):** Tea?", [("user", "Asha", "Tea?")], id="name-and-role"),
        pytest.param("**Message 7 (Tool):** 3 cups", [("tool", None, "3 cups")], id="tool"),
    ],
)
def test_a_session_file_written_by_hand(said: str, expected: list[tuple[str, str | None, str]], tmp_path: Path) -> None:
    """Whoever speaks in it: a role, a name, or a name with a role; its summary stands for what it does not show."""
    (tmp_path / "s.md").write_text(SESSION_FILE.format(count=len(expected), said=said))
    memory = opened(":memory:")
    assert memory.import_(tmp_path / "s.md").messages == 7
    (summary,) = memory.summaries("s")
    assert summary.covers == Span(first=1, last=7 - len(expected))
    assert "They talked about tea." in summary.text
    shown = [one for one in memory.messages("s") if not one.forgotten]
    assert [(one.role, one.name, one.text) for one in shown] == expected
    assert memory.verify().ok


def test_an_export_of_the_first_version(tmp_path: Path) -> None:
    """Messages, milestones and status are taken; what was derived then is made anew."""
    time = "2025-01-06T09:00:00+00:00"
    rows: list[dict[str, Any]] = [
        {"type": "header", "format": "lamina-sessions", "version": 1, "sessions": 1},
        {"type": "session", "id": "s", "user_id": "ann", "status": "ended", "ended_at": time, "counters": {}},
        {"type": "message", "session_id": "s", "id": "m1", "role": "user", "content": LIVES, "created_at": time},
        {"type": "summary", "id": "old", "session_id": "s", "text": "Old words."},
        {"type": "fact", "type ": "?", "id": "f", "quote": "I live in Porto"},
        {"type": "milestone", "id": "mile", "session_id": "s", "turn": 1, "title": "start", "created_at": time},
    ]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory = opened(":memory:")
    taken = memory.import_(tmp_path / "old.jsonl")
    memory.settle()
    assert (taken.messages, taken.milestones, memory.session("s").status) == (1, 1, "ended")
    assert sum(taken.skipped.values()) == 2
    assert "Porto" in values(memory)
    assert memory.verify().problems == ()


def test_a_session_file_that_is_here_already(tmp_path: Path) -> None:
    """A markdown file adds nothing to the session it was written from, and nothing twice to another memory."""
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    memory.export(tmp_path / "s.md", session_id="s")
    assert memory.import_(tmp_path / "s.md").messages == 0
    copy = opened(":memory:")
    assert copy.import_(tmp_path / "s.md").messages == 3
    assert copy.import_(tmp_path / "s.md").messages == 0


# what is here already


def test_what_was_decided_by_hand_reaches_a_memory_that_read_the_session_itself(tmp_path: Path) -> None:
    """Its facts have other ids, but are the same sayings: verdicts and links find them."""
    memory, other = opened(tmp_path / "a.db"), opened(tmp_path / "b.db")
    spoken(memory)
    spoken(other)
    lives, colour = sorted(memory.facts("ann", categories=["identity", "preference"]), key=lambda one: one.start)
    told = memory.remember("Likes short answers", user_id="ann")
    memory.retract(lives.id)
    memory.link(told.id, colour.id, "supports")
    memory.export(tmp_path / "a.jsonl")
    taken = other.import_(tmp_path / "a.jsonl")
    assert (taken.messages, taken.facts, taken.links) == (0, 1, 1)
    assert "Porto" not in values(other)
    assert {"green", told.value} <= values(other)
    assert other.verify().problems == ()


def test_a_session_that_went_on_here_keeps_its_status(tmp_path: Path) -> None:
    """An old export does not end a session in which something was said since."""
    memory = opened(":memory:")
    spoken(memory)
    memory.end("s")
    memory.export(tmp_path / "a.jsonl")
    memory.add("One more thing.", session_id="s", user_id="ann")
    memory.import_(tmp_path / "a.jsonl")
    assert memory.session("s").status == "active"


# what was forgotten


@pytest.mark.parametrize("target", ["message", "fact", "text", "session", "user", "told"])
@pytest.mark.parametrize("form", ["a.jsonl", "folder"])
def test_an_import_brings_back_nothing_that_was_forgotten_here(form: str, target: str, tmp_path: Path) -> None:
    """An old export is no wish to know it again: neither words nor facts, summaries or episodes come back."""
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    told = memory.remember("The flat in Porto has a garden", user_id="ann")
    memory.add_episode("s", "breakthrough", "Found Porto")
    memory.end("s")
    memory.settle()
    memory.export(tmp_path / form)
    (lives,) = (fact for fact in memory.facts("ann") if fact.value == "Porto")
    targets: dict[str, dict[str, Any]] = {
        "message": {"message_id": "s-m1"},
        "fact": {"fact_id": lives.id},
        "text": {"text": "porto", "user_id": "ann"},
        "session": {"session_id": "s"},
        "user": {"user_id": "ann"},
        "told": {"fact_id": told.id},
    }
    memory.forget(**targets[target])
    before = everything(memory, tmp_path / "before.jsonl")
    taken = memory.import_(tmp_path / form)
    memory.settle()
    after = everything(memory, tmp_path / "after.jsonl")
    if target in {"text", "user"}:
        assert "porto" not in (tmp_path / "after.jsonl").read_text("utf-8").lower()
    if target == "session":
        with pytest.raises(NotFound):
            memory.session("s")
    assert {key for key in after if key[0] != "summary"} <= {key for key in before if key[0] != "summary"}
    assert taken.messages == 0
    assert memory.verify().problems == ()


def test_what_was_forgotten_elsewhere_is_forgotten_here_too(tmp_path: Path) -> None:
    """A forgotten message comes as such, so that an older export does not bring its words."""
    memory = opened(tmp_path / "a.db")
    spoken(memory)
    memory.export(tmp_path / "old.jsonl")
    memory.forget(message_id="s-m1")
    memory.export(tmp_path / "new.jsonl")
    assert [row["id"] for row in records(tmp_path / "new.jsonl") if row.get("forgotten")] == ["s-m1"]
    copy = opened(tmp_path / "copy.db")
    copy.import_(tmp_path / "new.jsonl")
    assert copy.message("s-m1").forgotten
    copy.import_(tmp_path / "old.jsonl")
    copy.settle()
    assert "Porto" not in values(copy)
    assert "Porto" not in copy.message("s-m1").text
    assert copy.verify().problems == ()


def test_what_was_forgotten_elsewhere_stays_where_it_is_known(tmp_path: Path) -> None:
    """An import adds; it is not a wish to forget."""
    memory, copy = opened(tmp_path / "a.db"), opened(tmp_path / "b.db")
    spoken(memory)
    spoken(copy)
    memory.forget(message_id="s-m1")
    memory.export(tmp_path / "new.jsonl")
    taken = copy.import_(tmp_path / "new.jsonl")
    assert (taken.messages, taken.duplicates) == (0, 3)
    assert copy.message("s-m1").text == LIVES
    assert not copy.message("s-m1").forgotten
    assert copy.verify().problems == ()


def test_facts_of_dropped_messages_come_back(tmp_path: Path) -> None:
    """A retention rule drops words and keeps what they said; both move."""
    clock = FakeClock()
    kept_short = PROFILE.but(keep_message_days=1)
    memory = opened(tmp_path / "a.db", clock, profile=kept_short)
    for session_id in ("s", "t"):
        spoken(memory, session_id)
        memory.end(session_id)
    memory.settle()
    clock.advance(days=9)
    engine: Any = memory._memory
    assert memory._loop is not None
    memory._loop.run(engine._retention.run())
    before = everything(memory, tmp_path / "a.jsonl")
    assert any(row.get("content") == "[dropped]" for row in records(tmp_path / "a.jsonl"))
    copy = opened(tmp_path / "copy.db", clock, profile=kept_short)
    copy.import_(tmp_path / "a.jsonl")
    assert everything(copy, tmp_path / "b.jsonl") == before
    assert "Porto" in values(copy)
    assert copy.verify().problems == ()
