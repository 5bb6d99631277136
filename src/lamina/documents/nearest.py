"""Documents by how near they are to a query: all of them are compared."""

import logging
import math
from collections.abc import Sequence

import numpy as np

from lamina.errors import ModelError
from lamina.language.words import query_terms, terms
from lamina.parts import Parts
from lamina.protocols.models import Embedder
from lamina.search.embed import BATCH, TEXT, embed_texts
from lamina.search.vectors import Floats, one_thread, unit, unpack
from lamina.values.document import Document

logger = logging.getLogger("lamina.nearest")

_MAX_TERMS = 64
_ALIKE = 9  # digits beyond which scores are the same


async def rank(parts: Parts, query: str, documents: Sequence[Document]) -> list[tuple[float, Document]]:
    """Each document with the score of its nearest text, best first."""
    texts = await _texts(parts, documents)
    owners = {key: document for document in documents for key in (*document.more, document.message_id)}
    scores = await _scores(parts, query, texts, {key: document.user_id for key, document in owners.items()})
    best: dict[str, float] = {}
    for key, score in zip(texts, scores, strict=True):
        name = owners[key].name
        best[name] = max(best.get(name, -1.0), round(score, _ALIKE))
    known = {document.name: document for document in documents}
    order = sorted(best, key=lambda name: (-best[name], name))
    return [(min(1.0, max(0.0, best[name])), known[name]) for name in order]


async def _texts(parts: Parts, documents: Sequence[Document]) -> dict[str, str]:
    """What the documents are found by, by message."""
    found = {document.message_id: document.text for document in documents if document.text}
    more = [key for document in documents for key in document.more]
    if more:
        found |= {message.id: message.text for message in await parts.store.messages(ids=more) if message.text}
    return found


async def _scores(parts: Parts, query: str, texts: dict[str, str], owners: dict[str, str]) -> list[float]:
    if parts.embedder is not None:
        try:
            embedder, stored = await _searched_by(parts, parts.embedder, texts, owners)
            asked = unit((await embed_texts(embedder, [query[:TEXT]], parts.patience.model_seconds))[0])
            rows = await _vectors(parts, embedder, texts, stored)
        except ModelError as error:
            logger.warning("not_embedded", extra={"embedder": parts.embedder.name, "reason": str(error)})
        else:
            with one_thread():
                return [float(one) for one in rows @ asked]
    return _shares(query, list(texts.values()))


async def _searched_by(
    parts: Parts, embedder: Embedder, texts: dict[str, str], owners: dict[str, str]
) -> tuple[Embedder, dict[str, bytes]]:
    """Whose vectors are compared, and those that are stored: the interim ones where many others are not there yet."""
    stored = await _stored(parts, embedder, texts, owners)
    if parts.interim is None or len(texts) - len(stored) <= BATCH:
        return embedder, stored
    return parts.interim, await _stored(parts, parts.interim, texts, owners)


async def _stored(parts: Parts, embedder: Embedder, texts: dict[str, str], owners: dict[str, str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for user_id in sorted({owners[key] for key in texts}):
        own = [key for key in texts if owners[key] == user_id]
        rows = await parts.store.vectors(user_id, embedder.name, ids=own)
        found |= {row.item_id: row.vector for row in rows}
    return found


async def _vectors(parts: Parts, embedder: Embedder, texts: dict[str, str], stored: dict[str, bytes]) -> Floats:
    """The vectors of texts: those that are stored, and those of what the worker has not come to yet."""
    rows = np.zeros((len(texts), embedder.dimensions), dtype=np.float32)
    places = {key: place for place, key in enumerate(texts)}
    rows[[places[key] for key in stored]] = unpack(list(stored.values()), embedder.dimensions)
    lacking = [key for key in texts if key not in stored]
    for first in range(0, len(lacking), BATCH):
        batch = lacking[first : first + BATCH]
        vectors = await embed_texts(embedder, [texts[key][:TEXT] for key in batch], parts.patience.model_seconds)
        rows[[places[key] for key in batch]] = unit(vectors)
    return rows


def _shares(query: str, texts: Sequence[str]) -> list[float]:
    """How much of the query's words each text has; a word that few texts have counts more."""
    wanted = query_terms(query, _MAX_TERMS)
    words = [frozenset(terms(text)) for text in texts]
    weights = {term: math.log(1 + len(texts) / (1 + sum(term in one for one in words))) for term in wanted}
    total = sum(weights.values())
    return [sum(weights[term] for term in wanted if term in one) / total if total else 0.0 for one in words]
