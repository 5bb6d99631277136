"""Document 002: episodes of a user, found from every session and only if they are near the question."""

from collections.abc import Callable

import pytest

from lamina import Memory
from lamina.errors import InputError
from lamina.values.message import Span
from tests.documents.natural_talk import MESSAGES
from tests.documents.talks import USER, Clock, Talk

Opener = Callable[..., Memory]


def recent_context(text: str) -> list[str]:
    """The episodes that a context shows."""
    memory, _, _ = text.partition("\n\n# Recent Conversation")
    return memory.partition("## Recent Context\n")[2].splitlines()


@pytest.mark.also_postgres
def test_episodes_are_found_from_every_session(opened: Opener, clock: Clock) -> None:
    """002.12 and 002.14: a new session finds those of another one, and shows what they say about the question."""
    memory = opened("assistant")
    memory.add(list(MESSAGES), user_id=USER, session_id="old")
    memory.settle()
    assert [one.turns for one in memory.summaries("old")] == [Span(first=1, last=10), Span(first=11, last=30)]
    clock.ahead(days=2)
    other = Talk(memory, session_id="new")
    (found,) = recent_context(other.context("What did we discuss about vector databases?").text)
    assert found.startswith("- turns 1-10, 2025-03-01: ")
    assert "vector database" in found
    (knee,) = recent_context(other.context("What is wrong with my knee?").text)
    assert "My knee hurts" in knee
    unrelated = (
        "What is the capital of Australia?",
        "How do I sort a list in Rust?",
        "Hello!",
        "Explain photosynthesis.",
    )
    for question in unrelated:
        assert not recent_context(other.context(question).text), question
    stranger = Talk(memory, session_id="theirs", user_id="somebody")
    assert not recent_context(stranger.context("What did we discuss about vector databases?").text)
    memory.forget(session_id="old")
    assert not recent_context(other.context("What did we discuss about vector databases?").text)


def test_an_episode_of_another_session_covers_nothing_of_this_one(opened: Opener) -> None:
    """002.12: coverage is told of the messages of the session that is asked in."""
    memory = opened("assistant")
    memory.add(list(MESSAGES), user_id=USER, session_id="old")
    memory.settle()
    other = Talk(memory, session_id="new")
    other.turns(2)
    context = other.context("What did we discuss about vector databases?")
    assert recent_context(context.text)
    assert context.manifest.coverage.messages == 4
    assert not context.manifest.coverage.summarised
    assert context.manifest.coverage.blind_messages == 0


def test_a_question_without_a_topic_shows_the_newest_episodes(opened: Opener) -> None:
    """002.14: "What did we discuss?" names nothing to compare with: the newest episodes of the session are shown."""
    memory = opened("assistant")
    memory.add(list(MESSAGES), user_id=USER, session_id="old")
    memory.settle()
    context = memory.context("What did we discuss?", user_id=USER, session_id="old")
    assert len(recent_context(context.text)) == 2


def test_nothing_is_retrieved_unless_the_mode_is_active(opened: Opener) -> None:
    """002.16: `mode="active"` is the default; with "passive", a context is the conversation alone."""
    memory = opened("assistant")
    memory.add(list(MESSAGES), user_id=USER, session_id="old")
    memory.settle()
    talk = Talk(memory, session_id="old")
    question = "What did we discuss about vector databases?"
    active = talk.context(question, mode="active")
    assert active == talk.context(question)
    assert "# Long-term Memory" in active.text
    passive = talk.context(question, mode="passive")
    assert {item.section for item in passive.manifest.items} == {"recent"}
    assert passive.text.startswith("# Recent Conversation\n")
    with pytest.raises(InputError, match=r"no mode 'lazy'; there are \['active', 'passive'\]"):
        talk.context(question, mode="lazy")


@pytest.mark.parametrize(
    ("text", "category", "found"),
    [
        pytest.param(
            "I keep kosher and I'm lactose intolerant.", "constraint", {"kosher", "lactose intolerant"}, id="diets"
        ),
        pytest.param(
            "I have asthma. I also have type 2 diabetes.", "constraint", {"asthma", "type 2 diabetes"}, id="conditions"
        ),
        pytest.param("I speak Portuguese and German.", "identity", {"Portuguese", "German"}, id="languages"),
        pytest.param(
            "My budget for the trip is 900 euros. My hosting budget is 40 euros a month.",
            "constraint",
            {"900 euros", "40 euros a month"},
            id="budgets",
        ),
        pytest.param("I'm allergic to nuts and shellfish.", "constraint", {"nuts", "shellfish"}, id="allergies"),
        pytest.param("We deploy by pushing a tag.", "instruction", {"deploy by pushing a tag"}, id="workflow"),
        pytest.param(
            "Before every release we run the smoke tests on staging.",
            "instruction",
            {"run the smoke tests on staging Before every release"},
            id="a-rule-of-work",
        ),
        pytest.param("My wife is called Ines.", "identity", {"Ines"}, id="relation"),
    ],
)
def test_several_values_stay_side_by_side_in_the_four_categories(
    opened: Opener, text: str, category: str, found: set[str]
) -> None:
    """002.16: several values of one kind are all active; workflows are instructions; there is no fifth category."""
    talk = Talk(opened("assistant"))
    talk.add("user", text)
    talk.add("assistant", "Noted.")
    talk.memory.settle()
    facts = talk.memory.facts(USER)
    assert {(fact.category, fact.value) for fact in facts} == {(category, value) for value in found}
    assert set(talk.memory.profile.categories) == {"identity", "preference", "constraint", "instruction"}
    told = talk.memory.remember(text, user_id="told")
    assert told.category == category
