"""What was forgotten is in no byte of the files, and no page, index or log of SQLite keeps it."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lamina.language.words import terms
from lamina.maintenance import integrity
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.storage.sqlite.sqlite_words import token
from lamina.testing.samples import (
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_milestone,
    a_proposal,
    a_reading,
    a_rewrite,
    a_summary,
    a_swap,
    a_turn,
    an_append,
    an_episode,
    an_erasure,
    some_facts,
)
from lamina.values.message import Span
from lamina.values.summary import Source

# each word is in one place only, so that a find says which place was not cleaned
SECRETS = {
    "message": "zanzibarquinine",
    "script": "секретнослово",
    "metadata": "metadatumquartz",
    "model": "modelnamequokka",
    "summary": "summaryxylophone",
    "folded": "foldedzeppelin",
    "replaced": "replacedwombat",
    "topic": "topicyttrium",
    "digest": "digestmarzipan",
    "old digest": "elderdigestyak",
    "fact": "factobsidian",
    "quote": "quotenarwhal",
    "episode": "episodekumquat",
    "milestone": "milestonegnu",
    "proposal": "proposalibex",
}
SAID = f"The code is {SECRETS['message']} and {SECRETS['script']}."


def run(work):
    return asyncio.run(work)


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "lamina.db")
    run(store.open())
    yield store
    run(store.close())


async def filled(store):
    """Much that stays, and one message whose words came into everything that is derived."""
    for number in range(1, 40):
        text = f"I like tea number {number}, and the weather in Lisbon is fine." * 5
        await store.append(an_append("s1", *a_turn(number, text=text)))
    secret = a_draft("secret", SAID)._replace(
        metadata=f'{{"note":"{SECRETS["metadata"]}"}}', model=SECRETS["model"], tokens=6
    )
    await store.append(an_append("s1", secret, key="k"))
    for number in range(40, 60):
        await store.append(an_append("s1", *a_turn(number)))
    first = a_summary("stays", "s1", Span(first=1, last=70), "Ann likes tea.")
    low = replace(a_summary("low", "s1", Span(first=71, last=80), SECRETS["folded"]), topics=(SECRETS["topic"],))
    high = a_summary("high", "s1", Span(first=71, last=90), f"Ann said {SECRETS['replaced']}", inputs=("low",))
    await store.commit(a_fold("s1", first, expect=0, cursor=70))
    await store.commit(a_fold("s1", low, expect=1, cursor=80))
    await store.commit(a_fold("s1", high, expect=2, cursor=90, retire=("low",)))
    anew = a_summary("anew", "s1", Span(first=71, last=90), f"Ann said {SECRETS['summary']}")
    await store.commit(a_swap("s1", anew, expect=3, cursor=90, retire=("high",)))
    sources = (Source(session_id="s1", messages=119, version=4),)
    await store.commit(a_digest("ann", 1, SECRETS["old digest"], sources=sources))
    await store.commit(a_digest("ann", 2, SECRETS["digest"], sources=sources))
    fact = a_fact("f1", SECRETS["fact"], message_id="secret", quote=SECRETS["quote"])
    episode = replace(an_episode("e1", "secret"), summary=SECRETS["episode"])
    reading = a_reading((await store.sessions(ids=["s1"]))[0], 119)
    await store.commit_facts(some_facts(fact, a_fact("f2", message_id="m40"), episodes=(episode,), reading=reading))
    await store.add_milestone(replace(a_milestone("mile", "s1"), title=SECRETS["milestone"]))
    await store.put_proposal(replace(a_proposal("p1", "s1"), record=f'{{"text":"{SECRETS["proposal"]}"}}'))


def found_in_files(store):
    """The places whose word is in some file of the store, in any of the forms it may have there."""
    files = {path.name: path.read_bytes() for path in Path(store.path).parent.iterdir()}
    assert any(files.values())
    forms = {name: {word, token(terms(word)[0])} for name, word in SECRETS.items()}
    return {
        name
        for name, words in forms.items()
        for word in words
        if any(word.encode() in content or word.encode("utf-16-le") in content for content in files.values())
    }


def terms_of(store):
    """Every term that the word indexes know."""
    with closing(sqlite3.connect(store.path)) as connection:
        known = set()
        for table in ("message_words", "summary_words"):
            connection.execute(f"create virtual table temp.{table}_terms using fts5vocab(main, {table}, 'row')")
            known |= {row[0] for row in connection.execute(f"select term from temp.{table}_terms")}
    return known


def erasure(store):
    return run(erasure_of(store))


async def erasure_of(store):
    row = next(row for row in (await store.audit("s1")).rows if row.id == "secret")
    return an_erasure(a_rewrite(row), milestones=("mile",))


def test_the_scan_finds_what_is_there(store):
    """Before anything is forgotten every word is in the files, so that the scans below mean something."""
    run(filled(store))
    assert found_in_files(store) == set(SECRETS)
    assert {token(terms(SECRETS[name])[0]) for name in ("message", "script", "summary", "digest")} <= terms_of(store)


def test_a_forgotten_message_is_in_no_byte_of_the_files(store):
    """Nor is anything that was made of it: main file, write-ahead log and word index are clean; the rest is whole."""
    run(filled(store))
    run(store.erase(erasure(store)))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert not {token(terms(word)[0]) for word in SECRETS.values()} & terms_of(store)
    assert [summary.id for summary in run(store.summaries("s1", live=False))] == ["stays"]
    assert len(run(store.messages("s1", Span(first=1, last=999)))) == 119
    assert list(integrity.problems(run(store.audit("s1")))) == run(store.check()) == []
    assert [fact.id for fact in run(store.facts("ann"))] == ["f2"]


@pytest.mark.parametrize(
    "options", [pytest.param({"sessions": ("s1",)}, id="session"), pytest.param({"user": True}, id="user")]
)
def test_whole_sessions_and_users_are_in_no_byte_of_the_files(store, options):
    """What stays beside them is found by its words."""
    run(filled(store))
    run(store.append(an_append("b1", a_draft("b", "Rain, as ever."), user_id="bob")))
    run(store.erase(an_erasure(**options)))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert {term for term in terms_of(store) if not term.startswith("o")} == set(terms("Rain, as ever."))
    assert [item.id for item in run(store.find_words("bob", ["rain"], 9)).matches] == ["b"]


def test_a_forgotten_part_is_in_no_byte_of_the_files(store):
    """The words around it stay."""
    run(store.append(an_append("s1", a_draft("m1", f"I keep a {SECRETS['message']} at home."))))
    row = run(store.audit("s1")).rows[0]
    run(store.erase(an_erasure(a_rewrite(row, "I keep a [forgotten] at home.", whole=False))))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert set(terms("keep home")) <= terms_of(store)


@pytest.mark.parametrize("table", ["messages", "summaries", "episodes", "facts"])
def test_damage_does_not_keep_anything_from_being_forgotten(store, table):
    """A row that cannot be read is erased with its session, words and all: the index is built anew."""
    run(filled(store))
    row = {"messages": "secret", "summaries": "anew", "episodes": "e1", "facts": "f1"}[table]
    column = "metadata" if table == "messages" else "record"
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"update {table} set {column} = replace({column}, '{{', '[') where id = ?", (row,))
    run(store.erase(an_erasure(sessions=("s1",))))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert not {term for term in terms_of(store) if not term.startswith("o")}
    assert run(store.check()) == []


@pytest.mark.parametrize("table", ["summaries", "episodes", "facts"])
def test_damage_to_what_is_derived_does_not_keep_a_message_from_being_forgotten(store, table):
    """What cannot be read may tell of it, so it goes too."""
    run(filled(store))
    row = {"summaries": "anew", "episodes": "e1", "facts": "f1"}[table]
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"update {table} set record = replace(record, '{{', '[') where id = ?", (row,))
    run(store.erase(erasure(store)))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert not {token(terms(word)[0]) for word in SECRETS.values()} & terms_of(store)
    assert list(integrity.problems(run(store.audit("s1")))) == run(store.check()) == []


def test_a_damaged_summary_that_was_folded_is_forgotten_with_its_words(store):
    """Its words were left in the index when it was folded, for they could not be read; an erasure takes them out."""
    run(filled(store))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("update summaries set record = replace(record, '{', '[') where id = 'anew'")
    anew = a_summary("late", "s1", Span(first=71, last=90), "Of tea")
    assert run(store.commit(a_swap("s1", anew, expect=4, cursor=90, retire=("anew",))))
    run(store.erase(erasure(store)))
    assert run(store.scrub()) == "overwritten"
    assert found_in_files(store) == set()
    assert not {token(terms(word)[0]) for word in SECRETS.values()} & terms_of(store)


def test_what_others_deleted_carelessly_is_scrubbed_too(store):
    """SQLite leaves deleted bytes in the pages unless it is told otherwise, as another program may not do."""
    run(filled(store))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("pragma secure_delete = off")
        connection.execute("delete from milestones")
    assert "milestone" in found_in_files(store)
    assert run(store.scrub()) == "overwritten"
    assert "milestone" not in found_in_files(store)


def test_others_write_while_a_file_is_scrubbed(store, monkeypatch):
    """It goes in steps, and between them whoever waits comes first."""
    monkeypatch.setattr("lamina.storage.sqlite.sqlite_store._MERGED", 1)
    monkeypatch.setattr("lamina.storage.sqlite.sqlite_store._MERGED_FIRST", -1)
    monkeypatch.setattr("lamina.storage.sqlite.sqlite_connection._WIPED", 1)
    events = []

    async def scrubbed():
        events.append(await store.scrub())

    async def both():
        await filled(store)
        await store.erase(await erasure_of(store))
        scrubbing = asyncio.create_task(scrubbed())
        while not scrubbing.done():
            await store.append(an_append("s2", a_draft(f"more{len(events)}")))
            events.append("added")
        await scrubbing

    run(both())
    assert events.index("overwritten") > 3
    assert found_in_files(store) == set()


def test_scrubbing_is_due_until_it_is_done(store, monkeypatch):
    """While another process reads an old state some bytes are still in use: then it says so, and stays due."""
    run(filled(store))
    monkeypatch.setattr("lamina.storage.sqlite.sqlite_connection.PATIENCE_S", 0.1)
    assert run(store.setting("scrub")) is None
    with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from messages").fetchone()
        run(store.erase(erasure(store)))
        assert run(store.scrub()) == "dead"
        assert run(store.setting("scrub")).startswith("due")
        assert "message" in found_in_files(store)
        reader.execute("commit")
    assert run(store.scrub()) == "overwritten"
    assert run(store.setting("scrub")) is None
    assert found_in_files(store) == set()


def test_a_dry_run_does_not_ask_for_scrubbing(store):
    """Nothing was deleted."""
    run(filled(store))
    run(store.erase(replace(erasure(store), dry_run=True)))
    assert run(store.setting("scrub")) is None


def test_nothing_of_a_receipt_tells_what_was_forgotten(store):
    """Its record has ids and counts; marks and the settings beside it are hashes and numbers."""
    run(filled(store))
    run(store.erase(erasure(store)))
    with closing(sqlite3.connect(store.path)) as connection:
        left = [
            repr(row)
            for table in ("receipts", "settings", "forgotten", "appends")
            for row in connection.execute(f"select * from {table}")
        ]
    assert left
    assert not [word for word in SECRETS.values() for row in left if word in row]
