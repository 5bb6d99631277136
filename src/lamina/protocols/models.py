"""What the engine asks of models: counting, summarising, extracting, embedding."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from lamina.frozen import dataclass
from lamina.profiles import Hosted
from lamina.values.cost import Purpose
from lamina.values.fact import EpisodeKind, Stands
from lamina.values.message import Message


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    name: str
    exact: bool

    def count(self, text: str) -> int: ...

    def count_many(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTask:
    """One summary to write. `prompt` is the filled prompt for a language model; the rest is the same as values."""

    kind: str  # initial, update, chunk, layer, fold, medium, long, final, digest, compress
    profile: str
    messages: tuple[Message, ...]  # raw messages to read, oldest first
    previous: str | None  # the summary to go on from, without title and footer
    summaries: tuple[str, ...]  # summaries to fold, oldest first
    sections: tuple[str, ...]  # headings the text must have, in this order; () for plain text
    cap: int  # tokens the text may have at the most
    least: int  # tokens it should aim at, where there is enough to say
    target: int = 0  # tokens it should aim at, at the most; 0: the cap
    asked_sections: tuple[str, ...] = ()  # what the prompt calls the sections, in their order; (): the same
    instructions: str = ""  # the filled prompt
    input: str = ""  # what the prompt works on, in the exact form of the document
    prompt: str | None = None  # name and version of the prompt
    template: str = ""  # the prompt before it was filled
    model: str | None = None  # the model the profile asks for
    hosted: Hosted | None = None
    keep: tuple[str, ...] = ()  # words that must survive
    essentials: tuple[str, ...] = ()  # lines that the offline summariser finds most important: most of it must survive
    domains: tuple[str, ...] = ()  # fields of which facts are to be kept, if the prompt names them
    user_share: float = 0.0  # of the words that should be the user's, where the user said enough


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDraft:
    """What a summariser wrote."""

    text: str
    topics: tuple[str, ...] = ()
    prompt: str | None = None  # the prompt it was written with, if that is not the task's


class Summariser(Protocol):
    """Writes a summary; raises ModelError when it cannot."""

    name: str

    async def summarise(self, task: SummaryTask) -> SummaryDraft: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft:
    """Something said by the user: `quote` is message.text[start:end]."""

    message_id: str
    category: str  # one of `fact_words.CATEGORIES`
    key: str | None  # what it is about, lower case; None where there is no name for that
    value: str
    quote: str
    start: int
    end: int
    confidence: float
    importance: float
    holds: bool = True  # False: the user says that it is no longer so, or is not so
    since: datetime | None = None  # when it began to hold, where the words say so
    until: datetime | None = None  # until when
    reason: str | None = None  # why
    about: str | None = None  # the person that it is true of, as named in the message; None: who says it
    scope: str | None = None  # what the value is limited to; None: everything
    question: str | None = None  # what the assistant had asked, word for word, where this is a short answer
    question_id: str | None = None  # the message that asked, in the same session
    stands: Stands = "alone"  # alone: the only value of its key; beside: one of several; instead: in place of them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What was read from a statement about the user: `quote` of a draft is a piece of the text as it was given."""

    drafts: tuple[FactDraft, ...]
    unread: frozenset[str]  # stems of words that tell something and are in no draft


class StatementReader(Protocol):
    """Reads what is told of the user: "User lives in Ghent"."""

    name: str

    def read(self, text: str, names: Sequence[str], at: datetime) -> Statement: ...

    def in_first_person(self, text: str, names: Sequence[str]) -> str: ...

    def names_user(self, text: str, names: Sequence[str]) -> bool: ...


class Extractor(Protocol):
    """Finds what is worth remembering of what users say; what the assistant says is given to understand it."""

    name: str

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDraft:
    """A moment that mattered, in the turn of one message."""

    message_id: str
    kind: EpisodeKind
    title: str
    summary: str
    context: str
    outcome: str | None
    valence: float
    significance: float


class EpisodeExtractor(Protocol):
    """Finds the moments that mattered; `before` are the messages just before those to look at."""

    name: str

    async def extract_episodes(
        self, messages: Sequence[Message], before: Sequence[Message]
    ) -> Sequence[EpisodeDraft]: ...


class Embedder(Protocol):
    """Turns texts into vectors that lie near each other when they mean alike; raises ModelError when it cannot."""

    name: str  # stored with each vector: vectors of different embedders are never compared
    dimensions: int
    inline: bool  # never waits: may be driven without an event loop

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...


class Lexicon(Protocol):
    """Vectors of single words."""

    name: str  # of the embedder whose vectors they can be compared with
    dimensions: int

    def word_vectors(self, words: Sequence[str]) -> Any: ...  # float32 array, one normalised row a word


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One call of a model that costs."""

    at: datetime
    tenant: str
    purpose: Purpose
    model: str
    tokens_in: int
    tokens_out: int
    cost: float  # in the currency of the price table; 0 without a price


class Ledger(Protocol):
    """Keeps what calls of models cost."""

    async def add(self, entry: LedgerEntry) -> None: ...

    async def cost_since(self, tenant: str, since: datetime) -> float:
        """What a tenant's calls have cost since then."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: placeholders in square brackets are filled with what the task reads."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"
