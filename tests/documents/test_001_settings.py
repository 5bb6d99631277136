"""Document 001, project memory: its configuration reference, its usage example, its numbers, and its folder."""

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, Memory, Profile
from lamina.profiles import KNOBS
from tests.documents.talks import SESSION, USER, Clock, Talk, literally, said, verbatim
from tests.growth import growth, times_longer
from tests.places import Place
from tests.sizes import share

Opener = Callable[..., Memory]

REFERENCE = {
    "max_context_tokens": 128_000,
    "working_memory_tokens": 8_000,
    "system_prompt_tokens": 2_000,
    "chunk_size": 10,
    "max_recent_messages": 20,
    "short_term_retention_turns": 50,
    "consolidation_threshold_days": 30,
    "max_episodic_memories": 100,
    "retrieval_top_k": 10,
    "relevance_threshold": 0.3,
}


def setting(profile: Profile, name: str) -> Any:
    """The value behind a name of the document, which must be one value wherever it is kept."""
    found = set()
    for path in KNOBS.get(name, ((name,),)):
        value: Any = profile
        for part in path:
            value = getattr(value, part)
        found.add(value)
    (only,) = found
    return only


@pytest.mark.parametrize(("name", "value"), REFERENCE.items())
def test_every_default_of_the_reference_is_a_setting(opened: Opener, name: str, value: float) -> None:
    """001.20: each is a value of the profile `project` under the document's name, and can be set by that name."""
    assert setting(opened("project").profile, name) == value
    other = value + 1 if isinstance(value, int) else 0.45
    changed = opened(PROFILES["project"].but(**{name: other}), name="other.db").profile
    assert setting(changed, name) == other
    assert {one for one in REFERENCE if setting(changed, one) != REFERENCE[one]} == {name}


@pytest.mark.parametrize("turns", [50, 8])
def test_turns_are_shown_word_for_word_up_to_the_retention(opened: Opener, turns: int) -> None:
    """001.20: `short_term_retention_turns`: however many recent messages are allowed, older turns are not sent."""
    profile = PROFILES["project"].but(max_recent_messages=400, short_term_retention_turns=turns)
    talk = Talk(opened(profile))
    talk.turns(60)
    assert verbatim(talk.context()) == list(range(120 - 2 * turns + 1, 121))


@pytest.mark.parametrize("changed", [{}, {"retrieval_top_k": 3}, {"relevance_threshold": 0.6}], ids=str)
def test_so_many_memories_are_recalled_and_so_relevant(opened: Opener, changed: dict[str, float]) -> None:
    """001.20: at most `retrieval_top_k` memories in a context, none below `relevance_threshold`."""
    profile = PROFILES["project"].but(**changed)
    talk = Talk(opened(profile))
    talk.turns(1)
    for number in range(15):
        talk.memory.remember(f"The harbour lighthouse has a lamp, number {number}", user_id=USER)
    for number in range(15):
        talk.memory.remember(f"A lamp for the cellar, number {number}", user_id=USER)
    talk.memory.settle()
    recalled = [item for item in talk.context("harbour lighthouse lamp").manifest.items if item.section == "recalled"]
    assert len(recalled) == profile.retrieval_top_k
    assert all((item.score or 0) >= profile.relevance_threshold for item in recalled)
    weak = [item for item in talk.context("harbour boats with one lamp").manifest.items if item.section == "recalled"]
    assert bool(weak) == (profile.relevance_threshold < 0.9)


def test_the_threshold_of_consolidation_is_a_setting(opened: Opener, clock: Clock) -> None:
    """001.20: `consolidation_threshold_days`: what is younger is not archived, however faded."""
    memory = opened(PROFILES["project"].but(consolidation_threshold_days=90))
    memory.remember("A faded note", user_id=USER, importance=0.1)
    clock.ahead(days=89)
    assert not memory.consolidate(USER).archived
    clock.ahead(days=2)
    assert len(memory.consolidate(USER).archived) == 1


