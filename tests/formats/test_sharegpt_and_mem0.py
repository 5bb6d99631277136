"""ShareGPT and mem0."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import InputError, Memory
from lamina.formats import detect, json_lines
from tests.formats.test_foreign import of_type, said, sample

# ShareGPT


def test_sharegpt() -> None:
    """Speakers become roles, a function call becomes tool calls, and observations answer them in order."""
    found = detect.convert(sample("sharegpt.json"), "sharegpt.json")
    first, second = of_type(found, "session")
    assert first["id"] == "hK2fXq_0"
    assert second["id"].startswith("sharegpt-")
    assert [role for role, _ in said(found)][3:] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    called, one, two = of_type(found, "message")[5:8]
    assert [call["function"]["arguments"] for call in called["tool_calls"]] == [
        '{"city": "Ghent"}',
        '{"city": "Lille"}',
    ]
    assert [one["tool_call_id"], two["tool_call_id"]] == [call["id"] for call in called["tool_calls"]]
    assert found.skipped == {"empty": 1, "description of tools": 1}


@pytest.mark.parametrize("key", ["conversations", "conversation", "messages"])
@pytest.mark.parametrize(("who", "what"), [("from", "value"), ("role", "content")])
def test_sharegpt_variants(key: str, who: str, what: str) -> None:
    """The list goes by three names, its fields by two."""
    found = detect.convert([{"id": 4, key: [{who: "user", what: "hi"}, {who: "assistant", what: "yo"}]}], "f")
    assert said(found) == [("user", "hi"), ("assistant", "yo")]


def test_sharegpt_ids() -> None:
    """A number is only an id in its file; of two conversations with an id, the second is told by its content."""
    talk, other = [{"from": "human", "value": "hi"}], [{"from": "human", "value": "ho"}]
    data = [{"id": 1, "conversations": talk}, {"id": "a", "conversations": talk}, {"id": "a", "conversations": other}]
    found = detect.convert([*data, data[1]], "f.json")
    first, second, third = (record["id"] for record in of_type(found, "session"))
    assert (first, second) == ("f.json:1", "a")
    assert third.startswith("a:")
    assert found.skipped == {"the same conversation again": 1}


@pytest.mark.parametrize(
    ("value", "function"),
    [
        pytest.param("look it up", ("function", '{"input": "look it up"}'), id="words"),
        pytest.param('{"name": "f", "arguments": "{}"}', ("f", "{}"), id="arguments-as-text"),
        pytest.param({"name": "f", "arguments": {"a": 1}}, ("f", '{"a": 1}'), id="object"),
        pytest.param({"name": "f", "arguments": " "}, ("f", "{}"), id="no-arguments"),
        pytest.param("[]", ("function", '{"input": "[]"}'), id="no-call"),
    ],
)
def test_sharegpt_function_calls(value: Any, function: tuple[str, str]) -> None:
    """A function call is read as JSON; other text is kept as what the call was given."""
    talk = [{"from": "human", "value": "hi"}, {"from": "function_call", "value": value}]
    (record,) = of_type(detect.convert([{"conversations": talk}], "f"), "message")[1:]
    (call,) = record["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == function


@pytest.mark.parametrize(
    ("talk", "error"),
    [
        pytest.param("hi", "f, conversation 1 has no list of messages", id="list"),
        pytest.param([{"from": "cat", "value": "x"}], "conversation 1, message 1 is from 'cat'; a speaker", id="who"),
        pytest.param([{"from": "human"}], "conversation 1, message 1 has null as its value", id="value"),
    ],
)
def test_sharegpt_errors(talk: Any, error: str) -> None:
    """An error names the conversation, the message and what is wrong."""
    with pytest.raises(InputError) as raised:
        detect.convert([{"conversations": talk}], "f")
    assert error in str(raised.value)


# mem0


def test_mem0() -> None:
    """Memories become facts of their users, with a type by their categories, and tags."""
    found = detect.convert(sample("mem0.json"), "mem0.json")
    assert [(fact["user_id"], fact["fact_type"], fact["category"], fact["importance"]) for fact in found.records] == [
        ("mira", "preference", "travel", 0.6),
        ("mira", "fact", "health", 0.5),
        ("jonas", "goal", "goal", 0.8),
    ]
    seat, nuts, _ = found.records
    assert seat["tags"] == ["travel", "user_preferences", "source:chat", "trip:3"]
    assert nuts["tags"] == ["health", "agent_id:planner"]
    assert nuts["learnt_at"] == "2024-08-01T10:00:00+00:00"
    assert "created_at" not in nuts  # here it is as old as its import
    assert found.skipped == {"metadata 'plan', which cannot be a tag": 1, "relation of mem0's graph": 1}
    for record in found.records:
        assert json_lines.value({"created_at": "2025-01-01T00:00:00Z", **record, "slot": "s"})


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([{"memory": "likes tea", "user_id": "ann"}], id="list"),
        pytest.param({"memories": [{"text": "likes tea", "user_id": "ann"}]}, id="memories"),
        pytest.param({"memory": "likes tea", "user_id": "ann"}, id="one"),
        pytest.param({"results": [{"memory": "likes tea", "metadata": {"user_id": "ann"}}]}, id="user-in-metadata"),
    ],
)
def test_mem0_variants(data: Any) -> None:
    """A memory without an id has one by its words and user, so that importing twice adds nothing."""
    (fact,) = detect.convert(data, "f").records
    ((same,)) = detect.convert({"results": [{"memory": "likes tea", "user_id": "ann"}]}, "g").records
    assert (fact["id"], fact["user_id"], fact["value"]) == (same["id"], "ann", "likes tea")
    assert "created_at" not in fact


def test_mem0_versions() -> None:
    """Of a memory that comes more than once the newest counts; deleted ones are left out."""
    old = {"id": "1", "memory": "likes tea", "created_at": "2025-01-01"}
    new = {**old, "memory": "likes coffee", "updated_at": "2025-02-01"}
    found = detect.convert([new, old, new, {"id": "2", "memory": "x", "event": "DELETE"}], "f")
    assert [fact["value"] for fact in found.records] == ["likes coffee"]
    assert found.skipped == {"older version of a memory": 1, "the same memory again": 1, "deleted": 1}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(["user_preferences"], "preference", id="plural"),
        pytest.param(["procedural_memory"], "procedure", id="procedural"),
        pytest.param(["entities"], "entity", id="entities"),
        pytest.param(["Goal"], "goal", id="case"),
        pytest.param(["hobbies"], "fact", id="other"),
        pytest.param([], "fact", id="none"),
    ],
)
def test_mem0_types(labels: list[str], expected: str) -> None:
    """The type of a memory is what a category names, else a fact."""
    (fact,) = detect.convert([{"memory": "m", "categories": labels}], "f").records
    assert fact["fact_type"] == expected


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param({"results": [{"id": "1"}]}, "f, memory 1 has no text", id="text"),
        pytest.param({"results": [{"memory": " "}]}, "f, memory 1 has no text", id="blank"),
        pytest.param({"results": ["x"]}, "f, memory 1 must be an object", id="memory"),
        pytest.param({"results": {}, "memories": []}, "f has an object where mem0 has a list", id="list"),
        pytest.param([{"memory": "m", "categories": "a"}], "categories must be a list of texts", id="categories"),
        pytest.param(
            [{"memory": "m", "metadata": []}, {"memory": "m", "metadata": 3}], "memory 2: metadata", id="meta"
        ),
        pytest.param([{"memory": "m", "created_at": "soon"}], "f, memory 1: created_at is 'soon'", id="time"),
    ],
)
def test_mem0_errors(data: Any, error: str) -> None:
    """An error names the memory and what is wrong."""
    with pytest.raises(InputError) as raised:
        detect.convert(data, "f")
    assert error in str(raised.value)


def test_memories_of_mem0_are_read_as_told_ones(tmp_path: Path) -> None:
    """In the order of their times, whatever their order in the file: one value of each thing, with its history."""
    told = [
        ("m3", "The user moved to Porto", "2024-03-01"),
        ("m1", "User lives in Ghent", "2024-01-01"),
        ("m2", "User drives a Volvo", "2024-01-02"),
        ("m4", "Sold the Volvo, bought a Kia", "2024-04-01"),
    ]
    memories = [{"id": one, "memory": text, "user_id": "ana", "created_at": f"{day}T00:00:00Z", "categories": ["life"]}
                for one, text, day in told]  # fmt: skip
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": memories}), "utf-8")
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        assert [memory.import_(file).facts for _ in range(2)] == [4, 0]
        assert {(fact.id, fact.key, fact.value) for fact in memory.facts("ana")} == {
            ("m3", "location", "Porto"),
            ("m4", None, "Sold the Volvo, bought a Kia"),
        }
        assert [one.value for one in memory.history("m3")] == ["Ghent", "Porto"]
        (old, _) = memory.history("m4")
        assert (old.value, old.valid_until is not None, old.tags) == ("User drives a Volvo", True, ("life",))
        assert memory.verify().ok
