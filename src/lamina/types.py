"""The values that travel through Lamina: frozen, without stores, equal by content."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")

Status = Literal["active", "paused", "ended", "archived"]
STATUSES: tuple[Status, ...] = ("active", "paused", "ended", "archived")

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
    digest: str
    calls: tuple[str, ...] = ()
    answers: str | None = None

    @property
    def content(self) -> Any:
        """The content as it came: a string, a list of parts, or None."""
        return self.body.get("content")

    @property
    def name(self) -> str | None:
        return self.body.get("name")

    def to_openai(self) -> dict[str, Any]:
        """The message as it came, ready for a chat API."""
        return dict(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What an append stored: ids in the order given; `duplicates` had been stored before."""

    session_id: str
    user_id: str
    ids: tuple[str, ...]
    span: Span | None
    duplicates: tuple[str, ...] = ()


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
    version: int = 0  # how many folds were committed

    @property
    def unfolded(self) -> int:
        return self.messages - self.cursor

    @property
    def unfolded_tokens(self) -> int:
        return self.tokens - self.cursor_tokens

    @property
    def complete_turns(self) -> int:
        return self.turns if self.closed else self.turns - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation."""

    id: str
    user_id: str
    status: Status
    started_at: datetime  # time of its first message
    last_at: datetime  # time of its newest message
    touched_at: datetime  # when it was last written to, by the store's clock
    agent_id: str | None = None
    ended_at: datetime | None = None
    archived_at: datetime | None = None
    counters: Counters = field(default_factory=Counters)
    attempts: int = 0  # failed folds since the last good one


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """A titled moment of a session, set by hand or when it ends."""

    id: str
    session_id: str
    turn: int
    title: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a derived item was made, so that it can be explained and made again."""

    profile: str
    kind: str
    model: str
    prompt: str | None = None  # name and version of the prompt file
    cap: int | None = None
    fallback: str | None = None  # why the configured model was not used
    attempts: int = 1
    details: Json = field(default_factory=dict)


SummaryKind = Literal["rolling", "chunk", "merged", "layer", "medium", "long", "digest"]
SummaryStatus = Literal["live", "folded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a digest read of one session."""

    session_id: str
    messages: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A text that stands for a span of messages, with everything it was made from."""

    id: str
    user_id: str
    session_id: str | None  # None for a digest over sessions
    kind: SummaryKind
    layer: int
    version: int
    covers: Span | None  # None for a digest
    turns: Span | None
    reads: Span | None  # raw messages that were read to write it
    inputs: tuple[str, ...]  # earlier summaries that were read to write it
    text: str
    topics: tuple[str, ...]
    tokens: int
    recipe: Recipe
    updated_at: datetime  # time of the newest message it knows
    created_at: datetime  # when it was written
    status: SummaryStatus = "live"
    folded_into: str | None = None
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something the user said of themselves, word for word."""

    id: str
    user_id: str
    session_id: str
    message_id: str
    category: str
    quote: str
    start: int
    end: int
    confidence: float
    importance: float
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something found by a search, with the parts of its score."""

    kind: Literal["message", "summary"]
    id: str
    session_id: str | None
    message_ids: tuple[str, ...]
    span: Span | None
    text: str
    score: float
    parts: Mapping[str, float]
    created_at: datetime
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Where the tokens of a context may go and where they went."""

    total: int
    system_prompt: int
    working_memory: int
    retrieved_context: int
    recent_messages: int
    used: int
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing in a context: what, from where, why, at what cost."""

    section: str
    kind: str
    id: str | None
    session_id: str | None
    message_ids: tuple[str, ...]
    span: Span | None
    tokens: int
    reason: str
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """One thing that was left out of a context, and why."""

    section: str
    kind: str
    id: str | None
    session_id: str | None
    span: Span | None
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Where each message of the session is: every one is in exactly one of the four lists."""

    messages: int
    verbatim: tuple[Span, ...]  # word for word in the context
    summarised: tuple[Span, ...]  # covered by a summary in the context
    left_out: tuple[Span, ...]  # covered by a live summary that did not fit
    blind: tuple[Span, ...]  # in no summary and not in the context

    @property
    def blind_messages(self) -> int:
        return sum(len(span) for span in self.blind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is in a context and what is not."""

    profile: str
    counter: str  # the token counter that was used
    exact: bool  # whether it counts exactly
    items: tuple[Piece, ...]
    omitted: tuple[Omission, ...]
    coverage: Coverage
    warnings: tuple[str, ...]
    sections: Mapping[str, int]  # tokens by section


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the model should see: as chat messages, and the same as one string."""

    messages: list[dict[str, Any]]
    text: str
    tokens: int
    budget: TokenBudget
    manifest: Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session with what is kept of it: the record of document 001."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something `verify` found."""

    kind: str
    where: str
    text: str
    derived: bool  # whether `repair` can mend it


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `verify` or `repair` looked at and found."""

    sessions: int
    messages: int
    summaries: int
    facts: int
    problems: tuple[Problem, ...]
    mended: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What `settle` did until nothing was due."""

    folds: int
    digests: int
    archived: int
    failed: tuple[str, ...] = ()  # sessions whose fold could not be made; still due
