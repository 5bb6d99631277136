"""The files of document 001's folder read back into records: our own without a loss, others' as far as they say."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lamina.errors import InputError
from lamina.formats import folder_items as items
from lamina.formats.folder import CHUNKS, CONVERSATIONS, EPISODIC, FILES, LONG_TERM, MESSAGE_KEYS
from lamina.formats.lines import Converted, Record, laid_out, record, told
from lamina.values.codec import Form, decode, encode, json_kind
from lamina.values.message import Json
from lamina.values.session import Milestone

T = TypeVar("T")
_UNKNOWN_KIND = "task_completed"  # the document has kinds of episodes, but no field for them


@dataclass(frozen=True, slots=True, kw_only=True)
class _MessageExtra:
    seq: int | None = None
    metadata: Json | None = None
    model: str | None = None
    body: Json | None = None
    forgotten: bool = False


def read(files: Mapping[str, Any]) -> Converted:
    """Everything in the folder's files, given as parsed JSON by name; those that are not there are left out."""
    if unknown := [name for name in files if name not in FILES]:
        raise InputError(f"{unknown[0]!r} is no file of a memory folder; its files are {list(FILES)}")
    skipped: Counter[str] = Counter()
    form = Form(camel=True, ignored=skipped)
    chunks = _items(items.Chunk, files, CHUNKS, form)
    found = list(_conversations(_items(items.Conversation, files, CONVERSATIONS, form), chunks, skipped))
    for memory in _items(items.LongTermMemory, files, LONG_TERM, form):
        found += [_fact(memory), *_links(memory.id, memory.relationships)]
    for number, episode in enumerate(_items(items.EpisodicMemory, files, EPISODIC, form), 1):
        related = _related(episode, f"{EPISODIC}, item {number}", form)
        found += [_episode(episode), *_links(episode.id, related)]
    links = [one for one in found if one["type"] == "link"]  # last, when both ends are there
    return Converted(records=[one for one in found if one["type"] != "link"] + links, skipped=skipped)


def _items(kind: type[T], files: Mapping[str, Any], name: str, form: Form) -> list[T]:
    data = files.get(name, [])
    if not isinstance(data, list):
        raise InputError(f"{name} must be a list, not {json_kind(data)}")
    return [decode(kind, item, f"{name}, item {number}", form) for number, item in enumerate(data, 1)]


# long-term and episodic memory


def _fact(memory: items.LongTermMemory) -> Record:
    used = memory.metadata
    if memory.lamina is None:
        return told(
            fact_id=memory.id,
            fact_type=memory.type,
            category=memory.category,
            text=memory.content,
            tags=memory.tags,
            created_at=memory.created_at,
            valid_from=memory.valid_from,
            until=memory.valid_until,
            importance=used.importance,
        ) | _uses(used)
    key = memory.lamina.get("key")
    return {
        "type": "fact",
        "key": None,
        **_uses(used),
        **{name: item for name, item in memory.lamina.items() if name != "type"},
        **_known(
            id=memory.id,
            fact_type=memory.type,
            value=memory.content if key is None else memory.content.removeprefix(f"{key}: "),
            category=memory.category,
            tags=memory.tags,
            valid_from=memory.valid_from,
            valid_until=memory.valid_until,
            created_at=memory.created_at,
            importance=used.importance,
            tokens=used.tokens,
        ),
    }


def _episode(memory: items.EpisodicMemory) -> Record:
    place = memory.conversation_ref
    said = _known(
        id=memory.id,
        title=memory.title,
        summary=memory.summary,
        context=memory.context,
        participants=memory.participants,
        outcome=memory.outcome,
        valence=memory.emotional_valence,
        significance=memory.significance,
        linked=memory.linked_memories,
        session_id=None if place is None else place.conversation_id,
        turns=None if place is None else {"first": place.turn_range.start, "last": place.turn_range.end},
        created_at=memory.created_at,
    )
    if memory.lamina is None:
        happened = _known(happened_at=memory.created_at)
        ours = {"origin": "told", "kind": _UNKNOWN_KIND, "message_ids": [], **happened}
    else:
        ours = {name: item for name, item in memory.lamina.items() if name not in {"type", "relationships"}}
        said["tokens"] = memory.metadata.tokens
    return {"type": "episode", "outcome": None, **_uses(memory.metadata), **ours, **said}


def _uses(metadata: items.Metadata) -> Record:
    return _known(accesses=metadata.access_count, accessed_at=metadata.last_accessed_at, decay=metadata.decay_factor)


def _related(episode: items.EpisodicMemory, place: str, form: Form) -> tuple[items.Relationship, ...]:
    given = (episode.lamina or {}).get("relationships", [])
    if not isinstance(given, list):
        raise InputError(f"{place}: relationships must be a list, not {json_kind(given)}")
    return tuple(decode(items.Relationship, one, f"{place}: relationships", form) for one in given)


