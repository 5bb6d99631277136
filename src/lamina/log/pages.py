"""All there is of a kind, read page by page; one session that must be there; and what was cut of a user's memory."""

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from lamina.errors import NotFound
from lamina.protocols.store import Part, Store
from lamina.values.message import Message, Span
from lamina.values.opt_out import PREFIX, OptOut, opt_out_of
from lamina.values.session import Session, Status

T = TypeVar("T")

_PAGE = 500
_BEYOND = 2**62  # every count of changes: which sessions have changed is not asked for


def single(found: Sequence[T]) -> T | None:
    """The one that was asked for, if it is there."""
    return found[0] if found else None


async def require_session(store: Store, session_id: str) -> Session:
    found = single(await store.sessions(ids=[session_id]))
    if found is None:
        raise NotFound(f"no session {session_id!r}")
    return found


async def every_session(
    store: Store, user_id: str | None = None, status: Status | None = None, project_id: str | None = None
) -> AsyncIterator[Session]:
    """Sessions by id, of a user or of all, and of one project if it is named."""
    after = None
    while page := await store.sessions(user_id=user_id, status=status, project_id=project_id, limit=_PAGE, after=after):
        for session in page:
            yield session
        after = page[-1].id


async def every_user(store: Store) -> AsyncIterator[str]:
    """Users who have a session or a fact, by id."""
    after = None
    while page := await store.users(limit=_PAGE, after=after):
        for user_id in page:
            yield user_id
        after = page[-1]


async def every_opt_out(store: Store) -> list[OptOut]:
    """Everybody who has opted out, by id."""
    rows = (await store.rows(Part(tables=("settings",))))["settings"]
    noted = sorted((key, value) for key, value in rows if key.startswith(PREFIX))
    return [choice for key, value in noted if (choice := opt_out_of(key, value)) is not None]


async def every_message(store: Store, session_id: str, begin: int, last: int) -> AsyncIterator[Message]:
    """Messages of a session by sequence number, begin and last included."""
    for start in range(begin, last + 1, _PAGE):
        for message in await store.messages(session_id, Span(first=start, last=min(last, start + _PAGE - 1))):
            yield message


async def cuts_of(store: Store, user_id: str) -> int:
    """A number that grows when words of a user's memory are taken away or rewritten, by whichever process."""
    return (await store.changes(user_id, _BEYOND)).cuts
