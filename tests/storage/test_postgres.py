"""What only the PostgreSQL store does: schemas, roles, errors in our words, notices, indexes, scrubbing."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import psycopg
import pytest

from lamina import AsyncMemory, InputError, Memory
from lamina.errors import NotFound, SchemaTooNew, StoreBusy, StoreError, StoreReadOnly
from lamina.language.words import terms
from lamina.protocols.store import Access
from lamina.search.vectors import pack
from lamina.storage.migrations import steps
from lamina.storage.postgres.postgres_connection import Held
from lamina.storage.postgres.postgres_errors import translate
from lamina.storage.postgres.postgres_migrations import grants, oldest_code
from lamina.storage.postgres.postgres_names import adapt
from lamina.storage.postgres.postgres_store import PostgresStore
from lamina.testing import WordCounter
from lamina.testing.postgres_server import SERVICE
from lamina.testing.samples import a_draft, a_fact, a_milestone, a_rewrite, an_append, an_erasure, at, some_facts
from lamina.testing.suites.checks_suite import ALL, is_whole
from lamina.testing.suites.erasing_suite import remembered
from tests.sizes import share
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database):
    store = database.store()
    await store.open()
    yield store
    await store.close()


# schemas


async def test_many_processes_may_open_a_new_database_at_once(servers):
    """One of them makes the tables, the others wait for it."""
    server = servers()
    url = server.url(server.new_database(), SERVICE)
    stores = [PostgresStore(url, pool_min=0) for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(store.put_setting("profile", "x") for store in stores))
    assert {await store.setting("profile") for store in stores} == {"x"}
    for store in stores:
        await store.close()


async def test_an_open_store_needs_no_right_to_change_the_schema(new_database):
    """A role with the documented grants, and nothing more, can do all but scrub."""
    database = new_database()
    database.run("create role clerk login")
    database.run(grants("clerk"))
    store = PostgresStore(database.server.url(database.name, "clerk"), tenant="t")
    await store.open()
    await remembered(store)
    assert await is_whole(store, "s1")
    await store.rebuild()
    assert await store.scrub() == "dead"
    cuts = (await store.changes("ann", 0)).cuts
    assert await store.put_vectors("ann", "e", cuts, {"m1": b"12345"}, None)
    with pytest.raises(StoreError, match="right is missing"):
        await store.index_user("ann", "e")
    assert not store.bypasses_row_security
    await store.close()


async def test_a_role_can_be_taken_in_each_transaction(new_database, caplog):
    """A superuser that takes a plain role is restrained; one that does not is warned about."""
    database = new_database()
    restrained = PostgresStore(database.server.url(database.name), role=SERVICE)
    await restrained.open()
    assert not restrained.bypasses_row_security
    await restrained.append(an_append("s1", a_draft("m1")))
    assert await restrained.scrub() == "vacuumed"
    await restrained.close()
    assert not caplog.records
    free = PostgresStore(database.server.url(database.name))
    await free.open()
    assert free.bypasses_row_security
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "row_security_bypassed"
    ]
    assert await free.check() == []
    await free.close()


async def test_a_schema_that_is_too_new_is_refused(new_database):
    """Unless it says that code of this age can work with it."""
    database = new_database()
    newest = steps("postgres")[-1][0]
    database.run(f"insert into lamina.schema_versions values ({newest + 1}, {newest})")
    side_by_side = database.store()
    await side_by_side.open()
    await side_by_side.append(an_append("s1", a_draft("m1")))
    await side_by_side.close()
    database.run(f"update lamina.schema_versions set oldest_code = {newest + 1} where version = {newest + 1}")
    with pytest.raises(SchemaTooNew, match="upgrade Lamina"):
        await database.store().open()


async def test_stores_of_one_database_are_apart_by_schema_and_prefix(new_database):
    """Each has its own tables, also under the same tenant."""
    database = new_database()
    stores = [database.store(**given) for given in ({}, {"schema": "other"}, {"prefix": "b_"}, {"prefix": "c_"})]
    for number, store in enumerate(stores):
        await store.open()
        await store.append(an_append("s1", a_draft("m1", f"number {number}")))
    assert [(await store.messages(ids=["m1"]))[0].text for store in stores] == [
        f"number {number}" for number in range(4)
    ]
    for store in stores:
        assert await is_whole(store, "s1")
        await store.close()


def test_every_migration_says_what_code_it_needs():
    """So that old and new processes can run side by side while a service is upgraded."""
    assert [oldest_code(script) <= number for number, _, script in steps("postgres")] == [True] * len(steps("postgres"))
    with pytest.raises(ValueError, match="must say"):
        oldest_code("create table x (a int)")


# values


@pytest.mark.parametrize(
    "text",
    [
        "\u0000 written out",
        "a\u0001\u001f\u007f\u0085\u2028b",
        "\U0010ffff\ufffe\uffff \ud7ff\ue000",
        "e\u0301 é \u202e \ufeff",
        "100% %s %(x)s ? :name :: '' \\ \" $1 {0}",
        "",
    ],
)
async def test_texts_come_back_exactly(store, text):
    """In bodies, metadata, titles and ids; what JSON writes in other characters comes back as well."""
    draft = a_draft("m1", text)._replace(body=json.dumps({"role": "user", "content": text}), metadata='{"%s": "?:a"}')
    plain = "s" + text.replace("\0", "")
    await store.append(an_append(plain, draft, user_id=plain, agent_id=plain, key=plain or None))
    (message,) = await store.messages(plain, ALL)
    assert (message.text, message.session_id, message.metadata) == (text, plain, {"%s": "?:a"})
    assert (await store.append(an_append(plain, draft, user_id=plain, agent_id=plain, key=plain))).duplicates == ("m1",)
    await store.add_milestone(a_milestone("mile", plain))
    await store.update_session(plain, at(1), status="ended")
    assert [session.id for session in await store.sessions(user_id=plain, status="ended")] == [plain]
    assert await store.users() == [plain]


async def test_a_nul_that_cannot_be_stored_is_refused_in_our_words(store):
    """Ids and titles never have one, since no memory takes it; a store says so instead of storing something else."""
    for verb in (
        store.append(an_append("s\0", a_draft("m1"))),
        store.sessions(ids=["\0"]),
        store.append(an_append("s1", a_draft("m1"), user_id="\0")),
        store.update_session("\0", at(), status="ended"),
    ):
        with pytest.raises(InputError, match="NUL"):
            await verb


async def test_long_values_fit_into_the_indexes(store):
    """A fact told by hand may be 4,000 characters long, and a word as long as a message."""
    await store.append(an_append("s1", a_draft("m1", "x" * 50_000), a_draft("m2", "\u00e9" * 5_000)))
    value = "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(4_000))
    assert await store.commit_facts(some_facts(a_fact("f1", value, key=None, quote="x")))
    assert [fact.value for fact in await store.facts("ann")] == [value]
    for term in (*terms("x" * 50_000), *terms("\u00e9" * 5_000)):
        assert len((await store.find_words("ann", [term], 9)).matches) == 1
    assert await is_whole(store, "s1")


def test_statements_get_the_drivers_marks_and_the_prefix():
    """Nothing in quotes or of the same name is touched."""
    assert adapt("select messages from sessions where tenant = ? and id = any(:ids)", "p_") == (
        b"select messages from p_sessions where tenant = %s and id = any(%(ids)s)"
    )
    assert adapt("update sessions set a = '%' where sessions.b = :b and c::int % 2 = 0", "p_") == (
        b"update p_sessions set a = '%%' where p_sessions.b = %(b)s and c::int %% 2 = 0"
    )
    assert adapt("select 'from sessions? It''s :b.' from sessions as s", "p_") == (
        b"select 'from sessions? It''s :b.' from p_sessions as s"
    )


# errors


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("postgresql://nobody@127.0.0.1:1/x?connect_timeout=2", "cannot be reached", id="unreachable"),
        pytest.param("{stranger}", "does not let this user in", id="unknown-user"),
        pytest.param("{nowhere}", "no such database", id="unknown-database"),
    ],
)
async def test_what_is_wrong_is_said_in_our_words(servers, url, words):
    """With what would help, and without the password."""
    server = servers()
    url = url.format(stranger=server.url("postgres", "stranger"), nowhere=server.url("nowhere"))
    with pytest.raises(StoreError, match=words) as told:
        await PostgresStore(url, connect_timeout_s=CEILING).open()
    assert "secret" not in str(told.value)


async def test_an_unreachable_server_is_named_in_one_line():
    """What was tried, and what to check; not the driver's question on a line of its own."""
    with pytest.raises(StoreError) as told:
        await PostgresStore("postgresql://nobody@127.0.0.1:1/x", connect_timeout_s=CEILING).open()
    assert str(told.value) == (
        '127.0.0.1/x: connection to server at "127.0.0.1", port 1 failed: Connection refused; '
        "the server cannot be reached: check host, port and network, and that it runs"
    )


