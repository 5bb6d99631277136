"""The values that travel through Lamina: frozen, without stores, equal by content."""

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

from lamina.records import dataclass

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")

Status = Literal["active", "paused", "ended", "archived"]
STATUSES: tuple[Status, ...] = ("active", "paused", "ended", "archived")

Json = Mapping[str, Any]


def _tag(value: Any, without: frozenset[str]) -> str:
    """A short digest of a value's fields, but for some."""
    told = [(name, getattr(value, name)) for name in value.__dataclass_fields__ if name not in without]
    return hashlib.sha256(repr(told).encode("utf-8", "backslashreplace")).hexdigest()[:32]


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
    erasures: int = 0  # grows each time something of it is forgotten

    @property
    def tag(self) -> str:
        """Another one once messages were added, something was forgotten or the status was set; not after a fold."""
        counted = replace(Counters(), messages=self.counters.messages, turns=self.counters.turns)
        return _tag(replace(self, counters=counted), frozenset({"attempts"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a name stands for now, with the texts that it is found by."""

    name: str
    user_id: str
    value: Any  # as JSON has it
    text: str  # the only, or the last one
    message_id: str  # that has value and text
    more: tuple[str, ...] = ()  # messages that have the other texts
    created_at: datetime  # of its first version
    updated_at: datetime
    used_at: datetime  # when it was last put, or its time to live was renewed
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPut:
    """A document to store in place of what its name stands for."""

    name: str
    user_id: str
    value: Any
    texts: tuple[str, ...] = ()  # what it is found by, each by itself
    agent_id: str | None = None
    ttl: timedelta | None = None  # None: it does not expire
    versions: bool = False  # keep what it was before, where no search finds it


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
SummaryStatus = Literal["live", "folded", "replaced"]  # replaced: by a regenerated version


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

    @property
    def due(self) -> int | None:
        """The message at which its fold fell due, whenever it was made; None if that was not kept."""
        due = self.recipe.details.get("due")
        return due if isinstance(due, int) else None


FactType = Literal["fact", "decision", "preference", "entity", "procedure", "constraint", "goal"]
FACT_TYPES: Mapping[FactType, float] = {  # with the importance that a memory told by hand has by default
    "fact": 0.5,
    "decision": 0.7,
    "preference": 0.6,
    "entity": 0.5,
    "procedure": 0.5,
    "constraint": 0.6,
    "goal": 0.8,
}
FactStatus = Literal["candidate", "active", "superseded", "retracted", "conflicted", "archived", "evidence"]
FACT_STATUSES: tuple[FactStatus, ...] = get_args(FactStatus)
Verdict = Literal["promoted", "demoted", "retracted", "archived", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something known of a user: said by them, word for word, or told by hand.

    Facts of one user and category with the same slot are about the same thing; their standing (status, valid_until,
    of, version) follows from all of them together.
    """

    id: str
    user_id: str
    type: FactType
    category: str
    key: str | None  # what it is about: name, location, favourite colour
    slot: str  # the key made comparable; of a fact without a key, its value
    value: str
    origin: Literal["said", "told"]
    confidence: float
    importance: float
    learnt_at: datetime  # when it was said or told
    valid_from: datetime  # since when it holds
    created_at: datetime  # when it was written down
    until: datetime | None = None  # until when, if the words say so
    holds: bool = True  # False: it was said to hold no longer
    session_id: str | None = None  # where it was said
    message_id: str | None = None
    seq: int = 0
    role: str | None = None
    quote: str = ""  # the words, a piece of the message's text
    start: int = 0
    end: int = 0
    reason: str | None = None  # why, as said
    tags: tuple[str, ...] = ()
    model: str | None = None  # the extractor that found it
    tokens: int = 0
    replaces: str | None = None  # the version that it was made to replace
    # by hand, or by consolidation
    verdict: Verdict | None = None
    verdict_at: datetime | None = None
    verdict_by: str | None = None  # the fact it was merged into
    # standing
    status: FactStatus = "candidate"
    valid_until: datetime | None = None
    of: str | None = None  # the fact that took its place, that it conflicts with, or that it bears out
    version: int = 1
    # use
    accesses: int = 0
    accessed_at: datetime | None = None
    decay: float = 1.0  # at the last access or consolidation

    @property
    def tag(self) -> str:
        """Another one once the fact stands otherwise; not when it was only used."""
        return _tag(self, frozenset({"accesses", "accessed_at", "decay"}))


LinkType = Literal[
    "related_to", "depends_on", "contradicts", "supersedes", "part_of", "causes", "supports", "derived_from"
]
LINK_TYPES: tuple[LinkType, ...] = get_args(LinkType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relation between two memories (facts or episodes) of one user."""

    source: str
    target: str
    type: str
    strength: float
    created_at: datetime


EpisodeKind = Literal["decision_made", "problem_solved", "breakthrough", "issue_identified", "task_completed", "pivot"]
EPISODE_KINDS: tuple[EpisodeKind, ...] = get_args(EpisodeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A titled moment of a conversation."""

    id: str
    user_id: str
    kind: EpisodeKind
    title: str
    summary: str
    context: str  # what it came out of
    participants: tuple[str, ...]
    outcome: str | None
    valence: float  # -1 (bad) to 1 (good)
    significance: float  # 0 to 1
    session_id: str
    turns: Span
    message_ids: tuple[str, ...]
    happened_at: datetime
    created_at: datetime
    origin: Literal["said", "told"] = "said"
    model: str | None = None  # what spotted it
    linked: tuple[str, ...] = ()  # ids of facts and other memories
    merged: tuple[str, ...] = ()  # ids of the episodes it was made from
    tokens: int = 0
    accesses: int = 0
    accessed_at: datetime | None = None
    decay: float = 1.0


Memorable = Fact | Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """The course of a session in episodes: its thirds, and the moments that mattered most."""

    beginning: tuple[Episode, ...]
    middle: tuple[Episode, ...]
    end: tuple[Episode, ...]
    key_moments: tuple[Episode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Memories that can be reached from one by its links, with those links."""

    nodes: tuple[Memorable, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a fact comes from and why it stands as it does."""

    fact: Fact
    message: Message | None  # None if it was told by hand
    evidence: tuple[Fact, ...]  # the other times it was said
    before: Fact | None  # the value it took the place of
    after: Fact | None  # the value that took its place
    conflicts: tuple[Fact, ...]
    links: tuple[Link, ...]
    reasons: tuple[str, ...]  # in words, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProfile:
    """What is known of a user at a time, by category, most important first."""

    user_id: str
    as_of: datetime
    known_at: datetime
    facts: tuple[Fact, ...]
    markdown: str

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data: value, confidence, validity and source of each fact, by category."""
        categories: dict[str, list[dict[str, Any]]] = {}
        for fact in self.facts:
            categories.setdefault(fact.category, []).append(
                {
                    "id": fact.id,
                    "key": fact.key,
                    "value": fact.value,
                    "status": fact.status,
                    "confidence": fact.confidence,
                    "importance": fact.importance,
                    "valid_from": fact.valid_from.isoformat(),
                    "valid_until": None if fact.valid_until is None else fact.valid_until.isoformat(),
                    "message_id": fact.message_id,
                    "quote": fact.quote,
                }
            )
        return {
            "user_id": self.user_id,
            "as_of": self.as_of.isoformat(),
            "known_at": self.known_at.isoformat(),
            "categories": categories,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """What a consolidation did."""

    decayed: int = 0  # memories whose decay was brought up to date
    archived: tuple[str, ...] = ()  # facts that were put away
    merged: tuple[str, ...] = ()  # facts that went into others
    merged_episodes: tuple[str, ...] = ()
    dropped_episodes: tuple[str, ...] = ()  # past the cap
    tokens_reclaimed: int = 0
    messages_dropped: int = 0  # by retention rules


Scrub = Literal["dead", "vacuumed", "rewritten", "overwritten"]
"""What was done with the old bytes of what was forgotten.

- dead: nothing yet; it is no row any more, but its bytes are where they were
- vacuumed: PostgreSQL may use their room again; until it does, they are in unused parts of its files
- rewritten: the tables were written anew without them; they are in no file of tables or indexes
- overwritten: zeros were written over them, and the write-ahead log was emptied; they are in no byte of the file
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one forgetting erased, and what was written anew; signed by a chain of digests."""

    id: str
    at: datetime
    target: str  # what was asked for, without the words that were to be forgotten
    rehearsal: bool  # a dry run: nothing was erased
    messages: tuple[str, ...]  # ids; of whole sessions and users, and where the user's id is in one, hashes of them
    redacted: tuple[str, ...]  # messages of which a part was erased
    sessions: tuple[str, ...]
    summaries: tuple[str, ...]
    digests: tuple[str, ...]
    facts: tuple[str, ...]
    episodes: tuple[str, ...]
    milestones: int
    values_blocked: int  # values that will not be extracted again
    rewritten: tuple[str, ...]  # summaries written anew from what is left
    mentions_left: tuple[str, ...]  # messages that still have a forgotten fact's value in other words
    scrubbed: bool  # whether no old bytes are left in the files: they were rewritten or overwritten
    previous: str
    digest: str
    scrub: Scrub | None = None  # what was done with the old bytes; None: a dry run, or nothing was erased

    @property
    def empty(self) -> bool:
        """Whether there was nothing to erase; such a receipt is not stored."""
        lists = (self.messages, self.redacted, self.sessions, self.summaries, self.digests, self.facts, self.episodes)
        return not any(lists) and not self.milestones


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between what is stored and what was made anew."""

    kind: Literal["summary", "fact"]
    span: Span | None
    before: str | None  # None: new
    after: str | None  # None: gone
    diff: str
    drift: float  # semantic distance, 0 (same) to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Summaries and facts of a session made anew beside the old ones, to be accepted or rolled back."""

    id: str
    session_id: str
    status: Literal["open", "accepted", "rolled_back"]
    recipe: str  # the models that made it
    changes: tuple[Change, ...]
    drift: float  # of all summaries together
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A summary that does not agree with the facts."""

    kind: Literal["stale", "missing"]  # it has a value that no longer holds; it lacks one that it should have
    fact_id: str
    summary_id: str
    session_id: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something found by a search, with the parts of its score."""

    kind: Literal["message", "summary", "fact", "episode"]
    id: str
    session_id: str | None
    message_ids: tuple[str, ...]
    span: Span | None
    text: str
    score: float
    parts: Mapping[str, float]
    created_at: datetime
    role: str | None = None
    name: str | None = None  # who spoke, where the message says so
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A step of a search and the time it took."""

    name: Literal["open", "understand", "embed", "rank", "read"]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A search and how it went."""

    hits: tuple[Hit, ...]
    least: float  # score under which `search` shows nothing; 0: it shows whatever is related
    considered: int  # rows that the filters let through
    related: int  # of these, rows that have anything to do with the query
    stages: tuple[Stage, ...]
    weights: Mapping[str, float] | None  # None: the calibrated sum ranked


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
class Stretch:
    """Consecutive messages of a session, counted."""

    first: int
    last: int
    turn: int  # of its last message
    tokens: int
    began_at: datetime  # time of its first message
    ended_at: datetime  # time of its last message


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A summary without its words."""

    id: str
    kind: SummaryKind
    layer: int
    version: int
    covers: Span
    tokens: int
    covered_tokens: int  # of the messages it covers
    due: int | None  # the message at which its fold fell due; None if that was not kept
    status: SummaryStatus
    folded_into: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A session as strata: its log in stretches of about equal length, and the summaries above it; no words."""

    session_id: str
    parts: tuple[Stretch, ...]
    forgotten: tuple[Span, ...]  # messages of which something, or all, was erased
    blocks: tuple[Block, ...]  # every summary, live or not, by layer and place


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryCount:
    """How many summaries there are of a kind, a layer and a status."""

    kind: SummaryKind
    layer: int
    status: SummaryStatus
    count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCount:
    """How many facts have a status."""

    status: FactStatus
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What one day (UTC) has added: by when it was said, or by the newest message that a summary knows."""

    day: date
    messages: int = 0
    message_tokens: int = 0
    summaries: int = 0
    summary_tokens: int = 0
    facts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much there is of everything."""

    sessions: int
    messages: int
    tokens: int  # of all messages
    at_hand_tokens: int  # of what stands for them now: messages in no summary yet, and live summaries of sessions
    summaries: tuple[SummaryCount, ...]
    facts: tuple[FactCount, ...]
    episodes: int
    growth: tuple[Growth, ...]  # by day, the newest that have something


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """How fresh a fact or an episode is, and when it would be put away."""

    id: str
    kind: Literal["fact", "episode"]
    label: str
    importance: float  # of an episode, its significance
    decay: float  # freshness now: 1 just used, 0 long not used
    used_at: datetime  # when it was last used, or else learnt, or happened
    accesses: int
    archive_below: float | None  # freshness under which consolidation puts it away; None: never
    kept: bool  # protected from that


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
class Copied:
    """What a copy of a memory did, and what a comparison of every row says of it."""

    users: int  # of whom something was copied
    sessions: int
    messages: int
    rows: Mapping[str, int]  # what the source has now, by table
    differing: tuple[str, ...]  # users, or tables in brackets, that are not the same in both
    changing: int  # users of whom something was still different in the last round: the source is being written to
    problems: tuple[Problem, ...] = ()  # that `verify` finds in the target

    @property
    def complete(self) -> bool:
        return not self.differing and not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What `settle` did until nothing was due."""

    folds: int
    digests: int
    archived: int
    failed: tuple[str, ...] = ()  # sessions whose fold could not be made; still due
    facts: int = 0  # that were found
    vectors: int = 0  # that were given


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import brought in; what was there already is not counted again."""

    sessions: int  # that the file tells of
    messages: int
    duplicates: int  # messages that were there already
    summaries: int = 0
    facts: int = 0
    episodes: int = 0
    links: int = 0
    milestones: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)  # why something was left out -> how often


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A session whose work failed: it waits for its time, or is set aside."""

    session_id: str
    user_id: str
    attempts: int  # that failed in a row
    reason: str  # of the last failure; never what was said
    retry_at: datetime | None  # None: set aside until something new comes, or `retry` asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What there is to do for workers: each session that may be due is counted in one of the first four."""

    pending: int  # may be due, and free
    leased: int  # in a worker's hands
    waiting: int  # failed, and wait for their time
    aside: int  # failed too often: left alone until something new comes
    oldest: datetime | None  # when the longest-waiting pending one was touched
    unembedded: int  # users with something that has no vector yet
    failing: tuple[Failing, ...]  # the worst first, up to 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNote:
    """What a worker told of itself."""

    id: str  # the name on its leases: host/pid/letters
    started_at: datetime
    seen_at: datetime
    session_id: str | None = None  # what it is at
    since: datetime | None = None
    done: int = 0  # sessions since it started
    failed: int = 0
    alive: bool = True  # whether it may still be at work, as far as can be known from here

    @property
    def host(self) -> str:
        return self.id.partition("/")[0]

    @property
    def pid(self) -> str:
        return self.id.partition("/")[2].partition("/")[0]


KeyRole = Literal["read", "write", "admin"]
KEY_ROLES: tuple[KeyRole, ...] = get_args(KeyRole)  # each may do what those before it may


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldDone:
    """A fold that was made: what it read and wrote, in tokens, and how long it took."""

    layer: int
    tokens_before: int
    tokens_after: int
    seconds: float
    model: str
    fallback: bool  # the offline summariser stood in


Purpose = Literal["summary", "facts", "episodes", "embedding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the calls of one model for one purpose came to on one day (UTC)."""

    day: date
    purpose: Purpose
    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0  # in the currency of the price table; 0 without a price


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Who may use the service for one tenant; the key itself is shown once, when it is made."""

    id: str
    tenant: str
    name: str
    role: KeyRole
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None  # to the hour
