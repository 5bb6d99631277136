"""Invariant 7: after `forget` the bytes are nowhere; the closure is complete; what is left is as if never told."""

import random
import sqlite3
import string
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, Memory
from lamina.language.words import terms
from lamina.testing.samples import a_fact, some_facts
from lamina.values.message import Message
from lamina.values.receipt import Receipt
from tests.invariants.strategies import START, USER, CheapCounter
from tests.sizes import share

CASES, PARTS = share(200), 8
FACTS = (
    "My name is {}.",
    "I live in {}.",
    "I moved to {}.",
    "I work as a {}.",
    "I'm allergic to {}.",
    "I love {}.",
    "My favourite colour is {}.",
    "We decided to use {} because it is boring.",
    "My wife {} says hello.",
)
PLAIN = ("The {0} is here.", "What about {0}?", "Nothing of {0} matters. " * 3, "{0}")
TARGETS = ("message", "span", "session", "fact", "text", "user")


@dataclass
class Case:
    """One memory with secrets in it, and which message, session and place each is at."""

    memory: Memory
    path: Path
    chance: random.Random
    secrets: dict[str, tuple[str, str]]  # secret -> session id, message id
    vectors: dict[str, tuple[bytes, object]] = field(default_factory=dict)  # item -> its vector, what it was made of

    @property
    def files(self) -> bytes:
        return b"".join(found.read_bytes() for found in sorted(self.path.parent.glob(self.path.name + "*")))


def secret(chance: random.Random) -> str:
    return "Z" + "".join(chance.choices(string.ascii_lowercase, k=11))


def told(case: Case, session_id: str, number: int) -> list[dict[str, Any]]:
    """One turn, with a secret somewhere in it."""
    chance, word = case.chance, secret(case.chance)
    message_id = f"{session_id}-{number}"
    case.secrets[word] = (session_id, message_id)
    sentence = chance.choice(FACTS + PLAIN).format(word)
    user: dict[str, Any] = {"role": "user", "content": sentence, "id": message_id}
    place = chance.randrange(6)
    if place == 0:
        user["content"] = [{"type": "text", "text": sentence}, {"type": "image_url", "image_url": {"url": f"x:{word}"}}]
    elif place == 1:
        user["metadata"] = {"note": [word]}
    elif place == 2:
        user["name"] = word
    reply: dict[str, Any] = {"role": "assistant", "content": f"Fine, number {number}.", "id": f"{message_id}-reply"}
    if chance.random() < 0.3:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
        result = {"role": "tool", "tool_call_id": f"c{number}", "content": "found", "id": f"{message_id}-tool"}
        return [user, {"role": "assistant", "content": None, "tool_calls": [call], "id": f"{message_id}-call"}, result]
    if chance.random() < 0.5:
        question = secret(chance)
        reply["content"] += f" Is it {question}?"
        case.secrets[question] = (session_id, reply["id"])
    return [user, reply]


def a_case(seed: int, folder: Path) -> Case:
    chance = random.Random(seed)
    names = sorted(PROFILES)
    profile = PROFILES[names[seed % len(names)]]
    path = folder / f"case{seed}.db"
    memory = Memory(path, profile=profile, counter=CheapCounter(), worker=False, now=lambda: START + timedelta(days=9))
    case = Case(memory=memory, path=path, chance=chance, secrets={})
    number = 0
    for index in range(chance.randint(1, 3)):
        for _ in range(chance.choice([3, 8, 24])):
            number += 1
            turn = told(case, f"s{index}", number)
            at = (START + timedelta(minutes=number)).isoformat()
            key = f"key{number}" if chance.random() < 0.5 else None
            stamped = [{**message, "created_at": at} for message in turn]
            memory.add(stamped, user_id=USER, session_id=f"s{index}", idempotency_key=key)
            if chance.random() < 0.1:
                memory.settle()
        if chance.random() < 0.5:
            memory.end(f"s{index}")
    memory.settle()
    return case


def asked(case: Case, verb: str, *values: Any, **named: Any) -> Any:
    """What the store itself says."""
    store = case.memory._memory._parts.store
    try:
        getattr(store, verb)(*values, **named).send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a store waited for an event loop")


def words(item: Any) -> object:
    """What a vector is made of."""
    return item.body if isinstance(item, Message) else getattr(item, "text", None) or (item.id, item.tokens)


