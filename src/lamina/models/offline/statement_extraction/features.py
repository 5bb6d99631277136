"""What the model sees of a clause: classes of cue words, words, and where it stands."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from lamina.models.offline.statement_extraction.segments import Segment

_MONEY = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:[$€£¥₹]|eur|usd|euro|dollar|k\b)", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d|\s?[ap]m\b|h\d\d\b)", re.IGNORECASE)
_DATE = re.compile(
    r"\b\d{1,4}[./-]\d{1,2}(?:[./-]\d{2,4})?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\d{1,2}[月日号]", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+")
_CODE = re.compile(r"[{}<>=`|\\]|\w\(|\w_\w|::|https?://")
_LENGTHS = (2, 4, 6, 9, 13, 18, 26, 40)
_EARLY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A clause with the classes of its cue words and where the first of each stands."""

    segment: Segment
    classes: Mapping[str, int]


def cue_features(
    text: str, seen: Seen, before: Seen | None, density: float, *, answers: bool, last: bool, item: bool
) -> list[str]:
    """The features that every language has; `density` is how many words of English one of its words stands for."""
    segment = seen.segment
    names = sorted(seen.classes)
    features = [f"cue {name}" for name in names]
    features += [f"early {name}" for name in names if seen.classes[name] * density < _EARLY]
    features += [f"both {one} {other}" for one, other in combinations(names, 2)]
    features += [f"before {name}" for name in (before.classes if before is not None else ())]
    features += [f"shape {name}" for name in _shape(text[segment.start : segment.end], len(segment.words) * density)]
    flags = {"answers": answers, "last": last, "item": item, "first": before is None, "asks": segment.asks,
             "subject": segment.subject, "asked before": before is not None and before.segment.asks}  # fmt: skip
    features += [f"flag {name}" for name, is_set in flags.items() if is_set]
    if segment.asks:
        features += [f"asks {name}" for name in names]
    if answers:
        features += [f"answers {name}" for name in names]
    return features


def _shape(text: str, words: float) -> Iterator[str]:
    yield f"words {sum(words > length for length in _LENGTHS)}"
    for name, pattern in (("money", _MONEY), ("clock", _CLOCK), ("date", _DATE), ("name", _NAME), ("code", _CODE)):
        if pattern.search(text):
            yield name
    if any(map(str.isdigit, text)):
        yield "number"
    if text.rstrip().endswith("!"):
        yield "exclaims"
    if ":" in text:
        yield "colon"


def word_features(words: Sequence[str]) -> list[str]:
    """Words and pairs of words; numbers are alike."""
    plain = ["#" if word[0].isdigit() else word for word in words]
    features = [f"word {word}" for word in dict.fromkeys(plain)]
    features += [f"pair {one} {other}" for one, other in dict.fromkeys(pairwise(plain))]
    features += [f"open {' '.join(plain[:size])}" for size in (1, 2, 3) if len(plain) >= size]
    return features
