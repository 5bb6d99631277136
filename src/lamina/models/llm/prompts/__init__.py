"""Prompt files: `<name>.v<version>.md`; the newest version of each name is used."""

import re
from functools import cache
from importlib import resources

from lamina.protocols.models import Prompt

_NAME = re.compile(r"(?P<name>[a-z_]+)\.v(?P<version>\d+)\.md")

_NO_SUMMARY = frozenset(  # prompts for other purposes
    ("guard", "keep", "missing", "repair", "facts", "episodes", "read", "judge", "judge_unknown", "judge_rubric")
)


def summary_prompts() -> dict[str, Prompt]:
    """The prompts that profiles name."""
    return {name: prompt for name, prompt in prompts().items() if name not in _NO_SUMMARY}


@cache
def prompts() -> dict[str, Prompt]:
    """Every prompt in this package by name, the newest version of each."""
    found: dict[str, Prompt] = {}
    for entry in resources.files(__name__).iterdir():
        if match := _NAME.fullmatch(entry.name):
            prompt = Prompt(name=match["name"], version=int(match["version"]), text=entry.read_text("utf-8"))
            if prompt.name not in found or found[prompt.name].version < prompt.version:
                found[prompt.name] = prompt
    return found
