"""The JSON folder of document 001, there and back."""

import json
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import InputError
from lamina.formats import folder_write as folder
from lamina.formats import json_lines
from lamina.formats.folder_read import read
from lamina.values.fact import Link
from lamina.values.message import Message
from lamina.values.session import Counters, Session
from lamina.values.summary import Summary
from tests.formats.random_values import (
    disturbed,
    episodes,
    facts,
    ids,
    messages,
    milestones,
    moments,
    sessions,
    summaries,
    units,
)
from tests.formats.test_lines import FACT
from tests.messages import START, log, message, summary

SESSION = Session(
    id="s1",
    user_id="ann",
    status="active",
    started_at=START,
    last_at=START,
    touched_at=START,
    counters=Counters(messages=6, turns=3),
)


def values(records: Any, kind: str) -> list[Any]:
    return [json_lines.value(json.loads(json_lines.line(record))) for record in records if record["type"] == kind]


def through_json(data: Any) -> Any:
    return json.loads(json.dumps(data, ensure_ascii=False))


@st.composite
def memories(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Link]]:
    known = draw(st.lists(facts, max_size=3, unique_by=lambda one: one.id))
    taken = {one.id for one in known}
    moments_held = draw(st.lists(episodes, max_size=3, unique_by=lambda one: one.id))
    moments_held = [one for one in moments_held if one.id not in taken]
    sources = [one.id for one in (*known, *moments_held)]
    if not sources:
        return known, moments_held, []
    link = st.builds(
        Link, source=st.sampled_from(sources), target=ids, type=st.just("supports"), strength=units, created_at=moments
    )
    return known, moments_held, draw(st.lists(link, max_size=4, unique_by=lambda one: (one.source, one.target)))


@given(memories())
def test_memories_come_back(held: tuple[list[Any], list[Any], list[Link]]) -> None:
    """Facts, episodes and the links between them are the same after a round trip through the two files."""
    known, happened, links = held
    files = {folder.LONG_TERM: folder.long_term(known, links), folder.EPISODIC: folder.episodic(happened, links)}
    back = read(through_json(files))
    assert values(back.records, "fact") == known
    assert values(back.records, "episode") == happened
    assert sorted(values(back.records, "link"), key=repr) == sorted(links, key=repr)
    assert not back.skipped


@st.composite
def whole_sessions(draw: st.DrawFn) -> tuple[Session, list[Message], list[Summary], list[Any]]:
    count = draw(st.integers(0, 6))
    session = draw(sessions)
    session = replace(session, counters=replace(session.counters, messages=count))
    said = [draw(messages(session.id, seq)) for seq in range(1, count + 1)]
    made = draw(st.lists(summaries, max_size=4, unique_by=lambda one: one.id))
    held = [type(one)(**{**_fields(one), "session_id": session.id}) for one in made]
    marks = draw(st.lists(milestones, max_size=2))
    return session, said, held, [type(one)(**{**_fields(one), "session_id": session.id}) for one in marks]


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


@given(whole_sessions())
def test_sessions_come_back(held: tuple[Session, list[Message], list[Summary], list[Any]]) -> None:
    """A session, its messages in order, its summaries and milestones are the same after a round trip."""
    session, said, made, marks = held
    parts, recent = folder.chunks(made, said)
    files = {
        folder.CONVERSATIONS: [folder.conversation(session, recent, ["f1"], marks)],
        folder.CHUNKS: [folder.chunk(one, number, spoken) for number, (one, spoken) in enumerate(parts, 1)],
    }
    places = [one["id"] for one in files[folder.CONVERSATIONS][0]["recentMessages"]]
    places += [one["id"] for chunk in files[folder.CHUNKS] for one in chunk["messages"]]
    assert sorted(places) == sorted(one.id for one in said)  # each message in exactly one place
    back = read(through_json(files))
    assert values(back.records, "session") == [session]
    assert [one for one in back.records if one["type"] == "message"] == [
        through_json(json_lines.record(one)) for one in said
    ]
    assert sorted(values(back.records, "summary"), key=repr) == sorted(made, key=repr)
    assert values(back.records, "milestone") == marks
    assert not back.skipped


