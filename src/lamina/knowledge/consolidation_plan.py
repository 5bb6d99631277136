"""The plan of a consolidation: decay brought up to date, faded facts archived, duplicates and episodes merged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lamina.knowledge.circular_links import ORDERED, circles
from lamina.knowledge.decay import HALF_LIFE_DAYS, freshness, last_use
from lamina.knowledge.duplicates import find_duplicates
from lamina.knowledge.episodes import cap_episodes, merge_episodes
from lamina.knowledge.fact_words import describe_fact
from lamina.profiles import Profile
from lamina.values.fact import Consolidated, Episode, Fact, Fading, Link

_PLACES = 6
_NOTEWORTHY = 0.001  # change of decay
_DAY = timedelta(days=1)
_BEYOND = 2.0  # a freshness that no memory has


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a memory is put away or joined with another."""

    half_life_days: float = HALF_LIFE_DAYS
    days: float = 30.0  # facts that came in less long ago are never put away
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
    into: Mapping[str, str] = field(default_factory=dict)  # merged episode -> the one that it went into
    result: Consolidated = field(default_factory=Consolidated)


def plan(facts: Sequence[Fact], episodes: Sequence[Episode], now: datetime, rules: Rules) -> Plan:
    """What to change; once it is done, nothing is left to change at the same time."""
    active = [fact for fact in facts if _is_judged(fact)]
    fresh = {fact.id: _fresh(fact, now, rules) for fact in active}
    archived = {fact.id for fact in active if _is_faded(fact, fresh[fact.id], now, rules)}
    into = find_duplicates([fact for fact in active if fact.id not in archived], rules.similar)
    changed = tuple(_verdicts(active, fresh, archived, into, now))
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
    return round(freshness(item, now, rules.half_life_days), _PLACES)


def _differs(one: float, other: float) -> bool:
    return abs(one - other) > _NOTEWORTHY


def _is_judged(fact: Fact) -> bool:
    """Whether a consolidation looks at a fact at all."""
    return fact.status == "active" and fact.verdict not in {"archived", "merged"}


def _is_faded(fact: Fact, decay: float, now: datetime, rules: Rules) -> bool:
    below = _archive_below(fact, rules)
    return below is not None and decay < below and not _is_young(fact, now, rules)


def _is_young(fact: Fact, now: datetime, rules: Rules) -> bool:
    return (now - fact.created_at) / _DAY <= rules.days


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
        label=describe_fact(fact),
        importance=fact.importance,
        decay=_fresh(fact, now, rules),
        used_at=last_use(fact),
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
        used_at=last_use(episode),
        accesses=episode.accesses,
        archive_below=None,
        kept=True,
    )


def _verdicts(
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
    into: dict[str, str] = {}
    for episode, others in merge_episodes(episodes):
        after[episode.id] = episode
        for other in others:
            del after[other.id]
            into[other.id] = episode.id
    for episode in tuple(after.values()):
        decay = _fresh(episode, now, rules)
        if _differs(decay, episode.decay):
            after[episode.id] = replace(episode, decay=decay)
    keep, drop = cap_episodes(tuple(after.values()), rules.most_episodes)
    dropped = tuple(episode.id for episode in drop)
    keep = tuple(_relink(episode, into, frozenset(dropped)) for episode in keep)
    tokens = sum(episode.tokens for episode in episodes) - sum(episode.tokens for episode in keep)
    return Plan(
        episodes=tuple(episode for episode in keep if episode != before[episode.id]),
        drop_episodes=(*into, *dropped),
        into=into,
        result=Consolidated(
            decayed=sum(_differs(episode.decay, before[episode.id].decay) for episode in keep),
            merged_episodes=tuple(into),
            dropped_episodes=dropped,
            tokens_reclaimed=tokens,
        ),
    )


def _relink(episode: Episode, into: Mapping[str, str], dropped: frozenset[str]) -> Episode:
    """An episode that names none that is gone: merged ones by the one they went into."""
    linked = dict.fromkeys(into.get(one, one) for one in episode.linked)
    return replace(episode, linked=tuple(one for one in linked if one != episode.id and one not in dropped))


def redirect_links(links: Sequence[Link], into: Mapping[str, str], gone: Collection[str]) -> list[Link]:
    """The links of merged episodes as links of those they went into, but for those that would go in a circle.

    `gone` are all episodes that are dropped.
    """
    known = {
        (link.source, link.target, link.type): link for link in links if not into.keys() & {link.source, link.target}
    }
    moved: list[Link] = []
    for link in links:
        new = replace(link, source=into.get(link.source, link.source), target=into.get(link.target, link.target))
        key = (new.source, new.target, new.type)
        if new == link or new.source == new.target or new.source in gone or new.target in gone:
            continue
        if key in known and known[key].strength >= new.strength:
            continue
        if new.type not in ORDERED or next(circles([*known.values(), new]), None) is None:
            known[key] = new
            moved.append(new)
    return moved
