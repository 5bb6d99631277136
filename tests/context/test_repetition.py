"""A context says a thing once: as a fact, in a summary, among the recent messages or as a passage."""

from typing import Any

import pytest

from lamina import Memory
from lamina.context.items import Item
from lamina.context.rendering import PREAMBLE
from lamina.context.repetition import Said
from lamina.values.manifest import Context

PLANTS = "Please water the tall plants in the kitchen for me."


def add(memory: Memory, *texts: str, session_id: str) -> tuple[str, ...]:
    turns = [[{"role": "user", "content": text}, {"role": "assistant", "content": "Fine."}] for text in texts]
    return memory.add([one for turn in turns for one in turn], user_id="ann", session_id=session_id).ids


def ask(memory: Memory, query: str = "Which plants did I want you to water?", **more: Any) -> Context:
    return memory.context(query, **{"user_id": "ann", "session_id": "now", "budget": 1_000, **more})


def reasons(context: Context) -> list[str]:
    return [one.reason for one in context.manifest.omitted if one.section == "recalled"]


@pytest.fixture
def memory() -> Any:
    with Memory(":memory:", worker=False) as opened:
        yield opened


def test_what_was_said_often_is_one_passage_with_a_count(memory: Memory) -> None:
    ids = add(memory, *[PLANTS] * 8, session_id="old")
    memory.settle()
    context = ask(memory)
    assert context.text.count(PLANTS) == 1
    assert f"user (8 times): {PLANTS}" in context.text
    (piece,) = [one for one in context.manifest.items if set(one.message_ids) & set(ids[::2])]
    assert set(piece.message_ids) == set(ids[::2])


def test_what_stands_in_the_digest_is_no_passage_too(memory: Memory) -> None:
    """The manifest says that it is there: the digest names the message, the passage is listed as left out."""
    ids = add(memory, PLANTS, session_id="old")
    memory.end("old")
    memory.settle()
    context = ask(memory)
    (digest,) = [one for one in context.manifest.items if one.section == "digest"]
    assert context.text.count(PLANTS) == 1
    assert ids[0] in digest.message_ids
    assert f"stands word for word in {digest.id}" in reasons(context)


def test_what_a_recent_or_the_current_message_says_is_no_passage_too(memory: Memory) -> None:
    add(memory, PLANTS, "Where is my green umbrella?", session_id="old")
    add(memory, PLANTS.upper(), session_id="now")
    memory.settle()
    context = ask(memory)
    assert "## Passages" not in context.text
    assert PLANTS.upper() in context.text
    assert "a recent message says the same" in reasons(context)
    asked = ask(memory, "Where is my green umbrella?")
    assert "the current message says the same" in reasons(asked)


def test_what_facts_say_in_full_is_no_passage_too(memory: Memory) -> None:
    """Words that only link what was quoted do not count; a message that says more is shown."""
    add(memory, "My name is Alex and I live in Ghent.", session_id="old")
    add(memory, "I'm allergic to peanuts. They made me ill in May.", session_id="old")
    memory.settle()
    context = ask(memory, "Where do I live, what is my name, and what made me ill?")
    assert "My name is Alex" not in context.text
    assert "- location: Ghent" in context.text
    assert "They made me ill in May" in context.text
    assert any(reason.endswith("says it") for reason in reasons(context))


def test_courtesies_around_what_facts_say_are_no_passage(memory: Memory) -> None:
    """Neither a greeting, nor an assistant that only takes note; the facts name all messages that they say."""
    ids = memory.add(
        [
            {"role": "user", "content": "Hi! I'm Alex and I live in Ghent."},
            {"role": "assistant", "content": "Nice to meet you, Alex! How can I help you today?"},
            {"role": "user", "content": "By the way, I live in Ghent."},
            {"role": "assistant", "content": "Noted: you live in Ghent."},
            {"role": "user", "content": "Thanks!"},
            {"role": "assistant", "content": "You're welcome."},
        ],
        user_id="ann",
        session_id="old",
    ).ids
    memory.settle()
    context = ask(memory, "Where do I live?")
    assert "## Passages" not in context.text
    assert "- name: Alex\n- location: Ghent" in context.text
    assert {ids[0], ids[2]} <= {one for item in context.manifest.items for one in item.message_ids}
    assert {"says nothing but courtesies", "says nothing but what facts say"} <= set(reasons(context))


@pytest.mark.parametrize(
    "reply",
    [
        "You don't live in Ghent.",
        "Noted: you live in Ghent, near the canal.",
        "Done.",
        "You live in Ghent at number 12.",
    ],
)
def test_a_reply_that_says_more_or_otherwise_than_facts_is_shown(memory: Memory, reply: str) -> None:
    messages = [{"role": "user", "content": "I live in Ghent."}, {"role": "assistant", "content": reply}]
    memory.add(messages, user_id="ann", session_id="old")
    memory.settle()
    assert f"assistant: {reply}" in ask(memory, "Where do I live?").text