async def test_a_missing_right_is_named(new_database, servers):
    """To make tables in a database of another's."""
    database = new_database()
    database.run("create role guest login")
    with pytest.raises(StoreError, match="right is missing"):
        await PostgresStore(database.server.url(database.name, "guest"), schema="new").open()


async def test_a_missing_extension_is_named(servers):
    """With what to install."""
    server = servers()
    name = server.new_database()
    with server.connect(name) as connection:
        connection.execute("drop extension vector")
        connection.execute("revoke create on database " + name + " from " + SERVICE)
        connection.execute(f"alter database {name} owner to postgres")
    with pytest.raises(StoreError, match="pgvector is needed"):
        await PostgresStore(server.url(name, SERVICE)).open()


async def test_a_read_only_server_is_named(database):
    """As a standby is."""
    store = database.store()
    database.run(f"alter role {SERVICE} set default_transaction_read_only = on")
    try:
        await store.open()
        assert await store.sessions() == []
        with pytest.raises(StoreReadOnly, match="target_session_attrs=read-write"):
            await store.append(an_append("s1", a_draft("m1")))
    finally:
        database.run(f"alter role {SERVICE} reset default_transaction_read_only")
        await store.close()


async def test_who_waits_too_long_for_another_writer_is_told(database, store):
    """Instead of waiting for ever."""
    await store.append(an_append("s1", a_draft("m1")))
    hasty = database.store(lock_timeout_s=0.2)
    await hasty.open()
    with database.server.connect(database.name) as connection, connection.transaction():
        connection.execute("select 1 from lamina.sessions for update")
        with pytest.raises(StoreBusy, match="other writers"):
            await hasty.update_session("s1", at(1), status="ended")
        slow = database.store()
        await slow.open()  # with all the time it takes
        slow._server._options = replace(slow.options, statement_timeout_s=0.2)
        with pytest.raises(StoreBusy, match="longer than allowed"):
            await slow.update_session("s1", at(1), status="ended")
        await slow.close()
    await hasty.update_session("s1", at(1), status="ended")
    await hasty.close()


