"""Static vectors, loaded when the first is needed: opening a memory does not wait for numpy."""

import importlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any


class LazyStatic:
    """`StaticEmbedder` from the first text or word on."""

    name = "static-384@2"
    dimensions = 384
    inline = True

    @cached_property
    def _embedder(self) -> Any:
        return importlib.import_module("lamina.models.embeddings.static").StaticEmbedder()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        rows: Sequence[Sequence[float]] = await self._embedder.embed(texts)
        return rows

    def word_vectors(self, words: Sequence[str]) -> Any:
        return self._embedder.word_vectors(words)
