"""What all parts of the suite look with."""

from typing import Any

import pytest

from lamina.policy import integrity
from lamina.ports import Claim, MessageRow, Reach, Store, WordMatches
from lamina.testing.samples import a_turn, an_append, at
from lamina.types import Session, Span

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
    found = await store.session(session_id)
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
            await store.newest_sessions(user_id, 9),
            await store.digests(user_id),
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
            await store.unread(session.id, 99),
            await store.view(session.user_id, session.id, Reach(turns=9, fill=True, tokens=999)),
        ]
    return shown