@pytest.mark.parametrize("known", [True, False], ids=["users-known", "users-unknown"])
async def test_who_waits_for_one_user_keeps_no_other_waiting(database, known):
    """With two connections, a lock that is held elsewhere, and many that want it, others write and read on."""
    store = database.store(pool_max=2)
    await store.open()
    await store.append(an_append("s1", a_draft("m1")))
    await store.commit_facts(some_facts(a_fact("f1", message_id="m1")))
    if known:
        await store.update_session("s1", at(1), status="paused")
    (lock,) = Held(user="ann").statements(store._server.names, store.tenant)
    with database.server.connect(database.name) as connection, connection.transaction():
        connection.execute(lock)
        waiting = [
            asyncio.create_task(verb)
            for number in range(20)
            for verb in (
                store.append(an_append("s1", a_draft(f"more{number}"))),
                store.update_session("s1", at(2), status="active"),
                store.note_accesses([Access(id="f1", times=1, at=at(3))]),
            )
        ]
        async with asyncio.timeout(CEILING):
            for number in range(20):
                await store.append(an_append("b1", a_draft(f"b{number}"), user_id="bob"))
                assert len(await store.messages("b1", ALL)) == number + 1
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    assert len(await store.messages("s1", ALL)) == 21
    await store.close()


async def test_who_gets_no_connection_is_told(database):
    """And what to raise."""
    store = database.store(pool_max=1)
    await store.open()
    taken, release = asyncio.Event(), asyncio.Event()

    async def hold(_tx):
        taken.set()
        await release.wait()

    holding = asyncio.create_task(store._server.read(hold))
    await taken.wait()
    store._server._shared.pool.timeout = 0.1
    with pytest.raises(StoreBusy, match="all 1 connections are in use: raise lamina_pool_max"):
        await store.sessions()
    release.set()
    await holding
    await store.close()


