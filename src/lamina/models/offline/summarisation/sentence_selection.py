"""Chooses statements for a number of tokens: most new words and facts per token, a fair share for each input. Pure."""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lamina.models.offline.summarisation.salience import Scored

_KNOWN = 0.04  # what a word is worth that the summary has already
_NEAR = 0.8  # overlap from which two statements say the same
_POWER = 0.8  # how much tokens count against worth
_MAX_POSTINGS = 30  # a stem in more statements than this says nothing about sameness
_MIN_OVERLAP = 3
_NEGATIONS = frozenset(("no", "not", "never", "cannot", "without", "nor", "neither", "stopped", "quit"))


@dataclass(slots=True, kw_only=True)
class Packing:
    """What has been chosen so far, and what it costs."""

    cap: int
    line_cost: int
    chosen: list[int] = field(default_factory=list)
    used: int = 0
    by_source: Counter[int] = field(default_factory=Counter)
    lines: Counter[tuple[int, int]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)


def gain(item: Scored, known: Counter[str]) -> float:
    """What the statement adds to a summary that has these words."""
    fresh = sum(worth if not known[key] else worth * _KNOWN for key, worth in item.stems.items())
    return item.factor * (fresh + (item.lasting if fresh >= 1 else 0.0))


def choose(
    items: Sequence[Scored],
    costs: Sequence[int],
    shares: Mapping[int, int],
    cap: int,
    *,
    line_cost: int,
    floor: float = 0.0,
) -> list[int]:
    """Indexes of the statements to keep. `shares` are tokens held free for each source as long as it can use them."""
    packing = Packing(cap=cap, line_cost=line_cost)
    reserves = _reserves(items, costs, shares, line_cost)
    heap = [(-_rank(item, costs[at], packing), at, 0) for at, item in enumerate(items)]
    heapq.heapify(heap)
    skipped: list[int] = []
    while heap:
        negative, at, stamp = heapq.heappop(heap)
        if -negative <= floor:
            break
        if stamp != len(packing.chosen):
            heapq.heappush(heap, (-_rank(items[at], costs[at], packing), at, len(packing.chosen)))
        elif not _take(packing, items[at], costs[at], reserves, at):
            skipped.append(at)
    for at in skipped:
        _take(packing, items[at], costs[at], {}, at)
    return sorted(packing.chosen)


def _rank(item: Scored, cost: int, packing: Packing) -> float:
    statement = item.statement
    full = cost + (0 if packing.lines[statement.source, statement.line] else packing.line_cost)
    return gain(item, packing.words) / math.pow(max(1, full), _POWER)


def _take(packing: Packing, item: Scored, cost: int, reserves: Mapping[int, int], at: int) -> bool:
    statement = item.statement
    line = (statement.source, statement.line)
    full = cost + (0 if packing.lines[line] else packing.line_cost)
    held = sum(
        max(0, tokens - packing.by_source[source]) for source, tokens in reserves.items() if source != statement.source
    )
    if packing.used + full + held > packing.cap:
        return False
    packing.chosen.append(at)
    packing.used += full
    packing.by_source[statement.source] += full
    packing.lines[line] += 1
    packing.words.update(item.stems.keys())
    return True


def _reserves(
    items: Sequence[Scored], costs: Sequence[int], shares: Mapping[int, int], line_cost: int
) -> dict[int, int]:
    """The shares, but no more than each source has to say."""
    able = Counter[int]()
    for item, cost in zip(items, costs, strict=True):
        able[item.statement.source] += cost + line_cost
    return {source: min(tokens, able[source]) for source, tokens in shares.items()}


def drop_repetitions(items: Sequence[Scored]) -> tuple[list[Scored], dict[int, int]]:
    """The statements without repetitions; and for each kept one that a newer one corrects, which.

    Of two that say the same the earlier stays, unless they differ in a number: then the later corrects the earlier.
    """
    kept: list[Scored] = []
    postings: dict[str, list[int]] = {}
    overtaken: dict[int, int] = {}
    for item in items:
        keys = _keys(item)
        near = _nearest(keys, kept, postings)
        if near is not None and _same(item, kept[near]):
            continue
        if near is not None and _corrects(item, kept[near]):
            overtaken[near] = len(kept)
        for key in keys:
            postings.setdefault(key, []).append(len(kept))
        kept.append(item)
    return kept, overtaken


def _keys(item: Scored) -> dict[str, None]:
    return dict.fromkeys(item.stems) or dict.fromkeys(item.statement.tokens or (item.statement.text,))


def _nearest(keys: Mapping[str, None], kept: Sequence[Scored], postings: Mapping[str, list[int]]) -> int | None:
    shared = Counter[int]()
    for key in keys:
        listed = postings.get(key, ())
        if len(listed) <= _MAX_POSTINGS or len(keys) <= _MIN_OVERLAP:
            shared.update(listed[-_MAX_POSTINGS:])
    best = max(
        shared.items(),
        key=lambda entry: (entry[1] / max(len(_keys(kept[entry[0]])), len(keys)), entry[0]),
        default=None,
    )
    return best[0] if best and (best[1] >= _MIN_OVERLAP or best[1] == len(keys)) else None


def _same(new: Scored, old: Scored) -> bool:
    keys, others = _keys(new), _keys(old)
    if (
        _numbers(keys) != _numbers(others)
        or _is_negated(new) != _is_negated(old)
        or new.statement.asks != old.statement.asks
    ):
        return False
    if new.statement.speaker != old.statement.speaker and "first_person" in new.cues and "first_person" in old.cues:
        return False
    shared = sum(key in others for key in keys)
    return shared >= _NEAR * max(len(keys), len(others)) or shared == len(keys)


def _is_negated(item: Scored) -> bool:
    return any(token in _NEGATIONS or token.endswith("n't") for token in item.statement.tokens)


def _numbers(keys: Mapping[str, None]) -> list[str]:
    return sorted(key for key in keys if key[:1].isdigit())


def _corrects(new: Scored, old: Scored) -> bool:
    """The same thing said with another value or denied, without a word that it has changed."""
    if new.statement.speaker != old.statement.speaker or "change" in new.cues or new.statement.asks:
        return False
    keys, others = _keys(new), _keys(old)
    plain = [key for key in keys if not key[:1].isdigit()]
    shared = sum(key in others for key in plain)
    if not plain or shared < _NEAR * len(plain):
        return False
    return _is_negated(new) != _is_negated(old) or bool(_numbers(keys) and _numbers(others))
