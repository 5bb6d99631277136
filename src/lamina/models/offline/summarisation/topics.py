"""The key topics of statements: names and recurring words. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lamina.language.words import WORD, character_pairs, fold, is_unspaced, stem
from lamina.models.offline.summarisation.lexicon import lexicon
from lamina.models.offline.summarisation.salience import Scored

MAX_TOPICS = 8
_MAX_WORD = 40
_MIN_WORD = 3
_NAMED = 2.0
_PAIRED = 1.5
_ONCE = 0.4  # what a plain word counts that is said only once
_INFLECTED = 0.5  # words such as "painted" name a topic less well than "painting supplies"


@dataclass(slots=True)
class _Topic:
    score: float = 0.0
    count: int = 0
    named: bool = False
    written: Counter[str] = field(default_factory=Counter)


def topics(items: Sequence[Scored], max_topics: int = MAX_TOPICS) -> tuple[str, ...]:
    """Up to `max_topics` topics, most important first, each once whatever its case."""
    speakers = {fold(part) for item in items for part in item.statement.speaker.split()}
    found: dict[tuple[str, ...], _Topic] = {}
    for item in items:
        for keys, surface, named in _phrases(item.statement.text, speakers):
            topic = found.setdefault(keys, _Topic())
            topic.score += min(item.factor, 2.0)
            topic.count += 1
            topic.named = topic.named or named
            topic.written[surface] += 1
    ranked = sorted(found, key=lambda keys: -_score(keys, found[keys]))
    chosen: list[tuple[str, ...]] = []
    for keys in ranked:
        if not any(set(keys) & set(other) for other in chosen):
            chosen.append(keys)
        if len(chosen) == max_topics:
            break
    return tuple(dict.fromkeys(found[keys].written.most_common(1)[0][0] for keys in chosen))


def _score(keys: tuple[str, ...], topic: _Topic) -> float:
    score = topic.score * (_NAMED if topic.named else 1.0)
    if len(keys) > 1:
        return score * _PAIRED if topic.count > 1 or topic.named else 0.0
    if topic.count == 1 and not topic.named:
        score *= _ONCE
    surface = topic.written.most_common(1)[0][0]
    return score * (_INFLECTED if not topic.named and surface.endswith(("ed", "ing", "ly")) else 1.0)


def _phrases(text: str, speakers: set[str]) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Single words and neighbouring pairs that may be a topic: stems, spelling, whether it is a name."""
    before: tuple[str, str, bool, int] | None = None
    for match in WORD.finditer(text):
        word, start = match.group(), match.start()
        if word[0] > "\u0dff" and is_unspaced(word):
            yield from (((pair,), pair, False) for pair in character_pairs(word))
            before = None
            continue
        key = _key(word, speakers)
        if key is None:
            before = None
            continue
        named = start > 0 and word[0].isupper()
        yield (key,), word, named
        if before and before[3] == start - 1 and before[2] == named and text[start - 1] == " ":
            yield (before[0], key), f"{before[1]} {word}", named
        before = (key, word, named, match.end())


def _key(word: str, speakers: set[str]) -> str | None:
    if not _MIN_WORD <= len(word) <= _MAX_WORD or word[0].isdigit():
        return None
    token = fold(word)
    if token in lexicon().stop or token in speakers:
        return None
    key = stem(token)
    timely = any(parts == (token,) and label == "time" for parts, label in lexicon().cues.get(token, ()))
    return None if timely or key in lexicon().common else key