def test_field_names_of_the_document() -> None:
    """Every item has the fields of document 001's interfaces, in its spelling."""
    link = Link(source="f1", target="f2", type="supports", strength=0.5, created_at=START)
    (memory,) = folder.long_term([FACT], [link])
    assert set(memory) == {
        "id", "type", "content", "category", "tags", "relationships", "validFrom", "createdAt", "metadata", "lamina",
    }  # fmt: skip
    assert (memory["type"], memory["content"]) == ("preference", "drink: tea")
    assert set(memory["relationships"][0]) == {"targetId", "type", "strength", "createdAt"}
    assert set(memory["metadata"]) == {
        "source", "importance", "accessCount", "lastAccessedAt", "decayFactor", "tokens",
    }  # fmt: skip
    item = folder.conversation(replace(SESSION, project_id="shop"), log("ua"), ["f1"])
    assert item["projectId"] == "shop"
    assert {"id", "projectId", "startedAt", "status", "totalTurns", "recentMessages", "activeFacts", "milestones"} <= (
        set(item)
    )
    chunk = folder.chunk(summary(1, 2), 1, log("ua"))
    assert set(chunk) == {
        "id", "conversationId", "chunkNumber", "messages", "summary", "keyTopics", "tokenCount", "createdAt", "lamina",
    }  # fmt: skip
    assert chunk["messages"][0]["content"] == "text 1"


@given(episodes)
def test_field_names_of_an_episode(episode: Any) -> None:
    """An episode says where it happened as document 001 does."""
    (item,) = folder.episodic([episode])
    turns = {"start": episode.turns.first, "end": episode.turns.last}
    assert item["conversationRef"] == {"conversationId": episode.session_id, "turnRange": turns}
    assert item["type"] == "episode"
    assert {"title", "summary", "context", "participants", "emotionalValence", "significance", "linkedMemories"} <= (
        set(item)
    )
    assert ("outcome" in item) == (episode.outcome is not None)


def test_messages_are_in_live_chunks_or_recent() -> None:
    """A live summary has the messages it covers; a folded one has none; the rest is recent."""
    said = log("ua ua ua")
    parts, recent = folder.chunks([summary(3, 4), summary(1, 2)], said)
    assert [(one.id, [message.seq for message in spoken]) for one, spoken in parts] == [
        ("sum1-2", [1, 2]),
        ("sum3-4", [3, 4]),
    ]
    assert [one.seq for one in recent] == [5, 6]


def test_edits_by_hand_count() -> None:
    """Whoever edits a file changes the memory: the readable fields win over what is under `lamina`."""
    (memory,) = folder.long_term([FACT])
    memory |= {"content": "drink: coffee", "tags": ["hot"]}
    memory["metadata"]["importance"] = 1
    (fact,) = values(read({folder.LONG_TERM: [memory]}).records, "fact")
    assert (fact.value, fact.tags, fact.importance, fact.key) == ("coffee", ("hot",), 1.0, "drink")
    memory["content"] = "Ann drinks coffee"
    (fact,) = values(read({folder.LONG_TERM: [memory]}).records, "fact")
    assert fact.value == "Ann drinks coffee"


def test_an_archived_session_is_ended_for_others() -> None:
    """The document knows no archive: others read `ended`, we read `archived`; an edit to `active` counts."""
    item = folder.conversation(Session(**{**_fields(SESSION), "status": "archived"}), [])
    assert item["status"] == "ended"
    assert read({folder.CONVERSATIONS: [item]}).records[0]["status"] == "archived"
    assert read({folder.CONVERSATIONS: [{**item, "status": "active"}]}).records[0]["status"] == "active"


OTHERS = {
    folder.LONG_TERM: [
        {
            "id": "lx1-aa",
            "type": "decision",
            "content": "Use PostgreSQL",
            "category": "technical",
            "tags": ["db"],
            "relationships": [
                {"targetId": "lx2-bb", "type": "related_to", "strength": 1, "createdAt": "2025-01-02T00:00:00.000Z"}
            ],
            "validFrom": "2025-01-01T10:00:00.000Z",
            "createdAt": "2025-01-01T10:00:00.000Z",
            "updatedAt": "2025-01-01T10:00:00.000Z",
            "metadata": {"source": "user", "importance": 0.7, "accessCount": 3, "embedding": [0.1]},
        }
    ],
    folder.EPISODIC: [{"id": "lx3-cc", "type": "episode", "title": "Chosen", "summary": "The database was chosen."}],
    folder.CONVERSATIONS: [
        {
            "id": "c1",
            "projectId": "shop",
            "status": "ended",
            "recentMessages": [{"id": "m3", "role": "user", "content": "bye", "timestamp": "2025-01-01T12:00:00Z"}],
        }
    ],
    folder.CHUNKS: [
        {
            "id": "k2", "conversationId": "c1", "chunkNumber": 2, "summary": "They greeted.",
            "messages": [{"role": "user", "content": "hello"}],
        },
        {"id": "k1", "conversationId": "c1", "chunkNumber": 1, "summary": "Earlier: a\n\nThen: b", "messages": []},
        {"id": "k3", "conversationId": "c2", "chunkNumber": 1, "messages": [{"role": "user", "content": "alone"}]},
    ],
}  # fmt: skip


