"""Ways to give a reader what it needs for a question: Lamina, the whole history, plain retrieval, nothing."""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from lamina import Memory
from lamina.bench.readers import Conversation, Message, Question
from lamina.bench.recall_run import Clock, Plan, flat, payload, standing
from lamina.bench.user_memories import before_question
from lamina.errors import BudgetTooSmall, InputError
from lamina.models.embeddings.static import StaticEmbedder
from lamina.protocols.models import TokenCounter

LAMINA, HISTORY, RAG, NONE, MEM0 = "lamina", "history", "rag", "none", "mem0"
BASELINES = (HISTORY, RAG, NONE, MEM0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a reader is given for one question."""

    text: str
    found: tuple[str, ...] | None = ()  # messages that stand in it; None: it has other texts than messages
    is_cut: bool = False  # some of the history had no room


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every way is opened with."""

    plan: Plan
    budget: int  # tokens
    window: int  # tokens of the reader, without the room for its answer and the question
    counter: TokenCounter
    mem0_llm: Mapping[str, Any]  # how mem0 asks a language model


class Way(Protocol):
    """One way; told what was said in its order, and asked in between."""

    def add(self, session_id: str, messages: Sequence[Message]) -> None: ...

    def ready(self) -> None: ...

    def material(self, question: Question, asked_at: datetime) -> Material: ...

    def close(self) -> None: ...


class Simple:
    """What most ways need not do."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.messages: list[Message] = []

    def add(self, _session_id: str, messages: Sequence[Message]) -> None:
        self.messages += messages

    def ready(self) -> None:
        """Nothing is due after the appends."""

    def close(self) -> None:
        """Nothing is left open."""


class NoMemory(Simple):
    """The question alone."""

    def material(self, _question: Question, _asked_at: datetime) -> Material:
        return Material(text="")


class History(Simple):
    """Everything that was said, the newest of it where not all fits."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._ends = [0]  # tokens of the messages up to each

    def ready(self) -> None:
        for size in self.setting.counter.count_many([line(one) for one in self.messages[len(self._ends) - 1 :]]):
            self._ends.append(self._ends[-1] + size + 1)  # and the end of the line

    def material(self, _question: Question, _asked_at: datetime) -> Material:
        first = bisect.bisect_left(self._ends, self._ends[-1] - self.setting.window)
        kept = self.messages[first:]
        return Material(text="\n".join(map(line, kept)), found=tuple(one.id for one in kept), is_cut=first > 0)


class Retrieval(Simple):
    """The messages whose vectors are nearest to the question's, as many as the budget holds, in their order."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._embedder = StaticEmbedder()
        self._rows: list[Any] = []

    def ready(self) -> None:
        new = self.messages[len(self._rows) :]
        self._rows += list(self._embedder.vectors([one.text for one in new])) if new else []

    def material(self, question: Question, _asked_at: datetime) -> Material:
        (asked,) = self._embedder.vectors([question.text])
        likeness = [float(row @ asked) for row in self._rows]
        ranked = sorted(range(len(likeness)), key=lambda place: (-likeness[place], place))
        kept, left = [], self.setting.budget
        for place in ranked:
            left -= self.setting.counter.count(line(self.messages[place])) + 1
            if left < 0:
                break
            kept.append(place)
        chosen = [self.messages[place] for place in sorted(kept)]
        return Material(text="\n".join(map(line, chosen)), found=tuple(one.id for one in chosen))


class Lamina:
    """A memory of its own, and the context that it builds for the question."""

    def __init__(self, setting: Setting, conversation: Conversation, folder: Path) -> None:
        self._setting, self._user = setting, conversation.user_id
        self._clock = Clock(conversation.sessions[0].date)
        self._texts: dict[str, str] = {}
        options = setting.plan.options()
        self._memory = Memory(folder / "memory.db", worker=False, now=self._clock, **options)

    def add(self, session_id: str, messages: Sequence[Message]) -> None:
        self._clock.at = messages[-1].said_at
        self._texts |= {message.id: flat(message.text) for message in messages}
        self._memory.add([payload(one) for one in messages], user_id=self._user, session_id=session_id)

    def ready(self) -> None:
        self._memory.settle()

    def material(self, question: Question, asked_at: datetime) -> Material:
        session_id, budget = f"question {question.id}", self._setting.budget
        try:
            context = self._memory.context(
                question.text, user_id=self._user, session_id=session_id, budget=budget, at=asked_at
            )
        except BudgetTooSmall:
            return Material(text="")
        return Material(text=before_question(context), found=standing(context, self._texts))

    def close(self) -> None:
        self._memory.close()


def line(message: Message) -> str:
    """A message with its time and speaker."""
    return f"[{message.said_at:%Y-%m-%d %H:%M}] {message.name or message.role}: {message.text}"


def check_ways(names: Sequence[str]) -> tuple[str, ...]:
    """Lamina and the baselines that were asked for, each once; raises InputError for one that is not known."""
    if unknown := sorted(set(names) - {*BASELINES}):
        raise InputError(f"no baseline {unknown[0]!r}; there are {', '.join(BASELINES)}")
    return tuple(dict.fromkeys((LAMINA, *names)))


def open_way(name: str, setting: Setting, conversation: Conversation, folder: Path) -> Way:
    """A way for one conversation, with a folder of its own."""
    simple: Mapping[str, Callable[[Setting], Way]] = {HISTORY: History, RAG: Retrieval, NONE: NoMemory}
    return simple[name](setting) if name in simple else Lamina(setting, conversation, folder)
