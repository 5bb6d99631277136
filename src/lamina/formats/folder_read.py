"""The files of the readable folder as records: our own without a loss, those of other programs as far as they go."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lamina.errors import InputError
from lamina.formats import folder_items as items
from lamina.formats.folder_items import common_fields
from lamina.formats.folder_write import CHUNKS, CONVERSATIONS, EPISODIC, FILES, LONG_TERM, MESSAGE_KEYS, OPT_OUT
from lamina.formats.json_lines import Conversion, Record, fact_record, message_record, record
from lamina.log.erased import DROPPED
from lamina.values.codec import Form, decode, encode, json_kind
from lamina.values.fact import Episode, Fact
from lamina.values.message import Json, Span
from lamina.values.session import Counters, Milestone

T = TypeVar("T")
_MAX_LOST = 100_000  # messages that one chunk may have lost
_UNKNOWN_KIND = "task_completed"  # the folder has no field for the kind of an episode


@dataclass(frozen=True, slots=True, kw_only=True)
class _MessageExtra:
    seq: int | None = None
    metadata: Json | None = None
    model: str | None = None
    body: Json | None = None
    forgotten: bool = False


def read(files: Mapping[str, Any]) -> Conversion:
    """Everything in the folder's files, given as parsed JSON by name; files that are not there are left out."""
    if unknown := [name for name in files if name not in FILES]:
        raise InputError(f"{unknown[0]!r} is no file of a memory folder; its files are {list(FILES)}")
    skipped: Counter[str] = Counter()
    form = Form(camel=True, ignored=skipped)
    chunks = _items(items.Chunk, files, CHUNKS, form)
    conversations = _items(items.Conversation, files, CONVERSATIONS, form)
    memories = _items(items.LongTermMemory, files, LONG_TERM, form)
    found = list(_opt_outs(conversations))  # first, so that the import derives nothing before it
    found += list(_conversations(conversations, chunks, _ids_of_messages(memories), skipped))
    named = {one.project_id for one in conversations}
    project_id = named.pop() if len(named) == 1 else None  # of memories that do not say whose they are
    for memory in memories:
        found += [_fact(memory, project_id), *_links(memory.id, memory.relationships)]
    for number, episode in enumerate(_items(items.EpisodicMemory, files, EPISODIC, form), 1):
        relationships = _relationships(episode, f"{EPISODIC}, item {number}", form)
        found += [_episode(episode), *_links(episode.id, relationships)]
    found.sort(key=lambda one: one["type"] == "link")  # last, when both ends are there
    return Conversion(records=_with_episodes(found), skipped=skipped)


def _opt_outs(conversations: Sequence[items.Conversation]) -> Iterator[Record]:
    """Each user who has opted out once."""
    noted = [choice for one in conversations if isinstance(choice := (one.lamina or {}).get(OPT_OUT), dict)]
    for choice in {str(one.get("user_id")): one for one in noted}.values():
        yield {**choice, "type": "opt_out"}


def _ids_of_messages(memories: Sequence[items.LongTermMemory]) -> dict[tuple[str, int], str]:
    """The ids of messages that memories were said in, by session and number."""
    said = [memory.lamina for memory in memories if memory.lamina is not None]
    return {
        (str(one["session_id"]), one["seq"]): str(one["message_id"])
        for one in said
        if one.get("message_id") and one.get("session_id") and isinstance(one.get("seq"), int)
    }


def _with_episodes(records: list[Record]) -> list[Record]:
    """The records of sessions that another program wrote, each with the number of its episodes."""
    told = Counter(str(one.get("session_id")) for one in records if one["type"] == "episode")
    return [
        {**one, "holds": {**one["holds"], "episodes": told[one["id"]]}}
        if one["type"] == "session" and "holds" in one
        else one
        for one in records
    ]


def _items(kind: type[T], files: Mapping[str, Any], name: str, form: Form) -> list[T]:
    data = files.get(name, [])
    if not isinstance(data, list):
        raise InputError(f"{name} must be a list, not {json_kind(data)}")
    return [decode(kind, item, f"{name}, item {number}", form) for number, item in enumerate(data, 1)]


# long-term and episodic memory


def _fact(memory: items.LongTermMemory, project_id: str | None) -> Record:
    metadata = memory.metadata
    if memory.lamina is None:
        return _uses(metadata) | fact_record(
            fact_id=memory.id,
            project_id=memory.project_id or project_id,
            fact_type=memory.type,
            category=memory.category,
            text=memory.content,
            tags=memory.tags,
            created_at=memory.created_at,
            valid_from=memory.valid_from,
            until=memory.valid_until,
            importance=metadata.importance,
        )
    key = memory.lamina.get("key")
    fields = common_fields(memory, Fact)
    fields["fact_type"] = fields.pop("type")
    value = memory.content if key is None else memory.content.removeprefix(f"{key}: ")
    fields |= {"value": value, "importance": metadata.importance, "tokens": metadata.tokens}
    return {"key": None, **_uses(metadata), **memory.lamina, **_present(**fields), "type": "fact"}


