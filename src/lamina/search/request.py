"""What is asked of recall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lamina.knowledge.standing import Filter

HIT_KINDS = ("message", "summary", "fact", "episode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A search: the query, whose memory, and what is wanted of it."""

    query: str
    user_id: str
    top_k: int
    kinds: frozenset[str] = frozenset(HIT_KINDS)
    wanted: Filter = field(default_factory=Filter)
    session_id: str | None = None
    role: str | None = None
    at: datetime | None = None  # when it is asked; None: now
    as_of: datetime | None = None  # facts that held then; None: that hold when it is asked
    archived: bool = False  # also what is archived
    before: Sequence[str] = ()  # the last turns, for a question that makes no sense without them
    weights: Mapping[str, float] | None = None  # of document 001; None: the calibrated sum
    least: float = 0.0  # score: what has less is no hit
    strict: bool = True  # nothing that has neither the words nor the meaning; False: all that may help
