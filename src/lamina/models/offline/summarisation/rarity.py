"""How rare a word is in English: rare words say more."""

import math
from functools import cache

from lamina.language.words import stem
from lamina.models.embeddings.wordpiece import bert_uncased

_FIRST = 1996  # the number of the commonest whole word in the vocabulary, which is ordered by frequency
_LEAST = 0.6
_SLOPE = 0.12
_SCALE = 400
_MOST = 1.3


def rarity(key: str) -> float:
    """What a stem is worth by its rank among English words; words that are not among them are rare."""
    return _ranks().get(key, _MOST)


@cache
def _ranks() -> dict[str, float]:
    found: dict[str, float] = {}
    for word, number in bert_uncased().numbers.items():
        if number >= _FIRST and word.isalpha() and word.isascii():
            worth = min(_MOST, _LEAST + _SLOPE * math.log2(1 + (number - _FIRST) / _SCALE))
            found.setdefault(stem(word), worth)
    return found
