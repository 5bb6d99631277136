"""Search: what a user's memory has that answers a question, best first, each with the parts of its score."""

import logging
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lamina.errors import ModelError
from lamina.knowledge.conflicts import true_at
from lamina.knowledge.fact_filter import Filter
from lamina.knowledge.projects import is_seen, seen
from lamina.language.words import STOP_WORDS
from lamina.language.words import words as words_of
from lamina.parts import Parts
from lamina.protocols.models import Embedder
from lamina.search.bm25 import comparable
from lamina.search.embed import embed_texts
from lamina.search.episode_distance import NEAR, Nearest, by_sentence, by_words, sentences_of
from lamina.search.explain import hit_of, with_score
from lamina.search.filters import Request
from lamina.search.index import KINDS, OTHER, ROLES, Item
from lamina.search.index_cache import IndexCache, UserIndex
from lamina.search.question import EMPTY, Question, nameless, understand, with_context
from lamina.search.question_patterns import ASKS_BACK
from lamina.search.ranking import Best, rank
from lamina.search.signals import Query
from lamina.search.validity import MAX_COMPARED, Validity
from lamina.search.vectors import Flags, Floats, one_thread, pack, unit
from lamina.values.fact import Episode, Fact
from lamina.values.hit import Hit, Stage
from lamina.values.summary import Summary

logger = logging.getLogger("lamina.recall")

_EMBEDDED = 4_000  # characters of a query that are embedded
_ANY = Filter()  # restricts nothing
_QUICK = 2.0  # seconds that a query waits for its vector; then words answer alone


class Found(NamedTuple):
    """The best hits, best first, each with how much it is worth beside the others; and how they were found."""

    hits: list[tuple[Hit, float]]
    considered: int  # rows that the filters let through
    related: int  # of these, rows that have anything to do with the query
    marks: Sequence[tuple[str, float]]  # steps, and when each ended
    ended: Sequence[Fact] = ()  # the user's facts that were true once, and are not at the time of the question

    @property
    def stages(self) -> tuple[Stage, ...]:
        """How long each step took; a step that comes twice is one."""
        seconds: dict[Any, float] = {}
        for (_, before), (name, now) in pairwise(self.marks):
            seconds[name] = seconds.get(name, 0.0) + now - before
        return tuple(Stage(name=name, ms=round(took * 1000, 3)) for name, took in seconds.items())


