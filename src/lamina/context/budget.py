"""Filling a context: which items get in, within the budget, by the profile's steps."""

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lamina.context.items import Item
from lamina.context.repetition import Repeated, Said, Wording, without_lines_of_facts
from lamina.profiles import Profile, Step

HEADING_TOKENS = 16  # what a section's heading costs at the most
_DAY_TOKENS = 8  # what the line costs under which facts or passages of a day stand
CUT_MARK = "[…] "
_OVER = "over budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was taken, in the order of taking, and what was left with the reason."""

    taken: tuple[Item, ...] = ()
    left: tuple[tuple[Item, str], ...] = ()
    warnings: tuple[str, ...] = ()
    price: int = 0  # what the taken items cost, with their headings


@dataclass(slots=True)
class _Checked:
    """The items beside which passages were looked at, what these say, and which items say something new beside them."""

    others: Sequence[Item] = ()
    said: Said = field(default_factory=lambda: Said((), None))
    new: set[int] = field(default_factory=set)


class Reserve(NamedTuple):
    """Tokens held back for the caller's system prompt and the current turn: never more than half of a budget."""

    system_prompt: int
    working_memory: int


def reserve(profile: Profile, budget: int) -> Reserve:
    """What the profile holds back of a budget."""
    system, working = profile.system_prompt_tokens, profile.working_memory_tokens
    if system + working > budget // 2:
        system = budget // 2 * system // (system + working)
        working = budget // 2 - system
    return Reserve(system, working)


def fill(
    profile: Profile,
    candidates: Mapping[str, Sequence[Item]],
    budget: int,
    spent: int,
    cursor: int,
    count: Callable[[str], int],
    asked: str | None = None,
    wording: Wording | None = None,
) -> "Filling":
    """Take items by the profile's steps until the budget is spent. Required items are always taken.

    `spent` is what the system prompt, sources and the current message cost; candidates are in order of preference.
    What would say again what stands in the context is left out, and its room is used. `asked` is the current message.
    """
    available = max(0, budget - max(spent, sum(reserve(profile, budget))))
    filling = Filling(profile, candidates, available, cursor, count, asked, wording or Wording())
    again = True
    while again:
        for step in profile.steps:
            filling.take(step)
        again = filling.drop_repeated()
    return filling


_GROWING = frozenset(("_waiting", "_taken", "_number", "_repeated", "_used", "_headings", "_cut"))


