"""The SQLite file itself: made, reopened, refused, full, read-only, and shared by threads."""

import asyncio
import gc
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lamina import Memory, NotALaminaFile, SchemaTooNew, StoreBusy, StoreError, StoreFull, StoreReadOnly
from lamina.coroutines import run_without_loop
from lamina.knowledge.conflicts import resolve
from lamina.log import chain
from lamina.storage import erasure_sql, facts_sql, messages_sql
from lamina.storage.migrations import APPLICATION_ID, statements, steps
from lamina.storage.sqlite import sqlite_connection
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.testing import WordCounter
from lamina.testing.samples import (
    RULE,
    a_draft,
    a_fact,
    a_reading,
    a_rewrite,
    a_told_fact,
    a_turn,
    an_append,
    an_episode,
    an_erasure,
    some_facts,
)
from lamina.testing.suites.checks_suite import embedded
from lamina.testing.suites.erasing_suite import remembered
from lamina.values.message import Span
from tests.sizes import share

ALL = Span(first=1, last=10_000)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lamina.db"


@pytest.fixture
def opened():
    """Opens stores and closes them afterwards."""
    stores = []

    def opened(path, **options):
        store = SqliteStore(path, **options)
        stores.append(store)
        asyncio.run(store.open())
        return store

    yield opened
    for store in stores:
        asyncio.run(store.close())


def raw(path, *sql):
    """Run statements beside Lamina; the rows of the last."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in sql:
            rows = connection.execute(statement).fetchall()
    finally:
        connection.close()
    return rows


# opening


def test_a_new_file_gets_the_newest_schema(path, opened):
    """Its application id marks it as ours; every migration is applied, in order."""
    opened(path)
    assert raw(path, "pragma application_id") == [(APPLICATION_ID,)]
    numbers = [number for number, _, _ in steps("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert raw(path, "pragma user_version") == [(numbers[-1],)]
    assert raw(path, "pragma journal_mode") == [("wal",)]


def test_a_file_is_opened_again_as_it_was(path, opened):
    """Nothing is lost or migrated twice."""
    first = opened(path)
    asyncio.run(first.append(an_append("s1", *a_turn(1))))
    schema = raw(path, "select sql from sqlite_schema order by name")
    asyncio.run(first.close())
    again = opened(path)
    assert [m.id for m in asyncio.run(again.messages("s1", ALL))] == ["m1", "m1-reply"]
    assert raw(path, "select sql from sqlite_schema order by name") == schema


def test_an_empty_file_becomes_a_store(path, opened):
    """As `touch` leaves one, or a process killed while it opened its first."""
    path.touch()
    opened(path)
    assert raw(path, "pragma application_id") == [(APPLICATION_ID,)]


def test_migrations_have_no_semicolon_inside_a_statement():
    """But those of triggers: they are split at semicolons, so every part must be a statement of its own."""
    for _, _, sql in steps("sqlite"):
        assert all(part.split()[0] in {"create", "alter", "insert", "drop", "update"} for part in statements(sql))


def test_many_open_one_new_file_at_once(path, opened):
    """One of them makes the schema, the others wait for it."""
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: opened(path), range(8)))
    assert len({asyncio.run(store.pending()) for store in stores}) == 1


@pytest.fixture
def locked(path):
    """A file in a rollback journal that another process holds alone, and its connection."""
    raw(path, "create table t (a)")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    yield other
    other.close()


@pytest.mark.parametrize("pauses", [pytest.param(3, id="for-a-while"), pytest.param(None, id="for-too-long")])
def test_a_file_that_others_are_opening_is_waited_for(path, locked, monkeypatch, pauses):
    """SQLite itself does not wait while a file gets its write-ahead log; at last the error says to try again."""
    paused = []

    def pause(seconds):
        paused.append(seconds)
        if len(paused) == pauses:
            locked.execute("rollback")

    monkeypatch.setattr(sqlite_connection, "time", SimpleNamespace(sleep=pause))
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        if pauses is None:
            with pytest.raises(StoreBusy, match="try again"):
                SqliteStore(path)._connections.use_wal(connection)
        else:
            SqliteStore(path)._connections.use_wal(connection)
            assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
            assert len(paused) == pauses


def test_a_file_that_cannot_be_written_is_not_waited_for(path):
    raw(path, "create table t (a)")
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        SqliteStore(path)._connections.use_wal(connection)


# refusing


def test_a_newer_schema_is_refused(path, opened):
    """The error says which, what we know, and what to do; the file stays as it is."""
    asyncio.run(opened(path).close())
    raw(path, "pragma user_version = 999")
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"999.*upgrade"):
        Memory(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(("create table theirs (a)", "insert into theirs values (1)"), id="tables"),
        pytest.param(("pragma user_version = 7",), id="version-only"),
        pytest.param(("pragma application_id = 42", "create table theirs (a)"), id="other-application"),
    ],
)
def test_a_foreign_database_is_refused_untouched(path, script):
    """Not even its journal mode changes."""
    raw(path, *script)
    before = path.read_bytes()
    with pytest.raises(NotALaminaFile, match="something else"):
        Memory(path)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["lamina.db"]


@pytest.mark.parametrize("content", [b"hello", b"hello world\n" * 1_000, bytes(range(256)) * 64])
def test_a_file_that_is_no_database_is_refused_untouched(path, content):
    """The error says to give another path."""
    path.write_bytes(content)
    with pytest.raises(NotALaminaFile, match="give the path of a Lamina file"):
        Memory(path)
    assert path.read_bytes() == content


def test_a_missing_folder_is_named(tmp_path):
    """Lamina makes files, not folders."""
    with pytest.raises(StoreReadOnly, match="there is no folder"):
        Memory(tmp_path / "nowhere" / "lamina.db")


def test_a_folder_is_no_file(tmp_path):
    """A path that is a folder cannot be opened."""
    with pytest.raises(StoreReadOnly, match="is a folder, not a file"):
        Memory(tmp_path)


AS_NOBODY = """
import os, sys, lamina
with lamina.Memory(sys.argv[1], worker=False) as memory:
    memory.add("hello", session_id="s1")  # imports everything while root may read the library