@pytest.mark.also_postgres
def test_the_usage_example(place: Place) -> None:
    """001.21: the example of the document, in our spelling."""
    profile = PROFILES["project"].but(max_context_tokens=128_000, chunk_size=10, max_recent_messages=20)
    with Memory(place("project-memory.db"), profile=profile) as memory:
        memory.add({"role": "user", "content": "What database should we use?"}, session_id="kickoff")
        memory.add({"role": "assistant", "content": "I recommend PostgreSQL for this use case."}, session_id="kickoff")
        memory.add({"role": "user", "content": "We decided to use PostgreSQL."}, session_id="kickoff")
        memory.settle()
        context = memory.context("What was our database decision?", session_id="kickoff")
        assert 0 < context.tokens == context.budget.used < 200
        assert "We decided to use PostgreSQL." in context.text
        results = memory.search("PostgreSQL database")
        assert {hit.kind for hit in results} >= {"message", "fact", "episode"}
        assert all("PostgreSQL" in hit.text or "database" in hit.text for hit in results)
        memory.end("kickoff", "Database selection complete")
    with Memory(place("project-memory.db")) as memory:
        record = memory.conversation("kickoff")
        assert record.status == "ended"
        assert record.milestones[-1].title == "Database selection complete"
        assert [fact.value for fact in record.active_facts] == ["use PostgreSQL"]
        later = memory.context("What was our database decision?", session_id="a new one")
        assert "use PostgreSQL" in later.text
        assert {item.kind for item in later.manifest.items} >= {"fact", "episode"}


