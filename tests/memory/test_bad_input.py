"""Bad input: each kind has its own error, which says what would work, and nothing is lost or half stored."""

import re
import sqlite3
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from lamina import (
    PROFILES,
    BudgetTooSmall,
    Conflict,
    InputError,
    LaminaError,
    Memory,
    NotALaminaFile,
    NotFound,
    SchemaTooNew,
    StoreFull,
    StoreReadOnly,
)
from lamina.testing import WordCounter

MB = 1_000_000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lamina.db"


@pytest.fixture
def memory(path):
    """A memory in which something is stored already."""
    with Memory(path, counter=WordCounter(), worker=False) as memory:
        memory.add([{"role": "user", "content": "I like tea.", "id": "m1"}, {"role": "assistant", "content": "Noted."}])
        yield memory


def said(text: Any = "hello", **keys: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **keys}


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


BAD_MESSAGES = [
    # role
    pytest.param(said(role="robot"), ["role 'robot'", "'assistant'", "'tool'"], id="unknown-role"),
    pytest.param({"content": "hello"}, ["role None", "'user'"], id="no-role"),
    pytest.param(said(role=["user"]), ["role ['user']", "one of"], id="role-of-a-wrong-type"),
    # content
    pytest.param({"role": "user"}, ["no content", "give a string"], id="no-content"),
    pytest.param(said(None), ["no content", "give a string"], id="content-none"),
    pytest.param({"role": "assistant", "content": None}, ["no content"], id="assistant-without-anything"),
    pytest.param(said(b"hello"), ["type bytes", "string or a list of parts"], id="bytes"),
    pytest.param(said(42), ["type int", "string or a list of parts"], id="content-of-a-wrong-type"),
    pytest.param(said([{"type": "text", "text": b"x"}]), ["JSON", "bytes"], id="bytes-in-a-part"),
    pytest.param(said("a\0b"), ["NUL", "remove"], id="nul"),
    pytest.param(said([{"type": "text", "text": "a\0b"}]), ["NUL", "remove"], id="nul-in-a-part"),
    pytest.param(said("a\ud800b"), ["lone surrogate", "U+D800", "errors='replace'"], id="lone-surrogate"),
    pytest.param(said(**{"a\udfff": 1}), ["lone surrogate", "U+DFFF"], id="lone-surrogate-in-a-key"),
    pytest.param(said("x" * 50 * MB), ["47.7 MB", "4.0 MB", "split it"], id="50-MB"),
    pytest.param(said("é" * 3 * MB), ["5.7 MB", "split it"], id="many-bytes-of-few-characters"),
    pytest.param(said(mood=float("nan")), ["JSON", "numbers"], id="nan"),
    pytest.param(said(mood=float("inf")), ["JSON"], id="infinity"),
    pytest.param(said(mood=nested(101)), ["100 levels", "as text"], id="deep"),
    pytest.param(said(mood=nested(100_000)), ["JSON"], id="deeper-than-the-stack"),
    pytest.param(said(mood={1, 2}), ["JSON", "lists and dicts"], id="a-set"),
    pytest.param(said(mood=10**5_000), ["JSON"], id="a-number-of-5000-digits"),
    pytest.param(said(name=7), ["name", "give a string"], id="name-of-a-wrong-type"),
    # tools
    pytest.param({"role": "tool", "content": "x"}, ["no tool_call_id", "the call it answers"], id="no-tool-call-id"),
    pytest.param(said(role="assistant", tool_calls="x"), ["tool_calls", "give a list"], id="tool-calls-no-list"),
    # time
    pytest.param(said(created_at="2025-03-14T09:30:00"), ["no time zone", "09:30:00+00:00"], id="naive-text"),
    pytest.param(said(created_at=datetime(2025, 3, 14)), ["no time zone", "+00:00"], id="naive-datetime"),
    pytest.param(said(created_at="0001-01-01T00:00:00+00:00"), ["between 1970 and"], id="year-1"),
    pytest.param(said(created_at="0001-01-01T00:00:00+14:00"), ["between 1970 and"], id="before-year-1"),
    pytest.param(said(created_at="9999-12-31T23:59:59-12:00"), ["between 1970 and"], id="after-year-9999"),
    pytest.param(said(created_at=datetime(9999, 1, 1, tzinfo=UTC)), ["end of next year"], id="year-9999"),
    pytest.param(said(created_at=1_741_944_600_000), ["ISO 8601", "not int"], id="epoch-milliseconds"),
    pytest.param(said(created_at="14 March 2025"), ["is not ISO 8601", "e.g. 2025-03-14T09:30"], id="not-iso"),
    pytest.param(said(created_at="1741944600"), ["is not ISO 8601"], id="epoch-text"),
    pytest.param(said(created_at=date(2025, 3, 14)), ["ISO 8601", "not date"], id="date"),
    # ids and the rest
    pytest.param(said(id=""), ["id", "1 to 256 characters"], id="empty-id"),
    pytest.param(said(id="  "), ["id", "1 to 256 characters"], id="blank-id"),
    pytest.param(said(id="x" * 257), ["id", "1 to 256 characters"], id="long-id"),
    pytest.param(said(id=7), ["id", "must be a string"], id="id-of-a-wrong-type"),
    pytest.param(said(id="a\0"), ["id", "NUL"], id="nul-in-id"),
    pytest.param(said(id="a\ud800"), ["id", "lone surrogate"], id="surrogate-in-id"),
    pytest.param(said(metadata="x"), ["metadata must be a dict"], id="metadata-of-a-wrong-type"),
    pytest.param(said(metadata={"x": float("nan")}), ["metadata", "JSON"], id="nan-in-metadata"),
    pytest.param(said(metadata={"x": "y" * 5 * MB}), ["metadata", "4.8 MB"], id="large-metadata"),
    pytest.param(said(model=7), ["model", "must be a string"], id="model-of-a-wrong-type"),
    # not messages
    pytest.param([], ["no messages", "at least one"], id="empty-list"),
    pytest.param(None, ["give text, a dict", "NoneType"], id="none"),
    pytest.param(7, ["give text, a dict", "int"], id="number"),
    pytest.param(b"hello", ["give text, a dict", "bytes"], id="bytes-for-messages"),
    pytest.param([7], ["a dict such as", "int"], id="number-in-list"),
    pytest.param([said(), said(role="robot")], ["message 1 has role"], id="second-of-two"),
]


