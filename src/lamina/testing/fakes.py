"""Models and clocks that do as they are told."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from lamina.errors import ModelError
from lamina.folding.acceptance import inputs_of
from lamina.protocols.models import SummaryDraft, SummaryTask

Mood = Literal[
    "answers",  # with words of its input, within the cap
    "fails",  # raises ModelError
    "breaks",  # raises something that no summariser should
    "refuses",
    "greets",
    "says nothing",
    "makes things up",
    "talks too long",
    "is slow",  # answers once `let_go` was called
    "hangs",
]

_SAYS: dict[str, str] = {
    "refuses": "I'm sorry, I cannot help with that.",
    "greets": "Hello! How can I help you today?",
    "says nothing": " \n",
    "makes things up": "Purple elephants negotiated seventeen volcanic treaties beneath Antarctic moonlight yesterday.",
}


class WordCounter:
    """Counts words for tokens: quick, exact and easy to follow in a test."""

    name = "words"
    exact = True

    def count(self, text: str) -> int:
        return len(text.split())

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = datetime(2025, 1, 6, 9, tzinfo=UTC)) -> None:
        self.time = start

    def __call__(self) -> datetime:
        return self.time

    def advance(self, *, seconds: float = 0, hours: float = 0, days: float = 0) -> datetime:
        self.time += timedelta(seconds=seconds, hours=hours, days=days)
        return self.time


class FakeSummariser:
    """A summariser that follows a script, one mood a call, the last one for ever; it keeps the tasks it was given.

    >>> FakeSummariser("fails", "fails", "answers")
    """

    def __init__(self, *script: Mood, name: str = "fake") -> None:
        self.name = name
        self.tasks: list[SummaryTask] = []
        self.started = threading.Event()  # set once the first task has come
        self.most_at_once = 0  # how many tasks of one session ran at the same time
        self._script = script or ("answers",)
        self._running: Counter[str] = Counter()
        self._free = threading.Event()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()

    def let_go(self) -> None:
        """Have slow answers come now; from any thread."""
        with self._lock:
            self._free.set()
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        mood = self._script[min(len(self.tasks), len(self._script) - 1)]
        session = task.messages[0].session_id if task.messages else ""
        self.tasks.append(task)
        self._running[session] += 1
        self.most_at_once = max(self.most_at_once, self._running[session])
        self.started.set()
        try:
            return SummaryDraft(text=await self._said(mood, task), topics=("fake",))
        finally:
            self._running[session] -= 1

    async def _said(self, mood: Mood, task: SummaryTask) -> str:
        if mood == "fails":
            raise ModelError("the model is down")
        if mood == "breaks":
            raise ZeroDivisionError("a bug in a plug-in")
        if mood == "hangs":
            await asyncio.Event().wait()
        if mood == "is slow":
            await self._let_go()
        if mood in _SAYS:
            return _SAYS[mood]
        words = inputs_of(task).split()
        if mood == "talks too long":
            return " ".join(words * (1 + 2 * task.cap // max(1, len(words))))
        headings = "\n".join(f"## {section}" for section in task.sections)
        return f"{headings}\n{' '.join(words[: max(1, task.cap // 2)])}".strip()

    async def _let_go(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._free.is_set():
                return
            self._waiting.add((asyncio.get_running_loop(), event))
        await event.wait()
