"""Embedding: what was added gets its vectors later, in batches, by the worker."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Sequence

import numpy as np

from lamina.errors import ModelError
from lamina.model_calls import call
from lamina.parts import Parts, on_loop
from lamina.protocols.models import Embedder
from lamina.search.index import text_of
from lamina.search.vectors import pack

logger = logging.getLogger("lamina.embed")

BATCH = 32  # texts at once: a few milliseconds of static vectors
_USERS = 1_000
_SHARE = 16  # users taken on before looking again whom others have left
TEXT = 20_000  # characters of a text that are embedded
_MANY = 512  # texts of a user without vectors: some ten seconds of MiniLM
_PORTION = 128  # texts that a slow embedder is given before other work has its turn


class Embedding:
    """Gives vectors to what has none. Those of an `interim` embedder answer until all has those of the other one."""

    def __init__(self, parts: Parts, embedder: Embedder, interim: Embedder | None = None) -> None:
        self._parts = parts
        self._embedder = embedder
        self._interim = interim
        self._noted = embedder is parts.interim  # never the one that was chosen
        self.name = embedder.name
        self.portion = None if interim is None else _PORTION  # texts to give it at once; None: any number

    async def users(self) -> AsyncIterator[str]:
        """Those without all vectors, as many as there are now; other workers are likely to be at other ones."""
        left = None
        while left is None or left > 0:
            users = await self._parts.store.users(unembedded=self.name, limit=_USERS)
            left = len(users) if left is None else left
            if not users:
                return
            first = random.randrange(len(users))  # noqa: S311 - no secret
            for user_id in [*users[first:], *users[:first]][: min(_SHARE, left)]:
                yield user_id
            left -= _SHARE

    async def embed_all(self) -> int:
        """Give every user's memory its vectors; how many there were to give."""
        given = 0
        while users := await self._parts.store.users(unembedded=self.name, limit=_USERS):
            for user_id in users:
                given += await self.embed_user(user_id)
            if len(users) < _USERS:
                break
        await self._note(self.name)
        return given

    async def note_complete(self) -> None:
        """After a pass over the users: if only what came meanwhile has no vectors, they are the ones to search by."""
        if len(await self._parts.store.users(unembedded=self.name, limit=_USERS)) < _USERS:
            await self._note(self.name)

    async def _note(self, name: str) -> None:
        """Have all searched by this embedder."""
        if self._noted:
            return
        if await self._parts.store.setting("embedder") != name:
            await self._parts.store.put_setting("embedder", name)
            logger.info("embedder_changed", extra={"embedder": name})
        self._noted = self._interim is None  # else that may change again, in other processes too

    async def _note_incomplete(self, user_id: str) -> None:
        """If much of a user's memory has no vectors, have all searched by the interim ones meanwhile."""
        if self._interim and not (await self._parts.store.to_embed(user_id, self.name, _MANY)).done:
            await self._note(self._interim.name)

    async def embed_user(self, user_id: str, most: int | None = None) -> int:
        """Give a user's memory its vectors; with `most`, about so many at the most."""
        given = 0
        while True:
            lacking = await self._parts.store.to_embed(user_id, self.name, BATCH)
            if not given and not lacking.done:
                await self._note_incomplete(user_id)
            texts, seconds = [text_of(item)[:TEXT] for item in lacking.items], self._parts.patience.model_seconds
            vectors = pack(await embed_texts(self._embedder, texts, seconds)) if texts else []
            stored = await self._parts.store.put_vectors(
                user_id,
                self.name,
                lacking.cuts,
                dict(zip((item.id for item in lacking.items), vectors, strict=True)),
                lacking.count if lacking.done else None,
            )
            given += len(vectors) if stored else 0
            if stored and (lacking.done or (most is not None and given >= most)):
                return given
            if on_loop():
                await asyncio.sleep(0)  # others have their turn


async def embed_texts(embedder: Embedder, texts: Sequence[str], seconds: float) -> Sequence[Sequence[float]]:
    """The vectors of some texts; ModelError if they do not come in time, or are none."""
    try:
        found = await call(embedder.embed(texts), None if embedder.inline else seconds)
    except ModelError as error:
        raise ModelError(f"{embedder.name}: {error}") from error
    size = embedder.dimensions
    alike = len(found) == len(texts) and all(len(vector) == size for vector in found)
    if not alike or not np.isfinite(np.asarray(found)).all():
        raise ModelError(f"{embedder.name} must give {size} numbers for each of {len(texts)} texts")
    return found
