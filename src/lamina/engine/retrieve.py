"""Recall: old messages and summaries that answer a query, by their words."""

from lamina.engine.parts import Parts
from lamina.policy import ranking
from lamina.policy.words import query_terms, terms
from lamina.types import Hit, Message, Span, Summary

_CANDIDATES = 200


class Retrieval:
    """Searches one user's messages and summaries."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def search(self, query: str, *, user_id: str, top_k: int) -> list[Hit]:
        """The best hits, best first; scores are shares of a perfect match of the query's words."""
        wanted = query_terms(query)
        if not wanted:
            return []
        found = await self._parts.store.find_words(user_id, wanted, _CANDIDATES)
        if not found.matches:
            return []
        lengths = [len(terms(item.text)) for item in found.matches]
        usual = sum(lengths) / len(lengths)
        best = ranking.best_possible(wanted, found.documents, found.frequency)
        hits = []
        for item in found.matches:
            score = ranking.bm25(wanted, item.text, found.documents, found.frequency, usual)
            hits.append(_hit(item, score, min(1.0, score / best) if best else 0.0))
        hits.sort(key=_place)
        return hits[:top_k]


def _hit(item: Message | Summary, score: float, share: float) -> Hit:
    of_message = isinstance(item, Message)
    return Hit(
        kind="message" if of_message else "summary",
        id=item.id,
        session_id=item.session_id,
        message_ids=(item.id,) if of_message else (),
        span=Span(first=item.seq, last=item.seq) if isinstance(item, Message) else item.covers,
        text=item.text,
        score=round(share, 6),
        parts={"words": round(score, 6)},
        created_at=item.created_at if isinstance(item, Message) else item.updated_at,
        role=item.role if isinstance(item, Message) else None,
    )


def _place(hit: Hit) -> tuple[object, ...]:
    """Best first; equals by time and by their place in the log, not by ids, which are random."""
    first = hit.span.first if hit.span else 0
    return -hit.score, hit.created_at, hit.session_id or "", first, hit.kind, hit.id
