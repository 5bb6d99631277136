"""Recall: what a user's memory holds that answers a question, best first, each with the parts of its score."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from lamina.errors import ModelError
from lamina.knowledge import conflicts, fact_words
from lamina.parts import Parts
from lamina.protocols.models import Embedder
from lamina.search import probability, weighted_sum
from lamina.search import ranking as fusion
from lamina.search.arrays import Flags, Floats, Whole, packed, unit
from lamina.search.embed import embedded
from lamina.search.entries import Found, hit_of
from lamina.search.index import KINDS, OTHER, ROLES, Catalogue, comparable
from lamina.search.index_cache import Shelf, Shelves
from lamina.search.question import Question, nameless, understand, with_context
from lamina.search.ranking import Scored
from lamina.search.request import Request
from lamina.search.signals import Asked, Signals, gathered, related
from lamina.search.threads import one_thread
from lamina.search.weights import MIXED
from lamina.values.fact import Episode, Fact
from lamina.values.hit import Explained, Hit, Stage
from lamina.values.summary import Summary

logger = logging.getLogger("lamina.recall")

_EMBEDDED = 4_000  # characters of a query that are embedded
_SPARE = 5  # more than asked for are looked up, since some may be gone by now
_QUICK = 2.0  # seconds that a query waits for its vector; then words answer alone


class _Stages:
    """How long each step takes; a step that comes twice is one."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self._seconds: dict[Any, float] = {}

    def end(self, name: str) -> None:
        """What came since the last end was this step."""
        now = time.perf_counter()
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now

    def told(self) -> tuple[Stage, ...]:
        return tuple(Stage(name=name, ms=round(seconds * 1000, 3)) for name, seconds in self._seconds.items())


