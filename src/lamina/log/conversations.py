"""Which session a client goes on with that names none: the one whose log has what the client sends again."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from lamina.log.resent import Sign, join, sign
from lamina.parts import Parts
from lamina.values.message import Message, Span
from lamina.values.session import Session

_NAME = "chat"  # how the ids of these sessions begin
_MAX_SESSIONS = 200  # of a user that are looked at, those that began last
_MAX_READ = 8  # of them whose messages are read
_MAX_OTHERS = 32  # messages of a log that may stand between those a client sends
RESPONSE_ID = "response_id"  # in the metadata of a reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose sessions may be meant."""

    user_id: str
    agent_id: str | None = None
    project_id: str | None = None


class Conversations:
    """Finds and begins the sessions of clients that name none.

    Conversations of one `group` are told apart by their history; those of different groups are never the same.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def begin(self, group: str | None = None) -> str:
        """The id of a new session."""
        return self._parts.new_id(_prefix(group))

    async def find(
        self, sent: Sequence[Sign], whose: Whose, *, group: str | None = None, retried: bool = False
    ) -> str | None:
        """The session that goes on with what was sent; None if it is a new conversation.

        A session whose log ends with what the client sends again comes first; then one from whose middle it goes on,
        because the client changed something that was said there.
        """
        sessions = await self._sessions(whose, group)
        newest = await self._newest(sessions)
        known = set(sent)

        def may_end(session: Session) -> bool:
            end = newest.get(session.id)
            return end is not None and (end.forgotten or sign(end.body) in known)

        earlier = None
        for session in sorted(sessions, key=may_end, reverse=True)[:_MAX_READ]:
            log = await self._tail(session, len(sent) + _MAX_OTHERS)
            gone = [place for place, one in enumerate(log) if one.forgotten]
            found = join(sent, [sign(one.body) for one in log], gone=gone, retried=retried)
            if found == "end":
                return session.id
            if found == "earlier" and earlier is None:
                earlier = session.id
        return earlier

    async def find_reply(self, response_id: str, whose: Whose, *, group: str | None = None) -> str | None:
        """The session with a reply that the endpoint gave this id."""
        sessions = await self._sessions(whose, group)
        newest = await self._newest(sessions)
        for session in sessions:
            if session.id in newest and newest[session.id].metadata.get(RESPONSE_ID) == response_id:
                return session.id
        for session in sessions[:_MAX_READ]:
            log = await self._tail(session, _MAX_OTHERS * _MAX_READ)
            if any(one.metadata.get(RESPONSE_ID) == response_id for one in log):
                return session.id
        return None

    async def _sessions(self, whose: Whose, group: str | None) -> list[Session]:
        """Those that may be meant, the one that was written to last first."""
        found = await self._parts.store.sessions(
            user_id=whose.user_id, project_id=whose.project_id or "", newest=True, limit=_MAX_SESSIONS
        )
        prefix = f"{_prefix(group)}_"
        own = [one for one in found if one.id.startswith(prefix) and one.agent_id == whose.agent_id]
        return sorted(own, key=lambda one: (one.touched_at, one.id), reverse=True)

    async def _newest(self, sessions: Sequence[Session]) -> dict[str, Message]:
        found = await self._parts.store.newest_messages(ids=[one.id for one in sessions]) if sessions else []
        return {one.session.id: one.message for one in found}

    async def _tail(self, session: Session, wanted: int) -> list[Message]:
        last = session.counters.messages
        span = Span(first=max(1, last - wanted + 1), last=last)
        return await self._parts.store.messages(session.id, span)


def _prefix(group: str | None) -> str:
    return _NAME if group is None else f"{_NAME}.{hashlib.sha256(group.encode('utf-8', 'replace')).hexdigest()[:8]}"
