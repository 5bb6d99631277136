"""What the engine asks of a store, and the rows that pass between them."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, Protocol

from lamina.frozen import dataclass
from lamina.profiles import Profile
from lamina.protocols.models import LedgerEntry
from lamina.values.access_key import ApiKey
from lamina.values.cost import Cost
from lamina.values.fact import ConflictRule, Episode, Fact, Link
from lamina.values.message import Message, MessageDraft, Span
from lamina.values.receipt import Scrub
from lamina.values.report import Backlog, Problem, WorkerNote
from lamina.values.session import Milestone, Session, Status
from lamina.values.statistics import Outline, Stats
from lamina.values.summary import Summary


class MessageRow(NamedTuple):
    """A message as it lies in a store. `leaf` is the digest of its content, `digest` chains the leaves."""

    session_id: str
    seq: int
    turn: int
    id: str
    role: str
    body: str
    created_at: str
    metadata: str
    model: str | None
    tokens: int
    salt: bytes
    leaf: bytes
    digest: bytes
    erased: bytes | None = None  # the leaf of what it said before something of it was forgotten; the chain goes by it


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A summary as it lies in a store: `record` is everything but status, as JSON; `digest` is the record's."""

    id: str
    user_id: str
    session_id: str | None
    kind: str
    layer: int
    version: int
    first: int | None
    last: int | None
    status: str
    folded_into: str | None
    record: str
    digest: bytes


class FactRow(NamedTuple):
    """A fact as it lies in a store: `record` is what was said or told, as JSON; the rest is its standing and use."""

    id: str
    user_id: str
    category: str
    slot: str
    session_id: str | None
    message_id: str | None
    status: str
    valid_until: str | None
    of: str | None
    version: int
    accesses: int
    accessed_at: str | None
    decay: float
    record: str
    digest: bytes


