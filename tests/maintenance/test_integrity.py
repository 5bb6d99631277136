"""What is wrong with a session, as `verify` finds it in its rows."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lamina.log import chain, records
from lamina.maintenance.integrity import problems
from lamina.protocols.store import Audit
from lamina.values.fact import Episode
from lamina.values.message import MessageDraft, Span
from lamina.values.session import Counters, Session
from tests.messages import summary

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)


def an_audit(**changes: Any) -> Audit:
    """A whole session of two turns, with what is given in place of its own."""
    drafts = [
        MessageDraft(
            id=f"m{number}",
            role="user",
            body='{"role":"user","content":"hello"}',
            created_at=AT,
            metadata="{}",
            model=None,
            tokens=1,
            text="hello",
        )
        for number in (1, 2)
    ]
    rows, counters, last = chain.build_rows("s1", Counters(), chain.first_hash("s1"), drafts, [b"1", b"2"])
    session = Session(
        id="s1", user_id="ann", status="active", started_at=AT, last_at=AT, touched_at=AT, counters=counters
    )
    whole = Audit(session=session, last_digest=last, rows=tuple(rows), summaries=(), facts=(), episodes=())
    return replace(whole, **changes)


def an_episode(*message_ids: str) -> Episode:
    return Episode(
        id="e1",
        user_id="ann",
        kind="breakthrough",
        title="Found it",
        summary="",
        context="",
        participants=(),
        outcome=None,
        valence=0.0,
        significance=0.5,
        session_id="s1",
        turns=Span(first=1, last=1),
        message_ids=message_ids,
        happened_at=AT,
        created_at=AT,
    )


def unreadable() -> Any:
    """A summary whose digest is right, though its record is none."""
    row = records.encode_summary(summary(1, 2))
    return replace(row, record="[]", digest=records.record_hash(row.id, "[]"))


FIRST, SECOND = an_audit().rows
TEXT: Any = "text, where bytes should be"
COVERED = replace(
    an_audit().session, counters=replace(an_audit().session.counters, cursor=2, cursor_turn=2, cursor_tokens=2)
)


def test_a_whole_session_has_no_problems() -> None:
    assert list(problems(an_audit(episodes=(records.episode_row(an_episode("m1")),)))) == []


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        pytest.param(an_audit(rows=(FIRST, SECOND._replace(turn=1))), ("log", "is in turn 1, not 2"), id="turn"),
        pytest.param(
            an_audit(rows=(FIRST._replace(digest=TEXT), SECOND)),
            ("chain", "breaks the chain of digests"),
            id="text",
        ),
        pytest.param(
            an_audit(session=COVERED, summaries=(records.encode_summary(summary(1, 2)),)),
            ("provenance", "was made from nothing"),
            id="nothing",
        ),
        pytest.param(
            an_audit(session=COVERED, summaries=(unreadable(),)),
            ("summary", "summary sum1-2 cannot be read"),
            id="record",
        ),
        pytest.param(
            an_audit(episodes=(records.episode_row(an_episode("m1", "gone")),)),
            ("fact", "comes from messages that are gone"),
            id="episode",
        ),
    ],
)
def test_what_does_not_agree_is_named(audit: Audit, expected: tuple[str, str]) -> None:
    """Each with its kind and what is wrong."""
    found = [(problem.kind, problem.text) for problem in problems(audit)]
    kind, text = expected
    assert any(one == kind and said.startswith(text) for one, said in found), found
