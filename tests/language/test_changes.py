"""What a statement says to have changed."""

import pytest

from lamina.language.changes import are_other_things, changes_in


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("Sold the Volvo, bought a Kia.", "Volvo"),
        ("I swapped Linear Algebra for Statistics.", "Linear Algebra"),
        ("Dr. Maes retired, Dr. Okafor took over as my GP.", "Dr. Maes"),
        ("Henrik left, so Yasmin leads the team now.", "Henrik"),
        ("I gave the pottery a rest and took up bouldering.", "pottery"),
    ],
)
def test_what_has_ended(text: str, old: str) -> None:
    assert any(old in phrase for phrase in changes_in(text).ended)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Dr. Okafor took over as my GP.", "GP"),
        ("We moved staging to a machine called otter.", "staging"),
        ("We put the starter plan up to 25 euros.", "starter plan"),
        ("My sertraline was lowered to 25 mg.", "sertraline"),
    ],
)
def test_what_has_a_new_value(text: str, topic: str) -> None:
    assert topic in changes_in(text).topics


@pytest.mark.parametrize(
    "text",
    ["Scratch that, it is due on the 14th.", "The logo will be blue after all.", "Change of plan, we meet in Krakow."],
)
def test_what_takes_back_what_was_said(text: str) -> None:
    assert changes_in(text).revises


@pytest.mark.parametrize(
    "text",
    [
        "After all the work on the nursery I slept.",
        "What if we moved the launch to 10 May?",
        "I'm thinking about leaving Acme for Umbra.",
        "I might move to Porto next year.",
        "If it gets any pricier I'll switch to the free plan.",
        "We will replace the boiler next year.",
    ],
)
def test_plans_questions_and_conditions_change_nothing(text: str) -> None:
    assert not changes_in(text)


@pytest.mark.parametrize(
    ("one", "other", "are_others"),
    [
        ("The book club meets on Tuesdays.", "The running club meets on Thursdays now.", True),
        ("The staging server is heron.", "The production server is osprey now.", True),
        ("My project Atlas uses Postgres.", "My project Borealis moved to MySQL.", True),
        ("I pay 40 euros for internet.", "I pay 15 euros for the phone now.", True),
        ("I work for a bakery.", "I work for a bank now.", False),
        ("My email is a@b.example.", "My new email address is b@c.example.", False),
        ("My flight to Rome leaves at 9:15.", "The airline moved my Rome flight to 11:40.", False),
        ("My dentist is Dr. Alvarez.", "My new dentist is Dr. Boone.", False),
        ("The team meeting is on Tuesdays.", "The weekly team meeting is on Fridays.", False),
    ],
)
def test_two_things_of_one_kind(one: str, other: str, are_others: bool) -> None:
    assert are_other_things(one, other) is are_others