class _Best(NamedTuple):
    """What was found, and how much speaks for it."""

    id: str
    score: float
    value: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The best, and of how many rows."""

    best: Sequence[_Best] = ()
    considered: int = 0
    related: int = 0


class Recall:
    """Finds things by words and meaning in what is kept at hand of each user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._complete = False  # whether everything has vectors of the embedder that was chosen
        self.shelves = Shelves(parts)

    async def explained(self, request: Request) -> Explained:
        """The best hits for a request, best first, and how they were found."""
        stages = _Stages()
        ranking, hits = await self._found(request, stages)
        return Explained(
            hits=tuple(hit for hit, _ in hits),
            least=request.least,
            considered=ranking.considered,
            related=ranking.related,
            stages=stages.told(),
            weights=request.weights,
        )

    async def weighed(self, request: Request) -> list[tuple[Hit, float]]:
        """The best hits, best first, each with how much it is worth beside the others."""
        _, hits = await self._found(request, _Stages())
        return hits

    async def _found(self, request: Request, stages: _Stages) -> tuple[_Ranking, list[tuple[Hit, float]]]:
        embedder = await self._embedder()
        shelf = await self.shelves.of(request.user_id, embedder)
        stages.end("open")
        at = request.at or self._parts.now()
        names = tuple(shelf.catalogue.speakers) if shelf else ()
        own = (request.user_id, *fact_words.names(shelf.facts.values())) if shelf else ()
        question = with_context(understand(request.query, at=at, names=names, own=own), request.before)
        stages.end("understand")
        if not question.terms:
            return _Ranking(), []
        vector = await self._vector(question, embedder)
        stages.end("embed")
        if shelf is None:
            kept = None if vector is None else packed(vector[None])[0]
            shelf = await self.shelves.for_question(request.user_id, question.terms, embedder, kept)
            stages.end("open")
        words = comparable(question.words, self._parts.lexicon.word_vectors)
        one_space = embedder is not None and embedder.name == self._parts.lexicon.name
        asked = Asked(question=question, vector=vector, words=words, one_space=one_space)
        uses = await self._uses(request)
        space = None if vector is None or embedder is None else embedder.name
        with shelf.lock, one_thread():
            ranking = self._ranked(shelf, asked, request, at, uses, space)
        stages.end("rank")
        hits = await self._hits(shelf, ranking.best, request)
        stages.end("read")
        return ranking, hits

    async def _embedder(self) -> Embedder | None:
        """The embedder to search by: the one that was chosen, or static vectors until all has its vectors."""
        chosen, static = self._parts.embedder, self._parts.static
        if chosen is None or static is None or self._complete or chosen.name == static.name:
            return chosen
        noted = await self._parts.store.setting("embedder")
        self._complete = noted == chosen.name
        return static if noted == static.name else chosen

    async def _vector(self, question: Question, embedder: Embedder | None) -> Floats | None:
        """The question's vector without the names in it; None if the embedder cannot say in time."""
        if embedder is None:
            return None
        try:
            found = await embedded(embedder, [nameless(question.text[:_EMBEDDED], question.names)], _QUICK)
        except ModelError as error:
            logger.warning("query_not_embedded", extra={"embedder": embedder.name, "reason": str(error)})
            return None
        return unit(np.asarray(found[0], dtype=np.float32))

    async def _uses(self, request: Request) -> Mapping[str, int]:
        """How often each memory was used by now, if that counts: for a shelf, being used is no change."""
        if not request.weights or not request.weights.get("access"):
            return {}
        store, user_id = self._parts.store, request.user_id
        used: list[Fact | Episode] = [*await store.facts(user_id), *await store.episodes(user_id)]
        return {item.id: item.accesses for item in used}

    def _ranked(
        self, shelf: Shelf, asked: Asked, request: Request, at: datetime, uses: Mapping[str, int], space: str | None
    ) -> _Ranking:
        """The best, a little more than asked for, since some may be gone by now."""
        catalogue = shelf.catalogue
        allowed = self._allowed(shelf, request, at)
        considered = int(np.count_nonzero(allowed))
        if not considered:
            return _Ranking()
        signals = gathered(catalogue, asked, allowed)
        if request.weights is None:
            fit = fusion.fitting(asked)
            scored = fusion.fused(signals, catalogue.assisted, fit)
            values, names = scored.chances(fit), tuple(fusion.PARTS)
        else:
            used = np.zeros(len(signals.rows), dtype=np.float32)
            if uses:
                used[:] = [uses.get(catalogue.ids[row], 0) for row in signals.rows]
            half_life = self._parts.profile.half_life_days
            scored = weighted_sum.mixed(signals, catalogue, request.weights, at.timestamp(), half_life, used)
            values, names = np.clip(scored.values, 0, 1), MIXED
        fitting = related(signals, signals.around if request.weights is None else signals.shares)
        if not fitting.any():
            return _Ranking(considered=considered)
        good = fitting if request.strict else (signals.around > 0) | (signals.cosines > 0)
        order = _order(scored, catalogue, signals.rows)
        order = order[good[order]]
        likely = values if request.weights is not None else _chances(catalogue, signals, scored, order, asked, space)
        scores = np.round(likely.astype(np.float64), 6)
        best = order[scores[order] >= request.least][: request.top_k + _SPARE]
        cosines = np.round(signals.cosines[best].astype(np.float64), 6).tolist()
        parts = np.round(scored.parts[best].astype(np.float64), 6).tolist()
        ids = [catalogue.ids[row] for row in signals.rows[best]]
        found = [
            _Best(key, score, value, {**dict(zip(names, part, strict=True)), "cosine": cosine})
            for key, score, value, part, cosine in zip(
                ids, scores[best].tolist(), values[best].tolist(), parts, cosines, strict=True
            )
        ]
        return _Ranking(found, considered, int(np.count_nonzero(fitting)))

    def _allowed(self, shelf: Shelf, request: Request, at: datetime) -> Flags:
        """Which rows the request's filters let through."""
        catalogue, wanted = shelf.catalogue, request.wanted
        allowed: Flags = catalogue.alive.all & np.isin(
            catalogue.kind.all, [KINDS.index(kind) for kind in request.kinds]
        )
        if wanted.since is not None:
            allowed &= catalogue.at.all >= wanted.since.timestamp()
        if wanted.until is not None:
            allowed &= catalogue.at.all < wanted.until.timestamp()
        if request.role is not None:
            allowed &= (catalogue.role.all == ROLES.get(request.role, OTHER)) & (catalogue.kind.all == 0)
        if wanted.for_facts:
            allowed &= catalogue.kind.all == KINDS.index("fact")
        for item in self._unwanted(shelf, request, at):
            if (row := catalogue.rows.get(item)) is not None:
                allowed[row] = False
        self._restrict_sessions(shelf, request, allowed)
        return allowed

    def _restrict_sessions(self, shelf: Shelf, request: Request, allowed: Flags) -> None:
        catalogue = shelf.catalogue
        if request.session_id is not None:
            own = [key for key in shelf.texts if (item := shelf.known(key)) and item.session_id == request.session_id]
            numbers = [catalogue.sessions.get(f"session {request.session_id}", -1)]
            numbers += [catalogue.sessions.get(f"alone {key}", -1) for key in own]
            allowed &= np.isin(catalogue.session.all, numbers)
        if shelf.archived and not request.archived:
            moments: dict[str, Summary | Episode] = {**shelf.summaries, **shelf.episodes}
            hidden = [catalogue.sessions.get(f"session {session}", -1) for session in shelf.archived]
            hidden += [
                catalogue.sessions.get(f"alone {key}", -1)
                for key, item in moments.items()
                if item.session_id in shelf.archived
            ]
            allowed &= ~np.isin(catalogue.session.all, hidden)

    def _unwanted(self, shelf: Shelf, request: Request, at: datetime) -> set[str]:
        """Facts and episodes that the request does not ask for: by default those that do not hold."""
        moment = request.as_of or at
        held = {fact.id for fact in conflicts.holding(shelf.facts.values(), moment)}
        if request.archived:
            held |= {fact.id for fact in shelf.facts.values() if fact.status == "archived"}
        wanted = {key for key in held if request.wanted.takes(shelf.facts[key])}
        significant = {key for key, one in shelf.episodes.items() if one.significance >= request.wanted.min_importance}
        return (shelf.facts.keys() - wanted) | (shelf.episodes.keys() - significant)

    async def _hits(self, shelf: Shelf, ranked: Sequence[_Best], request: Request) -> list[tuple[Hit, float]]:
        """Hits with their words, as they stand in the store now, and what each is worth."""
        stored = await self._parts.store.messages_by_id([one.id for one in ranked if one.id not in shelf.texts])
        said: dict[str, Found] = {message.id: message for message in stored}
        found = ((shelf.known(one.id) or said.get(one.id), one) for one in ranked)
        hits = [(hit_of(item, one.score, one.parts), one.value) for item, one in found if item is not None]
        return hits[: request.top_k]


