"""Messages, summaries, facts and episodes as entries of a catalogue, and as hits."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from lamina.knowledge.fact_words import describe_fact
from lamina.search.index import LIKING, STANDING, Entry
from lamina.values.fact import Episode, Fact
from lamina.values.hit import Hit
from lamina.values.message import Message, Span
from lamina.values.summary import Summary

Found = Message | Summary | Fact | Episode

# What facts of these kinds say holds for every reply, or for every choice.
MARKS = {"instruction": STANDING, "constraint": STANDING, "preference": LIKING, "goal": LIKING}


def kind_of(item: Found) -> str:
    return type(item).__name__.lower()


def text_of(item: Found) -> str:
    """What can be found of it: of facts and episodes, also what they are."""
    if isinstance(item, Fact):
        quote = item.quote if item.value not in item.quote or len(item.quote) > len(describe_fact(item)) else ""
        return " ".join(filter(None, (item.category, describe_fact(item), quote, *item.tags)))
    if isinstance(item, Episode):
        return f"{item.kind.replace('_', ' ')} {told(item)}"
    return item.text


def told(episode: Episode) -> str:
    return episode.summary if episode.title in episode.summary else f"{episode.title}. {episode.summary}"


def when(item: Found) -> datetime:
    if isinstance(item, Fact):
        return item.learnt_at
    if isinstance(item, Episode):
        return item.happened_at
    return item.created_at if isinstance(item, Message) else item.updated_at


def entry_of(item: Found) -> Entry:
    """The entry of something; only messages have neighbours, everything else stands alone."""
    message = isinstance(item, Message)
    return Entry(
        id=item.id,
        kind=kind_of(item),
        text=text_of(item),
        at=when(item),
        session=f"session {item.session_id}" if message else f"alone {item.id}",
        seq=item.seq if isinstance(item, Message | Fact) else 0,
        role=item.role if isinstance(item, Message) else ("user" if isinstance(item, Fact) else None),
        speaker=item.name if isinstance(item, Message) else None,
        importance=_importance(item),
        key=item.key if isinstance(item, Fact) else None,
    )


def marks_of(facts: Iterable[Fact]) -> Mapping[str, int]:
    """What standing facts each message holds."""
    marks: dict[str, int] = {}
    for fact in facts:
        if fact.message_id and fact.category in MARKS and fact.status in {"active", "conflicted", "candidate"}:
            marks[fact.message_id] = marks.get(fact.message_id, 0) | MARKS[fact.category]
    return marks


def hit_of(item: Found, score: float, parts: Mapping[str, float]) -> Hit:
    return Hit(
        kind=kind_of(item),  # type: ignore[arg-type]  # the class names are the kinds
        id=item.id,
        session_id=item.session_id,
        message_ids=_messages(item),
        span=_span(item),
        text=_shown(item),
        score=round(score, 6),
        parts=parts,
        created_at=when(item),
        role=item.role if isinstance(item, Message) else None,
        name=item.name if isinstance(item, Message) else None,
        tokens=item.tokens,
    )


def _importance(item: Found) -> float:
    if isinstance(item, Fact):
        return item.importance
    return item.significance if isinstance(item, Episode) else 0.5


def _shown(item: Found) -> str:
    if isinstance(item, Fact):
        return describe_fact(item)
    return told(item) if isinstance(item, Episode) else item.text


def _messages(item: Found) -> tuple[str, ...]:
    if isinstance(item, Message):
        return (item.id,)
    if isinstance(item, Fact):
        return (item.message_id,) if item.message_id else ()
    return item.message_ids if isinstance(item, Episode) else ()


def _span(item: Found) -> Span | None:
    if isinstance(item, Message) or (isinstance(item, Fact) and item.seq):
        return Span(first=item.seq, last=item.seq)
    return item.covers if isinstance(item, Summary) else None
