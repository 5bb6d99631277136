"""Document 002: its two tables as views, on both databases, with the document's own statements."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory
from lamina.models.embeddings.static import StaticEmbedder
from lamina.testing.postgres_server import SERVICE
from lamina.values.fact import FACT_STATUSES
from tests.documents.natural_talk import MESSAGES
from tests.documents.talks import Clock
from tests.places import Databases

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "sql.md").read_text("utf-8")
STAGE_1, STAGE_2 = re.findall(r"SELECT (?:category|turn_range, summary, turn_start)[^;`]*?(?=;|\"{3})", PAGE)
EPISODES = "SELECT turn_range, summary, turn_start, turn_end, embedding FROM episodic_memory WHERE user_id = 'user123'"


def fill(memory: Memory) -> None:
    memory.add(list(MESSAGES[:50]), user_id="user123", session_id="s1")
    memory.add(["I live in Berlin.", "I work at night."], user_id="user123", session_id="s2")
    memory.settle()


def check_facts(memory: Memory, rows: Sequence[Sequence[Any]]) -> None:
    """The rows of stage 1 are the facts that a context shows, the most important first."""
    facts = [fact for fact in memory.facts("user123") if fact.importance >= 0.5]
    assert [row[4] for row in rows] == [fact.importance for fact in facts]
    assert sorted(row[2] for row in rows) == sorted(fact.value for fact in facts)
    assert ("identity", "name", "Nadia") in [tuple(row[:3]) for row in rows]


def test_the_statements_of_the_document_on_sqlite(tmp_path: Path) -> None:
    """002.15: any program that reads SQLite runs them; what is forgotten is gone from the views, too."""
    path = tmp_path / "chat.db"
    with Memory(path, profile="assistant", worker=False) as memory, closing(sqlite3.connect(path)) as connection:
        fill(memory)
        check_facts(memory, connection.execute(STAGE_1).fetchall())
        every = "select value, is_active from structured_facts where key = 'location'"
        assert ("Berlin", 1) in connection.execute(every).fetchall()
        (summary,) = memory.summaries("s1")
        rows = connection.execute(EPISODES).fetchall()
        assert [row[:4] for row in rows] == [("turns 1-10", summary.text, 1, 10)]
        assert all(len(row[4]) == 4 + 384 for row in rows), "a scale and a signed byte for each dimension"
        memory.forget(user_id="user123")
        assert connection.execute("select count(*) from structured_facts").fetchone() == (0,)
        assert connection.execute("select count(*) from episodic_memory").fetchone() == (0,)
    assert b"nadia" not in path.read_bytes().lower()


def test_a_damaged_fact_does_not_break_the_view(tmp_path: Path) -> None:
    """002.15: it is left out, as everywhere."""
    path = tmp_path / "chat.db"
    with Memory(path, profile="assistant", worker=False) as memory, closing(sqlite3.connect(path)) as connection:
        fill(memory)
        before = connection.execute("select count(*) from structured_facts").fetchone()[0]
        connection.execute("update facts set record = '{' where id = (select min(id) from structured_facts)")
        assert connection.execute("select count(*) from structured_facts").fetchone()[0] == before - 1


def test_the_statements_of_the_document_on_postgresql(databases: Any) -> None:
    """002.15: both stages, as written; a tenant sees its own rows only, the service's role as well as the owner."""
    place = Databases(databases)
    for tenant in ("acme", "globex"):
        with Memory(place(), profile="assistant", tenant=tenant, worker=False) as memory:
            fill(memory)
            if tenant == "globex":
                memory.remember("Rover", user_id="user123", category="identity", key="dog")
    made = place._made["chat.db"]
    with made.server.connect(made.name, SERVICE) as connection:
        connection.execute(f"set search_path to {made.options['schema']}, public")
        assert connection.execute("select count(*) from structured_facts").fetchone() == (0,), "no tenant, no rows"
        counts = {}
        for tenant in ("acme", "globex"):
            connection.execute("select set_config('lamina.tenant', %s, false)", (tenant,))
            counts[tenant] = connection.execute("select count(*) from structured_facts").fetchone()[0]
            assert connection.execute("select distinct tenant from structured_facts").fetchall() == [(tenant,)]
            assert connection.execute("select distinct tenant from episodic_memory").fetchall() == [(tenant,)]
            with Memory(place(), tenant=tenant, worker=False) as memory:
                check_facts(memory, connection.execute(STAGE_1).fetchall())
                (summary,) = memory.summaries("s1")
            near, far = (str(StaticEmbedder().vectors([text])[0].tolist()) for text in (summary.text, "photosynthesis"))
            stage_2 = STAGE_2.replace(":query_embedding", "%(vector)s::vector")
            ((turns, text, first, last, distance),) = connection.execute(stage_2, {"vector": near}).fetchall()
            assert (turns, text, first, last) == ("turns 1-10", summary.text, 1, 10)
            assert distance < 0.01
            assert not connection.execute(stage_2, {"vector": far}).fetchall()
        assert counts["globex"] == counts["acme"] + 1
    with Memory(place(), tenant="acme", worker=False) as memory:
        memory.forget(user_id="user123")
    with made.server.connect(made.name, SERVICE) as connection:
        connection.execute(f"set search_path to {made.options['schema']}, public")
        connection.execute("select set_config('lamina.tenant', 'acme', false)")
        assert connection.execute("select count(*) from structured_facts").fetchone() == (0,)
        connection.execute("select set_config('lamina.tenant', 'globex', false)")
        assert connection.execute("select count(*) from episodic_memory").fetchone() == (1,)


