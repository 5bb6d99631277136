"""Files of conversations with questions, read into values.

What a file is shows in its first row, not in its name. LoCoMo, BEAM and RealMem have a conversation a row: `conv_id`,
`turns` (`id, sess, date, speaker, text`) and `questions` (`qid, cat, q, gold, gold_sess, date, upto`, and of the right
answer what `gold` reads). LongMemEval has two files, questions with their `haystack` of sessions, and the sessions.
`published` reads the sets as their authors publish them.
"""

import gzip
import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from lamina.bench.gold import Gold, read_gold
from lamina.bench.published import LOCOMO, LONGMEMEVAL, beam_rows, locomo_row, longmemeval_rows
from lamina.errors import InputError

FORMATS = (
    "a file of LoCoMo, BEAM or RealMem (.jsonl or .jsonl.gz, a conversation a line: conv_id, turns, questions), "
    "or LongMemEval as two files with a comma between them: questions.jsonl.gz,sessions.jsonl.gz, "
    "or as published: locomo10.json, longmemeval_s.json, BEAM's folder chats/100K"
)
Kind = Literal["conversations", "questions", "sessions", "locomo", "longmemeval", "unknown"]

_DATES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d (%A)", "%B-%d-%Y", "%Y-%m-%d")
_BETWEEN = timedelta(seconds=5)  # two messages of the same date
_GZIP = b"\x1f\x8b"