class Filling:
    """What is taken so far, and what waits."""

    def __init__(
        self,
        profile: Profile,
        candidates: Mapping[str, Sequence[Item]],
        available: int,
        cursor: int,
        count: Callable[[str], int],
        asked: str | None,
        wording: Wording,
    ) -> None:
        self._asked = asked
        self._wording = wording
        self._checked = _Checked()
        self._profile = profile
        self._waiting = {
            section: [item for item in items if not item.required] for section, items in candidates.items()
        }
        self._taken: list[Item] = []
        self._number: Counter[str] = Counter()  # section -> how many are taken
        self._repeated: list[tuple[Item, Repeated]] = []
        self._used: dict[str, int] = {}
        self._headings: set[tuple[str, str]] = set()
        self._available = self._left = available
        self._cursor = cursor
        self._count = count
        self._cut: list[str] = []
        for section, items in candidates.items():
            for item in items:
                if item.required:
                    self._put(section, item)

    def with_spare(self, tokens: int) -> "Filling":
        """The same with so many tokens more for passages alone, where the profile takes these as far as they fit."""
        more = copy(self)
        vars(more).update({name: copy(value) for name, value in vars(self).items() if name in _GROWING})
        for step in self._profile.steps:
            if step.section == "recalled" and step.share is None:
                more.take(step, tokens)
                more.drop_repeated()
                break
        return more

    def take(self, step: Step, spare: int = 0) -> None:
        """Take what a step allows, with `spare` tokens more."""
        self._left += spare
        section = "recent" if step.section == "gap" else step.section
        # whether what follows an item that does not fit must stay out too, so that there are no holes
        in_order = section == "recent" or (section == "summaries" and self._profile.summary_order == "newest")
        room = self._left
        if step.share is not None:
            room = min(room, int(step.share * self._available) - self._used.get(section, 0))
        gone: set[int] = set()
        for place, item in enumerate(self._waiting.get(section, ())):
            if step.section == "gap" and item.span is not None and item.span.last <= self._cursor:
                break
            if step.limit is not None and self._number[section] >= step.limit:
                break
            price = self._price(section, item)
            if price <= room:
                self._put(section, item)
                gone.add(place)
                room -= price
            elif step.cut:
                if (part := self._shorten(item, room - HEADING_TOKENS)) is not None:
                    self._put(section, part)
                    self._cut.append(section)
                    gone.add(place)
                break
            elif in_order:
                break
        if gone:
            self._waiting[section] = [item for place, item in enumerate(self._waiting[section]) if place not in gone]

    def _price(self, section: str, item: Item) -> int:
        day = _DAY_TOKENS if item.heading and (section, item.heading) not in self._headings else 0
        return item.tokens + day + (0 if section in self._used else HEADING_TOKENS)

    def _put(self, section: str, item: Item) -> None:
        price = self._price(section, item)
        self._used[section] = self._used.get(section, 0) + price
        self._left -= price
        self._headings.add((section, item.heading))
        self._taken.append(item)
        self._number[section] += 1

    def _shorten(self, item: Item, room: int) -> Item | None:
        overhead = item.tokens - self._count(item.text)
        text = cut_text(item.text, room - overhead, self._count)
        return replace(item, text=text, tokens=self._count(text) + overhead, cut=True) if text else None

    def drop_repeated(self) -> bool:
        """Take out what is said already; whether there was any."""
        shorter = self._profile.window.fill and (self._drop_recent_statements() | self._shorten_summaries())
        others = [item for item in self._taken if item.kind != "passage"]
        if [*map(id, others)] != [*map(id, self._checked.others)]:
            self._checked = _Checked(others, Said(others, self._asked, self._wording))
        said, new = self._checked.said, self._checked.new
        recent = [item for item in others if item.section == "recent"]
        here = {(item.session_id, one.seq) for item in recent for one in (*item.messages, *item.equal)}
        repeated = []
        for item in (*others, *(one for one in self._taken if one.kind == "passage")):  # these may stand in others
            if id(item) in new:
                continue
            whole = Repeated("its messages are here word for word") if self._stands_whole(item, here) else None
            if (found := whole or said.find(item)) is not None:
                repeated.append((item, found))
                said.drop(item)
            else:
                new.add(id(item))
        for item, found in repeated:
            self._drop(item, found)
        return shorter or bool(repeated)

    def _drop(self, item: Item, why: Repeated) -> None:
        self._taken.remove(item)
        self._number[item.section] -= 1
        self._free(item.section, item.tokens)
        self._repeated.append((item, why))

    def _free(self, section: str, tokens: int) -> None:
        self._used[section] -= tokens
        self._left += tokens

    def _drop_recent_statements(self) -> bool:
        """Take out facts that are no more than words of a recent message; whether there were any."""
        texts = {one.id: one.text for item in self._taken if item.section == "recent" for one in item.messages}
        repeated = [
            item
            for item in self._taken
            if item.verbatim and item.quote and any(item.quote in texts.get(one, "") for one in item.message_ids)
        ]
        for item in repeated:
            self._drop(item, Repeated("a recent message says it word for word"))
        return bool(repeated)

    def _shorten_summaries(self) -> bool:
        """Take lines that facts say out of summaries; whether there were any."""
        facts = [item for item in self._taken if item.section == "facts"]
        changed = False
        for item in [one for one in self._taken if one.section in {"digest", "summaries"} and not one.cut]:
            shorter = without_lines_of_facts(item, facts, self._count)
            if shorter is item or (item.section == "summaries" and not shorter.text):  # it stands for its messages
                continue
            changed = True
            if shorter.text:
                self._taken[self._taken.index(item)] = shorter
                self._free(item.section, item.tokens - shorter.tokens)
            else:
                self._drop(item, Repeated("facts say all of it"))
        return changed

    def _stands_whole(self, item: Item, here: Container[tuple[str | None, int]]) -> bool:
        """Whether all messages of a passage or summary are among those shown."""
        of_messages = item.kind == "passage" or (item.section == "summaries" and self._profile.window.fill)
        if item.span is None or not of_messages:
            return False
        return all((item.session_id, seq) in here for seq in range(item.span.first, item.span.last + 1))

    @property
    def price(self) -> int:
        """What the taken items cost, with their headings."""
        return sum(self._used.values())

    def lacks(self, section: str) -> bool:
        """Whether something of a section did not fit."""
        return bool(self._waiting.get(section)) and not self._is_complete(section)

    def _is_complete(self, section: str) -> bool:
        """Whether as many of a section are taken as the profile shows."""
        limits = [step.limit for step in self._profile.steps if step.section == section]
        return None not in limits and self._number[section] >= self._shown(section)

    def _shown(self, section: str) -> int:
        """How many of a section the profile shows at the most, where it says so."""
        limits = (step.limit for step in self._profile.steps if step.section == section)
        return max((limit for limit in limits if limit is not None), default=0)

    def taken(self) -> list[Item]:
        """What was taken, each with the messages whose words stand in it."""
        quoted: dict[int, list[str]] = {}
        for item, found in self._repeated:
            if found.holder is not None:
                quoted.setdefault(id(found.holder), []).extend(item.message_ids)
        return [
            replace(item, message_ids=tuple(dict.fromkeys((*item.message_ids, *quoted[id(item)]))))
            if id(item) in quoted
            else item
            for item in self._taken
        ]

    def result(self) -> Filled:
        left: list[tuple[Item, str]] = []
        warnings = []
        for section, items in self._waiting.items():
            number = self._number[section]
            if self._is_complete(section):
                left += [(item, f"beyond the {self._shown(section)} that the profile shows") for item in items]
                continue
            left += [(item, _OVER) for item in items]
            if missed := sum(not item.spare for item in items):
                warnings.append(f"{section}: {missed} of {missed + number} did not fit the budget")
        left += [(item, found.reason) for item, found in self._repeated]
        warnings += [f"{section}: cut to fit the budget" for section in self._cut]
        return Filled(taken=tuple(self.taken()), left=tuple(left), warnings=tuple(warnings), price=self.price)


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
