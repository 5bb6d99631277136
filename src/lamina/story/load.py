"""Load the demo into a memory that is in use."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lamina.errors import Conflict, NotFound
from lamina.memory import AsyncMemory
from lamina.story import CARD, ENDLESS, USER, Part, parts
from lamina.values.session import Session

_BATCH = 40  # messages that are added together
_SETTLE_S = 120.0  # what is not folded by then is left to the workers
Report = Callable[[str, int, int], None]  # the step, how far it is, of how many (0: that is not known)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDemo:
    """How much of the demo was added, and where it is to be seen."""

    sessions: int
    messages: int
    user_id: str = USER
    session_id: str = ENDLESS  # the long session, of the user of the same name


async def load_demo(memory: AsyncMemory, report: Report) -> LoadedDemo:
    """Add what is missing of the demo, fold it, and forget the number that Mara wants to have forgotten.

    A session that is there is left as it is, so that a second time adds nothing; one that was interrupted goes on.
    It writes to users of its own only: if one of that name has other sessions, or a session of that name is
    another's, nothing is added.
    """
    planned = parts()
    stored = await _stored(memory, planned)
    missing = [part for part in planned if _is_missing(part, stored.get(part.session_id))]
    total = sum(len(part.messages) for part in missing)
    done = before = 0
    for part in missing:
        before += stored[part.session_id].counters.messages if part.session_id in stored else 0
        for start in range(0, len(part.messages), _BATCH):
            batch = part.messages[start : start + _BATCH]
            await memory.add(list(batch), user_id=part.user_id, session_id=part.session_id)
            done += len(batch)
            report("add", done, total)
        await memory.rename(part.session_id, part.title)
        if part.ends:
            await memory.end(part.session_id)
    if missing:
        await _finish(memory, {part.user_id for part in missing}, report)
    return LoadedDemo(sessions=len(missing), messages=total - before)


def _is_missing(part: Part, stored: Session | None) -> bool:
    """Whether a session is not there, or not all of it, since adding it was interrupted."""
    return stored is None or (stored.status == "active" and stored.counters.messages < len(part.messages))


async def _stored(memory: AsyncMemory, planned: Sequence[Part]) -> dict[str, Session]:
    """The sessions of the demo that are there; raises Conflict if it would mix with what somebody else said."""
    names = {part.session_id for part in planned}
    found: dict[str, Session] = {}
    for user_id in (USER, ENDLESS):
        theirs = {session.id: session for session in await memory.sessions(user_id)}
        if theirs and not theirs.keys() & names:
            raise Conflict(
                f"there is a user {user_id!r} already, with other sessions than the demo's; nothing was added."
                " Load it into a store of its own: `lamina demo --file demo.db`"
            )
        found |= theirs
    for name in names - found.keys():
        with suppress(NotFound):
            owner = (await memory.session(name)).user_id
            raise Conflict(f"the session {name!r} of the demo is one of the user {owner!r} here; nothing was added")
    return found


async def _finish(memory: AsyncMemory, users: set[str], report: Report) -> None:
    report("fold", 0, 0)
    try:
        await memory.settle(_SETTLE_S, progress=lambda done, total: report("fold", done, total))
    except TimeoutError:  # much else is due in this store; the workers go on
        return
    report("forget", 0, 0)
    for user_id in sorted(users):
        await memory.forget(text=CARD, user_id=user_id)
