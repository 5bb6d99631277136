"""Vectors of this package, distilled from all-MiniLM-L6-v2: opening a memory waits neither for them nor for numpy."""

import importlib
from collections.abc import Sequence
from typing import Any


class StaticEmbedder:
    """A text has the same vector on every run: the mean of the fixed vectors of its word pieces."""

    name = "static-384@2"
    dimensions = 384
    inline = True
    loaded = False

    def load(self) -> None:
        """Read the table of vectors."""
        self.vectors(["a"])
        self.loaded = True

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return list(self.vectors(texts))

    def vectors(self, texts: Sequence[str]) -> Any:
        """One normalised row a text; zeros for a text of which no piece is known."""
        return importlib.import_module("lamina.models.embeddings.static_vectors").vectors(texts)

    def word_vectors(self, words: Sequence[str]) -> Any:
        """One normalised row a word, given in lower case; zeros for one that is not known."""
        return self.vectors(words)
