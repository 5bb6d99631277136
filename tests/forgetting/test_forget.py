"""Forgetting and retention: killed half-way, raced by a worker, shared with other processes, by the clock."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, AsyncMemory, InputError, Memory, NotFound
from lamina.knowledge.fact_words import mark
from lamina.protocols.models import SummaryDraft, SummaryTask
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.values.codec import encode
from lamina.values.fact import Fact
from tests.places import Place
from tests.waiting import CEILING, until

USER, WORD = "ann", "Zanzibarquay"
START = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


def talk(turns: int, word: str = WORD) -> list[dict[str, Any]]:
    """Turns of which the third has the word."""
    said = []
    for number in range(1, turns + 1):
        text = f"I live in {word}." if number == 3 else f"Turn {number} is about lamps and ladders."
        at = (START + timedelta(minutes=number)).isoformat()
        said += [
            {"role": "user", "content": text, "id": f"m{number}", "created_at": at},
            {"role": "assistant", "content": f"Noted, number {number}.", "id": f"r{number}", "created_at": at},
        ]
    return said


def scan(path: Path, word: str = WORD) -> bool:
    return any(word.encode() in found.read_bytes() for found in path.parent.glob(path.name + "*"))


_KILLED = """
import os, signal, sys
from lamina import Memory
from lamina.storage.sqlite.sqlite_store import SqliteStore

async def die(self):
    os.kill(os.getpid(), signal.SIGKILL)

