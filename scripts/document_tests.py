"""Lists which tests hold which feature of the five documents: `python -m scripts.document_tests > docs/documents.md`.

Tests name the features in their docstrings, as in `003.8: nothing starts before the reply is complete`.
"""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
TITLES = {
    "000": "Medium-term memory",
    "001": "Project memory",
    "002": "Assistant memory",
    "003": "Chunked summary",
    "004": "Layered memory",
}
_FEATURE = re.compile(r"(00[0-4])\.(\d+)(?: to \1\.(\d+))?")
_HEAD = """# The documents

For contributors: which test checks which feature of the five documents that Lamina is built from. Each document is a
[profile](reference/profiles.md) and more. Every feature has a number, and a test through a public interface that
names it. `python -m scripts.document_tests` writes this page.

For authors of such designs, five pages have their terms and code beside ours, and every difference with its reason:
[medium-term memory](documents/medium_term.md), [project memory](documents/project.md),
[assistant memory](documents/assistant.md), [chunked summary](documents/chunked.md),
[layered memory](documents/layered.md).
"""


def features() -> Iterator[tuple[str, int, str, str]]:
    """Document, feature, file and test."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for document, first, last in _FEATURE.findall(ast.get_docstring(node) or ""):
                    for feature in range(int(first), int(last or first) + 1):
                        yield document, feature, path.relative_to(TESTS).as_posix(), node.name


def page() -> str:
    lines = [_HEAD]
    for document, found in groupby(sorted(set(features())), key=lambda row: row[0]):
        lines += [f"## {document}: {TITLES[document]}", "", "| feature | tests |", "|---|---|"]
        for feature, rows in groupby(found, key=lambda row: row[1]):
            tests = "; ".join(name.removeprefix("test_").replace("_", " ") for *_, name in rows)
            lines.append(f"| {document}.{feature} | {tests} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