class EpisodeRow(NamedTuple):
    """An episode as it lies in a store."""

    id: str
    user_id: str
    session_id: str
    accesses: int
    accessed_at: str | None
    decay: float
    record: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A message with other words in its place: what was forgotten is gone, its place in the chain is kept."""

    session_id: str
    seq: int
    message_id: str
    expect: bytes  # the leaf of what it says now
    body: str
    metadata: str
    tokens: int
    salt: bytes
    whole: bool  # nothing is left of it
    words: tuple[str, ...] = ()  # that were cut out; what else was said in it stays known. Without: nothing does
    telling: tuple[str, ...] = ()  # words that give away what was forgotten, in whatever else came of the message


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What an append takes the place of: the session's messages, with all that was derived from them.

    The session stays, with the time it began. With `keep_salt`, the messages stay as earlier versions of a document,
    as `lamina.documents.versions` rewrites them: those that were rewritten before are left as they are.
    """

    rule: ConflictRule
    status: Status  # of the session afterwards
    keep_salt: bytes | None = None  # what salts of the rewritten messages are made from


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One atomic append."""

    session_id: str
    user_id: str
    agent_id: str | None
    drafts: Sequence[MessageDraft]
    salts: Sequence[bytes]
    now: datetime
    profile: Profile  # by which the session is worth a worker's look afterwards, or not
    key: str | None = None  # idempotency key
    replaces: Replacement | None = None  # None: goes on from what is there
    project_id: str | None = None  # of a new session; of one that is there, None or its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    session: Session
    ids: tuple[str, ...]
    span: Span | None
    duplicates: tuple[str, ...]
    due: bool = field(compare=False)  # the session is worth a worker's look


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far back a view of the newest messages goes: it stops, at a turn's start, once all of this is reached."""

    messages: int = 0
    turns: int = 0  # with their replies; turns without one come on top
    back_to_cursor: bool = False
    fill: bool = False  # go on until `tokens` are read
    tokens: int  # never much further than this
    min_messages: int = 0  # but so many in any case
    latest: int = 0  # how many messages of the user's last other session are read, if the digest does not have it
    facts_at: int | None = None  # the user's facts are known as of this `derived` of a view, and are not read again


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSession:
    """The last session of a user, which goes on perhaps and is in no digest: its live summaries and newest messages."""

    session: Session
    summaries: tuple[Summary, ...]
    messages: tuple[Message, ...]  # oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One consistent look at a session and its user."""

    session: Session | None
    summaries: tuple[Summary, ...]  # live, by what they cover
    tail: tuple[Message, ...]  # newest messages, oldest first
    digests: tuple[Summary, ...]  # live: one for each project, and one of the sessions of none
    latest: LastSession | None
    opted_out: bool  # nothing is derived from what the user says
    facts: tuple[Fact, ...]  # none where they are known
    derived: int = field(compare=False)  # grows with every change of the user's memory that is more than messages
    cuts: int  # grows when words of the user's memory are taken away or rewritten, by whichever process

    @property
    def digest(self) -> Summary | None:
        return self.digests[0] if self.digests else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A session that this worker may fold until the lease runs out. `touch` tells whether it has changed since."""

    session: Session
    owner: str
    touch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a worker has to know of a session, read from one state."""

    session: Session
    summaries: tuple[Summary, ...]  # live, by what they cover
    messages: tuple[Message, ...]  # from the cursor on, with some before it
    facts: tuple[Fact, ...]  # said in these messages, whatever their status
    unread: tuple[Message, ...]  # the next ones to read for facts, as `messages` gives them


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldCommit:
    """One fold, committed whole or not at all, and only if no other fold came first (`expect` is its version)."""

    session_id: str
    expect: int
    summary: Summary
    retire: tuple[str, ...]  # live summaries that the new one stands for
    cursor: int  # messages 1..cursor are covered afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far a session was read for facts; refused if something else read it, or forgot of it, in between."""

    session_id: str
    expect: int  # `extracted` when the reading began
    erasures: int
    upto: int  # messages 1..upto are read afterwards
    again: tuple[int, ...] = ()  # earlier messages that were read again, because a part of them was forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsCommit:
    """Facts and episodes put, changed and dropped, and each slot they touch settled anew, in one transaction.

    A fact that was said at a place where the same one stands already is left as it is, and so is one whose value was
    forgotten. What is to be changed but is gone stays gone, and where a fact was said stays as it is.
    """

    user_id: str
    rule: ConflictRule
    put: tuple[Fact, ...] = ()
    marks: Mapping[str, bytes] = field(default_factory=dict)  # fact -> its mark
    change: tuple[Fact, ...] = ()  # known ones with other values, by id
    drop: tuple[str, ...] = ()
    episodes: tuple[Episode, ...] = ()
    change_episodes: tuple[Episode, ...] = ()
    drop_episodes: tuple[str, ...] = ()
    most_episodes: int | None = None  # beyond these, the least significant go
    links: tuple[Link, ...] = ()
    unblock: tuple[bytes, ...] = ()  # marks of forgotten values that may be known again
    reading: Reading | None = None
    expect: tuple[str, str] | None = None  # a fact and the tag that it must have
    cuts: int | None = None  # of the user's changes when all this was read; with others by now, nothing is committed
    newest: bool = False  # what is put was told just now, behind all that was said, told and decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How often a memory was used since the last note of it."""

    id: str
    times: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A session's summaries exchanged for others that cover the same, committed whole or not at all."""

    session_id: str
    expect: int  # the session's version
    retire: tuple[str, ...]  # become `replaced`
    put: tuple[Summary, ...]  # new, or `replaced` ones that come back with the status they bring
    cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRow:
    """A proposal as it lies in a store: `record` is everything else, as JSON."""

    id: str
    user_id: str
    session_id: str
    status: str
    record: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A page of all that is stored of a user, or of one session, read from one state: where words are looked for.

    The first page has everything but messages, which follow page by page.
    """

    messages: tuple[Message, ...]
    next: tuple[str, int] | None  # session and number of the last message of this page; None: there are no more
    sessions: tuple[Session, ...] = ()
    summaries: tuple[Summary, ...] = ()  # of sessions; live or not
    digests: tuple[Summary, ...] = ()
    facts: tuple[Fact, ...] = ()
    episodes: tuple[Episode, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    proposals: tuple[ProposalRow, ...] = ()


class SummaryCut(NamedTuple):
    """A summary without some of its words, if it is still as it was read."""

    after: Summary
    expect: bytes  # digest of its record


class TitleCut(NamedTuple):
    """What is left of a session's title, if it still has that one."""

    session_id: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """One forgetting: what is taken away, with all that was derived from it, in one transaction."""

    user_id: str
    rule: ConflictRule
    receipt_id: str
    at: datetime
    target: str  # what was meant, in words for the receipt
    secret: bytes | None = None  # what marks the values of `facts` as not to be extracted again; None: they may be
    rewrites: tuple[Rewrite, ...] = ()
    sessions: tuple[str, ...] = ()  # go whole
    unless_touched: Mapping[str, datetime] = field(default_factory=dict)  # those that were since then stay
    facts: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    milestones: tuple[str, ...] = ()
    titles: tuple[TitleCut, ...] = ()
    unfold: Mapping[str, int] = field(default_factory=dict)  # session -> summaries that cover this message or more go
    stands: Mapping[str, int] = field(default_factory=dict)  # session -> summaries that end here or before stay
    cuts: tuple[SummaryCut, ...] = ()
    user: bool = False  # everything of the user goes
    vectors: bool = False  # all vectors of the user go
    derived: bool = True  # False: what was derived from rewritten messages stays (retention)
    dry_run: bool = False  # say what would go, and leave everything

    @property
    def changed_sessions(self) -> set[str]:
        """Sessions that stay, though without some of their words."""
        return {one.session_id for one in self.rewrites} | {one.session_id for one in self.titles}


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure took away."""

    messages: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    milestones: int = 0
    titles: int = 0
    values_blocked: int = 0
    receipt: "ReceiptRow | None" = field(default=None, compare=False)


class ReceiptRow(NamedTuple):
    """A receipt as it lies in a store: nothing in its record tells what was forgotten."""

    id: str
    created_at: datetime
    record: str
    previous: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatches:
    """Word matches of one user with that user's own statistics."""

    documents: int
    frequency: Mapping[str, int]  # term -> how many documents of this user have it
    matches: tuple[Message | Summary, ...]  # that have some of the words