SqliteStore.scrub = die
Memory(sys.argv[1], worker=False).forget(text=sys.argv[2], user_id="ann")
"""


def test_a_forget_killed_before_the_files_are_scrubbed_is_finished_later(tmp_path: Path) -> None:
    """What was erased stays erased after kill -9, and the next worker leaves no old byte in the files."""
    path = tmp_path / "f.db"
    with Memory(path, worker=False) as memory:
        memory.add(talk(30), user_id=USER, session_id="s1")
        memory.settle()
    assert scan(path)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path), WORD], check=False, timeout=CEILING)
    assert done.returncode == -signal.SIGKILL
    with Memory(path, worker=False) as memory:
        assert memory.search(WORD, user_id=USER) == []
        assert len(memory.receipts()) == 1
        memory.consolidate()
        memory.settle()
        assert not scan(path)
        assert memory.verify().ok


class _Slow:
    """A summariser that waits until told, then repeats what it was given."""

    name = "slow"

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go = asyncio.Event()

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        self.started.set()
        await self.go.wait()
        return SummaryDraft(text="\n".join(message.text for message in task.messages)[:900])


@pytest.mark.anyio
async def test_a_fold_under_way_does_not_bring_the_words_back(tmp_path: Path) -> None:
    """The summary that a slow model writes from the old words comes too late to be stored."""
    path = tmp_path / "f.db"
    slow = _Slow()
    async with AsyncMemory(path, profile=PROFILES["project"], summariser=slow, worker=False) as memory:
        await memory.add(talk(15), user_id=USER, session_id="s1")
        folding = asyncio.create_task(memory.settle())
        await slow.started.wait()
        async with AsyncMemory(path, profile=PROFILES["project"], worker=False) as other:
            forgetting = asyncio.create_task(other.forget(message_id="m3"))

            async def forgotten():
                return (await memory.message("m3")).forgotten

            await until(forgotten)
            slow.go.set()
            receipt = await forgetting
        assert receipt.messages == ("m3",)
        await folding
        texts = [summary.text for summary in await memory.summaries("s1", live=False)]
        assert texts
        assert not any(WORD in text for text in texts)


@pytest.mark.anyio
async def test_an_extraction_under_way_does_not_bring_the_fact_back(tmp_path: Path) -> None:
    """Facts read from words that were forgotten meanwhile are not stored."""
    path = tmp_path / "f.db"
    async with AsyncMemory(path, worker=False) as memory:
        await memory.add(talk(4), user_id=USER, session_id="s1")
        reader = memory._worker.reader
        session = await memory.session("s1")
        unread = await memory._parts.store.messages("s1", unread=True, limit=100)
        await memory.forget(message_id="m3")
        assert await reader.read(session, unread) == 0
        assert [fact.value for fact in await memory.facts(USER, categories=["identity"])] == []


def test_old_messages_are_dropped_and_their_summaries_stay(tmp_path: Path) -> None:
    """By `keep_message_days` the words of old, folded messages go; what was derived from them stays."""
    path = tmp_path / "f.db"
    clock = [START + timedelta(hours=2)]
    profile = PROFILES["project"].but(keep_message_days=30.0, promote_confidence=0.0, archive_below=0.0)
    with Memory(path, profile=profile, worker=False, now=lambda: clock[0]) as memory:
        memory.add(talk(30), user_id=USER, session_id="s1")
        memory.settle()
        before = [summary.text for summary in memory.summaries("s1")]
        assert memory.consolidate().messages_dropped == 0
        clock[0] = START + timedelta(days=31)
        dropped = memory.consolidate().messages_dropped
        assert dropped == memory.session("s1").counters.cursor == 40
        assert memory.message("m3").content == "[dropped]"
        assert memory.message("m3").forgotten
        assert [summary.text for summary in memory.summaries("s1")] == before
        assert [fact.value for fact in memory.facts(USER, categories=["identity"])] == [WORD]
        assert memory.verify().problems == ()
        assert memory.consolidate().messages_dropped == 0
        assert memory.settle().folds == 0


def test_a_fact_of_a_dropped_message_is_forgotten_and_others_keep_their_quotes(tmp_path: Path) -> None:
    """Their quotes are all that is left of what was said."""
    clock = [START + timedelta(hours=2)]
    profile = PROFILES["project"].but(keep_message_days=30.0, promote_confidence=0.0, archive_below=0.0)
    with Memory(tmp_path / "f.db", profile=profile, worker=False, now=lambda: clock[0]) as memory:
        said = {"role": "user", "content": f"My name is Ann. I live in {WORD}.", "created_at": START.isoformat()}
        memory.add([said, *talk(30, "Porto")], user_id=USER, session_id="s1")
        memory.settle()
        clock[0] = START + timedelta(days=31)
        assert memory.consolidate().messages_dropped
        facts = {fact.value: fact for fact in memory.facts(USER, statuses=["active", "superseded"])}
        name = facts["Ann"]
        memory.forget(fact_id=facts[WORD].id)
        left = memory.fact(name.id)
        assert (left.quote, left.start, left.end) == (name.quote, name.start, name.end)
        assert memory.verify().ok
    assert not scan(tmp_path / "f.db")


def test_sessions_archived_long_ago_are_dropped_whole(tmp_path: Path) -> None:
    """By `drop_archived_days`: nothing is left of them, and a receipt says when that was."""
    path = tmp_path / "f.db"
    clock = [START + timedelta(hours=2)]
    profile = PROFILES["default"].but(drop_archived_days=90.0)
    with Memory(path, profile=profile, worker=False, now=lambda: clock[0]) as memory:
        memory.add(talk(5), user_id=USER, session_id="s1")
        memory.archive("s1")
        memory.settle()
        clock[0] += timedelta(days=91)
        assert memory.consolidate().messages_dropped == 10
        assert memory.sessions(USER) == []
        assert memory.facts(USER) == []
        assert [receipt.target for receipt in memory.receipts()] == ["an archived session"]
        assert not scan(path)


def test_a_forgotten_value_is_not_found_again(tmp_path: Path) -> None:
    """A value forgotten as a fact is not extracted when it is said again; told by hand, it may be known again."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add(talk(4), user_id=USER, session_id="s1")
        memory.settle()
        (fact,) = memory.facts(USER, categories=["identity"])
        memory.forget(fact_id=fact.id)
        memory.add(f"I live in {WORD.lower()}.", user_id=USER, session_id="s2")
        memory.add("I live in Porto.", user_id=USER, session_id="s3")
        memory.settle()
        assert [found.value for found in memory.facts(USER, categories=["identity"])] == ["Porto"]
        memory.remember(WORD, user_id=USER, category="identity", key="location")
        assert [found.value for found in memory.facts(USER, categories=["identity"])] == [WORD]


