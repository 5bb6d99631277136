"""Facts that say the same in other words: found by their terms, without comparing each with each."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamina.knowledge.episodes import jaccard
from lamina.language.words import STOP_WORDS, terms, words
from lamina.values.fact import Fact

_MIN_TERMS = 2  # below these, words say too little to call two facts the same
# Little words that may differ between two ways to say the same; all others must be the same.
_IDLE = frozenset(
    """a about also am an and are as at be because been being do does doing for had has have having i i'd i'll i'm i've
    in is it it's its itself just me my of our so some such that that's the then there this us very we which
    with""".split()  # noqa: SIM905 - words read best
)
NEGATIONS = frozenset(("no", "not", "never", "none", "nor", "neither", "nothing", "nobody", "without", "cannot"))
_SIGNS = re.compile(r"[+#$€£¥₹%°<>=&@^*]|(?<!\S)-(?=\d)")


@dataclass(frozen=True, slots=True)
class _Wording:
    """Facts in the same words."""

    order: tuple[str, ...]  # distinct terms as they come
    terms: frozenset[str]
    facts: list[Fact]

    def slots(self) -> set[str]:
        return {fact.slot for fact in self.facts}


def find_duplicates(facts: Iterable[Fact], similar: float) -> dict[str, str]:
    """Each fact that says the same as a better one in another slot, with the id of the best."""
    families: dict[tuple[object, ...], dict[tuple[str, ...], _Wording]] = {}
    for fact in facts:
        order = tuple(dict.fromkeys(terms(fact.value)))
        if len(order) >= _MIN_TERMS:
            family = families.setdefault(
                (
                    fact.user_id,
                    fact.project_id,
                    fact.type,
                    fact.category,
                    fact.about,
                    fact.scope,
                    *_telling(fact.value),
                ),
                {},
            )
            family.setdefault(order, _Wording(order, frozenset(order), [])).facts.append(fact)
    into: dict[str, str] = {}
    for family in families.values():
        for group in _groups(tuple(family.values()), similar):
            best = max(group, key=_worth)
            into.update({fact.id: best.id for fact in group if fact.id != best.id})
    return into


def _worth(fact: Fact) -> tuple[float, datetime, str]:
    return fact.importance, fact.learnt_at, fact.id


def _telling(value: str) -> tuple[str, ...]:
    """What the terms of a value do not tell apart: numbers, signs, negations, other little words, and past from now."""
    found = _SIGNS.findall(value)
    for word in words(value):
        if word in NEGATIONS or word.endswith("n't"):
            found.append("not")
        elif any(map(str.isdigit, word)) or (word in STOP_WORDS and word not in _IDLE):
            found.append(word)
        elif word.endswith("ed"):
            found.append("-ed")
    return tuple(found)


def _groups(wordings: Sequence[_Wording], similar: float) -> Iterator[list[Fact]]:
    """Facts that are the same, directly or by way of others."""
    index = _Index(wordings, similar)
    for at in range(len(wordings)):
        index.add(at)
    groups: dict[int, list[Fact]] = {}
    for at, wording in enumerate(wordings):
        groups.setdefault(index.lead(at), []).extend(wording.facts)
    for group in groups.values():
        if len({fact.slot for fact in group}) > 1:
            yield group


class _Index:
    """Wordings by their rarest terms, and which of them are one.

    With all terms sorted by rarity, two sets that are alike share one of their first few, so only those are looked up:
    as many as may be missing from what sets of these two sizes must have in common.
    """

    def __init__(self, wordings: Sequence[_Wording], similar: float) -> None:
        self._wordings = wordings
        self._similar = similar
        self._frequency = Counter(term for wording in wordings for term in wording.terms)
        self._sizes = sorted({len(wording.terms) for wording in wordings})
        self._leader = list(range(len(wordings)))
        # size, place and term -> the wordings that have it there, by the one that led them
        self._having: dict[tuple[int, int, str], dict[int, list[int]]] = {}

    def lead(self, at: int) -> int:
        """The first of those that are one with it."""
        while self._leader[at] != at:
            self._leader[at] = self._leader[self._leader[at]]
            at = self._leader[at]
        return at

    def add(self, at: int) -> None:
        rarest = sorted(self._wordings[at].terms, key=lambda term: (self._frequency[term], term))
        deepest = 0
        for size, own, other in _depths(len(rarest), self._sizes, self._similar):
            deepest = max(deepest, own)
            for term, place in itertools.product(rarest[:own], range(other)):
                self._join(at, self._having.get((size, place, term), {}))
        for place, term in enumerate(rarest[:deepest]):
            self._having.setdefault((len(rarest), place, term), {}).setdefault(self.lead(at), []).append(at)

    def _join(self, at: int, groups: Mapping[int, Sequence[int]]) -> None:
        """One of a group that is the same is enough."""
        for leader, members in groups.items():
            if self.lead(leader) != self.lead(at) and any(self._same(at, member) for member in members):
                first, second = sorted((self.lead(leader), self.lead(at)))
                self._leader[second] = first

    def _same(self, at: int, member: int) -> bool:
        one, other = self._wordings[at], self._wordings[member]
        if jaccard(one.terms, other.terms) < self._similar or len(one.slots() | other.slots()) == 1:
            return False
        common = one.terms & other.terms
        return [term for term in one.order if term in common] == [term for term in other.order if term in common]


def _depths(own: int, sizes: Iterable[int], similar: float) -> Iterator[tuple[int, int, int]]:
    """Sizes of sets that may be alike one of `own` terms, with how many of the rarest terms to look at in each."""
    for size in sizes:
        common = math.ceil(similar / (1 + similar) * (own + size) - 1e-9)
        if 0 < common <= min(own, size):
            yield size, own - common + 1, size - common + 1
