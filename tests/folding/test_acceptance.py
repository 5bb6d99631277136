"""Acceptance: what may not stand for what it was made from."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.folding.acceptance import ESSENTIAL_TOKENS, coverage, essential_sentences, inputs_of, missing, objection
from lamina.models.offline.summarisation.extractive_summariser import OfflineSummariser
from lamina.models.token_counters import best_counter
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


# What a summary must cover


TALKS = json.loads((Path(__file__).parents[1] / "data" / "summaries" / "judged.json").read_text("utf-8"))
PROMPT = "Summarise this part of a conversation for the one who will have to continue it without seeing it."


def with_essentials(talk: list[list[str]], **values: Any) -> SummaryTask:
    """A task with what the offline summariser finds most important, as a fold makes it."""
    said = tuple(message(number, role, text=text) for number, (role, text) in enumerate(talk, 1))
    made = task(messages=said, **{"cap": 400, "template": PROMPT, **values})
    brief = OfflineSummariser(best_counter()).write(replace(made, cap=ESSENTIAL_TOKENS, sections=()))
    return replace(made, essentials=essential_sentences(brief.text))


@pytest.mark.parametrize(
    ("talk", "text"),
    [pytest.param(one["talk"], text, id=f"{one['name']}: {text[:24]}") for one in TALKS for text in one["good"]],
)
def test_good_summaries_are_taken_short_ones_of_trivial_talks_too(talk: list[list[str]], text: str) -> None:
    assert objection(with_essentials(talk), text) is None


@pytest.mark.parametrize(
    ("talk", "text"),
    [pytest.param(one["talk"], text, id=f"{one['name']}: {text[:24]}") for one in TALKS for text in one["bad"]],
)
def test_echoes_and_empty_phrases_are_no_summary(talk: list[list[str]], text: str) -> None:
    """A copy of one message, of the prompt, or words that would fit any talk."""
    assert objection(with_essentials(talk), text) is not None


def test_a_copy_of_one_message_is_named_as_such_and_what_it_lacks_is_found() -> None:
    """What is missing is for whoever writes again; the reason has no words of the talk."""
    asked = with_essentials(TALKS[0]["talk"])
    echo = TALKS[0]["talk"][0][1]
    assert objection(asked, echo) == "it only repeats one message"
    assert any("Grundfos" in line for line in missing(asked, echo))
    assert not any("third time since August" in line for line in missing(asked, echo))


def test_a_copy_of_the_prompt_is_refused_in_however_few_words() -> None:
    assert (
        objection(with_essentials(TALKS[1]["talk"]), "Summarise this part of a conversation") == "it repeats the prompt"
    )


def test_a_heading_without_anything_below_is_refused() -> None:
    """Saying that there is nothing is enough."""
    wanted = task(sections=("Situation", "Open"))
    assert objection(wanted, f"## Situation\n{SAID}\n## Open\n") == "it has nothing in the section 'Open'"
    assert objection(wanted, f"## Situation\n\n## Open\n{SAID}") == "it has nothing in the section 'Situation'"
    assert objection(wanted, f"## Situation\n{SAID}\n## Open\n- (nothing yet)") is None


@given(st.lists(st.text(min_size=1, max_size=60), max_size=12), st.integers(1, 4_000))
def test_whatever_is_essential_its_own_lines_cover_it(lines: list[str], cap: int) -> None:
    """So no offline summary is refused for want of coverage; and a smaller cap never asks for more."""
    asked = task(essentials=tuple(lines), cap=cap)
    covered, wanted = coverage(asked, "\n".join(lines))
    assert covered >= wanted
    assert coverage(replace(asked, cap=cap + 1), "")[1] >= wanted


@pytest.mark.parametrize("talk", [pytest.param(one["talk"], id=one["name"]) for one in TALKS])
@pytest.mark.parametrize("cap", [40, 100, 400])
def test_offline_summaries_are_always_taken(talk: list[list[str]], cap: int) -> None:
    """With its speakers and the days that it writes behind words."""
    asked = with_essentials(talk, cap=cap)
    assert objection(replace(asked, essentials=()), OfflineSummariser(best_counter()).write(asked).text) is None


def test_names_and_numbers_that_nobody_gave_are_refused() -> None:
    """A summary of another conversation, in part of the same words."""
    asked = with_essentials(TALKS[0]["talk"])
    text = (
        "The circulation pump on line two broke again this morning; the maintenance contract is with Petersen, the"
        " budget is 8,250 euros, Gustav has to sign, and installation is on the line in Rotterdam in 2031."
    )
    assert objection(asked, text) == "it has names or numbers that are not in what it was made from"
