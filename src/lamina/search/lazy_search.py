"""Recall, loaded when something is first asked: numpy would be half of the time of `import lamina`."""

import importlib
from typing import Any

from lamina.parts import Parts
from lamina.search.request import Request
from lamina.values.hit import Explained, Hit


class Retrieval:
    """Searches what is stored of one user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._loaded: Any = None

    async def search(self, request: Request) -> list[Hit]:
        """The best hits, best first."""
        return [*(await self.explained(request)).hits]

    async def explained(self, request: Request) -> Explained:
        """The best hits, and how they were found."""
        found: Explained = await self._recall().explained(request)
        return found

    async def weighed(self, request: Request) -> list[tuple[Hit, float]]:
        """The best hits, best first, each with how much it is worth beside the others."""
        found: list[tuple[Hit, float]] = await self._recall().weighed(request)
        return found

    def _recall(self) -> Any:
        if self._loaded is None:
            self._loaded = importlib.import_module("lamina.search.search").Recall(self._parts)
        return self._loaded
