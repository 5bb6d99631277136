"""What the tests of the documents share: a clock, a conversation to hold, and models that can be watched."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina import Memory, Profile
from lamina.protocols.models import FactDraft, SummaryDraft, SummaryTask
from lamina.values.fact import Fact
from lamina.values.message import Added, Message
from tests.places import Place
from tests.sizes import FULL

USER, SESSION = "alex", "s1"


@dataclass
class Clock:
    """A clock that moves only when told."""

    moment: datetime = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def ahead(self, **by: float) -> None:
        self.moment += timedelta(**by)


@dataclass
class Recorder:
    """A summariser that keeps the tasks it was given and answers with `text` of each."""

    text: Callable[[SummaryTask], str]
    name: str = "recorder"
    tasks: list[SummaryTask] = field(default_factory=list)

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        self.tasks.append(task)
        return SummaryDraft(text=self.text(task), topics=("databases", f"topic {len(self.tasks)}"))


@dataclass
class Gate:
    """A summariser that waits until it is opened; it counts how many folds it holds at once."""

    name: str = "gate"
    opened: bool = False
    sessions: list[str] = field(default_factory=list)  # of the folds that came, in order
    inside: int = 0
    most_inside: int = 0

    @property
    def started(self) -> int:
        return len(self.sessions)

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        self.sessions.append(task.messages[0].session_id)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            while not self.opened:  # noqa: ASYNC110 - opened from another thread
                await asyncio.sleep(0.005)
        finally:
            self.inside -= 1
        return SummaryDraft(text=echo(task))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a table finds in a message that has the words."""

    words: str
    value: str
    key: str | None = None
    category: str = "identity"
    confidence: float = 0.9
    importance: float = 0.8

    def draft(self, message: Message) -> FactDraft:
        start = message.text.index(self.words)
        return FactDraft(
            message_id=message.id,
            category=self.category,
            key=self.key,
            value=self.value,
            quote=self.words,
            start=start,
            end=start + len(self.words),
            confidence=self.confidence,
            importance=self.importance,
        )


@dataclass
class Table:
    """An extractor that finds exactly what it was told to find, and keeps the texts that it was given to read."""

    findings: Sequence[Finding]
    name: str = "table"
    trusted: bool = True
    read: list[str] = field(default_factory=list)

    async def extract(self, messages: Sequence[Message]) -> list[FactDraft]:
        self.read.extend(message.text for message in messages)
        return [one.draft(message) for message in messages for one in self.findings if one.words in message.text]


def echo(task: SummaryTask) -> str:
    """A short text that says which messages were read, in words that they have, with the sections asked for."""
    said = " ".join(task.messages[-1].text.split()[:6]) if task.messages else "earlier"
    first, last = (task.messages[0].seq, task.messages[-1].seq) if task.messages else (0, 0)
    lines = f"Read {first} to {last}: {said}."
    return "\n\n".join(f"## {section}\n- {lines}" for section in task.sections) or lines


def said(number: int, words: int = 8) -> str:
    """What is said in message `number`: `words` words that no other message has, after a recognisable start."""
    return f"M{number:03d} " + " ".join(f"w{number}x{index}" for index in range(words))


class Talk:
    """One conversation that is held message by message; message n says `said(n)` unless told otherwise."""

    def __init__(self, memory: Memory, session_id: str = SESSION, user_id: str = USER) -> None:
        self.memory = memory
        self.session_id = session_id
        self.user_id = user_id
        self.count = 0

    def add(self, role: str, content: Any, **more: Any) -> Added:
        self.count += 1
        message = {"role": role, "content": content, **more}
        return self.memory.add(message, user_id=self.user_id, session_id=self.session_id)

    def message(self, words: int = 8) -> None:
        """The next message, user and assistant in turn."""
        self.add("assistant" if self.count % 2 else "user", said(self.count + 1, words))

    def messages(self, number: int, words: int = 8) -> None:
        for _ in range(number):
            self.message(words)

    def turns(self, number: int, words: int = 8) -> None:
        self.messages(2 * number, words)

    def context(self, query: str | None = None, **options: Any) -> Any:
        return self.memory.context(query, user_id=self.user_id, session_id=self.session_id, **options)

    def summaries(self, *, live: bool = True) -> Any:
        return self.memory.summaries(self.session_id, live=live)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(place: Place, clock: Clock) -> Iterator[Callable[..., Memory]]:
    """Opens memories on real stores, with the clock and without a background worker; all are closed at the end."""
    held: list[Memory] = []

    def opener(profile: str | Profile, name: str = "chat.db", **options: Any) -> Memory:
        memory = Memory(place(name), profile=profile, **{"now": clock, "worker": False, **options})
        held.append(memory)
        return memory

    yield opener
    for memory in held:
        memory.close()


def literally(taken: float, most: float) -> None:
    """A limit that a document names in seconds: for `make test-all`. `make test` looks at what the time depends on."""
    assert not FULL or taken < most


def verbatim(context: Any) -> list[int]:
    """The messages that stand word for word in a context's manifest, by number."""
    return [seq for span in context.manifest.coverage.verbatim for seq in range(span.first, span.last + 1)]


def spans(found: Sequence[Any]) -> list[tuple[int, int]]:
    return [(span.first, span.last) for span in found]


def values(facts: Sequence[Fact]) -> list[str]:
    return [fact.value for fact in facts]
