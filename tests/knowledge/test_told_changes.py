"""Memories that change what is known: one value is current, the older one is in its history with its end."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lamina import Memory
from lamina.knowledge.fact_words import describe_fact
from lamina.values.fact import Fact
from tests.knowledge import told_forms, told_pairs
from tests.knowledge.told_pairs import Beside, Change

USER = "alex"
COUNTED_SHARE = 0.8  # of the pairs that nothing is fitted to
SAID_COUNTED_SHARE = 0.65


def mentions(fact: Fact, word: str) -> bool:
    return bool(word) and word in f"{describe_fact(fact)} {fact.value}".casefold()


def tell(memory: Memory, text: str) -> None:
    memory.remember(text, user_id=USER)


def say(memory: Memory, text: str) -> None:
    memory.add(text, user_id=USER)
    memory.settle()


def fault(place: Path, pair: Change, give: Callable[[Memory, str], None]) -> str:
    """What is wrong behind a change; nothing if one value is current and the older one ended."""
    first, then, old, new = pair
    with Memory(place, worker=False) as memory:
        give(memory, first)
        before = {fact.id for fact in memory.facts(USER) if mentions(fact, old)}
        give(memory, then)
        current = [fact for fact in memory.facts(USER) if mentions(fact, old) or mentions(fact, new)]
        past = {one.id for fact in current for one in memory.history(fact.id) if one.valid_until is not None}
    free = sum(fact.key is None for fact in current)
    keys = [fact.key for fact in current if fact.key is not None]
    if not before:
        return "the old value is not read"
    if before & {fact.id for fact in current}:
        return "the old value is current"
    if new and not any(mentions(fact, new) for fact in current):
        return "the new value is missing"
    if free + bool(keys) > 1 or len(set(keys)) < len(keys):
        return "both are current"
    return "" if not new or before & past else "the old value is not in the history"


def right(tmp_path: Path, pairs: Sequence[Change], give: Callable[[Memory, str], None]) -> float:
    faults = [fault(tmp_path / f"{at}.db", pair, give) for at, pair in enumerate(pairs)]
    return faults.count("") / len(faults)


@pytest.mark.parametrize("pair", told_pairs.TOLD_CHANGES, ids=lambda pair: pair[1])
def test_a_told_change_ends_as_one_value(tmp_path: Path, pair: Change) -> None:
    """Whatever the topic and the words, the older value ends and stays in the history."""
    assert fault(tmp_path / "chat.db", pair, tell) == ""


@pytest.mark.parametrize("pair", told_forms.CHANGES, ids=lambda pair: pair[1])
def test_a_change_in_a_form_of_models_ends_as_one_value(tmp_path: Path, pair: Change) -> None:
    """Without a subject, as a line with a label, with "again" or "no longer"."""
    assert fault(tmp_path / "chat.db", pair, tell) == ""


@pytest.mark.parametrize(("text", "values"), told_forms.FORMS, ids=lambda one: one if isinstance(one, str) else "")
def test_forms_of_models_are_read(tmp_path: Path, text: str, values: dict[str, str]) -> None:
    """What models write of a user becomes facts with keys, and the text is not kept beside them."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, text)
        assert {fact.key: fact.value for fact in memory.facts(USER)} == values


@pytest.mark.parametrize("text", told_forms.PLAIN)
def test_other_lines_stay_as_they_are(tmp_path: Path, text: str) -> None:
    """A note, a question or a thing is no property of the user's."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, text)
        assert [(fact.key, fact.value) for fact in memory.facts(USER)] == [(None, text)]


def test_a_phone_and_its_number_stand_beside_each_other(tmp_path: Path) -> None:
    """One label, two things."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, "phone: Pixel 6")
        tell(memory, "phone number: 0470 11 22 33")
        assert {fact.value for fact in memory.facts(USER)} == {"Pixel 6", "0470 11 22 33"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("User is vegetarian", "User's wife eats meat again"),
        ("User is vegetarian", "User would like to eat meat again"),
        ("User follows a keto diet", "User eats meat again"),
        ("favourite editor: Helix", "User also uses Neovim now"),
        ("User is vegetarian", "User does not eat meat any more"),
    ],
)
def test_what_does_not_rule_out_a_value_ends_nothing(tmp_path: Path, first: str, then: str) -> None:
    """Somebody else's meals, a wish, or another diet."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, first)
        known = {fact.id for fact in memory.facts(USER)}
        tell(memory, then)
        assert known <= {fact.id for fact in memory.facts(USER)}


def test_most_other_told_changes_end_as_one_value(tmp_path: Path) -> None:
    """Of pairs that nothing was fitted to, most are read as changes."""
    assert right(tmp_path, told_pairs.TOLD_CHANGES_COUNTED, tell) >= COUNTED_SHARE


def test_most_told_changes_in_rarer_words_end_as_one_value(tmp_path: Path) -> None:
    """Also where the words are unusual; some of these pairs were looked at, and not all are read."""
    assert right(tmp_path, told_pairs.MORE_TOLD_CHANGES, tell) >= COUNTED_SHARE


def test_most_changes_said_in_messages_end_as_one_value(tmp_path: Path) -> None:
    """What the user says in the first person changes facts in the same way."""
    assert right(tmp_path, told_pairs.SAID_CHANGES, say) >= COUNTED_SHARE
    assert right(tmp_path, told_pairs.SAID_CHANGES_COUNTED, say) >= SAID_COUNTED_SHARE


@pytest.mark.parametrize(
    "pair",
    [*told_pairs.BESIDE, *told_pairs.BESIDE_COUNTED, *told_pairs.MORE_BESIDE],
    ids=lambda pair: f"{pair[0]}, {pair[1]}",
)
def test_what_is_no_change_stands_beside(tmp_path: Path, pair: Beside) -> None:
    """One more value, another scope or another person ends nothing."""
    first, then, old, new = pair
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, first)
        tell(memory, then)
        current = memory.facts(USER)
    assert any(mentions(fact, old) for fact in current)
    assert not new or any(mentions(fact, new) for fact in current)


def test_a_death_ends_the_pet_and_is_found(tmp_path: Path) -> None:
    """What happened is what is true now: search finds it, with its day."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, "User has a dog named Rex")
        tell(memory, "The user's dog Rex died in May 2024")
        (now,) = memory.facts(USER)
        assert now.value == "The user's dog Rex died in May 2024"
        assert (now.valid_from.year, now.valid_from.month) == (2024, 5)
        assert memory.search("What happened to Rex?", user_id=USER)[0].id == now.id
        assert [fact.value for fact in memory.history(now.id)] == ["Rex", now.value]