@pytest.mark.parametrize("view", ["structured_facts", "episodic_memory"])
def test_the_views_are_no_way_around_row_level_security(databases: Any, view: str) -> None:
    """002.15: they run with the rights of who asks."""
    place = Databases(databases)
    with Memory(place(), worker=False) as memory:
        memory.add("I live in Porto.", user_id="user123")
        memory.settle()
    ((options,),) = place.rows(f"select reloptions from pg_class where oid = '{view}'::regclass")
    assert options == ["security_invoker=true"]


@pytest.mark.also_postgres
def test_when_the_standing_of_a_fact_changed(place: Any, clock: Clock) -> None:
    """002.15: when its successor was written down, however long ago it ceased to be true; never before it was made."""
    with Memory(place(), profile="assistant", worker=False, now=clock) as memory:

        def say(text: str, **sent: str) -> datetime:
            clock.ahead(days=9)
            memory.add({"role": "user", "content": text, **sent}, user_id="user123", session_id="s1")
            memory.settle()
            return clock()

        first = say("I live in Ghent.", created_at="2015-03-01T09:00:00Z")
        moved = say("I moved to Porto in 2019.")
        dog = memory.remember("Rover", user_id="user123", category="identity", key="dog")
        clock.ahead(days=3)
        memory.retract(dog.id)
        retracted = clock()
        lease = memory.remember(
            "until May", user_id="user123", category="identity", key="lease", valid_until="2025-05-01"
        )
        known = {fact.value: fact for fact in memory.facts("user123", statuses=FACT_STATUSES)}
        assert known["Ghent"].valid_until is not None
        assert known["Ghent"].valid_until < first
        rows = rows_of(place, "select value, status, created_at, updated_at from structured_facts")
    told = {value: (status, when(created), when(updated)) for value, status, created, updated in rows}
    assert told["Ghent"] == ("superseded", first, moved)
    assert told["Porto"] == ("active", moved, moved)
    assert told["Rover"] == ("retracted", moved, retracted)
    assert told["until May"] == ("active", retracted, lease.valid_until)
    assert all(created <= updated for _, created, updated in told.values())


def rows_of(place: Any, query: str) -> list[Any]:
    """What any program reads in the database of a memory."""
    if isinstance(place, Databases):
        return list(place.rows(query))
    with closing(sqlite3.connect(place())) as connection:
        return connection.execute(query).fetchall()


def when(found: str | datetime) -> datetime:
    return found if isinstance(found, datetime) else datetime.fromisoformat(found)