def _links(source: str, relationships: Sequence[items.Relationship]) -> Iterator[Record]:
    for one in relationships:
        link = _known(
            source=source, target=one.target_id, link_type=one.type, strength=one.strength, created_at=one.created_at
        )
        yield {"type": "link", **link}


# conversations


def _conversations(
    conversations: Sequence[items.Conversation], chunks: Sequence[items.Chunk], skipped: Counter[str]
) -> Iterator[Record]:
    held: dict[str, dict[str, items.Chunk]] = {one.id: {} for one in conversations}
    for one in [*chunks, *(chunk for conversation in conversations for chunk in conversation.chunks or ())]:
        held.setdefault(one.conversation_id, {}).setdefault(one.id, one)
    known = {one.id: one for one in conversations}
    for session_id, parts in held.items():
        conversation = known.get(session_id) or items.Conversation(id=session_id)
        ordered = sorted(parts.values(), key=lambda chunk: chunk.chunk_number)
        yield _session(conversation)
        yield from _messages(conversation, ordered)
        yield from _summaries(ordered, skipped)
        yield from map(record, _milestones(conversation))


def _milestones(conversation: items.Conversation) -> Iterator[Milestone]:
    for one in conversation.milestones:
        yield Milestone(
            id=one.id, session_id=conversation.id, turn=one.turn, title=one.title, created_at=one.created_at
        )


def _session(conversation: items.Conversation) -> Record:
    ours = {name: item for name, item in (conversation.lamina or {}).items() if name != "type"}
    archived = conversation.status == "ended" and ours.pop("status", None) == "archived"
    return {
        "type": "session",
        **ours,
        **_known(
            id=conversation.id,
            user_id=conversation.project_id,
            started_at=conversation.started_at,
            ended_at=conversation.ended_at,
            status="archived" if archived else conversation.status,
        ),
    }


def _messages(conversation: items.Conversation, chunks: Sequence[items.Chunk]) -> list[Record]:
    """The messages in their order: by their number in the session if all have one, else as they come."""
    found: list[tuple[int | None, Record]] = []
    for chunk in chunks:
        place = f"{CHUNKS}, chunk {chunk.id!r}"
        found += [_message(raw, conversation.id, len(found) + 1, place) for raw in chunk.messages]
        if not chunk.messages and chunk.lamina is None and chunk.summary:
            found.append((None, _summary_said(chunk)))
    place = f"{CONVERSATIONS}, conversation {conversation.id!r}"
    for raw in conversation.recent_messages:
        found.append(_message(raw, conversation.id, len(found) + 1, place))
    if all(seq is not None for seq, _ in found):
        found.sort(key=lambda one: one[0] or 0)
    return [said for _, said in found]


def _message(raw: Json, session_id: str, number: int, place: str) -> tuple[int | None, Record]:
    place = f"{place}, message {number}"
    ours = decode(_MessageExtra, raw.get("lamina", {}), f"{place}: lamina")
    said = {name: item for name, item in raw.items() if name not in MESSAGE_KEYS}
    at, metadata = raw.get("createdAt"), ours.metadata
    if "lamina" not in raw:
        metadata = said.pop("metadata", None)
        at = at or said.pop("timestamp", None)
    message_id = raw.get("id") or f"{session_id}:{number}"
    if not isinstance(message_id, str) or not isinstance(at, str | None):
        raise InputError(f"{place} needs text as its id and createdAt, not {message_id!r:.40} and {at!r:.40}")
    record = laid_out(session_id, message_id, ours.body or said, at, metadata, ours.model)
    return ours.seq, {**record, "forgotten": True} if ours.forgotten else record


def _summary_said(chunk: items.Chunk) -> Record:
    """A summary whose messages are gone becomes a message itself."""
    return laid_out(
        chunk.conversation_id,
        f"{chunk.id}:summary",
        {"role": "system", "content": chunk.summary},
        encode(chunk.created_at),
        {"imported": "summary"},
    )


def _summaries(chunks: Sequence[items.Chunk], skipped: Counter[str]) -> Iterator[Record]:
    for chunk in chunks:
        if chunk.lamina is not None:
            said = _known(
                id=chunk.id,
                session_id=chunk.conversation_id,
                text=chunk.summary,
                topics=chunk.key_topics,
                tokens=chunk.token_count,
                created_at=chunk.created_at,
            )
            yield {"type": "summary", **{name: item for name, item in chunk.lamina.items() if name != "type"}, **said}
        elif chunk.messages and chunk.summary:
            skipped["summary of messages that are here, to be written anew"] += 1


def _known(**values: Any) -> Record:
    return {name: encode(item) for name, item in values.items() if item is not None}
