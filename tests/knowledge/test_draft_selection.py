"""What is taken where a model and the offline reader read the same messages."""

from dataclasses import replace
from typing import Any

import pytest

from lamina.knowledge.draft_selection import Selection, select, select_episodes
from lamina.protocols.models import EpisodeDraft, FactDraft
from lamina.values.message import Message
from tests.messages import message

TEXT = "I live in Ghent because of the sea, and I never work on Sundays."


def draft(key: str | None, value: str, quote: str, text: str = TEXT, **values: Any) -> FactDraft:
    start = text.index(quote)
    plain: dict[str, Any] = {"category": "identity", "confidence": 0.9, "importance": 0.8, **values}
    return FactDraft(
        message_id=message(1).id, key=key, value=value, quote=quote, start=start, end=start + len(quote), **plain
    )


def chosen(drafts: list[FactDraft], offline: list[FactDraft], text: str = TEXT, **values: Any) -> Selection[FactDraft]:
    messages = {message(1).id: message(1, text=text)}
    plain: dict[str, Any] = {"offline": offline, "offline_model": "offline", "join": True, **values}
    return select(drafts, "model", messages, **plain)


GHENT = draft("location", "Ghent", "I live in Ghent")
SUNDAYS = draft(None, "I never work on Sundays", "I never work on Sundays", category="constraint")
JOHN = draft("name", "John", "I live in Ghent")


def taken(selection: Selection[FactDraft]) -> list[tuple[str, str]]:
    return [(one.value, model) for one, model in selection.taken]


def test_the_union_of_what_passes_is_taken() -> None:
    """The model's first; of the offline reader only what the model did not find."""
    selection = chosen([GHENT, JOHN], [GHENT, SUNDAYS])
    assert taken(selection) == [("Ghent", "model"), (SUNDAYS.value, "offline")]
    assert [(one.value, reason) for one, reason in selection.refused] == [
        ("John", "the quote does not have the words of the value")
    ]


def test_without_the_offline_reader_only_what_the_model_found_is_taken() -> None:
    assert taken(chosen([GHENT, JOHN], [GHENT, SUNDAYS], join=False)) == [("Ghent", "model")]
    assert taken(chosen([GHENT, JOHN], [SUNDAYS], join=False, check=False)) == [("Ghent", "model"), ("John", "model")]


def test_a_keyed_fact_is_not_said_again_as_a_statement() -> None:
    """Whoever found which; a statement that says more stays."""
    whole = draft(None, "I live in Ghent", "I live in Ghent")
    assert taken(chosen([whole], [GHENT])) == [("Ghent", "offline")]
    assert taken(chosen([GHENT], [whole])) == [("Ghent", "model")]
    more = draft(None, "I live in Ghent because of the sea", "I live in Ghent because of the sea")
    assert taken(chosen([GHENT], [more])) == [("Ghent", "model"), (more.value, "offline")]


def test_statements_of_the_same_words_are_one() -> None:
    """The model's is taken."""
    shorter = replace(SUNDAYS, value="never work on Sundays", quote="never work on Sundays", start=SUNDAYS.start + 2)
    assert taken(chosen([shorter], [SUNDAYS])) == [("never work on Sundays", "model")]


def test_what_only_the_offline_reader_found_of_the_same_value_is_added() -> None:
    """Why, and since when."""
    (found, _), *_ = chosen([GHENT], [replace(GHENT, reason="the sea")]).taken
    assert found.reason == "the sea"


def test_a_draft_that_replaces_a_current_value_is_checked_more_strictly() -> None:
    """A value that stands already is no replacement."""
    text = "home is Lisbon"
    lisbon = draft("location", "Lisbon", text, text)
    slot = ("identity", "location")
    assert taken(chosen([lisbon], [], text)) == [("Lisbon", "model")]
    assert taken(chosen([lisbon], [], text, current={slot: {"lisbon"}})) == [("Lisbon", "model")]
    assert taken(chosen([lisbon], [], text, current={slot: {"ghent"}})) == []


def test_a_quote_that_is_not_in_the_message_is_refused_even_unchecked() -> None:
    bad = replace(GHENT, quote="I live in Porto", value="Porto")
    selection = chosen([bad], [], check=False)
    assert taken(selection) == []
    assert selection.refused[0][1] == "it is not word for word in a user's message"


# Episodes


TALK = (
    message(1, text="The importer crashes on every large file."),
    message(2, text="I suspect the buffer."),
    message(3, text="We decided to rewrite the importer with streaming, because the buffer overflows."),
    message(4, text="The importer is rewritten and every test is green, done!"),
)


def episode(number: int = 3, **values: Any) -> EpisodeDraft:
    plain: dict[str, Any] = {
        "kind": "decision_made", "title": "Rewrite the importer with streaming", "context": "", "outcome": None,
        "summary": "We decided to rewrite the importer with streaming.", "valence": 0.4, "significance": 0.8,
    }  # fmt: skip
    return EpisodeDraft(message_id=TALK[number - 1].id, **{**plain, **values})


DONE = episode(4, kind="task_completed", title="Importer rewritten", summary="Every test is green.")


def reasons(drafts: list[EpisodeDraft], before: tuple[Message, ...] = ()) -> list[str]:
    return [reason for _, reason in select_episodes(drafts, "model", TALK[len(before) :], before).refused]


def test_good_episodes_are_taken() -> None:
    assert reasons([episode(), DONE]) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (episode(), "its message has an episode of this kind already"),
        (episode(kind="pivot"), "another episode says nearly the same"),
        (episode(4, kind="pivot"), "another episode says nearly the same"),
        (
            episode(4, title="Alien invasion repelled", summary="Seven astronauts planted potatoes on Mars."),
            "the words of its messages do not support it",
        ),
        (episode(1, title="A birthday", summary="Cake was had"), "the words of its messages do not support it"),
        (
            episode(4, title="Birthday party", summary="The importer is rewritten and every test is green"),
            "the words of its messages do not support its title",
        ),
    ],
    ids=["same", "same-words", "same-words-elsewhere", "invented", "of-another-talk", "title"],
)  # fmt: skip
def test_repeated_and_unsupported_episodes_are_refused(wrong: EpisodeDraft, reason: str) -> None:
    assert reasons([episode(), wrong]) == [reason]


def test_an_episode_of_a_message_that_was_only_shown_is_refused() -> None:
    assert reasons([episode()], TALK[:3]) == ["it names no message that was read"]


def test_what_only_the_offline_extractor_found_is_added() -> None:
    """Unless the model found the same moment."""
    selection = select_episodes([episode()], "model", TALK, offline=[episode(), DONE], offline_model="offline")
    assert [(one.kind, model) for one, model in selection.taken] == [
        ("decision_made", "model"),
        ("task_completed", "offline"),
    ]
