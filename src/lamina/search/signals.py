"""What speaks for each row of an index: its words, its meaning, its neighbours, who said it and when."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina.knowledge.fact_words import plain_text
from lamina.search.bm25 import Matches, bm25
from lamina.search.explain import PARTS
from lamina.search.index import ASKS, ASSISTANT, FIRST_PERSON, LIKES, LIKING, NUMBER, STANDING, USER, Index
from lamina.search.question import Question
from lamina.search.vectors import Flags, Floats, Whole, unit

WHOLE = 2_000  # rows that are all looked at closely
CLOSE = 400  # of more rows, so many of the best are
_MAX_WORDS = 32
_NEAR, _STEEP = 0.3, 1.3  # from which likeness on two words mean something alike, and how much less the farther off
_BEFORE, _AFTER = (0.7, 0.5, 0.35), (0.4, 0.3)  # how much of a neighbour's words counts, one turn away, two, …
_BEFORE_MEANT, _AFTER_MEANT = (0.6, 0.4, 0.25), (0.3, 0.2)
_DAY = 86_400.0
_OF_PERSON = 6.0  # how much more it counts whom a fact is about than who said a message
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_SHARED = 2.0  # usual words that a row shares at least with a context that it fits wholly
_RELATED_WORDS, _RELATED_MEANING = 0.02, 0.12  # what a row has at least of what is asked

NAMES = tuple(name for names in PARTS.values() for name in names)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with its vectors."""

    question: Question
    vector: Floats | None  # of the whole question, without names; None: not known
    words: Floats  # of each of its words
    one_space: bool = True  # whether the vectors of words and of texts can be compared


def is_related(signals: Signals, words: Floats) -> Flags:
    """Which rows have anything of what is asked: of its words, as given, of its meaning or of its time."""
    meant = signals.cosines >= _RELATED_MEANING
    return np.asarray((words >= _RELATED_WORDS) | meant | (signals.exact > 0) | signals.dated, dtype=np.bool_)


def gather(index: Index, query: Query, allowed: Flags) -> Signals:
    """What speaks for the rows that are allowed and come into question."""
    matches = index.words.matches(query.question.terms[:_MAX_WORDS])
    key_rows = [row for key in query.question.fact_keys for row in index.keyed.get(key, ())]
    near = _near(index, query, matches)
    near[:, key_rows] = 1  # facts under the keys that are asked for have all of the words, and the meaning
    vectors, cosines = index.vectors, np.zeros(len(index), dtype=np.float32)
    if query.vector is not None and len(index):
        cosines = np.maximum(vectors.cosines(query.vector, allowed), 0)
    rows = _choose(index, matches.rarity, near, cosines, allowed)
    if query.vector is not None and vectors.rough:  # found by words: their meaning counts too
        cosines[rows] = np.maximum(vectors.of(rows) @ query.vector, 0)
    return _signals(_Candidates(index, rows, allowed), query, near[:, rows], matches, cosines[rows], key_rows)


