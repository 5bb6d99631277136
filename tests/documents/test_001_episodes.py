"""Document 001, project memory: episodes, the narrative arc, and consolidation."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from lamina import PROFILES, Memory
from lamina.errors import InputError
from lamina.values.fact import Consolidated, EpisodeKind
from lamina.values.message import Span
from tests.documents.talks import SESSION, USER, Clock, Talk, values

Opener = Callable[..., Memory]

MOMENTS: tuple[tuple[EpisodeKind, str], ...] = (
    ("decision_made", "We decided to use PostgreSQL because it has transactions."),
    ("problem_solved", "I fixed the login bug, the session cookie was missing."),
    ("breakthrough", "Huge breakthrough: we won the first contract with Acme!"),
    ("issue_identified", "I found a memory leak in the invoice worker."),
    ("task_completed", "I finished the migration of the invoices table."),
    ("pivot", "Change of plan: we switched from AWS to Hetzner for hosting."),
)


@pytest.mark.parametrize(("kind", "text"), MOMENTS, ids=[kind for kind, _ in MOMENTS])
def test_the_six_kinds_are_spotted_in_a_conversation(opened: Opener, clock: Clock, kind: str, text: str) -> None:
    """001.10: each kind from its own words, with title, summary, context, participants, turn and message."""
    talk = Talk(opened("project"))
    talk.add("user", "The invoice project starts this week with Clara and Tomas.")
    talk.add("assistant", "Good luck with it.")
    clock.ahead(hours=1)
    talk.add("user", text, name="Alex")
    talk.add("assistant", "Understood.")
    talk.memory.settle()
    (episode,) = talk.memory.episodes(USER)
    assert episode.kind == kind
    assert episode.title.casefold() in text.casefold()
    assert episode.summary == text
    assert episode.context == "The invoice project starts this week with Clara and Tomas."
    assert "Alex" in episode.participants
    assert -1 <= episode.valence <= 1
    assert 0 < episode.significance <= 1
    assert (episode.session_id, episode.turns, episode.origin) == (SESSION, Span(first=2, last=2), "said")
    assert [talk.memory.message(one).seq for one in episode.message_ids] == [3, 1]
    assert episode.happened_at == clock.moment


def test_good_and_bad_moments_differ_in_valence(opened: Opener) -> None:
    """001.10: valence from -1 to 1: bad news below 0, good news above; the outcome of a decision is told."""
    talk = Talk(opened("project"))
    for _, text in MOMENTS:
        talk.add("user", text)
        talk.add("assistant", "Understood.")
    talk.memory.settle()
    told = {episode.kind: episode for episode in talk.memory.episodes(USER)}
    assert told["issue_identified"].valence < 0 < told["breakthrough"].valence
    assert told["decision_made"].outcome == "use PostgreSQL"
    assert [episode.kind for episode in talk.memory.episodes(USER)] == [kind for kind, _ in MOMENTS]
    assert [one.kind for one in talk.memory.episodes(USER, kinds=["pivot", "breakthrough"])] == [
        "breakthrough",
        "pivot",
    ]


def test_small_talk_is_no_episode(opened: Opener) -> None:
    """001.10: questions, wishes and what others say are no moments of this conversation."""
    talk = Talk(opened("project"))
    for text in (
        "Should we use PostgreSQL or MySQL?",
        "I wish we had finished the migration of the invoices table.",
        "If we decided to use PostgreSQL, what would change?",
        "The weather is nice in Porto today.",
    ):
        talk.add("user", text)
        talk.add("assistant", "Let me think about that.")
    talk.memory.settle()
    assert not talk.memory.episodes(USER)


@pytest.mark.parametrize("kind", [kind for kind, _ in MOMENTS])
def test_an_episode_is_added_by_hand_with_all_its_fields(opened: Opener, clock: Clock, kind: EpisodeKind) -> None:
    """001.10: title, summary, context, participants, outcome, valence, significance, linked memories, turn range."""
    talk = Talk(opened("project"))
    talk.turns(9)
    linked = talk.memory.remember("PostgreSQL is the database", user_id=USER, type="decision")
    made = talk.memory.add_episode(
        SESSION,
        kind,
        "The database",
        summary="We compared two and took PostgreSQL.",
        context="Invoices need transactions.",
        participants=["Alex", "Clara"],
        outcome="PostgreSQL",
        valence=-0.25,
        significance=0.9,
        turns=(3, 7),
        linked=[linked.id],
    )
    (episode,) = talk.memory.episodes(USER)
    assert episode == made
    assert (episode.kind, episode.title, episode.outcome) == (kind, "The database", "PostgreSQL")
    assert (episode.summary, episode.context) == ("We compared two and took PostgreSQL.", "Invoices need transactions.")
    assert episode.participants == ("Alex", "Clara")
    assert (episode.valence, episode.significance) == (-0.25, 0.9)
    assert (episode.session_id, episode.turns, episode.linked) == (SESSION, Span(first=3, last=7), (linked.id,))
    assert (episode.origin, episode.created_at) == ("told", clock.moment)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"kind": "party"}, id="a-seventh-kind"),
        pytest.param({"valence": -1.01}, id="valence-below-minus-1"),
        pytest.param({"valence": 1.01}, id="valence-above-1"),
        pytest.param({"significance": 1.01}, id="significance-above-1"),
        pytest.param({"significance": -0.01}, id="significance-below-0"),
        pytest.param({"turns": (3, 10)}, id="turns-that-are-not-there"),
        pytest.param({"turns": (3, 2)}, id="turns-backwards"),
        pytest.param({"turns": (9, 1)}, id="turns-far-backwards"),
    ],
)
def test_the_fields_of_an_episode_have_their_ranges(opened: Opener, wrong: dict[str, object]) -> None:
    """001.10: valence -1 to 1, significance 0 to 1, six kinds, turns of the conversation."""
    talk = Talk(opened("project"))
    talk.turns(9)
    fields = {"kind": "pivot", "title": "Moved", "valence": -1.0, "significance": 1.0, "turns": (1, 9)}
    talk.memory.add_episode(SESSION, **fields)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        talk.memory.add_episode(SESSION, **{**fields, **wrong})  # type: ignore[arg-type]


def test_the_narrative_arc(opened: Opener) -> None:
    """001.11: by thirds of the conversation's turns; key moments are those of significance 0.7 and above."""
    talk = Talk(opened("project"))
    talk.turns(30)
    for turn in (1, 10, 11, 20, 21, 30):
        significance = {1: 0.69, 10: 0.7, 21: 0.9}.get(turn, 0.3)
        talk.memory.add_episode(SESSION, "pivot", f"Turn {turn}", significance=significance, turns=(turn, turn))
    arc = talk.memory.arc(SESSION)
    thirds = [[episode.title for episode in third] for third in (arc.beginning, arc.middle, arc.end)]
    assert thirds == [["Turn 1", "Turn 10"], ["Turn 11", "Turn 20"], ["Turn 21", "Turn 30"]]
    assert [episode.title for episode in arc.key_moments] == ["Turn 21", "Turn 10"]