T = TypeVar("T")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message under the id that predictions name it by."""

    id: str
    role: Literal["user", "assistant"]
    name: str | None
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: str
    date: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the messages and sessions that answer it."""

    id: str
    category: str
    text: str
    asked_at: datetime | None  # None: when everything was said
    after: int | None  # how many messages were said before it; None: all
    gold: frozenset[str]
    gold_sessions: frozenset[str]
    answer: Gold | None = None  # None: the set does not say what is right


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    id: str
    user_id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    def session_of(self) -> dict[str, str]:
        """The session of each message."""
        return {message.id: session.id for session in self.sessions for message in session.messages}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What a file, a pair of files or a folder holds."""

    name: str
    format: str
    conversations: tuple[Conversation, ...]

    def questions(self) -> int:
        return sum(len(one.questions) for one in self.conversations)

    def with_evidence(self) -> "DataSet":
        """Only the questions with gold messages; of a set that has none, those with gold sessions."""
        asked = [question for one in self.conversations for question in one.questions]
        by_message = any(question.gold for question in asked)
        return self._only(lambda question: bool(question.gold if by_message else question.gold_sessions))

    def with_answers(self) -> "DataSet":
        """Only the questions of which it is known what is right."""
        return self._only(lambda question: question.answer is not None)

    def _only(self, wanted: Callable[[Question], bool]) -> "DataSet":
        kept = (replace(one, questions=tuple(filter(wanted, one.questions))) for one in self.conversations)
        return replace(self, conversations=tuple(one for one in kept if one.questions))

    def sample(self, limit: int | None, seed: int) -> "DataSet":
        """At most `limit` conversations with at most `limit` questions each, chosen by chance, in their order."""
        if limit is None:
            return self
        chance = random.Random(seed)  # noqa: S311 - a sample, no secret
        kept = (
            replace(one, questions=_sample(chance, one.questions, limit))
            for one in _sample(chance, self.conversations, limit)
        )
        return replace(self, conversations=tuple(kept))


def _sample(chance: random.Random, all_of_them: Sequence[T], limit: int) -> tuple[T, ...]:
    if len(all_of_them) <= limit:
        return tuple(all_of_them)
    return tuple(all_of_them[place] for place in sorted(chance.sample(range(len(all_of_them)), limit)))


def read(named: str) -> DataSet:
    """What `read_all` reads, of which only questions with evidence: the messages or sessions that answer them."""
    return read_all(named).with_evidence()


def read_all(named: str) -> DataSet:
    """The data in a file, two with a comma between them, or a folder; raises InputError with what would work."""
    if Path(named).is_dir():
        return _beam(Path(named))
    paths = [Path(part) for part in named.split(",")] if not Path(named).exists() else [Path(named)]
    files = [_File.of(path) for path in paths]
    kinds = tuple(file.kind for file in files)
    if kinds in {("conversations",), ("locomo",)}:
        return _conversations(files[0])
    if kinds == ("longmemeval",):
        found = files[0].rows(lambda row: _haystack(*longmemeval_rows(row)))
        return DataSet(name=_name(paths[0]), format="LongMemEval", conversations=tuple(found))
    if sorted(kinds) == ["questions", "sessions"]:
        return _longmemeval(files[kinds.index("questions")], files[kinds.index("sessions")])
    if kinds in {("questions",), ("sessions",)}:
        raise InputError(f"{named} is one of the two files of LongMemEval; give both, as questions,sessions")
    raise InputError(f"{named} cannot be read as a set of questions; there must be {FORMATS}")


def _beam(folder: Path) -> DataSet:
    try:
        found = tuple(_conversation(row) for row in beam_rows(folder))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder} cannot be read as BEAM: {error}; there must be {FORMATS}") from None
    if not found:
        raise InputError(f"{folder} has no chat of BEAM (chat.json, probing_questions); there must be {FORMATS}")
    return DataSet(name=f"beam_{folder.resolve().name}", format="BEAM", conversations=found)


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    kind: Kind

    @classmethod
    def of(cls, path: Path) -> "_File":
        first: Any = next(_rows(path), None)
        keys = first.keys() if isinstance(first, dict) else ()
        if {"conv_id", "turns", "questions"} <= set(keys):
            return cls(path, "conversations")
        if {"qid", "haystack"} <= set(keys):
            return cls(path, "questions")
        if set(keys) >= LOCOMO:
            return cls(path, "locomo")
        if set(keys) >= LONGMEMEVAL:
            return cls(path, "longmemeval")
        return cls(path, "sessions" if {"id", "turns"} <= set(keys) else "unknown")

    def rows(self, reader: Callable[[Row], T]) -> list[T]:
        """Every row as `reader` makes it; an error names the line."""
        found: list[T] = []
        for number, row in enumerate(_rows(self.path), 1):
            try:
                found.append(reader(row))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
                raise InputError(f"{self.path}, row {number}: {reason}; there must be {FORMATS}") from None
        return found


def _rows(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as lines:
            if next((letter for letter in iter(lambda: lines.read(1), "") if not letter.isspace()), "") == "[":
                lines.seek(0)
                yield from json.load(lines)  # one list over many lines, as sets are published
                return
            lines.seek(0)
            yield from (json.loads(line) for line in lines if line.strip())
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; there must be {FORMATS}") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}; there must be {FORMATS}") from None


def when(written: str) -> datetime:
    """A date as one of the sets writes it, in UTC."""
    for form in _DATES:
        try:
            return datetime.strptime(written, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"no date in {written!r}; e.g. '1:56 pm on 8 May, 2023', '2023/04/10 (Mon) 23:07', '2025-12-15'")


class _Times:
    """When each message was said: its date, and some seconds later for each one before it on that date."""

    def __init__(self) -> None:
        self._said = Counter[datetime]()

    def next(self, date: datetime) -> datetime:
        self._said[date] += 1
        return date + (self._said[date] - 1) * _BETWEEN


def _conversations(file: _File) -> DataSet:
    found = file.rows(_conversation if file.kind == "conversations" else lambda row: _conversation(locomo_row(row)))
    people = any(message.name for one in found for session in one.sessions for message in session.messages)
    growing = any(question.after is not None for one in found for question in one.questions)
    kind = "LoCoMo" if people else "RealMem" if growing else "BEAM"
    return DataSet(name=_name(file.path), format=kind, conversations=tuple(found))


def _name(path: Path) -> str:
    return path.name.partition(".")[0]


def _conversation(row: Row) -> Conversation:
    prefix = f"{row['conv_id']}/"
    times = _Times()
    sessions: dict[str, list[Message]] = {}
    for turn in row["turns"]:
        speaker = str(turn["speaker"])
        role: Literal["user", "assistant"] = "assistant" if speaker.lower() == "assistant" else "user"
        message = Message(
            id=f"{prefix}{turn['id']}",
            role=role,
            name=None if speaker.lower() in {"user", "assistant"} else speaker,
            text=turn["text"],
            said_at=times.next(when(turn["date"])),
        )
        sessions.setdefault(f"{prefix}{turn['sess']}", []).append(message)
    return Conversation(
        id=row["conv_id"],
        user_id=row["conv_id"],
        sessions=tuple(
            Session(id=name, date=listed[0].said_at, messages=tuple(listed)) for name, listed in sessions.items()
        ),
        questions=tuple(_question(asked, prefix) for asked in row["questions"]),
    )


def _question(row: Row, prefix: str) -> Question:
    answered = row["cat"] != "abstention"
    date, after = row.get("date"), row.get("upto")
    return Question(
        id=row["qid"],
        category=row["cat"],
        text=row["q"],
        asked_at=None if date is None else when(date),
        after=None if after is None else int(after),
        gold=frozenset(f"{prefix}{turn}" for turn in row["gold"] if answered),
        gold_sessions=frozenset(f"{prefix}{session}" for session in row["gold_sess"] if answered),
        answer=read_gold(row),
    )


def _longmemeval(questions: _File, sessions: _File) -> DataSet:
    stored = {row["id"]: row for row in sessions.rows(_session)}

    def conversation(row: Row) -> Conversation:
        if unknown := sorted({name for name, _ in row["haystack"]} - stored.keys()):
            raise ValueError(f"question {row['qid']} has sessions that {sessions.path} has not, e.g. {unknown[0]}")
        return _haystack(row, stored)

    found = questions.rows(conversation)
    name = _name(questions.path).removesuffix("questions").rstrip("_-")
    return DataSet(name=name or "longmemeval", format="LongMemEval", conversations=tuple(found))


def _session(row: Row) -> Row:
    """A row of sessions as it is, if it has what a session has."""
    for turn in row["turns"]:
        _ = turn["role"], turn["text"], turn["has_answer"]
    _ = row["id"]
    return row


def _haystack(row: Row, stored: Mapping[str, Row]) -> Conversation:
    """A question with the history it is asked about, which is its own user's."""
    times = _Times()
    sessions = []
    for name, date in row["haystack"]:
        messages = tuple(
            Message(
                id=f"{name}#{place}",
                role="assistant" if turn["role"] == "assistant" else "user",
                name=None,
                text=turn["text"],
                said_at=times.next(when(date)),
            )
            for place, turn in enumerate(stored[name]["turns"])
        )
        sessions.append(Session(id=name, date=when(date), messages=messages))
    answers = [] if row["abs"] else row["gold_sess"]
    gold = {
        f"{name}#{place}" for name in answers for place, turn in enumerate(stored[name]["turns"]) if turn["has_answer"]
    }
    question = Question(
        id=row["qid"],
        category=row["cat"],
        text=row["q"],
        asked_at=when(row["date"]),
        after=None,
        gold=frozenset(gold),
        gold_sessions=frozenset(answers),
        answer=read_gold(row),
    )
    return Conversation(id=row["qid"], user_id=row["qid"], sessions=tuple(sessions), questions=(question,))
