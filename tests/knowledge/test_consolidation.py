"""Consolidation: what fades is put away, what is there twice is joined, and a second look finds nothing."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory
from lamina.knowledge.consolidation_plan import Plan, Rules, fading, plan, redirect_links
from lamina.values.fact import EPISODE_KINDS, Consolidated, Episode, Fact, Fading, Link
from lamina.values.message import Span
from tests.growth import calls, growth, quarters

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def fact(fact_id: str, value: str = "likes green tea", *, days: float = 0, **changes: Any) -> Fact:
    made = Fact(
        id=fact_id,
        user_id="ann",
        type="preference",
        category="preference",
        key=None,
        slot=fact_id,
        value=value,
        origin="said",
        confidence=0.9,
        importance=0.5,
        learnt_at=ago(days),
        valid_from=ago(days),
        created_at=ago(days),
        tokens=7,
        status="active",
        decay=0.5 ** (days / 30),
    )
    return replace(made, **changes)


def episode(number: int, first: int = 1, **changes: Any) -> Episode:
    made = Episode(
        id=f"e{number}",
        user_id="ann",
        kind="pivot",
        title=f"title{number}",
        summary=f"summary{number}",
        context="",
        participants=(),
        outcome=None,
        valence=0.0,
        significance=0.5,
        session_id="s1",
        turns=Span(first=first, last=first),
        message_ids=(f"m{number}",),
        happened_at=NOW,
        created_at=NOW,
        tokens=5,
    )
    return replace(made, **changes)


# Putting away


@pytest.mark.parametrize(
    ("changes", "rules", "archived"),
    [
        pytest.param({"days": 31}, {}, True, id="old-and-faded"),
        pytest.param({"days": 30, "importance": 0.1}, {}, False, id="not-older-than-the-days"),
        pytest.param({"days": 31, "importance": 0.7}, {}, False, id="important"),
        pytest.param({"days": 60, "accesses": 4, "accessed_at": ago(1)}, {}, False, id="old-but-used"),
        pytest.param({"days": 60, "accesses": 1, "accessed_at": ago(59)}, {}, True, id="used-long-ago"),
        pytest.param({"days": 90}, {"durable": frozenset(("preference",))}, False, id="durable"),
        pytest.param({"days": 90, "status": "candidate"}, {}, False, id="a-candidate"),
        pytest.param({"days": 90, "status": "superseded"}, {}, False, id="superseded"),
        pytest.param({"days": 8}, {"days": 7, "half_life_days": 7}, True, id="other-rules"),
        pytest.param({"days": 90}, {"threshold": 0.0}, False, id="no-threshold"),
    ],
)
def test_archive(changes: dict[str, Any], rules: dict[str, Any], archived: bool) -> None:
    """An active fact is put away if it is old, unimportant and little used, and not of a durable category."""
    found = plan([fact("f1", **changes)], [], NOW, Rules(**rules))
    assert found.result.archived == (("f1",) if archived else ())
    assert found.result.tokens_reclaimed == 7 * archived
    assert [(one.verdict, one.verdict_at) for one in found.facts if one.verdict] == [("archived", NOW)] * archived


def test_archived_facts_carry_their_fresh_decay() -> None:
    """A fact that is put away says how far it had faded."""
    (changed,) = plan([fact("f1", days=60, decay=1.0)], [], NOW, Rules()).facts
    assert changed == fact("f1", days=60, decay=0.25, verdict="archived", verdict_at=NOW)


@pytest.mark.parametrize(
    ("decay", "changed"),
    [pytest.param(1.0, True, id="stale"), pytest.param(0.5009, False, id="near-enough")],
)
def test_decay_is_brought_up_to_date(decay: float, changed: bool) -> None:
    """Decay is written where it changes by more than a thousandth."""
    found = plan([fact("f1", days=30, importance=0.9, decay=decay)], [], NOW, Rules())
    assert found.facts == ((fact("f1", days=30, importance=0.9, decay=0.5),) if changed else ())
    assert found.result == Consolidated(decayed=int(changed))


# Fading


_facts = st.builds(
    lambda number, **values: fact(f"f{number}", f"value {number} of its own", **values),
    number=st.integers(0, 10**6),
    days=st.floats(0, 400),
    importance=st.one_of(st.just(0.0), st.floats(0, 1)),
    accesses=st.integers(0, 9),
    accessed_at=st.one_of(st.none(), st.floats(0, 400).map(ago)),
    category=st.sampled_from(["preference", "identity"]),
    status=st.sampled_from(["active", "candidate", "archived"]),
)


@given(
    facts=st.lists(_facts, max_size=8, unique_by=lambda one: one.id),
    episodes=st.lists(st.builds(episode, st.integers(0, 99)), max_size=2, unique_by=lambda one: one.id),
    threshold=st.sampled_from([0.0, 0.3, 0.7]),
    days=st.floats(0, 60),
)
def test_fading_foretells_what_is_archived(
    facts: list[Fact], episodes: list[Episode], threshold: float, days: float
) -> None:
    """What is not kept and less fresh than its limit is what a consolidation at that moment puts away."""
    rules = Rules(threshold=threshold, days=days, durable=frozenset(("identity",)))
    told = fading(facts, episodes, NOW, rules)
    assert {one.id for one in told} == {f.id for f in facts if f.status == "active"} | {e.id for e in episodes}
    assert [one.decay for one in told] == sorted(one.decay for one in told)
    assert all(one.kept for one in told if one.archive_below is None)
    doomed = {
        one.id for one in told if one.archive_below is not None and one.decay < one.archive_below and not one.kept
    }
    assert doomed == set(plan(facts, episodes, NOW, rules).result.archived)


def test_fading_says_what_of_and_since_when() -> None:
    """A fact by its value and its last use; an episode by its title, which is never put away."""
    used = fact("f1", days=60, accesses=2, accessed_at=ago(30), importance=0.6)
    assert fading([used], [episode(1)], NOW, Rules()) == [
        Fading(id="f1", kind="fact", label="likes green tea", importance=0.6, decay=0.7, used_at=ago(30), accesses=2,
               archive_below=0.5, kept=False),
        Fading(id="e1", kind="episode", label="title1", importance=0.5, decay=1.0, used_at=NOW, accesses=0,
               archive_below=None, kept=True),
    ]  # fmt: skip


# Duplicates


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("likes green tea", "Likes the green tea.", True, id="the-same-words"),
        pytest.param("a b1 c d e f g h i j", "b1 c d e f g h i j k2 a", False, id="numbered-words"),
        pytest.param("likes green tea", "likes black tea", False, id="another-word"),
        pytest.param("tea", "Tea!", False, id="one-term-says-too-little"),
        pytest.param("runs 5 km daily", "runs 7 km daily", False, id="other-numbers"),
        pytest.param("eats red meat", "does not eat red meat", False, id="denied"),
        pytest.param("doesn't eat red meat", "doesn't eat red meat.", True, id="both-denied"),
        pytest.param("prefers tea over coffee", "prefers coffee over tea", False, id="turned-round"),
        pytest.param("keeps lights on overnight", "keeps lights off overnight", False, id="on-and-off"),
        pytest.param("lives near Oslo", "lived near Oslo", False, id="past-and-present"),
        pytest.param("writes C daily", "writes C++ daily", False, id="signs"),
        pytest.param("her brother plays chess", "his brother plays chess", False, id="whose"),
        pytest.param("喜欢绿茶", "喜欢绿茶。", True, id="without-spaces"),
    ],
)
def test_duplicates(one: str, other: str, same: bool) -> None:
    """Facts are the same only if nothing that could tell them apart differs."""
    found = plan([fact("f1", one), fact("f2", other)], [], NOW, Rules())
    assert bool(found.result.merged) is same


def test_nearly_the_same_words() -> None:
    """A word more among ten does not make another fact."""
    words = "walk dog along river bank early every sunday morning alone"
    found = plan([fact("f1", words), fact("f2", f"{words} happily")], [], NOW, Rules())
    assert len(found.result.merged) == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"slot": "f1"}, id="same-slot"),
        pytest.param({"type": "fact"}, id="another-type"),
        pytest.param({"category": "goal"}, id="another-category"),
        pytest.param({"user_id": "bob"}, id="another-user"),
        pytest.param({"status": "conflicted"}, id="not-active"),
        pytest.param({"verdict": "merged"}, id="merged-before"),
    ],
)
def test_no_duplicates(changes: dict[str, Any]) -> None:
    """Only active facts of one user, type and category in different slots are joined."""
    assert plan([fact("f1"), fact("f2", **changes)], [], NOW, Rules()) == Plan()


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        pytest.param({"importance": 0.9}, {"importance": 0.5}, "f1", id="more-important"),
        pytest.param({"days": 3}, {"days": 1}, "f2", id="newer"),
        pytest.param({}, {}, "f2", id="by-id"),
    ],
)
def test_which_one_is_kept(one: dict[str, Any], other: dict[str, Any], kept: str) -> None:
    """The more important stays, then the newer; the other says which took it in."""
    found = plan([fact("f1", **one), fact("f2", **other)], [], NOW, Rules())
    (gone,) = found.facts
    assert (gone.verdict, gone.verdict_at, gone.verdict_by) == ("merged", NOW, kept)
    assert found.result == Consolidated(merged=(gone.id,), tokens_reclaimed=7)


def test_a_chain_ends_at_one_fact() -> None:
    """Facts that are the same by way of others all go into the best of them."""
    base = [f"w{letter}" for letter in "abcdefghijklmnopqrst"]
    values = [" ".join(base[at : at + 19]) for at in range(2)] + [" ".join(base[1:19])]
    found = plan([fact(f"f{at}", value) for at, value in enumerate(values)], [], NOW, Rules())
    assert {one.id: one.verdict_by for one in found.facts} == {"f0": "f2", "f1": "f2"}


@given(st.lists(st.lists(st.sampled_from("bcdfghjklmnp"), min_size=2, max_size=12, unique=True), max_size=9))
def test_no_pair_is_missed(given_terms: list[list[str]]) -> None:
    """The index finds the same groups as comparing every pair would."""
    facts = [fact(f"f{at}", " ".join(sorted(some))) for at, some in enumerate(given_terms)]
    found = plan(facts, [], NOW, Rules(similar=0.7))
    groups = [{at} for at in range(len(facts))]
    for at, one in enumerate(given_terms):
        for before, other in enumerate(given_terms[:at]):
            if len({*one} & {*other}) / len({*one} | {*other}) >= 0.7:
                joined = groups[at] | groups[before]
                for member in joined:
                    groups[member] = joined
    assert len(found.result.merged) == len(facts) - len({frozenset(group) for group in groups})


# Episodes


def test_episodes_fade_join_and_are_capped() -> None:
    """Moments are joined, their decay is brought up to date, and only the most significant are kept."""
    given_episodes = [
        episode(1, 1, significance=0.6, happened_at=ago(300), created_at=ago(30)),
        episode(2, 2, happened_at=ago(300), created_at=ago(15)),
        episode(3, 9, significance=0.4),
        episode(4, 20, significance=0.9),
    ]
    found = plan([], given_episodes, NOW, Rules(most_episodes=2))
    (joined,) = found.episodes
    assert (joined.id, joined.merged, joined.decay) == ("e1", ("e2",), 0.5)
    assert found.drop_episodes == ("e2", "e3")
    assert found.result == Consolidated(
        decayed=1, merged_episodes=("e2",), dropped_episodes=("e3",), tokens_reclaimed=5
    )


def test_links_follow_merged_episodes() -> None:
    """Those of an episode that was merged lead to the one it went into; none leads to what is gone or to itself."""
    given_episodes = [
        episode(1, 1, significance=0.6),
        episode(2, 2),
        episode(3, 9, significance=0.4, linked=("e2", "f1")),
        episode(4, 20, significance=0.1),
    ]
    found = plan([], given_episodes, NOW, Rules(most_episodes=2))
    assert found.into == {"e2": "e1"}
    assert {one.id: one.linked for one in found.episodes}["e3"] == ("e1", "f1")

    def link(source: str, target: str, kind: str = "related_to", strength: float = 1.0) -> Link:
        return Link(source=source, target=target, type=kind, strength=strength, created_at=NOW)

    links = [
        link("f1", "e2"),  # moves
        link("e1", "e2"),  # would lead to itself
        link("e2", "e4"),  # that one is dropped
        link("f2", "e1", strength=0.5),
        link("f2", "e2", strength=0.9),  # the stronger one stays
        link("e1", "f3", "part_of"),
        link("f3", "e2", "part_of"),  # would go in a circle
    ]
    moved = redirect_links(links, found.into, found.drop_episodes)
    assert moved == [link("f1", "e1"), link("f2", "e1", strength=0.9)]


def test_no_link_dangles_after_a_consolidation(tmp_path: Path) -> None:
    """In the store, too: what was linked to a merged episode is reached from the one it went into."""
    with Memory(tmp_path / "a.db", profile="project", worker=False) as memory:
        memory.add([{"role": "user", "content": "We moved the archive."}, {"role": "assistant", "content": "Good."}])
        kept = memory.add_episode("default:main", "decision_made", "The archive moves", significance=0.9)
        gone = memory.add_episode("default:main", "decision_made", "The archive moves on", significance=0.5)
        fact = memory.remember("The archive is in Porto")
        memory.link(fact.id, gone.id, "supports")
        assert memory.consolidate("default").merged_episodes == (gone.id,)
        assert [(link.source, link.target) for link in memory.why(fact.id).links] == [(fact.id, kept.id)]
        assert [node.id for node in memory.graph(fact.id).nodes] == [fact.id, kept.id]


def test_nothing_to_do() -> None:
    """Nothing gives an empty plan."""
    assert plan([], [], NOW, Rules()) == Plan()


# Properties

_VALUES = [
    "likes green tea",
    "Likes green tea!",
    "likes black tea",
    "runs 5 km",
    "runs 6 km",
    "no red meat",
    "red meat",
]


@st.composite
def memories(draw: st.DrawFn) -> tuple[list[Fact], list[Episode]]:
    facts = [
        fact(
            f"f{at:02}",
            draw(st.sampled_from(_VALUES)),
            days=draw(st.integers(0, 90)),
            slot=draw(st.sampled_from(["a", "b", "c"])),
            importance=draw(st.sampled_from([0.1, 0.5, 0.9])),
            accesses=draw(st.integers(0, 6)),
            decay=draw(st.sampled_from([1.0, 0.5, 0.3])),
            status=draw(st.sampled_from(["active", "active", "active", "candidate"])),
        )
        for at in range(draw(st.integers(0, 12)))
    ]
    episodes = [
        episode(
            at,
            draw(st.integers(1, 15)),
            kind=draw(st.sampled_from(EPISODE_KINDS[:2])),
            summary=draw(st.sampled_from(_VALUES)),
            significance=draw(st.sampled_from([0.3, 0.8])),
            happened_at=ago(draw(st.integers(0, 90))),
        )
        for at in range(draw(st.integers(0, 10)))
    ]
    return facts, episodes


def done(found: Plan, facts: list[Fact], episodes: list[Episode]) -> tuple[list[Fact], list[Episode]]:
    """The memories after the plan, with the status that such verdicts give."""
    changed = {one.id: replace(one, status="archived") if one.verdict else one for one in found.facts}
    moments = {one.id: one for one in found.episodes}
    return [changed.get(one.id, one) for one in facts], [
        moments.get(one.id, one) for one in episodes if one.id not in found.drop_episodes
    ]


@given(memories(), st.integers(0, 8), st.sampled_from([0.5, 0.9, 1.0]))
def test_a_second_look_finds_nothing(
    given_memories: tuple[list[Fact], list[Episode]], most: int, similar: float
) -> None:
    """Once a plan is done, planning again at the same time gives an empty one."""
    rules = Rules(most_episodes=most, similar=similar)
    found = plan(*given_memories, NOW, rules)
    facts, episodes = done(found, *given_memories)
    assert plan(facts, episodes, NOW, rules) == Plan()
    assert len(episodes) <= most
    tokens = [sum(one.tokens for one in some) for some in (given_memories[1], episodes)]
    gone = len(found.result.archived) + len(found.result.merged)
    assert found.result.tokens_reclaimed == tokens[0] - tokens[1] + 7 * gone


@given(memories(), st.randoms(use_true_random=False))
def test_order_does_not_matter(given_memories: tuple[list[Fact], list[Episode]], chance: random.Random) -> None:
    """The same memories in another order change in the same way."""
    facts, episodes = given_memories
    found = plan(facts, episodes, NOW, Rules())
    mixed = plan(chance.sample(facts, len(facts)), chance.sample(episodes, len(episodes)), NOW, Rules())
    assert {one.id: one for one in mixed.facts} == {one.id: one for one in found.facts}
    assert mixed.episodes == found.episodes
    assert set(mixed.drop_episodes) == set(found.drop_episodes)


@given(memories())
def test_nothing_points_to_what_is_gone(given_memories: tuple[list[Fact], list[Episode]]) -> None:
    """Every merged fact names a fact that stays active."""
    facts, episodes = given_memories
    found = plan(facts, episodes, NOW, Rules())
    gone = {one.id for one in found.facts if one.verdict}
    for one in found.facts:
        if one.verdict == "merged":
            assert one.verdict_by in {other.id for other in facts if other.status == "active"} - gone


# Speed


def letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def planned(facts: list[Fact], episodes: list[Episode]) -> Plan:
    return plan(facts, episodes, NOW, Rules())


def test_a_hundred_memories_take_milliseconds() -> None:
    """100 facts and 100 episodes take a few hundred calls of functions each."""
    facts = [fact(f"f{at}", f"likes thing{at} of maker{at % 7} very much", days=at) for at in range(100)]
    episodes = [episode(at, at * 3 // 2, happened_at=ago(at)) for at in range(100)]
    assert calls(lambda: planned(facts, episodes)) < 300 * (100 + 100)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("likes the {0} cake of shop {1}", id="different"),
        pytest.param("likes green tea", id="all-the-same"),
        pytest.param("{2} likes the usual green tea from hills near town with milk sugar lemon honey", id="alike"),
    ],
)
def test_thousands_of_facts_take_no_longer_each(value: str) -> None:
    """The time to plan thousands of facts grows as their number, be nothing or almost everything alike in them."""

    def facts(number: int) -> list[Fact]:
        return [
            fact(f"f{at}", value.format(at, at % 97, letters(at)), days=at % 90, importance=0.9) for at in range(number)
        ]

    assert growth(lambda some: planned(some, []), facts, quarters(20_000, 3)) < 2
