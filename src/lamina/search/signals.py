"""What speaks for each row of a catalogue: its words, its meaning, its neighbours, who said it and when."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina.search.arrays import Flags, Floats, Whole, unit
from lamina.search.index import (
    ASKS,
    ASSISTANT,
    FIRST_PERSON,
    LIKES,
    LIKING,
    NUMBER,
    STANDING,
    USER,
    Catalogue,
    alike,
)
from lamina.search.question import Question

WHOLE = 2_000  # rows that are all looked at closely
CLOSE = 400  # of more rows, so many of the best are
_MOST_WORDS = 32
_NEAR, _STEEP = 0.3, 1.3  # from which likeness on two words mean something alike, and how much less the farther off
_BEFORE, _AFTER = (0.7, 0.5, 0.35), (0.4, 0.3)  # how much of a neighbour's words counts, one turn away, two, …
_BEFORE_MEANT, _AFTER_MEANT = (0.6, 0.4, 0.25), (0.3, 0.2)
_FLAT, _EVEN, _K1 = 0.3, 1.0, 1.2
_DAY = 86_400.0
_RELATED_WORDS, _RELATED_MEANING = 0.02, 0.12  # what a row has at least of what is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """For each candidate row, what speaks for it: `table` has a column for each of `NAMES`."""

    rows: Whole
    table: Floats
    shares: Floats  # how much of the question's words a row has itself, 0 to 1
    around: Floats  # the same with the rows around it
    exact: Floats  # how much of the very words
    cosines: Floats
    dated: Flags  # whether a row is of the time that is asked about


NAMES = (
    "near_even", "near_share", "meant", "meant_core",
    "near_around", "words_around", "share_around", "meant_around",
    "near_before", "near_after", "meant_before", "meant_after", "words_before", "words_after",
    "near_before_2", "near_after_2", "meant_before_2", "meant_after_2",
    "opens", "session_share", "session_best", "session_three", "session_around", "session_near", "session_first",
    "speaker", "other_speaker",
    "user", "user_asked_you", "user_many", "near_assistant", "meant_assistant", "length_assistant",
    "length", "length_usual", "near_length", "asks", "number", "number_asked", "first_person",
    "many_length", "many_session", "many_meant", "many_first",
    "standing", "liking", "standing_request", "liking_request", "standing_meant", "liking_meant",
    "dated", "dated_spoken", "late_last", "early_first",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with its vectors."""

    question: Question
    vector: Floats | None  # of the whole question, without names; None: not known
    words: Floats  # of each of its words
    one_space: bool = True  # whether the vectors of words and of texts can be compared


def related(signals: Signals, words: Floats) -> Flags:
    """Which rows have anything of what is asked: of its words, as given, of its meaning or of its time."""
    meant = signals.cosines >= _RELATED_MEANING
    return np.asarray((words >= _RELATED_WORDS) | meant | (signals.exact > 0) | signals.dated, dtype=np.bool_)


def gathered(catalogue: Catalogue, asked: Asked, allowed: Flags) -> Signals:
    """What speaks for the rows that are allowed and come into question."""
    near, exact = _matches(catalogue, asked)
    rare = exact.rare
    vectors, cosines = catalogue.vectors, np.zeros(len(catalogue), dtype=np.float32)
    if asked.vector is not None and len(catalogue):
        cosines = np.maximum(vectors.cosines(asked.vector, allowed), 0)
    rows = _candidates(catalogue, near, rare, cosines, allowed)
    if asked.vector is not None and vectors.rough:  # found by words: their meaning counts too
        cosines[rows] = np.maximum(vectors.of(rows) @ asked.vector, 0)
    look = _Look(catalogue, rows, allowed)
    return _signals(look, asked, near[:, rows], exact, cosines[rows], rare)


@dataclass(frozen=True, slots=True)
class _Exact:
    """Where the question's own terms stand."""

    which: Any
    rows: Any
    times: Any
    rare: Floats  # how rare each term is


def _matches(catalogue: Catalogue, asked: Asked) -> tuple[Floats, _Exact]:
    """How near each row has each word of the question, 0 to 1; and where the very words are."""
    question, size = asked.question, len(catalogue)
    terms = question.terms[:_MOST_WORDS]
    numbers = np.array([catalogue.terms.get(term, -1) for term in terms], dtype=np.int64)
    rare = catalogue.rarity([catalogue.having.all[number] if number >= 0 else 0 for number in numbers])
    known = np.flatnonzero(numbers >= 0)
    which, rows, times = catalogue.places(numbers[known])
    exact = _Exact(known[which], rows, times, rare)
    near = np.zeros((len(terms), size), dtype=np.float32)
    if len(terms) and len(catalogue.terms):
        likeness = alike(catalogue, asked.words[: len(terms)])
        for place, number in enumerate(numbers):
            near[place] = _nearest(catalogue, likeness[place], int(number))
    near[:, _sought(catalogue, question)] = 1
    return near, exact


