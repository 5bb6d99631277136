"""What a user's memory holds, as arrays: words, vectors, times, speakers, neighbours."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from lamina.language.dates import windows
from lamina.search.arrays import Floats, Growing, ranges
from lamina.search.terms import Terms
from lamina.search.vectors import Vectors

KINDS = ("message", "summary", "fact", "episode")
USER, ASSISTANT, OTHER = 0, 1, 2
ROLES = {"user": USER, "assistant": ASSISTANT, "system": 3, "developer": 4, "tool": 5}  # none, or any else: OTHER
ASKS, NUMBER, FIRST_PERSON, STANDING, LIKING, LIKES = 1, 2, 4, 8, 16, 32  # what a text has, as bits

WordVectors = Callable[[Sequence[str]], Any]

_NUMBER = re.compile(r"\d")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|my|we|our|ich|mein|wir|yo|mi|nosotros)\b", re.IGNORECASE)
_LIKING = re.compile(
    r"\b(?:(?:i|we)(?:'d)?(?: \w+)? (?:prefer|like|love|enjoy|hate|dislike|want|avoid|need|favou?r|value)"
    r"|prefer(?:ence|red)?|my favou?rite|ich (?:mag|bevorzuge|liebe|hasse)|lieblings\w+"
    r"|me (?:gusta|encanta)|prefiero|favorit[oa])\b",
    re.IGNORECASE,
)
_SAID_EARLY = 600  # characters
_APART = 5  # messages of a session between which more are missing are no neighbours
_READ = 20_000  # characters of a text that are looked at
_HALF = 32  # bits of a number that holds two
_NAMED = 240  # bytes for each name, in lists and tables of names
_TAIL = 20_000  # places of words that are searched one by one before all are sorted anew


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
    standing: bool = False  # something that holds for all replies was said in it
    liking: bool = False  # what someone likes or wants was said in it
    key: str | None = None  # of a fact: what it is about


class Catalogue:
    """Things that can be found, in the order they came. Rows are never moved; what is gone is marked."""

    def __init__(self, dimensions: int, word_vectors: WordVectors, word_dimensions: int | None = None) -> None:
        self._word_vectors = word_vectors
        self.dimensions = dimensions
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self.speakers: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self._terms = Terms()
        self.terms = self._terms.numbers
        self._names: list[str] = []  # speakers by number
        self._spoken: list[int] = []  # how many things each of them said
        self.kind, self.role, self.has = Growing(np.uint8), Growing(np.uint8), Growing(np.uint8)
        self.alive = Growing(np.bool_)
        self.session, self.seq, self.speaker = Growing(np.int32), Growing(np.int32), Growing(np.int32)
        self.before, self.after = Growing(np.int32), Growing(np.int32)
        self.length, self.size = Growing(np.int32), Growing(np.int32)
        self.at, self.importance = Growing(np.float64), Growing(np.float32)
        self.vectors = Vectors(dimensions)
        self.spoken_row, self.spoken_of = Growing(np.int32), Growing(np.float64, 2)
        self.keyed: dict[str, list[int]] = {}  # key of facts, and its first word -> rows
        self.messages = 0
        self.having = Growing(np.int32)  # term -> how many messages have it
        self.term_vectors = Growing(np.float32, word_dimensions or dimensions)
        self._term, self._row, self._times = Growing(np.int32), Growing(np.int32), Growing(np.uint16)
        self._order = np.zeros(0, dtype=np.int32)  # places of words, sorted by term
        self._first = np.zeros(1, dtype=np.int64)  # term -> its first place in that order
        self._last: dict[int, int] = {}  # session -> its newest row
        self.wordy = np.zeros(2)  # characters by users and by assistants
        self.talk = np.zeros(2)  # messages by users and by assistants

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        arrays = [value for value in vars(self).values() if isinstance(value, Growing | Vectors)]
        named = _NAMED * (len(self.ids) + self._terms.names + len(self.sessions))
        return sum(array.nbytes for array in arrays) + self._order.nbytes + self._first.nbytes + named

    def least_bytes(self, messages: int) -> int:
        """What so many messages take at least, whatever they say."""
        return messages * (self.dimensions + _NAMED)

    @property
    def assisted(self) -> float:
        """How much this looks like a user with an assistant that writes long replies: 0 not at all, 1 wholly."""
        if self.talk.min() < 1:
            return 0.0
        usual = self.wordy / self.talk
        return float(np.clip((usual[1] / max(usual[0], 1.0) - 1.5) / 1.5, 0.0, 1.0))

    # what changes

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in what is new; of what is here already the older row is gone."""
        fresh = list({entry.id: entry for entry in entries}.values())
        if not fresh:
            return
        self.remove(entry.id for entry in fresh)
        first = len(self.ids)
        found = [self._terms.of(entry.text[:_READ]) for entry in fresh]
        self._learn()
        self._place(fresh)
        self._fill(fresh, [len(one) for one in found])
        self._note_words(fresh, found, first)
        spoken = [
            (row, window) for row, entry in enumerate(fresh, first) for window in windows(entry.text[:_READ], entry.at)
        ]
        if spoken:
            self.spoken_row.add([row for row, _ in spoken])
            self.spoken_of.add([[window.start.timestamp(), window.end.timestamp()] for _, window in spoken])

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
                self._spoken[speaker] -= 1
                if not self._spoken[speaker]:
                    del self.speakers[self._names[speaker]]

    def _uncount(self, row: int) -> None:
        """Take a message out of what is counted, and out of its place between others."""
        self.having.all[self._term.all[self._row.all == row]] -= 1
        self.messages -= 1
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
        """Say of messages what standing facts they hold (STANDING, LIKING), and of all others that they hold none."""
        has = self.has.all
        has &= np.uint8(0xFF ^ (STANDING | LIKING))
        for key, bits in marks.items():
            if key in self.rows:
                has[self.rows[key]] |= np.uint8(bits)

    def count_as(self, messages: int, having: Mapping[str, int]) -> None:
        """Count words as in all that there is, of which this is a part."""
        self.messages = messages
        for term, many in having.items():
            if term in self.terms:
                self.having.all[self.terms[term]] = many

    def _learn(self) -> None:
        """Take in new terms, and other words that stand for known ones."""
        if better := self._terms.respelled():
            new = len(self._terms) - len(self.having)
            self.having.add(np.zeros(new))
            self.term_vectors.add(np.zeros((new, self.term_vectors.all.shape[1])))
            self.term_vectors.all[list(better)] = comparable(list(better.values()), self._word_vectors)

    def _note_words(self, fresh: Sequence[Entry], found: Sequence[Sequence[int]], first: int) -> None:
        rows = np.repeat(np.arange(first, first + len(found), dtype=np.int64), [len(one) for one in found])
        terms = np.fromiter(itertools.chain.from_iterable(found), dtype=np.int64, count=len(rows))
        places, times = np.unique(rows << _HALF | terms, return_counts=True)
        rows, terms = places >> _HALF, places & ((1 << _HALF) - 1)
        self._term.add(terms)
        self._row.add(rows)
        self._times.add(times)
        said = np.array([entry.kind == "message" for entry in fresh])
        self.having.all[:] += np.bincount(terms[said[rows - first]], minlength=len(self.having))
        self.messages += int(said.sum())

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
        self.ids.extend(entry.id for entry in fresh)
        self.rows.update({entry.id: row for row, entry in enumerate(fresh, first)})
        for row, entry in enumerate(fresh, first):
            key = (entry.key or "").lower()
            for name in {key, key.partition(" ")[0]} - {""}:
                self.keyed.setdefault(name, []).append(row)
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
            self._spoken.append(0)
        self._spoken[number] += 1
        return number

    # where words are

    def places(self, terms: Any) -> tuple[Any, Any, Any]:
        """Where some terms stand, given by number and in the order asked: which of them, rows, how often there."""
        terms = np.asarray(terms, dtype=np.int64)
        self._sorted()
        known = terms < len(self._first) - 1
        starts = np.where(known, self._first[np.minimum(terms, len(self._first) - 2)], 0) if known.any() else 0 * terms
        lengths = np.where(known, self._first[np.minimum(terms + 1, len(self._first) - 1)] - starts, 0)
        main = self._order[ranges(starts, lengths)] if lengths.any() else np.zeros(0, dtype=np.int64)
        which = np.repeat(np.arange(len(terms)), lengths)
        if (done := len(self._order)) < len(self._term):
            asked = np.full(len(self.terms), -1, dtype=np.int64)
            asked[terms] = np.arange(len(terms))
            late = asked[self._term.all[done:]]
            (extra,) = np.nonzero(late >= 0)
            which, main = np.concatenate([which, late[extra]]), np.concatenate([main, extra + done])
        return which, self._row.all[main], self._times.all[main].astype(np.float32)

    def rarity(self, having: Any) -> Floats:
        """How rare terms are that so many messages have."""
        having = np.asarray(having, dtype=np.float32)
        return np.asarray(np.log(1 + (self.messages - having + 0.5) / (having + 0.5)), dtype=np.float32)

    def _sorted(self) -> None:
        size = len(self._term)
        if size - len(self._order) <= max(_TAIL, len(self._order) // 4):
            return
        terms = self._term.all
        self._order = np.argsort(terms, kind="stable").astype(np.int32)
        self._first = np.searchsorted(terms[self._order], np.arange(len(self.terms) + 1))


def comparable(told: Sequence[str], word_vectors: WordVectors) -> Floats:
    """Vectors of words; numbers and names with figures in them are like nothing but themselves."""
    vectors = np.array(word_vectors(told), dtype=np.float32).reshape(len(told), -1)
    vectors[[_NUMBER.search(word) is not None for word in told]] = 0
    return vectors


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


def alike(catalogue: Catalogue, vectors: Floats) -> Floats:
    """How alike each term is to each of these words: one row a word."""
    return np.asarray((catalogue.term_vectors.all @ vectors.T).T, dtype=np.float32)
