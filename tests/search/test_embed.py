"""Vectors behind the log: embedders that fail, lie, hang or are exchanged; words answer all the while."""

import asyncio
import hashlib
import logging
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lamina import AsyncMemory, Memory, ModelError
from lamina.parts import Patience
from lamina.protocols.store import Changes
from lamina.search import search
from lamina.search.embed import BATCH, Embedding
from lamina.search.filters import Request
from lamina.search.search import Search
from lamina.search.vectors import pack
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio

USER = "ann"
STATIC = "static-384@2"
SAID = ("We got a puppy.", "The board report is late.", "Pasta with basil.", "The train leaves at seven.")


@pytest.fixture
async def opened(any_place: Any) -> AsyncIterator[Callable[..., Any]]:
    """Opens memories without a background worker, all at one place."""
    held: list[AsyncMemory] = []

    async def opener(embedder: Any, **options: Any) -> AsyncMemory:
        memory = AsyncMemory(any_place(), embedder=embedder, **{"worker": False, **options})
        held.append(await memory.open())
        return memory

    yield opener
    for memory in held:
        await memory.close()


@dataclass
class Tiny:
    """An embedder that does as it is told: `mood` is what it does with the next texts."""

    name: str = "tiny-16"
    dimensions: int = 16
    inline: bool = False
    mood: str = "answers"
    dies_after: int = 10**9  # texts
    seen: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self.mood == "waits":
            self.begun.set()
            await self.go.wait()
        if self.mood == "fails" or len(self.seen) + len(texts) > self.dies_after:
            raise ModelError("the embedder is down")
        self.seen += texts
        made = [self.vector(text) for text in texts]
        if self.mood == "too few":
            return made[1:]
        if self.mood == "too short":
            return [vector[1:] for vector in made]
        if self.mood == "of unlike sizes":
            return [made[0][:-1], *made[1:]]
        if self.mood == "not numbers":
            return [[float("nan")] * self.dimensions for _ in made]
        return made

    def vector(self, text: str) -> list[float]:
        """Of the set of its words: the same text has the same vector, always."""
        total = [0.0] * self.dimensions
        for word in text.lower().replace(".", "").replace("?", "").split():
            chance = random.Random(hashlib.sha256(word.encode()).digest())
            total = [number + chance.gauss(0, 1) for number in total]
        return total


async def say(memory: AsyncMemory, *texts: str, session_id: str = "s1") -> None:
    for text in texts:
        await memory.add({"role": "user", "content": text}, user_id=USER, session_id=session_id)


async def best(memory: AsyncMemory, query: str) -> tuple[str, float]:
    """The best message and its cosine."""
    hits = await memory.search(query, user_id=USER, kinds=["message"], explain=True)
    return hits[0].text, hits[0].parts["cosine"]


async def vectors(memory: AsyncMemory, embedder: str) -> dict[str, bytes]:
    return {row.item_id: row.vector for row in await memory._parts.store.vectors(USER, embedder, 0)}


WRONG = ["fails", "too few", "too short", "of unlike sizes", "not numbers"]


@pytest.mark.parametrize("mood", WRONG)
async def test_words_answer_while_the_embedder_does_not(
    opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, mood: str
) -> None:
    """What it gives wrong is not stored, `not_embedded` says why; once it is well, the vectors come."""
    tiny = Tiny(mood=mood)
    memory = await opened(tiny)
    await say(memory, *SAID)
    with caplog.at_level(logging.WARNING):
        settled = await memory.settle()
        assert await best(memory, "basil pasta") == (SAID[2], 0.0)
    assert settled.vectors == 0
    told = {record.message: record for record in caplog.records}
    assert set(told) == {"not_embedded", "query_not_embedded"}
    assert told["not_embedded"].embedder == "tiny-16"  # type: ignore[attr-defined]
    assert told["not_embedded"].reason  # type: ignore[attr-defined]
    assert not await vectors(memory, "tiny-16")
    await say(memory, "A heron in the harbour.")
    tiny.mood = "answers"
    assert (await memory.settle()).vectors >= len(SAID) + 1
    text, cosine = await best(memory, "Pasta with basil.")
    assert (text, cosine > 0.98) == (SAID[2], True)


