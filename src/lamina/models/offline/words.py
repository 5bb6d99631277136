"""Words of any script, and their stems: what overlap and importance are counted in."""

import re
from functools import lru_cache

# Scripts written without spaces: their runs are cut into pairs of characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Vowel signs of Indic scripts are no word characters to `re`, but words must not break at them.
_SIGNS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"

WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:[^\W{_UNSPACED}]|[{_SIGNS}])*(?:['\u2019][^\W_{_UNSPACED}]+)*")
_RUN = re.compile(f"[{_UNSPACED}]")

_LONGEST_RUN = 2_000  # characters of an unspaced run that are looked at


def words(text: str) -> list[str]:
    """The words in order, as written; unspaced scripts in pairs of characters."""
    if text.isascii():
        return WORD.findall(text)
    found: list[str] = []
    for word in WORD.findall(text):
        if _RUN.match(word):
            found.extend(pairs(word))
        else:
            found.append(word)
    return found


def pairs(run: str) -> list[str]:
    """The overlapping pairs of characters of a run without spaces."""
    run = run[:_LONGEST_RUN]
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def unspaced(word: str) -> bool:
    """Whether the word is of a script written without spaces."""
    return _RUN.match(word) is not None


def folded(text: str) -> str:
    """The text in lower case with plain apostrophes."""
    return text.lower().replace("\u2019", "'")


def tokens_of(text: str) -> tuple[str, ...]:
    """The folded words in order."""
    return tuple(words(folded(text)))


_SUFFIXES = (
    ("'s", ""),
    ("sses", "ss"),
    ("ies", "y"),
    ("ied", "y"),
    ("ingly", ""),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("es", "e"),
    ("ly", ""),
    ("s", ""),
)
_SHORTEST_STEM = 3


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A folded word without its commonest English endings; other words as they are."""
    if not word.isascii() or not word[0].isalpha():
        return word
    for suffix, rest in _SUFFIXES:
        if word.endswith(suffix) and not word.endswith(("ss", "us")):
            base = word[: -len(suffix)] + rest
            if len(base) >= _SHORTEST_STEM:
                return _evened(base)
    return _evened(word)


def _evened(base: str) -> str:
    """`plann` and `plan`, `move` and `mov` become one."""
    if len(base) > _SHORTEST_STEM and base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    if len(base) > _SHORTEST_STEM and base.endswith("e"):
        return base[:-1]
    return base
