"""Filling a context: which items get in, within the budget, by the profile's steps."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamina.profiles import Profile, Step
from lamina.types import Message, Span

HEADING_TOKENS = 16  # what a section's heading costs at the most
CUT_MARK = "[…] "


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that may go into a context."""

    section: str
    kind: str
    tokens: int
    reason: str
    text: str = ""
    id: str | None = None
    session_id: str | None = None
    messages: tuple[Message, ...] = ()
    span: Span | None = None
    label: str = ""
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    required: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was taken, in the order of taking, and what was left with the reason."""

    taken: tuple[Item, ...]
    left: tuple[tuple[Item, str], ...]
    warnings: tuple[str, ...]


def fill(
    profile: Profile,
    candidates: Mapping[str, Sequence[Item]],
    budget: int,
    spent: int,
    cursor: int,
    count: Callable[[str], int],
) -> Filled:
    """Take items by the profile's steps until the budget is spent. Required items are always taken.

    `spent` is what the system prompt, sources and the current message cost; candidates are in order of preference.
    """
    filling = _Filling(candidates, budget - spent, cursor, count)
    reserves = profile.system_prompt_tokens + profile.working_memory_tokens
    available = max(0, budget - max(spent, reserves) if budget > 2 * reserves else budget - spent)
    for step in profile.steps:
        filling.take(step, available)
    return filling.result()


class _Filling:
    def __init__(
        self, candidates: Mapping[str, Sequence[Item]], budget: int, cursor: int, count: Callable[[str], int]
    ) -> None:
        self._waiting = {section: list(items) for section, items in candidates.items()}
        self._taken: list[Item] = []
        self._used: dict[str, int] = {}
        self._left = budget
        self._cursor = cursor
        self._count = count
        for section, items in self._waiting.items():
            for item in [item for item in items if item.required]:
                items.remove(item)
                self._put(section, item)

    def take(self, step: Step, available: int) -> None:
        section = "recent" if step.section == "gap" else step.section
        waiting = self._waiting.get(section, [])
        room = self._left
        if step.share is not None:
            room = min(room, int(step.share * available) - self._used.get(section, 0))
        for item in list(waiting):
            if step.limit is not None and self._number(section) >= step.limit:
                break
            if step.section == "gap" and item.span is not None and item.span.last <= self._cursor:
                break
            price = item.tokens + (0 if section in self._used else HEADING_TOKENS)
            if price > room and step.cut:
                item_or_none = self._shortened(item, room - HEADING_TOKENS)
                if item_or_none is not None:
                    waiting.remove(item)
                    self._put(section, item_or_none)
                break
            if price > room:
                if section in {"recent", "summaries"}:
                    break  # no holes: what is older goes too
                continue
            waiting.remove(item)
            self._put(section, item)
            room -= price

    def _number(self, section: str) -> int:
        return sum(1 for item in self._taken if item.section == section)

    def _put(self, section: str, item: Item) -> None:
        price = item.tokens + (0 if section in self._used else HEADING_TOKENS)
        self._used[section] = self._used.get(section, 0) + price
        self._left -= price
        self._taken.append(item)

    def _shortened(self, item: Item, room: int) -> Item | None:
        overhead = item.tokens - self._count(item.text)
        text = cut_text(item.text, room - overhead, self._count)
        if not text:
            return None
        return replace(item, text=text, tokens=self._count(text) + overhead, cut=True)

    def result(self) -> Filled:
        left = [(item, "over budget") for items in self._waiting.values() for item in items]
        warnings = [
            f"{section}: {number} of {number + self._number(section)} did not fit the budget"
            for section, number in ((name, len(items)) for name, items in self._waiting.items())
            if number
        ]
        warnings += [f"{item.section}: cut to fit the budget" for item in self._taken if item.cut]
        return Filled(taken=tuple(self._taken), left=tuple(left), warnings=tuple(warnings))


def without_last(filled: Filled) -> Filled | None:
    """The same with the last taken item that is not required left out; None if there is none."""
    for index in range(len(filled.taken) - 1, -1, -1):
        item = filled.taken[index]
        if not item.required:
            return Filled(
                taken=filled.taken[:index] + filled.taken[index + 1 :],
                left=(*filled.left, (item, "over budget")),
                warnings=(*filled.warnings, f"{item.section}: one more left out to fit the budget"),
            )
    return None


def cut_text(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The end of a text within so many tokens, beginning at a sentence or line, marked as cut; '' if nothing fits."""
    if count(text) <= tokens:
        return text
    starts = [match.end() for match in re.finditer(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+", text)]
    starts = starts or [match.end() for match in re.finditer(r"\s+", text)]
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if count(CUT_MARK + text[starts[middle] :]) <= tokens:
            high = middle
        else:
            low = middle + 1
    if low == len(starts) or not text[starts[low] :].strip():
        return ""
    return CUT_MARK + text[starts[low] :]


def trimmed(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The beginning of a text within so many tokens, ending at a sentence or line where it can; '' if nothing fits."""
    if count(text) <= tokens:
        return text
    for pattern in (r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+", r"\s+", r"(?=.)"):
        ends = [match.start() for match in re.finditer(pattern, text[: tokens * 40 + 40], re.DOTALL)]
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if count(text[: ends[middle]].rstrip()) <= tokens:
                low = middle + 1
            else:
                high = middle
        kept = text[: ends[low - 1]].rstrip() if low else ""
        if kept and (len(kept) * 3 > tokens or pattern == r"(?=.)"):
            return kept
    return ""
