"""What is known after two messages: what stands beside what was said before, and what takes its place."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.facts import FACTS, message
from lamina import Memory
from lamina.knowledge.conflicts import by_family, resolve
from lamina.knowledge.fact_drafts import fact_from_draft
from lamina.models.offline.fact_extraction.fact_extractor import facts_in
from lamina.values.fact import ConflictRule, Fact

START = datetime(2025, 3, 3, 12, tzinfo=UTC)
CASES = [json.loads(line) for line in (FACTS / "standing.jsonl").read_text("utf-8").splitlines()]


def known_after(messages: list[str]) -> list[Fact]:
    """The facts that are active after some messages, one a day."""
    found = []
    for day, text in enumerate(messages):
        said = message(text, START + timedelta(days=day), name=f"m{day}")
        for number, draft in enumerate(facts_in(said)):
            name = f"f{day}.{number}"
            found.append(fact_from_draft(draft, said, user_id="ann", fact_id=name, model="offline", now=START))
    families = by_family(found).values()
    return [fact for one in families for fact in resolve(one, ConflictRule()) if fact.status == "active"]


@pytest.mark.parametrize("case", CASES, ids=[" | ".join(case["messages"]) for case in CASES])
def test_two_messages(case) -> None:
    """Another value stands beside the first or takes its place, as a person would understand it."""
    active = [fact for fact in known_after(case["messages"]) if fact.key is not None]
    shown = [f"{fact.key}: {fact.value}" + (f" ({fact.scope})" if fact.scope else "") for fact in active]
    assert sorted(shown) == sorted(case["active"])


@pytest.mark.parametrize(
    ("first", "second", "key", "value"),
    [
        ("I'm vegetarian.", "I'm now vegan.", "diet", "vegan"),
        ("my favourite colour is blue", "my favourite colour is now green", "favourite colour", "green"),
        ("our backend is in Go", "our backend is now in Rust", "language", "Rust"),
    ],
)
def test_what_is_now_so_takes_the_place_of_what_was(tmp_path, first, second, key, value):
    with Memory(tmp_path / "now.db", worker=False) as memory:
        for number, text in enumerate((first, second)):
            memory.add(text, user_id="ana", session_id=f"s{number}")
            memory.settle()
        assert {fact.key: fact.value for fact in memory.facts("ana")} == {key: value}
        memory.add("I no longer eat fish on Fridays.", user_id="ana", session_id="s2")
        memory.settle()
        assert not any(fact.value.startswith(("eat fish", "likes fish")) for fact in memory.facts("ana"))
