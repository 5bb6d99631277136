"""What is left of a forgotten message, and receipts."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.forgetting import find, receipts, redact
from lamina.log import erased
from lamina.values.message import Message
from lamina.values.receipt import Receipt

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def a_message(body: dict[str, Any], **changes: Any) -> Message:
    calls = tuple(call["id"] for call in body.get("tool_calls") or ())
    values: dict[str, Any] = {
        "id": "m1",
        "session_id": "s1",
        "seq": 1,
        "turn": 1,
        "role": body["role"],
        "body": body,
        "created_at": NOW,
        "metadata": {},
        "model": None,
        "tokens": 1,
        "text": str(body.get("content")),
        "digest": "",
        "calls": calls,
        "answers": body.get("tool_call_id"),
    }
    return Message(**{**values, **changes})


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"who": "Ann"}'}}


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param({"role": "user", "content": "Ann", "name": "Ann"}, {"role": "user"}, id="plain"),
        pytest.param(
            {"role": "tool", "content": "Ann", "tool_call_id": "c1"},
            {"role": "tool", "tool_call_id": "c1"},
            id="result",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "look", "arguments": "{}"}}]},
            id="call",
        ),
    ],
)
def test_an_emptied_message_keeps_its_place(body: dict[str, Any], want: dict[str, Any]) -> None:
    """Calls and results still find each other; nothing else is left."""
    assert redact.empty_body(a_message(body), erased.FORGOTTEN) == {**want, "content": "[forgotten]"}


@pytest.mark.parametrize(
    ("value", "wanted", "has"),
    [
        pytest.param("Card 4242 4242", "4242  4242", True, id="spaces"),
        pytest.param({"a": ["x", {"Straße": 1}]}, "STRASSE", True, id="keys-and-case"),
        pytest.param("\uff14\uff12\uff14\uff12", "4242", True, id="width"),
        pytest.param("4 2 4 2", "4242", False, id="other-words"),
        pytest.param(None, "x y", False, id="nothing"),
        pytest.param("x\u00ady", "\u00ad", False, id="what-does-not-show"),
        pytest.param("أحب القهوة", "القهوة", True, id="arabic"),
    ],
)
def test_words_are_found_wherever_they_are(value: Any, wanted: str, has: bool) -> None:
    """In any text of a value, names of fields too; case, width and spaces do not count."""
    assert redact.has(value, wanted) is has


texts = st.text(st.sampled_from("ab [forgotten]é猫İıßﬁＡ한\u00ad\u200b"), max_size=30)
bodies = st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(
    content=bodies,
    metadata=st.dictionaries(texts, bodies, max_size=2),
    pieces=st.lists(texts.filter(find.needle), min_size=1, max_size=2),
)
def test_a_piece_taken_out_is_gone_or_nothing_is_left(content: Any, metadata: Any, pieces: list[str]) -> None:
    """Either no text of the message has a piece any more, or the message has to go whole."""
    message = a_message({"role": "user", "content": content}, metadata=metadata)
    left = redact.without(message, pieces)
    if left is not None:
        found = [text for part in (left[0]["content"], left[1]) for text in redact.strings(part)]
        assert not any(piece in text for piece in pieces for text in found)


@given(text=texts, piece=texts.filter(find.needle))
def test_only_what_is_looked_for_is_cut(text: str, piece: str) -> None:
    """The rest stays as it was written, sign for sign."""
    spans = find.spans(f"{text}{piece}{text}", [find.needle(piece)])
    assert spans == sorted(spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert any(find.needle(piece) in find.comparable(f"{text}{piece}{text}"[start:end]) for start, end in spans)


def a_receipt(number: int, previous: str) -> Receipt:
    empty = Receipt(
        id=f"r{number}",
        at=NOW,
        target="a session",
        dry_run=False,
        messages=("m1",),
        redacted=(),
        sessions=(),
        summaries=(),
        digests=(),
        facts=(),
        episodes=(),
        milestones=0,
        values_blocked=number,
        rewritten=(),
        mentions_left=(),
        scrubbed=False,
        previous="",
        digest="",
    )
    return receipts.sign(empty, previous)


def test_receipts_are_chained() -> None:
    """A receipt that was changed, or one that is missing, breaks the chain at that place."""
    first = a_receipt(1, receipts.FIRST_RECEIPT)
    second = a_receipt(2, first.digest)
    rows = [receipts.receipt_row(receipt) for receipt in (first, second)]
    assert list(receipts.broken_receipts(rows)) == []
    assert receipts.receipt_of(rows[1]) == second
    assert list(receipts.broken_receipts(rows[1:])) == ["r2"]
    changed = rows[0]._replace(record=receipts.receipt_record(replace(first, values_blocked=9)))
    assert list(receipts.broken_receipts([changed, rows[1]])) == ["r1"]