async def test_a_session_that_becomes_another_users_meanwhile_is_looked_at_again(database, store):
    """Whoever waited for other writers of the old user waits for those of the new one."""
    await store.append(an_append("s1", a_draft("m1")))
    (lock,) = Held(user="ann").statements(store._server.names, store.tenant)
    with database.server.connect(database.name) as connection, connection.transaction():
        connection.execute(lock)
        waiting = asyncio.create_task(store.update_session("s1", at(1), status="ended"))
        await until(
            lambda: database.run(
                "select 1 from pg_locks join pg_database on pg_database.oid = database"
                " where locktype = 'advisory' and not granted and datname = current_database()"
            )
        )
        connection.execute("update lamina.sessions set user_id = 'bob' where id = 's1'")
    assert (await waiting).user_id == "bob"


async def test_a_closed_store_says_so(database):
    """And how to go on."""
    store = database.store()
    with pytest.raises(StoreError, match="not open"):
        await store.sessions()
    await store.open()
    await store.close()
    with pytest.raises(StoreError, match="closed; open it again"):
        await store.sessions()


# notices


def listening(database):
    """The server's processes that tell of work."""
    return database.run(
        "select pid from pg_stat_activity where query ilike 'listen%' and state = 'idle'"
        " and datname = current_database()"
    )


async def test_waiting_workers_hear_of_work_in_other_processes(database, store):
    """At once, of their own tenant only, also several at a time."""
    neighbour = database.store("neighbour")
    await neighbour.open()
    hearing = [asyncio.create_task(store.wait_for_work(CEILING)) for _ in range(2)]
    other = asyncio.create_task(neighbour.wait_for_work(CEILING))
    await until(lambda: len(listening(database)) == 2)
    writer = database.store()
    await writer.open()
    await writer.append(an_append("s1", a_draft("m1"), due=True))
    assert await asyncio.gather(*hearing) == [True, True]
    claim = await store.claim("w", at(1), at(2))
    await store.release(claim)
    waiting = asyncio.create_task(store.wait_for_work(CEILING))
    await writer.update_session("s1", at(3), status="ended")
    assert await waiting
    assert not other.done()
    await neighbour.append(an_append("s1", a_draft("m1"), due=True))
    assert await other
    await writer.close()
    await neighbour.close()


async def test_no_connection_is_left_by_one_that_stops_to_listen_at_once(database):
    """Whatever it was doing when it was told to stop: connecting, asking whether a pool is between, listening."""
    rounds = share(60)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for number in range(rounds):
            store = database.store(pool_min=0)
            await store.open()
            waiting = asyncio.create_task(store.wait_for_work(CEILING))
            await asyncio.sleep(0.012 * number / rounds)
            await store.close()
            waiting.cancel()
            await asyncio.wait([waiting])
    assert [str(one.message) for one in told] == []


async def test_a_lost_listening_connection_is_made_again(database, store):
    """Whoever waits is told, since something may have been missed; then all is heard again."""
    waiting = asyncio.create_task(store.wait_for_work(CEILING))
    ((lost,),) = await until(lambda: listening(database))
    database.run("select pg_terminate_backend(%s)", (lost,))
    assert await waiting
    waiting = asyncio.create_task(store.wait_for_work(CEILING))
    await store.append(an_append("s1", a_draft("m1"), due=True))
    assert await waiting


# many vectors


async def test_a_heavy_user_can_have_an_index(database, store):
    """It finds nearly all of the nearest; without it, and for others, all of them are found."""
    random = np.random.default_rng(1)
    centres = random.normal(size=(40, 64))
    made = centres[random.integers(0, 40, 3_000)] + 0.4 * random.normal(size=(3_000, 64))
    vectors = pack(made)

    async def put(user, session, some, start=0):
        ids = [f"{user}{start + n}" for n in range(len(some))]
        await store.append(an_append(session, *(a_draft(one) for one in ids), user_id=user))
        assert await store.put_vectors(user, "e", 0, dict(zip(ids, some, strict=True)), None)

    await put("bob", "s0", vectors[:300])
    database.run("analyze")  # so that the server takes Ann for one with few
    for start in range(0, 3_000, 500):
        await put("ann", "s1", vectors[start : start + 500], start)
    asked = pack(made[::100] + 0.2 * random.normal(size=(30, 64)))
    exact = [await store.nearest("ann", "e", one, 20) for one in asked]
    with pytest.raises(NotFound):
        await store.index_user("eve", "e")
    await store.index_user("ann", "e")
    try:
        near = [await store.nearest("ann", "e", one, 20) for one in asked]
        recall = np.mean([len({*a} & {*b}) / 20 for a, b in zip(exact, near, strict=True)])
        assert recall >= 0.95
        scans = "select idx_scan from pg_stat_user_indexes where indexrelname like 'near_%'"

        async def scanned():
            await store.nearest("ann", "e", asked[0], 20)
            return database.run(scans)[0][0]

        await until(scanned)  # the server tells with a delay, and after another query
    finally:
        await store.drop_user_index("ann", "e")  # the database is another test's next
    assert [await store.nearest("ann", "e", one, 20) for one in asked] == exact