def test_what_facts_say_does_not_stand_in_the_digest_too(memory: Memory) -> None:
    """Its other lines stay; a theme of which nothing is left has no heading."""
    add(memory, "I live in Ghent.", session_id="first")
    add(memory, "I'm allergic to peanuts.", PLANTS, session_id="second")
    for session in ("first", "second"):
        memory.end(session)
    memory.settle()
    context = ask(memory, "What do you know of me?")
    assert "- allergic to peanuts" in context.text
    assert "User: I live in Ghent" not in context.text
    assert "User: I'm allergic" not in context.text
    assert context.text.count(PLANTS) == 1
    assert context.text.count("### ") == 1


def test_a_digest_that_facts_say_in_full_is_left_out(memory: Memory) -> None:
    add(memory, "I live in Ghent.", session_id="old")
    memory.end("old")
    memory.settle()
    context = ask(memory, "What do you know of me?")
    assert "## Earlier sessions" not in context.text
    assert [one.reason for one in context.manifest.omitted if one.kind == "digest"] == ["facts say all of it"]


def test_the_line_that_explains_the_tags_stands_once(memory: Memory) -> None:
    """Before the first block; also where there is only what was recalled."""
    add(memory, PLANTS, session_id="old")
    memory.settle()
    late = ask(memory)
    assert [one["content"].startswith(PREAMBLE) for one in late.messages] == [True, False]
    memory.remember("grows tomatoes", user_id="ann", importance=1.0)
    both = ask(memory)
    assert both.text.count(PREAMBLE) == 1
    assert both.text.count("<memory>") == 2
    assert [one["content"].startswith(PREAMBLE) for one in both.messages] == [True, False, False]
    assert both.messages[1]["content"].startswith("<memory>\n## Passages")


def test_the_same_summary_is_recalled_once() -> None:
    """Of two that say the same one is shown, with what stands in it; never neither."""
    with Memory(":memory:", worker=False, profile="project") as memory:
        for session in ("one", "two"):
            add(memory, PLANTS, session_id=session)
            memory.end(session)
        memory.settle()
        context = ask(memory)
        assert context.text.count(PLANTS) == 1


def item(**more: Any) -> Item:
    given: dict[str, Any] = {"section": "recalled", "kind": "passage", "tokens": 1, "reason": "", "label": "user"}
    return Item(**given | more)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I agree.", True),
        ("I agree", False),
        ("No.", False),
        ("we ship the new boats to Porto tomorrow", True),
        ("ship the new boats", False),
    ],
)
def test_few_words_stand_in_a_summary_only_as_words_of_their_speaker(text: str, stands: bool) -> None:
    summary = item(
        section="summaries", kind="summary:layer", id="s",
        text="- User: I agree. Then:\n- Assistant: No. So we ship the new boats to Porto tomorrow",
    )  # fmt: skip
    assert (Said([summary], None).find(item(text=text)) is not None) is stands


def test_a_statement_of_a_recent_message_is_no_fact_too(memory: Memory) -> None:
    """It is one again where the message is not shown; values under a key are always shown."""
    add(memory, "I'm a nurse in Durban. I won't drive any more after a fourth night.", session_id="now")
    memory.settle()
    statement = "I won't drive any more after a fourth night"
    context = ask(memory, "How do I get home?")
    assert "- job: nurse" in context.text
    assert context.text.count(statement) == 1
    assert "a recent message says it word for word" in {one.reason for one in context.manifest.omitted}
    assert f"- {statement}" in ask(memory, "How do I get home?", session_id="another").text


def test_a_passage_that_the_digest_has_but_for_courtesies_is_left_out(memory: Memory) -> None:
    """ "Yes! ... btw" says nothing more than the line of the digest."""
    said = "The gas meter in the hallway must be read before the first of June"
    add(memory, f"Yes! {said}, btw", session_id="old")
    memory.end("old")
    memory.settle()
    context = ask(memory, "When must the gas meter be read?")
    assert context.text.count(said) == 1


def test_a_line_of_the_digest_under_the_name_of_the_user_gives_way_to_a_fact(memory: Memory) -> None:
    """A fact says it once, whether the digest calls who said it by name or "User"."""
    said = "I live in Ghent."
    memory.add({"role": "user", "name": "Ann", "content": said}, user_id="ann", session_id="old")
    memory.end("old")
    memory.settle()
    text = ask(memory, "Hello again!").text
    assert "location: Ghent" in text
    assert said.rstrip(".") not in text
