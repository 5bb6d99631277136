"""A statement that says the same as an older one, or changes it, takes its place; the older one stays in history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory
from lamina.knowledge.restatements import place
from lamina.testing.samples import a_fact


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "lamina.db", worker=False) as memory:
        yield memory


def said(memory, *texts):
    for number, text in enumerate(texts):
        memory.add({"role": "user", "content": text}, user_id="ana", session_id=f"s{number}")
        memory.settle()
    return [fact.value for fact in memory.facts("ana")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Every money column is numeric(12,2), no exceptions.", "Every money column is numeric(14,4), no exceptions."),
        ("We deploy the billing service on Thursdays only.", "We no longer deploy the billing service on Thursdays."),
        ("We'll host the docs on Netlify.", "We switched the docs to Cloudflare instead, hosting on Netlify is over."),
    ],
)
def test_a_change_takes_the_place_of_what_it_changes(memory, first, second):
    values = said(memory, first, second)
    assert not any(value in first for value in values)
    assert any(value in second for value in values)
    old = [fact for fact in memory.facts("ana", statuses=["superseded"]) if fact.value in first]
    assert old
    assert any("took its place" in reason for reason in memory.why(old[0].id).reasons)


def test_what_is_said_twice_is_known_once(memory):
    values = said(memory, "Never book me before ten in the morning.", "Please never book me before ten in the morning!")
    assert sum("before ten" in value for value in values) == 1


def test_things_that_share_a_few_words_stand_beside_each_other(memory):
    values = said(
        memory,
        "The kitchen in Leeds gets new tiles in May.",
        "The bathroom in Leeds gets a new boiler in June.",
        "My sister in Leeds is allergic to shellfish.",
    )
    assert sum("Leeds" in value for value in values) >= 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("On day 2 the ferry must carry 6 crates of oil.", "On day 3 the ferry must carry 7 crates of oil."),
        ("In phase 1 the API must answer within 300 ms.", "In phase 2 the API must answer within 200 ms."),
        ("Pear tree 14 of row 10 bears fruit, so we pick it.", "Pear tree 15 of row 10 bears fruit, so we pick it."),
        ("Ticket 12 is assigned to Mara for the release.", "Ticket 13 is assigned to Mara for the release."),
        ("Pump 3 was repaired by the plumber.", "Pump 4 was repaired by the plumber."),
        (
            "On Mondays the whole team must water the ferns in the hall and the yard.",
            "On Fridays the whole team must water the ferns in the hall and the yard.",
        ),
        (
            "Anna must never be booked on flights that leave Gatwick before ten.",
            "Boris must never be booked on flights that leave Gatwick before ten.",
        ),
    ],
)
@pytest.mark.parametrize("flags", [False, True])
def test_what_is_said_of_two_things_stands_beside_each_other(flags, first, second):
    """Another day, phase or person is another matter, also where most words are the same."""
    facts = [a_fact(f"f{at}", value, key=None, category="constraint") for at, value in enumerate((first, second))]
    placed = place(facts, [], (), flags=flags)
    assert placed == facts
    assert len({fact.slot for fact in placed}) == len(facts)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Our rent is 900 euros for the flat in town.", "Our rent is 950 euros for the flat in town."),
        ("Rent 900 euros a month for the flat.", "Rent 950 euros a month for the flat."),
        ("Pump 3 must run for 20 minutes.", "Pump 3 must run for 30 minutes."),
    ],
)
def test_another_amount_of_one_thing_takes_the_place_of_the_first(first, second):
    facts = [a_fact(f"f{at}", value, key=None, category="constraint") for at, value in enumerate((first, second))]
    assert len({fact.slot for fact in place(facts, [], (), flags=False)}) == 1


words = st.lists(st.sampled_from(["kitchen", "bathroom", "budget", "tiles", "900", "1200", "not", "never"]), min_size=1)


@given(st.lists(words, max_size=8), st.sets(st.integers(0, 7)), st.booleans())
def test_no_statement_is_lost_and_no_value_changes(values, changed, flags):
    """Only slots, categories and types may differ; what has a key is left alone; the same input gives the same."""
    facts = [
        a_fact(f"f{number}", " ".join(value), key=None, category="decision") for number, value in enumerate(values)
    ]
    changes = {f"f{number}" for number in changed}
    placed = place(facts, [], changes, flags=flags)
    assert [(one.id, one.value) for one in placed] == [(one.id, one.value) for one in facts]
    assert place(facts, [], changes, flags=flags) == placed
    keyed = [a_fact("k", "900", key="budget")]
    assert place(keyed, facts, {"k"}, flags=flags) == keyed
