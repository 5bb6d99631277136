"""Episodes of a session: its narrative arc, which of them to keep, and which tell of one moment."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamina.language.words import terms
from lamina.values.fact import Arc, Episode
from lamina.values.message import Span
from lamina.values.session import Milestone

KEY_MOMENT = 0.7  # significance
LONG_SESSION = 20  # turns; it has key moments even if none is as significant as that
KEY_MOMENTS, LESSER_KEY_MOMENT = 3, 0.5  # how many it has then, and how significant they must be
ALIKE = 0.6  # share of common terms from which two episodes say the same
MAX_SUMMARY = 400  # characters of a joined one
MAX_MOMENT = 8  # turns; a chain of episodes is not joined beyond this
_THIRDS = 3


def arc(episodes: Sequence[Episode], turns: int) -> Arc:
    """The episodes by the third of the session's turns in which they begin."""
    thirds: tuple[list[Episode], ...] = ([], [], [])
    ordered = sorted(episodes, key=_place)
    for episode in ordered:
        third = (episode.turns.first - 1) * _THIRDS // max(turns, 1)
        thirds[min(max(third, 0), _THIRDS - 1)].append(episode)
    return Arc(
        beginning=tuple(thirds[0]),
        middle=tuple(thirds[1]),
        end=tuple(thirds[2]),
        key_moments=key_moments(ordered, turns),
    )


def key_moments(episodes: Sequence[Episode], turns: int) -> tuple[Episode, ...]:
    """The most significant ones, the greatest first; of a long session that has none, its three greatest."""
    ranked = sorted(episodes, key=lambda episode: -episode.significance)
    found = [episode for episode in ranked if episode.significance >= KEY_MOMENT]
    if not found and turns >= LONG_SESSION:
        found = [episode for episode in ranked[:KEY_MOMENTS] if episode.significance >= LESSER_KEY_MOMENT]
    return tuple(found)


def milestone_of(episode: Episode) -> Milestone:
    """An episode as a mark in its session."""
    return Milestone(
        id=episode.id,
        session_id=episode.session_id,
        turn=episode.turns.last,
        title=episode.title,
        created_at=episode.happened_at,
    )


def cap_episodes(episodes: Sequence[Episode], most: int) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """The most significant episodes to keep, and the rest, each in the order they happened."""
    ranked = _rank(episodes)
    keep, drop = ranked[: max(most, 0)], ranked[max(most, 0) :]
    return tuple(sorted(keep, key=_time)), tuple(sorted(drop, key=_time))


