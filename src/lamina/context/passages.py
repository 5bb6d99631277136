"""Passages for a context: which are worth their tokens, and what to keep of a long one."""

import re
from collections.abc import Callable, Sequence

from lamina.context.budget import CUT_MARK, Item
from lamina.language.words import terms

_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
_READ = 40_000  # characters of a passage that are looked at


def excerpt(text: str, asked: Sequence[str], tokens: int, count: Callable[[str], int]) -> str:
    """The sentences of a text that have the most of the asked terms, in their order, marked where others are left out.

    '' if not even one fits.
    """
    sentences = [part.strip() for part in _SENTENCE.split(text[:_READ]) if part.strip()]
    wanted = frozenset(asked)
    worth = [(len(wanted.intersection(terms(sentence))), -place) for place, sentence in enumerate(sentences)]
    mark = count(CUT_MARK)
    room, kept = tokens - mark, set[int]()
    for shared, place in sorted(worth, reverse=True):
        price = count(sentences[-place]) + mark
        if price <= room and (shared or not kept):
            kept.add(-place)
            room -= price
    return _join(sentences, kept, whole=len(text) <= _READ)


def _join(sentences: Sequence[str], kept: set[int], *, whole: bool) -> str:
    parts: list[str] = []
    for place in sorted(kept):
        if place and place - 1 not in kept:
            parts.append(CUT_MARK.strip())
        parts.append(sentences[place])
    if parts and (max(kept) < len(sentences) - 1 or not whole):
        parts.append(CUT_MARK.strip())
    return " ".join(parts)


def worth(item: Item) -> tuple[float, float]:
    """How much a passage is likely to give for what it costs."""
    return item.value / max(item.tokens, 1), item.value