os.chmod(sys.argv[2], int(sys.argv[3], 8))
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with lamina.Memory(sys.argv[1], worker=False) as memory:
        print("opened with", len(memory.messages("s1")))
        memory.add("and more", session_id="s1")
except lamina.StoreReadOnly as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_file_is_refused_with_a_reason(what):
    """A file in a folder that can be written may still be read; root could write both, so another user tries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lamina.db"
        Path(folder).chmod(0o777)
        target, mode = (path, "444") if what == "file" else (Path(folder), "555")
        command = [sys.executable, "-c", AS_NOBODY, str(path), str(target), mode]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")
        Path(folder).chmod(0o777)
    assert "must exist and be writable" in done.stdout
    assert ("opened with 1" in done.stdout) == (what == "file")


# a full disk


def test_a_full_disk_loses_nothing_that_was_acknowledged(path):
    """The append that does not fit is refused whole; once there is space, the same append succeeds."""
    with Memory(path, worker=False, counter=WordCounter()) as memory:
        kept = memory.add("first words", session_id="s1").ids
        pages = _limit(memory, extra_pages=20)
        with pytest.raises(StoreFull, match="free some space"):
            memory.add(
                [{"role": "user", "content": "long " * 30_000, "id": f"big{n}"} for n in range(9)], session_id="s1"
            )
        assert [m.id for m in memory.messages("s1")] == list(kept)
        memory.add("small words fit", session_id="s1")
        assert memory.verify().ok
        _limit(memory, extra_pages=pages + 100_000)
        memory.add([{"role": "user", "content": "long " * 30_000, "id": f"big{n}"} for n in range(9)], session_id="s1")
        assert memory.session("s1").counters.messages == 11
        assert memory.verify().ok


def _limit(memory: Any, extra_pages: int) -> int:
    """Let the file grow by so many pages, on the connection that this thread's appends use."""
    store = memory._memory._parts.store

    def limit(connection):
        (pages,) = connection.execute("pragma page_count").fetchone()
        connection.execute(f"pragma max_page_count = {pages + extra_pages}")
        return int(pages)

    return int(store._connections._run(None, limit))


# threads


def test_eight_threads_share_one_memory(path):
    """Each message is stored once, in an order without gaps, and all threads see all of them."""
    steps = share(25)
    with Memory(path, counter=WordCounter()) as memory:

        def work(number):
            for step in range(steps):
                memory.add(
                    {"role": "user", "content": f"{number} says {step}", "id": f"{number}-{step}"}, session_id="s1"
                )
                memory.add({"role": "assistant", "content": "so be it"}, session_id=f"own-{number}")
                memory.context("what was said?", session_id="s1")
            return len(memory.messages(f"own-{number}"))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [steps] * 8
        stored = memory.messages("s1")
        assert [m.seq for m in stored] == list(range(1, 8 * steps + 1))
        assert {m.id for m in stored} == {f"{a}-{b}" for a in range(8) for b in range(steps)}
        assert memory.verify().ok


