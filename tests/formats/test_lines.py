"""One JSON object a line, for everything."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from lamina import InputError
from lamina.formats import json_lines
from lamina.values.fact import Fact, Link
from lamina.values.message import Message
from tests.formats.random_values import everything, messages
from tests.messages import START, message

FACT = Fact(
    id="f1",
    user_id="ann",
    type="preference",
    category="preference",
    key="drink",
    slot="drink",
    value="tea",
    origin="said",
    confidence=0.9,
    importance=0.6,
    learnt_at=START,
    valid_from=START,
    created_at=START,
)


def there_and_back(record: dict[str, Any]) -> dict[str, Any]:
    ((_, read),) = json_lines.records([json_lines.line(record)])
    return read


@given(everything)
def test_every_value_comes_back(value: json_lines.Value) -> None:
    """Whatever is written as a line is read back equal."""
    record = there_and_back(json_lines.record(value))
    assert record["type"] in json_lines.KINDS
    assert json_lines.value(record) == value


@given(messages())
def test_every_message_comes_back(given_message: Message) -> None:
    """A message's line has its body, id, time, metadata and model, whatever keys the body uses."""
    back = json_lines.chat_message(there_and_back(json_lines.record(given_message)))
    assert back.pop("id") == given_message.id
    assert back.pop("created_at") == given_message.created_at.isoformat()
    assert back.pop("metadata", {}) == given_message.metadata
    assert back.pop("model", None) == given_message.model
    assert back == given_message.body


def test_a_line_and_a_fact_both_have_a_type() -> None:
    """What a line is and what a fact or link is have different names."""
    link = Link(source="f1", target="f2", type="supports", strength=1.0, created_at=START)
    assert (json_lines.record(FACT)["type"], json_lines.record(FACT)["fact_type"]) == ("fact", "preference")
    assert (json_lines.record(link)["type"], json_lines.record(link)["link_type"]) == ("link", "supports")


def test_fields_with_a_default_may_be_left_out() -> None:
    """A line written by hand, or by an older version, needs only what has no default."""
    record = json_lines.record(FACT)
    for name in ("tags", "status", "quote", "decay", "accesses"):
        del record[name]
    assert json_lines.value(record) == FACT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"value": 3}, "value must be text, not a number", id="text"),
        pytest.param({"value": "a\0b"}, "value has a NUL character", id="nul"),
        pytest.param({"value": "\ud83d"}, "value has a lone surrogate", id="surrogate"),
        pytest.param({"tags": "tea"}, "tags must be a list, not text", id="list"),
        pytest.param({"tags": ["tea", None]}, "tags 2 must be text, not null", id="item-of-a-list"),
        pytest.param({"confidence": "high"}, "confidence must be a number, not 'high'", id="number"),
        pytest.param({"confidence": float("nan")}, "confidence must be a number, not nan", id="nan"),
        pytest.param({"confidence": 1.5}, "confidence is 1.5; it is between 0 and 1", id="range"),
        pytest.param({"seq": True}, "seq must be a whole number, not True", id="whole"),
        pytest.param({"holds": 1}, "holds must be true or false, not a number", id="flag"),
        pytest.param({"fact_type": "rumour"}, "type is 'rumour'; it is one of ['fact', ", id="one-of"),
        pytest.param({"valid_from": "yesterday"}, "valid_from is 'yesterday'; a time is ISO 8601", id="time"),
        pytest.param({"valid_from": "2025-03-01T09:00"}, "which has no time zone", id="zone"),
        pytest.param({"valid_from": None}, "valid_from is None; a time is", id="null"),
        pytest.param({"vale": "tea"}, "has the unknown field 'vale'; its fields are ['id', ", id="unknown"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], said: str) -> None:
    """An error names the line, what it is, the field, what is wrong and what would work."""
    with pytest.raises(InputError) as raised:
        json_lines.value({**json_lines.record(FACT), **change}, "line 7")
    assert str(raised.value).startswith("line 7 (fact)")
    assert said in str(raised.value)


def test_what_is_missing_is_said() -> None:
    """All fields that a record lacks are named at once."""
    record = json_lines.record(FACT)
    del record["value"], record["fact_type"]
    with pytest.raises(InputError, match="lacks 'type', 'value'"):
        json_lines.value(record)


SUMMARY = {
    "type": "summary", "id": "s", "user_id": "u", "session_id": "s", "kind": "chunk", "layer": 1, "version": 1,
    "covers": None, "turns": None, "reads": None, "inputs": [], "text": "t", "topics": [], "tokens": 1,
    "recipe": {"profile": "p", "kind": "chunk", "model": "m"}, "updated_at": START.isoformat(),
    "created_at": START.isoformat(),
}  # fmt: skip


def test_a_span_goes_forward() -> None:
    """A span whose first message comes after its last is refused."""
    with pytest.raises(InputError, match="covers goes from 9 to 3"):
        json_lines.value({**SUMMARY, "covers": {"first": 9, "last": 3}})


