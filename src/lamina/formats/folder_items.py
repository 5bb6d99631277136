"""The shapes of the readable folder's JSON files; `lamina` has what they have no field for."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

from lamina.values.fact import FactType
from lamina.values.message import Json
from lamina.values.session import Status


def common_fields(value: Any, kind: type) -> dict[str, Any]:
    """The fields of a value that another dataclass has under the same name."""
    own = {entry.name for entry in fields(value)}
    return {entry.name: getattr(value, entry.name) for entry in fields(kind) if entry.name in own}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """MemoryRelationship."""

    target_id: str
    type: str
    strength: float = 1.0
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """ItemMetadata."""

    source: Any = None
    importance: float | None = None
    access_count: int = 0
    last_accessed_at: datetime | None = None
    decay_factor: float = 1.0
    tokens: int = 0
    embedding: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    id: str
    project_id: str | None = None
    type: FactType
    content: str
    category: str = "fact"
    tags: tuple[str, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    created_at: datetime | None = None
    metadata: Metadata = field(default_factory=Metadata)
    lamina: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRange:
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRef:
    conversation_id: str
    turn_range: TurnRange


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicMemory:
    id: str
    project_id: str | None = None
    type: Literal["episode"] = "episode"
    title: str
    summary: str
    context: str = ""
    participants: tuple[str, ...] = ()
    outcome: str | None = None
    emotional_valence: float = 0.0
    significance: float = 0.5
    linked_memories: tuple[str, ...] = ()
    conversation_ref: ConversationRef | None = None
    created_at: datetime | None = None
    metadata: Metadata = field(default_factory=Metadata)
    lamina: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """EpisodeMilestone."""

    id: str
    turn: int
    title: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """ConversationChunk."""

    id: str
    conversation_id: str
    chunk_number: int
    messages: tuple[Json, ...] = ()
    summary: str = ""
    key_topics: tuple[str, ...] = ()
    token_count: int = 0
    created_at: datetime | None = None
    lamina: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    id: str
    title: str | None = None
    project_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    status: Status = "active"
    total_turns: int = 0
    chunks: tuple[Chunk, ...] | None = None  # some programs write them here; we write them to their own file
    recent_messages: tuple[Json, ...] = ()
    active_facts: tuple[str, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    lamina: Json | None = None