def test_connections_of_threads_that_ended_are_closed(path):
    """A server that starts a thread for each request does not run out of files."""
    with Memory(path, worker=False, counter=WordCounter()) as memory:
        for number in range(20):
            thread = threading.Thread(target=memory.add, args=(f"hello {number}",))
            thread.start()
            thread.join()
        gc.collect()
        store: Any = memory._memory._parts.store
        assert len(store._connections._opened) < 8
        assert memory.session("default:main").counters.messages == 20


def test_a_closed_store_says_so(path, opened):
    """Not with an error of the driver or of a thread pool."""
    store = opened(path)
    asyncio.run(store.close())
    with pytest.raises(StoreError, match="closed"):
        asyncio.run(store.pending())


def broken(*_args):
    raise ZeroDivisionError


def test_an_append_is_one_transaction(path, opened, monkeypatch):
    """An error in the middle leaves neither rows nor words nor counters."""
    store = opened(path)
    asyncio.run(store.append(an_append("s1", *a_turn(1))))
    before = asyncio.run(store.audit("s1"))

    monkeypatch.setattr(messages_sql, "_insert_messages", broken)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(store.append(an_append("s1", a_draft("m2", "words of failure"))))
    assert asyncio.run(store.audit("s1")) == before
    assert asyncio.run(store.find_words("ann", ["failure"], 9)).matches == ()


def test_facts_are_committed_in_one_transaction(path, opened, monkeypatch):
    """If a slot cannot be settled, neither facts nor episodes nor how far was read are kept."""
    store = opened(path)
    asyncio.run(store.append(an_append("s1", *a_turn(1))))
    before = dump(path)

    monkeypatch.setattr(facts_sql, "resolve", broken)
    reading = a_reading(asyncio.run(store.sessions(ids=["s1"]))[0], 2)
    commit = some_facts(a_fact("f1"), episodes=(an_episode("e1"),), reading=reading)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(store.commit_facts(commit))
    assert dump(path) == before


def test_an_erasure_is_one_transaction(path, opened, monkeypatch):
    """A receipt that cannot be written leaves everything as it was; so does a dry run, in every table."""
    store = opened(path)
    asyncio.run(remembered(store))
    asyncio.run(embedded(store))
    before = dump(path)
    rewrite = a_rewrite(asyncio.run(store.audit("s1")).rows[2])
    erasure = an_erasure(rewrite, facts=("f1",), episodes=("e1",), milestones=("mile1",))

    with monkeypatch.context() as patch:
        patch.setattr(erasure_sql, "sign", broken)
        with pytest.raises(ZeroDivisionError):
            asyncio.run(store.erase(erasure))
    assert dump(path) == before
    for meant in (erasure, an_erasure(user=True), an_erasure(sessions=("s1",))):
        asyncio.run(store.erase(replace(meant, dry_run=True)))
        assert dump(path) == before
    asyncio.run(store.erase(erasure))
    assert dump(path) != before


def test_two_tenants_forget_in_one_file(path, opened):
    """Every row of one tenant is as it was when another has forgotten all that it had under the same ids."""
    store, other = opened(path), opened(path, tenant="other")
    for one in (store, other):
        asyncio.run(remembered(one))
        asyncio.run(embedded(one))
    before = dump(path, tenant="default")
    asyncio.run(other.erase(an_erasure(user=True)))
    asyncio.run(other.scrub())
    assert dump(path, tenant="default") == before
    assert {table for table, rows in dump(path, tenant="other").items() if rows} == {"receipts", "settings"}


def test_two_processes_settle_one_slot(path, opened):
    """Whoever comes last settles all that is there: one fact is active, whatever the order."""
    stores = [opened(path) for _ in range(4)]
    asyncio.run(stores[0].append(an_append("s1", *a_turn(1))))

    def told(number):
        fact = a_told_fact(f"f{number}", f"tea {number % 5}", minutes=number)
        return asyncio.run(stores[number % 4].commit_facts(some_facts(fact)))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(told, range(40)))
    facts = asyncio.run(stores[0].facts("ann"))
    assert facts == resolve(facts, RULE)
    assert [fact.id for fact in facts if fact.status == "active"] == ["f39"]


# vectors