def test_retrieval_is_quick(opened: Opener) -> None:
    """001.21: a search over 250 turns and 100 memories takes about 5 ms, little more than one over 10 times fewer."""
    few, talk = Talk(opened("project", "few.db")), Talk(opened("project"))
    for held, number in ((few, 50), (talk, 500)):
        messages = [{"role": "assistant" if n % 2 == 0 else "user", "content": said(n)} for n in range(1, number + 1)]
        held.memory.add(messages, user_id=USER, session_id=SESSION)
        held.memory.settle()
        for memory in range(number // 5):
            held.memory.remember(f"Memory of part{memory % 7} and topic{memory}", user_id=USER)
    assert 23 <= len(talk.summaries()) <= 27

    def search(held: Talk) -> None:
        for number in range(1, 10):
            found = held.memory.search(f"part{number % 7} topic{number} w{number}x3", user_id=USER)
            assert f"topic{number}" in found[0].text or f"w{number}x3" in found[0].text

    assert times_longer(lambda: search(talk), lambda: search(few), most=6) <= 6
    taken = []
    for number in range(1, 41):
        began = time.process_time()
        hits = talk.memory.search(f"part{number % 7} topic{number} w{number}x3", user_id=USER)
        taken.append(time.process_time() - began)
        assert f"topic{number}" in hits[0].text or f"w{number}x3" in hits[0].text
    literally(min(taken), 0.020)


def test_consolidation_is_quick(opened: Opener, clock: Clock) -> None:
    """001.21: 100 memories are consolidated in under 100 ms, in as many steps each as 25; most are archived."""
    memory = opened("project")
    users = itertools.count()

    def aged(number: int) -> str:
        user = f"u{next(users)}"
        for at in range(number):
            text, importance = f"Memory of part{at % 7} and topic{at}", at / number
            memory.remember(text, user_id=user, importance=importance)
        clock.ahead(days=45)
        return user

    assert growth(memory.consolidate, aged, [25, 100]) < 2
    taken = []
    for _ in range(share(5)):
        user = aged(100)
        began = time.process_time()
        done = memory.consolidate(user)
        taken.append(time.process_time() - began)
        assert len(done.archived) == 85
        assert done.decayed == 100
    literally(min(taken), 0.100)


def a_project(memory: Memory, clock: Clock) -> Talk:
    """A conversation of two chunks with facts, an episode, a link and a milestone; it has ended."""
    talk = Talk(memory)
    talk.add("user", "We decided to use PostgreSQL because of its transactions. Grüße aus Köln!")
    talk.add("assistant", "Good.")
    talk.turns(15)
    memory.settle()
    (said,) = memory.facts(USER)
    clock.ahead(days=1)
    told = memory.remember("Deploy on Friday", user_id=USER, type="procedure", tags=["ops"], valid_until="2030-01-01")
    memory.link(told.id, said.id, "depends_on", 0.4)
    clock.ahead(days=1)
    memory.update(told.id, "Deploy on Monday")
    memory.end(SESSION, "Database selection complete")
    memory.settle()
    return talk


def test_the_folder_is_readable_json_in_four_files(opened: Opener, clock: Clock, tmp_path: Path) -> None:
    """001.17: the document's files and field names, each a list of items, indented, in plain letters."""
    memory = opened("project")
    talk = a_project(memory, clock)
    folder = tmp_path / ".project-memory"
    assert memory.export(folder) == sum(path.stat().st_size for path in folder.iterdir())
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert set(texts) == {
        "long-term-memory.json", "episodic-memory.json", "conversations.json", "conversation-chunks.json",
    }  # fmt: skip
    files = {name: json.loads(text) for name, text in texts.items()}
    assert "Grüße aus Köln" in texts["conversation-chunks.json"]
    assert all(text.count("\n") > 20 for text in texts.values())
    memories = {one["content"]: one for one in files["long-term-memory.json"]}
    assert set(memories) == {"use PostgreSQL", "Deploy on Friday", "Deploy on Monday"}
    friday = memories["Deploy on Friday"]
    assert (friday["type"], friday["tags"], friday["metadata"]["importance"]) == ("procedure", ["ops"], 0.5)
    assert (friday["relationships"][0]["type"], friday["relationships"][0]["strength"]) == ("depends_on", 0.4)
    (episode,) = files["episodic-memory.json"]
    assert episode["conversationRef"] == {"conversationId": SESSION, "turnRange": {"start": 1, "end": 1}}
    (record,) = files["conversations.json"]
    assert (record["id"], record["status"], record["totalTurns"]) == (SESSION, "ended", 16)
    chunks = files["conversation-chunks.json"]
    assert [one["summary"] for one in chunks] == [summary.text for summary in talk.summaries()]
    assert sum(len(one["messages"]) for one in chunks) + len(record["recentMessages"]) == 32


def test_the_folder_is_read_back(opened: Opener, clock: Clock, tmp_path: Path) -> None:
    """001.17: another memory that reads the folder has the same conversations, chunks, memories, links, episodes."""
    memory, other = opened("project"), opened("project", name="other.db")
    a_project(memory, clock)
    folder = tmp_path / ".project-memory"
    memory.export(folder)
    brought = other.import_(folder)
    assert (brought.sessions, brought.messages, brought.facts, brought.episodes) == (1, 32, 3, 1)
    other.settle()
    assert [one.to_openai() for one in other.messages(SESSION)] == [one.to_openai() for one in memory.messages(SESSION)]
    assert other.summaries(SESSION) == memory.summaries(SESSION)
    statuses = ["active", "superseded"]
    assert other.facts(USER, statuses=statuses) == memory.facts(USER, statuses=statuses)
    assert other.episodes(USER) == memory.episodes(USER)
    for fact in memory.facts(USER):
        assert other.graph(fact.id) == memory.graph(fact.id)
    assert other.conversation(SESSION).milestones == memory.conversation(SESSION).milestones
    assert other.session(SESSION).ended_at == memory.session(SESSION).ended_at
    assert other.context("PostgreSQL?", user_id=USER) == memory.context("PostgreSQL?", user_id=USER)
    again = other.import_(folder)
    assert (again.messages, again.facts, again.episodes, again.duplicates) == (0, 0, 0, 32)
    assert other.verify().ok


def test_a_folder_written_by_hand_is_read(opened: Opener, tmp_path: Path) -> None:
    """001.17: the files are for people: a memory written in an editor, with the document's fields, is taken."""
    folder = tmp_path / ".project-memory"
    folder.mkdir()
    item = {
        "id": "lxyz123-a1b2c3d4",
        "type": "constraint",
        "content": "The budget is 500 euros",
        "category": "money",
        "tags": ["budget"],
        "relationships": [],
        "validFrom": "2025-01-01T00:00:00Z",
        "metadata": {"importance": 0.9, "accessCount": 3},
    }
    (folder / "long-term-memory.json").write_text(json.dumps([item]), "utf-8")
    memory = opened("project")
    assert memory.import_(folder, user_id=USER).facts == 1
    (fact,) = memory.facts(USER)
    assert (fact.type, fact.value, fact.category, fact.tags) == (
        "constraint", "The budget is 500 euros", "money", ("budget",),
    )  # fmt: skip
    assert (fact.importance, fact.accesses) == (0.9, 3)
