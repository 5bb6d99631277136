"""How well a text answers a query: BM25 over one user's own texts."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from lamina.policy.words import terms

K1 = 1.2
B = 0.4  # short human turns want little length normalisation


def bm25(query: Sequence[str], text: str, documents: int, frequency: Mapping[str, int], usual_length: float) -> float:
    """The BM25 score of a text, from the user's number of texts and how many of them have each term."""
    found = Counter(terms(text))
    if not found:
        return 0.0
    length = sum(found.values()) / max(usual_length, 1.0)
    score = 0.0
    for term in query:
        if count := found.get(term, 0):
            rare = inverse_frequency(documents, frequency.get(term, 0))
            score += rare * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
    return score


def inverse_frequency(documents: int, having: int) -> float:
    having = min(having, documents)
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def best_possible(query: Sequence[str], documents: int, frequency: Mapping[str, int]) -> float:
    """The score of a text that has each term of the query once, at usual length: what 1.0 stands for."""
    return sum(inverse_frequency(documents, frequency.get(term, 0)) for term in query)
