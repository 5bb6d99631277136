"""Documents under names: each is a session of its own, whose newest message is what the document says now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamina import InputError, Memory, NotFound
from lamina.interfaces.adapters.log import forget_session, is_there
from lamina.types import Session

ROLE = "developer"  # no facts are read from such messages
_LONGEST = 256  # characters of a session's id
_PAGE = 500
_VALUE = "document"  # the key in a message's metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a name stands for now."""

    name: str
    value: Any
    message_id: str
    created_at: datetime  # of its first version
    updated_at: datetime
    size: int  # of its text, in bytes


class Shelf:
    """A set of documents in a memory."""

    def __init__(self, memory: Memory, title: str) -> None:
        self._memory = memory
        self._title = title
        self._mark = f"{title}:"

    def put(self, name: str, text: str, value: Any, *, user_id: str) -> None:
        """Store a new version; `text` is what it is found by."""
        session_id = self._id(name)
        message: Mapping[str, Any] = {"role": ROLE, "content": text, "metadata": {_VALUE: value}}
        self._memory.add(message, user_id=user_id, session_id=session_id, agent_id=self._title)
        self._memory.pause(session_id)  # so that it never ends, and is not told of as a conversation

    def get(self, name: str) -> Document | None:
        try:
            session = self._memory.session(self._id(name))
        except NotFound:
            return None
        return self._newest(session)

    def drop(self, name: str) -> None:
        """Forget a document with all its versions, if there is one."""
        forget_session(self._memory, self._id(name))

    def under(self, prefix: str) -> Iterator[Document]:
        """The documents whose names go on from a prefix, by name."""
        found = (self._newest(session) for session in self._sessions(prefix))
        return (document for document in found if document is not None)

    def users(self, prefix: str) -> set[str]:
        """Whose documents these are."""
        return {session.user_id for session in self._sessions(prefix)}

    def name_of(self, session_id: str | None) -> str | None:
        """The name of the document that a session is, if it is one of this shelf."""
        return session_id.removeprefix(self._mark) if session_id and session_id.startswith(self._mark) else None

    def _sessions(self, prefix: str) -> Iterator[Session]:
        start = after = self._mark + prefix
        while True:
            page = self._memory.sessions(after=after, limit=_PAGE)
            for session in page:
                if not session.id.startswith(start):
                    return
                yield session
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def _newest(self, session: Session) -> Document | None:
        last = session.counters.messages
        found = [message for message in self._memory.messages(session.id, last, last) if is_there(message)]
        if not found or _VALUE not in found[0].metadata:
            return None
        return Document(
            name=session.id.removeprefix(self._mark),
            value=found[0].metadata[_VALUE],
            message_id=found[0].id,
            created_at=session.started_at,
            updated_at=found[0].created_at,
            size=len(found[0].text.encode()),
        )

    def _id(self, name: str) -> str:
        session_id = self._mark + name
        if len(session_id) > _LONGEST:
            most = _LONGEST - len(self._mark)
            raise InputError(f"{name!r:.80} is too long: a name may have {most} characters, not {len(name)}")
        return session_id