class Search:
    """Finds things by words and meaning in what is kept at hand of each user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.cache = IndexCache(parts)

    async def search(self, request: Request) -> Found:
        """What answers a request."""
        marks = [("", time.perf_counter())]  # when each step ended
        embedder = await self._embedder()
        user = await self.cache.get(request.user_id, embedder)
        marks.append(("open", time.perf_counter()))
        at = request.at or self._parts.now()
        names = tuple(user.index.speakers) if user else ()
        own = (request.user_id, *user.names) if user else ()
        question = with_context(understand(request.query, at=at, names=names, own=own), request.before)
        marks.append(("understand", time.perf_counter()))
        if not question.terms:
            return Found([], 0, 0, marks)
        vector = await self._vector(question, embedder)
        marks.append(("embed", time.perf_counter()))
        if user is None:
            packed = None if vector is None else pack(vector[None])[0]
            user = await self.cache.for_question(request.user_id, question.terms, embedder, packed)
            marks.append(("open", time.perf_counter()))
        words = comparable(question.words, self._parts.lexicon.word_vectors)
        one_space = embedder is not None and embedder.name == self._parts.lexicon.name
        query = Query(question=question, vector=vector, words=words, one_space=one_space)
        by_use = request.weights is not None and request.weights.get("access")
        uses = await self._uses(request.user_id) if by_use else {}
        space = None if vector is None or embedder is None else embedder.name
        half_life_days = self._parts.profile.half_life_days
        around = await self._context(request, embedder, at)
        is_open = request.as_of is None and request.wanted.until is None  # else the time is given
        validity = Validity(question, user.fact_table, at, applies=is_open)
        async with user.alone():
            with one_thread():
                allowed = _allow(user, request, at, validity)
                wider = request
                if validity.applies:
                    least = MAX_COMPARED + min(MAX_COMPARED, len(validity.ended()))
                    wider = replace(request, top_k=max(request.top_k, least), min_score=0.0)
                ranking = rank(user.index, query, wider, allowed, at, half_life_days, uses, space, around)
                allowed_facts = _facts_among(user, allowed) if validity.applies else frozenset()
        marks.append(("rank", time.perf_counter()))
        hits = await self._hits(user, ranking.best)
        hits = validity.order(hits, allowed_facts)
        hits = [one for one in hits if one[0].score >= request.min_score][: request.top_k]
        marks.append(("read", time.perf_counter()))
        return Found(hits, ranking.considered, ranking.related, marks, _ended(user, at))

    async def distances(self, request: Request, hits: Sequence[Hit]) -> list[Nearest] | None:
        """How far each hit is from the query: by its own vector, or by its nearest sentence if that is static.

        None if the query has no words of its own, as in "What did we discuss?".
        """
        static, embedder = self._parts.static, await self._embedder()
        own = embedder is not None and (static is None or embedder.name != static.name)
        if static is None or (own and any(hit.parts["cosine"] for hit in hits)):
            return [Nearest(1 - hit.parts["cosine"]) for hit in hits]
        understood = understand(request.query, at=request.at or self._parts.now(), names=(), own=())
        asked_words = [word for word in understood.words if word not in EMPTY]
        asked = " ".join(asked_words)
        if not asked or not hits:
            return [] if asked else None
        parts = [sentences_of(hit.text) for hit in hits]
        texts = [asked[:_EMBEDDED], *(sentence for part in parts for sentence in part)]
        question, *vectors = await embed_texts(static, texts, _QUICK)
        found = by_sentence(question, parts, vectors)
        if ASKS_BACK.search(request.query) is None or min(found).distance < NEAR:
            return found
        vectors_of = self._parts.lexicon.word_vectors
        said = [[word for word in dict.fromkeys(words_of(hit.text)) if word not in STOP_WORDS] for hit in hits]
        return by_words(found, comparable(asked_words, vectors_of), [comparable(one, vectors_of) for one in said])

    async def _embedder(self) -> Embedder | None:
        """The embedder to search by: the one that was chosen, or static vectors until all has its vectors."""
        chosen, static = self._parts.embedder, self._parts.static
        if chosen is None or static is None or chosen.name == static.name:
            return chosen
        noted = await self._parts.store.setting("embedder")
        if noted == chosen.name:
            return chosen
        return static if noted == static.name or self._parts.interim is not None else chosen

    async def _vector(self, question: Question, embedder: Embedder | None) -> Floats | None:
        """The question's vector without the names in it; None if the embedder cannot say in time."""
        if embedder is None:
            return None
        try:
            found = await embed_texts(embedder, [nameless(question.subject[:_EMBEDDED], question.names)], _QUICK)
        except ModelError as error:
            logger.warning("query_not_embedded", extra={"embedder": embedder.name, "reason": str(error)})
            return None
        return unit(np.asarray(found[0], dtype=np.float32))

    async def _context(self, request: Request, embedder: Embedder | None, at: datetime) -> Query | None:
        """The text of the current conversation as a query; None if none is given."""
        text = (request.context or "").strip()
        if not text:
            return None
        question = understand(text, at=at)
        words = comparable(question.words, self._parts.lexicon.word_vectors)
        return Query(question=question, vector=await self._vector(question, embedder), words=words)

    async def _uses(self, user_id: str) -> Mapping[str, int]:
        """How often each memory was used by now: for an index, being used is no change."""
        store = self._parts.store
        used: list[Fact | Episode] = [*await store.facts(user_id), *await store.episodes(user_id)]
        return {item.id: item.accesses for item in used}

    async def _hits(self, user: UserIndex, best: Sequence[Best]) -> list[tuple[Hit, float]]:
        """Hits with their words, as they stand in the store now, and what each is worth."""
        messages = await self._messages(user, [one.id for one in best if one.id not in user.texts])
        hits = []
        for one in best:
            if (message := messages.get(one.id)) is not None:
                project_id = user.projects.get(message.session_id or "")
                hit = with_score(message, one.score, one.parts, project_id, one.copies, one.others)
            elif (item := user.items.get(one.id)) is not None:
                hit = hit_of(item, one.score, one.parts, _project_of(item, user))
            else:
                continue
            hits.append((hit, one.value))
        return hits

    async def _messages(self, user: UserIndex, ids: Sequence[str]) -> dict[str, Hit]:
        """Messages as hits without a score; those that were not found lately are read from the store.

        What is at hand is as the store has it: once words are taken away, the whole index of the user is made anew.
        """
        async with user.alone():
            found = user.hits.find(ids)
        if missing := [key for key in ids if key not in found]:
            read = [hit_of(message) for message in await self._parts.store.messages(ids=missing)]
            async with user.alone():
                user.hits.add(read)
            found |= {hit.id: hit for hit in read}
        return found


