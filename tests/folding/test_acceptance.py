"""Acceptance: what may not stand for what it was made from."""

from typing import Any

import pytest

from lamina.folding.acceptance import inputs_of, objection
from lamina.protocols.models import SummaryTask
from tests.messages import message

SAID = "We decided to use PostgreSQL for the invoices because transactions matter and the budget is 4000 euros."


def task(**values: Any) -> SummaryTask:
    defaults: dict[str, Any] = {
        "kind": "chunk",
        "profile": "project",
        "messages": (message(1, text=SAID),),
        "previous": None,
        "summaries": (),
        "sections": (),
        "cap": 100,
        "least": 0,
    }
    return SummaryTask(**{**defaults, **values})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("They use PostgreSQL for invoices; the budget is 4000 euros.", None, id="good"),
        pytest.param("PostgreSQL.", None, id="short"),
        pytest.param("", "it is empty", id="empty"),
        pytest.param(" \n ", "it is empty", id="blank"),
        pytest.param("I'm sorry, but I can't help with that.", "it is a refusal or a greeting", id="refusal"),
        pytest.param("As an AI language model, I cannot.", "it is a refusal or a greeting", id="as-an-ai"),
        pytest.param("Hello! How can I help you today?", "it is a refusal or a greeting", id="greeting"),
        pytest.param("No messages were provided.", "it is a refusal or a greeting", id="nothing-provided"),
        pytest.param(
            "The spaceship landed on Mars where seven astronauts planted potatoes beside a crater.",
            "it shares too little with what it was made from",
            id="invented",
        ),
    ],
)
def test_objections(text: str, reason: str | None) -> None:
    """Empty, refusing, greeting and invented texts are refused; a grounded one is taken."""
    assert objection(task(), text) == reason


def test_sorry_in_the_middle_is_no_refusal() -> None:
    """A user who was sorry may be quoted."""
    assert objection(task(), "The user said: I'm sorry, PostgreSQL for the invoices was decided.") is None


def test_sections_and_values_must_be_there() -> None:
    """A structured summary has its headings, in any case; what must survive survives."""
    wanted = task(sections=("Current Situation",), keep=("PostgreSQL",))
    assert objection(wanted, "PostgreSQL was decided.") == "it lacks the section 'Current Situation'"
    assert objection(wanted, "## CURRENT situation\n- invoices decided") == "it lost 1 of the values it had to keep"
    assert objection(wanted, "## Current Situation\n- postgresql decided") is None


def test_previous_and_folded_summaries_are_inputs_too() -> None:
    """A summary may say what the summaries before it said."""
    made_from = task(messages=(), previous="Ann planted seven potatoes beside the crater.", summaries=("Mars landing",))
    assert "crater" in inputs_of(made_from)
    assert objection(made_from, "Ann planted seven potatoes beside the crater after the Mars landing.") is None


GERMAN = "Der Nutzer hat sich für die Rechnungen entschieden und das Budget ist nicht groß, sie haben PostgreSQL."


@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        pytest.param(SAID, GERMAN, "it is in another language than what it was made from", id="german-for-english"),
        pytest.param(GERMAN, GERMAN, None, id="german-for-german"),
        pytest.param(f"{SAID}\n{GERMAN}", "They have PostgreSQL and the budget is 4000.", None, id="mixed"),
        pytest.param(
            SAID,
            "用户决定使用数据库存储发票因为事务很重要而且预算是四千欧元",
            "another language",
            id="script",
        ),
    ],
)
def test_the_language_is_one_of_the_inputs(said: str, text: str, reason: str | None) -> None:
    """A summary in a language or script that nobody used is refused."""
    found = objection(task(messages=(message(1, text=said),)), text)
    assert (found is None) == (reason is None)
    assert reason is None or reason in (found or "")


def test_a_text_that_was_cut_off_is_refused() -> None:
    """What a model could not finish must not stand for anything."""
    text = "They use PostgreSQL for invoices"
    assert objection(task(), text, cut=True) == "it was cut off before its end"
    assert objection(task(), text) is None