def answer(case: Case) -> None:
    """Store what is said next to each question as an answer to it, about somebody."""
    messages = [message for one in case.memory.sessions(USER) for message in case.memory.messages(one.id)]
    answers = []
    for asks, says in pairwise(messages):
        if asks.session_id != says.session_id or says.role != "user" or not asks.text.endswith("?"):
            continue
        fact = a_fact(
            f"answer-{says.id}",
            says.text,
            user_id=USER,
            session_id=says.session_id,
            message_id=says.id,
            key=None,
            quote=says.text,
            about=next((word for word in case.secrets if word in says.text), None),
            question=asks.text,
            question_id=asks.id,
        )
        answers.append(replace(fact, seq=says.seq))
    asked(case, "commit_facts", some_facts(*answers, user_id=USER))


def embed(case: Case) -> None:
    """Give everything that is searchable a vector unlike any other."""
    while True:
        found = asked(case, "to_embed", USER, "e", 50)
        made = {item.id: case.chance.randbytes(16) for item in found.items}
        case.vectors |= {item.id: (made[item.id], words(item)) for item in found.items}
        assert asked(case, "put_vectors", USER, "e", found.cuts, made, found.count if found.done else None)
        if found.done:
            break
    files = case.files
    assert all(vector in files for vector, _ in case.vectors.values())


def there(case: Case) -> dict[str, object]:
    """What can be searched now."""
    items = [
        *asked(case, "messages", ids=list(case.vectors)),
        *asked(case, "summaries", user_id=USER),
        *asked(case, "facts", USER),
        *asked(case, "episodes", USER),
    ]
    return {item.id: words(item) for item in items}


def forgotten(case: Case, kind: str) -> tuple[Receipt, list[str]]:
    """Forget something of that kind; the receipt, and the secrets that must be gone."""
    memory, chance, secrets = case.memory, case.chance, case.secrets
    word = chance.choice(sorted(secrets))
    session_id, message_id = secrets[word]
    if kind == "message":
        return memory.forget(message_id=message_id), [word]
    if kind == "span":
        seq = memory.message(message_id).seq
        gone = [m.id for m in memory.messages(session_id, max(1, seq - 2), seq + 2)]
        receipt = memory.forget(session_id=session_id, first=max(1, seq - 2), last=seq + 2)
        return receipt, [other for other, (_, place) in secrets.items() if place in gone]
    if kind == "session":
        gone = [other for other, (place, _) in secrets.items() if place == session_id]
        return memory.forget(session_id=session_id), gone
    if kind == "fact" and (facts := memory.facts(USER)):
        fact = chance.choice(facts)
        receipt = memory.forget(fact_id=fact.id)
        left = set(receipt.mentions_left)
        quoted = [w for w in secrets if w in fact.quote and w in fact.value and secrets[w][1] not in left]
        return receipt, quoted
    if kind == "user":
        return memory.forget(user_id=USER), list(secrets)
    hand = memory.remember(f"The word is {word}", user_id=USER, tags=[word])
    memory.update(hand.id, f"The word was {word}, they say")
    memory.milestone(session_id, f"Reached {word}")
    memory.rename(session_id, f"All of {word} in a title")
    memory.add_episode(session_id, "breakthrough", f"Found {word}", linked=[hand.id])
    return memory.forget(text=f" {word.upper()}", user_id=USER), [word]


def traces(case: Case, gone: list[str]) -> list[str]:
    """Where words still are: in the files, in the vocabulary of the word index, in an export made now."""
    files = case.files
    found = [
        f"{word} in a file" for word in gone for form in (word, word.lower(), word.upper()) if form.encode() in files
    ]
    connection = sqlite3.connect(case.path)
    for table in ("message_words", "summary_words"):
        connection.execute(f"create virtual table temp.{table}_terms using fts5vocab (main, {table}, row)")
        known = {row[0] for row in connection.execute(f"select term from {table}_terms")}
        found += [f"{word} in {table}: {term}" for word in gone for term in terms(word) if term in known]
    connection.close()
    exported = case.path.with_suffix(".jsonl")
    case.memory.export(exported)
    told = exported.read_text("utf-8").lower()
    found += [f"{word} in an export" for word in gone if word.lower() in told]
    exported.unlink()
    return found