async def test_a_user_of_any_name_can_have_an_index(store):
    """The id is a part of the statement, where marks of values and names of tables mean nothing."""
    user = "what? :now 100% it's from sessions \\"
    vectors = dict(zip(("m1", "m2", "m3"), pack(np.eye(3, 64)), strict=True))
    await store.append(an_append("s1", *map(a_draft, vectors), user_id=user))
    assert await store.put_vectors(user, "e", 0, vectors, None)
    await store.index_user(user, "e")
    try:
        assert await store.nearest(user, "e", vectors["m2"], 1) == ["m2"]
    finally:
        await store.drop_user_index(user, "e")  # the database is another test's next


# forgetting


@pytest.mark.parametrize(("how", "scrub"), [("vacuum", "vacuumed"), ("full", "rewritten")])
async def test_nothing_forgotten_is_left_in_the_files(new_database, how, scrub):
    """Of the word index in any case; in pages of tables only `full` overwrites what is unused, and it alone says so."""
    database = new_database()
    store = database.store(scrub=how)
    await store.open()
    for number in range(40):
        text = "my zanzibar secret" if number == 20 else f"green tea {number} " * 5
        await store.append(an_append("s1", a_draft(f"m{number}", text)))
    database.run("checkpoint")
    assert len(left_in_files(database, b"zanzibar")) >= 2
    row = (await store.audit("s1")).rows[20]
    await store.erase(an_erasure(a_rewrite(row)))
    assert (await store.setting("scrub")).startswith("due")
    assert await store.scrub() == scrub
    assert await store.setting("scrub") == ("vacuumed" if how == "vacuum" else None)
    database.run("checkpoint")
    left = left_in_files(database, b"zanzibar")
    assert left <= ({"messages"} if how == "vacuum" else set())
    await store.close()


async def test_scrubbing_that_fails_is_told_in_our_words(database, store):
    """And is due still."""
    await store.append(an_append("s1", a_draft("m1")))
    await store.erase(an_erasure(a_rewrite((await store.audit("s1")).rows[0])))
    database.run("alter table lamina.links rename to elsewhere")
    try:
        with pytest.raises(StoreError, match="a table is missing"):
            await store.scrub()
    finally:
        database.run("alter table lamina.elsewhere rename to links")
    assert (await store.setting("scrub")).startswith("due")


@pytest.mark.parametrize(("how", "scrub"), [("vacuum", "vacuumed"), ("full", "rewritten")])
async def test_a_receipt_says_what_was_done_with_the_old_bytes(new_database, how, scrub):
    """Only tables written anew count as scrubbed. While another transaction sees what was deleted, it is dead."""
    database = new_database()
    url = f"{database.url}&lamina_scrub={how}"
    async with AsyncMemory(url, worker=False) as memory:
        await memory.add([{"role": "user", "content": f"It is {word}.", "id": word} for word in ("tea", "milk")])
        with psycopg.connect(database.server.url(database.name)) as other:
            other.execute("set transaction isolation level repeatable read")
            other.execute("select count(*) from lamina.sessions")  # not what a rewrite would have to wait for
            if how == "vacuum":
                first = await memory.forget(message_id="tea")
                assert (first.scrub, first.scrubbed) == ("dead", False)
                assert [one.scrub for one in await memory.receipts()] == ["dead"]
        done = await memory.forget(message_id="milk")
        assert (done.scrub, done.scrubbed) == (scrub, scrub == "rewritten")
        assert {(one.scrub, one.scrubbed) for one in await memory.receipts()} == {(scrub, scrub == "rewritten")}
        assert (await memory.forget(message_id="milk", dry_run=True)).scrub is None


