"""What all parts of the suite look with."""

from typing import Any

import pytest

from lamina.log.pages import single
from lamina.maintenance import integrity
from lamina.protocols.store import Claim, MessageRow, Reach, Store, Unembedded, WordMatches
from lamina.testing.samples import a_turn, an_append, at
from lamina.values.message import Span
from lamina.values.session import Session

ALL = Span(first=1, last=1_000)


@pytest.mark.anyio
class Suite:
    """Tests that run on an event loop."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


def found_ids(matches: WordMatches) -> set[str]:
    return {item.id for item in matches.matches}


async def session_of(store: Store, session_id: str) -> Session:
    found = single(await store.sessions(ids=[session_id]))
    assert found is not None
    return found


async def claimed(store: Store, owner: str = "w1", minutes: float = 60, **options: Any) -> Claim:
    claim = await store.claim(owner, at(minutes), at(minutes + 1), **options)
    assert claim is not None
    return claim


async def is_whole(store: Store, session_id: str) -> bool:
    return not list(integrity.problems(await store.audit(session_id))) and not await store.check()


async def four_turns(store: Store) -> None:
    """Session s1 with four questions and their answers."""
    await store.append(an_append("s1", *(draft for number in (1, 2, 3, 4) for draft in a_turn(number))))


async def row_of(store: Store, session_id: str, seq: int) -> MessageRow:
    return (await store.audit(session_id)).rows[seq - 1]


async def standing(store: Store, user_id: str = "ann") -> dict[str, str]:
    """The status of each fact of a user."""
    return {fact.id: fact.status for fact in await store.facts(user_id)}


async def everything(store: Store, *users: str, words: tuple[str, ...] = ("tea", "rain")) -> list[object]:
    """All that the reading verbs give of a tenant."""
    shown: list[object] = [
        await store.sessions(),
        await store.users(),
        await store.pending(),
        await store.leases(),
        await store.proposals(),
        await store.receipts(),
        await store.setting("profile"),
    ]
    for user_id in users or ("ann", "bob"):
        matches = await store.find_words(user_id, words, 99)
        shown += [
            await store.sessions(user_id=user_id, newest=True, limit=9),
            await store.summaries(user_id=user_id, digests=True, live=False),
            await store.facts(user_id),
            await store.episodes(user_id),
            await store.links(user_id),
            (matches.documents, matches.frequency, found_ids(matches)),
            await store.view(user_id, None, Reach(turns=9, tokens=999)),
        ]
    for session in await store.sessions():
        shown += [
            await store.audit(session.id),
            await store.messages(session.id, ALL),
            await store.summaries(session.id, live=False),
            await store.milestones(session.id),
            await store.messages(session.id, unread=True, limit=99),
            await store.view(session.user_id, session.id, Reach(turns=9, fill=True, tokens=999)),
        ]
    return shown


# meaning


async def counted(store: Store, user_id: str = "ann") -> tuple[int, int]:
    """The count and the cuts of a user's memory."""
    changes = await store.changes(user_id, 0)
    return changes.count, changes.cuts


async def embedded(store: Store, user_id: str = "ann", embedder: str = "e", *, limit: int = 99) -> Unembedded:
    """Give the next items vectors that tell whose they are; what they were."""
    found = await store.to_embed(user_id, embedder, limit)
    vectors = {item.id: f"{embedder} {item.id}".encode() for item in found.items}
    assert await store.put_vectors(user_id, embedder, found.cuts, vectors, found.count if found.done else None)
    return found


async def with_vectors(store: Store, user_id: str = "ann", embedder: str = "e") -> set[str]:
    """What has a vector; each is the one that was made of it."""
    found = await store.vectors(user_id, embedder, 0)
    assert [row.place for row in found] == sorted({row.place for row in found})
    assert {row.item_id: row.vector for row in found} == {
        row.item_id: f"{embedder} {row.item_id}".encode() for row in found
    }
    return {row.item_id for row in found}


async def meaning(store: Store) -> list[object]:
    """All that the verbs of meaning give of a tenant."""
    shown: list[object] = [await store.users(unembedded="e", limit=99)]
    for user_id in ("ann", "bob"):
        shown += [
            await store.changes(user_id, 0),
            await store.summaries(user_id=user_id),
            await store.vectors(user_id, "e", 0),
            await store.to_embed(user_id, "e", 99),
        ]
    return shown