@pytest.mark.parametrize(("messages", "words"), BAD_MESSAGES)
def test_a_bad_message_is_refused_with_advice(memory, messages, words):
    """The error names what is wrong and what would work; no message of the append is stored."""
    before = memory.messages("default:main")
    with pytest.raises(InputError) as caught:
        memory.add(messages)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 400
    assert memory.messages("default:main") == before
    assert memory.verify().ok


@pytest.mark.parametrize(("messages", "words"), BAD_MESSAGES)
def test_a_good_message_beside_a_bad_one_is_not_stored_either(memory, messages, words):
    """An append is all or nothing, in a new session as in an old one."""
    beside = [said("good"), *(messages if isinstance(messages, list) else [messages])]
    if beside == [said("good")]:
        return
    for session_id in ("default:main", "new"):
        with pytest.raises(InputError):
            memory.add(beside, session_id=session_id)
    assert [session.counters.messages for session in memory.sessions()] == [2]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(said(""), id="empty"),
        pytest.param(said("\\u0000 is not a NUL"), id="spelt-nul"),
        pytest.param(said("é" * 1_000_000), id="two-megabytes"),
        pytest.param(said("line\u2028separator\x85next\r\n"), id="line-separators"),
        pytest.param(said(mood=nested(90)), id="nested"),
        pytest.param(said(created_at="1970-01-01T00:00:00+00:00"), id="1970"),
        pytest.param(said(created_at=datetime(2025, 3, 14, tzinfo=UTC)), id="datetime"),
        pytest.param(said("ﬁ 日本語 👩\u200d👩\u200d👧 \u202e"), id="any-unicode"),
        pytest.param(said([]), id="no-parts"),
        pytest.param(said(id="ключ/🗝 1"), id="any-id"),
    ],
)
def test_what_is_odd_but_sound_is_stored_as_it_is(memory, message):
    """Refusing is for what could not be given back."""
    (message_id,) = memory.add(message, session_id="odd").ids
    stored = memory.message(message_id)
    assert {key: stored.to_openai()[key] for key in ("role", "content")} == {
        key: message[key] for key in ("role", "content")
    }
    assert memory.verify().ok
    memory.context("and?", session_id="odd", budget=5_000_000)


