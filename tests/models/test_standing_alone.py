"""Statements that a stranger understands: no bare dates, no pieces of quotations, nothing that a fact says already."""

import pytest

from benchmarks.facts import message
from benchmarks.notes import ACTIVE
from lamina.models.offline.offline_extractor import drafts_in
from lamina.protocols.models import FactDraft


def active(text: str, before: str = "") -> list[FactDraft]:
    asked = message(before, role="assistant", name="before") if before else None
    return [one for one in drafts_in(message(text), asked) if one.confidence >= ACTIVE]


@pytest.mark.parametrize(
    "text",
    [
        "3 May",
        "Eleven... no, twelve days.",
        "a Saturday in June",
        "All but two chairs",
        "the 9th, no, the 10th of July",
    ],
)
def test_a_date_or_a_fragment_alone_is_nothing(text):
    assert active(text) == []


def test_a_date_that_answers_a_question_is_kept_with_the_question():
    kept = active("Thursday 3 May at nine", before="When is your driving test?")
    assert all(one.question == "When is your driving test?" for one in kept)


def test_a_date_comes_with_the_clause_before_it():
    (kept,) = active("We moved the housewarming party to the allotment. Saturday 9 May")
    assert kept.quote == "We moved the housewarming party to the allotment. Saturday 9 May"


@pytest.mark.parametrize(
    "text",
    [
        'please never begin an answer with "sure thing, boss"',
        "please never begin an answer with \u201csure thing, boss\u201d",
        'we settled on the name "Tern, the second", and the logo stays',
    ],
)
def test_a_quotation_stays_whole(text):
    quotes = [one.quote for one in active(text)]
    assert quotes
    assert all(quote.count('"') % 2 == 0 and quote.count("\u201c") == quote.count("\u201d") for quote in quotes)


@pytest.mark.parametrize(
    "text",
    [
        "Boring question but here we go again: my editor is Helix",
        "I know everyone has opinions about this: my favourite colour is teal",
    ],
)
def test_what_a_keyed_fact_says_is_no_statement_too(text):
    (fact,) = active(text)
    assert fact.key is not None


def test_what_a_keyed_fact_leaves_of_a_sentence_is_a_statement_of_its_own():
    fact, rest = active("I'm allergic to nuts, so please check every recipe for traces before you suggest it")
    assert (fact.key, rest.key) == ("allergy nuts", None)
    assert rest.quote == "please check every recipe for traces before you suggest it"


def test_a_longer_statement_takes_the_place_of_a_decision_inside_it():
    (kept,) = active("I took a contract: two days a week for Northwind, remote, 480 euros a day, from 7 July on")
    assert kept.quote.startswith("I took a contract: two days")


@pytest.mark.parametrize(
    "text",
    [
        "thread 'main' panicked at src/lib.rs:10:4: attempt to subtract with overflow in the scheduler",
        "app.errors.QueueFull: queue is full, the worker must wait for a slot",
    ],
)
def test_what_a_program_printed_is_no_statement(text):
    assert active(text) == []


@pytest.mark.parametrize(
    "text",
    ["I'm typing this from the kitchen floor", "I'm just staring at the wall", "sorry, I'm off to bed"],
)
def test_what_somebody_does_at_the_moment_is_no_statement(text):
    assert active(text) == []


@pytest.mark.parametrize(
    "text", ["I'm sitting my driving test on 4 May", "I'm testing for coeliac disease on Monday 12 May"]
)
def test_what_is_dated_is_kept(text):
    assert len(active(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "some guy at the bus stop told me he's moving to Chile",
        "rumour has it she's pregnant",
        "imagine my boss says he quits",
    ],
)
def test_hearsay_is_no_statement(text):
    assert active(text) == []
