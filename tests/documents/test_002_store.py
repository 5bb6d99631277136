"""Document 002: PostgreSQL with pgvector as the store."""

from typing import Any

import pytest

from lamina import Memory
from tests.documents.talks import Talk
from tests.places import Databases


def test_postgresql_with_pgvector_is_a_store(databases: Any) -> None:
    """002.10: messages, summaries and facts lie in the database; what they mean lies there as pgvector's vectors."""
    place = Databases(databases)
    with Memory(place(), profile="assistant", worker=False) as memory:
        talk = Talk(memory)
        talk.add("user", "I live in Porto and I prefer tea to coffee.")
        talk.add("assistant", "Noted.")
        talk.turns(22, words=4)
        memory.settle()
        assert talk.summaries()
        assert [hit.text for hit in memory.search("Which town is my home?", user_id=talk.user_id, kinds=["fact"])]
        assert memory.verify().ok
    counted = {
        table: place.rows(f"select count(*) from {table}")[0][0]
        for table in ("messages", "summaries", "facts", "vectors")
    }
    assert counted["messages"] == 46
    assert min(counted.values()) > 0
    ((kind, dimensions, near),) = place.rows(
        "select pg_typeof(meaning)::text, vector_dims(meaning), meaning <=> meaning < 0.001 from vectors limit 1"
    )
    assert (kind, dimensions, near) == ("vector", 384, True)


@pytest.mark.also_postgres
def test_a_tenant_is_exported_and_forgotten_alone(place: Any, tmp_path: Any) -> None:
    """002.10: tenants share tables; what is done to one leaves the others as they were."""
    seen = {}
    for tenant in ("acme", "globex"):
        with Memory(place(), tenant=tenant, worker=False) as memory:
            memory.add([f"I work at {tenant}.", "I live in Porto."], user_id="ann", session_id="s1")
            memory.settle()
            memory.export(tmp_path / f"{tenant}.jsonl")
            seen[tenant] = (tmp_path / f"{tenant}.jsonl").read_text("utf-8")
    assert "globex" not in seen["acme"]
    with Memory(place(), tenant="acme", worker=False) as memory:
        memory.forget(user_id="ann")
        assert memory.sessions() == []
        assert memory.verify().ok
    with Memory(place(), tenant="globex", worker=False) as memory:
        memory.export(tmp_path / "after.jsonl")
        assert (tmp_path / "after.jsonl").read_text("utf-8") == seen["globex"]
        assert memory.verify().ok
    for file in tmp_path.glob("*.jsonl"):
        file.unlink()
    assert b"work at acme" not in place.every_byte()
