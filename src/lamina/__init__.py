"""Lamina: layered memory for conversations with language models."""

from lamina.blocking import Memory
from lamina.errors import (
    BadRecords,
    BudgetTooSmall,
    ConfigError,
    Conflict,
    DoesNotFit,
    InputError,
    LaminaError,
    MissingExtra,
    ModelError,
    NotALaminaFile,
    NotFound,
    SchemaTooNew,
    Stale,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from lamina.memory import AsyncMemory
from lamina.open import Llm, Price
from lamina.parts import Patience
from lamina.profiles import PROFILES, Profile
from lamina.protocols.models import (
    Embedder,
    EpisodeDraft,
    EpisodeExtractor,
    Extractor,
    FactDraft,
    Ledger,
    LedgerEntry,
    Summariser,
    SummaryDraft,
    SummaryTask,
    TokenCounter,
)
from lamina.values.cost import Cost
from lamina.values.document import Document, DocumentPut
from lamina.values.fact import Arc, Consolidated, Episode, Fact, Fading, Graph, Link, UserProfile, Why
from lamina.values.hit import Explained, Hit
from lamina.values.manifest import Context, Coverage, Manifest, Omission, Piece, TokenBudget
from lamina.values.message import Added, Limits, Message, Span
from lamina.values.receipt import Receipt
from lamina.values.report import Backlog, Copied, FoldDone, Imported, Problem, Report, Settled, WorkerNote
from lamina.values.session import Conversation, Counters, Milestone, Session
from lamina.values.statistics import Outline, Stats
from lamina.values.summary import Change, Divergence, Proposal, Summary

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "Added",
    "Arc",
    "AsyncMemory",
    "Backlog",
    "BadRecords",
    "BudgetTooSmall",
    "Change",
    "ConfigError",
    "Conflict",
    "Consolidated",
    "Context",
    "Conversation",
    "Copied",
    "Cost",
    "Counters",
    "Coverage",
    "Divergence",
    "Document",
    "DocumentPut",
    "DoesNotFit",
    "Embedder",
    "Episode",
    "EpisodeDraft",
    "EpisodeExtractor",
    "Explained",
    "Extractor",
    "Fact",
    "FactDraft",
    "Fading",
    "FoldDone",
    "Graph",
    "Hit",
    "Imported",
    "InputError",
    "LaminaError",
    "Ledger",
    "LedgerEntry",
    "Limits",
    "Link",
    "Llm",
    "Manifest",
    "Memory",
    "Message",
    "Milestone",
    "MissingExtra",
    "ModelError",
    "NotALaminaFile",
    "NotFound",
    "Omission",
    "Outline",
    "Patience",
    "Piece",
    "Price",
    "Problem",
    "Profile",
    "Proposal",
    "Receipt",
    "Report",
    "SchemaTooNew",
    "Session",
    "Settled",
    "Span",
    "Stale",
    "Stats",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "Summariser",
    "Summary",
    "SummaryDraft",
    "SummaryTask",
    "TokenBudget",
    "TokenCounter",
    "UserProfile",
    "Why",
    "WorkerNote",
    "__version__",
]
