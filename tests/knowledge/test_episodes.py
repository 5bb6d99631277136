"""Episodes: the arc of a session, the cap, and joining what tells of one moment."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.knowledge.episodes import MAX_MOMENT, MAX_SUMMARY, arc, cap_episodes, merge_episodes
from lamina.values.fact import EPISODE_KINDS, Episode
from lamina.values.message import Span

START = datetime(2025, 6, 1, 12, tzinfo=UTC)


def episode(number: int, first: int = 1, last: int | None = None, **changes: Any) -> Episode:
    summary = changes.pop("summary", f"summary number{number}")
    return replace(
        Episode(
            id=f"e{number:03}",
            user_id="ann",
            kind="decision_made",
            title=summary,
            summary=summary,
            context="",
            participants=("user",),
            outcome=None,
            valence=0.0,
            significance=0.5,
            session_id="s1",
            turns=Span(first=first, last=first if last is None else last),
            message_ids=(f"m{number}",),
            happened_at=START + timedelta(minutes=first),
            created_at=START + timedelta(days=1),
            tokens=10,
        ),
        **changes,
    )


def ids(episodes) -> list[str]:
    return [one.id for one in episodes]


# The arc


@pytest.mark.parametrize(
    ("turns", "firsts", "expected"),
    [
        pytest.param(9, [1, 3, 4, 6, 7, 9], [[1, 3], [4, 6], [7, 9]], id="even-thirds"),
        pytest.param(10, [4, 5, 7, 8], [[4], [5, 7], [8]], id="uneven-thirds"),
        pytest.param(1, [1], [[1], [], []], id="one-turn"),
        pytest.param(0, [], [[], [], []], id="nothing"),
        pytest.param(6, [0, 9], [[0], [], [9]], id="outside-the-session"),
        pytest.param(3, [3, 1, 2], [[1], [2], [3]], id="in-order"),
    ],
)
def test_arc_thirds(turns: int, firsts: list[int], expected: list[list[int]]) -> None:
    """An episode belongs to the third of the session in which it begins."""
    found = arc([episode(first, first) for first in firsts], turns)
    assert [[one.turns.first for one in third] for third in (found.beginning, found.middle, found.end)] == expected


def test_arc_key_moments() -> None:
    """Key moments are those of significance 0.7 and more, the greatest first, equals as they came."""
    weights = [0.7, 0.69, 0.9, 0.7, 0.95]
    found = arc([episode(at, at, significance=weight) for at, weight in enumerate(weights, 1)], 5)
    assert ids(found.key_moments) == ["e005", "e003", "e001", "e004"]


def test_a_long_session_has_key_moments() -> None:
    """In 20 turns or more, the three greatest are key moments if none has 0.7; those below 0.5 never are."""
    weights = [0.6, 0.69, 0.55, 0.65, 0.3]
    made = [episode(at, at, significance=weight) for at, weight in enumerate(weights, 1)]
    assert ids(arc(made, 20).key_moments) == ["e002", "e004", "e001"]
    assert arc(made, 19).key_moments == ()
    assert arc(made[4:], 20).key_moments == ()
    assert ids(arc([*made, episode(6, 6, significance=0.7)], 20).key_moments) == ["e006"]


# The cap


def test_capped_keeps_the_most_significant() -> None:
    """The most significant stay; of equals the newest, then the first by id; told in the order they happened."""
    given_episodes = [
        episode(1, 1, significance=0.9),
        episode(2, 5, significance=0.5),
        episode(3, 6, significance=0.5),
        episode(4, 6, significance=0.5),
        episode(5, 2, significance=0.8),
    ]
    keep, drop = cap_episodes(given_episodes, 3)
    assert (ids(keep), ids(drop)) == (["e001", "e005", "e003"], ["e002", "e004"])


@pytest.mark.parametrize("most", [0, -1])
def test_capped_to_nothing(most: int) -> None:
    """A cap of nothing keeps nothing."""
    assert cap_episodes([episode(1)], most) == ((), (episode(1),))


# Joining


@pytest.mark.parametrize(
    ("other", "joins"),
    [
        pytest.param({"first": 3}, True, id="overlapping-same-kind"),
        pytest.param({"first": 4}, True, id="touching-same-kind"),
        pytest.param({"first": 5}, False, id="a-turn-between"),
        pytest.param({"first": 3, "kind": "pivot"}, False, id="another-kind"),
        pytest.param({"first": 3, "kind": "pivot", "summary": "we use postgres now"}, True, id="the-same-words"),
        pytest.param({"first": 9, "summary": "we use postgres now"}, False, id="the-same-words-far-away"),
        pytest.param({"first": 3, "session_id": "s2"}, False, id="another-session"),
        pytest.param({"first": 3, "user_id": "bob"}, False, id="another-user"),
        pytest.param({"first": 3, "last": 12}, False, id="too-long-for-a-moment"),
        pytest.param({"first": 1, "last": 40}, True, id="within-a-long-one"),
    ],
)
def test_what_joins(other: dict[str, Any], joins: bool) -> None:
    """Episodes of one session join if their turns meet and their kind or their words are the same."""
    found = merge_episodes([episode(1, 2, 3, summary="We use Postgres now."), episode(2, **other)])
    assert bool(found) is joins


def test_joined_value() -> None:
    """The most significant gives id, title and kind; the others add what they know."""
    early = episode(
        1,
        1,
        3,
        summary="The queue is slow.",
        outcome="look at it",
        valence=-1.0,
        significance=0.2,
        participants=("user", "eve"),
        linked=("f1", "e002"),
        merged=("e000",),
        accesses=2,
        accessed_at=START,
    )
    main = episode(2, 3, 4, summary="We chose Postgres.", valence=1.0, significance=0.6, linked=("f1", "f2"))
    late = episode(3, 5, summary="A short test passed.", outcome="it holds", significance=0.2, accesses=1)
    ((value, others),) = merge_episodes([late, main, early])
    assert others == (early, late)
    assert value == replace(
        main,
        turns=Span(first=1, last=5),
        message_ids=("m1", "m2", "m3"),
        participants=("user", "eve"),
        linked=("f1", "f2"),
        summary="The queue is slow. We chose Postgres. A short test passed.",
        outcome="it holds",
        valence=0.4,
        merged=("e001", "e000", "e003"),
        happened_at=early.happened_at,
        tokens=30,
        accesses=3,
        accessed_at=START,
    )


def test_joined_summary_says_nothing_twice() -> None:
    """Summaries that say the same stand once."""
    ((value, _),) = merge_episodes(
        [episode(1, 1, summary="We chose Postgres."), episode(2, 2, summary="we chose postgres", significance=0.9)]
    )
    assert (value.summary, value.tokens) == ("we chose postgres", 10)


def test_joined_summary_is_bounded() -> None:
    """A joined summary takes in others only as long as it stays short; the main one stays whole."""
    members = [episode(n, 1, summary=f"word{n} " * 40) for n in range(1, 4)]
    ((value, _),) = merge_episodes(members)
    assert len(value.summary) <= MAX_SUMMARY
    long = episode(9, 1, summary="long " * 200, significance=0.9)
    ((value, _),) = merge_episodes([*members, long])
    assert value.summary == long.summary.strip()


def test_a_chain_does_not_swallow_a_session() -> None:
    """Touching episodes join into moments of a few turns, not into one that covers everything."""
    found = merge_episodes([episode(turn, turn) for turn in range(1, 41)])
    assert [len(value.turns) for value, _ in found] == [MAX_MOMENT] * 5


_WORDS = st.lists(st.sampled_from(["tea", "coffee", "cake", "plan", "test", "ship"]), min_size=1, max_size=3).map(
    " ".join
)


@st.composite
def episodes(draw: st.DrawFn) -> list[Episode]:
    made = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(1, 12))
        made.append(
            episode(
                number,
                first,
                first + draw(st.integers(0, 9)),
                summary=draw(_WORDS),
                kind=draw(st.sampled_from(EPISODE_KINDS[:3])),
                significance=draw(st.sampled_from([0.0, 0.5, 0.9])),
                valence=draw(st.sampled_from([-1.0, 0.3, 1.0])),
                session_id=draw(st.sampled_from(["s1", "s2"])),
            )
        )
    return made


@given(episodes(), st.randoms(use_true_random=False), st.integers(0, 12))
def test_order_does_not_matter(given_episodes: list[Episode], chance: random.Random, most: int) -> None:
    """Joining and capping give the same, in whatever order the episodes come."""
    mixed = chance.sample(given_episodes, len(given_episodes))
    assert merge_episodes(mixed) == merge_episodes(given_episodes)
    assert cap_episodes(mixed, most) == cap_episodes(given_episodes, most)


@given(episodes())
def test_merging_again_gives_nothing(given_episodes: list[Episode]) -> None:
    """Once joined, nothing is left to join; no message and no episode is lost."""
    left = {one.id: one for one in given_episodes}
    for value, others in merge_episodes(given_episodes):
        left[value.id] = value
        for other in others:
            del left[other.id]
        assert -1 <= value.valence <= 1
    assert merge_episodes(list(left.values())) == []
    kept = list(left.values())
    assert {one for value in kept for one in value.message_ids} == {f"m{at}" for at in range(len(given_episodes))}
    assert {*left, *(one for value in kept for one in value.merged)} == {one.id for one in given_episodes}
