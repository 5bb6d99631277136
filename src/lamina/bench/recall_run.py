"""Conversations added to a memory of their own, and their questions asked of it."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from lamina import Memory
from lamina.bench.readers import Conversation, Message, Question
from lamina.bench.scoring import Found
from lamina.errors import BudgetTooSmall
from lamina.values.manifest import Context

BUDGETS = (500, 1000, 2000, 4000)
TOP = 50
LATER = timedelta(minutes=1)  # how long after the last message a question without a date is asked
MILLI = 1000
_CLOSING = ".!\u3002 "  # what may be missing at the end

Tell = Callable[[], None]  # one more question is answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked of every conversation, and of which memory."""

    budgets: tuple[int, ...] = BUDGETS
    profile: str | None = None  # None: Lamina's default
    embedder: str | None = None

    def options(self) -> dict[str, Any]:
        """What a memory is opened with."""
        chosen = {"profile": self.profile, "embedder": self.embedder}
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Found):
    """What the memory found for one question, and how long that took."""

    question_id: str
    search_ms: float
    context_ms: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One conversation, added and asked about."""

    conversation_id: str
    messages: int
    add_s: float
    settle_s: float
    answers: tuple[Answer, ...]


class Clock:
    """The time within the conversation, so that results do not depend on the day of the run."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


class Watch:
    """Seconds spent in pieces of work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._began

    @property
    def milliseconds(self) -> float:
        return self.seconds * MILLI


def replay(conversation: Conversation, plan: Plan, folder: Path, tell: Tell = lambda: None) -> Replay:
    """Add a conversation to a fresh memory and ask each question when it was asked."""
    adding, settling = Watch(), Watch()
    answers: list[Answer] = []
    clock = Clock(conversation.sessions[0].date)
    texts: dict[str, str] = {}
    with (
        TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own,
        Memory(Path(own) / "memory.db", worker=False, now=clock, **plan.options()) as memory,
    ):
        for parts, questions in stages(conversation):
            for session_id, messages in parts:
                clock.at = messages[-1].said_at
                texts |= {message.id: flat(message.text) for message in messages}
                given = [payload(message) for message in messages]
                with adding:
                    memory.add(given, user_id=conversation.user_id, session_id=session_id)
            with settling:
                memory.settle()
            for question in questions:
                asked_at = question.asked_at or clock.at + LATER
                answers.append(_answer(memory, conversation.user_id, question, asked_at, plan.budgets, texts))
                tell()
    return Replay(
        conversation_id=conversation.id,
        messages=len(texts),
        add_s=adding.seconds,
        settle_s=settling.seconds,
        answers=tuple(answers),
    )


Part = tuple[str, list[Message]]  # a session, and its messages


def stages(conversation: Conversation) -> Iterator[tuple[list[Part], list[Question]]]:
    """What to add, then what to ask, until every question is asked; nothing is added that was said after it."""
    messages = [(session.id, message) for session in conversation.sessions for message in session.messages]
    known = 0

    def after(question: Question) -> int:
        return len(messages) if question.after is None else question.after

    for end, questions in groupby(sorted(conversation.questions, key=after), after):
        news = groupby(messages[known:end], lambda one: one[0])
        yield [(name, [message for _, message in part]) for name, part in news], list(questions)
        known = end


def payload(message: Message) -> dict[str, Any]:
    given = {"id": message.id, "role": message.role, "content": message.text, "created_at": message.said_at}
    return given if message.name is None else {**given, "name": message.name}


def _answer(
    memory: Memory,
    user_id: str,
    question: Question,
    asked_at: datetime,
    budgets: Iterable[int],
    texts: Mapping[str, str],
) -> Answer:
    with Watch() as searching:
        hits = memory.search(question.text, user_id=user_id, top_k=TOP, kinds=("message",), at=asked_at)
    contexts: dict[int, tuple[str, ...]] = {}
    took: dict[int, float] = {}
    for budget in budgets:
        with Watch() as building:
            context = _context(memory, user_id, question, asked_at, budget)
        contexts[budget] = () if context is None else standing(context, texts)
        took[budget] = building.milliseconds
    return Answer(
        question_id=question.id,
        ranked=tuple(hit.id for hit in hits),
        contexts=contexts,
        search_ms=searching.milliseconds,
        context_ms=took,
    )


def _context(memory: Memory, user_id: str, question: Question, asked_at: datetime, budget: int) -> Context | None:
    """The context for a question in a session of its own; None where the question alone is larger than the budget."""
    session_id = f"question {question.id}"
    try:
        return memory.context(question.text, user_id=user_id, session_id=session_id, budget=budget, at=asked_at)
    except BudgetTooSmall:
        return None


def standing(context: Context, texts: Mapping[str, str]) -> tuple[str, ...]:
    """The messages that the manifest names and whose words all stand in the context, in its order.

    A fact shows words of a message without the full stop at their end, so that one may be missing.
    """
    text = flat(context.text)
    named = dict.fromkeys(message for piece in context.manifest.items for message in piece.message_ids)
    return tuple(message for message in named if (words := texts.get(message, "").rstrip(_CLOSING)) and words in text)


def flat(text: str) -> str:
    """The text with single spaces."""
    return " ".join(text.split())


def timing(replays: Sequence[Replay]) -> dict[str, float]:
    """How long each phase took: per message, per conversation, and of the verbs p50 and p95."""
    answers = [answer for one in replays for answer in one.answers]
    messages = max(1, sum(one.messages for one in replays))
    found = {
        "add_ms_a_message": sum(one.add_s for one in replays) * MILLI / messages,
        "settle_ms_a_message": sum(one.settle_s for one in replays) * MILLI / messages,
        "search_p50_ms": statistics.median(answer.search_ms for answer in answers),
        "search_p95_ms": sorted(answer.search_ms for answer in answers)[int(0.95 * len(answers))],
    }
    for budget in answers[0].context_ms:
        found[f"context_{budget}_p50_ms"] = statistics.median(answer.context_ms[budget] for answer in answers)
    return found
