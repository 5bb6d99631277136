"""Answers in the shapes that servers give them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.llm.json_answers import find_quote
from lamina.models.llm.openai_api import (
    Unreadable,
    chat_reply,
    embedding_vectors,
    find_json,
    response_reply,
    strip_fence,
    strip_thoughts,
)


def chat(message: Any, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(chat({"content": "Hi."}), "Hi.", id="plain"),
        pytest.param(chat({"content": None}), "", id="null"),
        pytest.param(chat({}), "", id="missing"),
        pytest.param(chat({"content": "", "reasoning_content": "Let me see"}), "", id="thoughts-only"),
        pytest.param(chat({"content": "Hi.", "reasoning": "So"}, extra=1, timings={}), "Hi.", id="extra-keys"),
        pytest.param(chat({"content": [{"type": "text", "text": "Hi."}]}), "Hi.", id="parts"),
        pytest.param(chat({"content": "<think>a\nb</think>\n\nHi."}), "Hi.", id="think"),
        pytest.param(chat({"content": "a\nb\n</think>Hi."}), "Hi.", id="think-without-start"),
        pytest.param(chat({"content": "<think>for ever"}), "", id="think-without-end"),
        pytest.param(
            chat({"content": None, "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]}),
            '{"a": 1}',
            id="tool",
        ),
        pytest.param(
            chat({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}),
            '{"a": 1}',
            id="tool-with-object",
        ),
        pytest.param(chat({"content": "Hi.", "tool_calls": []}), "Hi.", id="no-tools"),
        pytest.param(chat({"content": None, "refusal": "I won't."}), "I won't.", id="refusal"),
    ],
)
def test_chat_answers(body, text):
    """What the model says is found, and what it thinks left out."""
    assert chat_reply(body).text == text


def test_the_end_and_the_count_of_an_answer():
    """`length` means that it was cut; usage may be missing or odd."""
    assert chat_reply(chat({"content": "Hi"}, "length")).cut
    assert not chat_reply(chat({"content": "Hi"}, None)).cut
    counted = chat_reply(chat({"content": "Hi"}, usage={"prompt_tokens": 3, "completion_tokens": 1}))
    assert (counted.tokens_in, counted.tokens_out) == (3, 1)
    for usage in (None, {}, "no", {"prompt_tokens": None}, {"prompt_tokens": -1}):
        assert chat_reply(chat({"content": "Hi"}, usage=usage)).tokens_in is None
    assert chat_reply(chat({"content": None, "refusal": "no"})).refused


@pytest.mark.parametrize("body", [None, [], "text", {}, {"choices": []}, {"choices": None}, {"choices": ["x"]}])
def test_what_is_no_chat_answer(body):
    with pytest.raises(Unreadable):
        chat_reply(body)


def test_responses():
    """All output_text parts of messages; reasoning items are passed over."""
    items = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "hm"}]},
        {
            "type": "message",
            "content": [{"type": "output_text", "text": "Hi "}, {"type": "output_text", "text": "you."}],
        },
    ]
    reply = response_reply({"output": items, "status": "completed", "usage": {"input_tokens": 5, "output_tokens": 2}})
    assert (reply.text, reply.cut, reply.tokens_in, reply.tokens_out) == ("Hi you.", False, 5, 2)
    assert response_reply({"output": items, "status": "incomplete"}).cut
    assert response_reply({"output_text": "Hi."}).text == "Hi."
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
    assert response_reply({"output": [refusal]}).refused
    wrong: Any
    for wrong in ({}, [], None, "x"):
        with pytest.raises(Unreadable):
            response_reply(wrong)


VALUE = {"facts": [{"a": "}{"}]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(VALUE),
        f"```json\n{json.dumps(VALUE, indent=2)}\n```",
        f"```\n{json.dumps(VALUE)}\n```\nI hope this helps!",
        f"Sure! Here you are:\n{json.dumps(VALUE)}\nAnything else? [1] {{ }}",
        f'The form is {{"facts": []}}.\n\nSo: {json.dumps(VALUE)}',
    ],
    ids=["bare", "fenced", "fenced-with-chatter", "chatter", "two"],
)
def test_json_is_found_in_a_text(text):
    """Between ``` or words; the longest of several."""
    assert find_json(text) == VALUE


@pytest.mark.parametrize("text", ["", "no JSON here", '{"facts": [', "{" * 5_000, "[" * 100_000, "3", '"text"'])
def test_no_json_is_none(text):
    assert find_json(text) is None


@given(st.text(st.sampled_from('{}[]":, \\n`abc1é<>/think'), max_size=60))
def test_no_text_is_too_odd_to_look_for_json(text):
    """It is an object, a list or nothing; and what was put in is found again."""
    assert isinstance(find_json(text), dict | list | None)
    assert find_json(f"{json.dumps({'t': text})}") == {"t": text}


@given(st.text(max_size=40), st.integers(0, 40), st.integers(1, 20))
def test_every_piece_of_a_text_is_found_in_it(text, start, length):
    """Exactly, or in capitals; and what is found is a piece of the text."""
    piece = text[start : start + length]
    place = find_quote(piece, text)
    assert (place is None) == (not piece.strip())
    if place is not None:
        assert text[place[0] : place[1]] == piece
    shouted = find_quote(piece.upper(), text)
    assert shouted is None or 0 <= shouted[0] < shouted[1] <= len(text)


def test_fences_and_thoughts_are_taken_off():
    assert strip_fence("```markdown\n## A\ntext\n```") == "## A\ntext"
    assert strip_fence("see:\n```\ncode\n```") == "see:\n```\ncode\n```"
    assert strip_thoughts("<thinking>x</thinking>a<THINK>y</THINK>b") == "ab"


def test_vectors_come_in_the_order_of_the_texts():
    """By index, whatever the order of the answer; without one, by place."""
    rows = [{"index": 1, "embedding": [2, 2]}, {"index": 0, "embedding": [1, 1]}]
    assert embedding_vectors({"data": rows}, 2) == ([[1.0, 1.0], [2.0, 2.0]], None)
    bare = {"data": [{"embedding": [1]}, {"embedding": [2]}], "usage": {"prompt_tokens": 7}}
    assert embedding_vectors(bare, 2) == ([[1.0], [2.0]], 7)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [None]}]},
        {"data": [1, 2]},
    ],
)
def test_what_are_no_vectors(body):
    with pytest.raises(Unreadable):
        embedding_vectors(body, 2)


TEXT = "Well, I\u2019m  “Alex” \u2013 from\nGhent, STRASSE 3. I live in Ghent."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        pytest.param("I live in Ghent", "I live in Ghent", id="exact"),
        pytest.param('I\'m "Alex" - from Ghent', "I\u2019m  “Alex” \u2013 from\nGhent", id="marks-and-spaces"),
        pytest.param("i LIVE in ghent", "I live in Ghent", id="case"),
        pytest.param("straße 3", "STRASSE 3", id="folded"),
        pytest.param("I live in Ghent!", "I live in Ghent", id="other-end"),
        pytest.param("…I live in Ghent…", "I live in Ghent", id="ellipsis"),
        pytest.param("I live in Bruges", None, id="never-said"),
        pytest.param("I lived in Ghent", None, id="changed"),
        pytest.param("", None, id="empty"),
        pytest.param(" \n", None, id="blank"),
    ],
)
def test_quotes_are_found_where_they_were_said(quote, found):
    """Spaces, case and marks may differ; words may not."""
    place = find_quote(quote, TEXT)
    assert (None if place is None else TEXT[place[0] : place[1]]) == found
