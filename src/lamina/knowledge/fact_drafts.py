"""From drafts to facts: what is still to be read, whether a draft is faithful to its message, the fact it becomes."""

from datetime import datetime

from lamina.knowledge.fact_words import MANY, TYPES, plain_text, slot_of
from lamina.profiles import Profile
from lamina.protocols.models import FactDraft
from lamina.values.fact import Fact
from lamina.values.message import Message
from lamina.values.session import Counters


def reads(profile: Profile) -> bool:
    """Whether messages are read for facts or episodes at all."""
    return profile.facts or profile.episodes


def is_unread(profile: Profile, counters: Counters) -> bool:
    """Whether a session has messages that were not read for facts and episodes yet."""
    return reads(profile) and counters.extracted < counters.messages


def draft_slot(draft: FactDraft) -> str:
    """The slot of what was read: keys that have many values have a slot for each."""
    many = draft.stands == "alone" and draft.key in MANY
    return slot_of(draft.key, draft.value, draft.about, draft.scope, "beside" if many else draft.stands)


def fact_from_draft(
    draft: FactDraft, message: Message, *, user_id: str, fact_id: str, model: str, now: datetime
) -> Fact:
    """A fact as it was said in a message."""
    return Fact(
        id=fact_id,
        user_id=user_id,
        type=TYPES.get(draft.category, "fact"),
        category=draft.category,
        key=draft.key,
        slot=draft_slot(draft),
        value=draft.value,
        origin="said",
        confidence=draft.confidence,
        importance=draft.importance,
        learnt_at=message.created_at,
        valid_from=draft.since or message.created_at,
        created_at=now,
        until=draft.until,
        holds=draft.holds,
        session_id=message.session_id,
        message_id=message.id,
        seq=message.seq,
        role=message.role,
        quote=draft.quote,
        start=draft.start,
        end=draft.end,
        about=draft.about,
        scope=draft.scope,
        question=draft.question,
        question_id=draft.question_id,
        reason=draft.reason,
        model=model,
    )


def is_faithful(draft: FactDraft, message: Message | None) -> bool:
    """Whether a draft says what a user's message says, word for word, of whom it names, and ends after it begins."""
    if message is None or message.role != "user" or not draft.value.strip() or not draft.quote:
        return False
    if draft.until is not None and draft.until <= (draft.since or message.created_at) and draft.holds:
        return False  # it would never hold
    if draft.about is not None and plain_text(draft.about) not in plain_text(f"{message.name} {message.text}"):
        return False
    if draft.question is not None and draft.question_id is None:
        return False  # forgetting could not reach it
    sure = 0.0 <= draft.confidence <= 1.0 and 0.0 <= draft.importance <= 1.0
    return sure and draft.category in TYPES and message.text[draft.start : draft.end] == draft.quote
