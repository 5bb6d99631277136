"""TF-IDF: how alike a question and a row are by their terms, the rare ones first."""

from collections import Counter

import numpy as np

from lamina.language.words import stem, words
from lamina.search.bm25 import WordIndex
from lamina.search.vectors import Flags, Floats, Whole


def tfidf(index: WordIndex, text: str, alive: Flags, rows: Whole) -> Floats:
    """The cosine of the TF-IDF vectors of a text and of each row, 0 to 1.

    A term's frequency is a share of that of the most frequent term; its rarity is log(rows / rows that have it).
    """
    term, row, times = index.postings()
    own = alive[row]
    term, row, times = term[own], row[own], times[own]
    having = np.bincount(term, minlength=len(index.numbers))
    rarity = np.log(max(int(alive.sum()), 1) / np.maximum(having, 1))
    most = np.ones(len(alive))
    np.maximum.at(most, row, times)
    weights = times / most[row] * rarity[term]
    asked = Counter(number for word in words(text) if (number := index.numbers.get(stem(word))) is not None)
    if not asked:
        return np.zeros(len(rows), dtype=np.float32)
    question = np.zeros(len(index.numbers))
    question[list(asked)] = np.fromiter(asked.values(), dtype=float) / max(asked.values())
    question *= rarity
    product = np.bincount(row, weights=weights * question[term], minlength=len(alive))
    lengths = np.sqrt(np.bincount(row, weights=weights**2, minlength=len(alive)) * float(question @ question))
    found = np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
    return np.asarray(found[rows], dtype=np.float32)
