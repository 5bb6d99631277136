"""From what speaks for each row to one score, and the parts that made it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lamina.search import weights_minilm, weights_static
from lamina.search.arrays import Floats
from lamina.search.signals import NAMES, Asked, Signals

# What a hit tells of its score, and the signals behind it.
PARTS: Mapping[str, tuple[str, ...]] = {
    "words": ("near_even", "near_share", "near_length"),
    "meaning": ("meant", "meant_core"),
    "neighbours": (
        "near_around", "words_around", "share_around", "meant_around", "near_before", "near_after", "meant_before",
        "meant_after", "words_before", "words_after", "near_before_2", "near_after_2", "meant_before_2",
        "meant_after_2",
    ),
    "session": (
        "session_share", "session_best", "session_three", "session_around", "session_near", "session_first",
        "many_session", "many_first", "opens",
    ),
    "speaker": ("speaker", "other_speaker"),
    "role": ("user", "user_asked_you", "user_many", "near_assistant", "meant_assistant", "length_assistant"),
    "shape": ("length", "length_usual", "asks", "number", "number_asked", "first_person", "many_length", "many_meant"),
    "standing": (
        "standing", "liking", "standing_request", "liking_request", "standing_meant", "liking_meant",
    ),
    "time": ("dated", "dated_spoken", "late_last", "early_first"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How much each signal counts, and how likely a sum of some size answers."""

    people: Floats  # who talk with each other
    helped: Floats  # a user with an assistant
    slope: float
    offset: float

    @classmethod
    def of(cls, weights: Mapping[str, tuple[float, float]], slope: float, offset: float) -> "Fit":
        people, helped = np.array([weights[name] for name in NAMES], dtype=np.float32).T
        return cls(people=people, helped=helped, slope=slope, offset=offset)


# Vectors of pieces of words say much the same as words, those of whole texts something of their own: each has a fit.
OF_PIECES = Fit.of(weights_static.WEIGHTS, weights_static.SLOPE, weights_static.OFFSET)
OF_TEXTS = Fit.of(weights_minilm.WEIGHTS, weights_minilm.SLOPE, weights_minilm.OFFSET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Rows with their scores, and for each part how much of it they have."""

    values: Floats  # any size: only their order counts
    parts: Floats  # one column for each of PARTS

    def chances(self, fit: Fit) -> Floats:
        """Between 0 and 1: about how likely a row answers the question."""
        return np.asarray(1 / (1 + np.exp(-np.clip(fit.slope * self.values + fit.offset, -30, 30))), dtype=np.float32)


def fitting(asked: Asked) -> Fit:
    """The weights for a question: those for vectors of whole texts if it has such a one."""
    return OF_PIECES if asked.one_space or asked.vector is None else OF_TEXTS


def fused(signals: Signals, assisted: float, fit: Fit) -> Scored:
    """The calibrated sum; weights lie between those for people talking and those for an assistant's user."""
    weighted = signals.table * ((1 - np.float32(assisted)) * fit.people + np.float32(assisted) * fit.helped)
    parts = np.stack([weighted[:, columns].sum(axis=1) for columns in _COLUMNS], axis=1)
    return Scored(values=parts.sum(axis=1), parts=parts)


_COLUMNS = [[NAMES.index(name) for name in names] for names in PARTS.values()]
