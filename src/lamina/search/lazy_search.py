"""The search, loaded when something is first asked: numpy would be half of the time of `import lamina`."""

import importlib
from functools import cached_property
from typing import Any

from lamina.parts import Parts, load_beside_loop
from lamina.search.filters import Request
from lamina.values.hit import Explained, Hit


class LazySearch:
    """Searches what is stored of one user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @cached_property
    def _instance(self) -> Any:
        return importlib.import_module("lamina.search.search").Search(self._parts)

    @property
    def loaded(self) -> bool:
        return "_instance" in self.__dict__

    def load(self) -> None:
        """Read the code of the search, numpy above all."""
        self._instance  # noqa: B018 - makes it

    def standing_facts(self, user_id: str) -> Any:
        """The facts of a user that may be true, with the count of changes that they are as of, if they are at hand."""
        return self._instance.cache.standing_facts(user_id) if self.loaded else None

    async def search(self, request: Request) -> Any:
        """The best hits, best first, each with how much it is worth beside the others, and the facts that ended."""
        await load_beside_loop(self, self._parts.lexicon)
        return await self._instance.search(request)

    async def nearest(self, request: Request) -> list[tuple[Hit, float, str]] | None:
        """What is nearest to the query in meaning, each with its distance and, where known, its nearest sentence.

        None if the query has no words of its own.
        """
        hits = [hit for hit, _ in (await self.search(request)).hits]
        distances = await self._instance.distances(request, hits)
        if distances is None:
            return None
        found = ((hit, *near) for hit, near in zip(hits, distances, strict=True))
        return sorted(found, key=lambda one: (one[1], one[0].id))

    async def explain(self, request: Request) -> Explained:
        """The best hits, best first, and how they were found."""
        found = await self.search(request)
        return Explained(
            hits=tuple(hit for hit, _ in found.hits),
            least=request.min_score,
            considered=found.considered,
            related=found.related,
            stages=found.stages,
            weights=request.weights,
        )
