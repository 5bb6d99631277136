"""The readable JSON folder of the `project` profile, written: four files that can be read back without a loss.

What their shapes have no field for is under `lamina` in each item, with our names. A folder that another program wrote
has no `lamina`: its memories are imported as told by hand, and the import fills in what is not known.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from lamina.formats import folder_items as items
from lamina.formats.folder_items import common_fields
from lamina.values.codec import Form, encode
from lamina.values.fact import Episode, Fact, Link, Memorable
from lamina.values.message import Message
from lamina.values.opt_out import OptOut
from lamina.values.session import Milestone, Session
from lamina.values.summary import Summary

LONG_TERM = "long-term-memory.json"
EPISODIC = "episodic-memory.json"
CONVERSATIONS = "conversations.json"
CHUNKS = "conversation-chunks.json"
FILES = (LONG_TERM, EPISODIC, CONVERSATIONS, CHUNKS)

CAMEL = Form(camel=True)
MESSAGE_KEYS = frozenset({"id", "createdAt", "lamina"})  # of an item, besides the message's own
OPT_OUT = "opt_out"  # of a conversation whose user has opted out
_IN_METADATA = {"accesses", "accessed_at", "decay", "tokens"}


Embeddings = Mapping[str, Sequence[float]]  # of memories, by their ids


def long_term(
    facts: Iterable[Fact], links: Iterable[Link] = (), embeddings: Embeddings | None = None
) -> list[dict[str, Any]]:
    """`long-term-memory.json`: facts, each with the links that go out from it, and its embedding if there are some."""
    outgoing = _outgoing(links)
    return [_item(_fact(fact, outgoing[fact.id]), embeddings) for fact in facts]


def episodic(
    episodes: Iterable[Episode], links: Iterable[Link] = (), embeddings: Embeddings | None = None
) -> list[dict[str, Any]]:
    """`episodic-memory.json`: episodes, likewise."""
    outgoing = _outgoing(links)
    return [_item(_episode(episode, outgoing[episode.id]), embeddings) for episode in episodes]


def _item(memory: items.LongTermMemory | items.EpisodicMemory, embeddings: Embeddings | None) -> dict[str, Any]:
    item = dict(encode(memory, CAMEL))
    if embeddings is not None and memory.id in embeddings:
        item["metadata"]["embedding"] = list(embeddings[memory.id])
    return item


def conversation(
    session: Session,
    recent: Sequence[Message],
    active_facts: Iterable[str] = (),
    milestones: Iterable[Milestone] = (),
    opt_out: OptOut | None = None,
) -> dict[str, Any]:
    """An item of `conversations.json`; `recent` are the messages that are in none of its chunks."""
    extra = _extra(session, {"id", "title", "project_id", "started_at", "ended_at", "status"})
    extra |= {} if opt_out is None else {OPT_OUT: encode(opt_out)}
    is_archived = session.status == "archived"  # a status that the folder does not have
    item = items.Conversation(
        id=session.id,
        title=session.title,
        project_id=session.project_id,
        started_at=session.started_at,
        ended_at=session.ended_at,
        status="ended" if is_archived else session.status,
        total_turns=session.counters.turns,
        recent_messages=tuple(_message(message) for message in recent),
        active_facts=tuple(active_facts),
        milestones=tuple(items.Milestone(**common_fields(one, items.Milestone)) for one in milestones),
        lamina={**extra, "status": session.status} if is_archived else extra,
    )
    return dict(encode(item, CAMEL))


def chunk(summary: Summary, number: int, messages: Sequence[Message] = ()) -> dict[str, Any]:
    """An item of `conversation-chunks.json`: a session's summary, with the messages that it covers."""
    item = items.Chunk(
        id=summary.id,
        conversation_id=summary.session_id or "",
        chunk_number=number,
        messages=tuple(_message(message) for message in messages),
        summary=summary.text,
        key_topics=summary.topics,
        token_count=summary.tokens,
        created_at=summary.created_at,
        lamina=_extra(summary, {"id", "session_id", "text", "topics", "tokens", "created_at"}),
    )
    return dict(encode(item, CAMEL))


