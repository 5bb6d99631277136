"""Memories told by hand: read as messages are, one value of each key, nothing piles up."""

import pytest

from lamina import InputError, Memory
from lamina.knowledge.told import acknowledge
from tests.places import Place


def lines(memory: Memory, *texts: str) -> list[str]:
    return [acknowledge(memory.remember_all(text, user_id="ana")) for text in texts]


def known(memory: Memory) -> dict[str | None, str]:
    return {fact.key: fact.value for fact in memory.facts("ana")}


@pytest.mark.also_postgres
def test_a_new_value_takes_the_place_of_the_old_one(place: Place) -> None:
    """Told in the third person, told again, and said by the user: one location, with its history."""
    with Memory(place(), worker=False) as memory:
        assert lines(memory, "User lives in Ghent", "The user moved to Porto", "User lives in Porto") == [
            "remembered: location: Ghent",
            "remembered: location: Porto (before: Ghent)",
            "already known: location: Porto",
        ]
        memory.add("I moved to Lisbon.", user_id="ana")
        memory.settle()
        (home,) = memory.facts("ana")
        assert (home.key, home.value, home.origin) == ("location", "Lisbon", "said")
        assert [fact.value for fact in memory.history(home.id)] == ["Ghent", "Porto", "Lisbon"]
        assert lines(memory, "She moved back to Ghent.")[0].endswith("(before: Lisbon)")
        (home,) = memory.facts("ana")
        assert home.quote == "She moved back to Ghent."
        assert "told by hand" in memory.why(home.id).reasons[0]
        assert home.quote in memory.why(home.id).reasons[0]
        assert memory.verify().ok


def test_the_users_name_is_learnt_and_then_names_the_user(tmp_path) -> None:
    """In the same text, and in later ones; another name is somebody else."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        lines(memory, "User's name is Alex. Alex works at Acme.", "Alex lives in Ghent", "Bob lives in Rome")
        assert {(fact.about, fact.key, fact.value) for fact in memory.facts("ana")} == {
            (None, "name", "Alex"),
            (None, "employer", "Acme"),
            (None, "location", "Ghent"),
            ("Bob", "location", "Rome"),
        }


def test_what_ended_is_closed_and_an_end_of_nothing_is_kept_as_text(tmp_path) -> None:
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        said = lines(memory, "User works at Acme", "User no longer works at Acme", "User no longer works at Initech")
        assert said[1:] == ["no longer true: employer: Acme", "remembered: User no longer works at Initech"]
        assert known(memory) == {None: "User no longer works at Initech"}


def test_free_memories_that_say_the_same_are_one(tmp_path) -> None:
    """In other persons and with other little words; what denies it takes its place."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        said = lines(
            memory,
            "User is interested in medieval astronomy",
            "The user is interested in medieval astronomy.",
            "I am interested in medieval astronomy",
            "User is not interested in medieval astronomy",
        )
        assert [line.partition(":")[0] for line in said] == [
            "remembered",
            "already known",
            "already known",
            "remembered",
        ]
        assert [fact.value for fact in memory.facts("ana")] == ["User is not interested in medieval astronomy"]


def test_what_the_facts_leave_out_is_kept_with_the_text_until_they_change(tmp_path) -> None:
    """Once a new value is told, the text goes on without the old one; it goes with its fact when that is forgotten."""
    text = "User lives in Lisbon with two kids and a parrot"
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        lines(memory, text)
        assert known(memory) == {"location": "Lisbon", None: text}
        lines(memory, "User moved to Faro")
        assert known(memory) == {"location": "Faro", None: "User lives in \u2026 with two kids and a parrot"}
        lines(memory, "User lives in Setúbal with two kids and a parrot")
        (home,) = (fact for fact in memory.facts("ana") if fact.key == "location")
        memory.forget(fact_id=home.id)
        assert not any("Setúbal" in fact.value + fact.quote for fact in memory.facts("ana", statuses=["active"]))
        assert memory.verify().ok


def test_a_forgotten_fact_leaves_no_words_in_the_quote_of_another(place: Place) -> None:
    """Of a text that said several things, each fact quotes only its own words."""
    with Memory(place(), worker=False) as memory:
        lines(memory, "User is allergic to shellfish and walnuts, and lives in Ghent.")
        nuts = next(fact for fact in memory.facts("ana") if fact.value == "walnuts")
        memory.forget(fact_id=nuts.id)
        assert {fact.value for fact in memory.facts("ana")} == {"shellfish", "Ghent"}
        assert b"walnut" not in place.every_byte()


def test_what_the_caller_gives_wins(tmp_path) -> None:
    """A category is stored as it is; a type is taken; a key finds what is known under it; `verbatim` reads nothing."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        own = memory.remember("User lives in Ghent", user_id="ana", category="notes")
        assert (own.category, own.key, own.value) == ("notes", None, "User lives in Ghent")
        lines(memory, "User lives in Ghent")
        porto = memory.remember("Porto", user_id="ana", key="location")
        assert (porto.category, porto.value) == ("identity", "Porto")
        assert [fact.value for fact in memory.facts("ana") if fact.key == "location"] == ["Porto"]
        typed = memory.remember("User prefers dark mode", user_id="ana", type="constraint", importance=0.9)
        assert (typed.type, typed.category, typed.importance) == ("constraint", "preference", 0.9)
        (plain,) = memory.remember_all("User likes jazz", user_id="ana", verbatim=True)
        assert (plain.fact.key, plain.fact.value) == (None, "User likes jazz")
        with pytest.raises(InputError, match="no type 'rumour'"):
            memory.remember("x", user_id="ana", type="rumour")  # type: ignore[arg-type]


def test_dates_in_what_is_told_say_since_when(tmp_path) -> None:
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        home = memory.remember("The user moved to Porto in May 2024", user_id="ana")
        assert (home.value, home.valid_from.year, home.valid_from.month) == ("Porto", 2024, 5)
        late = memory.remember("User lives in Faro", user_id="ana", valid_from="2025-02-01T00:00:00Z")
        assert late.valid_from.year == 2025


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("job", "nurse at St. Olav", "nurse at St. Olav"),
        ("location", "Oslo, Norway", "Oslo, Norway"),
        ("location", "User moved to Porto and works at Acme", "Porto"),
        ("diet", "vegan since May", "vegan"),
    ],
)
def test_a_value_that_is_told_with_its_key_is_kept_whole(key, text, value):
    """Also where a part of it would be a fact of its own; a sentence is read."""
    with Memory(":memory:", worker=False) as memory:
        memory.remember(text, user_id="ana", key=key)
        assert [(fact.key, fact.value) for fact in memory.facts("ana")] == [(key, value)]
