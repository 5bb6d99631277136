"""Indexes made by hand: words with vectors of their own, entries, questions, and what comes out."""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from lamina.language.words import words
from lamina.search.explain import PARTS
from lamina.search.index import Entry, Index
from lamina.search.question import understand
from lamina.search.ranking import OF_PIECES, score_by_fit
from lamina.search.signals import NAMES, Query, Signals, gather
from lamina.search.vectors import pack, unit

START = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
ASKED = START + timedelta(days=30)
DIMENSIONS = 64

# Words that begin with the same letter mean something alike; no two have one stem.
VOCABULARY = (
    "boat", "bay", "barge", "harbour", "heron", "garden", "grass", "gravel", "kettle", "kitchen", "knife",
    "piano", "poem", "paint", "tunnel", "ticket", "train", "42", "1999",
)  # fmt: skip


def _noise(seed: str) -> Any:
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest())
    return np.random.default_rng(number).standard_normal(DIMENSIONS)


def word_vectors(said: Sequence[str]) -> Any:
    """One row a word: near those of words with the same first letter."""
    if not said:
        return np.zeros((0, DIMENSIONS), dtype=np.float32)
    return unit(np.stack([_noise(f"topic {word[0]}") + 0.7 * _noise(word) for word in said]))


def text_vector(text: str) -> Any:
    said = words(text)
    return unit(word_vectors(said).sum(axis=0)) if said else np.zeros(DIMENSIONS, dtype=np.float32)


def an_entry(key: str, text: str, *, minutes: float = 0, **values: Any) -> Entry:
    chosen = {"kind": "message", "session": "session s1", "role": "user", **values}
    return Entry(id=key, text=text, at=START + timedelta(minutes=minutes), **chosen)


def filled(entries: Iterable[Entry], *, vectors: bool = True, batches: Sequence[int] = ()) -> Index:
    """An index with entries, added at once or in batches that end at some places."""
    index, every = Index(DIMENSIONS, word_vectors), list(entries)
    places = [0, *sorted(min(place, len(every)) for place in batches), len(every)]
    for first, last in itertools.pairwise(places):
        index.add(every[first:last])
        if vectors:
            embed(index, every[first:last])
    return index


def embed(index: Index, entries: Sequence[Entry]) -> None:
    if entries:
        made = pack(np.stack([text_vector(entry.text) for entry in entries]))
        index.set_vectors(dict(zip((entry.id for entry in entries), made, strict=True)))


def asked(index: Index, query: str, *, at: datetime = ASKED, meant: bool = True) -> Query:
    question = understand(query, at=at, names=tuple(index.speakers))
    vector = text_vector(query) if meant else None
    return Query(question=question, vector=vector, words=word_vectors(question.words))


def signals(index: Index, query: str, allowed: Any = None, **options: Any) -> Signals:
    wanted = index.alive.all.copy() if allowed is None else allowed
    return gather(index, asked(index, query, **options), wanted)


def column(index: Index, query: str, name: str, **options: Any) -> dict[str, float]:
    """One signal of each row, by id."""
    found = signals(index, query, **options)
    values = found.table[:, NAMES.index(name)].tolist()
    return {index.ids[row]: round(value, 5) for row, value in zip(found.rows, values, strict=True)}


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ids, best first, with their scores and the parts of these."""

    ids: list[str]
    scores: dict[str, float]
    parts: dict[str, list[float]]


def ranked(index: Index, query: str, **options: Any) -> Ranked:
    found = signals(index, query, **options)
    scored = score_by_fit(found, index.assisted, OF_PIECES)
    assert scored.parts.shape[1] == len(PARTS)
    keys = [index.ids[row] for row in found.rows]
    order = np.lexsort((found.rows, -np.round(scored.values, 4)))
    return Ranked(
        ids=[keys[place] for place in order],
        scores=dict(zip(keys, scored.values.tolist(), strict=True)),
        parts=dict(zip(keys, scored.parts.tolist(), strict=True)),
    )


@st.composite
def entries(draw: st.DrawFn, least: int = 1, most: int = 14) -> list[Entry]:
    """Messages of a few sessions and speakers with some facts and summaries between them."""
    found: list[Entry] = []
    for number in range(draw(st.integers(least, most))):
        said = draw(st.lists(st.sampled_from(VOCABULARY), max_size=7))
        text = " ".join(said) + draw(st.sampled_from(["", ".", "?"]))
        kind = draw(st.sampled_from(["message"] * 5 + ["fact", "summary", "episode"]))
        message = kind == "message"
        found.append(
            an_entry(
                f"e{number}",
                text,
                minutes=number * draw(st.integers(1, 600)),
                kind=kind,
                session=f"session {draw(st.integers(1, 3))}" if message else f"alone e{number}",
                seq=number,
                role=draw(st.sampled_from(["user", "assistant", "tool"])) if message else None,
                speaker=draw(st.sampled_from([None, "Ann", "Bob"])) if message else None,
                importance=draw(st.sampled_from([0.1, 0.5, 0.9])),
            )
        )
    return found


questions = st.builds(
    "{} {}{}".format,
    st.sampled_from(["Where is", "What did Ann say of", "When was", "Which of", "What was the last", "Help me with"]),
    st.lists(st.sampled_from([*VOCABULARY, "yesterday", "whale"]), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["?", "", " in March 2025?"]),
)