def _ended(user: UserIndex, at: datetime) -> list[Fact]:
    """The facts with words of their own that were true once; not those whose words a fact that is true has, too."""
    over = [fact for fact in user.facts.values() if fact.quote and fact.valid_until and fact.valid_until <= at]
    true = {fact.quote for fact in true_at(user.facts.values(), at)} if over else frozenset()
    return [fact for fact in over if fact.status == "superseded" and fact.quote not in true]


def _facts_among(user: UserIndex, allowed: Flags) -> frozenset[str]:
    """The facts that may be found."""
    rows = ((key, user.index.rows.get(key)) for key in user.facts)
    return frozenset(key for key, row in rows if row is not None and allowed[row])


def _project_of(item: Item, user: UserIndex) -> str | None:
    """The project that something belongs to: facts and digests have their own, all else that of its session."""
    if isinstance(item, Fact) or (isinstance(item, Summary) and item.session_id is None):
        return item.project_id
    return user.projects.get(item.session_id or "")


def _allow(user: UserIndex, request: Request, at: datetime, validity: Validity) -> Flags:
    """Which rows the request's filters let through."""
    index, wanted = user.index, request.wanted
    allowed: Flags = index.alive.all & np.isin(index.kind.all, [KINDS.index(kind) for kind in request.kinds])
    if wanted.since is not None:
        allowed &= index.at.all >= wanted.since.timestamp()
    if wanted.until is not None:
        allowed &= index.at.all < wanted.until.timestamp()
    if request.role is not None:
        allowed &= (index.role.all == ROLES.get(request.role, OTHER)) & (index.kind.all == 0)
    if wanted != _ANY and wanted.for_facts:
        allowed &= index.kind.all == KINDS.index("fact")
    if request.session_id is not None:
        allowed &= np.isin(index.session.all, _sessions(user, {request.session_id}))
    if user.archived and not request.archived:
        allowed &= ~np.isin(index.session.all, _sessions(user, user.archived, facts=False))
    asked = _asked_in(user, request)
    if others := {session for session, own in user.projects.items() if not is_seen(own, asked)}:
        allowed &= ~np.isin(index.session.all, _sessions(user, others, facts=False))
    hidden = _hidden(user, request, asked, at, validity)
    allowed[[row for item in hidden if (row := index.rows.get(item)) is not None]] = False
    return allowed


def _sessions(user: UserIndex, session_ids: AbstractSet[str], *, facts: bool = True) -> list[int]:
    """The numbers that some sessions have in the index, with those of what was derived from them."""
    items = [*user.summaries.values(), *user.episodes.values(), *(user.facts.values() if facts else ())]
    names = [f"session {session}" for session in session_ids]
    names += [f"alone {item.id}" for item in items if item.session_id in session_ids]
    return [user.index.sessions.get(name, -1) for name in names]


def _asked_in(user: UserIndex, request: Request) -> str | None:
    """The project that is asked for: the one that is named, else that of the session that is named."""
    named = request.project_id
    return user.projects.get(request.session_id) if named is None and request.session_id is not None else named


def _hidden(user: UserIndex, request: Request, asked: str | None, at: datetime, validity: Validity) -> AbstractSet[str]:
    """Items that the request does not ask for: by default facts that are not true, or are of another project."""
    own = [fact for fact in user.facts.values() if is_seen(fact.project_id, asked)]
    valid = {fact.id for fact in seen(true_at(own, request.as_of or at), asked)}
    valid |= validity.ended() & {fact.id for fact in own}
    if request.archived:
        valid |= {fact.id for fact in own if fact.status == "archived"}
    wanted = {key for key in valid if request.wanted.takes(user.facts[key])} if request.wanted != _ANY else valid
    significant = {key for key, one in user.episodes.items() if one.significance >= request.wanted.min_importance}
    digests = {key for key, one in user.summaries.items() if not is_seen(one.project_id, asked)}
    return (user.facts.keys() - wanted) | (user.episodes.keys() - significant) | digests
