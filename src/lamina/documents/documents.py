"""Documents under names: each is a session of its own, whose newest message is what the document says now."""

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lamina.documents.versions import EARLIER, VALUE
from lamina.errors import InputError, NotFound
from lamina.forgetting.forget import Forgetting
from lamina.log.append import Ingest
from lamina.log.pages import every_message, single
from lamina.parts import Parts
from lamina.protocols.store import Append, Newest, Replacement
from lamina.values.document import Document, DocumentPut
from lamina.values.fact import ConflictRule

ROLE = "developer"  # no facts are read from such messages
_MAX_NAME = 256  # characters of a name
_PAGE = 500
_SALT_BYTES = 16
_MORE, _TTL = "texts", "ttl_seconds"  # keys in a message's metadata

Fits = Callable[[Any], bool]  # whether a value is wanted


def _any(_: Any) -> bool:
    return True


class Documents:
    """Puts, finds and forgets documents. A put takes the place of what was there, in one transaction."""

    def __init__(
        self,
        parts: Parts,
        ingest: Ingest,
        forgetting: Forgetting,
        rule: ConflictRule,
        begin: Callable[[], Awaitable[None]],
    ) -> None:
        self._parts = parts
        self._ingest = ingest
        self._forgetting = forgetting
        self._rule = rule
        self._begin = begin

    async def put(self, puts: Sequence[DocumentPut]) -> None:
        """Store documents, one after the other; none if one of them cannot be stored."""
        await self._begin()
        appends = [await self._append(put) for put in puts]
        for append in appends:
            await self._ingest.append(append)

    async def _append(self, put: DocumentPut) -> Append:
        append = await self._ingest.prepare(
            self._messages(put.texts, put.value, put.ttl),
            user_id=put.user_id,
            session_id=_check_name(put.name),
            agent_id=put.agent_id,
        )
        return self._replacing(append, keep=put.versions)

    def _messages(self, texts: Sequence[str], value: Any, ttl: timedelta | None) -> list[dict[str, Any]]:
        more = [self._parts.new_id("msg") for _ in texts[1:]]
        metadata: dict[str, Any] = {VALUE: value}
        if more:
            metadata[_MORE] = more
        if ttl is not None:
            metadata[_TTL] = ttl.total_seconds()
        found: list[dict[str, Any]] = [
            {"id": key, "role": ROLE, "content": text} for key, text in zip(more, texts, strict=False)
        ]
        return [*found, {"role": ROLE, "content": texts[-1] if texts else "", "metadata": metadata}]

    def _replacing(self, append: Append, *, keep: bool = False) -> Append:
        """Paused, so that it never ends and no digest reads it."""
        salt = self._parts.random_bytes(_SALT_BYTES) if keep else None
        return replace(append, replaces=Replacement(rule=self._rule, status="paused", keep_salt=salt))

    async def get(self, names: Sequence[str]) -> list[Document | None]:
        """What each name stands for."""
        found = await self._parts.store.newest_messages(ids=[_check_name(name) for name in names]) if names else ()
        known = {document.name: document for document in self._living(found)}
        return [known.get(name) for name in names]

    async def under(
        self, prefix: str, *, fits: Fits = _any, has: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> list[Document]:
        """Documents whose names go on from a prefix, by name. `has` are pieces of JSON that the values must have."""
        found: list[Document] = []
        end = None if limit is None else offset + limit
        if end is None or limit:
            async for document in self._each(prefix, fits, has, _PAGE if end is None else end):
                found.append(document)
                if len(found) == end:
                    break
        return found[offset:]

    async def nearest(
        self, prefix: str, query: str, *, fits: Fits = _any, has: Sequence[str] = ()
    ) -> list[tuple[float, Document]]:
        """Documents under a prefix that have a text, each with how near the nearest of its texts is to the query.

        Best first. A score is the cosine of meanings, or without an embedder the share of the query's words, from 0
        to 1; of equals the first by name comes first.
        """
        found = [one async for one in self._each(prefix, fits, has, _PAGE) if one.text or one.more]
        if not found:
            return []
        nearest = importlib.import_module("lamina.documents.nearest")  # loads numpy
        ranked: list[tuple[float, Document]] = await nearest.rank(self._parts, query, found)
        return ranked

    async def folders(self, prefix: str, mark: str) -> list[str]:
        """What names go on with from a prefix up to and with a mark, as far as there are documents."""
        first = await self._parts.store.first_sessions(prefix, mark)
        living: set[str] = set()
        for start in range(0, len(first), _PAGE):
            page = await self._parts.store.newest_messages(ids=first[start : start + _PAGE])
            living.update(document.name for document in self._living(page))
        folders = {name: name[: name.index(mark, len(prefix)) + 1] for name in first}
        return [folder for name, folder in folders.items() if name in living or await self.under(folder, limit=1)]

    async def renew(self, documents: Sequence[Document]) -> None:
        """Restart the time to live of documents."""
        names = [document.name for document in documents if document.ttl is not None]
        if names:
            await self._parts.store.touch_sessions(names, self._parts.now())

    async def drop(self, names: Sequence[str]) -> None:
        """Forget documents with all their versions, if they are there."""
        while True:
            found = [
                one for name in dict.fromkeys(names) if (one := single(await self._parts.store.sessions(ids=[name])))
            ]
            try:
                await self._forgetting.documents(found)
            except NotFound:  # another forgot one of them first
                continue
            return

    async def move(self, name: str, target: str) -> None:
        """Give a document another name, with its versions."""
        store = self._parts.store
        session, (now,) = single(await store.sessions(ids=[name])), await self.get([name])
        if session is None or now is None:
            raise NotFound(f"no document {name!r}")
        messages = [message async for message in every_message(store, name, 1, session.counters.messages)]
        earlier = [
            {"role": ROLE, "content": "", "metadata": one.metadata, "created_at": one.created_at}
            for one in messages
            if EARLIER in one.metadata
        ]
        texts = [*(one.text for one in messages if one.id in now.more), now.text]
        *more, last = self._messages(texts, now.value, now.ttl)
        append = await self._ingest.prepare(
            [*earlier, *more, {**last, "created_at": now.updated_at}],
            user_id=session.user_id,
            session_id=_check_name(target),
            agent_id=session.agent_id,
        )
        await self._ingest.append(self._replacing(append))
        await self.drop([name])

    async def sweep(self, prefix: str) -> int:
        """Forget the documents under a prefix whose time is over; how many."""
        store, now, over = self._parts.store, self._parts.now(), []
        after = ""
        while page := await store.newest_messages(prefix, after=after, has=[f'"{_TTL}":'], limit=_PAGE):
            over += [one.session for one in page if (known := _document(one)) is not None and not _lives(known, now)]
            after = page[-1].session.id
        while over:
            try:
                return await self._forgetting.documents(over, unless_used=True)
            except NotFound:  # another forgot one of them first
                over = [one for one in over if single(await store.sessions(ids=[one.id])) is not None]
        return 0

    async def _each(self, prefix: str, fits: Fits, has: Sequence[str], size: int) -> AsyncIterator[Document]:
        """Documents under a prefix, read so many at once."""
        store, after, limit = self._parts.store, "", min(size, _PAGE) if fits is _any else _PAGE
        while page := await store.newest_messages(prefix, after=after, has=has, limit=limit):
            for document in self._living(page):
                if fits(document.value):
                    yield document
            after = page[-1].session.id

    def _living(self, found: Sequence[Newest]) -> list[Document]:
        now = self._parts.now()
        known = [document for one in found if (document := _document(one)) is not None]
        return [document for document in known if _lives(document, now)]


def _check_name(name: str) -> str:
    if len(name) > _MAX_NAME:
        raise InputError(f"{name!r:.80} is too long: a name may have {_MAX_NAME} characters, not {len(name)}")
    return name


def _document(newest: Newest) -> Document | None:
    """The document that a session is; None if it is none, or its words were forgotten."""
    session, message = newest
    if VALUE not in message.metadata:
        return None
    seconds = message.metadata.get(_TTL)
    return Document(
        name=session.id,
        user_id=session.user_id,
        value=message.metadata[VALUE],
        text=message.text,
        message_id=message.id,
        more=tuple(message.metadata.get(_MORE, ())),
        created_at=session.started_at,
        updated_at=message.created_at,
        used_at=session.touched_at,
        ttl=None if seconds is None else timedelta(seconds=seconds),
    )


def _lives(document: Document, now: datetime) -> bool:
    return document.ttl is None or now < document.used_at + document.ttl
