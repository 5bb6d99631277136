"""Writes the tables of docs/reference/profiles.md from the profiles: `python -m scripts.profile_tables`."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from lamina.profiles import PROFILES, Profile, Step

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "profiles.md"
BEGIN, END = "<!-- tables: python -m scripts.profile_tables -->\n", "<!-- end of the tables -->\n"
NAMES = ("default", "medium_term", "project", "assistant", "chunked", "layered")
TEXTS = {"name", "layout", "title", "sections", "prompts", "hosted", "summarizer_model"}  # not numbers


def cell(value: Any) -> str:
    """A value as a cell of a table."""
    if isinstance(value, Mapping):
        value = tuple(f"{name} as {other}" for name, other in value.items())
    match value:
        case None | () | False:
            return "\u2013"
        case True:
            return "yes"
        case int() | float():
            return f"{value:,}" if "e" not in str(value) else f"{value:f}".rstrip("0")
        case str():
            return f"`{value}`"
        case tuple():
            return ", ".join(map(str, value))
        case _ if is_dataclass(value):
            parts = ", ".join(f"{f.name}={getattr(value, f.name)!r}" for f in fields(value))
            return f"`{type(value).__name__}({parts})`"
        case _:
            raise TypeError(f"no cell for {value!r}")


def step(one: Step) -> str:
    """A step of filling a context: its section, with its share of the budget and its limit."""
    notes = [f"up to {one.share:.0%}".replace("%", " %")] if one.share is not None else []
    notes += [f"at most {one.limit}"] if one.limit is not None else []
    notes += ["cut to fit"] if one.cut else []
    return one.section + (f" ({', '.join(notes)})" if notes else "")


def tables(profiles: list[Profile]) -> Iterator[str]:
    """What differs, what is the same in all, and how contexts are filled."""
    names = [f.name for f in fields(Profile) if f.name not in TEXTS | {"steps"}]
    rows = {name: [cell(getattr(profile, name)) for profile in profiles] for name in names}
    yield "| value | " + " | ".join(f"`{profile.name}`" for profile in profiles) + " |"
    yield "|---" * (len(profiles) + 1) + "|"
    for name, cells in rows.items():
        if len(set(cells)) > 1:
            yield f"| `{name}` | " + " | ".join(cells) + " |"
    yield "\nThe same in all six:\n\n| value | |\n|---|---|"
    for name, cells in rows.items():
        if len(set(cells)) == 1:
            yield f"| `{name}` | {cells[0]} |"
    yield "\nHow a context is filled, in this order (shares of the budget):\n\n| profile | steps |\n|---|---|"
    for profile in profiles:
        yield f"| `{profile.name}` | {', '.join(map(step, profile.steps))} |"


def page(text: str) -> str:
    """The page with its tables as the profiles are now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + "\n" + "\n".join(tables([PROFILES[name] for name in NAMES])) + "\n\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
