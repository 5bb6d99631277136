"""How a hit explains itself: what was found, and the parts of its score."""

from collections.abc import Mapping, Sequence
from typing import Any

from lamina.knowledge.fact_words import describe_fact
from lamina.search.index import Item, describe_episode
from lamina.values.fact import Episode, Fact
from lamina.values.hit import Hit
from lamina.values.message import Message, Span

# The parts of a score, and the signals behind each.
PARTS: Mapping[str, tuple[str, ...]] = {
    "words": ("near_even", "near_share", "near_length"),
    "meaning": ("meant", "meant_core"),
    "neighbours": (
        "near_around", "words_around", "share_around", "meant_around", "near_before", "near_after", "meant_before",
        "meant_after", "words_before", "words_after", "near_before_2", "near_after_2", "meant_before_2",
        "meant_after_2",
    ),
    "session": (
        "session_share", "session_best", "session_three", "session_around", "session_near", "session_first",
        "many_session", "many_first", "opens",
    ),
    "speaker": ("speaker", "other_speaker", "other_gathers"),
    "role": ("user", "user_asked_you", "user_many", "near_assistant", "meant_assistant", "length_assistant"),
    "shape": ("length", "length_usual", "asks", "number", "number_asked", "first_person", "many_length", "many_meant"),
    "standing": (
        "standing", "liking", "standing_request", "liking_request", "standing_meant", "liking_meant",
    ),
    "time": ("dated", "dated_spoken", "late_last", "early_first"),
}  # fmt: skip


_NO_PARTS: Mapping[str, float] = {}


def hit_of(
    item: Item, score: float = 0.0, parts: Mapping[str, float] = _NO_PARTS, project_id: str | None = None
) -> Hit:
    """Something that was found, with its score and the parts of it."""
    found: dict[str, Any]
    if isinstance(item, Message):
        found = {
            "kind": "message", "text": item.text, "created_at": item.created_at, "role": item.role, "name": item.name,
            "message_ids": (item.id,), "span": Span(first=item.seq, last=item.seq),
        }  # fmt: skip
    elif isinstance(item, Fact):
        found = {
            "kind": "fact", "text": describe_fact(item), "created_at": item.learnt_at,
            "message_ids": (item.message_id,) if item.message_id else (),
            "span": Span(first=item.seq, last=item.seq) if item.seq else None,
        }  # fmt: skip
    elif isinstance(item, Episode):
        found = {
            "kind": "episode", "text": describe_episode(item), "created_at": item.happened_at,
            "message_ids": item.message_ids, "span": None,
        }  # fmt: skip
    else:
        found = {
            "kind": "summary", "text": item.text, "created_at": item.updated_at, "message_ids": (), "span": item.covers,
        }  # fmt: skip
    return Hit(
        id=item.id,
        session_id=item.session_id,
        score=score,
        parts=parts,
        tokens=item.tokens,
        project_id=project_id,
        **found,
    )


def with_score(
    hit: Hit, score: float, parts: Mapping[str, float], project_id: str | None, count: int, others: Sequence[str]
) -> Hit:
    """A message as a hit for one question; `others` say the same.

    Written out, since `dataclasses.replace` takes five times as long, and this is done for each passage of a context.
    """
    return Hit(
        kind=hit.kind,
        id=hit.id,
        session_id=hit.session_id,
        message_ids=(hit.id, *others),
        span=hit.span,
        text=hit.text,
        score=score,
        parts=parts,
        created_at=hit.created_at,
        role=hit.role,
        name=hit.name,
        tokens=hit.tokens,
        project_id=project_id,
        count=count,
    )