def test_nested_errors_have_a_path() -> None:
    """A wrong field inside a field is named with both."""
    with pytest.raises(InputError, match=r"the record \(summary\): recipe: attempts must be a whole number"):
        json_lines.value({**SUMMARY, "recipe": {"profile": "p", "kind": "c", "model": "m", "attempts": "two"}})
    with pytest.raises(InputError, match=r"sources 1 must be an object, not text"):
        json_lines.value({**SUMMARY, "sources": ["s1"]})


@pytest.mark.parametrize(
    ("record", "version"),
    [
        pytest.param({"format": "lamina", "version": 2}, 2, id="present"),
        pytest.param({"format": "lamina-sessions", "version": 1}, 1, id="first"),
        pytest.param({"format": "lamina", "version": 3}, None, id="newer"),
        pytest.param({"format": "lamina", "version": 1}, None, id="mixed"),
        pytest.param({"format": "mem0", "version": 2}, None, id="other"),
        pytest.param({"format": "lamina", "version": [2]}, None, id="nonsense"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_headers(record: dict[str, Any], version: int | None) -> None:
    """Both versions of the format are read; another is refused with what would work."""
    if version is not None:
        assert json_lines.header_version(record) == version
        return
    with pytest.raises(InputError, match="this Lamina reads 'lamina' version 2 and 'lamina-sessions' version 1"):
        json_lines.header_version(record)


def test_the_header_we_write_can_be_read() -> None:
    """What is written is the present version."""
    assert json_lines.header_version(there_and_back(json_lines.header(sessions=3))) == json_lines.VERSION


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        pytest.param({"role": "user", "content": "hi"}, "message", id="plain-chat-message"),
        pytest.param({"type": "chat", "role": "user"}, "message", id="message-with-its-own-type"),
        pytest.param({"type": "episode"}, "episode", id="ours"),
        pytest.param({"type": "rumour"}, None, id="unknown"),
        pytest.param({"type": ["fact"]}, None, id="nonsense"),
    ],
)
def test_kinds(record: dict[str, Any], kind: str | None) -> None:
    """A line says what it is; anything with a role is a message."""
    if kind is not None:
        assert json_lines.kind_of(record, "line 1") == kind
        return
    with pytest.raises(InputError, match=r"line 1 has type .*; a line is one of \['header', 'message'"):
        json_lines.kind_of(record, "line 1")


def test_unreadable_lines_keep_their_number() -> None:
    """A broken line comes as such, at its place; empty lines are no json_lines."""
    found = list(json_lines.records(['{"a": 1}', "", "{", "[1]", "[" * 100_000]))
    assert [number for number, _ in found] == [1, 3, 4, 5]
    assert [record.get("type") for _, record in found] == [None, "unreadable", "unreadable", "unreadable"]
    assert found[2][1]["reason"] == "is a list, not a JSON object"


def test_session_head() -> None:
    """Of a session's record an import needs little, and it may have fields of another version."""
    head = json_lines.session_head({"type": "session", "id": "s1", "status": "ended", "colour": "blue"}, "line 2")
    assert (head.id, head.user_id, head.status, head.ended_at) == ("s1", None, "ended", None)
    with pytest.raises(InputError, match=r"line 2 \(session\): status is 'gone'"):
        json_lines.session_head({"id": "s1", "status": "gone"}, "line 2")
    with pytest.raises(InputError, match=r"line 2 \(session\) lacks 'id'"):
        json_lines.session_head({"type": "session"}, "line 2")


def test_a_value_is_none_of_the_rest() -> None:
    """Messages and headers are no values; the error says what is."""
    for kind in ("message", "header", None, 3):
        with pytest.raises(InputError, match="a value is one of"):
            json_lines.value({"type": kind})


def test_told_memories_need_only_times_and_owner() -> None:
    """A memory of another tool becomes a fact with its owner, slot and times filled in."""
    record = json_lines.fact_record(
        fact_id="f9", fact_type="goal", category="goal", text="run a marathon", tags=["sport"]
    )
    assert record["importance"] == 0.8
    times = dict.fromkeys(("learnt_at", "valid_from", "created_at"), START.isoformat())
    fact = json_lines.value({**times, "user_id": "ann", "slot": "=run a marathon", **record})
    assert isinstance(fact, Fact)
    assert (fact.type, fact.origin, fact.confidence, fact.key, fact.tags) == ("goal", "told", 1.0, None, ("sport",))


def test_lines_are_readable_text() -> None:
    """Letters of every script stand as they are, one object a line."""
    said = replace(message(1, text="猫が好き\nya"), body={"role": "user", "content": "猫が好き\nya"})
    written = json_lines.line(json_lines.record(said))
    assert "猫が好き" in written
    assert written.count("\n") == 1
    assert json.loads(written)["session_id"] == "s1"
