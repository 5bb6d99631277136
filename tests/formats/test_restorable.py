"""What of an export may come back as it was."""

from dataclasses import replace
from typing import Any

import pytest

from lamina.forgetting.receipts import hash_id
from lamina.formats import json_lines
from lamina.formats.restorable import flaw, is_said_in, read_receipts
from lamina.knowledge.fact_words import claim
from lamina.values.message import Span
from lamina.values.receipt import Receipt
from tests.formats.test_lines import FACT
from tests.messages import START, message, summary

ONE, TWO = (replace(one, reads=one.covers) for one in (summary(1, 2), summary(3, 4)))


def folded(into: str) -> Any:
    return replace(ONE, id="old", status="folded", folded_into=into)


@pytest.mark.parametrize(
    ("summaries", "cursor", "wrong"),
    [
        pytest.param([], 0, None, id="none"),
        pytest.param([ONE, TWO], 4, None, id="prefix"),
        pytest.param([ONE, TWO, folded("sum1-2")], 4, None, id="folded"),
        pytest.param([TWO], 4, "messages 1 to 2 are in no live summary", id="gap"),
        pytest.param([ONE, TWO], 6, "messages 5 to 6 are in no live summary", id="short"),
        pytest.param([ONE, replace(ONE, id="x")], 2, "messages 1 to 2 are in more than one live summary", id="twice"),
        pytest.param([ONE, ONE], 2, "two summaries have one id", id="same-id"),
        pytest.param([ONE], 9, "messages 1 to 9 are marked as covered, there are 6", id="cursor"),
        pytest.param([replace(ONE, covers=None)], 2, "a summary covers no messages of its session", id="covers"),
        pytest.param([replace(ONE, covers=Span(first=1, last=7))], 6, "a summary covers no messages", id="beyond"),
        pytest.param([ONE, folded("gone")], 2, "a summary was made from one that is missing", id="folded-into"),
        pytest.param([replace(ONE, inputs=("gone",))], 2, "a summary was made from one that is missing", id="inputs"),
        pytest.param([replace(ONE, reads=None, inputs=())], 2, "a summary was made from nothing", id="nothing"),
    ],
)
def test_summaries_come_back_only_if_they_are_whole(summaries: list[Any], cursor: int, wrong: str | None) -> None:
    """They must cover the first messages, each once, and know what they were made from."""
    found = flaw(summaries, cursor, messages=6)
    assert found is None if wrong is None else found is not None and found.startswith(wrong)


def test_a_fact_needs_a_message_that_says_it() -> None:
    """In its own session, at its place; words that a retention rule dropped are believed."""
    said = message(1, text="I drink tea.")
    fact = replace(FACT, session_id=said.session_id, message_id=said.id, quote="tea", start=8, end=11)
    assert is_said_in(fact, said)
    assert not is_said_in(fact, None)
    assert not is_said_in(replace(fact, start=7, end=10), said)
    assert not is_said_in(replace(fact, session_id="other"), said)
    gone = replace(said, forgotten=True, text="[forgotten]", body={"role": "user", "content": "[forgotten]"})
    assert not is_said_in(fact, gone)
    assert is_said_in(fact, replace(gone, text="[dropped]", body={"role": "user", "content": "[dropped]"}))


def test_the_same_saying_has_the_same_claim() -> None:
    """Whatever its id, its model and how it stands."""
    assert claim(replace(FACT, id="x", model="y", status="active", value="Tea.")) == claim(FACT)
    assert claim(replace(FACT, value="coffee")) != claim(FACT)


RECEIPT = Receipt(
    id="r1", at=START, target="", dry_run=False, messages=(hash_id("m1", "r1"),), redacted=(),
    sessions=(hash_id("s1", "r1"),),
    summaries=("s",), digests=(), facts=("f",), episodes=("e",), milestones=0, values_blocked=0, rewritten=(),
    mentions_left=(), scrubbed=True, previous="", digest="",
)  # fmt: skip


def test_receipts_tell_what_is_gone() -> None:
    """Facts, episodes and summaries by id; messages of whole sessions by a hash that their id gives again."""
    gone = read_receipts([RECEIPT])
    assert gone.ids == {"s", "f", "e"}
    (erased,) = gone.of_session("s1")
    assert erased.has_message("m1")
    assert not erased.has_message("m2")
    assert not erased.has_message(3)
    assert gone.of_session("s2") == ()
    in_place = replace(RECEIPT, sessions=(), messages=("m1",))  # still there, without its words
    assert read_receipts([in_place]).of_session("s1") == ()


def test_a_receipt_of_an_older_export_is_read() -> None:
    """There the field `dry_run` is called `rehearsal`."""
    record = json_lines.record(RECEIPT)
    record["rehearsal"] = record.pop("dry_run")
    assert json_lines.value(record) == RECEIPT
