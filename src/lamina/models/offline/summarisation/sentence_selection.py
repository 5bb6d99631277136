"""Chooses statements for a number of tokens: most new words and facts per token, a fair share for each input. Pure."""

import heapq
import math
from bisect import bisect
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamina.models.offline.summarisation.salience import Scored
from lamina.models.offline.summarisation.statements import Statement
from lamina.models.offline.summarisation.thoughts import closures

_KNOWN = 0.05  # what a word is worth that the summary has already
_POWER = 1.1  # how much tokens count against worth
_ENDS = (".", "!", "?", "…", "]", "。")
_HIGH_FLOOR = 2.5  # how much more must speak for what others than the user said, and what cannot be understood alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many tokens there are, and for whom."""

    cap: int
    line_cost: int
    shares: Mapping[int, int]  # tokens held free for each source as long as it can use them
    floor: float = 0.0  # worth per token below which a statement is left out though there is room
    keeps_old: bool = False  # what an earlier version of the summary has is left out only where there is no room
    others: int | None = None  # tokens for those who are not the user


@dataclass(slots=True, kw_only=True)
class _Packing:
    """What has been chosen so far, and what it costs."""

    chosen: set[int] = field(default_factory=set)
    order: list[int] = field(default_factory=list)  # the same, sorted
    used: int = 0
    others: int = 0
    by_source: Counter[int] = field(default_factory=Counter)
    lines: set[tuple[int, int]] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


def gain(item: Scored, known: Container[str]) -> float:
    """What the statement adds to a summary that has these words."""
    fresh = sum(worth * _KNOWN if key in known else worth for key, worth in item.stems.items())
    return item.factor * (fresh + (item.lasting if fresh >= 1 else 0.0))


def is_others(item: Scored) -> bool:
    """Whether the words are of the assistant or a tool, not of the user."""
    return item.statement.role in {"assistant", "tool", "system", "developer"}


def shares_line(one: Statement, last: Statement) -> bool:
    """Whether the first words of a message may stand behind words of one before: the same speaker's whole sentences."""
    if one.old or one.unclear or one.question or last.question or one.open or last.open:
        return False
    if one.role not in {"user", "assistant"} or last.text[-1:] not in _ENDS:
        return False
    return (one.source, one.speaker) == (last.source, last.speaker)


class Choice:
    """A choice of statements, each with all that it needs; more can be added when there is more room."""

    def __init__(self, items: Sequence[Scored], costs: Sequence[int], room: Room) -> None:
        self._items, self._costs, self._room = items, costs, room
        self._closures = closures([item.needs for item in items])
        self._leaning: dict[int, list[int]] = {}  # which statements need this one
        for at, needed in enumerate(self._closures):
            for one in needed if len(needed) > 1 else ():
                self._leaning.setdefault(one, []).append(at)
        self._packing = _Packing()
        self._heap: list[tuple[float, int, int]] = []
        self._skipped: list[int] = []
        self._reserves = self._able_shares()
        self._choose()
        self.add(0)

    @property
    def picked(self) -> list[int]:
        """Indexes of the chosen statements, in order."""
        return list(self._packing.order)

    def add(self, tokens: int) -> None:
        """Choose more for so many more tokens, from what did not fit and what is essential."""
        cap = self._room.cap + tokens
        grown = {source: share * cap // max(1, self._room.cap) for source, share in self._room.shares.items()}
        self._room = replace(self._room, cap=cap, shares=grown)
        self._reserves = self._able_shares()
        ranks = {at: self._rank(at) for at in self._skipped if at not in self._packing.chosen}
        able = [at for at, rank in ranks.items() if self._items[at].essential or rank > self._floor(at)]
        able.sort(key=lambda at: (-ranks[at], at))
        for reserves in (self._reserves, dict[int, int]()):
            for at in able:
                if at not in self._packing.chosen:
                    self._take(at, reserves)

    def _choose(self) -> None:
        self._heap = [(-self._rank(at), at, 0) for at in range(len(self._items))]
        heapq.heapify(self._heap)
        for at in sorted(at for at, item in enumerate(self._items) if item.required):
            self._take(at, {})
        chosen = self._packing.chosen
        while self._heap:
            negative, at, stamp = heapq.heappop(self._heap)
            if at in chosen:
                continue
            if -negative <= self._floor(at):
                self._skipped.append(at)
            elif stamp != len(chosen):
                self._push(at)
            elif not self._take(at, self._reserves):
                self._skipped.append(at)

    def _floor(self, at: int) -> float:
        item = self._items[at]
        if item.barred:
            return math.inf
        if self._room.keeps_old and item.statement.old:
            return 0.0
        high = item.statement.role == "assistant" or item.statement.unclear
        return self._room.floor * (_HIGH_FLOOR if high else 1.0)

    def _push(self, at: int) -> None:
        heapq.heappush(self._heap, (-self._rank(at), at, len(self._packing.chosen)))

    def _rank(self, at: int) -> float:
        """What a statement and all that it needs bring for a token."""
        needed = self._closures[at]
        if len(needed) == 1:
            worth = gain(self._items[at], self._packing.words)
        else:
            known, worth = set(self._packing.words), 0.0
            for one in needed:
                if one not in self._packing.chosen:
                    worth += gain(self._items[one], known)
                    known.update(self._items[one].stems)
        return worth / math.pow(max(1, self._price(needed)), _POWER)

    def _price(self, needed: Iterable[int]) -> int:
        """Tokens of those that are not chosen yet, with the beginnings of their lines."""
        fresh = [one for one in needed if one not in self._packing.chosen]
        begun = {self._line(one) for one in fresh if not self._follows_own(one)} - self._packing.lines
        return sum(self._costs[one] for one in fresh) + len(begun) * self._room.line_cost

    def _follows_own(self, at: int) -> bool:
        """Whether what is chosen just before a statement is the speaker's own, so that it needs no new line."""
        place = bisect(self._packing.order, at)
        return place > 0 and shares_line(
            self._items[at].statement, self._items[self._packing.order[place - 1]].statement
        )

    def _line(self, at: int) -> tuple[int, int]:
        statement = self._items[at].statement
        return statement.source, statement.line

    def _take(self, at: int, reserves: Mapping[int, int]) -> bool:
        packing = self._packing
        fresh = [one for one in self._closures[at] if one not in packing.chosen]
        price, source = self._price(fresh), self._items[at].statement.source
        held = sum(max(0, tokens - packing.by_source[other]) for other, tokens in reserves.items() if other != source)
        others = sum(self._costs[one] for one in fresh if is_others(self._items[one]))
        if packing.used + price + held > self._room.cap:
            return False
        if self._room.others is not None and others and packing.others + others > self._room.others:
            return False
        packing.chosen.update(fresh)
        packing.order = sorted(packing.chosen)
        packing.used += price
        packing.others += others
        packing.by_source[source] += price
        for one in fresh:
            packing.lines.add(self._line(one))
            packing.words.update(self._items[one].stems)
        for one in {other for taken in fresh for other in self._leaning.get(taken, ())} - packing.chosen:
            self._push(one)  # cheaper now
        return True

    def _able_shares(self) -> dict[int, int]:
        """The shares, but no more than each source has to say."""
        able = Counter[int]()
        for item, cost in zip(self._items, self._costs, strict=True):
            able[item.statement.source] += cost + self._room.line_cost
        return {source: min(tokens, able[source]) for source, tokens in self._room.shares.items()}
