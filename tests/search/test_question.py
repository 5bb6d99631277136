"""Questions: what they search for, about whom, of which time, in which order."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.search.question import MAX_TERMS, Question, understand, with_context

AT = datetime(2023, 5, 17, 10, 30, tzinfo=UTC)
NAMES = ("Melanie Brook", "Caroline", "Will", "Søren", "田中")


def asked(query: str, names: tuple[str, ...] = ()) -> Question:
    return understand(query, at=AT, names=names)


@pytest.mark.parametrize(
    ("query", "terms", "words"),
    [
        pytest.param("Which wines did you recommend?", ["win"], ["wines"], id="stemmed-and-as-written"),
        pytest.param("Remind me what I said about the boat", ["boat"], ["boat"], id="asking-words"),
        pytest.param("What did Caroline's sister paint?", ["sister", "paint"], ["sister", "paint"], id="names"),
        pytest.param("What did you say?", ["say"], ["say"], id="nothing-else"),
        pytest.param("who are you", ["who", "are", "you"], ["who", "are", "you"], id="only-stop-words"),
        pytest.param("猫が好き?", ["猫", "か", "好", "き"], ["猫", "か", "好", "き"], id="without-spaces"),
        pytest.param("Где зонт", ["где", "зонт"], ["где", "зонт"], id="cyrillic"),
        pytest.param(
            '"red* NEAR/2 (boat OR', ["red", "near", "2", "boat"], ["red", "near", "2", "boat"], id="operators"
        ),
        pytest.param("", [], [], id="empty"),
        pytest.param("🎉👍", [], [], id="emoji"),
    ],
)
def test_terms(query: str, terms: list[str], words: list[str]) -> None:
    """What to search for is left when names and words that only ask are gone."""
    question = asked(query, NAMES)
    assert (list(question.terms), list(question.words)) == (terms, words)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("What does Caroline paint?", ["Caroline"], id="name"),
        pytest.param("what does caroline paint?", ["Caroline"], id="lower-case"),
        pytest.param("Is that Caroline\u2019s dog?", ["Caroline"], id="possessive"),
        pytest.param("Did Melanie call?", ["Melanie Brook"], id="first-name"),
        pytest.param("Did Mel call?", ["Melanie Brook"], id="short-form"),
        pytest.param("Is the car new?", [], id="short-form-needs-a-capital"),
        pytest.param("What did Me say?", [], id="too-short"),
        pytest.param("Will it rain?", [], id="name-that-is-a-stop-word"),
        pytest.param("What did Will say?", ["Will"], id="stop-word-as-name"),
        pytest.param("Where is SØREN?", ["Søren"], id="accents"),
        pytest.param("田中さんは?", ["田中"], id="without-spaces"),
        pytest.param("Caroline and Mel", ["Melanie Brook", "Caroline"], id="both-as-given"),
    ],
)
def test_names(query: str, names: list[str]) -> None:
    """Known names are found in any of their forms, and given back as they are known."""
    assert list(asked(query, NAMES).names) == names


@pytest.mark.parametrize(
    ("query", "whose"),
    [
        pytest.param("What did you say about the roof?", "assistant", id="you-say"),
        pytest.param("Remind me what you suggested", "assistant", id="you-suggested"),
        pytest.param("What was the number that you\u2019ve given, I mean you mentioned?", "assistant", id="mentioned"),
        pytest.param("What was your advice on loans?", "assistant", id="your-advice"),
        pytest.param("What did I tell you about the roof?", "user", id="i-tell"),
        pytest.param("Where is my bike?", "user", id="my"),
        pytest.param("What led me to move?", "user", id="me"),
        pytest.param("Can you recommend a book?", None, id="request"),
        pytest.param("Tell me about roofs", None, id="tell-me"),
        pytest.param("What does Caroline paint?", None, id="somebody-else"),
    ],
)
def test_whose(query: str, whose: str | None) -> None:
    """Whose words are asked for, or whose life; a request is neither."""
    assert asked(query).whose == whose


@pytest.mark.parametrize(
    ("query", "order"),
    [
        pytest.param("What was my first car?", "first", id="first"),
        pytest.param("Where did I originally live?", "first", id="originally"),
        pytest.param("What is my current job?", "last", id="current"),
        pytest.param("When did I last swim?", "last", id="last"),
        pytest.param("Which film did I see most recently?", "last", id="most-recently"),
        pytest.param("Where do I live now?", "last", id="now"),
        pytest.param("What should I do now?", None, id="next-step"),
        pytest.param("Do we leave it for now?", None, id="for-now"),
        pytest.param("What did I do last week?", None, id="last-week"),
        pytest.param("What is her first name?", None, id="first-name"),
        pytest.param("List my trips from first to last", None, id="both"),
        pytest.param("I am tired right now. Where is the key?", None, id="not-asked"),
    ],
)
def test_order(query: str, order: str | None) -> None:
    """Whether the first or the last of several is wanted."""
    assert asked(query).order == order


@pytest.mark.parametrize(
    ("query", "time", "many"),
    [
        pytest.param("When did we meet?", True, False, id="when"),
        pytest.param("Do you know when we met?", True, False, id="know-when"),
        pytest.param("How long did it take?", True, False, id="how-long"),
        pytest.param("What date is the party?", True, False, id="date"),
        pytest.param("How old was I when it rained?", False, False, id="when-as-conjunction"),
        pytest.param("When I sign up, what should I check?", False, False, id="whenever"),
        pytest.param("How many days did I wait?", True, True, id="how-many-days"),
        pytest.param("How many cats do I have?", False, True, id="how-many"),
        pytest.param("Which museums did I visit?", False, True, id="plural"),
        pytest.param("What kinds of soup does she like?", False, True, id="kinds"),
        pytest.param("Which class did I visit?", False, False, id="no-plural"),
        pytest.param("Give me a list of all my pets", False, True, id="list"),
        pytest.param("In which order did I visit the parks?", False, False, id="single-order"),
        pytest.param("What is the order of my visits?", False, True, id="order-of"),
        pytest.param("Which came first, the hen or the egg?", False, True, id="alternatives"),
        pytest.param("What is bigger: a cat, a dog or a cow?", False, True, id="three-alternatives"),
        pytest.param("Did it rain, or not?", False, False, id="or-not"),
    ],
)
def test_asks(query: str, time: bool, many: bool) -> None:
    """Whether a time is wanted, and whether several passages are needed."""
    question = asked(query)
    assert (question.asks_time, question.asks_many) == (time, many)


@pytest.mark.parametrize(
    ("query", "follow_up"),
    [
        pytest.param("And the second one?", True, id="and"),
        pytest.param("What about Berlin?", True, id="what-about"),
        pytest.param("Why?", True, id="why"),
        pytest.param("How much did it cost?", True, id="it"),
        pytest.param("Why did the boat sink in the harbour?", False, id="whole-why"),
        pytest.param("And when did my sister paint the boat in the harbour?", False, id="whole-and"),
        pytest.param("What did Caroline do with it?", False, id="name"),
        pytest.param("", False, id="empty"),
    ],
)
def test_follow_up(query: str, follow_up: bool) -> None:
    """A question that leans on the turns before it."""
    assert asked(query, NAMES).follow_up == follow_up


def test_context_is_borrowed() -> None:
    """A follow-up borrows from the last turns, the most recent first, and only so much."""
    before = ["We bought a piano, a violin, a flute, drums, a harp and bells.", "The boat sank. The boat was old."]
    question = with_context(asked("Why?"), before)
    assert question.terms[0] == "boat"
    assert "piano" in question.words
    assert len(question.terms) <= 8
    assert "why" not in question.terms


def test_whole_questions_borrow_nothing() -> None:
    """A question that stands alone stays as it is, and so does a follow-up with nothing before it."""
    whole, follow_up = asked("Where is the red boat?"), asked("Why?")
    assert with_context(whole, ["The piano is new."]) is whole
    assert with_context(follow_up, []) is follow_up


def test_windows() -> None:
    """The time that is asked for; a date says more than `recently`."""
    (window,) = asked("What did she recently paint, in May 2022?").windows
    assert (window.start, window.end) == (datetime(2022, 5, 1, tzinfo=UTC), datetime(2022, 6, 1, tzinfo=UTC))


def test_long_queries() -> None:
    """Of a very long query the beginning and the end are read, and terms have a limit."""
    question = asked("Where is the boat? " + " ".join(f"word{n}" for n in range(10_000)) + " Which piano did I buy?")
    assert {"boat", "piano"} <= set(question.terms)
    assert len(question.terms) == len(question.words) == MAX_TERMS


@given(st.text(max_size=200), st.lists(st.text(max_size=8), max_size=4), st.lists(st.text(max_size=50), max_size=3))
@example("\ud800 what' or ,a or", ["", " ", "'", "a"], ["\ud800"])
@example("between a and the ?", ["between"], [])
def test_any_text(query: str, names: list[str], before: list[str]) -> None:
    """Nothing raises; terms and words go together; the same query is understood the same again."""
    question = understand(query, at=AT, names=names)
    assert question == understand(query, at=AT, names=names)
    assert len(set(question.terms)) == len(question.terms) == len(question.words) <= MAX_TERMS
    assert set(question.names) <= set(names)
    wider = with_context(question, before)
    assert len(wider.terms) == len(wider.words)
