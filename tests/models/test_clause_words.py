"""What words tell of a clause without weights: trigger words that name its type, and states that pass."""

import pytest

from benchmarks.facts import message
from lamina.knowledge.fact_words import TYPES
from lamina.models.offline.offline_extractor import drafts_in
from lamina.protocols.models import FactDraft

TRIGGERS: dict[str, tuple[str, ...]] = {
    "decision": (
        "We decided on oak floors for the hallway.",
        "The board decided to postpone the launch.",
        "After a long talk they decided to sell the boat.",
        "My sister chose the blue tiles.",
        "We chose Hetzner for the servers.",
        "The team chose a four-day sprint.",
        "The committee selected the second proposal.",
        "I selected the annual plan.",
        "We selected maple for the shelves.",
        "We went with the cheaper caterer.",
        "They went with Postgres in the end.",
        "Our landlord went with gas heating.",
        "The parents decided on a bus instead of the train.",
        "Marta decided to keep the old kitchen.",
        "My brother chose a diesel van.",
        "In the end the jury chose the second design.",
        "We selected the walnut veneer.",
        "HR selected Personio.",
        "The school went with tablets.",
        "I went with the larger fridge.",
    ),
    "preference": (
        "The designers prefer short sprints.",
        "My wife prefers the window seat.",
        "We prefer meetings before lunch.",
        "The kids like the red bikes.",
        "We like quiet hotels.",
        "I like my reports in one page.",
        "We want a bigger garden.",
        "Our customers want a dark mode.",
        "My boss wants weekly reports.",
        "I need more light in the studio.",
        "The kids need new winter coats.",
        "We need offline maps.",
        "Nurses prefer the early shift.",
        "Our dog prefers wet food.",
        "The twins like pancakes.",
        "My clients like short calls.",
        "Grandma wants a ground-floor flat.",
        "They want fewer meetings.",
        "The dog needs a bigger bed.",
        "We need a quieter office.",
    ),
    "constraint": (
        "All invoices must carry a VAT number.",
        "The deck must hold two tonnes.",
        "You must log out before you update.",
        "Backups should run every night.",
        "You should never share the admin password.",
        "The form should keep the draft when the battery dies.",
        "The app cannot store card numbers.",
        "We cannot paint the facade before May.",
        "Guests cannot park in the yard.",
        "Drivers need to rest after four hours.",
        "We need to keep the old API until June.",
        "The tent needs to fit in the trunk.",
        "The report must fit on two pages.",
        "Visitors must sign in at the desk.",
        "Emails should go out before noon.",
        "You should always wear gloves in the lab.",
        "The van cannot carry more than 800 kilos.",
        "Students cannot use phones in class.",
        "The cake needs to be nut-free.",
        "Tenants need to give three months' notice.",
    ),
    "goal": (
        "The goal is to open in March.",
        "Our goal is fewer than ten bugs per release.",
        "The team's goal is a faster checkout.",
        "The objective is to cut waste by half.",
        "Our main objective this year is growth in Spain.",
        "The objective of the course is basic first aid.",
        "We aim to ship in October.",
        "The aim is a quieter kitchen.",
        "I aim to read twenty books this year.",
        "Our target is 500 subscribers by June.",
        "The target is a weight of 75 kilos.",
        "Sales set a target of 2 million.",
        "Her goal is to pass the bar exam.",
        "The goal for this quarter is 40 new customers.",
        "The objective is a safer junction.",
        "Our objective for the garden is shade by next summer.",
        "They aim to finish before winter.",
        "My aim is to swim a mile.",
        "The target is 30 percent less paper.",
        "We set a target of ten applications a week.",
    ),
}
SHARE = 0.9  # of plain sentences, whatever their subject


def drafts(text: str) -> list[FactDraft]:
    return drafts_in(message(text))


@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_trigger_word_gives_its_type(kind: str) -> None:
    """Whoever the subject is; what is not sure is a candidate."""
    found = [kind in {TYPES[draft.category] for draft in drafts(text)} for text in TRIGGERS[kind]]
    assert found.count(True) >= SHARE * len(found)


@pytest.mark.parametrize(
    "text",
    [
        "That sounds like a good plan.",
        "I look like a postbox.",
        "I need a recipe for pancakes.",
        "You must be tired.",
        "It should be fine.",
        "I'd like some advice.",
        "There is no need for more discussion.",
    ],
)
def test_a_trigger_word_in_another_sense_gives_nothing(text: str) -> None:
    """Comparisons, requests and guesses are no preferences and no rules."""
    assert not drafts(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The app must keep working when the wifi drops.", "The app must keep working when the wifi drops"),
        ("The app must keep working if the network is down.", "The app must keep working if the network is down"),
        ("Guests must leave when the lifeguard whistles.", "Guests must leave when the lifeguard whistles"),
        ("The app must be fast, but I don't know how.", "The app must be fast"),
    ],
)
def test_a_rule_has_the_condition_it_holds_under(text: str, value: str) -> None:
    """The clause with "when" or "if" behind a rule is part of it; another clause is not."""
    assert value in {draft.value for draft in drafts(text)}


@pytest.mark.parametrize(
    "text",
    [
        "I'm in a hurry today.",
        "I'm a bit busy this morning.",
        "I'm in a meeting until three.",
        "I'm working from home today.",
        "I'm on the train at the moment.",
    ],
)
def test_a_state_that_passes_is_not_kept(text: str) -> None:
    """How somebody is for some hours is not worth remembering, not even as a candidate."""
    assert not drafts(text)


@pytest.mark.parametrize(
    "text", ["I'm living with my parents at the moment.", "I'm meeting Ann today.", "I'm pregnant right now."]
)
def test_a_state_or_an_appointment_that_lasts_is_kept(text: str) -> None:
    """What holds for months, or is arranged, is kept."""
    assert drafts(text)


@pytest.mark.parametrize(
    "text",
    [
        "I only eat fish on Fridays.",
        "I only eat meat at weekends.",
        "I only listen to podcasts on the train.",
        "I only drink coffee in the morning.",
    ],
)
def test_what_is_done_only_at_times_is_not_what_is_liked(text: str) -> None:
    """A limit on when something is done is no liking."""
    assert not [draft for draft in drafts(text) if draft.value.startswith("likes")]


@pytest.mark.parametrize("text", ["I went with my sister to the zoo.", "We went with the kids to the beach."])
def test_company_is_no_choice(text: str) -> None:
    """Who went along was not chosen from among others."""
    assert not [draft for draft in drafts(text) if draft.value.startswith("go with")]


@pytest.mark.parametrize("text", ["I want to visit Iceland someday.", "We'd love to see Japan one day."])
def test_a_wish_for_some_day_is_a_goal(text: str) -> None:
    """A day that is far and open makes a wish a goal."""
    assert [draft.category for draft in drafts(text)] == ["goal"]
