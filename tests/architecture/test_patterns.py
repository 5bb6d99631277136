"""Regular expressions mean the same in every Python that Lamina supports."""

import ast
import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+")


def strings(source: str) -> list[str]:
    """Every text of a module, also the parts of formatted ones; docstrings too."""
    constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


def test_no_group_is_repeated_possessively() -> None:
    """Before Python 3.11.5, `(?:a|b(?=c))*+` takes what the group had given back: "Porto." instead of "Porto"."""
    found = [path for path in SOURCES for text in strings(path.read_text("utf-8")) if POSSESSIVE_GROUP.search(text)]
    assert not found


@pytest.mark.parametrize("pattern", ["(?:a|b(?=c))*+", "(a)++", "(a)?+", "(a){1,2}+"])
def test_such_a_pattern_is_noticed(pattern: str) -> None:
    assert any(map(POSSESSIVE_GROUP.search, strings(f"import re\nre.compile({pattern!r})")))
