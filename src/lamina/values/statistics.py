"""How much there is: outlines of sessions, counts, growth."""

from datetime import date, datetime
from typing import ClassVar

from lamina.frozen import dataclass
from lamina.values.fact import FactStatus
from lamina.values.message import Span
from lamina.values.summary import SummaryKind, SummaryStatus


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

    _shown: ClassVar = ("session_id",)

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

    _shown: ClassVar = ("sessions", "messages", "tokens", "episodes")

    sessions: int
    messages: int
    tokens: int  # of all messages
    at_hand_tokens: int  # of what stands for them now: messages in no summary yet, and live summaries of sessions
    summaries: tuple[SummaryCount, ...]
    facts: tuple[FactCount, ...]
    episodes: int
    growth: tuple[Growth, ...]  # by day, the newest that have something