def test_a_part_of_a_message_is_forgotten_with_a_fact(tmp_path: Path) -> None:
    """The rest of the message stays, and so do the other facts in it, found again at their new places."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add("My name is Ann. I live in Porto. I'm allergic to nuts.", user_id=USER, session_id="s1")
        memory.settle()
        (place,) = [fact for fact in memory.facts(USER) if fact.key == "location"]
        receipt = memory.forget(fact_id=place.id)
        (message,) = memory.messages("s1")
        assert receipt.redacted == (message.id,)
        assert message.content == "My name is Ann. [forgotten]. I'm allergic to nuts."
        left = {fact.key: fact for fact in memory.facts(USER)}
        assert set(left) == {"name", "allergy nuts"}
        for fact in left.values():
            assert message.text[fact.start : fact.end] == fact.quote


def test_an_episode_of_which_something_was_forgotten_is_told_anew(tmp_path: Path) -> None:
    """It keeps its id, its links and its use; the forgotten words are out of it, and of the files."""
    path = tmp_path / "f.db"
    with Memory(path, worker=False) as memory:
        said = f"I work as a {WORD}, and we decided to use Postgres because it is boring."
        memory.add(said, user_id=USER, session_id="s1")
        memory.settle()
        (job,) = [fact for fact in memory.facts(USER) if fact.key == "job"]
        (before,) = memory.episodes(USER)
        assert WORD in before.summary
        note = memory.remember("Ask about the move", user_id=USER)
        memory.link(before.id, note.id, "causes")
        memory.search("Postgres", user_id=USER)
        memory.consolidate(USER)
        (before,) = memory.episodes(USER)
        assert before.accesses
        assert memory.forget(fact_id=job.id).episodes == ()
        (after,) = memory.episodes(USER)
        assert (after.id, after.kind, after.accesses) == (before.id, before.kind, before.accesses)
        assert set(after.linked) == set(before.linked) - {job.id}
        assert after.title == before.title
        assert after.summary == "[forgotten], and we decided to use Postgres because it is boring."
        assert [(link.source, link.type) for link in memory.why(note.id).links] == [(after.id, "causes")]
    assert not scan(path)


def test_moments_that_were_merged_survive_a_fact_of_one_of_them(tmp_path: Path) -> None:
    """All messages of the merged episode are read again, so no moment is lost."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add("We decided to use Postgres because it is boring.", user_id=USER, session_id="s1")
        memory.add(f"I live in {WORD}. We decided to use Redis for the queue.", user_id=USER, session_id="s1")
        memory.settle()
        memory.consolidate(USER)
        (merged,) = memory.episodes(USER)
        assert len(merged.message_ids) == 2
        (home,) = [fact for fact in memory.facts(USER) if fact.key == "location"]
        memory.forget(fact_id=home.id)
        told = " ".join(one.summary for one in memory.episodes(USER))
        assert "Postgres" in told
        assert "Redis" in told
        assert merged.id in {one.id for one in memory.episodes(USER)}
        memory.consolidate(USER)
        assert [one.id for one in memory.episodes(USER)] == [merged.id]


def test_a_fact_whose_words_are_in_the_mark_takes_its_message_with_it(tmp_path: Path) -> None:
    """Where the words would still be there after they were taken out, the whole message is emptied."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add("My name is Ann. My favourite word is forgotten.", user_id=USER, session_id="s1")
        memory.settle()
        (word,) = [fact for fact in memory.facts(USER) if fact.value == "forgotten"]
        receipt = memory.forget(fact_id=word.id)
        (message,) = memory.messages("s1")
        assert receipt.messages == (message.id,)
        assert message.content == "[forgotten]"
        (name,) = memory.facts(USER)
        assert (name.value, name.quote) == ("Ann", "[forgotten]")
        assert memory.verify().ok


def test_a_dry_run_tells_what_would_go_and_takes_nothing(tmp_path: Path) -> None:
    """The receipt of a dry run has what the real one has; nothing is kept of it."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add(talk(30), user_id=USER, session_id="s1")
        memory.settle()
        told = memory.forget(text=WORD, user_id=USER, dry_run=True)
        assert told.dry_run
        assert memory.message("m3").content == f"I live in {WORD}."
        assert memory.receipts() == []
        done = memory.forget(text=WORD, user_id=USER)
        assert not done.dry_run
        assert (told.messages, told.summaries, told.facts) == (done.messages, done.summaries, done.facts)
        assert told.messages == ("m3",)