async def test_a_role_that_sees_no_other_sessions_knows_who_still_reads(new_database):
    """What others see is known to every role, so that "vacuumed" is never said too early."""
    database = new_database()
    store = PostgresStore(database.server.url(database.name), role=SERVICE)
    await store.open()
    with psycopg.connect(database.server.url(database.name)) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from lamina.sessions")
        await store.append(an_append("s1", a_draft("m1")))
        assert await store.scrub() == "dead"
    assert await store.scrub() == "vacuumed"
    await store.close()


def left_in_files(database, word):
    """Tables and indexes whose files have this word; the write-ahead log is outside of what a store can reach."""
    names = dict(
        database.run(
            "select pg_relation_filepath(c.oid), c.relname from pg_class c join pg_namespace n on n.oid ="
            " c.relnamespace where n.nspname in ('lamina', 'pg_toast') and c.relkind in ('r', 'i', 't')"
        )
    )
    return {name for path, name in names.items() if word in (database.server.data / path).read_bytes()}


# the face


def test_a_memory_lies_in_postgres_by_its_url(databases):
    """Blocking and awaited, with options in the URL; all that a memory does works on it."""
    database = databases()
    url = database.url + "&lamina_pool_max=3&lamina_prepare_threshold=none&lamina_statement_timeout_s=200"
    with Memory(url, counter=WordCounter()) as memory:
        memory.add("I'm Alex. I prefer Python.", user_id="alex", session_id="s1")
        memory.settle()
        assert "Python" in memory.context("which language do I like?", user_id="alex", session_id="s1").text
        assert memory.search("python", user_id="alex")
        assert memory.facts("alex")
        assert memory.verify().ok
        memory.forget(session_id="s1")
        assert memory.verify().ok
        assert not memory.search("python", user_id="alex")


def test_the_command_line_works_on_postgres(databases):
    """Also the commands that only read, which look for a file elsewhere."""
    environ = {**os.environ, "LAMINA_DATABASE": databases().url}

    def lamina(*arguments):
        command = [sys.executable, "-m", "lamina", *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout

    lamina("add", "I prefer Python.", "--user", "alex")
    assert "Python" in lamina("search", "python", "--user", "alex")


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("lamina_schema=No-Name", "schema must be lower-case"),
        ("lamina_prefix=a%22b", "prefix must be lower-case"),
        ("lamina_pool_max=many", "give a number"),
        ("lamina_pool_max=0", "pool_max"),
        ("lamina_statement_timeout_s=0", "above 0"),
        ("lamina_direct=db:port", "host:port of the server itself"),
        ("lamina_scrub=never", "'vacuum' or 'full'"),
        ("lamina_role=", "role must be the name of a role"),
        ("lamina_color=red", "unknown parameter 'lamina_color'.*lamina_schema"),
    ],
)
async def test_wrong_options_are_refused_with_what_would_work(parameter, words):
    with pytest.raises(InputError, match=words):
        await AsyncMemory(f"postgresql://x@localhost/y?{parameter}").open()


async def test_a_parameter_that_libpq_does_not_know_is_named():
    """Without what else is in the URL."""
    with pytest.raises(StoreError, match='postgresql: invalid URI query parameter: "colour"') as told:
        await AsyncMemory("postgresql://x:secret@localhost/y?colour=red").open()
    assert "secret" not in str(told.value)


async def test_a_missing_driver_is_named(monkeypatch):
    """With the extra that has it."""
    for name in [name for name in sys.modules if name.startswith("lamina.storage.postgres.postgres_store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"pip install 'lamina\[postgres\]'"):
        await AsyncMemory("postgresql://x@localhost/y").open()


def test_other_libpq_parameters_pass_untouched():
    """Several hosts and what kind of server is wanted are libpq's."""
    url = "postgresql://u:p@a:1,b:2/d?target_session_attrs=read-write&sslmode=require&lamina_schema=mine"
    store = PostgresStore(url)
    assert store._server._url == "postgresql://u:p@a:1,b:2/d?target_session_attrs=read-write&sslmode=require"
    assert store.options.schema == "mine"
    assert "p@" not in store._server.where


def test_errors_that_callers_see_name_no_server():
    """What is wrong with the input is told to whoever sent it; where the database is, is not."""
    error = translate(psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), "db.internal/secret")
    assert isinstance(error, InputError)
    assert "NUL" in str(error)
    assert "db.internal" not in str(error)
