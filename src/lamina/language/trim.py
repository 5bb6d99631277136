"""Texts cut to a number of tokens."""

import re
from bisect import bisect_right
from collections.abc import Callable


def trim(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The beginning of a text within so many tokens, ending at a sentence or line where it can; '' if nothing fits."""
    if count(text) <= tokens:
        return text
    for pattern in (r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+", r"\s+", r"(?=.)"):
        ends = [match.start() for match in re.finditer(pattern, text[: tokens * 40 + 40], re.DOTALL)]
        fitting = bisect_right(ends, tokens, key=lambda end: count(text[:end].rstrip()))
        kept = text[: ends[fitting - 1]].rstrip() if fitting else ""
        if kept and (len(kept) * 3 > tokens or pattern == r"(?=.)"):
            return kept
    return ""
