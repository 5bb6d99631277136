"""Files of earlier schemas: opened as they are, nothing lost that cannot be found again."""

import asyncio
import sqlite3
from dataclasses import replace

import pytest

from lamina import Memory
from lamina.language.words import terms
from lamina.log import chain, records
from lamina.maintenance import integrity
from lamina.protocols.store import ChangedSession, Changes
from lamina.storage.migrations import APPLICATION_ID, statements, steps
from lamina.storage.relational_rows import to_us
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.storage.sqlite.sqlite_words import index_text, owner_token
from lamina.testing import WordCounter
from lamina.testing.samples import (
    a_digest,
    a_fact,
    a_fold,
    a_rewrite,
    a_summary,
    a_turn,
    an_append,
    an_erasure,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import embedded, with_vectors
from lamina.values.message import Span
from lamina.values.session import Counters

ALL = Span(first=1, last=100)
MESSAGE = "session_id, seq, turn, id, role, body, created_at, metadata, model, tokens, salt, leaf, digest"
SUMMARY = "id, user_id, session_id, kind, layer, version, first, last, status, folded_into, record, digest"
TENANTS = ("default", "other")


def schema_1(path):
    """A file as the first version left it: two tenants with the same ids, folded, with facts and a digest."""
    connection = sqlite3.connect(path, isolation_level=None)
    (first, *_) = steps("sqlite")
    assert first[0] == 1
    connection.execute("pragma journal_mode = wal")
    connection.execute("begin")
    for statement in statements(first[2]):
        connection.execute(statement)
    connection.execute("pragma user_version = 1")
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    for tenant in TENANTS:
        fill(connection, tenant)
    connection.execute("commit")
    connection.close()


def fill(connection, tenant):
    drafts = [*a_turn(1, text="I like green tea."), *a_turn(2, text="I like the café."), *a_turn(3, text="And rain?")]
    append = an_append("s1", *drafts)
    rows, counters, digest = chain.build_rows("s1", Counters(), chain.first_hash("s1"), drafts, append.salts)
    connection.execute(
        "insert into sessions (tenant, id, user_id, status, started_us, last_us, touched_us, messages, turns, tokens,"
        " closed, cursor, cursor_turn, cursor_tokens, version, digest, pending)"
        " values (?, 's1', 'ann', 'active', ?, ?, ?, ?, ?, ?, ?, 4, 2, ?, 3, ?, 0)",
        (tenant, to_us(at()), to_us(at()), to_us(at()), counters.messages, counters.turns, counters.tokens,
         counters.closed, sum(row.tokens for row in rows[:4]), digest),
    )  # fmt: skip
    owner = owner_token(tenant, "ann")
    for row, draft in zip(rows, drafts, strict=True):
        place = connection.execute(
            f"insert into messages (tenant, {MESSAGE}) values ({', '.join('?' * 14)})", (tenant, *row[:13])
        ).lastrowid
        connection.execute(
            "insert into message_words (rowid, owner, body) values (?, ?, ?)", (place, owner, index_text(draft.text))
        )
    for summary, live in summaries():
        encoded = records.encode_summary(summary)
        place = connection.execute(
            f"insert into summaries (tenant, {SUMMARY}) values ({', '.join('?' * 13)})",
            (tenant, *(getattr(encoded, name) for name in SUMMARY.split(", "))),
        ).lastrowid
        if live:
            connection.execute(
                "insert into summary_words (rowid, owner, body) values (?, ?, ?)",
                (place, owner, index_text(summary.text)),
            )
    connection.execute(
        'insert into facts (tenant, id, user_id, session_id, message_id, category, quote, normalised, start, "end",'
        " confidence, importance, created_at) values (?, 'f1', 'ann', 's1', 'm1', 'preference', 'I like green tea.',"
        " 'i like green tea.', 0, 17, 0.9, 0.5, ?)",
        (tenant, at().isoformat()),
    )
    connection.execute("insert into milestones values (?, 'mile', 's1', 1, 'a start', ?)", (tenant, at().isoformat()))
    connection.execute(
        "insert into appends values (?, 'k', 'print', '{\"ids\": [\"m1\"], \"span\": [1, 1]}')", (tenant,)
    )
    connection.execute("insert into settings values (?, 'profile', 'layered')", (tenant,))


def summaries():
    """Two chunks under one summary, and a digest; with whether each is live. `place` is not that of the messages."""
    a = replace(a_summary("a", "s1", Span(first=1, last=2), "Likes tea"), status="folded", folded_into="ab")
    b = replace(a_summary("b", "s1", Span(first=3, last=4), "Likes cafés"), status="folded", folded_into="ab")
    ab = a_summary("ab", "s1", Span(first=1, last=4), "Likes green tea and the café", inputs=("a", "b"))
    return [(a, False), (b, False), (ab, True), (a_digest("ann", 1, "Spoke of cafés"), True)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "lamina.db"
    schema_1(path)
    return path


@pytest.fixture(params=TENANTS)
def store(path, request):
    store = SqliteStore(path, tenant=request.param)
    asyncio.run(store.open())
    yield store
    asyncio.run(store.close())


def found(store, text):
    return {item.id for item in asyncio.run(store.find_words("ann", terms(text), 9)).matches}


def test_messages_and_summaries_of_schema_1_are_all_there(store):
    """With their digests, status and places; the session is whole by every check there is."""
    assert [m.id for m in asyncio.run(store.messages("s1", ALL))] == [d.id for n in (1, 2, 3) for d in a_turn(n)]
    kept = asyncio.run(store.summaries("s1", live=False))
    assert sorted(kept, key=lambda s: s.id) == [s for s, _ in sorted(summaries()[:3], key=lambda pair: pair[0].id)]
    assert asyncio.run(store.summaries(user_id="ann", digests=True, live=False)) == [summaries()[3][0]]
    assert [m.id for m in asyncio.run(store.milestones("s1"))] == ["mile"]
    assert asyncio.run(store.setting("profile")) == "layered"
    audit = asyncio.run(store.audit("s1"))
    assert list(integrity.problems(audit)) == asyncio.run(store.check()) == []
    assert (audit.session.counters.cursor, audit.session.counters.version, audit.session.erasures) == (4, 3, 0)


def test_words_of_schema_1_are_found(store):
    """The index goes by places, which stay: messages, live summaries and the digest are found, folded ones are not."""
    assert found(store, "green") == {"m1", "m1-reply", "ab"}
    assert found(store, "café") == {"m2", "m2-reply", "ab", "digest-ann-1"}
    assert found(store, "spoke") == {"digest-ann-1"}
    assert found(store, "rain") == {"m3", "m3-reply"}


def test_facts_of_schema_1_are_read_again(store):
    """They had no keys, so they are gone, and every message is unread and the session due."""
    assert asyncio.run(store.facts("ann")) == []
    assert asyncio.run(store.sessions(ids=["s1"]))[0].counters.extracted == 0
    assert [m.seq for m in asyncio.run(store.messages("s1", unread=True, limit=99))] == [1, 2, 3, 4, 5, 6]
    assert asyncio.run(store.pending()) == 1


def test_everything_of_schema_1_needs_a_vector(store):
    """Every user is due once, and every session is one that changed."""
    assert asyncio.run(store.changes("ann", 0)) == Changes(count=1, cuts=0, sessions=(ChangedSession("s1", 6),))
    assert asyncio.run(store.users(unembedded="e", limit=9)) == ["ann"]
    asyncio.run(embedded(store))
    messages = {draft.id for number in (1, 2, 3) for draft in a_turn(number)}
    assert asyncio.run(with_vectors(store)) == {"ab", "digest-ann-1", *messages}
    assert asyncio.run(store.users(unembedded="e", limit=9)) == asyncio.run(store.check()) == []


def test_workers_find_the_tenants_of_schema_1(store):
    """All of them, with what is due, and nothing failing."""
    assert asyncio.run(store.tenants()) == ["default", "other"]
    backlog = asyncio.run(store.backlog(at(60), "e"))
    assert (backlog.pending, backlog.aside, backlog.failing, backlog.unembedded) == (1, 0, (), 1)
    assert asyncio.run(store.workers()) == []


def test_a_session_of_schema_1_goes_on(store):
    """It takes messages, folds, facts, and forgets with all that was derived."""
    appended = asyncio.run(store.append(an_append("s1", *a_turn(4), minutes=9)))
    fold = a_fold("s1", a_summary("c", "s1", Span(first=5, last=8), "Of milk"), expect=3, cursor=8)
    assert appended.span == Span(first=7, last=8)
    assert asyncio.run(store.commit(fold))
    assert asyncio.run(store.commit_facts(some_facts(a_fact("f1", "green tea"))))
    assert found(store, "milk") == {"c"}
    erased = asyncio.run(store.erase(an_erasure(a_rewrite(asyncio.run(store.audit("s1")).rows[2]))))
    assert sorted(erased.summaries) == ["ab", "b", "c"]
    assert asyncio.run(store.scrub()) == "overwritten"
    assert found(store, "tea") == {"m1", "m1-reply", "m4", "m4-reply", "a"}
    assert list(integrity.problems(asyncio.run(store.audit("s1")))) == asyncio.run(store.check()) == []


def test_a_migrated_file_has_the_schema_of_a_new_one(path, tmp_path, store):
    """Tables, indexes and checks are the same, whichever way a file came to them."""
    new = SqliteStore(tmp_path / "new.db")
    asyncio.run(new.open())
    asyncio.run(new.close())
    assert schema(path) == schema(tmp_path / "new.db")


def schema(path):
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute("select type, name, tbl_name, sql from sqlite_schema order by 1, 2").fetchall()
        columns = {
            name: connection.execute(f"pragma table_info({name})").fetchall()
            for kind, name, *_ in rows
            if kind == "table"
        }
    finally:
        connection.close()
    return rows, columns


def test_a_migration_that_fails_leaves_the_file_as_it_was(path):
    """It is one transaction: the next try starts from the same file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("create table links (in_the_way)")
    connection.close()
    before = schema(path)
    store = SqliteStore(path)
    with pytest.raises(Exception, match="links"):
        asyncio.run(store.open())
    asyncio.run(store.close())
    assert schema(path) == before


def test_a_memory_of_schema_1_is_opened_and_verified(path):
    """Facts are found again in the words of the log."""
    with Memory(path, profile="layered", counter=WordCounter(), worker=False) as memory:
        assert memory.verify().ok
        memory.settle()
        assert [m.id for m in memory.messages("s1")][:2] == ["m1", "m1-reply"]
        assert "m1" in {fact.message_id for fact in memory.facts("ann")}
        assert memory.verify().ok


def test_words_with_digits_are_indexed_again(tmp_path):
    """A file whose index was written when `error500` was indexed as `error50` finds both, each by its own name."""
    path = tmp_path / "digits.db"
    with Memory(path, worker=False) as memory:
        memory.add(["error500 at noon", "error50 at night"], user_id="ann", session_id="s1")
    connection = sqlite3.connect(path)
    owner = owner_token("default", "ann")
    connection.execute("insert into message_words (message_words) values ('delete-all')")
    for place, body in ((1, "error50 noon"), (2, "error50 night")):
        connection.execute("insert into message_words (rowid, owner, body) values (?, ?, ?)", (place, owner, body))
    for name in ("structured_facts", "episodic_memory"):
        connection.execute(f"drop view {name}")
    connection.execute("drop index digests_live")
    connection.execute("alter table sessions drop column project_id")
    connection.execute("alter table sessions drop column title")
    connection.execute("alter table api_keys drop column user_id")
    connection.execute("alter table changes drop column derived")
    connection.execute("pragma user_version = 7")
    connection.commit()
    connection.close()
    store = SqliteStore(path)
    asyncio.run(store.open())
    for word, text in (("error500", "error500 at noon"), ("error50", "error50 at night")):
        found = asyncio.run(store.find_words("ann", terms(word), 5))
        assert [message.text for message in found.matches] == [text]
    assert asyncio.run(store.setting("words")) is None
    asyncio.run(store.close())
    with Memory(path, worker=False) as memory:
        assert memory.verify().ok
        memory.forget(text="error500", user_id="ann")
        assert memory.verify().ok
