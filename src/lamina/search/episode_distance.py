"""How far summaries are from a question, on the scale of cosine distances between vectors of whole texts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.language.sentences import sentences
from lamina.search.vectors import unit

# Static vectors put alike texts further apart, and a summary of several topics between them: its sentence that is
# nearest to the words of the question counts, and a cosine of 0.4 is as near as a distance of 0.4. Fitted on
# development questions of LongMemEval: of those that a summary answers, 87 % are shown one that does, and 73 % of the
# summaries that are shown answer.
NEAR = 0.4
SCALE = NEAR / (1 - 0.4)
# Who asks what was discussed means something that was, by a word for all of it: "birds" for kingfishers and nest boxes.
# Where no sentence is near, words that are near each word of the question count too, and the mean is near from 0.24.
_SCALE_BACK = NEAR / (1 - 0.24)
_SENTENCE, _WORDS = 2 / 3, 1 / 3  # how much each counts there
_SHORTEST = 16  # characters of a sentence that says something


class Nearest(NamedTuple):
    """How far a text is from a question, and its sentence that is nearest, if that was looked for."""

    distance: float
    sentence: str = ""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that may answer; the text itself if all are short."""
    return [one.text for one in sentences(text) if one.end - one.start >= _SHORTEST] or [text]


def by_sentence(question: Any, parts: Sequence[Sequence[str]], vectors: Any) -> list[Nearest]:
    """How far each text is by its nearest sentence; `vectors` are those of all sentences of all texts, static ones."""
    cosines = unit(vectors) @ unit(question)
    found, start = [], 0
    for part in parts:
        own = cosines[start : start + len(part)]
        best = int(np.argmax(own))
        found.append(Nearest(float(SCALE * (1 - own[best])), part[best]))
        start += len(part)
    return found


def by_words(found: Sequence[Nearest], asked: Any, said: Sequence[Any]) -> list[Nearest]:
    """How far texts are from a question about what was discussed; `asked` and `said` are vectors of words."""
    nearer = []
    for near, own in zip(found, said, strict=True):
        alike = (unit(asked) @ unit(own).T).max(axis=1) if len(asked) and len(own) else np.zeros(1)
        mean = _SENTENCE * (1 - near.distance / SCALE) + _WORDS * float(np.maximum(alike, 0).mean())
        nearer.append(near._replace(distance=min(near.distance, _SCALE_BACK * (1 - mean))))
    return nearer