def test_vectors_are_put_in_one_transaction(path, opened):
    """One that cannot be stored leaves neither the others nor the note of how far they go."""
    store = opened(path)
    asyncio.run(remembered(store))
    before = dump(path)
    with pytest.raises(StoreError):
        asyncio.run(store.put_vectors("ann", "e", 0, {"m1": b"x", "f1": None}, 9))
    assert dump(path) == before


def test_a_message_is_looked_for_only_where_something_changed(path, opened):
    """What has a vector is not read again for each append, and no user's search goes through the others' rows."""
    store = opened(path)
    asyncio.run(remembered(store))
    asyncio.run(embedded(store))
    asyncio.run(store.append(an_append("s1", *a_turn(9))))
    seen: list[str] = []
    connection = store._connections._connection()
    connection.set_trace_callback(seen.append)
    run_without_loop = store.to_embed("ann", "e", 9)
    with pytest.raises(StopIteration) as done:
        run_without_loop.send(None)
    connection.set_trace_callback(None)
    assert [item.id for item in done.value.value.items] == ["m9", "m9-reply"]
    plans = [
        row[3] for sql in seen if sql.startswith("select") for row in connection.execute(f"explain query plan {sql}")
    ]
    searched = [plan for plan in plans if plan.startswith(("SEARCH", "SCAN"))]
    by_seq = r"SEARCH messages USING INDEX messages_(by_seq|sizes) \(tenant=\? AND session_id=\? AND seq>\?\)"
    assert any(re.fullmatch(by_seq, plan) for plan in searched), searched
    assert all("user_id=?" in plan or "session_id=?" in plan or "item_id=?" in plan for plan in searched), searched


@pytest.mark.parametrize(
    ("sql", "plan"),
    [
        pytest.param(
            "select max(seq) from vectors where tenant = 't' and embedder = 'e' and session_id = 's'",
            "vectors USING COVERING INDEX vectors_by_seq (tenant=? AND embedder=? AND session_id=?)",
            id="last",
        ),
        pytest.param(
            "delete from vectors where tenant = 't' and item_id = 'i'",
            "vectors USING INDEX vectors_by_item (tenant=? AND item_id=?)",
            id="going",
        ),
        pytest.param(
            "select id, messages from sessions where tenant = 't' and user_id = 'u' and changed > 1 order by +id",
            "sessions USING INDEX sessions_changed (tenant=? AND user_id=? AND changed>?)",
            id="changed",
        ),
        pytest.param(
            "select * from vectors where tenant = 't' and user_id = 'u' and embedder = 'e' and place > 1",
            "vectors USING INDEX vectors_by_user (tenant=? AND user_id=? AND embedder=? AND rowid>?)",
            id="read",
        ),
        pytest.param(
            "select sum(tokens) from messages where tenant = 't' and session_id = 's' and seq > 1 and seq <= 9",
            "messages USING COVERING INDEX messages_sizes (tenant=? AND session_id=? AND seq>? AND seq<?)",
            id="outlined",
        ),
    ],
)
def test_what_is_asked_often_or_of_many_is_found_by_an_index(path, opened, sql, plan):
    """With every search, every append, for every message that goes, or over every message of a session."""
    opened(path)
    assert raw(path, f"explain query plan {sql}")[0][3] == f"SEARCH {plan}"


def test_what_others_do_to_the_words_takes_the_vectors_too(path, opened):
    """The file itself sees to it: another program, or a later version of this one, cannot leave one behind."""
    store = opened(path)
    asyncio.run(remembered(store))
    asyncio.run(embedded(store))
    raw(
        path,
        "delete from messages where id = 'm1'",
        "update messages set body = '{}' where id = 'm2'",
        "update messages set metadata = '[]', unread = 1 where id = 'm3'",
        "update summaries set status = 'folded' where id = 'ab'",
        "update summaries set record = '{}' where id = 'c'",
        "delete from facts where id = 'f1'",
        "update facts set record = '{}' where id = 'f2'",
        "update facts set status = 'evidence', decay = 0 where id = 'f3'",
        "delete from episodes where id = 'e1'",
        "update episodes set record = '{}' where id = 'e2'",
        "update episodes set accesses = 9 where id = 'e3'",
    )
    left = {row[0] for row in raw(path, "select item_id from vectors where item_id not like '%reply'")}
    assert left == {"m3", "m4", "digest-ann-2", "f3", "f4", "told", "e3", "e4"}


TABLES = ("sessions", "messages", "summaries", "facts", "episodes", "links", "forgotten", "proposals", "receipts",
          "milestones", "appends", "settings", "changes", "vectors", "embedded")  # fmt: skip


