"""Chats and memories of other tools."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import InputError
from lamina.formats import detect, json_lines
from lamina.formats.json_lines import Conversion
from lamina.log.messages import draft
from lamina.values.message import Limits
from tests.formats.random_values import disturbed
from tests.messages import words

FOLDER = Path(__file__).parents[1] / "data" / "imports"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOG = "openai_log.jsonl"
SAMPLES = ("openai_export.json", LOG, "sharegpt.json", "mem0.json")


def sample(name: str) -> Any:
    text = (FOLDER / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


def stored(record: dict[str, Any]) -> Any:
    """The message of a record, checked as an import checks it."""
    message = json_lines.chat_message(record)
    return draft(message, place="message", now=NOW, new_id=lambda: "made", count=words, limits=Limits())


def of_type(found: Conversion, kind: str) -> list[dict[str, Any]]:
    return [record for record in found.records if record["type"] == kind]


def said(found: Conversion) -> list[tuple[str, Any]]:
    return [(record["role"], record.get("content")) for record in of_type(found, "message")]


# what a file is

TALK = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param([{"type": "header", "format": "lamina", "version": 2}], "lamina", id="lamina"),
        pytest.param([{"type": "session", "id": "s1"}], "lamina", id="lamina-without-header"),
        pytest.param([{"session_id": "s1", "role": "user", "content": "hi"}], "lamina", id="messages-of-sessions"),
        pytest.param([{"title": "t", "mapping": {}}], "openai", id="chatgpt"),
        pytest.param({"title": "t", "mapping": {}}, "openai", id="chatgpt-one"),
        pytest.param([{"conversations": []}], "sharegpt", id="sharegpt"),
        pytest.param([{"messages": [{"from": "human", "value": "hi"}]}], "sharegpt", id="sharegpt-messages"),
        pytest.param([{"messages": TALK}], "messages", id="fine-tuning"),
        pytest.param({"messages": TALK}, "messages", id="one-request"),
        pytest.param([{"request": {"messages": TALK}, "response": {}}], "messages", id="request-log"),
        pytest.param([{"custom_id": "1", "body": {"messages": TALK}}], "messages", id="batch"),
        pytest.param(TALK, "messages", id="messages"),
        pytest.param([TALK, TALK], "messages", id="lists-of-messages"),
        pytest.param({"results": []}, "mem0", id="mem0-empty"),
        pytest.param({"memories": [{"memory": "m"}]}, "mem0", id="mem0-memories"),
        pytest.param([{"id": "1", "memory": "m", "role": "user"}], "mem0", id="mem0-list-with-roles"),
    ],
)
def test_recognised(data: Any, expected: str) -> None:
    """A file is known by its first item."""
    assert detect.detect(data, "file") == expected


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        pytest.param([{"colour": "red"}], "an object with ['colour']", id="other-object"),
        pytest.param(["hello"], "text", id="texts"),
        pytest.param(3, "a number", id="number"),
        pytest.param(None, "null", id="null"),
        pytest.param({}, "an object with []", id="empty-object"),
    ],
)
def test_an_unknown_file_is_refused(data: Any, begins: str) -> None:
    """The error says what the file begins with and lists every format that would work."""
    with pytest.raises(InputError) as raised:
        detect.detect(data, "notes.json")
    assert f"notes.json is JSON, but begins with {begins}, which is no known format" in str(raised.value)
    for known in ("Lamina", "ChatGPT", "ShareGPT", "mem0", "chat messages"):
        assert known in str(raised.value)


def test_hints() -> None:
    """An empty file, a file of a memory folder and our own export get an error that helps."""
    with pytest.raises(InputError, match="is empty"):
        detect.detect([], "notes.json")
    with pytest.raises(InputError, match="import the folder that it is in"):
        detect.detect([{"id": "c1", "recentMessages": []}], "conversations.json")
    with pytest.raises(InputError, match="is read line by line"):
        detect.convert([{"type": "session", "id": "s"}], "export.jsonl")


# every format


@pytest.mark.parametrize("name", SAMPLES)
def test_messages_pass_and_ids_last(name: str) -> None:
    """Every message is one we would store, no id comes twice, and reading again gives the very same records."""
    found = detect.convert(sample(name), name)
    assert found.records == detect.convert(sample(name), name).records
    ids = [record["id"] for record in found.records]
    assert len(ids) == len(set(ids))
    for record in of_type(found, "message"):
        assert stored(record).named
    sessions = {json_lines.session_head(record, "line").id for record in of_type(found, "session")}
    assert {record["session_id"] for record in of_type(found, "message")} == sessions


@pytest.mark.parametrize("name", SAMPLES)
def test_results_answer_calls_that_were_made(name: str) -> None:
    """Each result of a tool answers a call before it, with an id, a name and arguments that chat APIs take."""
    made: set[str] = set()
    for record in of_type(detect.convert(sample(name), name), "message"):
        for call in record.get("tool_calls", ()):
            assert len(call["id"]) <= 40
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            made.add(call["id"])
        if record["role"] == "tool":
            assert record["tool_call_id"] in made


@pytest.mark.parametrize("name", SAMPLES)
@given(chance=st.data())
def test_nonsense_is_refused_not_stumbled_over(name: str, chance: st.DataObject) -> None:
    """A file with anything in any place is either read or refused with an InputError, never another error."""
    data = disturbed(sample(name), chance)
    with suppress(InputError):
        for record in of_type(detect.convert(data, name), "message"):
            stored(record)