# who and where


@pytest.mark.parametrize("name", ["user_id", "session_id", "agent_id", "idempotency_key"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="empty"),
        pytest.param(" \t", id="blank"),
        pytest.param("x" * 257, id="long"),
        pytest.param("a\0b", id="nul"),
        pytest.param("a\ud800", id="surrogate"),
        pytest.param(7, id="number"),
        pytest.param(b"ann", id="bytes"),
    ],
)
def test_a_bad_name_is_refused(memory, name, value):
    """Whichever name it is."""
    with pytest.raises(InputError, match=name):
        memory.add("hello", **{name: value})
    assert [session.counters.messages for session in memory.sessions()] == [2]


def test_an_id_taken_by_other_content_is_a_conflict(memory):
    """The stored message stays; the error names the id."""
    with pytest.raises(Conflict, match=r"'m1' is taken by other content; use another id"):
        memory.add([said("new"), said("I like coffee.", id="m1")])
    assert memory.message("m1").content == "I like tea."
    assert memory.session("default:main").counters.messages == 2
    assert memory.verify().ok


def test_another_users_session_is_a_conflict(memory):
    """Nobody writes into it by mistake."""
    with pytest.raises(Conflict, match=r"^session 'default:main' is taken; choose another session_id$"):
        memory.add("hello", user_id="eve", session_id="default:main")
    assert [s.user_id for s in memory.sessions()] == ["default"]


def test_an_idempotency_key_used_for_something_else_is_a_conflict(memory):
    """The error says to use a new key."""
    memory.add("once", idempotency_key="k")
    with pytest.raises(Conflict, match="'k' was used for other messages; use a new key"):
        memory.add("twice", idempotency_key="k")
    assert memory.session("default:main").counters.messages == 3


def test_too_many_messages_at_once_are_refused(memory):
    """The error says to add them in parts."""
    with pytest.raises(InputError, match=r"100,001 messages at once; at most 100,000.*in parts"):
        memory.add([said()] * 100_001)


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(lambda memory: memory.session("nowhere"), id="session"),
        pytest.param(lambda memory: memory.messages("nowhere"), id="messages"),
        pytest.param(lambda memory: memory.message("nowhere"), id="message"),
        pytest.param(lambda memory: memory.summaries("nowhere"), id="summaries"),
        pytest.param(lambda memory: memory.zoom("nowhere"), id="zoom"),
        pytest.param(lambda memory: memory.conversation("nowhere"), id="conversation"),
        pytest.param(lambda memory: memory.end("nowhere"), id="end"),
        pytest.param(lambda memory: memory.milestone("nowhere", "title"), id="milestone"),
        pytest.param(lambda memory: memory.verify("nowhere"), id="verify"),
        pytest.param(lambda memory: memory.export("/tmp/nowhere.jsonl", session_id="nowhere"), id="export"),
    ],
)
def test_what_is_not_there_is_not_found(memory, verb):
    """By name."""
    with pytest.raises(NotFound, match="nowhere"):
        verb(memory)


# budgets and profiles


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, "100", float("nan")])
def test_a_bad_budget_is_refused(memory, budget):
    """It is a whole number of tokens above 0."""
    with pytest.raises(InputError, match=r"whole number of tokens above 0, not " + re.escape(repr(budget))):
        memory.context("hello", budget=budget)


def test_a_budget_too_small_names_the_smallest_that_works(memory):
    """And that one does work."""
    with pytest.raises(BudgetTooSmall, match="the smallest that works here is") as caught:
        memory.context("and now?", budget=1)
    assert memory.context("and now?", budget=caught.value.smallest).tokens <= caught.value.smallest


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        pytest.param("medium", "no profile 'medium'; there are.*'medium_term'", id="unknown"),
        pytest.param("", "no profile ''; there are", id="empty"),
        pytest.param(7, "name or a Profile, not int", id="wrong-type"),
    ],
)
def test_an_unknown_profile_is_refused_with_all_names(path, memory, profile, words):
    """When a memory is opened and when a context is asked for; no file is made for it."""
    with pytest.raises(InputError, match=words):
        memory.context("hello", profile=profile)
    with pytest.raises(InputError, match=words):
        Memory(path, profile=profile)
    assert memory.verify().ok