def _episode(memory: items.EpisodicMemory) -> Record:
    ref = memory.conversation_ref
    fields = _present(
        **common_fields(memory, Episode),
        valence=memory.emotional_valence,
        linked=memory.linked_memories,
        session_id=None if ref is None else ref.conversation_id,
        turns=None if ref is None else {"first": ref.turn_range.start, "last": ref.turn_range.end},
    )
    if memory.lamina is None:
        happened = _present(happened_at=fields.pop("created_at", None))  # here it is as old as its import
        extra: Mapping[str, Any] = {"origin": "told", "kind": _UNKNOWN_KIND, "message_ids": [], **happened}
    else:
        extra = {name: item for name, item in memory.lamina.items() if name != "relationships"}
        fields["tokens"] = memory.metadata.tokens
    return {"outcome": None, **_uses(memory.metadata), **extra, **fields, "type": "episode"}


def _uses(metadata: items.Metadata) -> Record:
    return _present(accesses=metadata.access_count, accessed_at=metadata.last_accessed_at, decay=metadata.decay_factor)


def _relationships(episode: items.EpisodicMemory, place: str, form: Form) -> tuple[items.Relationship, ...]:
    given = (episode.lamina or {}).get("relationships", [])
    if not isinstance(given, list):
        raise InputError(f"{place}: relationships must be a list, not {json_kind(given)}")
    return tuple(decode(items.Relationship, one, f"{place}: relationships", form) for one in given)


def _links(source: str, relationships: Sequence[items.Relationship]) -> Iterator[Record]:
    for one in relationships:
        fields = {"target": one.target_id, "link_type": one.type, "strength": one.strength}
        yield {"type": "link", **_present(source=source, **fields, created_at=one.created_at)}


# conversations


def _conversations(
    conversations: Sequence[items.Conversation],
    chunks: Sequence[items.Chunk],
    said_in: Mapping[tuple[str, int], str],
    skipped: Counter[str],
) -> Iterator[Record]:
    by_session: dict[str, dict[str, items.Chunk]] = {one.id: {} for one in conversations}
    for one in [*chunks, *(chunk for conversation in conversations for chunk in conversation.chunks or ())]:
        by_session.setdefault(one.conversation_id, {}).setdefault(one.id, one)
    known = {one.id: one for one in conversations}
    for session_id, parts in by_session.items():
        conversation = known.get(session_id) or items.Conversation(id=session_id)
        ordered = sorted(parts.values(), key=lambda chunk: chunk.chunk_number)
        kept = list(itertools.takewhile(lambda chunk: chunk.lamina is None and chunk.summary, ordered))
        messages = _messages(conversation, ordered, {chunk.id for chunk in kept}, said_in)
        summaries = list(_foreign_summaries(kept, messages))
        yield {**_session(conversation), **_counted(messages, summaries)}
        yield from messages
        yield from summaries
        yield from _summaries(ordered[len(kept) :], skipped)
        for milestone in conversation.milestones:
            yield record(Milestone(session_id=session_id, **common_fields(milestone, Milestone)))


def _session(conversation: items.Conversation) -> Record:
    extra = dict(conversation.lamina or {})
    archived = conversation.status == "ended" and extra.pop("status", None) == "archived"
    fields = _present(
        id=conversation.id,
        title=conversation.title,
        project_id=conversation.project_id,
        started_at=conversation.started_at,
        ended_at=conversation.ended_at,
        status="archived" if archived else conversation.status,
    )
    extra.pop(OPT_OUT, None)
    return {**extra, **fields, "type": "session"}


def _messages(
    conversation: items.Conversation,
    chunks: Sequence[items.Chunk],
    kept: Collection[str],
    said_in: Mapping[tuple[str, int], str],
) -> list[Record]:
    """The messages in their order: by their number in the session if all have one, else as they are in the files.

    Where a chunk has lost its messages, placeholders stand for them; `kept` are those whose summaries are.
    """
    found: list[tuple[int | None, Record]] = []
    for chunk in chunks:
        place = f"{CHUNKS}, chunk {chunk.id!r}"
        found += [_message(raw, conversation.id, len(found) + 1, place) for raw in chunk.messages]
        if chunk.lamina is not None:
            found += _lost_messages(conversation, chunk, {seq for seq, _ in found}, said_in)
        elif not chunk.messages and chunk.summary:
            found.append((None, _placeholder(chunk, DROPPED if chunk.id in kept else chunk.summary)))
    place = f"{CONVERSATIONS}, conversation {conversation.id!r}"
    for raw in conversation.recent_messages:
        found.append(_message(raw, conversation.id, len(found) + 1, place))
    if all(seq is not None for seq, _ in found):
        found.sort(key=lambda one: one[0] or 0)
    return [message for _, message in found]


