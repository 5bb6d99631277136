"""Random memories, and what two exports have in common."""

import json
import random
from pathlib import Path
from typing import Any

from lamina import PROFILES, InputError, Memory
from lamina.testing import FakeClock, WordCounter

PROFILE = PROFILES["project"].but(max_recent_messages=6, chunk_size=4, cap=60, least=0, digest_sessions=3)
SENTENCES = (
    "I live in Porto and I prefer tea to coffee.",
    "I moved to Lisbon last month.",
    "My favourite colour is green.",
    "My favourite colour is blue now.",
    "We decided to ship on Friday because the tests pass.",
    "The import finally works, the bug is fixed!",
    "I am allergic to nuts.",
    "What is the plan for the harbour?\u2028And the lighthouse?",
    "猫が好きです。",
)
_WRITTEN = {"touched_at", "erasures", "attempts"}  # when and how often a session was written to


def opened(path: Path | str, clock: FakeClock | None = None, **options: Any) -> Memory:
    chosen: dict[str, Any] = {"profile": PROFILE, "counter": WordCounter(), "worker": False, **options}
    return Memory(path, now=clock or FakeClock(), **chosen)


def talk(memory: Memory, chance: random.Random, session_id: str, user_id: str, clock: FakeClock) -> None:
    """Some turns; now and then with tools, names, other keys and metadata."""
    for _ in range(chance.randint(1, 9)):
        clock.advance(seconds=chance.randint(1, 9_000))
        said: dict[str, Any] = {"role": "user", "content": chance.choice(SENTENCES)}
        if chance.random() < 0.2:
            said |= {"type": "odd", "metadata": {"mood": 3}, "body": [1], "forgotten": "no"}
        memory.add([said, {"role": "assistant", "content": "Noted.", "model": "m-1"}], session_id=session_id,
                   user_id=user_id)  # fmt: skip


def a_memory(path: Path | str, seed: int) -> Memory:
    """A memory with something of everything."""
    chance, clock = random.Random(seed), FakeClock()
    memory = opened(path, clock)
    sessions = {f"s{number}": chance.choice(["ann", "bob"]) for number in range(chance.randint(2, 5))}
    for session_id, user_id in sessions.items():
        talk(memory, chance, session_id, user_id, clock)
    memory.settle()
    for user_id in ("ann", "bob"):
        told = [memory.remember(chance.choice(SENTENCES), user_id=user_id, tags=["a"]) for _ in range(2)]
        known = [*told, *memory.facts(user_id)]
        for act in (memory.retract, memory.promote, lambda one: memory.update(one, "something else")):
            try:
                act(chance.choice(known).id)
            except InputError:
                continue  # it is said in other words already
        source, target = known[0], chance.choice(known)
        if source.id != target.id:
            memory.link(source.id, target.id, "supports", strength=0.5)
    for session_id in sessions:
        memory.milestone(session_id, f"reached {session_id}")
        memory.rename(session_id, chance.choice([None, f"About: {session_id}", "\u8336 [tea] # now"]))
        if chance.random() < 0.5:
            memory.add_episode(session_id, "breakthrough", "Found it", significance=0.4)
        clock.advance(hours=1)
        end = chance.choice([memory.end, memory.pause, memory.archive, memory.session])
        end(session_id)
    if chance.random() < 0.5:
        memory.accept(memory.regenerate("s0").id)
    if chance.random() < 0.5:
        memory.forget(message_id=memory.messages("s1", 1, 1)[0].id)
    memory.search("tea", user_id="ann")
    memory.settle()
    assert memory.verify().ok
    return memory


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def everything(memory: Memory, path: Path) -> dict[Any, Any]:
    """What an export has, without what tells only when and how often it was written."""
    memory.export(path)
    found = {}
    for record in records(path):
        kind = record["type"]
        if kind in {"header", "receipt"} or (kind == "summary" and record["session_id"] is None):
            continue
        if kind == "session":
            del record["counters"]["version"]
            for name in _WRITTEN:
                del record[name]
        key = record.get("id") or (record["source"], record["target"], record["link_type"])
        assert (kind, key) not in found
        found[kind, key] = record
    return found
