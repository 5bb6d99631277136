"""What a consolidation changes: decay brought up to date, faded facts put away, duplicates and moments joined."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lamina.knowledge.decay import HALF_LIFE_DAYS, decayed
from lamina.knowledge.episodes import capped, jaccard, merged
from lamina.knowledge.standing import said
from lamina.language.words import STOP_WORDS, terms, words
from lamina.profiles import Profile
from lamina.values.fact import Consolidated, Episode, Fact, Fading

_PLACES = 6
_NOTEWORTHY = 0.001  # change of decay
_FEWEST_TERMS = 2  # below these, words say too little to call two facts the same
_DAY = timedelta(days=1)
_BEYOND = 2.0  # a freshness that no memory has
# Little words that may differ between two ways to say the same; all others must be the same.
_IDLE = frozenset(
    """a about also am an and are as at be because been being do does doing for had has have having i i'd i'll i'm i've
    in is it it's its itself just me my of our so some such that that's the then there this us very we which
    with""".split()  # noqa: SIM905 - words read best
)
_NEGATIONS = frozenset(("no", "not", "never", "none", "nor", "neither", "nothing", "nobody", "without", "cannot"))
_SIGNS = re.compile(r"[+#$€£¥₹%°<>=&@^*]|(?<!\S)-(?=\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a memory is put away or joined with another."""

    half_life_days: float = HALF_LIFE_DAYS
    days: float = 30.0  # younger facts are never put away
    threshold: float = 0.3  # of importance times decay, below which older ones are
    similar: float = 0.9  # share of common terms from which two facts are the same
    most_episodes: int = 100
    durable: frozenset[str] = field(default_factory=frozenset)  # categories never put away