class Newest(NamedTuple):
    """A session and its newest message."""

    session: Session
    message: Message


class ChangedSession(NamedTuple):
    id: str
    messages: int  # how many it has


class VectorRow(NamedTuple):
    place: int  # grows: what came later has a higher one
    item_id: str
    vector: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What has changed of a user's memory since an earlier look, all of one moment; neither number ever goes back."""

    count: int  # grows with every change of anything searchable of the user
    cuts: int  # grows when words were taken away or rewritten: what was read before must be read again
    derived: int = field(default=0, compare=False)  # the count when anything but messages changed last
    sessions: tuple[ChangedSession, ...] = ()  # with messages added or changed since, by id
    vectors: tuple[VectorRow, ...] = ()  # if an embedder was named
    items: tuple[Summary | Fact | Episode, ...] | None = None  # if asked for: all; None if only messages have changed
    archived: frozenset[str] = frozenset()  # sessions, with `items`
    projects: Mapping[str, str] = field(default_factory=dict)  # session -> its project, with `items`


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """What of a user's memory has no vector of an embedder yet; `count` and `cuts` are those of its changes."""

    count: int
    cuts: int
    items: tuple[Message | Summary | Fact | Episode, ...]  # messages of each session in order
    done: bool  # nothing is left beyond these items


class Mark(NamedTuple):
    """A message at which something begins or ends, and the tokens since the mark before it."""

    seq: int
    turn: int
    created_at: str
    tokens: int