def test_what_else_a_text_says_stays(tmp_path: Path) -> None:
    """The end of one value takes nothing else from a text that says several things."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, "User's wife Sara is a dentist and allergic to cats")
        tell(memory, "User drives a Volvo")
        tell(memory, "User sold the Volvo and Sara quit her job as a dentist")
        lines = " ".join(describe_fact(fact) for fact in memory.facts(USER))
        assert "Sara" in lines
        assert "allergic to cats" in lines


def test_forgetting_a_change_brings_the_older_value_back(tmp_path: Path) -> None:
    """A value that ended only by what is forgotten holds again."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, "User drives a Volvo")
        new = memory.remember("User sold the Volvo, bought a Kia", user_id=USER)
        memory.forget(fact_id=new.id)
        assert [fact.value for fact in memory.facts(USER)] == ["User drives a Volvo"]
        assert memory.verify().ok


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        ("We live in Lisbon.", 'I stored "+00:00" instead of Europe/Lisbon.', "Lisbon"),
        ("I live in Lisbon.", "I left the Lisbon office at five and forgot my charger.", "Lisbon"),
        ("I work at Atalaia.", "I picked the blue form rather than the Atalaia one.", "Atalaia"),
        ("My name is Mara.", "I finished the Mara paperwork yesterday.", "Mara"),
    ],
)
def test_a_sentence_that_only_has_the_word_ends_nothing(tmp_path: Path, first: str, then: str, value: str) -> None:
    """What a person is ends where it is said to have, not wherever its words stand."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        for text in (first, then):
            say(memory, text)
        assert value in {fact.value for fact in memory.facts(USER, categories=["identity"])}


@pytest.mark.parametrize(
    ("first", "then", "gone"),
    [
        ("User is unemployed", "User got a job at Airbus", "unemployed"),
        ("User is single", "User's girlfriend is called Mia", "single"),
        ("User doesn't speak German", "User now speaks German", "doesn't"),
        ("User doesn't own a car", "User now owns a car", "doesn't"),
    ],
)
def test_what_somebody_had_none_of_ends_with_the_first(tmp_path: Path, first: str, then: str, gone: str) -> None:
    """A state without a thing, or a denial, is over once the thing is there, though it has another key."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, first)
        assert any(mentions(fact, gone) for fact in memory.facts(USER))
        tell(memory, then)
        assert not any(mentions(fact, gone) for fact in memory.facts(USER))


@pytest.mark.parametrize(
    ("known", "more"),
    [
        ("User has a sister named Ines", "User's sister Ines is afraid of dogs"),
        ("User's dog is called Biscuit", "User's dog Biscuit is sick"),
        ("User's wife is Eva", "User's wife Eva is ill"),
        ("User's manager is Petra", "User's manager Petra is leaving"),
        ("User's brother is Tom", "User's brother Tom is old and tired"),
    ],
)
def test_what_is_told_of_somebody_known_is_kept(tmp_path: Path, known: str, more: str) -> None:
    """Only the name is known already; what else the telling says stands beside it, and is found."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        tell(memory, known)
        tell(memory, more)
        last = more.rsplit(maxsplit=1)[-1].casefold()
        assert any(mentions(fact, last) for fact in memory.facts(USER))
        assert any(last in hit.text.casefold() for hit in memory.search(more, user_id=USER))
        tell(memory, known)
        assert len(memory.facts(USER)) == 2
