"""What can be found of a user, as arrays: words, vectors, times, speakers, neighbours."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from lamina.knowledge.fact_words import normalise_value, spoken_words
from lamina.language.dates import windows
from lamina.search.bm25 import NUMBER as _NUMBER
from lamina.search.bm25 import WordIndex, WordVectors
from lamina.search.vectors import Growing, Vectors
from lamina.values.fact import Episode, Fact
from lamina.values.message import SEARCHED, Message
from lamina.values.summary import Summary

Item = Message | Summary | Fact | Episode

KINDS = ("message", "summary", "fact", "episode")
USER, ASSISTANT, OTHER = 0, 1, 2
ROLES = {"user": USER, "assistant": ASSISTANT, "system": 3, "developer": 4, "tool": 5}  # none, or any else: OTHER
ASKS, NUMBER, FIRST_PERSON, STANDING, LIKING, LIKES = 1, 2, 4, 8, 16, 32  # what a text has, as bits
# What facts of these kinds say is true for every reply, or for every choice.
MARKS = {"instruction": STANDING, "constraint": STANDING, "preference": LIKING, "goal": LIKING}

_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|my|we|our|ich|mein|wir|yo|mi|nosotros)\b", re.IGNORECASE)
_LIKING = re.compile(
    r"\b(?:(?:i|we)(?:'d)?(?: \w+)? (?:prefer|like|love|enjoy|hate|dislike|want|avoid|need|favou?r|value)"
    r"|prefer(?:ence|red)?|my favou?rite|ich (?:mag|bevorzuge|liebe|hasse)|lieblings\w+"
    r"|me (?:gusta|encanta)|prefiero|favorit[oa])\b",
    re.IGNORECASE,
)
_SAID_EARLY = 600  # characters
_APART = 5  # messages of a session between which more are missing are no neighbours
_READ = 20_000  # characters of a text that are looked at for times and shape; all words count
_LONGEST = 4_000  # terms: longer texts count as this long, so that they make no other text seem short
_NAMED = 240  # bytes for each name, in lists and tables of names


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that can be found."""

    id: str
    kind: str
    text: str
    at: datetime
    session: str  # what belongs to no session is alone in one of its own
    seq: int = 0
    role: str | None = None
    speaker: str | None = None
    importance: float = 0.5
    standing: bool = False  # something that is true for all replies was said in it
    liking: bool = False  # what someone likes or wants was said in it
    key: str | None = None  # of a fact: what it is about
    person: str | None = None  # of a fact: who, if not the user


def entry_of(item: Item) -> Entry:
    """The entry of something; only messages have neighbours, everything else stands alone."""
    own: dict[str, Any] = {"id": item.id, "text": text_of(item), "session": f"alone {item.id}"}
    if isinstance(item, Message):
        own["session"] = f"session {item.session_id}"
        return Entry(kind="message", at=item.created_at, seq=item.seq, role=item.role, speaker=item.name, **own)
    if isinstance(item, Fact):
        own |= {"seq": item.seq, "importance": item.importance, "key": item.key if item.about is None else None}
        return Entry(kind="fact", at=item.learnt_at, role="user", person=item.about, **own)
    if isinstance(item, Episode):
        return Entry(kind="episode", at=item.happened_at, importance=item.significance, **own)
    return Entry(kind="summary", at=item.updated_at, **own)


def text_of(item: Item) -> str:
    """What can be found of it: of facts and episodes, also what they are."""
    if isinstance(item, Fact):
        words = _key_and_value(item)
        quote = item.quote if item.value not in item.quote or len(item.quote) > len(words) else ""
        return " ".join(filter(None, (item.about, item.category, words, item.scope, item.question, quote, *item.tags)))
    if isinstance(item, Episode):
        return f"{item.kind.replace('_', ' ')} {describe_episode(item)}"
    return item.text


def hash_words(entry: Entry) -> int:
    """A number that messages share if the same speaker says the same in them, whatever case, spaces and last sign."""
    words = (entry.kind, entry.role, entry.speaker, spoken_words(entry.text) if entry.kind == "message" else entry.id)
    found = hashlib.blake2b(repr(words).encode("utf-8", "backslashreplace"), digest_size=8)
    return int.from_bytes(found.digest(), signed=True)


def _key_and_value(fact: Fact) -> str:
    """What a fact is asked by: all words of its key, its value and its reason."""
    named = fact.key and normalise_value(fact.key) not in normalise_value(fact.value)
    words = f"{fact.key}: {fact.value}" if named else fact.value
    return words if fact.reason is None else f"{words} (because {fact.reason})"