async def test_a_slow_embedder_is_given_up(
    opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `model_seconds` in the background, and sooner in a search; nothing is lost, nothing waits for it."""
    monkeypatch.setattr(search, "_QUICK", 0.02)
    tiny, patience = Tiny(mood="waits"), Patience(model_seconds=0.05)
    memory = await opened(tiny, patience=patience)
    await say(memory, *SAID)
    with caplog.at_level(logging.WARNING):
        assert (await memory.settle()).vectors == 0
        assert await best(memory, "basil pasta") == (SAID[2], 0.0)
    (told,) = [record for record in caplog.records if record.message == "not_embedded"]
    assert "no answer within 0.05 s" in told.reason  # type: ignore[attr-defined]
    tiny.go.set()
    monkeypatch.setattr(search, "_QUICK", CEILING)
    object.__setattr__(patience, "model_seconds", CEILING)
    assert (await memory.settle()).vectors >= len(SAID)
    assert (await best(memory, "The train leaves at seven."))[1] > 0.98


async def test_the_worker_outlives_a_broken_embedder(tmp_path: Path) -> None:
    """In the background too: appends go on, and the vectors come by themselves."""
    tiny = Tiny(mood="fails")
    patience = Patience(poll_seconds=0.01)
    async with AsyncMemory(tmp_path / "chat.db", embedder=tiny, patience=patience) as memory:
        await say(memory, *SAID)
        assert (await best(memory, "basil pasta"))[0] == SAID[2]
        tiny.mood = "answers"
        await say(memory, "A heron in the harbour.")

        async def all_embedded():
            return len(await vectors(memory, "tiny-16")) > len(SAID)

        await until(all_embedded)


async def test_an_embedder_that_dies_half_way_goes_on_where_it_was(opened: Callable[..., Any]) -> None:
    """What has its vector keeps it and is not asked for again; the rest comes later."""
    tiny = Tiny(dies_after=BATCH)
    memory = await opened(tiny)
    many = [f"Crate number {n} holds lamps." for n in range(BATCH + 40)]
    await memory.add([{"role": "user", "content": text} for text in many], user_id=USER, session_id="s1")
    embedding = Embedding(memory._parts, tiny)
    with pytest.raises(ModelError, match="down"):
        await embedding.embed_all()
    assert len(await vectors(memory, "tiny-16")) == BATCH
    assert (await best(memory, f"crate number {BATCH + 20}"))[0] == many[BATCH + 20]
    tiny.dies_after = 10**9
    assert await embedding.embed_all() == 40
    texts = [text for text in tiny.seen if text.startswith("Crate")]
    assert sorted(texts) == sorted(many)


async def test_what_is_forgotten_meanwhile_gets_no_vector(opened: Callable[..., Any]) -> None:
    """Words read before a forget and embedded after it leave nothing behind."""
    tiny = Tiny(mood="waits")
    memory = await opened(tiny)
    await memory.add({"role": "user", "content": "I live in Zanzibar.", "id": "secret"}, user_id=USER, session_id="s1")
    await say(memory, *SAID)
    giving = asyncio.create_task(Embedding(memory._parts, tiny).embed_all())

    async def forgotten():
        return (await memory.message("secret")).forgotten

    async with asyncio.timeout(CEILING):
        await tiny.begun.wait()
        forgetting = asyncio.create_task(memory.forget(message_id="secret"))
        await until(forgotten)
        tiny.go.set()
        await asyncio.gather(giving, forgetting)
    made = await vectors(memory, "tiny-16")
    assert "secret" not in made
    assert len(made) >= len(SAID)
    assert pack([tiny.vector("I live in Zanzibar.")])[0] not in made.values()


async def test_a_vector_that_comes_between_two_looks_is_not_lost(opened: Callable[..., Any]) -> None:
    """A message that is added and embedded while a search reads is found by its meaning in the next one."""
    tiny = Tiny()
    memory = await opened(tiny)
    await say(memory, *SAID)
    await memory.settle()

    class Interrupted:
        """A store in which something happens right after changes were looked at."""

        happened = False

        def __getattr__(self, name: str) -> Any:
            return getattr(memory._parts.store, name)

        async def changes(self, user_id: str, since: int, **options: Any) -> Changes:
            found: Changes = await memory._parts.store.changes(user_id, since, **options)
            if not self.happened:
                self.happened = True
                await say(memory, "A heron in the harbour.")
                await memory.settle()
            return found

    store: Any = Interrupted()
    searching = Search(replace(memory._parts, store=store))
    request = Request(query="A heron in the harbour.", user_id=USER, top_k=3)
    await searching.search(request)
    best, _ = (await searching.search(request)).hits[0]
    assert best.text == "A heron in the harbour."
    assert best.parts["cosine"] > 0.98


async def test_another_embedder_begins_anew(tmp_path: Path) -> None:
    """Static vectors answer until it has given its own; those of the old one are left alone and never compared."""
    path = tmp_path / "chat.db"
    async with AsyncMemory(path, worker=False) as memory:
        await say(memory, *SAID)
        await memory.settle()
        old = await vectors(memory, STATIC)
        assert len(old) >= len(SAID)
        assert (await best(memory, SAID[0]))[1] > 0.98
    tiny = Tiny()
    async with AsyncMemory(path, worker=False, embedder=tiny) as memory:
        text, cosine = await best(memory, SAID[2])
        assert text == SAID[2]
        assert cosine > 0.98
        assert (await memory.settle()).vectors == len(old)
        new = await vectors(memory, "tiny-16")
        assert set(new) == set(old)
        assert {len(vector) for vector in new.values()} == {4 + 16}
        for text in SAID:
            assert (await best(memory, text))[1] > 0.98
        assert await vectors(memory, STATIC) == old
    async with AsyncMemory(path, worker=False) as memory:
        assert (await best(memory, SAID[0]))[1] > 0.98, "the old vectors are still there to go back to"
        assert (await memory.settle()).vectors == 0


async def test_two_embedders_at_work_on_one_file(tmp_path: Path) -> None:
    """Each gives and reads its own; neither disturbs the other's searches."""
    path = tmp_path / "chat.db"
    first, second = Tiny(name="a-16"), Tiny(name="b-8", dimensions=8)
    async with (
        AsyncMemory(path, worker=False, embedder=first) as one,
        AsyncMemory(path, worker=False, embedder=second) as two,
    ):
        await say(one, *SAID)
        await one.settle()
        assert await best(two, "basil pasta") == (SAID[2], 0.0)
        await two.settle()
        for memory in (one, two):
            assert (await best(memory, SAID[3]))[1] > 0.98
        assert {len(vector) for vector in (await vectors(one, "a-16")).values()} == {20}
        assert {len(vector) for vector in (await vectors(two, "b-8")).values()} == {12}


async def test_workers_share_the_users_among_them(opened: Callable[..., Any]) -> None:
    """Three at once do hardly more together than one alone would."""
    tiny = Tiny()
    memory = await opened(tiny)
    for number in range(120):
        await memory.add("The kettle is on.", user_id=f"user{number}")

    async def work() -> None:
        embedding = Embedding(memory._parts, tiny)
        async for user_id in embedding.users():
            await embedding.embed_user(user_id)
            await asyncio.sleep(0)

    await asyncio.gather(work(), work(), work())
    assert not await memory._parts.store.users(unembedded=tiny.name, limit=1000)
    assert 120 <= len(tiny.seen) < 160


async def test_users_who_never_stop_do_not_keep_a_worker_for_ever(opened: Callable[..., Any]) -> None:
    """It goes on to other work after as many users as there were at first."""
    tiny = Tiny()
    memory = await opened(tiny)
    for number in range(40):
        await memory.add("The kettle is on.", user_id=f"user{number}")
    assert len([user_id async for user_id in Embedding(memory._parts, tiny).users()]) == 40


async def test_no_embedder_at_all(opened: Callable[..., Any]) -> None:
    """With "none", nothing is embedded and words, also those that mean alike, answer alone."""
    memory = await opened("none")
    await say(memory, *SAID)
    assert (await memory.settle()).vectors == 0
    rows = memory._parts.store._database.read(lambda tx: tx.rows("select 1 from vectors"))
    assert not await rows
    assert await best(memory, "basil pasta") == (SAID[2], 0.0)
    assert (await best(memory, "dog"))[0] == SAID[0]
    mixed = await memory.search("pasta", user_id=USER, weights={"semantic": 1, "keyword": 1}, explain=True)
    assert mixed[0].text == SAID[2]
    assert mixed[0].parts["semantic"] == 0


async def test_vectors_go_with_the_words_they_are_of(opened: Callable[..., Any]) -> None:
    """A message of which a part was forgotten gets a new vector, of what is left."""
    tiny = Tiny()
    memory = await opened(tiny)
    content = "I live in Zanzibar. The ferry was red."
    await memory.add({"role": "user", "content": content, "id": "m"}, user_id=USER, session_id="s1")
    await memory.settle()
    before = (await vectors(memory, "tiny-16"))["m"]
    (fact,) = await memory.facts(USER)
    await memory.forget(fact_id=fact.id)
    await memory.settle()
    after = await vectors(memory, "tiny-16")
    assert after["m"] != before
    assert after["m"] == pack([tiny.vector((await memory.message("m")).text)])[0]
    assert fact.id not in after
    assert (await memory.verify()).ok


def test_an_embedder_that_waits_is_driven_by_the_blocking_face(tmp_path: Path) -> None:
    """`Memory` with an embedder that needs an event loop searches and settles as with any other."""
    with Memory(tmp_path / "chat.db", embedder=Tiny(), worker=False) as memory:
        memory.add([{"role": "user", "content": text} for text in SAID], user_id=USER)
        assert memory.settle().vectors >= len(SAID)
        assert memory.search(SAID[1], user_id=USER, explain=True)[0].parts["cosine"] > 0.98
