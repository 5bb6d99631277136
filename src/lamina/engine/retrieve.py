"""Recall: old messages and summaries that answer a query, by their words."""

from lamina.engine.parts import Parts
from lamina.policy import ranking
from lamina.policy.words import query_terms, terms
from lamina.types import Hit, Span

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
        items = [(match.message or match.summary) for match in found.matches]
        lengths = [len(terms(item.text)) for item in items if item is not None]
        usual = sum(lengths) / len(lengths)
        best = ranking.best_possible(wanted, found.documents, found.frequency)
        hits = []
        for match in found.matches:
            item = match.message or match.summary
            if item is None:
                continue
            score = ranking.bm25(wanted, item.text, found.documents, found.frequency, usual)
            share = min(1.0, score / best) if best else 0.0
            message, summary = match.message, match.summary
            hits.append(
                Hit(
                    kind=match.kind,
                    id=item.id,
                    session_id=item.session_id,
                    message_ids=(message.id,) if message else (),
                    span=Span(first=message.seq, last=message.seq)
                    if message
                    else (summary.covers if summary else None),
                    text=item.text,
                    score=round(share, 6),
                    parts={"words": round(score, 6)},
                    created_at=message.created_at if message else summary.updated_at if summary else item.created_at,
                    role=message.role if message else None,
                )
            )
        hits.sort(key=_place)
        return hits[:top_k]


def _place(hit: Hit) -> tuple[object, ...]:
    """Best first; equals by time and by their place in the log, not by ids, which are random."""
    first = hit.span.first if hit.span else 0
    return -hit.score, hit.created_at, hit.session_id or "", first, hit.kind, hit.id
