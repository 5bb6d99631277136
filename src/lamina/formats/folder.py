"""The readable JSON folder of document 001: four files in its own field names, and back without a loss.

What the document has no field for is under `lamina` in each item, with our names. A folder that another program wrote
has no `lamina`: then its memories come as told by hand, and what cannot be known is left for the import to fill in.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Any

from lamina.formats import folder_items as items
from lamina.values.codec import Form, encode
from lamina.values.fact import Episode, Fact, Link, Memorable
from lamina.values.message import Message
from lamina.values.session import Milestone, Session
from lamina.values.summary import Summary

LONG_TERM = "long-term-memory.json"
EPISODIC = "episodic-memory.json"
CONVERSATIONS = "conversations.json"
CHUNKS = "conversation-chunks.json"
FILES = (LONG_TERM, EPISODIC, CONVERSATIONS, CHUNKS)

CAMEL = Form(camel=True)
MESSAGE_KEYS = frozenset({"id", "createdAt", "lamina"})  # what a message says here beside its body
_USED = ("accesses", "accessed_at", "decay", "tokens")  # said in `metadata`
_FACT_SAID = {
    "id",
    "type",
    "value",
    "category",
    "tags",
    "valid_from",
    "valid_until",
    "created_at",
    "importance",
    *_USED,
}
_EPISODE_SAID = {"id", "title", "summary", "context", "participants", "outcome", "valence", "significance", "linked",
                 "session_id", "turns", "created_at", *_USED}  # fmt: skip
_SESSION_SAID = {"id", "user_id", "started_at", "ended_at", "status"}
_SUMMARY_SAID = {"id", "session_id", "text", "topics", "tokens", "created_at"}


def long_term(facts: Iterable[Fact], links: Iterable[Link] = ()) -> list[dict[str, Any]]:
    """`long-term-memory.json`: facts, each with the links that go out from it."""
    outgoing = _outgoing(links)
    return [encode(_memory(fact, outgoing[fact.id]), CAMEL) for fact in facts]


def episodic(episodes: Iterable[Episode], links: Iterable[Link] = ()) -> list[dict[str, Any]]:
    """`episodic-memory.json`: episodes, each with the links that go out from it."""
    outgoing = _outgoing(links)
    return [encode(_episode(episode, outgoing[episode.id]), CAMEL) for episode in episodes]


def conversation(
    session: Session, recent: Sequence[Message], active_facts: Iterable[str] = (), milestones: Iterable[Milestone] = ()
) -> dict[str, Any]:
    """An item of `conversations.json`; `recent` are the messages that are in none of its chunks."""
    extra = _extra(session, _SESSION_SAID)
    if session.status == "archived":  # the document has no such status
        extra["status"] = session.status
    return _written(
        items.Conversation(
            id=session.id,
            project_id=session.user_id,
            started_at=session.started_at,
            ended_at=session.ended_at,
            status="ended" if session.status == "archived" else session.status,
            total_turns=session.counters.turns,
            recent_messages=tuple(_message(message) for message in recent),
            active_facts=tuple(active_facts),
            milestones=tuple(
                items.Milestone(id=one.id, turn=one.turn, title=one.title, created_at=one.created_at)
                for one in milestones
            ),
            lamina=extra,
        )
    )


def chunk(summary: Summary, number: int, messages: Sequence[Message] = ()) -> dict[str, Any]:
    """An item of `conversation-chunks.json`: a session's summary, with the messages it stands for."""
    return _written(
        items.Chunk(
            id=summary.id,
            conversation_id=summary.session_id or "",
            chunk_number=number,
            messages=tuple(_message(message) for message in messages),
            summary=summary.text,
            key_topics=summary.topics,
            token_count=summary.tokens,
            created_at=summary.created_at,
            lamina=_extra(summary, _SUMMARY_SAID),
        )
    )


