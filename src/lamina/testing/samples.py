"""Small values to fill a store with."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lamina.ports import Append, FoldCommit
from lamina.types import Counters, Fact, MessageDraft, Milestone, Recipe, Role, Source, Span, Status, Summary

START = datetime(2025, 1, 6, 9, tzinfo=UTC)


def at(minutes: float = 0) -> datetime:
    """So many minutes after the start."""
    return START + timedelta(minutes=minutes)


def a_draft(message_id: str, text: str = "I like tea.", *, role: Role = "user", minutes: float = 0) -> MessageDraft:
    body = {"role": role, "content": text}
    return MessageDraft(
        id=message_id,
        role=role,
        body=json.dumps(body, ensure_ascii=False),
        created_at=at(minutes),
        metadata="{}",
        model=None,
        tokens=len(text.split()),
        text=text,
    )


def a_turn(number: int, prefix: str = "m", text: str = "I like tea.", minutes: float = 0) -> list[MessageDraft]:
    """A question and its answer."""
    asked = a_draft(f"{prefix}{number}", text, minutes=minutes)
    return [asked, a_draft(f"{prefix}{number}-reply", f"Noted: {text}", role="assistant", minutes=minutes)]


def never_due(_counters: Counters, _status: Status) -> bool:
    return False


def an_append(
    session_id: str,
    *drafts: MessageDraft,
    user_id: str = "ann",
    agent_id: str | None = None,
    minutes: float = 0,
    key: str | None = None,
    due: Callable[[Counters, Status], bool] = never_due,
) -> Append:
    return Append(
        session_id=session_id,
        user_id=user_id,
        agent_id=agent_id,
        drafts=drafts,
        salts=[bytes([number % 256]) * 16 for number, _ in enumerate(drafts)],
        now=at(minutes),
        due=due,
        key=key,
    )


def a_summary(
    summary_id: str,
    session_id: str | None,
    span: Span | None,
    text: str = "Ann likes tea.",
    *,
    user_id: str = "ann",
    version: int = 1,
    inputs: tuple[str, ...] = (),
) -> Summary:
    return Summary(
        id=summary_id,
        user_id=user_id,
        session_id=session_id,
        kind="digest" if session_id is None else "chunk",
        layer=0 if session_id is None else 1,
        version=version,
        covers=span,
        turns=span,
        reads=span,
        inputs=inputs,
        text=text,
        topics=("tea",),
        tokens=len(text.split()),
        recipe=Recipe(profile="test", kind="chunk", model="fake", details={"temperature": 0.5}),
        updated_at=at(5),
        created_at=at(6),
        sources=(Source(session_id="s1", messages=2, version=1),) if session_id is None else (),
    )


def a_digest(user_id: str, version: int, text: str = "Ann spoke of tea.") -> Summary:
    return a_summary(f"digest-{user_id}-{version}", None, None, text, user_id=user_id, version=version)


def a_fold(
    session_id: str,
    summary: Summary,
    *,
    expect: int,
    cursor: int,
    retire: tuple[str, ...] = (),
    facts: tuple[Fact, ...] = (),
) -> FoldCommit:
    return FoldCommit(session_id=session_id, expect=expect, summary=summary, retire=retire, cursor=cursor, facts=facts)


def a_fact(
    fact_id: str,
    quote: str,
    *,
    user_id: str = "ann",
    session_id: str = "s1",
    message_id: str = "m1",
    importance: float = 0.5,
) -> Fact:
    return Fact(
        id=fact_id,
        user_id=user_id,
        session_id=session_id,
        message_id=message_id,
        category="preference",
        quote=quote,
        start=0,
        end=len(quote),
        confidence=0.9,
        importance=importance,
        created_at=START,
    )


def a_milestone(milestone_id: str, session_id: str, turn: int = 1) -> Milestone:
    return Milestone(id=milestone_id, session_id=session_id, turn=turn, title="a start", created_at=START)