def test_an_unknown_value_of_a_profile_is_refused_with_all_names():
    """Also one of another profile."""
    with pytest.raises(InputError, match=r"no value 'max_chunk'; there are.*'max_chunks'"):
        PROFILES["project"].but(max_chunk=3)
    with pytest.raises(InputError, match="at least 0, not -1"):
        PROFILES["project"].but(max_chunks=-1)


def test_bad_searches_are_refused(memory):
    """A search finds at least one thing."""
    with pytest.raises(InputError, match=r"top_k must be .*at least 1, not 0"):
        memory.search("tea", top_k=0)
    with pytest.raises(InputError, match=r"no role 'robot'; there are \['system'"):
        memory.search("tea", role="robot")
    with pytest.raises(InputError, match=r"no weight 'loudness'; there are \['semantic'"):
        memory.search("tea", weights={"loudness": 1})
    with pytest.raises(InputError, match="at least one weight must be above 0"):
        memory.search("tea", weights={"recency": 0})
    with pytest.raises(InputError, match="query must be text, not int"):
        memory.context(7)


# opening


def test_an_unknown_option_is_refused_with_all_names(path):
    """And no file is made."""
    with pytest.raises(InputError, match=r"unknown options \['profil'\]; there are.*'profile'"):
        Memory(path, profil="default")  # type: ignore[call-arg]
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(
            {"embedder": "glove"}, r"no embedder 'glove'; there are \['auto', 'static', 'minilm', 'none'\]", id="name"
        ),
        pytest.param({"embedder": 3}, "must have the verb `embed`.*int has not", id="no-embedder"),
        pytest.param({"embedder": "minilm", "minilm_path": 3}, "minilm_path must be a path, not 3", id="no-path"),
        pytest.param({"embedder": "minilm", "minilm_path": "/no/such"}, "there is no /no/such; get the", id="nothing"),
        pytest.param({"cache_mb": 0}, "cache_mb must be a whole number of megabytes above 0, not 0", id="no-room"),
        pytest.param({"cache_mb": 1.5}, "cache_mb must be .* not 1.5", id="part-of-a-megabyte"),
    ],
)
def test_what_recall_cannot_use_is_refused(path, options, words):
    """When the memory is opened, not at the first search; and no file is made."""
    with pytest.raises(InputError, match=words):
        Memory(path, **options)
    assert not path.exists()


@pytest.mark.parametrize(
    ("location", "words"),
    [
        pytest.param("mysql://host/db", "no store for mysql://; give a path", id="unknown-scheme"),
        pytest.param("sqlite://", "names no file; e.g. sqlite:///chat.db", id="no-file"),
    ],
)
def test_an_unknown_location_is_refused(location, words):
    """The error shows what a location looks like."""
    with pytest.raises(InputError, match=words):
        Memory(location)


def newer(path: Path) -> None:
    Memory(path, worker=False).close()
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 999")
    connection.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table theirs (a)")
    connection.close()