def describe_episode(episode: Episode) -> str:
    return episode.summary if episode.title in episode.summary else f"{episode.title}. {episode.summary}"


def marks_of(facts: Iterable[Fact]) -> Mapping[str, int]:
    """What standing facts each message has."""
    marks: dict[str, int] = {}
    for fact in facts:
        if fact.message_id and fact.category in MARKS and fact.status in {"active", "conflicted", "candidate"}:
            marks[fact.message_id] = marks.get(fact.message_id, 0) | MARKS[fact.category]
    return marks


class Index:
    """Things that can be found, in the order they came. Rows are never moved; what is gone is marked."""

    def __init__(self, dimensions: int, word_vectors: WordVectors, word_dimensions: int | None = None) -> None:
        self.dimensions = dimensions
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self.speakers: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self._names: list[str] = []  # speakers by number
        self._speaker_counts: list[int] = []  # how many things each of them said
        self.kind, self.role, self.has = Growing(np.uint8), Growing(np.uint8), Growing(np.uint8)
        self.alive = Growing(np.bool_)
        self.session, self.seq, self.speaker = Growing(np.int32), Growing(np.int32), Growing(np.int32)
        self.before, self.after = Growing(np.int32), Growing(np.int32)
        self.length, self.size = Growing(np.int32), Growing(np.int32)
        self.same = Growing(np.int64)  # equal of messages in which one speaker says the same
        self.at, self.importance = Growing(np.float64), Growing(np.float32)
        self.time_rows, self.time_spans = Growing(np.int32), Growing(np.float64, 2)  # times that texts mention
        self.keyed: dict[str, list[int]] = {}  # key of facts, and its first word -> rows
        self.people: dict[str, list[int]] = {}  # whom facts are about, if not the user -> rows
        self.words = WordIndex(word_vectors, word_dimensions or dimensions)
        self.vectors = Vectors(dimensions)
        self._last: dict[int, int] = {}  # session -> its newest row
        self.wordy = np.zeros(2)  # characters by users and by assistants
        self.talk = np.zeros(2)  # messages by users and by assistants

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        arrays = [value for value in vars(self).values() if isinstance(value, Growing | Vectors | WordIndex)]
        named = _NAMED * (len(self.ids) + self.words.names + len(self.sessions))
        return sum(array.nbytes for array in arrays) + named

    def min_bytes(self, messages: int) -> int:
        """What so many messages take at least, whatever they say."""
        return messages * (self.dimensions + _NAMED)

    @property
    def assisted(self) -> float:
        """How much this looks like a user with an assistant that writes long replies: 0 not at all, 1 wholly."""
        if self.talk.min() < 1:
            return 0.0
        usual = self.wordy / self.talk
        return float(np.clip((usual[1] / max(usual[0], 1.0) - 1.5) / 1.5, 0.0, 1.0))

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in what is new; of what is here already the older row is gone."""
        fresh = list({entry.id: entry for entry in entries}.values())
        if not fresh:
            return
        self.remove(entry.id for entry in fresh)
        first = len(self.ids)
        texts = [entry.text[:SEARCHED] for entry in fresh]
        lengths = self.words.add(texts, first, [entry.kind == "message" for entry in fresh])
        self._place(fresh)
        self._fill(fresh, [min(length, _LONGEST) for length in lengths])
        times = [
            (row, window)
            for row, (entry, text) in enumerate(zip(fresh, texts, strict=True), first)
            for window in windows(text[:_READ], entry.at)
        ]
        if times:
            self.time_rows.add([row for row, _ in times])
            self.time_spans.add([[window.start.timestamp(), window.end.timestamp()] for _, window in times])

    def remove(self, ids: Iterable[str]) -> None:
        """What is gone is found no more; its words no longer count."""
        for gone in ids:
            row = self.rows.pop(gone, None)
            if row is None:
                continue
            self.alive.all[row] = False
            if self.kind.all[row] == 0:
                self._uncount(row)
            if (speaker := int(self.speaker.all[row])) >= 0:
                self._speaker_counts[speaker] -= 1
                if not self._speaker_counts[speaker]:
                    del self.speakers[self._names[speaker]]

    def _uncount(self, row: int) -> None:
        """Take a message out of what is counted, and out of its place between others."""
        self.words.remove_message(row)
        if (role := int(self.role.all[row])) in {USER, ASSISTANT}:
            self.wordy[role] -= self.size.all[row]
            self.talk[role] -= 1
        before, after = int(self.before.all[row]), int(self.after.all[row])
        session = int(self.session.all[row])
        if self._last.get(session) == row:
            self._last[session] = before
        apart = before >= 0 and after >= 0 and self.seq.all[after] - self.seq.all[before] > _APART
        if before >= 0:
            self.after.all[before] = -1 if apart else after
        if after >= 0:
            self.before.all[after] = -1 if apart else before

    def set_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Give rows their vectors; those of things that are not here are left out."""
        known = [(self.rows[key], vector) for key, vector in vectors.items() if key in self.rows]
        if known:
            self.vectors.put([row for row, _ in known], [vector for _, vector in known])

    def note(self, entries: Iterable[Entry]) -> None:
        """Take over what may change of a thing in the same words: its time and its importance."""
        for entry in entries:
            if (row := self.rows.get(entry.id)) is not None:
                self.at.all[row], self.importance.all[row] = entry.at.timestamp(), entry.importance

    def mark(self, marks: Mapping[str, int]) -> None:
        """Say of messages what standing facts they have (STANDING, LIKING), and of all others that they have none."""
        has = self.has.all
        has &= np.uint8(0xFF ^ (STANDING | LIKING))
        for key, bits in marks.items():
            if key in self.rows:
                has[self.rows[key]] |= np.uint8(bits)

    def _place(self, fresh: Sequence[Entry]) -> None:
        """Give each its row, behind the newest of its session."""
        first = len(self.ids)
        sessions = [self.sessions.setdefault(entry.session, len(self.sessions)) for entry in fresh]
        before = [-1] * len(fresh)
        for place, (entry, session) in enumerate(zip(fresh, sessions, strict=True)):
            if entry.kind == "message":
                last = self._last.get(session, -1)
                seq = fresh[last - first].seq if last >= first else self.seq.all[last] if last >= 0 else entry.seq
                before[place] = last if entry.seq - seq <= _APART else -1
                self._last[session] = first + place
        for row, entry in enumerate(fresh, first):
            self.ids.append(entry.id)
            self.rows[entry.id] = row
            key = (entry.key or "").lower()
            for name in {key, key.partition(" ")[0]} - {""}:
                self.keyed.setdefault(name, []).append(row)
            if entry.person is not None:
                self.people.setdefault(normalise_value(entry.person), []).append(row)
        self.session.add(sessions)
        self.before.add(before)
        self.after.add(np.full(len(fresh), -1))
        followed = np.array(before)
        self.after.all[followed[followed >= 0]] = np.flatnonzero(followed >= 0) + first

    def _fill(self, fresh: Sequence[Entry], lengths: Sequence[int]) -> None:
        roles = [ROLES.get(entry.role or "", OTHER) for entry in fresh]
        self.kind.add([KINDS.index(entry.kind) for entry in fresh])
        self.role.add(roles)
        self.has.add([_has(entry) for entry in fresh])
        self.seq.add([entry.seq for entry in fresh])
        self.same.add([hash_words(entry) for entry in fresh])
        self.at.add([entry.at.timestamp() for entry in fresh])
        self.importance.add([entry.importance for entry in fresh])
        self.length.add(lengths)
        self.size.add([len(entry.text) for entry in fresh])
        self.speaker.add([self._speaker(entry.speaker) for entry in fresh])
        self.alive.add(np.ones(len(fresh)))
        self.vectors.add(len(fresh))
        for entry, role in zip(fresh, roles, strict=True):
            if role in {USER, ASSISTANT} and entry.kind == "message":
                self.wordy[role] += len(entry.text)
                self.talk[role] += 1

    def _speaker(self, name: str | None) -> int:
        if not name:
            return -1
        number = self.speakers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
            self._speaker_counts.append(0)
        self._speaker_counts[number] += 1
        return number


def _has(entry: Entry) -> int:
    text = entry.text[:_READ]
    return (
        ASKS * text.rstrip().endswith(("?", "\uff1f"))
        | NUMBER * bool(_NUMBER.search(text))
        | FIRST_PERSON * bool(_FIRST_PERSON.search(text))
        | STANDING * entry.standing
        | LIKING * entry.liking
        | LIKES * bool(_LIKING.search(text[:_SAID_EARLY]))
    )
