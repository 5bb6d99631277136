"""Writes docs/reference/values.md from the values that verbs give: `python -m scripts.value_pages`."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import lamina.values

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "values.md"
HEAD = """# Values

For developers: every value that verbs take and give, with its fields in order. All are frozen dataclasses. Verbs:
[Python](python.md).
`python -m scripts.value_pages` writes this page from the source.
"""
INTERNAL = {"plain"}  # reads and writes values; has none of its own
_COMMENT = re.compile(
    r"^    (?P<name>\w+): (?P<type>[^=#\n]+?)(?: = (?P<default>[^#\n]+?))?(?:  # (?P<comment>.+))?$", re.MULTILINE
)


def values() -> dict[str, type]:
    """The public dataclasses of `lamina.values`, by name."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(lamina.values.__path__, "lamina.values."):
        if module.name.rpartition(".")[2] in INTERNAL:
            continue
        found |= {
            name: value
            for name, value in vars(importlib.import_module(module.name)).items()
            if is_dataclass(value) and isinstance(value, type) and value.__module__ == module.name and name[0] != "_"
        }
    return dict(sorted(found.items()))


def rows(value: type) -> Iterator[str]:
    """Each field with its type, default and comment, then each property with its docstring."""
    written = {match["name"]: match for match in _COMMENT.finditer(inspect.getsource(value))}
    for field in fields(value):
        match = written[field.name]
        default = f", default `{match['default']}`" if match["default"] and "field(" not in match["default"] else ""
        kind = match["type"].strip().strip('"').replace("|", "\\|")
        comment = (match["comment"] or "").replace("|", "\\|")
        yield f"| `{field.name}` | `{kind}`{default} | {comment} |"
    for name, member in vars(value).items():
        if isinstance(member, property) and name[0] != "_":
            said = inspect.getdoc(member) or ""
            yield f"| `{name}` | property | {' '.join(said.split())} |"


def page() -> str:
    parts = [HEAD]
    for name, value in values().items():
        parts.append(f"## `{name}`\n\n{inspect.getdoc(value)}\n\n| field | type | meaning |\n|---|---|---|")
        parts.append("\n".join(rows(value)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