def test_the_thirds_move_as_the_conversation_goes_on(opened: Opener) -> None:
    """001.11: the arc is of the conversation as it is now, of this one alone."""
    memory = opened("project")
    talk, other = Talk(memory), Talk(memory, session_id="other")
    talk.turns(3)
    other.turns(3)
    memory.add_episode(SESSION, "pivot", "Moved", turns=(3, 3))
    memory.add_episode("other", "pivot", "Elsewhere")
    assert [episode.title for episode in memory.arc(SESSION).end] == ["Moved"]
    talk.turns(6)
    arc = memory.arc(SESSION)
    assert ([one.title for one in arc.beginning], arc.middle, arc.end) == (["Moved"], (), ())


def test_consolidation_archives_what_is_old_and_faded(opened: Opener, clock: Clock) -> None:
    """001.16: older than 30 days and importance x decay below 0.3: archived, with its tokens told; the rest stays."""
    memory = opened("project")
    faded = memory.remember("A faded note on paper", user_id=USER, importance=0.59)
    kept = memory.remember("An important note on stone", user_id=USER, importance=0.61)
    used = memory.remember("A note that is read", user_id=USER, importance=0.5)
    clock.ahead(days=1)
    memory.fact(used.id)
    memory.settle()
    clock.ahead(days=29)
    young = memory.remember("A young and unimportant note", user_id=USER, importance=0.05)
    assert memory.consolidate(USER).archived == (), "at 30 days nothing is older than 30 days"
    clock.ahead(minutes=1)
    done = memory.consolidate(USER)
    assert done.archived == (faded.id,)
    assert done.tokens_reclaimed == faded.tokens
    assert {fact.id for fact in memory.facts(USER)} == {kept.id, used.id, young.id}
    assert [fact.id for fact in memory.facts(USER, statuses=["archived"])] == [faded.id]
    assert not memory.search("faded paper", user_id=USER), "an archived memory is not recalled"
    held = memory.facts(USER, as_of=clock.moment - timedelta(days=1))
    assert faded.id in {fact.id for fact in held}, "it held until then"