def chunks(
    summaries: Iterable[Summary], messages: Sequence[Message]
) -> tuple[list[tuple[Summary, list[Message]]], list[Message]]:
    """A session's summaries in order, each with its messages, and the messages that are left: each in one place only.

    Only live summaries have messages; those that were folded or replaced have none.
    """
    left = list(messages)
    found: list[tuple[Summary, list[Message]]] = []
    for summary in sorted(summaries, key=_position):
        span = summary.covers if summary.status == "live" else None
        found.append((summary, [] if span is None else [message for message in left if message.seq in span]))
        left = left if span is None else [message for message in left if message.seq not in span]
    return found, left


def _position(summary: Summary) -> tuple[bool, int, int, int]:
    first, last = (summary.covers.first, summary.covers.last) if summary.covers else (0, 0)
    return summary.status != "live", first, -last, summary.version


def _fact(fact: Fact, relationships: tuple[items.Relationship, ...]) -> items.LongTermMemory:
    shared = common_fields(fact, items.LongTermMemory)
    return items.LongTermMemory(
        **shared,
        content=fact.value if fact.key is None else f"{fact.key}: {fact.value}",
        relationships=relationships,
        metadata=_metadata(fact, fact.importance),
        lamina=_memory_extra(fact, {*shared, "value", "importance"}),
    )


def _episode(episode: Episode, relationships: tuple[items.Relationship, ...]) -> items.EpisodicMemory:
    shared = common_fields(episode, items.EpisodicMemory)
    extra = _memory_extra(episode, {*shared, "valence", "linked", "session_id", "turns"})
    if relationships:  # the folder has them for long-term memories only
        extra["relationships"] = relationships
    turns = items.TurnRange(start=episode.turns.first, end=episode.turns.last)
    return items.EpisodicMemory(
        **shared,
        emotional_valence=episode.valence,
        linked_memories=episode.linked,
        conversation_ref=items.ConversationRef(conversation_id=episode.session_id, turn_range=turns),
        metadata=_metadata(episode, episode.significance),
        lamina=extra,
    )


def _metadata(memory: Memorable, importance: float) -> items.Metadata:
    source = {"type": "conversation", "conversationId": memory.session_id}
    if isinstance(memory, Fact) and memory.message_id is not None:
        source["messageId"] = memory.message_id
    return items.Metadata(
        source=source if memory.origin == "said" else {"type": "manual"},
        importance=importance,
        access_count=memory.accesses,
        last_accessed_at=memory.accessed_at or memory.created_at,
        decay_factor=memory.decay,
        tokens=memory.tokens,
    )


def _message(message: Message) -> dict[str, Any]:
    """A message as it came; with its own object under `body` if it has keys that an item uses itself."""
    optional = {"metadata": message.metadata or None, "model": message.model, "forgotten": message.forgotten or None}
    extra: dict[str, Any] = {"seq": message.seq, **{name: item for name, item in optional.items() if item is not None}}
    body = dict(message.body)
    if MESSAGE_KEYS & body.keys():
        extra["body"] = body
        body = {"role": message.role, "content": message.text}
    return {"id": message.id, **body, "createdAt": message.created_at, "lamina": extra}


def _memory_extra(memory: Memorable, written: Collection[str]) -> dict[str, Any]:
    """The rest of a memory. In the folder each has a last access; ours may never have been used."""
    extra = _extra(memory, {*written, *_IN_METADATA})
    return {**extra, "accessed_at": None} if memory.accessed_at is None else extra


def _extra(value: Any, written: Collection[str]) -> dict[str, Any]:
    """The fields of a value that are not written elsewhere and do not have their default."""
    rest = {field.name: field.default for field in fields(value) if field.name not in written}
    return {
        name: encode(getattr(value, name))
        for name, default in rest.items()
        if default is MISSING or getattr(value, name) != default
    }


def _outgoing(links: Iterable[Link]) -> defaultdict[str, tuple[items.Relationship, ...]]:
    found: defaultdict[str, tuple[items.Relationship, ...]] = defaultdict(tuple)
    for link in links:
        found[link.source] += (items.Relationship(target_id=link.target, **common_fields(link, items.Relationship)),)
    return found