def merge_episodes(episodes: Sequence[Episode]) -> list[tuple[Episode, tuple[Episode, ...]]]:
    """Episodes that tell of one moment, each joined into the most significant of them, with the others that go.

    They are of one session, in turns that overlap or touch, and of one kind or in nearly the same words.
    """
    sessions: dict[tuple[str, str], list[_Moment]] = {}
    for episode in sorted(episodes, key=_place):
        sessions.setdefault((episode.user_id, episode.session_id), []).append(_moment([episode]))
    found: list[tuple[Episode, tuple[Episode, ...]]] = []
    for key in sorted(sessions):
        for moment in _merge_moments(sessions[key]):
            if len(moment.members) > 1:
                others = tuple(one for one in moment.members if one.id != moment.value.id)
                found.append((moment.value, others))
    return found


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of what two sets have between them is common."""
    return len(one & other) / len(one | other) if one and other else 0.0


@dataclass(frozen=True, slots=True)
class _Moment:
    members: tuple[Episode, ...]  # as they were given
    value: Episode  # joined
    words: frozenset[str]


def _moment(members: Iterable[Episode]) -> _Moment:
    ordered = tuple(sorted(members, key=_place))
    value = _join(ordered) if len(ordered) > 1 else ordered[0]
    return _Moment(ordered, value, _words(value.title, value.summary))


def _merge_moments(moments: list[_Moment]) -> list[_Moment]:
    """The moments joined until no two of them are one."""
    while True:
        fewer: list[_Moment] = []
        near: list[int] = []  # those that reach as far as the next one
        for moment in sorted(moments, key=lambda one: _place(one.value)):
            near = [at for at in near if fewer[at].value.turns.last + 1 >= moment.value.turns.first]
            at = next((at for at in near if _one(fewer[at], moment)), None)
            if at is None:
                near.append(len(fewer))
                fewer.append(moment)
            else:
                fewer[at] = _moment((*fewer[at].members, *moment.members))
        if len(fewer) == len(moments):
            return fewer
        moments = fewer


def _one(earlier: _Moment, later: _Moment) -> bool:
    one, other = earlier.value.turns, later.value.turns
    if len(_union((one, other))) > max(MAX_MOMENT, len(one), len(other)):
        return False
    return earlier.value.kind == later.value.kind or jaccard(earlier.words, later.words) >= ALIKE


def _join(members: Sequence[Episode]) -> Episode:
    """The most significant of the members, with what the others add; ids that they link among themselves go."""
    main = _rank(members)[0]
    ids = {member.id for member in members}
    distinct = _distinct(main, members)
    outcomes = [member.outcome for member in sorted(members, key=_end) if member.outcome]
    return replace(
        main,
        turns=_union([member.turns for member in members]),
        message_ids=_unique(member.message_ids for member in members),
        participants=_unique(member.participants for member in members),
        linked=tuple(link for link in _unique(member.linked for member in members) if link not in ids),
        summary=" ".join(member.summary.strip() for member in distinct),
        outcome=outcomes[-1] if outcomes else None,
        valence=_valence(members),
        merged=tuple(one for one in _unique((member.id, *member.merged) for member in members) if one != main.id),
        happened_at=min(member.happened_at for member in members),
        tokens=sum(member.tokens for member in distinct),
        accesses=sum(member.accesses for member in members),
        accessed_at=max((member.accessed_at for member in members if member.accessed_at), default=None),
    )


def _distinct(main: Episode, members: Sequence[Episode]) -> list[Episode]:
    """Those whose summaries say different things, in order, as many as there is room for."""
    found = [main]
    length = len(main.summary.strip())
    for member in members:
        summary = member.summary.strip()
        if not summary or length + len(summary) + 1 > MAX_SUMMARY or _repeats(summary, found):
            continue
        found.append(member)
        length += len(summary) + 1
    return sorted(found, key=_place)


def _repeats(summary: str, told: Sequence[Episode]) -> bool:
    own = _words(summary)
    return any(jaccard(own, _words(one.summary)) >= ALIKE or summary in one.summary for one in told)


def _valence(members: Sequence[Episode]) -> float:
    weights = [member.significance for member in members]
    if not math.fsum(weights):
        weights = [1.0] * len(members)
    weighed = math.fsum(member.valence * weight for member, weight in zip(members, weights, strict=True))
    return round(min(max(weighed / math.fsum(weights), -1.0), 1.0), 6)


def _rank(episodes: Iterable[Episode]) -> list[Episode]:
    """The most significant first; among equals the newest, then by id."""
    newest = sorted(sorted(episodes, key=lambda one: one.id), key=lambda one: one.happened_at, reverse=True)
    return sorted(newest, key=lambda one: -one.significance)


def _place(episode: Episode) -> tuple[int, int, datetime, str]:
    return episode.turns.first, episode.turns.last, episode.happened_at, episode.id


def _end(episode: Episode) -> tuple[int, datetime, str]:
    return episode.turns.last, episode.happened_at, episode.id


def _time(episode: Episode) -> tuple[datetime, str]:
    return episode.happened_at, episode.id


def _union(spans: Sequence[Span]) -> Span:
    return Span(first=min(span.first for span in spans), last=max(span.last for span in spans))


def _unique(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for listed in lists for one in listed))


def _words(*texts: str) -> frozenset[str]:
    return frozenset(terms(" ".join(texts)))
