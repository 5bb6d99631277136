"""Messages: as they were given, and where they stand in the log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple

from lamina.frozen import dataclass
from lamina.values.chat_form import to_chat

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")
SEARCHED = 1_000_000  # characters of a message by whose words it is found


Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Consecutive messages of one session, first and last included, by sequence number."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and self.first <= seq <= self.last


class MessageDraft(NamedTuple):
    """A validated message that has no place in a session yet; a tuple, since thousands are made in one append."""

    id: str
    role: Role
    body: str  # the message as it came, as JSON text: role, content, name, tool calls and every unknown key
    created_at: datetime
    metadata: str  # JSON text
    model: str | None
    tokens: int
    text: str  # the words in it, for search and summaries
    calls: tuple[str, ...] = ()  # ids of the tool calls it makes
    answers: str | None = None  # id of the tool call it answers
    timed: bool = True  # the time was given, not taken from the clock
    named: bool = True  # the id was given, not made here


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message at its place in the log."""

    _shown: ClassVar = ("id", "session_id", "seq", "role", "text")

    id: str
    session_id: str
    seq: int
    turn: int
    role: Role
    body: Json
    created_at: datetime
    metadata: Json
    model: str | None
    tokens: int
    text: str
    digest: str  # of the log up to it
    calls: tuple[str, ...] = ()
    answers: str | None = None
    forgotten: bool = False  # something of it, or all, was erased
    leaf: str = ""  # the digest of what it says

    @property
    def content(self) -> Any:
        """The content as it came: a string, a list of parts, or None."""
        return self.body.get("content")

    @property
    def name(self) -> str | None:
        return self.body.get("name")

    def to_openai(self) -> dict[str, Any]:
        """The message as it came, ready for OpenAI's chat API."""
        return to_chat(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What an append stored: ids in the order given; `duplicates` had been stored before."""

    _shown: ClassVar = ("session_id", "span", "ids")

    session_id: str
    user_id: str
    ids: tuple[str, ...]
    span: Span | None
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large one message and one append may be."""

    message_bytes: int = 4 * 1024 * 1024
    append_messages: int = 100_000
