"""Document 001, project memory: long-term memories, their metadata, decay, links, validity, filters and life."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from lamina import PROFILES, Memory
from lamina.errors import InputError
from lamina.values.fact import Fact
from tests.documents.talks import SESSION, USER, Clock, Finding, Table, Talk, values

Opener = Callable[..., Memory]


@pytest.mark.parametrize(
    ("kind", "importance"),
    [
        ("fact", 0.5),
        ("decision", 0.7),
        ("preference", 0.6),
        ("entity", 0.5),
        ("procedure", 0.5),
        ("constraint", 0.6),
        ("goal", 0.8),
    ],
)
def test_the_seven_types_with_their_default_importance(opened: Opener, kind: str, importance: float) -> None:
    """001.5: each type has its default importance, its own category unless one is given, and tags."""
    memory = opened("project")
    plain = memory.remember(f"A plain {kind}", user_id=USER, type=kind)  # type: ignore[arg-type]
    given = memory.remember(
        f"A {kind} of the team",
        user_id=USER,
        type=kind,  # type: ignore[arg-type]
        category="team",
        tags=["alpha", "beta", "alpha"],
        importance=0.95,
    )
    found = {fact.id: fact for fact in memory.facts(USER, types=[kind])}
    assert set(found) == {plain.id, given.id}
    assert (found[plain.id].type, found[plain.id].category, found[plain.id].tags) == (kind, kind, ())
    assert found[plain.id].importance == importance
    assert (found[given.id].type, found[given.id].category) == (kind, "team")
    assert (found[given.id].importance, found[given.id].tags) == (0.95, ("alpha", "beta"))


def test_no_eighth_type(opened: Opener) -> None:
    """001.5: another word is refused with the list of the seven."""
    with pytest.raises(InputError, match=r"no type 'hunch'.*'decision'.*'goal'"):
        opened("project").remember("Something", user_id=USER, type="hunch")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "category"),
    [
        pytest.param("My name is Alex.", "fact", "identity", id="fact"),
        pytest.param("We decided to use PostgreSQL.", "decision", "decision", id="decision"),
        pytest.param("I prefer Python.", "preference", "preference", id="preference"),
        pytest.param("I'm allergic to nuts.", "constraint", "constraint", id="constraint"),
        pytest.param("My goal is to run a marathon.", "goal", "goal", id="goal"),
    ],
)
def test_what_is_said_gets_its_type_too(opened: Opener, text: str, kind: str, category: str) -> None:
    """001.5: a memory that was found in a conversation has a type and a category like one told by hand."""
    talk = Talk(opened("project"))
    talk.add("user", text)
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    assert (fact.type, fact.category) == (kind, category)


def test_metadata_of_a_memory_that_was_said(opened: Opener, clock: Clock) -> None:
    """001.6: source message with its words, importance, access count and time, decay, tokens."""
    talk = Talk(opened("project"))
    talk.add("user", "Hello. My name is Alex.")
    talk.memory.settle()
    (fact,) = talk.memory.facts(USER)
    source = talk.memory.message(fact.message_id or "")
    assert (fact.origin, fact.session_id, fact.seq, fact.role) == ("said", SESSION, 1, "user")
    assert source.text[fact.start : fact.end] == fact.quote == "My name is Alex"
    assert 0 < fact.importance <= 1
    assert 0 < fact.confidence <= 1
    assert fact.tokens > 0
    assert (fact.accesses, fact.accessed_at, fact.decay) == (0, None, 1.0)
    clock.ahead(days=2)
    talk.memory.fact(fact.id)
    talk.memory.settle()
    (used,) = talk.memory.facts(USER)
    assert (used.accesses, used.accessed_at, used.decay) == (1, clock.moment, 1.0)


def test_metadata_of_a_memory_told_by_hand(opened: Opener, clock: Clock) -> None:
    """001.6: told, not said: no message, its own importance and tokens, and the time it was told."""
    memory = opened("project")
    short = memory.remember("Deploy on Friday", user_id=USER)
    long = memory.remember("Deploy on Friday " + "after the tests " * 20, user_id=USER)
    assert (short.origin, short.session_id, short.message_id, short.quote) == ("told", None, None, "")
    assert (short.learnt_at, short.created_at, short.decay) == (clock.moment, clock.moment, 1.0)
    assert 0 < short.tokens < 10
    assert long.tokens >= 60
    assert memory.why(short.id).reasons[0] == "told by hand on 2025-03-01"


@pytest.mark.parametrize("days", [0, 30, 60])
@pytest.mark.parametrize(("accesses", "lift"), [(0, 0.0), (1, 0.1), (5, 0.5), (9, 0.5)])
def test_the_decay_formula(opened: Opener, clock: Clock, days: int, accesses: int, lift: float) -> None:
    """001.7: 0.5^(days/30) + min(0.1 x accesses, 0.5), at most 1, counted from the last access."""
    memory = opened("project")
    memory.remember("Deploy on Friday", user_id=USER, importance=1.0)
    if accesses:
        clock.ahead(days=7)
    for _ in range(accesses):
        memory.search("Deploy Friday", user_id=USER)
    memory.settle()
    clock.ahead(days=days)
    memory.consolidate(USER)
    (fact,) = memory.facts(USER, statuses=["active", "archived"])
    assert fact.accesses == accesses
    assert fact.decay == pytest.approx(min(1.0, {0: 1.0, 30: 0.5, 60: 0.25}[days] + lift), abs=1e-6)


def test_the_half_life_is_a_setting(opened: Opener, clock: Clock) -> None:
    """001.7: `half_life_days` is 30 unless it is set."""
    memory = opened(PROFILES["project"].but(half_life_days=10))
    memory.remember("Deploy on Friday", user_id=USER, importance=1.0)
    clock.ahead(days=20)
    memory.consolidate(USER)
    assert [fact.decay for fact in memory.facts(USER)] == [pytest.approx(0.25)]


def test_without_a_half_life_only_what_is_new_is_fresh(opened: Opener, clock: Clock) -> None:
    """001.7: with `half_life_days` 0 what was just said is still found, and its score is a number."""
    memory = opened(PROFILES["project"].but(half_life_days=0))
    older = memory.remember("Deploy on Friday", user_id=USER)
    clock.ahead(days=20)
    newer = memory.remember("Deploy with Ada on Friday", user_id=USER)
    hits = memory.search("Deploy Friday", user_id=USER, explain=True)
    assert [hit.id for hit in hits] == [newer.id, older.id]
    assert all(0 < hit.score <= 1 for hit in hits)
    assert hits[0].parts["recency"] > hits[1].parts["recency"] == 0


def chain(memory: Memory) -> list[Fact]:
    """Four memories, each linked to the next."""
    facts = [memory.remember(f"Part {name}", user_id=USER) for name in ("one", "two", "three", "four")]
    memory.link(facts[0].id, facts[1].id, "depends_on", 0.9)
    memory.link(facts[1].id, facts[2].id, "contradicts", 0.4)
    memory.link(facts[2].id, facts[3].id)
    return facts


def test_relationships_have_a_type_and_a_strength(opened: Opener, clock: Clock) -> None:
    """001.8: links with type, strength and time; linked again, the newest strength counts; all else is refused."""
    memory = opened("project")
    one, two, three, _ = chain(memory)
    linked_at = clock.moment
    clock.ahead(hours=1)
    memory.link(one.id, two.id, "depends_on", 0.2)
    links = {(link.source, link.target, link.type): link for link in memory.why(two.id).links}
    assert set(links) == {(one.id, two.id, "depends_on"), (two.id, three.id, "contradicts")}
    changed = links[one.id, two.id, "depends_on"]
    assert (changed.strength, changed.created_at) == (0.2, linked_at)
    stranger = memory.remember("Part of another", user_id="sam")
    for source, target, kind, strength in (
        (one.id, stranger.id, "related_to", 1.0),
        (one.id, one.id, "related_to", 1.0),
        (one.id, two.id, "likes", 1.0),
        (one.id, two.id, "related_to", 1.1),
    ):
        with pytest.raises(InputError):
            memory.link(source, target, kind, strength)


@pytest.mark.parametrize(
    ("depth", "types", "reached", "links"),
    [
        pytest.param(0, (), 1, 0, id="itself"),
        pytest.param(1, (), 2, 1, id="neighbours"),
        pytest.param(2, (), 3, 2, id="two-steps"),
        pytest.param(9, (), 4, 3, id="all"),
        pytest.param(9, ("depends_on", "related_to"), 2, 1, id="by-type"),
    ],
)
def test_the_graph_is_walked(opened: Opener, depth: int, types: tuple[str, ...], reached: int, links: int) -> None:
    """001.8: from a memory along its links, so many steps, along some types only."""
    memory = opened("project")
    facts = chain(memory)
    graph = memory.graph(facts[0].id, depth, types)
    assert graph.nodes[0].id == facts[0].id
    assert {node.id for node in graph.nodes} == {fact.id for fact in facts[:reached]}
    assert len(graph.links) == links
    backwards = memory.graph(facts[3].id, 1)
    assert {node.id for node in backwards.nodes} == {facts[2].id, facts[3].id}, "links are walked both ways"


def test_a_new_version_supersedes_the_old_one(opened: Opener) -> None:
    """001.8: an update links to what it supersedes, and an episode to the memories it has."""
    memory = opened("project")
    old = memory.remember("Deploy on Friday", user_id=USER)
    new = memory.update(old.id, "Deploy on Monday")
    (link,) = memory.graph(new.id).links
    assert (link.source, link.target, link.type) == (new.id, old.id, "supersedes")
    assert [(fact.value, fact.status) for fact in memory.history(new.id)] == [
        ("Deploy on Friday", "superseded"),
        ("Deploy on Monday", "active"),
    ]
    Talk(memory).turns(1)
    episode = memory.add_episode(SESSION, "pivot", "The day has changed", linked=[new.id])
    assert episode.id in {node.id for node in memory.graph(new.id).nodes}


def test_validity_from_and_until(opened: Opener, clock: Clock) -> None:
    """001.9: valid from its first moment up to, not at, its last; what is valid now changes as time goes by."""
    memory = opened("project")
    start, end = clock.moment + timedelta(days=10), clock.moment + timedelta(days=20)
    memory.remember("Feature freeze", user_id=USER, valid_from=start, valid_until=end)
    seen = {}
    for day in (0, 9.999, 10, 19.999, 20, 30):
        seen[day] = values(memory.facts(USER, as_of=clock.moment + timedelta(days=day))) != []
    assert seen == {0: False, 9.999: False, 10: True, 19.999: True, 20: False, 30: False}
    assert not memory.facts(USER)
    clock.ahead(days=10)
    assert values(memory.facts(USER)) == ["Feature freeze"]
    assert memory.search("freeze", user_id=USER)
    clock.ahead(days=10)
    assert not memory.facts(USER)
    assert not memory.search("freeze", user_id=USER)
    with pytest.raises(InputError, match="valid_until must be later"):
        memory.remember("Nonsense", user_id=USER, valid_from=end, valid_until=start)


def test_valid_at_a_time(opened: Opener, clock: Clock) -> None:
    """001.9: the past can be asked for: what held then, and what was known then."""
    memory = opened("project")
    times = []
    for city in ("Porto", "Lisbon", "Faro"):
        memory.remember(city, user_id=USER, key="location")
        times.append(clock.moment + timedelta(days=1))
        clock.ahead(days=30)
    assert [values(memory.facts(USER, as_of=at)) for at in times] == [["Porto"], ["Lisbon"], ["Faro"]]
    assert values(memory.facts(USER)) == ["Faro"]
    assert not memory.facts(USER, as_of=times[0] - timedelta(days=2))
    memory.remember("Braga", user_id=USER, key="location", valid_from=times[0] - timedelta(days=400))
    assert values(memory.facts(USER, known_at=times[0])) == ["Porto"], "what was learnt later was not known"


FILTERS = [
    pytest.param({"types": ["goal"]}, {"launch"}, id="type"),
    pytest.param({"types": ["goal", "decision"]}, {"launch", "database"}, id="types"),
    pytest.param({"categories": ["team"]}, {"database", "deploy"}, id="category"),
    pytest.param({"tags": ["ops"]}, {"deploy", "launch"}, id="tag"),
    pytest.param({"tags": ["ops", "data"]}, {"deploy", "launch", "database"}, id="any-of-the-tags"),
    pytest.param({"min_importance": 0.7}, {"launch", "database"}, id="importance"),
    pytest.param({"since": "2025-03-11T09:00:00Z"}, {"deploy", "launch"}, id="from"),
    pytest.param({"until": "2025-03-11T09:00:00Z"}, {"database"}, id="to"),
    pytest.param(
        {"since": "2025-03-02T00:00:00Z", "until": "2025-03-21T09:00:00Z"}, {"deploy"}, id="between-two-dates"
    ),
    pytest.param({"types": ["goal"], "categories": ["team"]}, set(), id="all-must-hold"),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS)
def test_memories_are_filtered(opened: Opener, clock: Clock, wanted: dict[str, object], found: set[str]) -> None:
    """001.13: by type, category, tags, dates and least importance, in a search and in a list."""
    memory = opened("project")
    memory.remember("Project database", user_id=USER, type="decision", category="team", tags=["data"])
    clock.ahead(days=10)
    memory.remember("Project deploy", user_id=USER, type="procedure", category="team", tags=["ops", "ci"])
    clock.ahead(days=10)
    memory.remember("Project launch", user_id=USER, type="goal", category="plans", tags=["ops"])
    hits = memory.search("project", user_id=USER, kinds=["fact"], **wanted)  # type: ignore[arg-type]
    assert {hit.text.split()[1] for hit in hits} == found
    assert {fact.value.split()[1] for fact in memory.facts(USER, **wanted)} == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        pytest.param((), {"message", "summary", "fact", "episode"}, id="everything"),
        pytest.param(("message", "summary", "fact"), {"message", "summary", "fact"}, id="without-episodes"),
        pytest.param(("fact", "episode"), {"fact", "episode"}, id="without-chunks"),
        pytest.param(("summary",), {"summary"}, id="chunks-alone"),
        pytest.param("episode", {"episode"}, id="episodes-alone"),
    ],
)
def test_with_or_without_episodes_and_chunks(opened: Opener, kinds: object, found: set[str]) -> None:
    """001.13: a search says which kinds it wants: memories, episodes, chunks, messages."""
    talk = Talk(opened("project"))
    talk.add("user", "We decided to use PostgreSQL because of its transactions.")
    talk.add("assistant", "PostgreSQL has good transactions.")
    talk.messages(19)
    talk.memory.settle()
    chosen = {"kinds": kinds} if kinds else {}
    hits = talk.memory.search("PostgreSQL transactions", user_id=USER, top_k=50, **chosen)  # type: ignore[arg-type]
    assert {hit.kind for hit in hits} == found
    assert {hit.kind for hit in hits if "PostgreSQL" in hit.text} == found
    assert "PostgreSQL" in hits[0].text


def test_a_fact_waits_until_it_is_sure_enough(opened: Opener) -> None:
    """001.15: extracted with its confidence; below the threshold it is pending, from it on it is promoted."""
    table = Table(
        [
            Finding(words="perhaps Go", category="decision", value="use Go", confidence=0.69),
            Finding(words="surely Rust", category="decision", value="use Rust", confidence=0.7),
        ]
    )
    memory = opened("project", extractor=table)
    Talk(memory).add("user", "We take perhaps Go and surely Rust")
    assert memory.settle().facts == 2
    assert memory.profile.promote_confidence == 0.7
    assert [(fact.value, fact.confidence) for fact in memory.facts(USER)] == [("use Rust", 0.7)]
    (pending,) = memory.facts(USER, statuses=["candidate"])
    assert (pending.value, pending.confidence) == ("use Go", 0.69)
    assert "less sure than 0.7" in memory.why(pending.id).reasons[-1]
    assert not memory.search("Go", user_id=USER, kinds=["fact"]), "what is pending is not recalled"


def test_a_pending_fact_is_promoted_by_hand(opened: Opener, clock: Clock) -> None:
    """001.15: promoted it holds and is recalled; demoted it is pending again; retracted it never held."""
    table = Table([Finding(words="perhaps Go", category="decision", value="use Golang", confidence=0.5)])
    memory = opened("project", extractor=table)
    Talk(memory).add("user", "We take perhaps Go")
    memory.settle()
    (pending,) = memory.facts(USER, statuses=["candidate"])
    clock.ahead(days=1)
    assert memory.promote(pending.id).status == "active"
    assert values(memory.facts(USER)) == ["use Golang"]
    assert [hit.id for hit in memory.search("Golang", user_id=USER, kinds=["fact"])] == [pending.id]
    assert memory.demote(pending.id).status == "candidate"
    assert not memory.facts(USER)
    memory.promote(pending.id)
    assert memory.retract(pending.id).status == "retracted"
    assert not memory.facts(USER)


def test_access_is_recorded_on_retrieval(opened: Opener, clock: Clock) -> None:
    """001.19: each search and each context that has a memory or an episode counts, at the time of its use."""
    talk = Talk(opened(PROFILES["project"].but(consolidate_hours=None)))
    memory = talk.memory
    talk.turns(2)
    used = memory.remember("The lighthouse keeper is Ines", user_id=USER)
    episode = memory.add_episode(SESSION, "task_completed", "The lighthouse was painted")
    other = memory.remember("Deploy on Friday", user_id=USER)
    memory.settle()
    clock.ahead(days=60)
    memory.search("lighthouse", user_id=USER)
    assert {item.id for item in talk.context("Who keeps the lighthouse?").manifest.items} >= {used.id, episode.id}
    used_at = clock.moment
    clock.ahead(hours=1)
    memory.settle()
    facts = {fact.id: fact for fact in memory.facts(USER)}
    assert (facts[used.id].accesses, facts[used.id].accessed_at, facts[used.id].decay) == (2, used_at, 1.0)
    assert (facts[other.id].accesses, facts[other.id].accessed_at) == (0, None)
    assert [(one.accesses, one.accessed_at) for one in memory.episodes(USER)] == [(2, used_at)]
    assert memory.consolidate(USER).archived == (other.id,), "what is used is kept, what is not fades"


TRIGGERS = {
    "decision": (
        ("decided", "We decided to use PostgreSQL for the backend."),
        ("chose", "The team chose Stripe for payments."),
        ("selected", "Our designer selected the blue palette for the landing page."),
        ("went with", "We went with Hetzner for hosting."),
    ),
    "preference": (
        ("prefer", "Our editors prefer the old layout."),
        ("like", "Our users like the dark theme."),
        ("want", "The client wants a printable report every Monday."),
        ("need", "I need a standing desk at work."),
    ),
    "constraint": (
        ("must", "The API must respond in under 200 ms."),
        ("should", "Every page should load without JavaScript."),
        ("cannot", "We cannot store card numbers."),
        ("need to", "The importer needs to run on Windows."),
    ),
    "goal": (
        ("goal", "Our goal is to launch in March."),
        ("objective", "The objective is fewer than ten support calls a week."),
        ("aim", "We aim to onboard fifty schools this year."),
        ("target", "My target is a marathon under four hours."),
    ),
}


def test_the_sixteen_trigger_words(opened: Opener) -> None:
    """001.24: in plain sentences each gives a memory of its type, with its subject; unsure ones wait as candidates."""
    memory = opened("project")
    statuses = []
    for kind, cases in TRIGGERS.items():
        for number, (word, sentence) in enumerate(cases):
            user = f"{kind}-{number}"
            memory.add(sentence, user_id=user, session_id=user)
            memory.settle()
            facts = [one for one in memory.facts(user, statuses=["active", "candidate"]) if one.type == kind]
            assert facts, (word, sentence)
            assert all(one.value.rstrip(".") in sentence or one.value.startswith(("use ", "go ")) for one in facts)
            statuses += [one.status for one in facts]
    assert {"active", "candidate"} == set(statuses)
    (limit,) = memory.facts("constraint-0")
    assert limit.value == "The API must respond in under 200 ms"
