"""Facts in one line, as a person would write them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lamina import Memory
from lamina.knowledge.fact_words import describe_fact, fact_label, slot_of
from lamina.knowledge.statement_words import statement_line
from lamina.values.fact import Fact

NOW = datetime(2025, 3, 4, tzinfo=UTC)


def fact(key: str | None, value: str, **more: object) -> Fact:
    given: dict[str, object] = {
        "id": "f1", "user_id": "ann", "type": "fact", "category": "identity", "key": key, "value": value,
        "slot": slot_of(key, value), "origin": "said", "confidence": 0.9, "importance": 0.5, "learnt_at": NOW,
        "valid_from": NOW, "created_at": NOW,
    }  # fmt: skip
    return Fact(**given | more)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("My name is Alex.", "name: Alex"),
        ("I speak French.", "speaks French"),
        ("My dog is called Rex.", "dog: Rex"),
        ("My sister Clara lives in Rome.", "sister: Clara"),
        ("I'm allergic to peanuts.", "allergic to peanuts"),
        ("I can't eat gluten.", "does not eat gluten"),
        ("I don't eat Brussels sprouts.", "does not eat Brussels sprouts"),
        ("I don't drink alcohol.", "does not drink alcohol"),
        ("My favourite colour is green.", "favourite colour: green"),
        ("I prefer tea over coffee.", "prefers tea over coffee"),
        ("I like dark mode.", "likes dark mode"),
        ("The deadline is 14 March.", "deadline: 14 March"),
        ("Please answer in French.", "answer in French"),
        ("We decided to use Postgres because of pgvector.", "decided to use Postgres (because of pgvector)"),
        ("Ich bin allergisch gegen Nüsse.", "allergic to Nüsse"),
        ("Ich esse kein Schweinefleisch.", "does not eat Schweinefleisch"),
        ("Hablo catalán.", "speaks catalán"),
        ("No como carne.", "does not eat carne"),
    ],
)
def test_what_was_said_reads_as_a_person_would_write_it(said: str, text: str) -> None:
    with Memory(":memory:", worker=False) as memory:
        memory.add(said, user_id="ann")
        memory.settle()
        (found,) = [fact for fact in memory.facts("ann") if fact.about is None]
        assert found.text == describe_fact(found) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (None, "We ship on Fridays", "We ship on Fridays"),
        ("staging server", "heron", "staging server: heron"),
        ("coding_style", "black", "coding style: black"),
        ("lives in", "Ghent", "lives in Ghent"),
        ("smokes", "no", "does not smoke"),
        ("is vegetarian", "No", "is not vegetarian"),
        ("can swim", "false", "cannot swim"),
        ("likes jazz", "yes", "likes jazz"),
        ("vegetarian", "yes", "vegetarian: yes"),
        ("drinks coffee", "only in the morning", "drinks coffee only in the morning"),
        ("allergies", "peanuts, walnuts", "allergic to peanuts, walnuts"),
        ("allergy peanuts", "severe", "allergy peanuts: severe"),
        ("name", "Renamed", "name: Renamed"),
        ("猫", "猫が好き", "猫が好き"),
    ],
)
def test_keys_and_values_told_by_hand(key: str | None, value: str, text: str) -> None:
    """Any key and value; a key that is part of the value does not stand twice."""
    assert describe_fact(fact(key, value)) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("allergy nuts", "nuts", "not allergic to nuts"),
        ("speaks german", "German", "does not speak German"),
        ("eats meat", "no", "eats meat"),
        ("jazz", "likes jazz", "does not like jazz"),
        ("location", "Bruges", "location: not Bruges"),
        (None, "answer in French", "no longer: answer in French"),
    ],
)
def test_what_was_said_to_hold_no_longer_reads_so(key: str | None, value: str, text: str) -> None:
    assert describe_fact(fact(key, value, holds=False)) == text


def test_a_label_is_the_key_without_the_value() -> None:
    """What layouts with `key: value` show; without a key, the category."""
    assert fact_label(fact("allergy peanuts", "Peanuts")) == "allergy"
    assert fact_label(fact("dog old rex", "Old  Rex")) == "dog"
    assert fact_label(fact("eats gluten", "no")) == "eats gluten"
    assert fact_label(replace(fact(None, "run"), category="goal")) == "goal"


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (fact("allergy peanuts", "peanuts", about="Lena"), "Lena: allergic to peanuts"),
        (fact("job", "nurse", about="Lena"), "Lena's job: nurse"),
        (fact("age", "4", about="Cleo's kids"), "Cleo's kids' age: 4"),
        (fact("speaks thai", "yes", about="sister", quote="speaks Thai"), "sister: speaks Thai"),
        (fact("drinks coffee", "no", about="Tom"), "Tom: does not drink coffee"),
        (fact(None, "I can't stand slides", about="Tom"), "Tom: I can't stand slides"),
        (fact(None, "Lena\u2019s moving to Oslo", about="Lena"), "Lena\u2019s moving to Oslo"),
        (fact(None, "my boss Tom hates slides", about="Tom"), "my boss Tom hates slides"),
        (fact("budget", "4,000", scope="kitchen"), "budget (kitchen): 4,000"),
        (fact("language", "Go", scope="services", about="Tom"), "Tom's language (services): Go"),
        (fact(None, "no more than 900", scope="rent"), "no more than 900 (rent)"),
        (fact(None, "rent at most 900", scope="rent"), "rent at most 900"),
        (fact("uses", "Hetzner", scope="hosting"), "uses Hetzner (hosting)"),
        (fact(None, "Mornings.", question="When do you\ntrain?"), "Mornings. (asked: \u201cWhen do you train?\u201d)"),
        (fact("city", "Rome", holds=False, scope="winter"), "city (winter): not Rome"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_line_says_whom_and_what_it_is_about(one: Fact, text: str) -> None:
    """People by name, unless the words name them; a scope in brackets; a question behind its answer."""
    assert describe_fact(one) == text


@pytest.mark.parametrize(
    ("value", "quote", "text"),
    [
        ("read thirty books", "I'd like to read thirty books", "wants to read thirty books"),
        ("be off nights", "I want to be off nights", "wants to be off nights"),
        ("pass the exam", "I have to pass the exam", "has to pass the exam"),
        ("Ana the keys by May", "I promised Ana the keys by May", "promised Ana the keys by May"),
        ("call Ana", "I promised to call Ana", "promised to call Ana"),
        ("old ThinkPad", "I've got an old ThinkPad", "has an old ThinkPad"),
        ("use that one", "We'll use that one", "will use that one"),
        ("am not allowed to lift", "I am not allowed to lift", "is not allowed to lift"),
        ("ok so mum pays", "ok so mum pays", "mum pays"),
        ("Yes please, but keep it short", "Yes please, but keep it short", "keep it short"),
        ("right knee hurts", "right knee hurts", "right knee hurts"),
        ("so far three of five", "so far three of five", "so far three of five"),
        ("amber lights only", "I like amber lights only", "amber lights only"),
        ("ok.", "ok.", "ok."),
    ],
)
def test_a_statement_reads_on_its_own(value: str, quote: str, text: str) -> None:
    """What its sentence says before it is put in few words; openings that tell nothing are left out."""
    assert describe_fact(fact(None, value, quote=quote)) == text


def test_an_answer_keeps_its_yes() -> None:
    one = fact(None, "yep 21st", quote="yep 21st", question="Shall we move it?")
    assert describe_fact(one).startswith("yep 21st")


@pytest.mark.parametrize("key", ["Budget", None])
def test_people_and_scopes_have_slots_of_their_own(key: str | None) -> None:
    """However names are written; without a person and a scope it is the slot of the key or the value alone."""
    mine = slot_of(key, "900")
    assert mine == ("=900" if key is None else "budget")
    others = [slot_of(key, "900", about, scope) for about, scope in (("Lena", None), (None, "Lena"), ("Lena", "food"))]
    assert len({mine, *others}) == 4
    assert slot_of(key, "900", "lena ", "Food.") == others[-1]
    assert all(slot_of(slot, "900") != slot for slot in others), "no key is taken for one with a person"


@pytest.mark.parametrize(
    ("value", "quote", "line"),
    [
        ("Kia", "I drive a Kia", "drives a Kia"),
        ("bees", "we keep bees", "keeps bees"),
        ("ThinkPad", "My laptop is a ThinkPad", "laptop is a ThinkPad"),
        ("flat in Leith", "I rent a flat in Leith", "rents a flat in Leith"),
        ("stop taking cash", "we decided to stop taking cash", "decided to stop taking cash"),
        ("hire", "We agreed not to hire", "agreed not to hire"),
        ("order paper", "remind me to order paper", "wants to be reminded to order paper"),
        ("call Ana", "don't let me forget to call Ana", "must not forget to call Ana"),
    ],
)
def test_a_value_says_what_it_is_to_the_user(value, quote, line):
    assert statement_line(value, quote, answers=False) == line
