"""Recall: old messages, summaries, facts and episodes that answer a query, by their words."""

from collections.abc import Iterable
from datetime import datetime

from lamina.engine.parts import Parts
from lamina.policy import facts as policy
from lamina.policy import ranking
from lamina.policy.facts import Filter
from lamina.policy.words import query_terms, terms
from lamina.types import Episode, Fact, Hit, Message, Span, Summary

HIT_KINDS = ("message", "summary", "fact", "episode")
_CANDIDATES = 200
_ANY = Filter()
_Found = Message | Summary | Fact | Episode


class Retrieval:
    """Searches what is stored of one user."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def search(
        self,
        query: str,
        *,
        user_id: str,
        top_k: int,
        kinds: frozenset[str] = frozenset(HIT_KINDS),
        wanted: Filter = _ANY,
    ) -> list[Hit]:
        """The best hits, best first; scores are shares of a perfect match of the query's words."""
        asked = query_terms(query)
        if not asked:
            return []
        found = await self._parts.store.find_words(user_id, asked, _CANDIDATES)
        said = [] if wanted.for_facts else [item for item in found.matches if wanted.in_time(_when(item))]
        known = [item for item in await self._known(user_id, kinds, wanted) if set(asked) & set(terms(_text(item)))]
        matches = [item for item in (*said, *known) if _kind(item) in kinds]
        if not matches:
            return []
        lengths = [len(terms(_text(item))) for item in matches]
        usual = sum(lengths) / len(lengths)
        documents = max(found.documents, 1)
        frequency = {term: max(times, 1) for term, times in found.frequency.items()}
        best = ranking.best_possible(asked, documents, frequency)
        hits = []
        for item in matches:
            score = ranking.bm25(asked, _text(item), documents, frequency, usual)
            hits.append(_hit(item, score, min(1.0, score / best) if best else 0.0))
        hits.sort(key=_place)
        return hits[:top_k]

    async def _known(self, user_id: str, kinds: frozenset[str], wanted: Filter) -> Iterable[Fact | Episode]:
        store, found = self._parts.store, list[Fact | Episode]()
        if "fact" in kinds:
            held = policy.holding(await store.facts(user_id), self._parts.now())
            found.extend(fact for fact in held if wanted.takes(fact))
        if "episode" in kinds and not wanted.for_facts:
            found.extend(
                one
                for one in await store.episodes(user_id)
                if wanted.in_time(one.happened_at) and one.significance >= wanted.min_importance
            )
        return found


def _text(item: _Found) -> str:
    """What a query's words may match: of facts and episodes, also what they are."""
    if isinstance(item, Fact):
        return " ".join((item.category, policy.said(item), *item.tags))
    if isinstance(item, Episode):
        return f"{item.kind.replace('_', ' ')} {_told(item)}"
    return item.text


def _told(episode: Episode) -> str:
    return episode.summary if episode.title in episode.summary else f"{episode.title}. {episode.summary}"


def _shown(item: _Found) -> str:
    if isinstance(item, Fact):
        return policy.said(item)
    return _told(item) if isinstance(item, Episode) else item.text


def _kind(item: _Found) -> str:
    return type(item).__name__.lower()


def _when(item: _Found) -> datetime:
    if isinstance(item, Fact):
        return item.learnt_at
    if isinstance(item, Episode):
        return item.happened_at
    return item.created_at if isinstance(item, Message) else item.updated_at


def _hit(item: _Found, score: float, share: float) -> Hit:
    return Hit(
        kind=_kind(item),  # type: ignore[arg-type]  # the class names are the kinds
        id=item.id,
        session_id=item.session_id,
        message_ids=_messages(item),
        span=_span(item),
        text=_shown(item),
        score=round(share, 6),
        parts={"words": round(score, 6)},
        created_at=_when(item),
        role=item.role if isinstance(item, Message) else None,
    )


def _messages(item: _Found) -> tuple[str, ...]:
    if isinstance(item, Message):
        return (item.id,)
    if isinstance(item, Fact):
        return (item.message_id,) if item.message_id else ()
    return item.message_ids if isinstance(item, Episode) else ()


def _span(item: _Found) -> Span | None:
    if isinstance(item, Message) or (isinstance(item, Fact) and item.seq):
        return Span(first=item.seq, last=item.seq)
    return item.covers if isinstance(item, Summary) else None


def _place(hit: Hit) -> tuple[object, ...]:
    """Best first; equals by time and by their place in the log, not by ids, which are random."""
    first = hit.span.first if hit.span else 0
    return -hit.score, hit.created_at, hit.session_id or "", first, hit.kind, hit.text, hit.id
