"""Summaries: what each covers, what it was made from, and proposals for other versions."""

from dataclasses import field
from datetime import datetime
from typing import ClassVar, Literal

from lamina.frozen import dataclass
from lamina.values.message import Json, Span


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

    _shown: ClassVar = ("id", "kind", "layer", "covers", "text")

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
    project_id: str | None = None  # of a digest: the project whose sessions it tells of

    @property
    def due(self) -> int | None:
        """The message at which its fold fell due, whenever it was made; None if that was not kept."""
        due = self.recipe.details.get("due")
        return due if isinstance(due, int) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between what is stored and what was regenerated."""

    _shown: ClassVar = ("kind", "span", "drift", "after")

    kind: Literal["summary", "fact"]
    span: Span | None
    before: str | None  # None: new
    after: str | None  # None: gone
    diff: str
    drift: float  # semantic distance, 0 (same) to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Summaries and facts of a session that were regenerated, to be accepted or rolled back."""

    _shown: ClassVar = ("id", "session_id", "status", "drift")

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

    _shown: ClassVar = ("kind", "fact_id", "summary_id", "text")

    kind: Literal["stale", "missing"]  # it has a value that no longer holds; it lacks one that it should have
    fact_id: str
    summary_id: str
    session_id: str | None
    text: str