def test_an_answer_that_repeats_a_forgotten_fact_is_named(tmp_path: Path) -> None:
    """Other messages that have the value are left alone, and the receipt names them."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add(
            [
                {"role": "user", "content": "I live in Porto.", "id": "u"},
                {"role": "assistant", "content": "PORTO is lovely.", "id": "a"},
            ],
            user_id=USER,
            session_id="s1",
        )
        memory.settle()
        (fact,) = memory.facts(USER)
        assert memory.forget(fact_id=fact.id, dry_run=True).mentions_left == ("a",)
        assert memory.forget(fact_id=fact.id).mentions_left == ("a",)


@pytest.mark.parametrize(
    ("said", "address"),
    [
        pytest.param("I love tea.", "https://x.test/tea.png", id="short-and-liked"),
        pytest.param("My name is Bob.", "https://x.test/?name=Bob", id="short"),
        pytest.param("I live in S\u00e3o Paulo.", "https://x.test/?c=S%C3%A3o%20Paulo", id="escaped"),
        pytest.param("I live in S\u00e3o Paulo.", "https://x.test/?c=S%C3%A3o+Paulo", id="escaped-with-plus"),
        pytest.param("I live in Porto.", "https://x.test/PORTO.png", id="capitals"),
        pytest.param("I live in Porto.", "https://x.test/Por\u00adto.png", id="unseen"),
    ],
)
def test_a_value_in_the_address_of_a_picture_is_erased_or_named(tmp_path: Path, said: str, address: str) -> None:
    """The message of the fact itself is named, too, if it still has the value somewhere."""
    picture = {"type": "image_url", "image_url": {"url": address}}
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add({"role": "user", "content": [{"type": "text", "text": said}, picture], "id": "m1"}, user_id=USER)
        memory.settle()
        (fact,) = memory.facts(USER)
        left = memory.forget(fact_id=fact.id).mentions_left
        (message,) = memory.messages("ann:main")
        assert message.text == "[forgotten].\n[image]"
        assert left == ("m1",) or message.content[1]["image_url"]["url"] != address


def test_a_short_value_is_named_where_it_is_a_word(tmp_path: Path) -> None:
    """Not where it is a part of another one."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add("I love tea.", user_id=USER)
        for number, text in enumerate(("The team steams.", "Some tea?", "What a tear")):
            memory.add({"role": "assistant", "content": text, "id": f"r{number}"}, user_id=USER)
        memory.settle()
        (fact,) = memory.facts(USER)
        assert memory.forget(fact_id=fact.id, dry_run=True).mentions_left == ("r1",)


@pytest.mark.parametrize("way", ["fact", "text", "message"])
@pytest.mark.also_postgres
def test_the_first_version_of_a_memory_is_forgotten_and_a_later_one_stays(place: Place, way: str) -> None:
    """A memory without a key is known by its first words; once these are forgotten, by those that are left."""
    with Memory(place(), worker=False) as memory:
        memory.add({"role": "user", "content": f"We decided to use {WORD}.", "id": "m1"}, user_id=USER)
        memory.settle()
        (old,) = memory.facts(USER)
        new = memory.update(old.id, "use Postgres")
        targets: dict[str, dict[str, Any]] = {
            "fact": {"fact_id": old.id},
            "text": {"text": WORD, "user_id": USER},
            "message": {"message_id": "m1"},
        }
        memory.forget(**targets[way])
        assert [(fact.id, fact.value, fact.status) for fact in memory.facts(USER)] == [
            (new.id, "use Postgres", "active")
        ]
        assert memory.update(new.id, "use SQLite").status == "active"
        assert [fact.value for fact in memory.history(new.id)] == ["use Postgres", "use SQLite"]
        assert memory.verify().ok
    assert WORD.lower().encode() not in place.every_byte()


def guessed(fact: Fact, data: bytes, secret: bytes) -> set[int]:
    """The codes of four digits that somebody finds who has these bytes and this secret, and tries every one."""
    marks = {code: mark(secret, replace(fact, value=f"{code:04}")) for code in range(10_000)}
    found = data.lower()
    return {code for code, made in marks.items() if made in data or made.hex().encode() in found}


