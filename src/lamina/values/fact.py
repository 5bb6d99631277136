"""Facts, episodes and the links between them."""

import importlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, get_args

from lamina.frozen import dataclass, short_hash
from lamina.values.codec import READABLE, encode, with_derived
from lamina.values.message import Message, Span

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

Stands = Literal["alone", "beside", "instead"]

Verdict = Literal["promoted", "demoted", "retracted", "archived", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRule:
    """What happens when two values meet."""

    conflicts: Literal["newest", "confidence", "flag"] = "newest"
    promote: float = 0.0  # a fact less sure than this waits as a candidate
    margin: float = 0.3  # `newest`: a value less sure than the old one by more than this is a conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something known of a user, or of someone they speak of: said, word for word, or told by hand.

    Facts of one user and category with the same slot are about the same thing; their standing (status, valid_until,
    of, version) follows from all of them together.
    """

    _shown: ClassVar = ("id", "category", "key", "value", "status")
    _derived: ClassVar = ("text",)

    id: str
    user_id: str
    type: FactType
    category: str
    key: str | None  # what it is about: name, location, favourite colour
    slot: str  # the key made comparable, with whom and what it is about; of a fact without a key, its value
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
    about: str | None = None  # the person that it is true of, as named: Lena, sister; None: the user
    scope: str | None = None  # what the value is limited to: hosting, kitchen; None: everything
    question: str | None = None  # what the assistant had asked, word for word, where this is a short answer
    question_id: str | None = None  # the message that asked
    reason: str | None = None  # why, as said
    tags: tuple[str, ...] = ()
    project_id: str | None = None  # the project that it belongs to; None: it is true of the user everywhere
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
    def text(self) -> str:
        """The fact in one line, as a person would write it: `dog: Rex`, `allergic to peanuts`."""
        line: str = importlib.import_module("lamina.knowledge.fact_words").describe_fact(self)
        return line

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return with_derived(handler(source), cls._derived)

    @property
    def tag(self) -> str:
        """Another one once the fact stands otherwise; not when it was only used."""
        return short_hash(self, frozenset({"accesses", "accessed_at", "decay"}))

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("lamina.values.notebook").fact_html(self)
        return html


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a memory that was told: the fact, and what was known before."""

    _shown: ClassVar = ("fact", "before")

    fact: Fact
    before: Fact | None = None  # the value it took the place of
    repeated: bool = False  # it was known already
    ended: bool = False  # it was told that the fact is true no longer


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

    _shown: ClassVar = ("id", "kind", "title", "session_id")

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
    model: str | None = None  # what found it
    linked: tuple[str, ...] = ()  # ids of facts and other memories
    merged: tuple[str, ...] = ()  # ids of the episodes it was made from
    project_id: str | None = None  # of its session
    tokens: int = 0
    accesses: int = 0
    accessed_at: datetime | None = None
    decay: float = 1.0


Memorable = Fact | Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """The course of a session in episodes: its thirds, and the moments that mattered most."""

    _shown: ClassVar = ("key_moments",)

    beginning: tuple[Episode, ...]
    middle: tuple[Episode, ...]
    end: tuple[Episode, ...]
    key_moments: tuple[Episode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Memories that can be reached from one by its links, with those links."""

    _shown: ClassVar = ("nodes", "links")

    nodes: tuple[Memorable, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a fact comes from and why it stands as it does."""

    _shown: ClassVar = ("fact", "reasons")

    fact: Fact
    message: Message | None  # None if it was told by hand
    evidence: tuple[Fact, ...]  # the other times it was said
    before: Fact | None  # the value it took the place of
    after: Fact | None  # the value that took its place
    conflicts: tuple[Fact, ...]
    links: tuple[Link, ...]
    reasons: tuple[str, ...]  # in words, in order


_PROFILE_FIELDS = (
    "id", "text", "key", "value", "status", "confidence", "importance", "valid_from", "valid_until",
    "message_id", "quote",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProfile:
    """What is known of a user at a time, by category, most important first; then what is known of other people."""

    _shown: ClassVar = ("user_id", "as_of", "facts")

    user_id: str
    as_of: datetime
    known_at: datetime
    facts: tuple[Fact, ...]
    markdown: str
    people: Mapping[str, tuple[str, ...]]  # the others that facts are about, and the ids of these facts
    opted_out: datetime | None = None  # since when nothing is derived from what the user says

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data: value, confidence, validity and source of each fact, by category or person."""
        categories: dict[str, list[dict[str, Any]]] = {}
        encoded = {fact.id: encode(fact, READABLE) for fact in self.facts}
        shown = {fact_id: {name: one[name] for name in _PROFILE_FIELDS} for fact_id, one in encoded.items()}
        for fact in self.facts:
            if fact.about is None:
                categories.setdefault(fact.category, []).append(shown[fact.id])
        return {
            "user_id": self.user_id,
            "as_of": self.as_of.isoformat(),
            "known_at": self.known_at.isoformat(),
            "categories": categories,
            "people": {name: [shown[fact_id] for fact_id in ids] for name, ids in self.people.items()},
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """How fresh a fact or an episode is, and when it would be put away."""

    _shown: ClassVar = ("id", "label", "decay")

    id: str
    kind: Literal["fact", "episode"]
    label: str
    importance: float  # of an episode, its significance
    decay: float  # freshness now: 1 just used, 0 long not used
    used_at: datetime  # when it was last used, or else came into this memory
    accesses: int
    archive_below: float | None  # freshness under which consolidation puts it away; None: never
    kept: bool  # protected from that
