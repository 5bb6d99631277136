"""A memory copied from one store to another while it is in use. Stopped at any point, it goes on from there."""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from lamina.errors import Conflict, StoreError
from lamina.parts import Progress
from lamina.protocols.store import Part, RawRow, Store
from lamina.values.report import Copied

TENANT_TABLES = ("settings", "appends", "receipts", "costs")
SESSION_TABLES = ("sessions", "messages", "summaries", "vectors")
_PAGE = 500  # rows
_USERS = 200
COPY = "copy"  # the setting that says how far a copy came
_UNFINISHED, _WHOLE = "unfinished", "whole"
_IDENTITY = "identity"  # the setting that says which memory this is, and what is a copy of it


async def refuse_unfinished(store: Store) -> None:
    """Refuse to open what a copy that was broken off has left: a part of the memory would be taken for all of it."""
    if await store.setting(COPY) == _UNFINISHED:
        raise StoreError(
            "this is a copy that was broken off, and not all of the memory is in it; run the same `lamina copy` again,"
            " which goes on from there, or delete it"
        )


@dataclass(slots=True)
class Counted:
    """What was copied so far."""

    users: int = 0
    sessions: int = 0
    messages: int = 0


class Copy:
    """Brings a target to what a source holds, user by user."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source, self._target = source, target

    async def run(self, identity: str, rounds: int, progress: Progress | None = None) -> Copied:
        """Copy until nothing differs, or so many rounds were made; then compare every row."""
        await self._identify(identity)
        await self._target.put_setting(COPY, _UNFINISHED)
        done, left = Counted(), 1
        for _ in range(max(rounds, 1)):
            if not (left := await self._round(done, progress)):
                break
        await self._target.scrub()  # what was forgotten in the source since the last copy
        rows, differing = await self._compare(progress)
        await self._target.put_setting(COPY, _WHOLE)
        return Copied(
            users=done.users,
            sessions=done.sessions,
            messages=done.messages,
            rows=rows,
            differing=tuple(differing),
            changing=left,
        )

    async def _identify(self, fresh: str) -> None:
        """Refuse a target that has a memory of its own."""
        known = await self._source.setting(_IDENTITY)
        if known is None:
            await self._source.put_setting(_IDENTITY, known := fresh)
        theirs = await self._target.setting(_IDENTITY)
        if theirs == known:
            return
        if theirs is not None or await self._target.users(everyone=True, after="", limit=1):
            raise Conflict("the target has a memory of its own; give an empty one, or an earlier copy of this source")
        await self._target.put_setting(_IDENTITY, known)

    async def _round(self, done: Counted, progress: Progress | None) -> int:
        """Copy what differs now; how many users did."""
        differed = 0
        source = await _every(self._source)
        for place, user_id in enumerate(source, 1):
            differed += await self._user(user_id, done)
            if progress is not None:
                progress(place, len(source))
        for user_id in set(await _every(self._target)).difference(source):
            differed += await self._user(user_id, done)
        for table in TENANT_TABLES:
            part = Part(tables=(table,))
            rows = await self._source.rows(part)
            if rows != await self._target.rows(part):
                await self._target.put_rows(part, rows)
        return differed

    async def _user(self, user_id: str, done: Counted) -> bool:
        """Copy what differs of a user; whether anything did."""
        wanted, there = await self._source.standing(user_id), await self._target.standing(user_id)
        if wanted == there:
            return False
        for session_id, checksum in wanted.sessions.items():
            if there.sessions.get(session_id) != checksum:
                await self._session(user_id, session_id, done)
        part = Part(user_id=user_id)
        await self._target.put_rows(part, await self._source.rows(part))
        done.users += 1
        return True

    async def _session(self, user_id: str, session_id: str, done: Counted) -> None:
        source, target = self._source, self._target
        own = [row async for rows in _pages(source, session_id, "sessions") for row in rows]
        if not own:
            return  # forgotten meanwhile
        there = await target.chain_end(session_id)
        start = there[0] if there[0] and await source.chain_end(session_id, there[0]) == there else 0
        await target.put_session(session_id, own[0], "unfinished" if start else "new")
        async for rows in _pages(source, session_id, "messages", start):
            await target.put_rows(Part(user_id=user_id, session_id=session_id), {"messages": rows})
            done.messages += len(rows)
        for table in ("unread", "summaries"):
            every = [row async for rows in _pages(source, session_id, table) for row in rows]
            await target.put_rows(Part(user_id=user_id, session_id=session_id), {table: every})
        async for rows in _pages(source, session_id, "vectors"):
            await target.put_rows(Part(user_id=user_id, session_id=session_id), {"vectors": rows})
        await target.put_session(session_id, own[0], "whole")
        done.sessions += 1

    async def _compare(self, progress: Progress | None) -> tuple[dict[str, int], list[str]]:
        """Every row of both sides: how many there are by table, and whose differ."""
        counts: dict[str, int] = {}
        differing = []
        users = sorted({user for store in (self._source, self._target) for user in await _every(store)})
        for place, user_id in enumerate(users, 1):
            if await _fingerprint(self._source, user_id, counts) != await _fingerprint(self._target, user_id, {}):
                differing.append(user_id)
            if progress is not None:
                progress(place, len(users))
        for table in TENANT_TABLES:
            part = Part(tables=(table,))
            rows = await self._source.rows(part)
            counts[table] = len(rows[table])
            if rows != await self._target.rows(part):
                differing.append(f"({table})")
        return counts, differing


async def _every(store: Store) -> list[str]:
    found: list[str] = []
    while users := await store.users(everyone=True, after=found[-1] if found else "", limit=_USERS):
        found += users
    return found


async def _pages(store: Store, session_id: str, table: str, after: int = 0) -> AsyncIterator[list[RawRow]]:
    """Rows of a session without their places."""
    part = Part(session_id=session_id, tables=(table,))
    while rows := (await store.rows(part, after=after, limit=_PAGE))[table]:
        yield [row[1:] for row in rows]
        after = rows[-1][0]


async def _fingerprint(store: Store, user_id: str, counts: dict[str, int]) -> str:
    """A checksum of every row of a user; counts them by table."""
    checksum = hashlib.sha256()

    def take(table: str, rows: Sequence[RawRow]) -> None:
        counts[table] = counts.get(table, 0) + len(rows)
        for row in rows:
            checksum.update(json.dumps([table, row], default=lambda value: bytes(value).hex()).encode())

    of_user = await store.rows(Part(user_id=user_id))
    for (session_id,) in of_user["sessions"]:
        for table in SESSION_TABLES:
            async for rows in _pages(store, session_id, table):
                take(table, [(session_id, *row) for row in rows])
    for table, some in of_user.items():
        if table != "sessions":
            take(table, some)
    return checksum.hexdigest()
