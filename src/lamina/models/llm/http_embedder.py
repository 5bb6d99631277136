"""Vectors by an endpoint."""

from collections.abc import Sequence

from lamina.errors import ModelError
from lamina.models.llm.endpoint import Endpoint, Refused

_MAX_TEXTS = 64  # in one request
_TOO_LONG = frozenset((400, 413, 422))
_MIN_CHARACTERS = 500  # characters to which a text is cut that a server finds too long


class HttpEmbedder:
    """An embedder behind an OpenAI-compatible endpoint; its name has the model's, so that vectors never mix."""

    inline = False

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.dimensions = endpoint.llm.dimensions or 0  # 0 until it is known
        size = f"-{endpoint.llm.dimensions}" if endpoint.llm.dimensions else ""
        self.name = f"{endpoint.model}{size}"

    async def ask_dimensions(self) -> int:
        """Ask the server how long its vectors are."""
        (vector,) = await self.endpoint.vectors(["How many dimensions has this?"])
        self.dimensions = len(vector)
        return self.dimensions

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = []
        for first in range(0, len(texts), _MAX_TEXTS):
            found += await self._embed_batch([text or " " for text in texts[first : first + _MAX_TEXTS]])
        for vector in found:
            if self.dimensions and len(vector) != self.dimensions:
                raise ModelError(
                    f"{self.endpoint.model} gave a vector of {len(vector)} numbers where {self.dimensions} are"
                    " expected; set `dimensions` to what the model has"
                )
            self.dimensions = len(vector)
        return found

    async def _embed_batch(self, texts: list[str]) -> list[list[float]]:
        """The vectors of some texts; a text that is too long for the server is cut until it is not."""
        try:
            return await self.endpoint.vectors(texts)
        except Refused as error:
            if error.status not in _TOO_LONG:
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                return [*await self._embed_batch(texts[:half]), *await self._embed_batch(texts[half:])]
            if len(texts[0]) <= _MIN_CHARACTERS:
                raise
            return await self._embed_batch([texts[0][: len(texts[0]) // 2]])
