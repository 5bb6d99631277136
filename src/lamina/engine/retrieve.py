"""Recall, loaded when something is first asked: numpy would be half of the time of `import lamina`."""

import importlib
from typing import Any

from lamina.engine.parts import Parts
from lamina.engine.requests import Request
from lamina.types import Hit


class Retrieval:
    """Searches what is stored of one user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._loaded: Any = None

    async def search(self, request: Request) -> list[Hit]:
        """The best hits, best first."""
        if self._loaded is None:
            self._loaded = importlib.import_module("lamina.engine.recall").Recall(self._parts)
        hits: list[Hit] = await self._loaded.search(request)
        return hits
