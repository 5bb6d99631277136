"""Small values to fill a store with."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.knowledge.fact_words import mark, slot_of
from lamina.log.erased import FORGOTTEN
from lamina.profiles import profile_named
from lamina.protocols.store import (
    Append,
    Erasure,
    FactsCommit,
    FoldCommit,
    MessageRow,
    ProposalRow,
    Reading,
    Rewrite,
    Swap,
)
from lamina.values.fact import ConflictRule, Episode, EpisodeKind, Fact, Link
from lamina.values.message import MessageDraft, Role, Span
from lamina.values.report import WorkerNote
from lamina.values.session import Milestone, Session
from lamina.values.summary import Recipe, Source, Summary

SECRET = b"secret"
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


NEVER_DUE = profile_named("chunked").but(facts=False, episodes=False, chunk_summarize_threshold=10**9)
DUE = NEVER_DUE.but(facts=True)  # whatever was not read for facts is


def an_append(
    session_id: str,
    *drafts: MessageDraft,
    user_id: str = "ann",
    agent_id: str | None = None,
    minutes: float = 0,
    key: str | None = None,
    due: bool = False,
) -> Append:
    return Append(
        session_id=session_id,
        user_id=user_id,
        agent_id=agent_id,
        drafts=drafts,
        salts=[bytes([number % 256]) * 16 for number, _ in enumerate(drafts)],
        now=at(minutes),
        profile=DUE if due else NEVER_DUE,
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
    sources: tuple[Source, ...] = (),
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
        sources=sources,
    )


def a_digest(
    user_id: str, version: int, text: str = "Ann spoke of tea.", *, sources: tuple[Source, ...] = ()
) -> Summary:
    digest_id = f"digest-{user_id}-{version}"
    return a_summary(digest_id, None, None, text, user_id=user_id, version=version, sources=sources)


def a_fold(session_id: str, summary: Summary, *, expect: int, cursor: int, retire: tuple[str, ...] = ()) -> FoldCommit:
    return FoldCommit(session_id=session_id, expect=expect, summary=summary, retire=retire, cursor=cursor)


def a_swap(session_id: str, *put: Summary, expect: int, cursor: int, retire: tuple[str, ...] = ()) -> Swap:
    return Swap(session_id=session_id, expect=expect, retire=retire, put=put, cursor=cursor)


def a_note(worker_id: str = "host/1/a", **changes: Any) -> WorkerNote:
    return replace(WorkerNote(id=worker_id, started_at=at(), seen_at=at(1)), **changes)


def a_proposal(proposal_id: str, session_id: str, *, user_id: str = "ann", minutes: float = 0) -> ProposalRow:
    return ProposalRow(
        id=proposal_id, user_id=user_id, session_id=session_id, status="open", record="{}", created_at=at(minutes)
    )


def a_milestone(milestone_id: str, session_id: str, turn: int = 1) -> Milestone:
    return Milestone(id=milestone_id, session_id=session_id, turn=turn, title="a start", created_at=START)


# facts and episodes


def a_fact(
    fact_id: str,
    value: str = "tea",
    *,
    user_id: str = "ann",
    session_id: str | None = "s1",
    message_id: str | None = "m1",
    key: str | None = "drink",
    category: str = "preference",
    quote: str | None = None,
    minutes: float = 0,
    confidence: float = 0.9,
    importance: float = 0.5,
    holds: bool = True,
    about: str | None = None,
    scope: str | None = None,
    question: str | None = None,
    question_id: str | None = None,
) -> Fact:
    """Something that was said in a message, at its start: `I like tea.` unless a quote is given."""
    words = f"I like {value}." if quote is None else quote
    return Fact(
        id=fact_id,
        user_id=user_id,
        type="preference",
        category=category,
        key=key,
        slot=slot_of(key, value, about, scope),
        value=value,
        origin="said",
        confidence=confidence,
        importance=importance,
        learnt_at=at(minutes),
        valid_from=at(minutes),
        created_at=START,
        holds=holds,
        session_id=session_id,
        message_id=message_id,
        seq=1,
        role="user",
        quote=words,
        start=0,
        end=len(words),
        about=about,
        scope=scope,
        question=question,
        question_id=question_id,
        tags=("tea",),
        model="fake",
        tokens=2,
    )


def a_told_fact(fact_id: str, value: str = "tea", **options: Any) -> Fact:
    """Something that was told by hand, and so belongs to no session."""
    said = a_fact(fact_id, value, session_id=None, message_id=None, quote="", **options)
    return replace(said, origin="told", seq=0, role=None, model=None)


def an_episode(
    episode_id: str,
    message_id: str = "m1",
    *,
    user_id: str = "ann",
    session_id: str = "s1",
    kind: EpisodeKind = "decision_made",
    significance: float = 0.5,
    minutes: float = 0,
) -> Episode:
    return Episode(
        id=episode_id,
        user_id=user_id,
        kind=kind,
        title="Tea it is",
        summary="Ann decided on tea.",
        context="",
        participants=("user",),
        outcome=None,
        valence=0.25,
        significance=significance,
        session_id=session_id,
        turns=Span(first=1, last=1),
        message_ids=(message_id,),
        happened_at=at(minutes),
        created_at=START,
        model="fake",
        tokens=6,
    )


def a_told_episode(episode_id: str, **options: Any) -> Episode:
    return replace(an_episode(episode_id, **options), origin="told", message_ids=(), model=None)


def a_link(source: str, target: str, *, strength: float = 0.5, minutes: float = 0) -> Link:
    return Link(source=source, target=target, type="related_to", strength=strength, created_at=at(minutes))


RULE = ConflictRule()


def some_facts(*put: Fact, user_id: str = "ann", **options: Any) -> FactsCommit:
    """A commit of facts, with their marks."""
    marks = {fact.id: mark(SECRET, fact) for fact in put}
    return FactsCommit(user_id=user_id, rule=RULE, put=put, marks=marks, **options)


def a_reading(session: Session, upto: int, again: tuple[int, ...] = ()) -> Reading:
    """Of a session as it is known."""
    return Reading(
        session_id=session.id, expect=session.counters.extracted, erasures=session.erasures, upto=upto, again=again
    )


# forgetting


def a_rewrite(row: MessageRow, text: str = FORGOTTEN, *, whole: bool = True, words: tuple[str, ...] = ()) -> Rewrite:
    """A message with other words; `words` are those that were cut out of it."""
    return Rewrite(
        session_id=row.session_id,
        seq=row.seq,
        message_id=row.id,
        expect=row.leaf,
        body=json.dumps({"role": row.role, "content": text}, ensure_ascii=False),
        metadata="{}",
        tokens=len(text.split()),
        salt=b"other salt",
        whole=whole,
        words=words,
        telling=words,
    )


def an_erasure(
    *rewrites: Rewrite, user_id: str = "ann", receipt_id: str = "r1", minutes: float = 0, **options: Any
) -> Erasure:
    """An erasure that blocks the values of the facts that it names."""
    return Erasure(
        user_id=user_id,
        rule=RULE,
        receipt_id=receipt_id,
        at=at(minutes),
        target="a test",
        secret=SECRET,
        rewrites=rewrites,
        **options,
    )