class Imprint(NamedTuple):
    """What is told of a summary without its words, as it lies in a store."""

    id: str
    kind: str
    layer: int
    version: int
    first: int
    last: int
    status: str
    folded_into: str | None
    tokens: int
    due: int | None
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    session_id: str
    owner: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything stored of one session, undecoded, for `verify`."""

    session: Session
    last_digest: bytes
    rows: tuple[MessageRow, ...]
    summaries: tuple[SummaryRow, ...]
    facts: tuple[FactRow, ...]  # said in it
    episodes: tuple[EpisodeRow, ...]
    unindexed: tuple[str, ...] = field(default=())  # ids that the word index lacks, or has too many of


class LogStore(Protocol):
    """What was said: messages in sessions."""

    async def append(self, append: Append) -> Appended: ...

    async def messages(
        self,
        session_id: str | None = None,
        span: Span | None = None,
        *,
        ids: Sequence[str] | None = None,
        unread: bool = False,
        limit: int | None = None,
    ) -> list[Message]:
        """Messages of a session in a span, or those with these ids, in any order, as far as they exist.

        `unread`: the next to read for facts: those marked to be read again, then those not read yet.
        """
        ...

    async def sessions(
        self,
        *,
        ids: Sequence[str] | None = None,
        user_id: str | None = None,
        status: Status | None = None,
        project_id: str | None = None,
        newest: bool = False,
        limit: int = 1000,
        after: str | None = None,
    ) -> list[Session]:
        """Sessions by id; with `after`, those behind that id; with `project_id`, of that project, "" for none.

        `newest`: those in which someone took a turn, the one that began last first.
        """
        ...

    async def newest_messages(
        self,
        prefix: str = "",
        *,
        ids: Sequence[str] | None = None,
        after: str = "",
        has: Sequence[str] = (),
        limit: int = 1000,
    ) -> list[Newest]:
        """The newest message of each of these sessions that has any, by id of the session.

        Or of the first so many sessions whose ids go on from a prefix, behind an id. `has` are pieces that the metadata
        must have, as it lies in the store.
        """
        ...

    async def first_sessions(self, prefix: str, mark: str) -> list[str]:
        """Of the sessions whose ids go on from a prefix and are the same up to a mark behind it, the first one each.

        The mark is one character; ids without it are left out. What is found is paid for, not what is leapt over.
        """
        ...

    async def touch_sessions(self, ids: Sequence[str], at: datetime) -> None:
        """Note that sessions were used."""
        ...

    async def update_session(
        self,
        session_id: str,
        at: datetime,
        *,
        status: Status | None = None,
        title: str | None = None,
        expect: str | None = None,
    ) -> Session:
        """Give a session another status or title, "" for none; raises Stale if it has not the expected tag."""
        ...

    async def age_sessions(self, status: Literal["ended", "archived"], before: datetime, at: datetime) -> list[str]:
        """End active sessions that were last touched before, or archive folded ones that ended before; their ids."""
        ...

    async def add_milestone(self, milestone: Milestone) -> None: ...

    async def milestones(self, session_id: str) -> list[Milestone]: ...

    async def users(
        self,
        *,
        limit: int = 1000,
        after: str | None = None,
        everyone: bool = False,
        unembedded: str | None = None,
    ) -> list[str]:
        """Users who have a session or a fact, by id; `everyone`: of whom there is anything.

        `unembedded`: only those whose memory has changed beyond what has vectors of this embedder.
        """
        ...


class LayerStore(Protocol):
    """What was made of it: summaries, digests, and proposals to write them again."""

    async def view(self, user_id: str, session_id: str | None, reach: Reach) -> View: ...

    async def workload(self, session_id: str, *, before: int, limit: int, unread: int) -> Workload | None:
        """What there is to do in a session: so many messages from the cursor on, and before it, and so many unread."""
        ...

    async def summaries(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        ids: Sequence[str] | None = None,
        live: bool = True,
        digests: bool = False,
    ) -> list[Summary]:
        """Summaries of a session by what they cover; of all sessions of a user, with the digest, by id; or by ids.

        `digests`: the digests of a user and nothing else, the newest first.
        """
        ...

    async def commit(self, *commits: FoldCommit | Swap | Summary) -> bool:
        """Commit folds of one session, each made after the one before; an exchange of its summaries; or a digest.

        False if a fold, an erasure or another digest came first.
        """
        ...

    async def unfold(self, session_id: str, rule: ConflictRule) -> None:
        """Drop everything derived from the session's messages; folding and reading start over."""
        ...

    async def drop_digests(self, user_id: str) -> None: ...

    async def put_proposal(self, proposal: ProposalRow, *, erasures: int | None = None) -> bool:
        """Store a proposal; False if something of its session was forgotten since it had so many erasures.

        Raises OptedOut for a user who has.
        """
        ...

    async def proposals(self, session_id: str | None = None) -> list[ProposalRow]: ...

    async def outline(self, session_id: str, parts: int) -> Outline:
        """A session as strata, in at most so many parts. Raises NotFound."""
        ...

    async def stats(self, user_id: str | None = None, *, days: int) -> Stats:
        """How much there is of everything, of a user or of all; growth for at most so many days, the newest."""
        ...


