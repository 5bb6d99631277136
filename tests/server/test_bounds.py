"""Every text, list and number has a bound in the schema, and nothing large blocks the loop."""

import json

import pytest

from lamina.server.app import create_app
from lamina.server.mcp.tools import tools_for
from lamina.settings import Settings
from lamina.testing.stalls import moment, stalls
from tests.http_service import serving
from tests.server.test_hostile_input import JSON, MOMENTS, tool


def unbounded(shape, schemas, place):
    """The places in a schema that may hold anything of any size."""
    if shape.get("required") == ["role"]:  # a message, which the setting `max_message_bytes` bounds
        return []
    if "$ref" in shape:
        return unbounded(schemas[shape["$ref"].rpartition("/")[2]], schemas, place)
    keys = () if "properties" in shape else ("anyOf", "allOf", "oneOf")  # beside properties they are rules about them
    several = [inner for key in keys for inner in shape.get(key, [])]
    found = [one for inner in several for one in unbounded(inner, schemas, place)]
    for name, inner in shape.get("properties", {}).items():
        found += unbounded(inner, schemas, f"{place}.{name}")
    kinds = shape.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        found += unbounded_kind(kind, shape, schemas, place)
    return found


def unbounded_kind(kind, shape, schemas, place):
    found = []
    if kind == "array":
        found += [place] * ("maxItems" not in shape) + unbounded(shape["items"], schemas, f"{place}[]")
    if kind == "string" and not {"enum", "const", "maxLength", "pattern"} & shape.keys():
        found.append(place)
    if kind in {"integer", "number"} and not ({"maximum", "exclusiveMaximum"} & shape.keys()):
        found.append(place)
    if kind == "object" and "additionalProperties" in shape and shape["additionalProperties"] is not False:
        found += [place] * ("maxProperties" not in shape)
    return found


def test_everything_that_may_be_sent_has_a_bound():
    schema = create_app(Settings(database=":memory:")).openapi()
    schemas, found = schema["components"]["schemas"], []
    for path, operations in schema["paths"].items():
        for verb, operation in operations.items():
            for content in operation.get("requestBody", {}).get("content", {}).items():
                if content[0] == "application/json":
                    found += unbounded(content[1]["schema"], schemas, f"{verb} {path}")
            for parameter in operation.get("parameters", []):
                found += unbounded(parameter["schema"], schemas, f"{verb} {path} {parameter['name']}")
    assert found == []


def test_everything_that_a_tool_takes_has_a_bound():
    found = [
        place for spec in tools_for(any_user=True).values() for place in unbounded(spec.input_schema, {}, spec.name)
    ]
    assert found == []


MANY = 300_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A user of whom much is known."""
    folder = tmp_path_factory.mktemp("large")
    with serving(Settings(database=str(folder / "a.db"), embedder="none"), worker=False) as service:
        said = [{"role": "user", "content": f"Remark {n}: ferry {n * 7} leaves pier {n % 13}."} for n in range(2000)]
        assert service.post("/v1/sessions/s1/messages", json={"messages": said, "user_id": "alex"}).status_code == 201
        for path in ("/v1/search", "/v1/context"):  # what is made at first use is made now
            service.post(path, json={"query": "ferry", "user_id": "alex"})
        yield service


def test_a_message_of_a_megabyte_is_found_and_blocks_nobody(large):
    """Its words are read beside the loop, when it is new and when all is read again."""
    said = " ".join(f"Line {number} of {number * 7919:x} says nothing." for number in range(28_000))[:900_000]
    add = {"messages": f"{said}. Our cat is called Ferdinand.", "user_id": "alex"}
    with stalls(large.loop) as found:
        assert large.post("/v1/sessions/long/messages", json=add).status_code == 201
        hits = large.post("/v1/search", json={"query": "Ferdinand", "user_id": "alex"}).json()["items"]
        context = large.post("/v1/context", json={"query": "Ferdinand?", "user_id": "alex", "session_id": "s2"}).json()
    assert hits[0]["text"].endswith("Our cat is called Ferdinand.")
    assert "Our cat is called Ferdinand." in context["text"]
    assert found.worst.seconds < MOMENTS * moment(), found.worst.where


def asked(**more):
    return json.dumps({"query": "ferry", "user_id": "alex", **more}).encode()


@pytest.mark.parametrize(
    ("path", "body", "statuses"),
    [
        pytest.param("/v1/search", asked(kinds=["x"] * MANY), {413}, id="wrong-kinds"),
        pytest.param("/v1/search", asked(kinds=["x"] * 15_000), {422}, id="some-wrong-kinds"),
        pytest.param("/v1/search", asked(**{f"f{n}": 0 for n in range(MANY)}), {413}, id="unknown-fields"),
        pytest.param("/v1/search", asked(**{f"f{n}": 0 for n in range(15_000)}), {422}, id="some-unknown-fields"),
        pytest.param("/v1/context", asked(sources=["x"] * 1_000_000), {413}, id="sources"),
        pytest.param("/v1/context", asked(sources=["x"] * 15_000), {422}, id="some-sources"),
        pytest.param("/v1/context", asked(session_id="s1", budget=2_000_000), {422}, id="budget"),
        pytest.param("/v1/context", asked(session_id="s1", budget=1_000_000), {200}, id="largest-budget"),
        pytest.param("/v1/context", asked(query="ferry " * 150_000, budget=1_000_000), {200}, id="long-query"),
        pytest.param("/v1/search", asked(query=" ".join(f"w{n}" for n in range(3000))), {200}, id="many-words"),
        pytest.param("/v1/search", asked(query="ferry " * 10_000), {422}, id="too-long-a-query"),
        pytest.param("/v1/search", b"[" + b"0," * 2_000_000 + b"0]", {413}, id="zeros"),
        pytest.param("/v1/search", b"[" + b"[]," * 1_000_000 + b"0]", {413}, id="lists"),
        pytest.param("/v1/sessions/s2/messages", b'["' + rb"\ud83d\ude00" * 200_000 + b'"]', {422}, id="pairs"),
        pytest.param("/v1/forget", asked(text="x" * 1_000_000), {422}, id="forget"),
    ],
)
def test_nothing_large_blocks_the_loop_or_makes_a_large_answer(large, path, body, statuses):
    with stalls(large.loop) as found:
        response = large.post(path, content=body, headers=JSON)
    assert response.status_code in statuses, response.text[:500]
    assert response.status_code == 200 or len(response.content) < 10_000
    assert found.worst.seconds < MOMENTS * moment(), found.worst.where


def test_what_is_wrong_is_not_repeated_at_length(large):
    """In the words of an error, and in those of a tool."""
    for wrong in ({"role": "x" * 100_000}, {"role": ["x" * 100_000]}):
        refused = large.post("/v1/sessions/s2/messages", json={"messages": wrong})
        assert (refused.status_code, len(refused.content) < 5000) == (400, True)
    assert len(json.dumps(tool("x"))) < 5000
