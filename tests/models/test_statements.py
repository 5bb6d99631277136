"""Statements: what is worth remembering and has no slot, word for word, with a type and how sure it is."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.facts import message
from benchmarks.notes import ACTIVE, labelled, meets, memories
from lamina.knowledge.fact_words import TYPES
from lamina.models.offline.offline_extractor import drafts_in, last_question
from lamina.models.offline.statement_extraction import model
from lamina.models.offline.statement_extraction.cues import all_cues

FOLDER = Path(model.__file__).parent
ENGLISH = tomllib.loads((FOLDER / "cues_en.toml").read_text("utf-8"))


def found(text, before=""):
    asked = message(before, role="assistant", name="before") if before else None
    return drafts_in(message(text), asked)


def test_the_weights_are_those_that_were_trained():
    assert hashlib.sha256((FOLDER / model.FILE).read_bytes()).hexdigest() == model.SHA256
    assert set(model.TYPES[1:]) <= set(TYPES)


@pytest.mark.parametrize("language", sorted(all_cues()))
def test_every_language_has_every_class_of_cues(language):
    data = tomllib.loads((FOLDER / f"cues_{language}.toml").read_text("utf-8"))
    assert data["cues"].keys() == ENGLISH["cues"].keys()
    assert data["split"].keys() >= ENGLISH["split"].keys() - {"openers"}
    assert all(words.strip() for words in data["cues"].values())


@pytest.mark.parametrize(
    "text",
    [
        "we'll take the second offer",
        "never book me before ten",
        "don't let me forget the vet on tuesday",
        "every money column is numeric(12,2), no exceptions",
        "knee is acting up again, doc says six weeks off",
        "btw my boss moved the launch to the 14th",
    ],
)
def test_plain_chat_is_heard(text):
    """Without capitals, full stops or the obvious words; each is one memory in the user's words."""
    (draft,) = found(text)
    assert draft.quote in text
    assert draft.confidence >= ACTIVE


@pytest.mark.parametrize(
    "text",
    [
        "thanks, that's great!",
        "What would you do in my place?",
        "can you write it, like four lines, friendly",
        "Translate to German: I live in Paris and I love my dogs.",
        "ok cool",
        "How many moons does Jupiter have?",
    ],
)
def test_what_ends_with_the_answer_is_not_kept(text):
    assert found(text) == []


def test_what_a_keyed_fact_says_is_not_said_again():
    drafts = found("My name is Ann and I live in Ghent.")
    assert {draft.key for draft in drafts} == {"name", "location"}


def test_a_short_answer_has_its_question_beside_it():
    drafts = found("mornings before eight, on weekdays only", "Sure. When should I book your runs?")
    assert any(draft.question == "When should I book your runs?" and draft.question_id == "before" for draft in drafts)


def test_a_statement_that_points_back_has_what_it_points_to():
    """The quote is still a piece of the message."""
    text = "The dentist offered me a crown for 900 euros. I said no to it for now."
    assert any("crown" in draft.quote and "said no" in draft.quote for draft in found(text))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Nice. Which day suits you?", "Which day suits you?"),
        ("Done.", None),
        ("", None),
        ("来週はどうですか\uff1f", "来週はどうですか\uff1f"),
    ],
)
def test_the_question_that_a_text_ends_with(text, question):
    assert last_question(text) == question


pieces = st.sampled_from(
    [
        "I moved to Ghent",
        "my sister is allergic to nuts",
        "why?",
        "we decided on Go",
        "```x = 1```",
        "and",
        "我住在根特",
        "\n",
        '"',
    ]
)


@given(st.lists(pieces | st.text(max_size=12), max_size=12).map(" ".join))
def test_every_quote_is_a_piece_of_its_message(text):
    """Whatever the text; quotes of statements do not overlap; the same text gives the same; confidence is a share."""
    drafts = found(text)
    assert drafts == found(text)
    statements = [draft for draft in drafts if draft.key is None]
    for draft in drafts:
        assert text[draft.start : draft.end] == draft.quote
        assert 0 <= draft.confidence <= 1
        assert draft.category in TYPES
    assert len({(draft.start, draft.category, draft.value) for draft in statements}) == len(statements)


def test_most_of_what_a_reader_notes_is_found_and_most_of_what_is_found_is_noted():
    """On talks that nobody read while the reader was made."""
    talks = [one for one in labelled(None) if one.unseen]
    kept = {one.id: [draft for draft in memories(one) if draft.confidence >= ACTIVE] for one in talks}
    noted = [any(meets(note, draft) for note in one.notes) for one in talks for draft in kept[one.id]]
    heard = [any(meets(note, draft) for draft in kept[one.id]) for one in talks for note in one.notes if note.sure]
    assert sum(noted) / len(noted) > 0.88
    assert sum(heard) / len(heard) > 0.7


@pytest.mark.parametrize(
    ("name", "half", "right"),
    [
        pytest.param("front_clauses", "seen", 0.7, id="clause-in-front"),
        pytest.param("front_clauses", "unseen", 0.7, id="clause-in-front-unseen"),
        pytest.param("trigger_words_unseen", None, 0.85, id="trigger-words"),
    ],
)
def test_plain_sentences_give_a_memory_of_their_type(name, half, right):
    """Limits and habits with a clause in front of them; decided, prefer, must, goal with any subject."""
    lines = (Path(__file__).parents[1] / "data" / "facts" / f"{name}.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case.get("half") == half]
    hits = [case["type"] in {draft.category for draft in found(case["text"])} for case in cases]
    assert sum(hits) / len(hits) >= right


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Before noon I can't take calls", "constraint"),
        ("after every session I clean the brushes and note the colours", "procedure"),
        ("we've ruled out a second dog", "decision"),
        ("from now on call me Bea, only my gran says Beatrice", "instruction"),
    ],
)
def test_the_type_of_a_clear_statement(text, category):
    assert category in {draft.category for draft in found(text)}


@pytest.mark.parametrize(
    "text",
    [
        "sqlite3.OperationalError: database is locked",
        "I get ssl.SSLCertVerificationError: certificate verify failed: certificate has expired",
        "error[E0502]: cannot borrow `self.buf` as mutable because it is also borrowed as immutable",
    ],
)
def test_what_a_program_printed_is_no_statement(text):
    assert found(text) == []
    assert [draft.quote for draft in found(f"{text}.\n\nMy sister Ann is a nurse at the harbour clinic")] != []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Se fossi un medico vivrei a Napoli.", id="it"),
        pytest.param("如果我有钱\uff0c我就住在上海。", id="zh-main-clause"),
        pytest.param("Wenn ich Arzt wäre, würde ich in Hamburg leben.", id="de"),
    ],
)
def test_what_is_only_supposed_is_not_kept(text: str) -> None:
    """How somebody would be if things were otherwise is not who they are."""
    assert drafts_in(message(text)) == []