def _chances(
    catalogue: Catalogue, signals: Signals, scored: Scored, order: Whole, asked: Asked, space: str | None
) -> Floats:
    """How likely each row answers, by its place among those that count."""
    if not len(order):
        return np.zeros(len(signals.rows), dtype=np.float32)
    table = probability.measured(signals, scored.values, order, len(asked.question.terms))
    facts = catalogue.kind.all[signals.rows] == KINDS.index("fact")
    bare = signals.cosines == 0  # no vector yet, or one that points elsewhere
    bare[bare] = ~catalogue.vectors.of(signals.rows[bare]).any(axis=1)
    return probability.chances(table, facts, bare, order, probability.calibration(space))


def _order(scored: Scored, catalogue: Catalogue, rows: Any) -> Any:
    """Best first; equals by time, by their place in the log and by id: not by which was read first."""
    values, at, seq = -np.round(scored.values, 5), catalogue.at.all[rows], catalogue.seq.all[rows]
    order = np.lexsort((seq, at, values))
    alike = (np.diff(values[order]) == 0) & (np.diff(at[order]) == 0) & (np.diff(seq[order]) == 0)
    (same,) = np.nonzero(alike)
    for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else ():
        group = slice(run[0], run[-1] + 2)
        order[group] = sorted(order[group], key=lambda place: catalogue.ids[rows[place]])
    return order