def vectors_left(case: Case, kind: str, place: str) -> list[bytes]:
    """The vectors of what was erased or rewritten, which are in no byte; those of all other messages still are."""
    files, now = case.files, there(case)
    lost = {item_id: vector for item_id, (vector, made_of) in case.vectors.items() if now.get(item_id) != made_of}
    assert lost or kind == "fact", place
    assert [item_id for item_id, vector in lost.items() if vector in files] == [], place
    for message in asked(case, "messages", ids=list(case.vectors.keys() - lost.keys())):
        assert case.vectors[message.id][0] in files, f"{place}: the vector of {message.id} was not to go"
    if kind == "user":
        assert lost.keys() == case.vectors.keys(), place
        connection = sqlite3.connect(case.path)
        for table in ("changes", "vectors", "embedded"):
            assert connection.execute(f"select * from {table}").fetchall() == [], place
        connection.close()
    return list(lost.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_forgotten_is_in_no_byte(part: int, tmp_path: Path) -> None:
    """Of random memories and targets: no file, word index or later export has it; verify is clean; it stays so."""
    for seed in range(part, CASES, PARTS):
        case = a_case(seed, tmp_path)
        kind = TARGETS[seed % len(TARGETS)]
        files = case.files
        kept = {word for word in case.secrets if word.encode() in files}
        answer(case)
        embed(case)
        receipt, gone = forgotten(case, kind)
        place = f"case {seed} ({kind}, {case.memory.profile.name})"
        assert kept, place
        assert receipt.scrubbed, place
        assert traces(case, gone) == [], place
        files = case.files
        for word in sorted(set(case.secrets) - set(gone))[:3] if kind in {"message", "text"} else ():
            assert word.encode() in files, f"{place}: {word} was not to go"
        lost = vectors_left(case, kind, place)
        report = case.memory.verify()
        assert report.problems == (), place
        case.memory.settle()
        files = case.files
        for word in gone:
            assert word.encode() not in files, f"{place}: {word} came back"
        assert not [vector for vector in lost if vector in files], f"{place}: a vector came back"
        case.memory.close()
        case.path.unlink()


@pytest.mark.parametrize("kind", ["message", "span", "fact", "text"])
@pytest.mark.parametrize("seed", range(1000, 1000 + share(4)))
def test_forgetting_again_finds_nothing(kind: str, seed: int, tmp_path: Path) -> None:
    """The closure is a fixpoint: the same target a second time has nothing left to erase, and a dry run says so."""
    case = a_case(seed, tmp_path)
    with case.memory as memory:
        word = min(case.secrets)
        session_id, message_id = case.secrets[word]
        fact = (memory.facts(USER) or [memory.remember(word, user_id=USER)])[0]
        targets: dict[str, dict[str, Any]] = {
            "message": {"message_id": message_id},
            "span": {"session_id": session_id, "first": 1, "last": 3},
            "fact": {"fact_id": fact.id},
            "text": {"text": word, "user_id": USER},
        }
        planned = memory.forget(**targets[kind], dry_run=True)
        assert memory.receipts() == [], "a dry run leaves no receipt"
        done = memory.forget(**targets[kind])
        for name in ("messages", "redacted", "summaries", "facts", "episodes", "digests", "milestones"):
            assert getattr(planned, name) == getattr(done, name), name
        if kind == "fact":
            return
        again = memory.forget(**targets[kind])
        assert not any((again.messages, again.redacted, again.summaries, again.facts, again.episodes))
        assert [receipt.id for receipt in memory.receipts()] == [done.id]


@pytest.mark.parametrize("seed", range(2000, 2000 + share(12)))
def test_what_is_left_is_as_if_it_had_never_been_said(seed: int, tmp_path: Path) -> None:
    """Summaries, facts and episodes after forgetting are those of a memory that only ever had the placeholders."""
    case = a_case(seed, tmp_path)
    sessions = [session.id for session in case.memory.sessions(USER)]
    chosen = [place for _, place in case.chance.sample(sorted(case.secrets.values()), k=2)]
    case.memory.forget(message_id=chosen)
    profile = case.memory.profile
    clock = lambda: START + timedelta(days=9)  # noqa: E731 - the same for both
    with (
        case.memory as memory,
        Memory(tmp_path / "never.db", profile=profile, counter=CheapCounter(), worker=False, now=clock) as never,
    ):
        for session_id in sessions:
            copied = [
                {**message.to_openai(), "id": message.id, "created_at": message.created_at.isoformat()}
                | ({"metadata": dict(message.metadata)} if message.metadata else {})
                for message in memory.messages(session_id)
            ]
            never.add(copied, user_id=USER, session_id=session_id)
            if memory.session(session_id).status == "ended":
                never.end(session_id)
        never.settle()
        assert _derived(memory, sessions) == _derived(never, sessions)


def _derived(memory: Memory, sessions: list[str]) -> tuple[Any, ...]:
    summaries = [
        (s.session_id, s.kind, s.layer, s.covers, s.text, s.status)
        for session_id in sessions
        for s in memory.summaries(session_id)
    ]
    facts = sorted((f.category, f.slot, f.value, f.quote, f.status, f.message_id) for f in memory.facts(USER))
    episodes = sorted((e.kind, e.title, e.summary, e.turns.first) for e in memory.episodes(USER))
    return summaries, facts, episodes
