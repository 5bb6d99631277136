"""The filters of a search are described once: Python, REST, MCP and the command line agree with the description."""

import inspect

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from lamina import AsyncMemory
from lamina.cli.main import app
from lamina.errors import InputError
from lamina.search.filters import FILTERS, check
from lamina.server.app import create_app
from lamina.server.mcp.tools import tools_for
from lamina.settings import Settings

SEARCH = {name: field for name, field in FILTERS.items() if name != "statuses"}  # of facts only
OPTIONS = {"kinds": "kind", "types": "type", "categories": "category", "tags": "tag", "session_id": "session",
           "project_id": "project", "context": "around", "weights": "weight"}  # fmt: skip


def choices_in(schema):
    """The choices of a field, of the items of its list, or the names of its properties."""
    if isinstance(schema, list):
        return next(filter(None, map(choices_in, schema)), None)
    if "enum" in schema:
        return tuple(schema["enum"])
    if "properties" in schema:
        return tuple(schema["properties"])
    return choices_in(schema.get("anyOf") or [schema["items"]] if "items" in schema or "anyOf" in schema else [])


def test_python_takes_each_filter():
    assert SEARCH.keys() <= inspect.signature(AsyncMemory.search).parameters.keys()
    assert FILTERS.keys() - {"kinds", "role", "archived", "context", "weights", "semantic", "min_score", "at"} <= set(
        inspect.signature(AsyncMemory.facts).parameters
    )


def test_rest_takes_each_filter_with_its_words_and_choices():
    schemas = create_app(Settings(database=":memory:")).openapi()["components"]["schemas"]
    for name, field in SEARCH.items():
        shown = schemas["SearchRequest"]["properties"][name]
        assert shown["description"] == field.about
        assert (choices_in(shown) or ()) == field.choices, name


def test_mcp_takes_its_filters_with_their_words_and_choices():
    takes = tools_for(any_user=False)["search_memories"].input_schema["properties"]
    for name, field in SEARCH.items():
        shown = takes.get(name)
        if shown is not None:
            assert shown["description"].startswith(field.about)
            assert (choices_in(shown) or ()) == field.choices, name


def test_the_command_line_takes_each_filter_with_its_words():
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    options = {option.name: option for option in group.commands["search"].params}
    for name, field in SEARCH.items():
        option = options[OPTIONS.get(name, name)]
        assert name == "session_id" or str(vars(option)["help"]).startswith(field.about)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        pytest.param("kinds", "dream", r"no kind 'dream'; there are \['message'", id="choices"),
        pytest.param("statuses", "gone", r"no status 'gone'; there are \['candidate'", id="statuses"),
        pytest.param("statuses", 7, "statuses must be a list of words", id="no-list"),
        pytest.param("role", "robot", r"no role 'robot'; there are \['system'", id="choice"),
        pytest.param("min_importance", 2, "min_importance must be a number from 0 to 1, not 2", id="share"),
        pytest.param("min_score", True, "min_score must be a number from 0 to 1, not True", id="flag"),
    ],
)
def test_an_error_names_the_filter_and_what_fits(name, given, words):
    with pytest.raises(InputError, match=words):
        check(name, given)
