"""Damage done to PostgreSQL's tables behind Lamina's back: skipped in reads, reported, mended where it is derived."""

import pytest

from lamina.maintenance import integrity
from lamina.testing.samples import a_digest, a_rewrite, an_erasure
from lamina.testing.suites.checks_suite import ALL, embedded, found_ids, is_whole
from lamina.testing.suites.erasing_suite import remembered

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database):
    store = database.store()
    await store.open()
    await remembered(store)
    await embedded(store)
    assert await is_whole(store, "s1")
    yield store
    await store.close()


async def reported(store):
    audit = await store.audit("s1")
    return {problem.kind for problem in [*integrity.problems(audit), *await store.check()]}


PLACE = "(select place from lamina.messages where id = 'm2')"
WORDS = [
    pytest.param(f"delete from lamina.message_words where place = {PLACE}", id="words-gone"),
    pytest.param(f"delete from lamina.message_words where place = {PLACE} and term = 'milk'", id="a-word-gone"),
    pytest.param("delete from lamina.message_words", id="all-words-gone"),
    pytest.param("update lamina.message_words set user_id = 'bob'", id="of-another-user"),
    pytest.param("insert into lamina.message_words values ('default', 'ann', 'stray', 9999999)", id="of-no-message"),
    pytest.param("delete from lamina.summary_words", id="summary-words-gone"),
    pytest.param(
        "insert into lamina.summary_words select tenant, user_id, 'tea', place from lamina.summaries where id = 'a'",
        id="words-of-a-folded-summary",
    ),
]


@pytest.mark.parametrize("damage", WORDS)
async def test_a_damaged_word_index_is_reported_and_built_anew(store, database, damage):
    """It is derived: nothing of it is lost."""
    before = [found_ids(await store.find_words("ann", [term], 99)) for term in ("tea", "milk", "like")]
    database.run(damage)
    assert await reported(store) == {"index"}
    await store.rebuild()
    assert await is_whole(store, "s1")
    assert [found_ids(await store.find_words("ann", [term], 99)) for term in ("tea", "milk", "like")] == before
    assert found_ids(await store.find_words("ann", ["stray"], 9)) == set()


MESSAGES = [
    pytest.param("update lamina.messages set body = replace(body, 'milk', 'silk') where id = 'm2'", id="words"),
    pytest.param("update lamina.messages set body = '{\"role\": ' where id = 'm2'", id="broken-json"),
    pytest.param("update lamina.messages set metadata = '{\"a\": 1}' where id = 'm2'", id="metadata"),
    pytest.param("update lamina.messages set created_at = 'soon' where id = 'm2'", id="time"),
    pytest.param("update lamina.messages set role = 'assistant' where id = 'm2'", id="role"),
    pytest.param("update lamina.messages set leaf = '\\x00' where id = 'm2'", id="digest-of-content"),
    pytest.param("update lamina.messages set salt = '\\xff' where id = 'm2'", id="salt"),
]


@pytest.mark.parametrize("damage", MESSAGES)
async def test_a_damaged_message_is_skipped_and_reported_and_can_be_forgotten(store, database, caplog, damage):
    """Reads go on without it; its words, which are not known, leave the index as well."""
    database.run(damage)
    assert [m.id for m in await store.messages("s1", ALL)] == [
        "m1", "m1-reply", "m2-reply", "m3", "m3-reply", "m4", "m4-reply",
    ]  # fmt: skip
    assert {(record.table, record.row) for record in caplog.records if record.message == "row_skipped"} == {
        ("messages", "m2")
    }
    assert "log" in await reported(store)
    row = (await store.audit("s1")).rows[2]
    (place,) = database.run("select place from lamina.messages where id = 'm2'")[0]
    await store.erase(an_erasure(a_rewrite(row)))
    terms = {term for (term,) in database.run("select term from lamina.message_words where place = %s", (place,))}
    assert "milk" not in terms


DERIVED = [
    pytest.param("update lamina.summaries set record = replace(record, 'tea', 'sea') where id = 'ab'", id="summary"),
    pytest.param("update lamina.facts set record = replace(record, 'tea', 'sea') where id = 'f1'", id="fact"),
    pytest.param("update lamina.episodes set record = record || ' ' where id = 'e1'", id="episode"),
    pytest.param("update lamina.sessions set messages = 99", id="counters"),
    pytest.param("update lamina.receipts set record = replace(record, 'a', 'b')", id="receipt"),
    pytest.param("update lamina.vectors set user_id = 'bob'", id="vectors-of-another-user"),
    pytest.param("update lamina.vectors set seq = seq + 50 where seq = 1", id="vectors-of-another-message"),
]


@pytest.mark.parametrize("damage", DERIVED)
async def test_other_damage_is_reported(store, database, damage):
    """Each kind by its own check."""
    await store.erase(an_erasure(facts=("f9",), derived=False))
    assert await is_whole(store, "s1")
    database.run(damage)
    assert await reported(store)


async def test_a_damaged_digest_is_passed_over(store, database):
    """The one before it answers, and the next takes its place."""
    newest = (await store.summaries(user_id="ann", digests=True, live=False))[0].version
    database.run(f"update lamina.summaries set digest = '\\x00' where kind = 'digest' and version = {newest}")
    assert {digest.version for digest in await store.summaries(user_id="ann", digests=True, live=False)} == set(
        range(1, newest)
    )
    assert "digest" in await reported(store)
    assert await store.commit(a_digest("ann", newest))
    assert (await store.summaries(user_id="ann", digests=True, live=False))[0].version == newest
    assert await is_whole(store, "s1")


async def test_rows_without_a_session_cannot_be(store, database):
    """The database itself refuses them."""
    for table in ("messages", "facts", "episodes", "milestones", "proposals"):
        with pytest.raises(Exception, match="foreign key"):
            database.run(f"update lamina.{table} set session_id = 'nowhere' where session_id is not null")