def _message(raw: Json, session_id: str, number: int, place: str) -> tuple[int | None, Record]:
    place = f"{place}, message {number}"
    extra = decode(_MessageExtra, raw.get("lamina", {}), f"{place}: lamina")
    body = {name: item for name, item in raw.items() if name not in MESSAGE_KEYS}
    at, metadata = raw.get("createdAt"), extra.metadata
    if "lamina" not in raw:
        metadata = body.pop("metadata", None)
        at = at or body.pop("timestamp", None)
    message_id = raw.get("id") or f"{session_id}:{number}"
    if not isinstance(message_id, str) or not isinstance(at, str | None):
        raise InputError(f"{place} needs text as its id and createdAt, not {message_id!r:.40} and {at!r:.40}")
    message = message_record(session_id, message_id, extra.body or body, at, metadata, extra.model)
    return extra.seq, {**message, "forgotten": True} if extra.forgotten else message


def _placeholder(chunk: items.Chunk, text: str, message_id: str | None = None) -> Record:
    """A message in place of those that a chunk has lost."""
    body, at = {"role": "system", "content": text}, encode(chunk.created_at)
    return message_record(chunk.conversation_id, message_id or f"{chunk.id}:summary", body, at, {"imported": "summary"})


def _lost_messages(
    conversation: items.Conversation,
    chunk: items.Chunk,
    known: Collection[int | None],
    said_in: Mapping[tuple[str, int], str],
) -> Iterator[tuple[int, Record]]:
    """Placeholders for the messages that a live chunk of our own covers, and that are not in the folder."""
    covers, counters = (chunk.lamina or {}).get("covers"), (conversation.lamina or {}).get("counters")
    is_live = (chunk.lamina or {}).get("status", "live") == "live"
    if not isinstance(covers, dict) or not isinstance(counters, dict) or not is_live:
        return
    span = decode(Span, covers, f"{CHUNKS}, chunk {chunk.id!r}: covers")
    place = f"{CONVERSATIONS}, conversation {conversation.id!r}: counters"
    last = min(span.last, decode(Counters, counters, place).messages, span.first + _MAX_LOST)
    for seq in range(max(1, span.first), last + 1):
        if seq not in known:
            message_id = said_in.get((chunk.conversation_id, seq), f"{chunk.id}:{seq}")
            yield seq, _placeholder(chunk, DROPPED, message_id)


def _counted(messages: Sequence[Record], summaries: Sequence[Record]) -> Record:
    """What a session of another program counts, if it has summaries that are kept."""
    if not summaries:
        return {}
    counters = {"messages": len(messages), "cursor": summaries[-1]["covers"]["last"]}
    return {"counters": counters, "holds": {"summaries": len(summaries), "facts": 0, "episodes": 0}}


def _foreign_summaries(chunks: Sequence[items.Chunk], messages: Sequence[Record]) -> Iterator[Record]:
    """The summaries of another program's chunks, each over its messages, or over what stands for them."""
    last = 0
    for chunk in chunks:
        first, last = last + 1, last + max(1, len(chunk.messages))
        span, kind = {"first": first, "last": last}, "chunk" if chunk.messages else "merged"
        at = _present(created_at=chunk.created_at, updated_at=messages[last - 1].get("created_at") or chunk.created_at)
        fields = {"kind": kind, "layer": 1 if chunk.messages else 2, "version": 1, "turns": None}
        recipe = {"profile": "project", "kind": kind, "model": "import"}
        yield {
            "type": "summary", "id": chunk.id, "user_id": "", "session_id": chunk.conversation_id, **fields,
            "covers": span, "reads": span, "inputs": [], "text": chunk.summary, "topics": list(chunk.key_topics),
            "tokens": 0, "recipe": recipe, **at,
        }  # fmt: skip


def _summaries(chunks: Sequence[items.Chunk], skipped: Counter[str]) -> Iterator[Record]:
    for chunk in chunks:
        if chunk.lamina is not None:
            fields = _present(
                id=chunk.id,
                session_id=chunk.conversation_id,
                text=chunk.summary,
                topics=chunk.key_topics,
                tokens=chunk.token_count,
                created_at=chunk.created_at,
            )
            yield {**chunk.lamina, **fields, "type": "summary"}
        elif chunk.messages and chunk.summary:
            skipped["summary of messages that are here; it will be written again"] += 1


def _present(**values: Any) -> Record:
    return {name: encode(item) for name, item in values.items() if item is not None}