def rules_of(profile: Profile) -> Rules:
    return Rules(
        half_life_days=profile.half_life_days,
        days=profile.consolidation_days,
        threshold=profile.archive_below,
        most_episodes=profile.max_episodes,
        durable=frozenset(profile.never_archived),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The facts and episodes that change, as they shall be; the episodes that go; and what to tell of it."""

    facts: tuple[Fact, ...] = ()
    episodes: tuple[Episode, ...] = ()
    drop_episodes: tuple[str, ...] = ()
    result: Consolidated = field(default_factory=Consolidated)


def plan(facts: Sequence[Fact], episodes: Sequence[Episode], now: datetime, rules: Rules) -> Plan:
    """What to change; once it is done, nothing is left to change at the same time."""
    active = [fact for fact in facts if _is_judged(fact)]
    fresh = {fact.id: _fresh(fact, now, rules) for fact in active}
    archived = {fact.id for fact in active if _faded(fact, fresh[fact.id], now, rules)}
    into = _duplicates([fact for fact in active if fact.id not in archived], rules.similar)
    changed = tuple(_judged(active, fresh, archived, into, now))
    moments = _episodes(episodes, now, rules)
    gone = (*(fact for fact in active if fact.id in archived or fact.id in into),)
    before = {fact.id: fact.decay for fact in active}
    result = replace(
        moments.result,
        decayed=moments.result.decayed + sum(_differs(before[fact.id], fact.decay) for fact in changed),
        archived=tuple(fact.id for fact in active if fact.id in archived),
        merged=tuple(fact.id for fact in active if fact.id in into),
        tokens_reclaimed=moments.result.tokens_reclaimed + sum(fact.tokens for fact in gone),
    )
    return replace(moments, facts=changed, result=result)


def _fresh(item: Fact | Episode, now: datetime, rules: Rules) -> float:
    return round(decayed(item, now, rules.half_life_days), _PLACES)


def _differs(one: float, other: float) -> bool:
    return abs(one - other) > _NOTEWORTHY


def _is_judged(fact: Fact) -> bool:
    """Whether a consolidation looks at a fact at all."""
    return fact.status == "active" and fact.verdict not in {"archived", "merged"}


def _faded(fact: Fact, decay: float, now: datetime, rules: Rules) -> bool:
    below = _archive_below(fact, rules)
    return below is not None and decay < below and not _is_young(fact, now, rules)


def _is_young(fact: Fact, now: datetime, rules: Rules) -> bool:
    return (now - fact.learnt_at) / _DAY <= rules.days


def _archive_below(fact: Fact, rules: Rules) -> float | None:
    """The freshness under which a fact is put away once it is old enough; None if it never is."""
    if fact.category in rules.durable or rules.threshold <= 0:
        return None
    return rules.threshold / max(fact.importance, rules.threshold / _BEYOND)


def fading(facts: Iterable[Fact], episodes: Iterable[Episode], now: datetime, rules: Rules) -> list[Fading]:
    """How fresh the memories are that a consolidation would look at now, the most faded first.

    It would put away those facts that are not kept and less fresh than their limit; episodes it never puts away.
    """
    found = [
        *(_fading_fact(fact, now, rules) for fact in facts if _is_judged(fact)),
        *(_fading_episode(episode, now, rules) for episode in episodes),
    ]
    return sorted(found, key=lambda one: (one.decay, one.importance, one.id))


def _fading_fact(fact: Fact, now: datetime, rules: Rules) -> Fading:
    below = _archive_below(fact, rules)
    return Fading(
        id=fact.id,
        kind="fact",
        label=said(fact),
        importance=fact.importance,
        decay=_fresh(fact, now, rules),
        used_at=fact.accessed_at or fact.learnt_at,
        accesses=fact.accesses,
        archive_below=below,
        kept=below is None or _is_young(fact, now, rules),
    )


def _fading_episode(episode: Episode, now: datetime, rules: Rules) -> Fading:
    return Fading(
        id=episode.id,
        kind="episode",
        label=episode.title,
        importance=episode.significance,
        decay=_fresh(episode, now, rules),
        used_at=episode.accessed_at or episode.happened_at,
        accesses=episode.accesses,
        archive_below=None,
        kept=True,
    )


def _judged(
    facts: Iterable[Fact], fresh: dict[str, float], archived: set[str], into: dict[str, str], now: datetime
) -> Iterator[Fact]:
    for fact in facts:
        decay = fresh[fact.id]
        if fact.id in archived:
            yield replace(fact, decay=decay, verdict="archived", verdict_at=now)
        elif fact.id in into:
            yield replace(fact, decay=decay, verdict="merged", verdict_at=now, verdict_by=into[fact.id])
        elif _differs(decay, fact.decay):
            yield replace(fact, decay=decay)


# Episodes


def _episodes(episodes: Sequence[Episode], now: datetime, rules: Rules) -> Plan:
    before = {episode.id: episode for episode in episodes}
    after = dict(before)
    joined: list[str] = []
    for episode, others in merged(episodes):
        after[episode.id] = episode
        for other in others:
            del after[other.id]
            joined.append(other.id)
    for episode in tuple(after.values()):
        decay = _fresh(episode, now, rules)
        if _differs(decay, episode.decay):
            after[episode.id] = replace(episode, decay=decay)
    keep, drop = capped(tuple(after.values()), rules.most_episodes)
    dropped = tuple(episode.id for episode in drop)
    tokens = sum(episode.tokens for episode in episodes) - sum(episode.tokens for episode in keep)
    return Plan(
        episodes=tuple(episode for episode in keep if episode != before[episode.id]),
        drop_episodes=(*joined, *dropped),
        result=Consolidated(
            decayed=sum(_differs(episode.decay, before[episode.id].decay) for episode in keep),
            merged_episodes=tuple(joined),
            dropped_episodes=dropped,
            tokens_reclaimed=tokens,
        ),
    )


# Facts that say the same


@dataclass(frozen=True, slots=True)
class _Wording:
    """Facts in the same words."""

    order: tuple[str, ...]  # distinct terms as they come
    terms: frozenset[str]
    facts: list[Fact]

    def slots(self) -> set[str]:
        return {fact.slot for fact in self.facts}


def _duplicates(facts: Iterable[Fact], similar: float) -> dict[str, str]:
    """Each fact that says the same as a better one in another slot, with the id of the best."""
    families: dict[tuple[object, ...], dict[tuple[str, ...], _Wording]] = {}
    for fact in facts:
        order = tuple(dict.fromkeys(terms(fact.value)))
        if len(order) >= _FEWEST_TERMS:
            family = families.setdefault((fact.user_id, fact.type, fact.category, *_telling(fact.value)), {})
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
        if word in _NEGATIONS or word.endswith("n't"):
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