def _sought(catalogue: Catalogue, question: Question) -> list[int]:
    """The rows of facts under the keys that a question is after: they have all of its words, and its meaning."""
    return [row for key in question.sought for row in catalogue.keyed.get(key, ())]


def _nearest(catalogue: Catalogue, likeness: Floats, own: int) -> Floats:
    """For each row, how near its nearest word is."""
    found = np.zeros(len(catalogue), dtype=np.float32)
    (terms,) = np.nonzero(likeness > _NEAR)
    values = ((likeness[terms] - _NEAR) / (1 - _NEAR)) ** _STEEP
    if own >= 0:
        terms, values = np.append(terms[terms != own], own), np.append(values[terms != own], 1.0)
    order = np.argsort(values, kind="stable")
    which, rows, _ = catalogue.places(terms[order])
    again = np.argsort(which, kind="stable")  # the nearest is written last
    found[rows[again]] = np.minimum(values[order], 1.0)[which[again]]
    return found


def _candidates(catalogue: Catalogue, near: Floats, rare: Floats, cosines: Floats, allowed: Flags) -> Whole:
    """The rows to look at closely: all, or the best with those around them."""
    (rows,) = np.nonzero(allowed)
    if len(rows) <= WHOLE:
        return rows.astype(np.int32)
    words = rare @ near
    rough = topped(words / np.sqrt(10 + catalogue.length.all)) + topped(cosines) + topped(words)
    rough[~allowed] = -1
    best = np.argpartition(-rough, CLOSE)[:CLOSE]
    best = best[rough[best] > 0]
    taken = [best]
    for neighbours, steps in ((catalogue.before.all, len(_BEFORE)), (catalogue.after.all, len(_AFTER))):
        current = best
        for _ in range(steps):
            current = neighbours[current]
            current = current[current >= 0]
            taken.append(current)
    chosen = np.unique(np.concatenate(taken))
    return chosen[allowed[chosen]].astype(np.int32)


class _Look:
    """Candidate rows and who stands next to whom among them."""

    def __init__(self, catalogue: Catalogue, rows: Whole, allowed: Flags) -> None:
        self.catalogue, self.rows = catalogue, rows
        place = np.full(len(catalogue) + 1, -1, dtype=np.int32)
        place[rows] = np.arange(len(rows))
        self.place = place
        self.before = self._chain(catalogue.before.all, place, len(_BEFORE))
        self.after = self._chain(catalogue.after.all, place, len(_AFTER))
        sessions, self.session = np.unique(catalogue.session.all[rows], return_inverse=True)
        self.sessions = len(sessions)
        spoken = catalogue.spoken_row.all
        local = place[spoken]
        self.spoken_row, self.spoken_of = local[local >= 0], catalogue.spoken_of.all[local >= 0]
        messages = allowed & (catalogue.kind.all == 0)
        self.usual = float(catalogue.length.all[messages].mean()) if messages.any() else 1.0

    def _chain(self, neighbour: Whole, place: Whole, steps: int) -> list[Whole]:
        """Where the first, second, … neighbour of each row is among the rows; -1 where there is none."""
        found, current = [], self.rows
        for _ in range(steps):
            current = np.where(current >= 0, neighbour[current], -1)
            found.append(place[current])
        return found

    def of(self, values: Any) -> Any:
        return values[self.rows]

    def having(self, what: int) -> Floats:
        """1 for the rows whose text has something of a kind."""
        return np.asarray(self.of(self.catalogue.has.all) & what > 0, dtype=np.float32)

    def per_session(self, values: Floats) -> Floats:
        """The best of each row's session."""
        best = np.zeros(self.sessions, dtype=np.float32)
        np.maximum.at(best, self.session, values)
        return best

    def three_of_session(self, values: Floats) -> Floats:
        """The sum of the three best of each session."""
        order = np.lexsort((-values, self.session))
        own = self.session[order]
        starts = np.searchsorted(own, np.arange(self.sessions))
        place = np.arange(len(order)) - starts[own]
        kept = order[place < 3]  # noqa: PLR2004 - the name says it
        return np.bincount(self.session[kept], weights=values[kept], minlength=self.sessions).astype(np.float32)


def at(values: Floats, neighbours: Whole) -> Floats:
    """The values of each row's neighbour, 0 where there is none."""
    return np.where(neighbours >= 0, values[neighbours], np.float32(0))


