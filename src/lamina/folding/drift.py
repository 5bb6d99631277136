"""How far two texts are from each other in what they say, without a model."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable

from lamina.language.words import terms

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_ADDS_NOTHING = 0.02


def drift(before: str, after: str) -> float:
    """The semantic distance of two texts, from 0 (they say the same) to 1 (they share nothing)."""
    one, other = _weights(before), _weights(after)
    if not one or not other:
        return 0.0 if not one and not other else 1.0
    shared = sum(weight * other[term] for term, weight in one.items() if term in other)
    lengths = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return round(max(0.0, 1.0 - shared / lengths), 4)


def _weights(text: str) -> dict[str, float]:
    return {term: 1.0 + math.log(times) for term, times in Counter(terms(text)).items()}


def adds_nothing(before: str, after: str) -> bool:
    """Whether a new text says nothing that the old one does not: no new word that carries meaning, no new number."""
    fresh = set(terms(after)) - set(terms(before))
    numbers = set(_NUMBER.findall(after)) - set(_NUMBER.findall(before))
    return not numbers and (not fresh or drift(before, after) <= _ADDS_NOTHING)


def diff(before: Iterable[str], after: Iterable[str]) -> str:
    """What changed, sentence by sentence: `- gone`, `+ new`."""
    old = [line for text in before for line in _SENTENCE.split(text) if line.strip()]
    new = [line for text in after for line in _SENTENCE.split(text) if line.strip()]
    changed = difflib.ndiff(old, new)
    return "\n".join(line.rstrip() for line in changed if line[:2] in {"- ", "+ "})
