"""Sessions: their state, their counters, and what was marked in them."""

from dataclasses import field, replace
from datetime import datetime
from typing import ClassVar, Literal

from lamina.frozen import dataclass, short_hash
from lamina.values.fact import Fact
from lamina.values.message import Message
from lamina.values.summary import Summary

Status = Literal["active", "paused", "ended", "archived"]
STATUSES: tuple[Status, ...] = ("active", "paused", "ended", "archived")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a session has counted; every folding decision starts from these."""

    messages: int = 0
    turns: int = 0
    tokens: int = 0
    closed: bool = True  # the newest turn has its reply
    cursor: int = 0  # messages 1..cursor are covered by summaries
    cursor_turn: int = 0  # turn of the message at the cursor
    cursor_tokens: int = 0  # tokens of the covered messages
    version: int = 0  # grows with each fold and each erasure
    extracted: int = 0  # messages 1..extracted were read for facts and episodes

    @property
    def unfolded(self) -> int:
        return self.messages - self.cursor

    @property
    def unfolded_tokens(self) -> int:
        return self.tokens - self.cursor_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation."""

    _shown: ClassVar = ("id", "title", "user_id", "status", "messages")

    id: str
    user_id: str
    status: Status
    started_at: datetime  # time of its first message
    last_at: datetime  # time of its newest message
    touched_at: datetime  # when it was last written to, by the store's clock
    title: str | None = None  # one line, given by hand or by an import
    agent_id: str | None = None
    project_id: str | None = None  # the project that it belongs to; None: to the user alone
    ended_at: datetime | None = None
    archived_at: datetime | None = None
    counters: Counters = field(default_factory=Counters)
    attempts: int = 0  # failed folds since the last good one
    erasures: int = 0  # grows each time something of it is forgotten

    @property
    def messages(self) -> int:
        return self.counters.messages

    @property
    def tag(self) -> str:
        """Another one once messages were added, something was forgotten, status or title were set; not after a fold."""
        counted = replace(Counters(), messages=self.counters.messages, turns=self.counters.turns)
        return short_hash(replace(self, counters=counted), frozenset({"attempts"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """A titled moment of a session, set by hand or when it ends."""

    _shown: ClassVar = ("id", "turn", "title")

    id: str
    session_id: str
    turn: int
    title: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a session's summaries say, and how far they reach: the record of the profile `chunked`."""

    _shown: ClassVar = ("global_summary", "last_summarized_message_id")

    global_summary: str  # "" while nothing is folded
    last_summarized_message_id: str | None  # the last reply that is in it; None while nothing is folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session with what is kept of it: the record of the profile `project`."""

    _shown: ClassVar = ("session",)

    session: Session
    chunks: tuple[Summary, ...]
    recent: tuple[Message, ...]
    active_facts: tuple[Fact, ...]
    milestones: tuple[Milestone, ...]

    @property
    def status(self) -> Status:
        return self.session.status

    @property
    def total_turns(self) -> int:
        return self.session.counters.turns
