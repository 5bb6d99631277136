"""Damage done to the file behind Lamina's back: skipped in reads, reported by `verify`, mended where it is derived."""

import asyncio
import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from lamina import PROFILES, Conflict, Memory
from lamina.errors import StoreError
from lamina.log.pages import single
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.storage.sqlite.sqlite_words import index_text, owner_token
from lamina.testing import WordCounter
from lamina.testing.samples import a_fold, a_rewrite, a_summary, a_told_episode, a_told_fact, an_erasure, some_facts
from lamina.testing.suites.checks_suite import ALL, embedded
from lamina.values.message import Span

PROFILE = PROFILES["layered"].but(archive_days=None, digest_sessions=5, facts=True, episodes=True)
SAID = [
    "I'm Ann and I live in Lisbon.",
    "I prefer green tea over coffee.",
    "We decided to ship the importer on Fridays.",
    "My sister Eva visits on 14 March 2025.",
    "The budget for the kitchen is 4200 euros.",
    "I am allergic to walnuts.",
    "Which database should we use?",
    "Let us use PostgreSQL for the archive.",
    "I want to run the Porto marathon in autumn.",
    "Please remind me of the dentist on Tuesday.",
]


@dataclass(frozen=True)
class Broken:
    """A file with two folded sessions, and a way to write to it behind Lamina's back."""

    path: str

    def run(self, sql, *values):
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def flip(self, table, column, where, *values):
        """Turn one bit of a text in the middle of it."""
        ((text,),) = self.run(f"select {column} from {table} where {where}", *values)
        raw = bytearray(text.encode())
        raw[len(raw) // 2] ^= 1
        self.run(f"update {table} set {column} = cast(? as text) where {where}", bytes(raw), *values)


def opened(path):
    return Memory(path, profile=PROFILE, counter=WordCounter(), worker=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of which each test breaks a copy."""
    path = tmp_path_factory.mktemp("whole") / "lamina.db"
    with opened(path) as memory:
        for session in ("s1", "s2"):
            for number, text in enumerate(SAID * 4):
                said = {"role": "user", "content": f"Day {number} of {session}. {text}", "id": f"{session}-{number}"}
                memory.add(
                    [said, {"role": "assistant", "content": f"Noted: {text}"}], user_id="ann", session_id=session
                )
        memory.end("s1")
        memory.settle()
        assert memory.verify().ok
    return path


@pytest.fixture
def file(tmp_path, whole):
    return Broken(str(shutil.copy(whole, tmp_path)))


def summaries_of(memory):
    """What is derived, without the ids and times of its making."""
    kept = [s for session in ("s1", "s2") for s in memory.summaries(session, live=False)]
    shown = [(s.session_id, s.kind, s.layer, s.version, s.covers, s.text, s.topics, s.status) for s in kept]
    facts = [(f.message_id, f.quote, f.category, f.key, f.value, f.status) for f in known(memory, "facts")]
    seen = [(e.message_ids, e.kind, e.title, e.summary) for e in known(memory, "episodes")]
    digest = memory.digest("ann")
    return shown, facts, seen, digest.text if digest else None


def known(memory, what):
    """All facts or episodes of ann in the store, whatever their status."""
    return asyncio.run(getattr(memory._memory._parts.store, what)("ann"))


def read_everything(memory):
    """Every reading verb, so that none of them can fail unseen."""
    memory.context("which tea do I prefer?", user_id="ann", session_id="s1")
    memory.context("which tea do I prefer?", user_id="ann", session_id="new")
    memory.search("tea Lisbon walnuts", user_id="ann")
    memory.conversation("s1")
    memory.messages("s1")
    memory.outline("s1")
    memory.stats("ann")
    return summaries_of(memory)


def skipped(caplog):
    return {(record.table, record.row) for record in caplog.records if record.message == "row_skipped"}


MESSAGES = [
    pytest.param(lambda f: f.flip("messages", "body", "id = 's1-3'"), id="bit-flip"),
    pytest.param(lambda f: f.run("update messages set body = '{\"role\": ' where id = 's1-3'"), id="broken-json"),
    pytest.param(lambda f: f.run("update messages set body = cast(x'7bff' as text) where id = 's1-3'"), id="no-utf-8"),
    pytest.param(lambda f: f.run("update messages set body = x'00ff' where id = 's1-3'"), id="bytes-for-text"),
    pytest.param(lambda f: f.flip("messages", "metadata", "id = 's1-3'"), id="metadata"),
    pytest.param(lambda f: f.run("update messages set created_at = 'soon' where id = 's1-3'"), id="time"),
    pytest.param(lambda f: f.run("update messages set role = 'assistant' where id = 's1-3'"), id="role"),
    pytest.param(lambda f: f.run("update messages set leaf = x'00' where id = 's1-3'"), id="digest-of-content"),
    pytest.param(lambda f: f.run("update messages set salt = 'text' where id = 's1-3'"), id="salt"),
]


@pytest.mark.parametrize("damage", MESSAGES)
def test_a_damaged_message_is_skipped_and_stays_reported(file, caplog, damage):
    """Reads go on without it and say so; nothing can bring it back, so `repair` leaves it in the report."""
    damage(file)
    with opened(file.path) as memory:
        read_everything(memory)
        assert skipped(caplog) == {("messages", "s1-3")}
        assert len(memory.messages("s1")) == 2 * len(SAID) * 4 - 1
        report = memory.verify()
        assert {problem.where.split()[1] for problem in report.problems if problem.kind == "log"} == {"s1-3"}
        after = memory.repair()
        assert not after.ok
        assert not any(problem.derived for problem in after.problems)
        assert "s1-3" in after.problems[0].where
        read_everything(memory)


@pytest.mark.parametrize("damage", MESSAGES)
def test_a_session_with_a_damaged_message_goes_on(file, damage):
    """It takes messages and folds them; the id of the damaged one is not free."""
    damage(file)
    with opened(file.path) as memory:
        for number in range(20):
            memory.add([{"role": "user", "content": f"And then {number}?"}, {"role": "assistant", "content": "Yes."}],
                       user_id="ann", session_id="s1")  # fmt: skip
        assert memory.settle().failed == ()
        assert memory.session("s1").counters.cursor > 80
        with pytest.raises(Conflict, match="s1-3"):
            memory.add({"role": "user", "content": "again", "id": "s1-3"}, user_id="ann", session_id="s1")


FACT = "id = (select min(id) from facts where session_id = 's1' and status = 'active')"
EPISODE = "id = (select min(id) from episodes where session_id = 's1')"
LIVE = "session_id = 's1' and status = 'live' and kind = 'long'"
DIGEST = "kind = 'digest' and status = 'live'"


def unindex(file, words, table, where, text):
    """Lose one row of a word index."""
    ((place, body),) = file.run(f"select place, {text} from {table} where {where}")
    said = json.loads(body)
    owner, terms = owner_token("default", "ann"), index_text(said.get("content") or said["text"])
    file.run(f"insert into {words} ({words}, rowid, owner, body) values ('delete', ?, ?, ?)", place, owner, terms)


def changed(sql):
    return lambda file: file.run(sql)


DERIVED = [
    pytest.param(lambda f: f.flip("summaries", "record", LIVE), "summary", True, id="summary-bit-flip"),
    pytest.param(changed(f"update summaries set record = '{{' where {LIVE}"), "summary", True, id="summary-json"),
    pytest.param(
        changed(f"update summaries set record = cast(x'ff' as text) where {LIVE}"), "summary", True, id="summary-utf-8"
    ),
    pytest.param(changed(f"delete from summaries where {LIVE}"), "coverage", False, id="summary-gone"),
    pytest.param(changed("delete from summaries where status = 'folded'"), "provenance", False, id="inputs-gone"),
    pytest.param(changed(f"update summaries set last = last - 2 where {LIVE}"), "summary", False, id="columns"),
    pytest.param(lambda f: f.flip("facts", "record", FACT), "fact", True, id="fact-bit-flip"),
    pytest.param(changed(f"update facts set record = '{{' where {FACT}"), "fact", True, id="fact-json"),
    pytest.param(changed(f"update facts set record = cast(x'ff' as text) where {FACT}"), "fact", True, id="fact-utf-8"),
    pytest.param(changed(f"update facts set record = x'00ff' where {FACT}"), "fact", True, id="fact-bytes"),
    pytest.param(changed("update facts set digest = x'00'"), "fact", True, id="fact-digests"),
    pytest.param(changed(f"update facts set digest = 'text' where {FACT}"), "fact", True, id="fact-digest-text"),
    pytest.param(changed(f"update facts set valid_until = 'soon' where {FACT}"), "fact", True, id="fact-time"),
    pytest.param(changed(f"update facts set accessed_at = 7 where {FACT}"), "fact", True, id="fact-use"),
    pytest.param(changed(f"update facts set message_id = 's1-9' where {FACT}"), "fact", False, id="fact-source"),
    pytest.param(
        changed("update facts set status = 'retracted' where status = 'active'"), "standing", False, id="fact-status"
    ),
    pytest.param(changed("update facts set version = 7"), "standing", False, id="fact-version"),
    pytest.param(lambda f: f.flip("episodes", "record", EPISODE), "fact", True, id="episode-bit-flip"),
    pytest.param(changed(f"update episodes set record = '{{' where {EPISODE}"), "fact", True, id="episode-json"),
    pytest.param(changed("update episodes set digest = x'00'"), "fact", True, id="episode-digests"),
    pytest.param(changed(f"update episodes set accessed_at = 'x' where {EPISODE}"), "fact", True, id="episode-use"),
    pytest.param(changed("update sessions set messages = messages + 3"), "counter", False, id="messages"),
    pytest.param(changed("update sessions set turns = 1, tokens = 7"), "counter", False, id="turns-and-tokens"),
    pytest.param(changed("update sessions set closed = 0"), "counter", False, id="closed"),
    pytest.param(
        changed("update sessions set cursor_turn = 0, cursor_tokens = 1"), "counter", False, id="cursor-counts"
    ),
    pytest.param(changed("update sessions set cursor = cursor - 1 where id = 's1'"), "coverage", False, id="cursor"),
    pytest.param(changed("update sessions set digest = x'00' where id = 's1'"), "chain", False, id="end-of-chain"),
    pytest.param(lambda f: f.flip("summaries", "record", DIGEST), "digest", True, id="digest"),
    pytest.param(
        lambda f: unindex(f, "message_words", "messages", "id = 's1-3'", "body"), "index", False, id="message-words"
    ),
    pytest.param(
        lambda f: unindex(f, "summary_words", "summaries", LIVE, "record"), "index", False, id="summary-words"
    ),
    pytest.param(changed("delete from message_words_docsize"), "index", False, id="word-lengths"),
    pytest.param(changed("delete from message_words_data where id > 10"), "index", False, id="word-index"),
]


@pytest.mark.parametrize(("damage", "kind", "warns"), DERIVED)
def test_what_is_derived_is_mended_to_the_byte(file, caplog, damage, kind, warns):
    """Reads never fail on it, `verify` names it, `repair` makes it again exactly as it was."""
    with opened(file.path) as memory:
        whole = summaries_of(memory)
    damage(file)
    with opened(file.path) as memory:
        read_everything(memory)
        assert bool(skipped(caplog)) == warns
        report = memory.verify()
        assert kind in {problem.kind for problem in report.problems}
        assert all(problem.derived for problem in report.problems)
        after = memory.repair()
        assert after.ok, after.problems
        assert after.mended
        assert memory.verify().ok
        caplog.clear()
        assert read_everything(memory) == whole
        assert not skipped(caplog)


def test_verify_changes_nothing(file):
    """A damaged file is as damaged after it was looked at."""
    file.flip("summaries", "record", LIVE)
    with opened(file.path) as memory:
        first = memory.verify()
        assert memory.verify() == first
        assert not first.ok


def test_one_session_can_be_verified_and_repaired_alone(file):
    """The other stays as it is."""
    for session in ("s1", "s2"):
        file.flip("summaries", "record", "place = (select max(place) from summaries where session_id = ?)", session)
    with opened(file.path) as memory:
        assert {problem.where.split("(")[1] for problem in memory.verify("s1").problems} == {"s1)"}
        assert memory.repair("s1").ok
        assert not memory.verify("s2").ok


def test_a_wrong_link_of_the_chain_is_reported_for_good(file):
    """The chain is evidence: `repair` does not smooth it over."""
    file.run("update messages set digest = x'00' where id = 's1-3'")
    with opened(file.path) as memory:
        found = memory.repair().problems
        assert {problem.kind for problem in found} == {"chain"}
        assert "s1-3" in found[0].where
        assert len(memory.messages("s1")) == 80


@pytest.mark.parametrize("which", ["first", "middle", "last"])
def test_a_message_that_is_gone_is_reported_for_good(file, which):
    """Also after `repair`; the session still takes messages, at new places."""
    seq = {"first": 1, "middle": 40, "last": 80}[which]
    file.run("delete from messages where session_id = 's2' and seq = ?", seq)
    with opened(file.path) as memory:
        read_everything(memory)
        assert f"messages {seq} to {seq} are gone" in {problem.text for problem in memory.verify().problems}
        after = memory.repair()
        assert f"messages {seq} to {seq} are gone" in {problem.text for problem in after.problems}
        memory.add("and on we go", user_id="ann", session_id="s2", idempotency_key="k")
        assert memory.session("s2").counters.messages == 81
        assert f"messages {seq} to {seq} are gone" in {problem.text for problem in memory.verify().problems}


def test_damage_to_a_live_summary_stops_folding_until_it_is_repaired(tmp_path):
    """A rolling summary must not be written on without its old half; the log keeps everything meanwhile."""
    path = tmp_path / "lamina.db"
    with Memory(path, profile="medium_term", counter=WordCounter(), worker=False) as memory:
        for number in range(24):
            memory.add(f"Statement {number} on tea and ships", session_id="s1")
        memory.settle()
    file = Broken(str(path))
    file.flip("summaries", "record", "status = 'live'")
    with Memory(path, profile="medium_term", counter=WordCounter(), worker=False) as memory:
        for number in range(24, 45):
            memory.add(f"Statement {number} on tea and ships", session_id="s1")
        assert memory.settle().failed == ("s1",)
        assert memory.summaries("s1") == []
        assert memory.repair().ok
        (rolling,) = memory.summaries("s1")
        assert rolling.covers == Span(first=1, last=memory.session("s1").counters.cursor)
        assert memory.settle().failed == ()


def test_a_digest_is_written_again_over_a_damaged_one(file):
    """Without a repair, too, as soon as there is something new to tell."""
    file.flip("summaries", "record", "kind = 'digest' and status = 'live'")
    with opened(file.path) as memory:
        memory.end("s2")
        assert memory.settle().failed == ()
        assert memory.digest("ann") is not None
        assert memory.verify().ok


@pytest.mark.parametrize("table", ["message_words", "summary_words"])
def test_a_damaged_word_index_finds_nothing_until_it_is_repaired(file, caplog, table):
    """Where a search looks into it, the warning names it; meaning still finds."""
    file.run(f"update {table}_data set block = x'00' where id > 10")
    with Memory(file.path, profile=PROFILE, counter=WordCounter(), worker=False, cache_mb=1) as memory:
        store: Any = memory._memory._parts.store
        assert asyncio.run(store.find_words("ann", ["tea"], 9)).matches == ()
        assert skipped(caplog) == {("word index", "ann")}
        assert memory.repair().ok
        assert asyncio.run(store.find_words("ann", ["tea"], 9)).matches


@pytest.fixture
def store(file):
    store = SqliteStore(file.path)
    asyncio.run(store.open())
    yield store
    asyncio.run(store.close())


def test_a_damaged_summary_is_not_written_over(file, store):
    """Its words could not be taken out of the index: it is for `repair` to write it again."""
    ((damaged,),) = file.run(f"select id from summaries where {LIVE}")
    file.flip("summaries", "record", "id = ?", damaged)
    counters = asyncio.run(store.sessions(ids=["s1"]))[0].counters
    fold = a_fold("s1", a_summary(damaged, "s1", ALL), expect=counters.version, cursor=counters.cursor)
    with pytest.raises(StoreError, match="`repair` writes it again"):
        asyncio.run(store.commit(fold))
    assert asyncio.run(store.sessions(ids=["s1"]))[0].counters == counters


def kinds_of(problems):
    return {(problem.kind, problem.derived) for problem in problems}


VECTOR = "insert into vectors (tenant, user_id, embedder, item_id, session_id, seq, vector) values"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(changed(f"{VECTOR} ('default', 'ann', 'e', 'gone', null, null, x'00')"), id="of-nothing"),
        pytest.param(changed(f"{VECTOR} ('default', 'ann', 'e', 'gone', 's1', 7, x'00')"), id="of-no-message"),
        pytest.param(changed("update vectors set user_id = 'bob' where item_id = 's1-3'"), id="of-another-user"),
        pytest.param(changed("update vectors set seq = 9999 where item_id = 's1-3'"), id="at-another-place"),
        pytest.param(changed("update vectors set session_id = null where item_id = 's1-3'"), id="at-no-place"),
        pytest.param(
            changed(f"update vectors set user_id = 'bob' where item_id = (select id from facts where {FACT})"),
            id="fact",
        ),
        pytest.param(
            changed(f"update vectors set user_id = 'bob' where item_id = (select id from episodes where {EPISODE})"),
            id="episode",
        ),
        pytest.param(
            changed(f"update vectors set user_id = 'bob' where item_id = (select id from summaries where {DIGEST})"),
            id="digest",
        ),
        pytest.param(
            changed(f"update vectors set item_id = (select min(id) from summaries where status = 'folded')"
                    f" where item_id = (select id from summaries where {LIVE})"), id="no-longer-live",
        ),
    ],
)  # fmt: skip
def test_vectors_of_nothing_are_reported_and_dropped(file, store, damage):
    """Of what is not there, or not that user's; `repair` drops them, others stay, and all are to be read again."""
    asyncio.run(embedded(store, limit=9_999))
    whole, cuts = asyncio.run(store.vectors("ann", "e", 0)), asyncio.run(store.changes("ann", 0)).cuts
    with opened(file.path) as memory:
        assert memory.verify().ok
        damage(file)
        assert kinds_of(memory.verify().problems) == {("vector", True)}
        after = memory.repair()
        assert (after.ok, after.mended) == (True, ("vectors of nothing dropped",))
    left = asyncio.run(store.vectors("ann", "e", 0))
    assert set(left) <= set(whole)
    assert len(left) >= len(whole) - 1
    assert asyncio.run(store.vectors("bob", "e", 0)) == []
    assert asyncio.run(store.changes("ann", 0)).cuts > cuts
    asyncio.run(embedded(store, limit=9_999))
    assert {row.item_id for row in asyncio.run(store.vectors("ann", "e", 0))} == {row.item_id for row in whole}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(changed("update receipts set record = '{}' where id = 'r2'"), id="record"),
        pytest.param(changed("update receipts set digest = 'x' where id = 'r2'"), id="digest"),
        pytest.param(changed("delete from receipts where id = 'r1'"), id="first-gone"),
        pytest.param(changed("delete from receipts where id = 'r2'"), id="one-gone"),
        pytest.param(changed("update receipts set place = 99 where id = 'r1'"), id="order"),
    ],
)
def test_receipts_that_were_changed_are_reported_for_good(file, store, damage):
    """They are evidence: `verify` says that one does not follow, and `repair` does not smooth it over."""
    for number in (1, 2, 3):
        asyncio.run(store.erase(an_erasure(receipt_id=f"r{number}", facts=("nothing",), derived=False)))
    with opened(file.path) as memory:
        assert memory.verify().ok
    damage(file)
    with opened(file.path) as memory:
        assert kinds_of(memory.verify().problems) == {("receipt", False)}
        assert kinds_of(memory.repair().problems) == {("receipt", False)}


