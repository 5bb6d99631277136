"""Numbers with what they count, for people: 1 message, 2,000 messages, 3 memories."""

import re

_CONSONANT_Y = re.compile(r"(?<=[^aeiou])y$")
_HISS = re.compile(r"(?:s|x|ch|sh)$")


def count(number: int, noun: str) -> str:
    """A number and a noun, in the plural unless it is one."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    if _CONSONANT_Y.search(noun):
        return _CONSONANT_Y.sub("ies", noun)
    return f"{noun}es" if _HISS.search(noun) else f"{noun}s"