@pytest.mark.parametrize(
    ("prepare", "error", "words"),
    [
        pytest.param(newer, SchemaTooNew, "schema 999.*upgrade Lamina", id="newer-schema"),
        pytest.param(foreign, NotALaminaFile, "something else.*of a new one", id="foreign-database"),
        pytest.param(
            lambda path: path.write_text("hello"), NotALaminaFile, "give the path of a Lamina file", id="text"
        ),
        pytest.param(lambda path: path.mkdir(), StoreReadOnly, "is a folder, not a file", id="folder"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_untouched(path, prepare, error, words):
    """Each for its own reason."""
    prepare(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=words):
        Memory(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_missing_folder_is_refused(tmp_path):
    """It is not made silently."""
    with pytest.raises(StoreReadOnly, match="there is no folder"):
        Memory(tmp_path / "nowhere" / "lamina.db")
    assert not (tmp_path / "nowhere").exists()


def test_a_full_disk_is_named_and_nothing_is_half_stored(memory):
    """The append is refused whole; smaller ones, and all reads, go on."""
    store: Any = memory._memory._parts.store
    store._connections._run(None, lambda connection: connection.execute("pragma max_page_count = 60").fetchall())
    with pytest.raises(StoreFull, match="free some space, nothing was changed"):
        memory.add([said("long " * 20_000) for _ in range(20)], session_id="new")
    assert [session.counters.messages for session in memory.sessions()] == [2]
    assert "tea" in memory.context("what do I like?").text
    memory.add("short")
    assert memory.verify().ok


def test_a_closed_memory_says_so(path):
    """And how to go on."""
    memory = Memory(path, worker=False)
    memory.close()
    memory.close()
    with pytest.raises(LaminaError, match="closed; open it again"):
        memory.add("hello")


# files in and out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"type": "header", "format": "other", "version": 1}', "format 'other'", id="other-format"),
        pytest.param('{"type":"header","format":"lamina-sessions","version":9}', "reads.*version 1", id="newer-format"),
        pytest.param("hello", "seems to be plain text; what can be imported: exports of ChatGPT", id="no-json"),
        pytest.param("[1]", "line 1 is a list, not a JSON object", id="no-object"),
        pytest.param('{"type": "message", "role": "user", "content": "hello"}', "no session_id", id="no-session"),
        pytest.param('{"session_id": "s", "role": "robot", "content": ""}', "role 'robot'", id="bad-message"),
    ],
)
def test_a_bad_import_is_refused(memory, tmp_path, text, words):
    """With the line or the reason."""
    source = tmp_path / "in.jsonl"
    source.write_text(text)
    with pytest.raises(InputError, match=words):
        memory.import_(source)
    assert [session.counters.messages for session in memory.sessions()] == [2]
    assert memory.verify().ok


def test_lines_before_a_broken_one_are_imported(memory, tmp_path):
    """As the error says."""
    good = '{"session_id": "s", "role": "user", "content": "good", "id": "g"}\n'
    (tmp_path / "in.jsonl").write_text(good + "{broken")
    with pytest.raises(InputError, match=r"line 2 is not JSON.*everything before it was imported"):
        memory.import_(tmp_path / "in.jsonl")
    assert memory.message("g").content == "good"


def test_files_that_cannot_be_read_or_written_are_named(memory, tmp_path):
    """An export that fails leaves no half of a file."""
    with pytest.raises(InputError, match=r"there is no file or folder '.*none\.jsonl'"):
        memory.import_(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        memory.export(tmp_path / "nowhere" / "out.jsonl")
    with pytest.raises(InputError, match="give its session_id"):
        memory.export(tmp_path / "out.md")
    assert [entry.name for entry in tmp_path.iterdir() if "out" in entry.name] == []


def test_an_export_gives_everything_back(memory, tmp_path):
    """Whatever the messages hold, also keys and separators that the lines use themselves."""
    odd = said("line\u2028separator\x85next", type="summary", session_id="mine", user_id="eve", body={"a": 1})
    memory.add([odd, said("plain", type="message", metadata={"a": [1]}, id="p")], session_id="s", user_id="ann")
    memory.milestone("s", "a start")
    memory.end("s")
    written = memory.export(tmp_path / "out.jsonl")
    assert written == (tmp_path / "out.jsonl").stat().st_size
    with Memory(tmp_path / "copy.db", counter=WordCounter(), worker=False) as copy:
        copy.import_(tmp_path / "out.jsonl")
        copy.import_(tmp_path / "out.jsonl")
        for session in ("s", "default:main"):
            mine, theirs = memory.messages(session), copy.messages(session)
            assert [(m.id, m.body, m.metadata, m.created_at) for m in mine] == [
                (m.id, m.body, m.metadata, m.created_at) for m in theirs
            ]
        assert copy.session("s").status == "ended"
        assert copy.conversation("s").milestones == memory.conversation("s").milestones