def topped(values: Floats) -> Floats:
    """Shares of the highest."""
    top = values.max(initial=0.0)
    return (values / top if top > 0 else np.zeros_like(values)).astype(np.float32)


def _pooled(near: Floats, look: _Look) -> Floats:
    """For each word, how near it is in a row or, counting less, in those around it."""
    best = near
    for weights, neighbours in ((_BEFORE, look.before), (_AFTER, look.after)):
        for weight, where in zip(weights, neighbours, strict=True):
            best = np.maximum(best, weight * np.where(where >= 0, near[:, where], 0))
    return best


def _around(look: _Look, cosines: Floats) -> Floats:
    """Likeness in meaning of a row together with those around it."""
    total, size = cosines.copy(), np.ones_like(cosines)
    for weights, neighbours in ((_BEFORE_MEANT, look.before), (_AFTER_MEANT, look.after)):
        for weight, where in zip(weights, neighbours, strict=True):
            total += weight * at(cosines, where)
            size += weight * weight * (where >= 0)
    return np.asarray(total / np.sqrt(size), dtype=np.float32)


def _bm25(look: _Look, exact: _Exact, length: Floats) -> tuple[Floats, Floats, Floats]:
    """The word score with little and with full regard to length; and which rows have which term."""
    where = look.place[exact.rows]
    which, where, times = exact.which[where >= 0], where[where >= 0], exact.times[where >= 0]
    scores = []
    for regard in (_FLAT, _EVEN):
        gain = exact.rare[which] * times * (_K1 + 1) / (times + _K1 * (1 - regard + regard * length[where]))
        scores.append(np.bincount(where, weights=gain, minlength=len(look.rows)).astype(np.float32))
    has = np.zeros((len(exact.rare), len(look.rows)), dtype=np.float32)
    has[which, where] = 1
    return scores[0], scores[1], has


def _signals(look: _Look, asked: Asked, near: Floats, exact: _Exact, cosines: Floats, rare: Floats) -> Signals:
    if not len(look.rows):
        table = np.zeros((0, len(NAMES)), dtype=np.float32)
        return Signals(
            rows=look.rows,
            table=table,
            shares=cosines,
            around=cosines,
            exact=cosines,
            cosines=cosines,
            dated=cosines > 0,
        )
    s = _own(look, asked, near, exact, cosines, rare)
    s |= _neighbours(look, s)
    s |= _sessions(look, s, near, rare)
    s |= _who(look, asked.question, s)
    s |= _shape(look, asked.question, s)
    s |= _times(look, asked.question)
    table = np.stack([np.asarray(s[name], dtype=np.float32) for name in NAMES], axis=1)
    return Signals(
        rows=look.rows,
        table=table,
        shares=s["near_share"],
        around=s["share_around"],
        exact=s["exact"],
        cosines=cosines,
        dated=(s["dated"] > 0) | (s["dated_spoken"] > 0),
    )


def _own(look: _Look, asked: Asked, near: Floats, exact: _Exact, cosines: Floats, rare: Floats) -> dict[str, Any]:
    """What a row says, and what it says together with those around it."""
    total = max(float(rare.sum()), 1e-6)
    relative = look.of(look.catalogue.length.all).astype(np.float32) / max(look.usual, 1.0)
    flat, even, has_term = _bm25(look, exact, relative)
    share, pooled = rare @ near / total, rare @ _pooled(near, look)
    nearest, nearest_around = topped(share), topped(pooled)
    meant, around = topped(cosines), topped(_around(look, cosines))
    core = topped(_core(look, asked, rare)) if asked.one_space else meant
    after = look.place[_sought(look.catalogue, asked.question)]
    meant[after[after >= 0]] = core[after[after >= 0]] = 1
    return {
        "words_flat": topped(flat),
        "words_even": topped(even),
        "near": nearest,
        "near_share": share,
        "exact": rare @ has_term / total,
        "near_even": topped(share / (1 + 0.5 * relative)),
        "near_length": nearest * np.minimum(relative, 4) / 4,
        "meant": meant,
        "meant_core": core,
        "near_around": nearest_around,
        "share_around": pooled / total,
        "words_around": topped(rare @ _pooled(has_term, look)),
        "meant_around": around,
    }