class KnowledgeStore(Protocol):
    """What is known of users: facts, episodes, and links between them."""

    async def facts(
        self,
        user_id: str | None = None,
        session_id: str | None = None,
        *,
        span: Span | None = None,
        ids: Sequence[str] | None = None,
        current: bool = False,
    ) -> list[Fact]:
        """Facts of a user, a session or some of its messages, in the order they were learnt.

        Whatever their status; `current`: only those that are active or in conflict.
        """
        ...

    async def episodes(
        self, user_id: str | None = None, session_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> list[Episode]:
        """Episodes in the order they happened."""
        ...

    async def links(self, user_id: str) -> list[Link]: ...

    async def commit_facts(self, commit: FactsCommit) -> bool:
        """Commit facts and episodes; False if what was read, or is to be joined, was read or erased in between.

        Raises NotFound for a session that is gone, Stale if a fact has not the expected tag.
        """
        ...

    async def note_accesses(self, accesses: Sequence[Access]) -> None:
        """Count uses of facts and episodes, which are as fresh as new afterwards."""
        ...


class ForgettingStore(Protocol):
    """What is taken away, with receipts of it."""

    clean: Scrub  # what `scrub` comes to when nothing is in its way

    async def contents(
        self, user_id: str, session_id: str | None = None, *, after: tuple[str, int] | None = None, limit: int = 500
    ) -> Contents:
        """A page of all that is stored of a user or of one session of theirs; the next one is `after` its `next`."""
        ...

    async def erase(self, erasure: Erasure) -> Erased:
        """Take away, or say what would go. Raises Conflict if a message has changed since it was read."""
        ...

    async def scrub(self) -> Scrub:
        """Do away with old bytes in the files; "dead" if that is not possible now, e.g. because others read them."""
        ...

    async def receipts(self) -> list[ReceiptRow]:
        """All receipts, the oldest first."""
        ...


class IndexStore(Protocol):
    """What search reads: words, vectors, and what has changed."""

    async def find_words(self, user_id: str, terms: Sequence[str], limit: int) -> WordMatches: ...

    async def changes(
        self, user_id: str, since: int, *, items: bool = False, embedder: str | None = None, after: int = 0
    ) -> Changes:
        """What has changed since the user's changes had that count; cheap if nothing has.

        With `items`, all summaries, facts and episodes are read if something has changed. With an embedder, its vectors
        behind the place `after` are read. Of a user who is not there both numbers are 0, or past those of all users
        that were forgotten.
        """
        ...

    async def change_counts(self) -> dict[str, int]:
        """How far the memory of each user of this tenant has changed; a user who is forgotten is not there."""
        ...

    async def vectors(
        self, user_id: str, embedder: str, after: int = 0, *, ids: Sequence[str] | None = None
    ) -> list[VectorRow]:
        """The vectors behind a place, or those of these items, in order of place."""
        ...

    async def nearest(self, user_id: str, embedder: str, vector: bytes, limit: int) -> list[str]:
        """The items whose vectors are most alike, best first; exact.

        `vector` is packed as vectors are kept. What is of another size, or of nothing, is like nothing; of equals the
        first by id comes first.
        """
        ...

    async def to_embed(self, user_id: str, embedder: str, limit: int) -> Unembedded:
        """What is to be given a vector next: live summaries, facts that are no evidence, episodes, then messages.

        What has no text needs none, nor does a message of which nothing is left.
        """
        ...

    async def put_vectors(
        self, user_id: str, embedder: str, cuts: int, vectors: Mapping[str, bytes], upto: int | None
    ) -> bool:
        """Store vectors by item; False, and nothing is stored, if the user's memory has other `cuts` by now.

        Vectors of messages come in the order of `to_embed`, without gaps. What is gone meanwhile is passed over, so
        is a summary that is no longer live; an older vector of the same embedder is replaced, at a new place. `upto`
        is the count of changes up to which everything has vectors now; None if there is more to come.
        """
        ...


class QueueStore(Protocol):
    """What is to be done, and which workers are at it."""

    async def claim(
        self,
        owner: str,
        now: datetime,
        until: datetime,
        *,
        impatient: bool = False,
        skip: Sequence[str] = (),
        only: Sequence[str] | None = None,
    ) -> Claim | None:
        """Lease a session that may be due; `impatient` ignores waits after failures, but not that one is set aside.

        None of `skip`, and with `only` one of these.
        """
        ...

    async def renew(self, claim: Claim, until: datetime) -> bool: ...

    async def release(self, claim: Claim, *, failed: str | None = None, retry_at: datetime | None = None) -> None:
        """Give the lease back; what has not changed since the claim is no longer pending.

        With the reason why it `failed`, the failure is counted, up to 500 characters of the reason are kept, and the
        session waits until `retry_at`. Without that time it is set aside: nobody can claim it until messages are added
        to it, its status changes, it is rebuilt, unfolded or swapped, something of it is forgotten, or it is requeued.
        If that has happened since the claim, it is due at once. A good commit or release forgets failures and reason.
        """
        ...

    async def requeue(self, session_id: str | None = None, *, set_aside: bool = False) -> int:
        """Have a session, or all of them, looked at again; how many.

        With `set_aside`, only those that are set aside, as if nothing had failed.
        """
        ...

    async def pending(self, skip: Sequence[str] = (), only: Sequence[str] | None = None) -> int:
        """How many sessions may be due or are in work, without those to skip; with `only`, of these.

        Those that are set aside do not count.
        """
        ...

    async def wait_for_work(self, seconds: float) -> bool:
        """True at once when another process said that there may be work; False after so many seconds."""
        ...

    async def leases(self) -> list[Lease]: ...

    async def backlog(self, now: datetime, embedder: str | None = None) -> Backlog:
        """What there is to do; `unembedded` counts users without all vectors of that embedder."""
        ...

    async def note_worker(self, note: WorkerNote) -> None:
        """Keep what a worker tells of itself, in place of what it told before."""
        ...

    async def workers(self) -> list[WorkerNote]:
        """What workers told of themselves, by id."""
        ...

    async def drop_worker(self, worker_id: str) -> None:
        """Free every lease of a worker that is gone, and drop what it told of itself."""
        ...


class AdminStore(Protocol):
    """Tenants, keys, costs, settings and repairs."""

    tenant: str
    inline: bool  # its verbs may also be driven without an event loop, in any thread

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def tenants(self, *, with_keys: bool = False) -> list[str]:
        """The tenants that have written something, or that have or had a key, by name."""
        ...

    def for_tenant(self, tenant: str, *, maintenance: bool = False) -> "Store":
        """The same data for another tenant. It is open while this store is; closing it leaves this one open.

        With `maintenance` it is for work that reads much, which does not keep requests waiting.
        """
        ...

    async def add_key(
        self, key: ApiKey, hashed: bytes, *, replaces: str | None = None, until: datetime | None = None
    ) -> bool:
        """Let a key in that has this hash; the key itself is stored nowhere.

        The one that it `replaces` is let in until then at the most; without a time, no longer from now on. False, and
        nothing is changed, if there is no such key or it is revoked.
        """
        ...

    async def find_key(self, hashed: bytes) -> ApiKey | None:
        """The key of whichever tenant that has this hash."""
        ...

    async def keys(self) -> list[ApiKey]:
        """This tenant's keys by id, also those that are revoked."""
        ...

    async def update_key(
        self, key_id: str, *, revoked_at: datetime | None = None, used_at: datetime | None = None
    ) -> bool:
        """Let a key in no longer, or note when it was last used; False if there is none."""
        ...

    async def add_cost(self, entry: LedgerEntry) -> None:
        """Count a call of a model, for this tenant."""
        ...

    async def costs(self, since: date | None = None) -> list[Cost]:
        """What models have cost, by day, purpose and model."""
        ...

    async def setting(self, key: str) -> str | None: ...

    async def put_setting(self, key: str, value: str, *, keep: bool = False) -> str:
        """Store a setting; with `keep`, one that is there stays. Gives the value that holds."""
        ...

    async def audit(self, session_id: str) -> Audit: ...

    async def check(self) -> list[Problem]:
        """The store's own integrity: file structure, rows without an owner."""
        ...

    async def rebuild(self, session_id: str | None = None) -> None:
        """Build the word index again, and drop vectors of what is not there.

        Of one session, count again what its row says of its messages.
        """
        ...


RawRow = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Checksums that tell whether two stores have the same of a user; "" where nothing is."""

    user: str  # of what belongs to no one session
    sessions: Mapping[str, str]  # of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows to copy: of a session, of a user beyond their sessions, or of the tenant beyond its users."""

    user_id: str | None = None
    session_id: str | None = None
    tables: tuple[str, ...] = ()  # of a session or the tenant; of a user it is always all of them


class TransferStore(Protocol):
    """Rows as they are, to copy them. Sessions are put first, then their user, then the tenant."""

    async def standing(self, user_id: str) -> Standing: ...

    async def chain_end(self, session_id: str, seq: int | None = None) -> tuple[int, bytes, int]:
        """The last message of a session, or that one: its number, its link of the chain, and the session's erasures.

        The number is 0 if it is not there.
        """
        ...

    async def rows(self, part: Part, *, after: int = 0, limit: int = 500) -> Mapping[str, Sequence[RawRow]]:
        """Rows by table. Those of a session, behind a place, begin with their own; of a user, `sessions` are ids."""
        ...

    async def put_rows(self, part: Part, rows: Mapping[str, Sequence[RawRow]]) -> None:
        """Add messages or vectors of a session; of everything else have exactly these rows, in this order.

        A user has no sessions afterwards but those in `sessions`.
        """
        ...

    async def put_session(self, session_id: str, row: RawRow, state: Literal["new", "unfinished", "whole"]) -> None:
        """Have a session, which is not whole until it is put as such; a `new` one has nothing of what it had."""
        ...


class Store(
    LogStore,
    LayerStore,
    KnowledgeStore,
    ForgettingStore,
    IndexStore,
    QueueStore,
    AdminStore,
    TransferStore,
    Protocol,
):
    """Keeps one tenant's log and what is derived from it. Every verb is one transaction.

    Raises Conflict, NotFound and StoreError as `lamina.errors` says. A damaged row is skipped with a warning.
    """
