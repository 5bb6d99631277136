"""A context uses its budget: what its parts take together is counted, not only what each takes alone."""

import pytest

from lamina import Memory
from lamina.context.budget import fill
from lamina.context.items import Item
from lamina.profiles import PROFILES

DAYS = 12
A_DAY = 40


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """A memory of twelve days, and hardly anything in it that is no passage."""
    with Memory(tmp_path_factory.mktemp("filling") / "talk.db", worker=False) as memory:
        for day in range(1, DAYS + 1):
            said = [
                {
                    "role": "user",
                    "name": f"Person{number % 2}",
                    "content": f"Pear tree {number} of row {day} bears fruit, so we pick it.",
                    "created_at": f"2025-03-{day:02}T10:{number:02}:00Z",
                }
                for number in range(A_DAY)
            ]
            memory.add(said, user_id="ana", session_id=f"day {day}")
        memory.settle()
        yield memory


@pytest.mark.parametrize("budget", [500, 1000, 2000, 4000])
def test_hardly_a_token_is_left_while_passages_wait(talk, budget):
    context = talk.context("Which pear trees bear fruit?", user_id="ana", session_id="today", budget=budget)
    waiting = [one for one in context.manifest.omitted if one.section == "recalled" and one.reason == "over budget"]
    assert waiting
    assert budget - 25 <= context.tokens <= budget


def test_what_is_reserved_stays_free(talk):
    """200 for a system prompt and 300 for the current turn, of which the question takes some."""
    reserving = PROFILES["default"].but(system_prompt_tokens=200, working_memory_tokens=300)
    question = "Which pear trees bear fruit?"
    context = talk.context(question, user_id="ana", session_id="today", budget=2000, profile=reserving)
    frame = 6  # of the question and of the reply
    assert 1500 - 25 <= context.tokens - context.manifest.sections["query"] - frame <= 1500


def test_what_pieces_are_said_to_take_is_what_they_take(talk):
    context = talk.context("Which pear trees bear fruit?", user_id="ana", session_id="today", budget=4000)
    facts = sum(item.tokens for item in context.manifest.items if item.section == "facts")
    passages = sum(item.tokens for item in context.manifest.items if item.section == "recalled")
    headings = 8 * DAYS
    assert facts + passages + headings == pytest.approx(context.tokens, rel=0.05)


def passage(number, tokens, day=""):
    return Item(section="recalled", kind="passage", tokens=tokens, reason="", id=str(number), heading=day)


def test_a_day_is_paid_for_once():
    """16 for the section's heading, 8 for each day's."""
    items = [passage(1, 20, "2025-03-01"), passage(2, 20, "2025-03-01"), passage(3, 20, "2025-03-02")]
    filled = fill(PROFILES["default"], {"recalled": items}, 200, 0, 0, len)
    assert filled.price == 16 + 3 * 20 + 2 * 8


def test_what_is_spare_is_for_passages_alone():
    fact = Item(section="facts", kind="fact", tokens=60, reason="", id="fact")
    candidates = {"recalled": [passage(1, 60), passage(2, 60)], "facts": [fact]}
    filling = fill(PROFILES["default"], candidates, 100, 0, 0, len)
    assert [item.id for item in filling.taken()] == ["1"]
    assert [item.id for item in filling.with_spare(60).taken()] == ["1", "2"]
    assert [item.id for item in filling.taken()] == ["1"]  # which is as it was
