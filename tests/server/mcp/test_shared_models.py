"""The tools of MCP take the fields that REST has, with their bounds, and refuse in the same words."""

import subprocess
import sys

import pytest

from lamina.errors import InputError
from lamina.server.inputs import ContextRequest, FactsQuery, ForgetRequest, NewFact, SearchRequest, SessionsQuery
from lamina.server.mcp.schemas import read_arguments
from lamina.server.mcp.tools import tools_for

TOOLS = tools_for(any_user=False)
SHARED = [
    ("search_memories", SearchRequest, set()),
    ("get_context", ContextRequest, set()),
    ("list_facts", FactsQuery, set()),
    ("list_sessions", SessionsQuery, set()),
    ("add_memory", NewFact, {"text", "messages", "session_id"}),
    ("forget", ForgetRequest, {"everything", "confirm"}),
]
BOUNDS = ("minimum", "maximum", "maxLength", "maxItems", "enum", "default")


def plain(schema):
    """A field without null: as a tool has it."""
    inner = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return {**schema, **(inner[0] if inner else {})}


@pytest.mark.parametrize(("tool", "model", "own"), SHARED)
def test_a_tool_takes_the_fields_of_rest_with_their_bounds(tool, model, own):
    rest = model.model_json_schema()["properties"]
    for name, schema in TOOLS[tool].input_schema["properties"].items():
        if name in own:
            continue
        assert schema["description"].startswith(plain(rest[name])["description"]), name
        known = {bound: plain(rest[name])[bound] for bound in BOUNDS if plain(rest[name]).get(bound) is not None}
        assert {bound: schema[bound] for bound in BOUNDS if bound in schema} == known, name


@pytest.mark.parametrize(
    ("tool", "path", "body"),
    [
        pytest.param("search_memories", "/v1/search", {"query": "a", "top_k": 0}, id="bound"),
        pytest.param("search_memories", "/v1/search", {"query": "a", "kinds": ["dream"]}, id="choice"),
        pytest.param("search_memories", "/v1/search", {}, id="missing"),
        pytest.param("get_context", "/v1/context", {"query": "a", "budget": "many"}, id="type"),
        pytest.param("forget", "/v1/forget", {"message_ids": [" "]}, id="blank"),
    ],
)
def test_a_mistake_is_told_in_the_words_of_rest(service, tool, path, body):
    (error,) = service.post(path, json=body).json()["errors"]
    with pytest.raises(InputError) as told:
        read_arguments(TOOLS[tool].input, body)
    assert f"body.{told.value}" == f"{error['at']}: {error['message']}"


def test_the_tools_need_no_web_framework():
    """`lamina mcp` runs with the extra `mcp` alone."""
    code = "import sys; sys.modules['fastapi'] = None; import lamina.server.mcp.mcp_process, lamina.server.mcp.mount"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