def test_what_a_mark_of_a_forgotten_value_betrays(tmp_path: Path) -> None:
    """Who has the whole store and a guess can test it, as the docs say; nobody else can, and without a mark nobody."""
    path, out = tmp_path / "f.db", tmp_path / "out.jsonl"

    def secret() -> bytes:
        with closing(sqlite3.connect(path)) as connection:
            return bytes.fromhex(connection.execute("select value from settings where key = 'secret'").fetchone()[0])

    with Memory(path, worker=False) as memory:
        for number, code in enumerate((4711, 1984)):
            memory.add({"role": "user", "content": f"My favourite number is {code}.", "id": f"m{number}"}, user_id=USER)
        memory.settle()
        first, second = sorted(memory.facts(USER, statuses=["active", "superseded"]), key=lambda fact: fact.seq)
        assert (first.value, second.value) == ("4711", "1984")
        memory.forget(message_id="m1")
        assert guessed(second, path.read_bytes(), secret()) == set()
        memory.forget(fact_id=first.id)
        assert guessed(first, path.read_bytes(), secret()) == {4711}
        assert guessed(first, path.read_bytes(), b"") == set()
        memory.export(out)
        told = repr(encode(memory.receipts())).encode() + out.read_bytes()
        assert guessed(first, told, secret()) == set()
        memory.forget(user_id=USER)
        assert guessed(first, path.read_bytes(), secret()) == set()


def test_a_receipt_can_be_checked(tmp_path: Path) -> None:
    """Who knows the id of a forgotten session finds its hash in the receipt; a changed receipt is noticed."""
    path = tmp_path / "f.db"
    with Memory(path, worker=False) as memory:
        memory.add(talk(2), user_id=USER, session_id="s1")
        receipt = memory.forget(session_id="s1")
        assert "s1" not in json.dumps(receipt.sessions)
        (stored,) = memory.receipts()
        assert (stored.digest, stored.sessions) == (receipt.digest, receipt.sessions)
        assert memory.verify().ok
    store = SqliteStore(path)

    async def tamper() -> None:
        await store.open()
        await store._connections.write(
            lambda tx: tx.execute("update receipts set record = replace(record, 'session', 'thing')")
        )
        await store.close()

    asyncio.run(tamper())
    with Memory(path, worker=False) as memory:
        assert [problem.kind for problem in memory.verify().problems] == ["receipt"]


@pytest.mark.parametrize(
    ("target", "error", "hint"),
    [
        pytest.param({}, InputError, "say what to forget", id="nothing"),
        pytest.param({"text": "", "user_id": USER}, InputError, "at least 2 characters", id="empty-text"),
        pytest.param({"text": " . ", "user_id": USER}, InputError, "at least 2 characters", id="only-a-point"),
        pytest.param({"message_id": "m1", "text": "x y"}, InputError, "one thing at a time", id="two-things"),
        pytest.param({"first": 1, "last": 2}, InputError, "with the session_id", id="span-without-session"),
        pytest.param({"session_id": "s1", "first": 1}, InputError, "given together", id="half-a-span"),
        pytest.param({"session_id": "s1", "user_id": USER}, InputError, "not both", id="session-and-user"),
        pytest.param({"message_id": ["m1", "b1"]}, InputError, "messages of one user", id="two-users"),
        pytest.param({"message_id": "nope"}, NotFound, "no message 'nope'", id="unknown-message"),
        pytest.param({"session_id": "nope"}, NotFound, "no session 'nope'", id="unknown-session"),
        pytest.param({"fact_id": "nope"}, NotFound, "no fact 'nope'", id="unknown-fact"),
    ],
)
def test_an_unclear_wish_is_refused(tmp_path: Path, target: dict[str, Any], error: type[Exception], hint: str) -> None:
    """The error says what would work, and nothing is lost."""
    with Memory(tmp_path / "f.db", worker=False) as memory:
        memory.add(talk(2), user_id=USER, session_id="s1")
        memory.add({"role": "user", "content": "Hello.", "id": "b1"}, user_id="bob", session_id="s2")
        with pytest.raises(error, match=hint):
            memory.forget(**target)
        assert len(memory.messages("s1")) == 4
        assert memory.receipts() == []
