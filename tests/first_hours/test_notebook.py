"""The first hour in a notebook: cells run by IPython on a running event loop, as Jupyter runs them."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from lamina import AsyncMemory, Memory

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Iterator[InteractiveShell]:
    """A shell as a kernel has it, in an empty folder."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    with contextlib.chdir(tmp_path):
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"hist_file": ":memory:"}}))
        yield shell
        InteractiveShell.clear_instance()


def cells() -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


async def run(shell: InteractiveShell, code: str) -> Any:
    """What a cell gives, and what is shown of it."""
    with capture_output():
        done = await shell.run_cell_async(code, transformed_cell=shell.transform_cell(code), store_history=False)
    done.raise_error()
    return done.result


def test_the_notebook_of_the_examples_runs_from_top_to_bottom(shell):
    """Each cell runs on the loop of the kernel, with `Memory`, `AsyncMemory` and an await at the top level."""

    async def run_all() -> list[Any]:
        return [await run(shell, code) for code in cells()]

    shown = asyncio.run(run_all())
    added, facts, context = shown[1], shown[2], shown[3]
    assert added.span.last == 2
    assert {fact.value for fact in facts} >= {"Alex", "Ghent"}
    assert context.messages[-1]["content"] == "On which day do we ship?"
    assert shown[5] == [("Ghent", "superseded"), ("Porto", "active")]
    assert "Fridays" in shown[7].text
    html, _ = shell.display_formatter.format(context)
    assert "On which day do we ship?" in html["text/plain"] + html["text/html"]
    assert html["text/html"].lstrip().startswith("<")


def test_what_a_cell_shows_fits_on_a_line(shell):
    """Values are shown by a short repr, and a memory by where it is."""

    async def run_all() -> list[Any]:
        return [await run(shell, code) for code in cells()]

    for value in asyncio.run(run_all()):
        shown, _ = shell.display_formatter.format(value)
        if not isinstance(value, list | None):
            assert "\n" not in repr(value)
            assert len(shown["text/plain"]) < 400


def test_memory_works_where_a_loop_runs(tmp_path):
    """`Memory` blocks its caller and does not complain of the loop; `AsyncMemory` sees the same file."""

    async def cell() -> list[str]:
        with Memory(tmp_path / "a.db") as memory:
            memory.add("I live in Ghent.", user_id="alex")
            memory.settle()
            blocking = [fact.value for fact in memory.facts("alex")]
            assert memory.context("where?", user_id="alex").messages
        async with AsyncMemory(tmp_path / "a.db") as memory:
            return blocking + [fact.value for fact in await memory.facts("alex")]

    assert asyncio.run(cell()) == ["Ghent", "Ghent"]
