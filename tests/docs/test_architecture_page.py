"""ARCHITECTURE.md and CONTRIBUTING.md name files, functions and tests that exist."""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

SOURCE = ROOT / "src" / "lamina"
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def _names(path: Path) -> set[str]:
    """Functions and classes of a file, methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def _steps() -> list[tuple[list[str], list[str]]]:
    """Files and functions of each row of the data paths and of what is where."""
    section = PAGE.split("## Four data paths")[1].split("## Invariants")[0]
    rows = re.findall(r"^\|[^|]+\|([^|]+)\|([^|]*)\|$", section, re.MULTILINE)
    return [(re.findall(r"`(.+?)`", files), re.findall(r"`(.+?)`", names)) for files, names in rows if "`" in files]


@pytest.mark.parametrize(("files", "functions"), _steps())
def test_each_step_of_a_data_path_is_there(files, functions):
    assert [file for file in files if not (SOURCE / file).is_file()] == []
    found = {name for file in files if file.endswith(".py") for name in _names(SOURCE / file)}
    assert [name for name in functions if name not in found] == []


def test_every_room_is_on_the_map():
    section = PAGE.split("## Rooms")[1].split("What may import")[0]
    named = {
        name for row in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)
    }
    assert all((SOURCE / name).exists() for name in named)
    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()} <= named


def test_every_file_and_test_of_the_invariants_is_there():
    section = PAGE.split("## Invariants")[1]
    assert len(re.findall(r"^\| \d\.", section, re.MULTILINE)) == len(
        re.findall(r"^## \d\.", (ROOT / "docs/explanation/invariants.md").read_text("utf-8"), re.MULTILINE)
    )
    for path, test in re.findall(r"`((?:tests|src)/[\w/]+\.py)(?:::(\w+))?`", section):
        assert (ROOT / path).is_file(), path
        assert not test or test in _names(ROOT / path), test
    for path in re.findall(r"`((?!tests|src)[\w/]+\.py)`", section):
        assert (SOURCE / path).is_file(), path


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_path_of_a_contributors_page_exists(page):
    for path in re.findall(r"`((?:src|tests|docs|scripts|web)/[\w./-]+)`", (ROOT / page).read_text("utf-8")):
        assert (ROOT / path).exists(), path
