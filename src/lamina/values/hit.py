"""Results of a search, and how they were found."""

import importlib
from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Literal

from lamina.frozen import dataclass
from lamina.values.message import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something found by a search, with the parts of its score."""

    _shown: ClassVar = ("kind", "id", "score", "text")

    kind: Literal["message", "summary", "fact", "episode"]
    id: str
    session_id: str | None
    message_ids: tuple[str, ...]  # where it was said; of a message its own, then others that say the same, up to 100
    span: Span | None
    text: str
    score: float
    parts: Mapping[str, float]
    created_at: datetime
    role: str | None = None
    name: str | None = None  # who spoke, where the message says so
    tokens: int = 0
    project_id: str | None = None
    count: int = 1  # messages in which the same speaker says the same
    until: datetime | None = None  # when what it says ended, if all that is known of it has ended

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("lamina.values.notebook").hit_html(self)
        return html


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A step of a search and the time it took."""

    name: Literal["open", "understand", "embed", "rank", "read"]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A search and how it went."""

    _shown: ClassVar = ("hits", "considered", "related")

    hits: tuple[Hit, ...]
    least: float  # score under which `search` shows nothing; 0: it shows whatever is related
    considered: int  # rows that the filters let through
    related: int  # of these, rows that have anything to do with the query
    stages: tuple[Stage, ...]
    weights: Mapping[str, float] | None  # None: the calibrated sum ranked