def test_a_folder_of_another_program() -> None:
    """Without `lamina`, all that is said and every summary is taken, and what is left out is counted."""
    back = read(OTHERS)
    by_type: dict[str, list[Any]] = {}
    for record in back.records:
        by_type.setdefault(record["type"], []).append(record)
    assert [(one["id"], one.get("user_id"), one.get("project_id"), one["status"]) for one in by_type["session"]] == [
        ("c1", None, "shop", "ended"),
        ("c2", None, None, "active"),
    ]
    assert [(one["session_id"], one["id"], one["content"]) for one in by_type["message"]] == [
        ("c1", "k1:summary", "[dropped]"),  # its messages are gone
        ("c1", "c1:2", "hello"),
        ("c1", "m3", "bye"),
        ("c2", "c2:1", "alone"),
    ]
    (fact,) = by_type["fact"]
    assert (fact["origin"], fact["value"], fact["accesses"]) == ("told", "Use PostgreSQL", 3)
    assert (fact["project_id"], fact["learnt_at"][:10], "created_at" in fact) == ("shop", "2025-01-01", False)
    assert by_type["link"][0]["target"] == "lx2-bb"
    assert by_type["episode"][0]["origin"] == "told"
    assert [(one["id"], one["kind"], one["covers"], one["text"]) for one in by_type["summary"]] == [
        ("k1", "merged", {"first": 1, "last": 1}, "Earlier: a\n\nThen: b"),
        ("k2", "chunk", {"first": 2, "last": 2}, "They greeted."),
    ]
    assert back.skipped == {"field 'updatedAt' is not known": 1}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({"memory.json": []}, "'memory.json' is no file of a memory folder; its files are", id="file"),
        pytest.param({folder.CHUNKS: {}}, "conversation-chunks.json must be a list, not an object", id="list"),
        pytest.param({folder.LONG_TERM: ["x"]}, "long-term-memory.json, item 1 must be an object", id="item"),
        pytest.param({folder.LONG_TERM: [{"id": "1"}]}, "item 1 lacks 'type', 'content'", id="missing"),
        pytest.param(
            {folder.EPISODIC: [{"id": "1", "title": "t", "summary": "s", "emotionalValence": "good"}]},
            "item 1: emotionalValence must be a number",
            id="number",
        ),
        pytest.param(
            {folder.CONVERSATIONS: [{"id": "c", "recentMessages": [{"id": 3}]}]},
            "conversations.json, conversation 'c', message 1 needs text as its id",
            id="message",
        ),
        pytest.param(
            {folder.EPISODIC: [{"id": "1", "title": "t", "summary": "s", "lamina": {"relationships": 3}}]},
            "item 1: relationships must be a list",
            id="relationships",
        ),
    ],
)
def test_what_is_wrong_is_said(files: dict[str, Any], said: str) -> None:
    """An error names the file, the item and the field."""
    with pytest.raises(InputError) as raised:
        read(files)
    assert said in str(raised.value)


@given(st.data())
def test_nonsense_is_refused_not_stumbled_over(chance: st.DataObject) -> None:
    """A folder with anything in any place is either read or refused with an InputError, never another error."""
    ours = {
        folder.LONG_TERM: folder.long_term([FACT]),
        folder.CONVERSATIONS: [folder.conversation(SESSION, log("ua", first=3))],
        folder.CHUNKS: [folder.chunk(summary(1, 2), 1, log("ua"))],
    }
    files = disturbed(through_json(chance.draw(st.sampled_from([ours, OTHERS]))), chance)
    with suppress(InputError):
        for record in read(files).records:
            json_lines.line(record)
            if record["type"] != "message":
                json_lines.value(record)


def test_a_message_that_uses_our_names() -> None:
    """A message whose body has `createdAt` or `lamina` comes back as it was."""
    said = message(1, text="hi")
    said = Message(**{**_fields(said), "body": {"role": "user", "content": "hi", "lamina": 1, "createdAt": 2}})
    item = folder.conversation(SESSION, [said])
    assert item["recentMessages"][0]["content"] == "hi"
    assert read({folder.CONVERSATIONS: [through_json(item)]}).records[1] == json_lines.record(said)
