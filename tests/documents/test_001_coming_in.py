"""Document 001, what comes in from elsewhere: chunks without messages, old talks, importance, embeddings; merges."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, Memory
from lamina.values.fact import FACT_TYPES
from tests.documents.talks import Clock
from tests.documents.test_001_project import Opener

OLD = "2020-05-01T10:00:00Z"


def write_folder(folder: Path, *, recent: int = 8) -> Path:
    """A folder as the document has it: a merged chunk without its messages, one with them, and recent messages."""
    folder.mkdir()
    roles = ("user", "assistant")
    files: dict[str, Any] = {
        "conversations.json": [
            {
                "id": "c1",
                "projectId": "shop",
                "status": "active",
                "startedAt": OLD,
                "totalTurns": 30,
                "recentMessages": [
                    {"id": f"m{n}", "role": roles[n % 2], "content": f"recent {n}", "timestamp": OLD}
                    for n in range(recent)
                ],
            }
        ],
        "conversation-chunks.json": [
            {
                "id": "k1",
                "conversationId": "c1",
                "chunkNumber": 1,
                "messages": [],
                "summary": "Earlier: They chose Rust.\n\nThen: They set up CI.",
                "keyTopics": ["rust", "ci"],
                "tokenCount": 20,
                "createdAt": OLD,
            },
            {
                "id": "k2",
                "conversationId": "c1",
                "chunkNumber": 2,
                "messages": [{"id": "a1", "role": "user", "content": "We decided to use Redis."}],
                "summary": "They chose Redis.",
                "keyTopics": ["redis"],
                "tokenCount": 5,
                "createdAt": OLD,
            },
        ],
        "long-term-memory.json": [
            {
                "id": "f1",
                "type": "decision",
                "content": "Use PostgreSQL",
                "category": "technical",
                "createdAt": OLD,
                "metadata": {"importance": 0.5, "lastAccessedAt": OLD, "decayFactor": 0.1},
            }
        ],
        "episodic-memory.json": [],
    }
    for name, items in files.items():
        (folder / name).write_text(json.dumps(items))
    return folder


def chunks(memory: Memory) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.id, one.text, one.topics) for one in memory.summaries("c1")]


@pytest.mark.also_postgres
def test_chunks_without_messages_keep_their_summaries(opened: Opener, tmp_path: Path) -> None:
    """001.25: as summaries, with their topics; also after a further fold, and after an export and an import."""
    memory = opened("project")
    done = memory.import_(write_folder(tmp_path / "folder"))
    memory.settle()
    kept = [
        ("k1", "Earlier: They chose Rust.\n\nThen: They set up CI.", ("rust", "ci")),
        ("k2", "They chose Redis.", ("redis",)),
    ]
    assert chunks(memory) == kept
    assert (done.summaries, dict(done.skipped)) == (2, {})
    assert (memory.session("c1").project_id, memory.session("c1").user_id) == ("shop", "default")
    shown = memory.context("Which language did we choose?", session_id="c1").text
    assert "They chose Rust." in shown
    assert "[dropped]" not in shown
    memory.add([f"Something new, number {n}." for n in range(40)], session_id="c1")
    memory.settle()
    assert chunks(memory)[:2] == kept
    assert len(chunks(memory)) > len(kept)
    assert not memory.verify().problems
    memory.export(tmp_path / "again")
    back = opened("project", "back.db")
    back.import_(tmp_path / "again")
    assert chunks(back) == chunks(memory)


@pytest.mark.also_postgres
def test_forgetting_words_of_a_chunk_leaves_the_other_chunks(opened: Opener, tmp_path: Path) -> None:
    """001.25: of a chunk without messages only the sentences with the words go, and what was said after it stays."""
    memory = opened("project")
    memory.import_(write_folder(tmp_path / "folder"))
    memory.add([f"Something new, number {n}." for n in range(40)], session_id="c1")
    memory.settle()
    before = chunks(memory)
    memory.forget(text="rust", user_id="default")
    assert chunks(memory) == [("k1", "Then: They set up CI.", ("ci",)), *before[1:]]
    memory.forget(text="They set up CI", user_id="default")
    assert chunks(memory) == [("k1", "[forgotten]", ("ci",)), *before[1:]]
    assert not memory.verify().problems


@pytest.mark.also_postgres
def test_a_folder_of_ours_keeps_chunks_and_facts_without_messages(opened: Opener, tmp_path: Path) -> None:
    """001.25: what another program dropped of our own folder is still covered by its chunk."""
    memory = opened("project")
    memory.import_(write_folder(tmp_path / "folder"))
    memory.add([f"Something new, number {n}." for n in range(40)], session_id="c1")
    memory.settle()
    memory.export(tmp_path / "ours")
    path = tmp_path / "ours/conversation-chunks.json"
    path.write_text(json.dumps([{**one, "messages": []} for one in json.loads(path.read_text())]))
    back = opened("project", "back.db")
    back.import_(tmp_path / "ours")
    back.settle()
    assert chunks(back) == chunks(memory)
    assert back.facts(project_id="shop") == memory.facts(project_id="shop")
    assert not back.verify().problems


@pytest.mark.also_postgres
def test_an_imported_old_talk_is_as_young_as_its_import(opened: Opener, clock: Clock, tmp_path: Path) -> None:
    """001.25: neither its facts nor memories of another program are archived at the first consolidation."""
    memory = opened("project")
    memory.import_(write_folder(tmp_path / "folder"))
    memory.settle()
    texts = {fact.text for fact in memory.facts(project_id="shop")}
    assert texts == {"Use PostgreSQL", "decided to use Redis"}
    assert memory.consolidate().archived == ()
    clock.ahead(days=29)
    assert memory.consolidate().archived == ()
    assert {fact.text for fact in memory.facts(project_id="shop")} == texts
    clock.ahead(days=120)
    assert len(memory.consolidate().archived) == len(texts)


def test_what_is_extracted_has_the_importance_of_its_type(opened: Opener) -> None:
    """001.5: in `project`, whether it was said or told, unless an importance is given."""
    memory = opened("project")
    for text in (
        "My name is Ann.",
        "We decided to use PostgreSQL.",
        "I prefer dark mode.",
        "The API must respond in under 200 ms.",
        "Our goal is to launch in March.",
        "Our budget is 50,000 euros.",
    ):
        memory.add([{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}])
    memory.settle()
    memory.remember("User is allergic to peanuts")
    memory.remember("User lives in Ghent", importance=0.9)
    facts = memory.facts()
    assert {fact.type for fact in facts} >= {"fact", "decision", "preference", "constraint", "goal"}
    assert all(fact.importance == FACT_TYPES[fact.type] for fact in facts if fact.key != "location")
    assert next(fact.importance for fact in facts if fact.key == "location") == 0.9


def test_items_carry_their_embedding_when_asked(opened: Opener, tmp_path: Path) -> None:
    """001.6: in the metadata of the folder, and on the lines of JSON Lines; an import reads both."""
    memory = opened("project")
    memory.remember("We use PostgreSQL")
    memory.settle()
    memory.export(tmp_path / "plain")
    memory.export(tmp_path / "full", embeddings=True)
    memory.export(tmp_path / "full.jsonl", embeddings=True)
    (plain,) = json.loads((tmp_path / "plain/long-term-memory.json").read_text())
    (full,) = json.loads((tmp_path / "full/long-term-memory.json").read_text())
    assert "embedding" not in plain["metadata"]
    assert sum(number**2 for number in full["metadata"]["embedding"]) == pytest.approx(1, abs=0.01)
    lines = [json.loads(line) for line in (tmp_path / "full.jsonl").read_text().splitlines()]
    assert [line["embedding"] for line in lines if line["type"] == "fact"] == [full["metadata"]["embedding"]]
    for name in ("full", "full.jsonl"):
        back = opened("project", f"of {name}.db")
        back.import_(tmp_path / name)
        assert back.facts() == memory.facts()


def test_merges_are_clean_at_any_depth(opened: Opener) -> None:
    """001.26: one `Earlier`, one `Then`, at most twelve topics, none twice, within the cap; after each further fold."""
    memory = opened(PROFILES["project"].but(max_chunks=3))
    things = ("PostgreSQL", "React", "Kubernetes", "Redis", "Kafka", "Terraform", "Grafana", "Django", "Rust", "Nginx")
    for number in range(80):
        text = f"We decided to use {things[number % 10]} for part {number}, and Maria owns the work on it."
        memory.add([{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}])
        if number in {39, 59, 79}:
            memory.settle()
            merged = memory.summaries("default:main")[0]
            assert (merged.kind, len(memory.summaries("default:main"))) == ("merged", 3)
            assert (merged.text.count("Earlier:"), merged.text.count("Then:")) == (1, 1)
            assert merged.text.startswith("Earlier: ")
            assert len(merged.topics) <= 12
            assert len({topic.casefold() for topic in merged.topics}) == len(merged.topics)
            assert merged.tokens <= 600
    assert merged.layer > 10