def dump(path, tenant=None):
    """Every row of every table, and with no tenant given every term of the word index."""
    where = "" if tenant is None else f" where tenant = '{tenant}'"
    found = {table: sorted(map(repr, raw(path, f"select * from {table}{where}"))) for table in TABLES}
    if tenant is None:
        for table in ("message_words", "summary_words"):
            found[table] = raw(
                path,
                f"create virtual table temp.words using fts5vocab(main, {table}, 'instance')",
                "select * from temp.words order by term, doc, col, offset",
            )
    return found


def test_files_are_for_their_owner_alone(tmp_path):
    """The database, what SQLite keeps beside it, copies and exports; a file that is there keeps the rights it has."""
    before = os.umask(0o022)
    try:
        with Memory(tmp_path / "chat.db", worker=False) as memory:
            memory.add("hello")
            memory.export(tmp_path / "all.jsonl")
            memory.export(tmp_path / "folder")
            memory.copy_to(tmp_path / "copy.db")
            files = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert {"chat.db", "chat.db-wal", "chat.db-shm", "all.jsonl", "copy.db"} <= {path.name for path in files}
            assert {path.name: oct(path.stat().st_mode & 0o777) for path in files} == {
                path.name: oct(0o600) for path in files
            }
        (tmp_path / "chat.db").chmod(0o640)
        with Memory(tmp_path / "chat.db", worker=False) as memory:
            memory.add("hello")
            assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("chat.db*")} == {0o640}
    finally:
        os.umask(before)


@pytest.mark.parametrize("worker", [False, True], ids=["alone", "with a worker"])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_is_taken_away_is_noticed(tmp_path, how, worker):
    """The next read and the next write say so; no new file is made in its place; put back, it goes on."""
    path, away = tmp_path / "chat.db", tmp_path / "away.db"
    with Memory(path, worker=worker) as memory:
        memory.add("hello")
        memory.settle()
        path.rename(away)
        if how == "deleted":
            away.unlink()
        elif how == "replaced":
            path.write_bytes(away.read_bytes())
        for verb in (lambda: memory.add("lost"), memory.sessions, memory.verify, lambda: memory.remember("lost")):
            with pytest.raises(StoreError, match=r"chat\.db: the file was deleted, moved or replaced.*open it again"):
                verb()
        assert path.exists() == (how == "replaced")
        if how != "deleted":
            away.rename(path)
            memory.add("again")
            assert memory.session("default:main").counters.messages == 2


def test_a_memory_whose_file_is_gone_leaves_that_of_its_successor_alone(tmp_path):
    """SQLite ends a log by its name: closing the old one would take the words of the new one."""
    path = tmp_path / "chat.db"
    old = Memory(path, worker=False)
    old.add("of the old file")
    for file in tmp_path.iterdir():
        file.unlink()
    with Memory(path, worker=False) as new:
        new.add("of the new file")
        old.close()
        new.add("and more")
        assert [message.text for message in new.messages("default:main")] == ["of the new file", "and more"]
        assert new.verify().ok


def test_nothing_is_acknowledged_that_was_written_to_a_file_that_is_gone(tmp_path, monkeypatch):
    """Also if it went in the middle of a transaction."""
    path = tmp_path / "chat.db"
    with Memory(path, worker=False) as memory:
        memory.add("hello")
        build_rows = chain.build_rows

        def unlinked(*given):
            path.unlink()
            return build_rows(*given)

        monkeypatch.setattr(chain, "build_rows", unlinked)
        with pytest.raises(StoreError, match="the file was deleted"):
            memory.add("lost")


@pytest.mark.anyio
async def test_a_database_in_the_process_is_used_from_many_threads():
    """Private to its store, whoever asks: on the event loop, without one, and from several threads at once."""
    store, other = SqliteStore(":memory:"), SqliteStore(":memory:")
    await store.open()
    await other.open()
    await store.append(an_append("s0", a_draft("m0")))
    with ThreadPoolExecutor(4) as threads:
        said = [store.append(an_append(f"s{number}", a_draft(f"m{number}"))) for number in range(1, 9)]
        list(threads.map(run_without_loop, said))
    assert len(await store.for_tenant(store.tenant, maintenance=True).sessions()) == 9
    assert await other.sessions() == []
    assert await store.scrub() == store.clean
    await store.close()
    with pytest.raises(StoreError, match=":memory: is closed"):
        await store.sessions()
    await other.close()