def _neighbours(look: _Look, s: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, of in (("near", s["near"]), ("meant", s["meant"]), ("words", s["words_flat"])):
        found[f"{name}_before"], found[f"{name}_after"] = at(of, look.before[0]), at(of, look.after[0])
        if name != "words":
            found[f"{name}_before_2"], found[f"{name}_after_2"] = at(of, look.before[1]), at(of, look.after[1])
    found["opens"] = (look.before[0] < 0).astype(np.float32)
    return found


def _sessions(look: _Look, s: Mapping[str, Any], near: Floats, rare: Floats) -> dict[str, Any]:
    """How well a row's session as a whole answers, and whether the row is the best of it."""
    best = s["words_even"] + s["near"] + s["meant"]
    best_of = look.per_session(best)
    share = np.zeros(look.sessions, dtype=np.float32)
    for weight, word in zip(rare, near, strict=True):
        share += weight * look.per_session(word)
    return {
        "session_share": (share / max(float(rare.sum()), 1e-6))[look.session],
        "session_best": topped(best_of)[look.session],
        "session_three": topped(look.three_of_session(best))[look.session],
        "session_around": topped(look.per_session(s["near_around"] + s["meant_around"]))[look.session],
        "session_near": topped(best_of)[look.session] * s["near_around"],
        "session_first": (best >= best_of[look.session]).astype(np.float32),
    }


def _shape(look: _Look, question: Question, s: Mapping[str, Any]) -> dict[str, Any]:
    """How long a row is and what kinds of things it has, and whether the question asks for those."""
    length = look.of(look.catalogue.length.all).astype(np.float32)
    many, request = np.float32(question.asks_many), np.float32(question.request)
    number, standing, liking = look.having(NUMBER), look.having(STANDING), look.having(LIKING | LIKES)
    size = np.log1p(length) / 5
    return {
        "length": size,
        "length_usual": np.minimum(length / max(look.usual, 1.0), 4) / 4,
        "length_assistant": size * s["assistant"],
        "asks": look.having(ASKS),
        "first_person": look.having(FIRST_PERSON),
        "number": number,
        "number_asked": number * (question.asks_time or question.asks_many),
        "many_length": many * size,
        "many_session": many * s["session_best"],
        "many_meant": many * s["meant"],
        "many_first": many * s["session_first"],
        "user_many": many * s["user"],
        "standing": standing,
        "liking": liking,
        "standing_request": request * standing,
        "liking_request": request * liking,
        "standing_meant": request * standing * s["meant"],
        "liking_meant": request * liking * s["meant"],
    }


def _core(look: _Look, asked: Asked, rare: Floats) -> Floats:
    """Likeness in meaning to the question's own words, the rare ones first."""
    core = unit(rare @ asked.words[: len(rare)])
    return np.asarray(np.maximum(look.catalogue.vectors.of(look.rows) @ core, 0), dtype=np.float32)


def _who(look: _Look, question: Question, s: Mapping[str, Any]) -> dict[str, Any]:
    catalogue, assisted = look.catalogue, np.float32(look.catalogue.assisted)
    speaker, role = look.of(catalogue.speaker.all), look.of(catalogue.role.all)
    named = [catalogue.speakers[name] for name in question.names if name in catalogue.speakers]
    telling = bool(named) and len(named) < len(catalogue.speakers)
    is_named = np.isin(speaker, named) & telling
    user = (role == USER) * assisted
    assistant = (role == ASSISTANT) * assisted
    asked_you = np.float32(question.whose == "assistant")
    return {
        "speaker": is_named.astype(np.float32),
        "other_speaker": (~is_named & (speaker >= 0) & telling).astype(np.float32),
        "user": user,
        "user_asked_you": user * asked_you,
        "assistant": assistant,
        "near_assistant": s["near"] * assistant,
        "meant_assistant": s["meant"] * assistant,
    }


def _times(look: _Look, question: Question) -> dict[str, Any]:
    said = look.of(look.catalogue.at.all)
    dated, spoken = np.zeros(len(said), dtype=np.float32), np.zeros(len(said), dtype=np.float32)
    for window in question.windows:
        start, end = window.start.timestamp(), window.end.timestamp()
        weight = 1.0 if window.exact else 0.5
        dated = np.maximum(dated, weight * ((said >= start) & (said < end)))
        overlaps = (look.spoken_of[:, 0] < end) & (look.spoken_of[:, 1] > start)
        shorter = look.spoken_of[:, 1] - look.spoken_of[:, 0] <= max(2 * (end - start), 3 * _DAY)
        np.maximum.at(spoken, look.spoken_row, (weight * (overlaps & shorter)).astype(np.float32))
    order = said.argsort(kind="stable").argsort(kind="stable") / max(len(said) - 1, 1)
    return {
        "dated": dated.astype(np.float32),
        "dated_spoken": spoken,
        "late_last": order * (question.order == "last"),
        "early_first": (1 - order) * (question.order == "first"),
    }
