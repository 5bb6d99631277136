"""No verb, and no SQL under the service's role, reaches another tenant's rows in PostgreSQL."""

import inspect

import psycopg
import pytest

from lamina.errors import LaminaError
from lamina.log.pages import single
from lamina.protocols.store import Access, Claim, Part, Reach, Store
from lamina.testing.postgres_server import SERVICE
from lamina.testing.samples import (
    RULE,
    a_digest,
    a_draft,
    a_fact,
    a_fold,
    a_link,
    a_milestone,
    a_proposal,
    a_reading,
    a_rewrite,
    a_summary,
    a_swap,
    a_told_fact,
    an_append,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import ALL, embedded, everything, meaning
from lamina.testing.suites.costs_suite import ENTRY
from lamina.testing.suites.erasing_suite import remembered
from lamina.values.access_key import ApiKey
from lamina.values.codec import encode
from lamina.values.message import Span
from lamina.values.report import WorkerNote

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@pytest.fixture(params=["databases", pytest.param("pooled", marks=pytest.mark.full)])
def database(request):
    """Reached as it is, and through a pgbouncer."""
    return request.getfixturevalue(request.param)()


def calls(session, row, raw):
    """Every verb with the ids of another tenant's rows."""
    claim = Claim(session=session, owner="w1", touch=1)
    swap = a_swap("s1", expect=session.counters.version, cursor=0, retire=("ab", "c"))
    facts = some_facts(
        a_told_fact("told", "rum", minutes=9), change=(a_fact("f1", "rum"),), drop=("f2",), drop_episodes=("e1",),
        links=(a_link("f1", "f2", strength=1.0),), reading=a_reading(session, 2),
    )  # fmt: skip
    return {
        "append": lambda s: s.append(an_append("s1", a_draft("m1", "Else"), user_id="bob", key="k1")),
        "messages": lambda s: s.messages("s1", ALL),
        "messages (ids)": lambda s: s.messages(ids=["m1"]),
        "sessions (ids)": lambda s: s.sessions(ids=["s1"]),
        "sessions": lambda s: s.sessions(),
        "sessions (newest)": lambda s: s.sessions(user_id="ann", newest=True, limit=9),
        "newest_messages": lambda s: s.newest_messages(ids=["s1"]),
        "newest_messages (prefix)": lambda s: s.newest_messages("s", limit=9),
        "first_sessions": lambda s: s.first_sessions("s", "|"),
        "touch_sessions": lambda s: s.touch_sessions(["s1"], at(9)),
        "update_session": lambda s: s.update_session("s1", at(9), status="ended"),
        "add_milestone": lambda s: s.add_milestone(a_milestone("x", "s1")),
        "milestones": lambda s: s.milestones("s1"),
        "view": lambda s: s.view("ann", "s1", Reach(turns=9, fill=True, tokens=999)),
        "contents": lambda s: s.contents("ann"),
        "summaries": lambda s: s.summaries("s1", live=False),
        "summaries (ids)": lambda s: s.summaries(ids=["ab"], live=False),
        "outline": lambda s: s.outline("s1", 9),
        "stats": lambda s: s.stats("ann", days=9),
        "summaries (digests)": lambda s: s.summaries(user_id="ann", digests=True, live=False),
        "facts": lambda s: s.facts("ann"),
        "facts (span)": lambda s: s.facts(session_id="s1", span=ALL),
        "facts (ids)": lambda s: s.facts(ids=["f1"]),
        "workload": lambda s: s.workload("s1", before=9, limit=9, unread=9),
        "episodes": lambda s: s.episodes("ann"),
        "episodes (ids)": lambda s: s.episodes(ids=["e1"]),
        "links": lambda s: s.links("ann"),
        "users": lambda s: s.users(),
        "find_words": lambda s: s.find_words("ann", ["tea", "milk"], 9),
        "changes": lambda s: s.changes("ann", 0),
        "changes (items)": lambda s: s.changes("ann", 0, items=True, embedder="e"),
        "change_counts": lambda s: s.change_counts(),
        "summaries (user)": lambda s: s.summaries(user_id="ann"),
        "vectors": lambda s: s.vectors("ann", "e", 0),
        "vectors (ids)": lambda s: s.vectors("ann", "e", ids=["m1", "f1"]),
        "nearest": lambda s: s.nearest("ann", "e", b"e m1", 9),
        "to_embed": lambda s: s.to_embed("ann", "e", 9),
        "put_vectors": lambda s: s.put_vectors("ann", "e", 0, {"m1": b"x", "f1": b"x"}, 99),
        "users (unembedded)": lambda s: s.users(unembedded="e", limit=9),
        "claim": lambda s: s.claim("w2", at(60), at(61), impatient=True),
        "renew": lambda s: s.renew(claim, at(99)),
        "release": lambda s: s.release(claim),
        "release (failed)": lambda s: s.release(claim, failed="why", retry_at=at(99)),
        "requeue (set aside)": lambda s: s.requeue("s1", set_aside=True),
        "backlog": lambda s: s.backlog(at(99), "e"),
        "note_worker": lambda s: s.note_worker(WorkerNote(id="w1", started_at=at(1), seen_at=at(2))),
        "workers": lambda s: s.workers(),
        "drop_worker": lambda s: s.drop_worker("w1"),
        "tenants": lambda s: s.tenants(),
        "add_cost": lambda s: s.add_cost(ENTRY),
        "costs": lambda s: s.costs(),
        "add_key": lambda s: s.add_key(a_key("empty"), b"e" * 32),
        "find_key": lambda s: s.find_key(b"e" * 32),
        "keys": lambda s: s.keys(),
        "update_key (revoked)": lambda s: s.update_key("key_1", revoked_at=at(99)),
        "add_key (replaces)": lambda s: s.add_key(a_key("empty"), b"f" * 32, replaces="key_1", until=None),
        "tenants (with keys)": lambda s: s.tenants(with_keys=True),
        "update_key (used)": lambda s: s.update_key("key_1", used_at=at(99)),
        "commit": lambda s: s.commit(a_fold("s1", a_summary("z", "s1", Span(first=7, last=8)), expect=3, cursor=8)),
        "commit (digest)": lambda s: s.commit(a_digest("ann", 9)),
        "messages (unread)": lambda s: s.messages("s1", unread=True, limit=9),
        "commit_facts": lambda s: s.commit_facts(facts),
        "note_accesses": lambda s: s.note_accesses([Access(id=x, times=1, at=at(9)) for x in ("f1", "e1")]),
        "put_setting (keep)": lambda s: s.put_setting("secret", b"other".hex(), keep=True),
        "commit (swap)": lambda s: s.commit(swap),
        "put_proposal": lambda s: s.put_proposal(a_proposal("p1", "s1")),
        "proposals": lambda s: s.proposals("s1"),
        "erase": lambda s: s.erase(an_erasure(a_rewrite(row), sessions=("s1",), facts=("f1",), episodes=("e1",))),
        "scrub": lambda s: s.scrub(),
        "receipts": lambda s: s.receipts(),
        "pending": lambda s: s.pending(),
        "requeue": lambda s: s.requeue(),
        "wait_for_work": lambda s: s.wait_for_work(0.01),
        "leases": lambda s: s.leases(),
        "age_sessions (ended)": lambda s: s.age_sessions("ended", at(99), at(99)),
        "age_sessions (archived)": lambda s: s.age_sessions("archived", at(99), at(99)),
        "setting": lambda s: s.setting("profile"),
        "put_setting": lambda s: s.put_setting("profile", "x"),
        "audit": lambda s: s.audit("s1"),
        "check": lambda s: s.check(),
        "rebuild": lambda s: s.rebuild(),
        "rebuild (session)": lambda s: s.rebuild("s1"),
        "unfold": lambda s: s.unfold("s1", RULE),
        "drop_digests": lambda s: s.drop_digests("ann"),
        "users (everyone)": lambda s: s.users(everyone=True, after="", limit=9),
        "standing": lambda s: s.standing("ann"),
        "rows (session)": lambda s: s.rows(Part(session_id="s1", tables=("sessions", "messages"))),
        "rows (user)": lambda s: s.rows(Part(user_id="ann")),
        "rows (tenant)": lambda s: s.rows(Part(tables=("settings",))),
        "chain_end": lambda s: s.chain_end("s1"),
        "put_session (new)": lambda s: s.put_session("s1", raw, "new"),
        "put_rows (session)": lambda s: s.put_rows(Part(user_id="ann", session_id="s1"), {"summaries": []}),
        "put_session": lambda s: s.put_session("s1", raw, "whole"),
        "put_rows (user)": lambda s: s.put_rows(Part(user_id="ann"), dict.fromkeys(USER_TABLES, ())),
        "put_rows (tenant)": lambda s: s.put_rows(Part(), {"settings": []}),
    }  # fmt: skip


VERBS = sorted({name for name, _ in inspect.getmembers(Store, inspect.iscoroutinefunction)} - {"open", "close"})
USER_TABLES = (
    "facts", "episodes", "milestones", "proposals", "links", "forgotten", "embedded", "changes", "summaries", "vectors",
    "sessions",
)  # fmt: skip


def a_key(tenant):
    return ApiKey(id="key_1", tenant=tenant, name=f"key of {tenant}", role="read", created_at=at(1))


async def told(work):
    try:
        return repr(encode(await work))
    except LaminaError as error:
        return repr(error)


@pytest.fixture
async def both(database):
    """A tenant with a full memory, and an empty one."""
    stores = [database.store("full"), database.store("empty")]
    for store in stores:
        await store.open()
    await remembered(stores[0])
    await embedded(stores[0])
    await stores[0].put_setting("profile", "tea")
    await stores[0].add_key(a_key("full"), b"f" * 32)
    await stores[0].add_cost(ENTRY)
    yield stores
    for store in stores:
        await store.close()


async def test_no_verb_of_the_protocol_sees_or_changes_another_tenant(both):
    """Each as if there were no other tenant; a new verb without a case here fails."""
    full, empty = both
    raw = (await full.rows(Part(session_id="s1", tables=("sessions",))))["sessions"][0][1:]
    cases = calls(single(await full.sessions(ids=["s1"])), (await full.audit("s1")).rows[0], raw)
    assert sorted({case.split()[0] for case in cases}) == VERBS
    before = [*await everything(full), *await meaning(full), *await full.keys()]
    shown = {name: await told(case(empty)) for name, case in cases.items()}
    assert [*await everything(full), *await meaning(full), *await full.keys()] == before
    assert "key of full" not in shown["keys"]
    seen = [name for name, text in shown.items() if "tea" in text or "milk" in text or "Ann likes" in text]
    assert seen == ["find_words"]  # which repeats the words that were asked for
    assert "'documents': 0" in shown["find_words"]


@pytest.mark.parametrize("tenant", [None, "", "empty", "FULL", "full "])
async def test_sql_of_another_tenant_sees_and_writes_nothing(both, database, tenant):
    """Whatever the service's role sends, rows of a tenant that it did not name are not there."""
    with database.server.connect(database.name, SERVICE) as connection:
        if tenant is not None:
            connection.execute("select set_config('lamina.tenant', %s, false)", (tenant,))
        for table in database.tables:
            (rows,) = connection.execute(f"select count(*) from {table}").fetchone()
            assert rows == 0, table
            assert connection.execute(f"delete from {table}").rowcount == 0
            assert connection.execute(f"update {table} set tenant = tenant").rowcount == 0
        for name, column in (("settings", "key, value"), ("changes", "user_id, count, cuts")):
            values = "'k', 'v'" if name == "settings" else "'u', 1, 1"
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(f"insert into lamina.{name} (tenant, {column}) values ('full', {values})")
    assert len(await both[0].messages("s1", ALL)) == 8


async def test_every_table_has_its_policy(database):
    """Also for its owner; a table without one would be open to all tenants."""
    found = database.run(
        "select c.relname, c.relrowsecurity and c.relforcerowsecurity, exists (select 1 from pg_policy where"
        " polrelid = c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'lamina'"
        " and c.relkind = 'r' and c.relname <> 'schema_versions'"
    )
    assert len(found) == len(database.tables)
    assert [name for name, forced, policy in found if not (forced and policy)] == []


async def test_a_transaction_of_all_tenants_finds_keys_and_changes_none(both, database):
    """It has to find whose a key is; it sees their names and hashes, and no row of any tenant's memory."""
    with database.server.connect(database.name, SERVICE) as connection:
        connection.execute("select set_config('lamina.tenant', '*', false)")
        for table in database.tables:
            (rows,) = connection.execute(f"select count(*) from {table}").fetchone()
            assert (rows > 0) == table.endswith(('"tenants"', '"api_keys"')), table
        assert connection.execute("update lamina.api_keys set role = 'admin'").rowcount == 0
        assert connection.execute("delete from lamina.api_keys").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "insert into lamina.api_keys (tenant, id, name, role, hash, created_us)"
                " values ('full', 'k', 'n', 'admin', 'h', 1)"
            )


async def test_every_index_begins_with_the_tenant(database):
    """So that no search goes through other tenants' rows, and tables can be spread by tenant.

    But for keys, which are found before it is known whose they are.
    """
    found = database.run(
        "select i.indexrelid::regclass::text, a.attname from pg_index i join pg_class c on c.oid = i.indrelid join"
        " pg_namespace n on n.oid = c.relnamespace left join pg_attribute a on a.attrelid = c.oid and a.attnum ="
        " i.indkey[0] where n.nspname = 'lamina' and c.relname <> 'schema_versions'"
    )
    assert len(found) > 20
    assert [name for name, column in found if column != "tenant"] == ["lamina.api_keys_by_hash"]
