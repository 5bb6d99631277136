"""Documents under names: each is a session of its own, whose newest message is what the document says now."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamina import InputError, Memory, NotFound
from lamina.interfaces.adapters.log import everything, forget_session, is_there
from lamina.types import Message, Session

ROLE = "developer"  # no facts are read from such messages
_LONGEST = 256  # characters of a session's id
_PAGE = 500
_VALUE = "document"  # keys in a message's metadata
_EARLIER = "earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a name stands for now."""

    name: str
    text: str  # what it is found by
    value: Any
    message_id: str
    created_at: datetime  # of its first version
    updated_at: datetime


class Shelf:
    """A set of documents in a memory; with `versions`, what a document said before is kept where no search finds it."""

    def __init__(self, memory: Memory, title: str, *, versions: bool = False) -> None:
        self._memory = memory
        self._title = title
        self._mark = f"{title}:"
        self._versions = versions

    def put(self, name: str, text: str, value: Any, *, user_id: str) -> None:
        """Store a document in place of what it was; `text` is what it is found by."""
        before = self.get(name)
        messages: list[dict[str, Any]] = [{"role": ROLE, "content": text, "metadata": {_VALUE: value}}]
        if before is not None and self._versions:
            earlier = {_EARLIER: {"text": before.text, "value": before.value}}
            messages.insert(0, {"role": ROLE, "content": "", "metadata": earlier, "created_at": before.updated_at})
        self._add(name, messages, user_id)
        if before is not None:
            self._memory.forget(message_id=before.message_id)

    def _add(self, name: str, messages: list[dict[str, Any]], user_id: str) -> None:
        session_id = self._id(name)
        self._memory.add(messages, user_id=user_id, session_id=session_id, agent_id=self._title)
        self._memory.pause(session_id)  # so that it never ends, and is not told of as a conversation

    def get(self, name: str) -> Document | None:
        try:
            session = self._memory.session(self._id(name))
        except NotFound:
            return None
        return self._newest(session)

    def move(self, name: str, target: str, *, user_id: str) -> None:
        """Give a document another name, with its versions."""
        self._add(target, [_copied(message) for message in everything(self._memory, self._id(name))], user_id)
        self.drop(name)

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
            text=found[0].text,
            value=found[0].metadata[_VALUE],
            message_id=found[0].id,
            created_at=session.started_at,
            updated_at=found[0].created_at,
        )

    def _id(self, name: str) -> str:
        session_id = self._mark + name
        if len(session_id) > _LONGEST:
            most = _LONGEST - len(self._mark)
            raise InputError(f"{name!r:.80} is too long: a name may have {most} characters, not {len(name)}")
        return session_id


def _copied(message: Message) -> dict[str, Any]:
    return {**message.to_openai(), "metadata": message.metadata, "created_at": message.created_at}
