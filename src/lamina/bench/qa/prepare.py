"""What each way gives the reader for each question of a conversation, with its size, time and evidence."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from lamina.bench.qa.mem0_way import Mem0
from lamina.bench.qa.ways import HISTORY, MEM0, History, Material, Setting, Way, open_way
from lamina.bench.readers import Conversation, Question
from lamina.bench.recall_run import LATER, Watch, stages
from lamina.bench.scoring import Found, score
from lamina.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What one way gives for one question. `text` is None where it is the history, which the data set has."""

    question_id: str
    way: str
    text: str | None
    tokens: int = 0
    add_ms: float = 0.0  # for each message of the conversation, with what is done in the background
    context_ms: float = 0.0
    evidence: float | None = None  # share of the gold messages in it, or whether all gold sessions are; None: no gold
    is_cut: bool = False
    error: str | None = None


class Stopped(Exception):
    """Nobody waits for what is prepared any more."""


def prepare(
    conversation: Conversation, ways: Sequence[str], setting: Setting, is_stopped: Callable[[], bool] = lambda: False
) -> list[Prepared]:
    """Add a conversation in each way, and collect what each gives for each question when it is asked."""
    return [one for name in ways for one in _one_way(conversation, name, setting, is_stopped)]


def _one_way(conversation: Conversation, name: str, setting: Setting, is_stopped: Callable[[], bool]) -> list[Prepared]:
    with TemporaryDirectory(prefix="lamina-bench-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        try:
            way = _open(name, setting, conversation, Path(folder))
            stack.callback(way.close)
            return _ask(conversation, name, way, setting, is_stopped)
        except ModelError as error:  # of a way that asks a model itself
            asked = conversation.questions
            return [Prepared(question_id=one.id, way=name, text=None, error=str(error)) for one in asked]


def _open(name: str, setting: Setting, conversation: Conversation, folder: Path) -> Way:
    return Mem0(setting, folder) if name == MEM0 else open_way(name, setting, conversation, folder)


def _ask(
    conversation: Conversation, name: str, way: Way, setting: Setting, is_stopped: Callable[[], bool]
) -> list[Prepared]:
    adding, added = Watch(), 0
    session_of = conversation.session_of()
    given: list[tuple[Question, Material, float]] = []
    for parts, questions in stages(conversation):
        with adding:
            for session_id, messages in parts:
                _check_wanted(is_stopped)
                way.add(session_id, messages)
                added += len(messages)
            way.ready()
        for question in questions:
            _check_wanted(is_stopped)
            with Watch() as building:
                material = way.material(question, asked_at(conversation, question))
            given.append((question, material, building.milliseconds))
    return [
        Prepared(
            question_id=question.id,
            way=name,
            text=None if name == HISTORY else material.text,
            tokens=setting.counter.count(material.text),
            add_ms=adding.milliseconds / max(1, added),
            context_ms=took,
            evidence=evidence(question, material, session_of),
            is_cut=material.is_cut,
        )
        for question, material, took in given
    ]


def _check_wanted(is_stopped: Callable[[], bool]) -> None:
    if is_stopped():
        raise Stopped


def asked_at(conversation: Conversation, question: Question) -> datetime:
    """When a question is asked: at its own date, or just after what was said before it."""
    if question.asked_at is not None:
        return question.asked_at
    said = [message.said_at for session in conversation.sessions for message in session.messages]
    return said[: question.after][-1] + LATER if said[: question.after] else conversation.sessions[0].date


def evidence(question: Question, material: Material, session_of: dict[str, str]) -> float | None:
    """The share of the gold messages in it, or whether it has a message of every gold session."""
    if material.found is None or not (question.gold or question.gold_sessions):
        return None
    measures = score(question, Found(ranked=(), contexts={0: material.found}), session_of)
    return measures["C0f"] if question.gold else measures["C0s"]


def history_texts(conversation: Conversation, setting: Setting) -> dict[str, str]:
    """The history before each question, which no file of the run has."""
    way = History(setting)
    texts: dict[str, str] = {}
    for parts, questions in stages(conversation):
        for session_id, messages in parts:
            way.add(session_id, messages)
        way.ready()
        texts |= {one.id: way.material(one, asked_at(conversation, one)).text for one in questions}
    return texts