def chunked(
    summaries: Iterable[Summary], messages: Sequence[Message]
) -> tuple[list[tuple[Summary, list[Message]]], list[Message]]:
    """A session's summaries in order, each with messages, and the messages that are left: each is in one place only.

    Only live summaries have messages; those that were folded or replaced have none.
    """
    left = list(messages)
    found: list[tuple[Summary, list[Message]]] = []
    for summary in sorted(summaries, key=_place):
        span = summary.covers if summary.status == "live" else None
        held = [] if span is None else [message for message in left if message.seq in span]
        left = left if span is None else [message for message in left if message.seq not in span]
        found.append((summary, held))
    return found, left


def _place(summary: Summary) -> tuple[bool, int, int, int]:
    first, last = (summary.covers.first, summary.covers.last) if summary.covers else (0, 0)
    return summary.status != "live", first, -last, summary.version


def _memory(fact: Fact, relationships: tuple[items.Relationship, ...]) -> items.LongTermMemory:
    return items.LongTermMemory(
        id=fact.id,
        type=fact.type,
        content=fact.value if fact.key is None else f"{fact.key}: {fact.value}",
        category=fact.category,
        tags=fact.tags,
        relationships=relationships,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        created_at=fact.created_at,
        metadata=_metadata(fact, fact.importance),
        lamina=_used(fact, _extra(fact, _FACT_SAID)),
    )


def _episode(episode: Episode, relationships: tuple[items.Relationship, ...]) -> items.EpisodicMemory:
    extra = _used(episode, _extra(episode, _EPISODE_SAID))
    if relationships:  # the document has them for long-term memories only
        extra["relationships"] = relationships
    return items.EpisodicMemory(
        id=episode.id,
        title=episode.title,
        summary=episode.summary,
        context=episode.context,
        participants=episode.participants,
        outcome=episode.outcome,
        emotional_valence=episode.valence,
        significance=episode.significance,
        linked_memories=episode.linked,
        conversation_ref=items.ConversationRef(
            conversation_id=episode.session_id,
            turn_range=items.TurnRange(start=episode.turns.first, end=episode.turns.last),
        ),
        created_at=episode.created_at,
        metadata=_metadata(episode, episode.significance),
        lamina=extra,
    )


def _metadata(memory: Memorable, importance: float) -> items.Metadata:
    said = {"type": "conversation", "conversationId": memory.session_id}
    if isinstance(memory, Fact) and memory.message_id is not None:
        said["messageId"] = memory.message_id
    return items.Metadata(
        source=said if memory.origin == "said" else {"type": "manual"},
        importance=importance,
        access_count=memory.accesses,
        last_accessed_at=memory.accessed_at or memory.created_at,
        decay_factor=memory.decay,
        tokens=memory.tokens,
    )


def _used(memory: Memorable, extra: dict[str, Any]) -> dict[str, Any]:
    """The document has no memory without a last access; ours may never have been used."""
    return {**extra, "accessed_at": None} if memory.accessed_at is None else extra


def _message(message: Message) -> dict[str, Any]:
    """A message as it came; apart, as `body`, if it has keys that an item uses itself."""
    extra: dict[str, Any] = {"seq": message.seq}
    if message.metadata:
        extra["metadata"] = message.metadata
    if message.model is not None:
        extra["model"] = message.model
    if message.forgotten:
        extra["forgotten"] = True
    said = dict(message.body)
    if MESSAGE_KEYS & said.keys():
        extra["body"] = said
        said = {"role": message.role, "content": message.text}
    return {"id": message.id, **said, "createdAt": message.created_at, "lamina": extra}


def _extra(value: Any, said: Collection[str]) -> dict[str, Any]:
    """What the document's fields do not say, unless it is as always."""
    held = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
    return {
        name: encode(item)
        for name, (item, default) in held.items()
        if name not in said and (default is MISSING or item != default)
    }


def _outgoing(links: Iterable[Link]) -> defaultdict[str, tuple[items.Relationship, ...]]:
    found: defaultdict[str, tuple[items.Relationship, ...]] = defaultdict(tuple)
    for link in links:
        found[link.source] += (
            items.Relationship(
                target_id=link.target, type=link.type, strength=link.strength, created_at=link.created_at
            ),
        )
    return found


def _written(item: Any) -> dict[str, Any]:
    written: dict[str, Any] = encode(item, CAMEL)
    return written