def test_a_damaged_fact_that_was_told_is_reported_for_good(file, store, caplog):
    """Nothing can bring it back; the other facts of its slot take their standing without it."""
    told = [a_told_fact("t1", "tea", minutes=1), a_told_fact("t2", "rum", minutes=2)]
    asyncio.run(store.commit_facts(some_facts(*told)))
    file.flip("facts", "record", "id = 't2'")
    with opened(file.path) as memory:
        assert kinds_of(memory.verify().problems) == {("told", False), ("standing", True)}
        assert kinds_of(memory.repair().problems) == {("told", False)}
        assert ("facts", "t2") in skipped(caplog)
    assert asyncio.run(store.facts(ids=["t1"]))[0].status == "active"
    assert single(asyncio.run(store.facts(ids=["t2"]))) is None


def test_a_slot_with_a_damaged_fact_takes_new_ones(file, store):
    """One that cannot be read holds no place: the next is active, and whatever comes after it too."""
    asyncio.run(store.commit_facts(some_facts(a_told_fact("t1", minutes=1))))
    file.flip("facts", "record", "id = 't1'")
    for number in (2, 3):
        assert asyncio.run(store.commit_facts(some_facts(a_told_fact(f"t{number}", f"tea {number}", minutes=number))))
        assert asyncio.run(store.facts(ids=[f"t{number}"]))[0].status == "active"
    asyncio.run(store.erase(an_erasure(facts=("t1", "t3"))))
    assert file.run("select count(*) from facts where id = 't1'") == [(0,)]
    assert asyncio.run(store.facts(ids=["t2"]))[0].status == "active"