def fit_context(index: Index, context: Query, rows: Whole) -> Floats:
    """How well rows fit a text, 0 to 1, by the words that they share and by their meaning."""
    matches = index.words.matches(context.question.terms[:_MAX_WORDS])
    place = np.full(len(index) + 1, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    _, _, has = bm25(matches, place, np.ones(len(rows), dtype=np.float32))
    shared = matches.rarity @ has
    usual = float(matches.rarity.mean()) if len(matches.rarity) else 1.0
    words = shared / max(float(shared.max(initial=0.0)), _SHARED * usual)
    if context.vector is None:
        return np.asarray(words, dtype=np.float32)
    cosines = np.clip(index.vectors.of(rows) @ context.vector, 0, 1)
    return np.asarray((words + np.where(cosines >= _RELATED_MEANING, cosines, 0)) / 2, dtype=np.float32)


def _near(index: Index, query: Query, matches: Matches) -> Floats:
    """How near each row has each word of the question, 0 to 1: its nearest word counts."""
    near = np.zeros((len(matches.numbers), len(index)), dtype=np.float32)
    if not len(near) or not len(index.words.numbers):
        return near
    likeness = np.asarray((index.words.vectors.all @ query.words[: len(near)].T).T, dtype=np.float32)
    for place, own in enumerate(matches.numbers):
        (alike,) = np.nonzero(likeness[place] > _NEAR)
        terms = index.words.meant.all[alike]
        values = ((likeness[place][alike] - _NEAR) / (1 - _NEAR)) ** _STEEP
        if own >= 0:
            terms, values = np.append(terms[terms != own], own), np.append(values[terms != own], 1.0)
        order = np.argsort(values, kind="stable")
        which, rows, _ = index.words.places(terms[order])
        again = np.argsort(which, kind="stable")  # the nearest is written last
        near[place, rows[again]] = np.minimum(values[order], 1.0)[which[again]]
    return near


def _choose(index: Index, rarity: Floats, near: Floats, cosines: Floats, allowed: Flags) -> Whole:
    """The rows to look at closely: all, or the best with those around them."""
    (rows,) = np.nonzero(allowed)
    if len(rows) <= WHOLE:
        return rows.astype(np.int32)
    words = rarity @ near
    rough = share_of_best(words / np.sqrt(10 + index.length.all)) + share_of_best(cosines) + share_of_best(words)
    rough[~allowed] = -1
    best = np.argpartition(-rough, CLOSE)[:CLOSE]
    best = best[rough[best] > 0]
    chosen = [best]
    for neighbours, steps in ((index.before.all, len(_BEFORE)), (index.after.all, len(_AFTER))):
        current = best
        for _ in range(steps):
            current = neighbours[current]
            current = current[current >= 0]
            chosen.append(current)
    every = np.unique(np.concatenate(chosen))
    return every[allowed[every]].astype(np.int32)


class _Candidates:
    """Candidate rows and who stands next to whom among them."""

    def __init__(self, index: Index, rows: Whole, allowed: Flags) -> None:
        self.index, self.rows = index, rows
        self.place = np.full(len(index) + 1, -1, dtype=np.int32)
        self.place[rows] = np.arange(len(rows))
        self.before = self._chain(index.before.all, len(_BEFORE))
        self.after = self._chain(index.after.all, len(_AFTER))
        sessions, self.session = np.unique(index.session.all[rows], return_inverse=True)
        self.sessions = len(sessions)
        local = self.place[index.time_rows.all]
        self.time_rows, self.time_spans = local[local >= 0], index.time_spans.all[local >= 0]
        messages = allowed & (index.kind.all == 0)
        self.usual = float(index.length.all[messages].mean()) if messages.any() else 1.0
        self.length = index.length.all[rows].astype(np.float32)

    def _chain(self, neighbour: Whole, steps: int) -> list[Whole]:
        """Where the first, second, … neighbour of each row is among the rows; -1 where there is none."""
        found, current = [], self.rows
        for _ in range(steps):
            current = np.where(current >= 0, neighbour[current], -1)
            found.append(self.place[current])
        return found

    def having(self, what: int) -> Floats:
        """1 for the rows whose text has something of a kind."""
        return np.asarray(self.index.has.all[self.rows] & what > 0, dtype=np.float32)

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


def share_of_best(values: Floats) -> Floats:
    """Shares of the highest."""
    top = values.max(initial=0.0)
    return (values / top if top > 0 else np.zeros_like(values)).astype(np.float32)


def _pool(near: Floats, rows: _Candidates) -> Floats:
    """For each word, how near it is in a row or, counting less, in those around it."""
    best = near
    for weights, neighbours in ((_BEFORE, rows.before), (_AFTER, rows.after)):
        for weight, where in zip(weights, neighbours, strict=True):
            best = np.maximum(best, weight * np.where(where >= 0, near[:, where], 0))
    return best


def _meaning_around(rows: _Candidates, cosines: Floats) -> Floats:
    """Likeness in meaning of a row together with those around it."""
    total, size = cosines.copy(), np.ones_like(cosines)
    for weights, neighbours in ((_BEFORE_MEANT, rows.before), (_AFTER_MEANT, rows.after)):
        for weight, where in zip(weights, neighbours, strict=True):
            total += weight * at(cosines, where)
            size += weight * weight * (where >= 0)
    return np.asarray(total / np.sqrt(size), dtype=np.float32)


def _signals(
    rows: _Candidates, query: Query, near: Floats, matches: Matches, cosines: Floats, key_rows: list[int]
) -> Signals:
    s: dict[str, Any] = dict.fromkeys((*NAMES, "exact"), cosines)
    if len(rows.rows):
        s |= _own(rows, query, near, matches, cosines, key_rows)
        s |= _neighbours(rows, s)
        s |= _sessions(rows, s, near, matches.rarity)
        s |= _who(rows, query.question, s)
        s |= _shape(rows, query.question, s)
        s |= _times(rows, query.question)
    return Signals(
        rows=rows.rows,
        table=np.stack([np.asarray(s[name], dtype=np.float32) for name in NAMES], axis=1),
        shares=s["near_share"],
        around=s["share_around"],
        exact=s["exact"],
        cosines=cosines,
        dated=(s["dated"] > 0) | (s["dated_spoken"] > 0),
    )


def _own(
    rows: _Candidates, query: Query, near: Floats, matches: Matches, cosines: Floats, key_rows: list[int]
) -> dict[str, Any]:
    """What a row says, and what it says together with those around it."""
    rarity = matches.rarity
    total = max(float(rarity.sum()), 1e-6)
    relative = rows.length / max(rows.usual, 1.0)
    flat, even, has_term = bm25(matches, rows.place, relative)
    share, pooled = rarity @ near / total, rarity @ _pool(near, rows)
    nearest, meant = share_of_best(share), share_of_best(cosines)
    core = meant
    if query.one_space:  # likeness in meaning to the question's own words, the rare ones first
        likeness = rows.index.vectors.of(rows.rows) @ unit(rarity @ query.words[: len(rarity)])
        core = share_of_best(np.asarray(np.maximum(likeness, 0), dtype=np.float32))
    asked_for = rows.place[key_rows]
    meant[asked_for[asked_for >= 0]] = core[asked_for[asked_for >= 0]] = 1
    return {
        "words_flat": share_of_best(flat),
        "words_even": share_of_best(even),
        "near": nearest,
        "near_share": share,
        "exact": rarity @ has_term / total,
        "near_even": share_of_best(share / (1 + 0.5 * relative)),
        "near_length": nearest * np.minimum(relative, 4) / 4,
        "meant": meant,
        "meant_core": core,
        "near_around": share_of_best(pooled),
        "share_around": pooled / total,
        "words_around": share_of_best(rarity @ _pool(has_term, rows)),
        "meant_around": share_of_best(_meaning_around(rows, cosines)),
    }


def _neighbours(rows: _Candidates, s: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, of in (("near", s["near"]), ("meant", s["meant"]), ("words", s["words_flat"])):
        found[f"{name}_before"], found[f"{name}_after"] = at(of, rows.before[0]), at(of, rows.after[0])
        if name != "words":
            found[f"{name}_before_2"], found[f"{name}_after_2"] = at(of, rows.before[1]), at(of, rows.after[1])
    found["opens"] = (rows.before[0] < 0).astype(np.float32)
    return found


def _sessions(rows: _Candidates, s: Mapping[str, Any], near: Floats, rarity: Floats) -> dict[str, Any]:
    """How well a row's session as a whole answers, and whether the row is the best of it."""
    best = s["words_even"] + s["near"] + s["meant"]
    best_of = rows.per_session(best)
    share = np.zeros(rows.sessions, dtype=np.float32)
    for weight, word in zip(rarity, near, strict=True):
        share += weight * rows.per_session(word)
    return {
        "session_share": (share / max(float(rarity.sum()), 1e-6))[rows.session],
        "session_best": share_of_best(best_of)[rows.session],
        "session_three": share_of_best(rows.three_of_session(best))[rows.session],
        "session_around": share_of_best(rows.per_session(s["near_around"] + s["meant_around"]))[rows.session],
        "session_near": share_of_best(best_of)[rows.session] * s["near_around"],
        "session_first": (best >= best_of[rows.session]).astype(np.float32),
    }


def _shape(rows: _Candidates, question: Question, s: Mapping[str, Any]) -> dict[str, Any]:
    """How long a row is and what kinds of things it has, and whether the question asks for those."""
    length = rows.length
    many, request = np.float32(question.asks_many), np.float32(question.request)
    number, standing, liking = rows.having(NUMBER), rows.having(STANDING), rows.having(LIKING | LIKES)
    size = np.log1p(length) / 5
    return {
        "length": size,
        "length_usual": np.minimum(length / max(rows.usual, 1.0), 4) / 4,
        "length_assistant": size * s["assistant"],
        "asks": rows.having(ASKS),
        "first_person": rows.having(FIRST_PERSON),
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


def _who(rows: _Candidates, question: Question, s: Mapping[str, Any]) -> dict[str, Any]:
    index, assisted = rows.index, np.float32(rows.index.assisted)
    speaker, role = index.speaker.all[rows.rows], index.role.all[rows.rows]
    named = [index.speakers[name] for name in question.names if name in index.speakers]
    telling = bool(named) and len(named) < len(index.speakers)
    is_named = np.isin(speaker, named) & telling
    by_other = ~is_named & (speaker >= 0) & telling
    is_meant, is_other = _people(rows, question)
    user = (role == USER) * assisted
    assistant = (role == ASSISTANT) * assisted
    asked_you = np.float32(question.whose == "assistant")
    return {
        "speaker": np.maximum(is_named, _OF_PERSON * is_meant).astype(np.float32),
        "other_speaker": np.maximum(by_other, _OF_PERSON * is_other).astype(np.float32),
        "other_gathers": (by_other * question.gathers).astype(np.float32),
        "user": user,
        "user_asked_you": user * asked_you,
        "assistant": assistant,
        "near_assistant": s["near"] * assistant,
        "meant_assistant": s["meant"] * assistant,
    }


def _people(rows: _Candidates, question: Question) -> tuple[Flags, Flags]:
    """The facts about people whom the question names, and those about others, if it is about these or the user."""
    people = rows.index.people
    if not people:
        nobody = np.zeros(len(rows.rows), dtype=np.bool_)
        return nobody, nobody
    asked = set(map(plain_text, _NAME.findall(question.text)))
    meant = [row for name, found in people.items() if not asked.isdisjoint({name, *name.split()[:1]}) for row in found]
    others = [row for found in people.values() for row in found] if meant or question.whose == "user" else []
    is_meant = np.isin(rows.rows, meant)
    return is_meant, np.isin(rows.rows, others) & ~is_meant


def _times(rows: _Candidates, question: Question) -> dict[str, Any]:
    times = rows.index.at.all[rows.rows]
    dated, mentioned = np.zeros(len(times), dtype=np.float32), np.zeros(len(times), dtype=np.float32)
    for window in question.windows:
        start, end = window.start.timestamp(), window.end.timestamp()
        weight = 1.0 if window.exact else 0.5
        dated = np.maximum(dated, weight * ((times >= start) & (times < end)))
        overlaps = (rows.time_spans[:, 0] < end) & (rows.time_spans[:, 1] > start)
        shorter = rows.time_spans[:, 1] - rows.time_spans[:, 0] <= max(2 * (end - start), 3 * _DAY)
        np.maximum.at(mentioned, rows.time_rows, (weight * (overlaps & shorter)).astype(np.float32))
    order = times.argsort(kind="stable").argsort(kind="stable") / max(len(times) - 1, 1)
    return {
        "dated": dated.astype(np.float32),
        "dated_spoken": mentioned,
        "late_last": order * (question.order == "last"),
        "early_first": (1 - order) * (question.order == "first"),
    }