def test_an_archived_memory_can_be_brought_back(opened: Opener, clock: Clock) -> None:
    """001.16: archiving is not forgetting: promoted by hand, it holds again."""
    memory = opened("project")
    faded = memory.remember("A faded note on paper", user_id=USER, importance=0.2)
    clock.ahead(days=31)
    assert memory.consolidate(USER).archived == (faded.id,)
    assert memory.promote(faded.id).status == "active"
    assert values(memory.facts(USER)) == ["A faded note on paper"]


def test_consolidation_twice_changes_nothing_more(opened: Opener, clock: Clock) -> None:
    """001.16: decay brought up to date, faded ones archived, episodes merged; the second time nothing is left to do."""
    talk = Talk(opened("project"))
    talk.turns(6)
    for number in range(10):
        talk.memory.remember(f"Note {number} on paper{number}", user_id=USER, importance=number / 10)
    for turns in ((1, 2), (2, 4), (5, 5)):
        talk.memory.add_episode(SESSION, "pivot", f"Moved from {turns}", turns=turns)
    clock.ahead(days=45)
    first = talk.memory.consolidate()
    state = talk.memory.facts(USER, statuses=["active", "archived"]), talk.memory.episodes(USER)
    assert first.decayed > 0
    assert len(first.archived) == 9
    assert len(first.merged_episodes) == 2
    assert talk.memory.consolidate() == Consolidated()
    assert (talk.memory.facts(USER, statuses=["active", "archived"]), talk.memory.episodes(USER)) == state
    assert talk.memory.verify().ok


def test_overlapping_episodes_are_merged(opened: Opener) -> None:
    """001.16: episodes that tell of one moment become one that has the turns, people and words of both."""
    talk = Talk(opened("project"))
    talk.turns(9)
    add = talk.memory.add_episode
    fact = talk.memory.remember("PostgreSQL is the database", user_id=USER)
    main = add(
        SESSION, "decision_made", "Database chosen", summary="We chose PostgreSQL.", significance=0.8, turns=(2, 4)
    )
    same = add(
        SESSION, "decision_made", "Database", summary="Transactions were the reason.", significance=0.6,
        turns=(4, 5), participants=["Clara"], outcome="PostgreSQL", linked=[fact.id],
    )  # fmt: skip
    apart = add(SESSION, "decision_made", "Colour chosen", summary="The logo is green.", turns=(8, 8))
    other = add(SESSION, "issue_identified", "Leak found", summary="A leak in the invoice worker.", turns=(4, 4))
    done = talk.memory.consolidate(USER)
    assert (done.merged_episodes, done.dropped_episodes) == ((same.id,), ())
    found = {episode.id: episode for episode in talk.memory.episodes(USER)}
    assert set(found) == {main.id, apart.id, other.id}
    joined = found[main.id]
    assert (joined.turns, joined.merged, joined.linked) == (Span(first=2, last=5), (same.id,), (fact.id,))
    assert (joined.title, joined.participants, joined.outcome) == ("Database chosen", ("Clara",), "PostgreSQL")
    assert "We chose PostgreSQL." in joined.summary
    assert "Transactions were the reason." in joined.summary


def test_memories_that_say_the_same_are_merged(opened: Opener) -> None:
    """001.16: of two memories in nearly the same words one stays, with the tokens of the other reclaimed.

    Told by hand they are one at once; here, one of them gets the words of the other later.
    """
    memory = opened("project")
    best = memory.remember("The invoice server stands in Frankfurt", user_id=USER, importance=0.9)
    mail = memory.remember("The mail server stands in Oslo", user_id=USER, importance=0.6)
    same = memory.update(mail.id, "Invoice server stands in Frankfurt")
    print_server = memory.remember("The print server stands in Ghent", user_id=USER, importance=0.6)
    other = memory.update(print_server.id, "The invoice server does not stand in Frankfurt")
    done = memory.consolidate(USER)
    assert done.merged == (same.id,)
    assert done.tokens_reclaimed == same.tokens
    assert {fact.id for fact in memory.facts(USER)} == {best.id, other.id}


@pytest.mark.parametrize("most", [100, 3])
def test_at_most_so_many_episodes_are_kept(opened: Opener, most: int) -> None:
    """001.16: beyond 100 episodes (settable) the least significant go."""
    memory = opened(PROFILES["project"].but(max_episodic_memories=most))
    for number in range(most + 2):
        talk = Talk(memory, session_id=f"c{number:03d}")
        talk.turns(1)
        significance = 0.1 if number < 2 else 0.5
        memory.add_episode(talk.session_id, "pivot", f"Moved {number}", significance=significance)
    memory.consolidate(USER)
    assert [one.title for one in memory.episodes(USER)] == [f"Moved {number}" for number in range(2, most + 2)]