def test_episodes_told_by_hand_outlive_a_repair(file, store):
    """Damage beside them has the session folded and read again; they were not derived from it."""
    asyncio.run(store.commit_facts(some_facts(episodes=(a_told_episode("told"),))))
    file.flip("episodes", "record", EPISODE)
    with opened(file.path) as memory:
        assert memory.repair().ok
    assert single(asyncio.run(store.episodes(ids=["told"]))) == a_told_episode("told")


def test_damaged_rows_do_not_stop_forgetting(file, store):
    """Messages can be forgotten beside an append, an episode or a fact that cannot be read."""
    file.run("insert into appends values ('default', 'k', 'print', '{\"ids\": [')")
    file.run("update episodes set record = '{'")
    file.run("update facts set record = '{'")
    row = asyncio.run(store.audit("s1")).rows[0]
    asyncio.run(store.erase(an_erasure(a_rewrite(row))))
    message = single(asyncio.run(store.messages(ids=[row.id])))
    assert message is not None
    assert message.forgotten
    assert file.run("select count(*) from episodes where session_id = 's1'") == [(0,)]


def test_a_message_that_was_damaged_after_it_was_forgotten_in_part_is_reported(file, store):
    """Its place in the chain is checked by what it first said, its words by what it says now."""
    row = asyncio.run(store.audit("s1")).rows[2]
    asyncio.run(store.erase(an_erasure(a_rewrite(row, "Day of [forgotten].", whole=False))))
    with opened(file.path) as memory:
        memory.settle()
        assert memory.verify().ok
    with closing(sqlite3.connect(file.path)) as connection, connection:
        connection.execute("update messages set body = replace(body, 'Day', 'Way') where id = ?", (row.id,))
    with opened(file.path) as memory:
        assert ("log", False) in kinds_of(memory.verify().problems)
    file.run("update messages set body = replace(body, 'Way', 'Day'), erased = x'00' where id = ?", row.id)
    with opened(file.path) as memory:
        assert kinds_of(memory.verify().problems) == {("chain", False)}


def test_a_damaged_page_is_named_and_not_hidden(file):
    """When SQLite itself cannot read the file, the error says that it is damaged and what to do."""
    with opened(file.path):
        pass
    size = 4096
    with open(file.path, "r+b") as raw:  # noqa: PTH123
        for page in range(2, 60):
            raw.seek(page * size)
            raw.write(hashlib.sha256(json.dumps(page).encode()).digest() * (size // 32))
    with pytest.raises(StoreError, match="damaged"):
        read_damaged(file.path)


def read_damaged(path):
    with opened(path) as memory:
        memory.messages("s1")
        memory.verify()


@pytest.mark.parametrize("place", ["first = 1, last = -1", "first = -7, last = -5"])
def test_forgetting_ends_where_summaries_do_not_say_what_they_cover(file, place):
    """All of them are dropped and written again from the messages."""
    file.run(f"update summaries set {place} where session_id = 's2'")
    with opened(file.path) as memory:
        assert memory.forget(message_id="s2-3").messages == ("s2-3",)
        assert memory.verify("s2").ok
        assert memory.summaries("s2")
