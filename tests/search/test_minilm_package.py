"""MiniLM from the package lamina-minilm: used where it is installed; static vectors answer until it is done."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina import AsyncMemory, Memory
from lamina.models.embeddings.minilm import SMALL, MiniLmEmbedder
from lamina.models.embeddings.static import StaticEmbedder
from lamina.parts import Patience
from lamina.search import embed
from lamina.values.document import DocumentPut
from tests.minilm_package import PACKAGE, Installation
from tests.waiting import CEILING, until

pytestmark = pytest.mark.anyio

USER = "ann"
STATIC, MINILM = StaticEmbedder.name, SMALL.name
SAID = ("We got a puppy.", "The board report is late.", "Pasta with basil.", "The train leaves at seven.")
ASKED = "young dog"


class Gate:
    """Holds MiniLM back until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self._permits = asyncio.Event(), asyncio.Semaphore(0)
        real = MiniLmEmbedder.embed

        async def embed(embedder: MiniLmEmbedder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            self.reached.set()
            await self._permits.acquire()
            return await real(embedder, texts)

        monkeypatch.setattr(MiniLmEmbedder, "embed", embed)
        monkeypatch.setattr(MiniLmEmbedder, "inline", False)

    def open(self, batches: int = 1_000) -> None:
        """Let so many batches through."""
        for _ in range(batches):
            self._permits.release()


async def say(memory: AsyncMemory, *texts: str, session_id: str = "s1") -> None:
    await memory.add([{"role": "user", "content": text} for text in texts], user_id=USER, session_id=session_id)


async def best(memory: AsyncMemory) -> tuple[str, float]:
    """The best message and its cosine."""
    hits = await memory.search(ASKED, user_id=USER, kinds=["message"], explain=True)
    return hits[0].text, hits[0].parts["cosine"]


async def count(memory: AsyncMemory, embedder: str) -> int:
    return len(await memory._parts.store.vectors(USER, embedder, 0))


def cosine(embedder: Any) -> float:
    asked, puppy = np.asarray(embedder.vectors([ASKED, SAID[0]]))
    return float(asked @ puppy)


def by_minilm() -> tuple[str, Any]:
    return SAID[0], pytest.approx(cosine(MiniLmEmbedder()), abs=0.01)


def by_static() -> tuple[str, Any]:
    return SAID[0], pytest.approx(cosine(StaticEmbedder()), abs=0.01)


@pytest.fixture
async def static_file(tmp_path: Path) -> Path:
    """A file that has static vectors only."""
    path = tmp_path / "chat.db"
    async with AsyncMemory(path, worker=False, embedder="static") as memory:
        await say(memory, *SAID)
        await memory.settle()
    return path


async def test_a_fresh_file(minilm_package: Installation, tmp_path: Path) -> None:
    """It gets static vectors and MiniLM's, and is searched by MiniLM's."""
    async with AsyncMemory(tmp_path / "chat.db", worker=False) as memory:
        await say(memory, *SAID)
        assert (await memory.settle()).vectors == await count(memory, MINILM) == await count(memory, STATIC) > 3
        assert await best(memory) == by_minilm() != by_static()
        assert (await memory.settle()).vectors == 0


async def test_static_vectors_answer_until_all_has_others(
    minilm_package: Installation, monkeypatch: pytest.MonkeyPatch, any_place: Any
) -> None:
    """In a fresh memory, while MiniLM is at work."""
    gate = Gate(monkeypatch)
    async with AsyncMemory(any_place(), worker=False) as memory, asyncio.timeout(CEILING):
        await say(memory, *SAID)
        settling = asyncio.create_task(memory.settle())
        await gate.reached.wait()
        assert await count(memory, MINILM) == 0
        assert await best(memory) == by_static()
        gate.open()
        await settling
        assert await best(memory) == by_minilm()


async def test_a_file_of_static_vectors(
    minilm_package: Installation, monkeypatch: pytest.MonkeyPatch, static_file: Path
) -> None:
    """With the worker, it is searched as before until MiniLM's vectors are there, and by these from then on."""
    gate = Gate(monkeypatch)
    async with AsyncMemory(static_file, patience=Patience(poll_seconds=0.01)) as memory, asyncio.timeout(CEILING):
        await gate.reached.wait()
        assert await best(memory) == by_static()
        gate.open()

        async def done():
            return await memory._parts.store.setting("embedder") == MINILM

        await until(done)
        assert await best(memory) == by_minilm()


async def test_much_at_once(minilm_package: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a long import static vectors answer again, until MiniLM has done all of it; after little they do not."""
    monkeypatch.setattr(embed, "_MANY", 2 * embed.BATCH)
    async with AsyncMemory(tmp_path / "chat.db", worker=False) as memory, asyncio.timeout(CEILING):
        await say(memory, *SAID)
        await memory.settle()
        for messages, expected in ((embed.BATCH + 1, by_minilm()), (2 * embed.BATCH + 1, by_static())):
            with monkeypatch.context() as patch:
                gate = Gate(patch)
                await say(memory, *(f"Crate {n} of {messages} holds lamps." for n in range(messages)), session_id="s2")
                settling = asyncio.create_task(memory.settle())
                await gate.reached.wait()
                noted = await memory._parts.store.setting("embedder")
                gate.open()
                await settling
            assert noted == (MINILM if expected == by_minilm() else STATIC)
            assert await best(memory) == by_minilm()


async def test_the_worker_does_other_work_in_between(
    minilm_package: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is added while MiniLM is at a long import gets its static vectors and facts before the import is done."""
    monkeypatch.setattr(embed, "_PORTION", embed.BATCH)
    gate = Gate(monkeypatch)
    async with AsyncMemory(tmp_path / "chat.db", patience=Patience(poll_seconds=0.01)) as memory:
        await say(memory, *(f"Crate {n} holds lamps." for n in range(4 * embed.BATCH)))
        async with asyncio.timeout(CEILING):
            await gate.reached.wait()
        await memory.add("My dog is called Rex.", user_id="bea", session_id="s2")
        gate.open(1)

        async def read():
            return await memory.facts("bea") and await memory._parts.store.vectors("bea", STATIC, 0)

        assert await until(read)
        assert 0 < await count(memory, MINILM) < 4 * embed.BATCH
        gate.open()

        async def done():
            return await memory._parts.store.setting("embedder") == MINILM

        await until(done)
        assert await count(memory, MINILM) == await count(memory, STATIC)


async def test_others_who_go_on_talking_do_not_keep_static_vectors_for_ever(
    minilm_package: Installation, monkeypatch: pytest.MonkeyPatch, static_file: Path
) -> None:
    """Where somebody adds something with each batch, MiniLM's vectors are searched after a pass over all."""
    real = MiniLmEmbedder.embed

    async def embed_and_add(embedder: MiniLmEmbedder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        await memory.add("The kettle is on.", user_id="bea", session_id="s2")
        return await real(embedder, texts)

    monkeypatch.setattr(MiniLmEmbedder, "embed", embed_and_add)
    async with AsyncMemory(static_file, patience=Patience(poll_seconds=0.01)) as memory:

        async def done():
            return await memory._parts.store.setting("embedder") == MINILM

        await until(done)
        assert await best(memory) == by_minilm()


async def test_the_same_file_without_the_package(
    minilm_package: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It opens, is searched by its static vectors, and the log says so. With the package all is as before."""
    path = tmp_path / "chat.db"
    async with AsyncMemory(path, worker=False) as memory:
        await say(memory, *SAID)
        await memory.settle()
    minilm_package.remove()
    with caplog.at_level(logging.INFO):
        async with AsyncMemory(path, worker=False) as memory:
            assert await best(memory) == by_static()
            await say(memory, "A heron in the harbour.", session_id="s2")
            assert (await memory.settle()).vectors > 0
    (told,) = [record for record in caplog.records if record.message == "embedder_not_installed"]
    assert (told.embedder, told.instead) == (MINILM, STATIC)  # type: ignore[attr-defined]
    minilm_package.add()
    async with AsyncMemory(path, worker=False) as memory:
        assert await best(memory) == by_static()
        assert (await memory.settle()).vectors > 0
        assert await best(memory) == by_minilm()


@pytest.mark.parametrize("chosen", ["static", "none"])
async def test_a_choice_is_obeyed(
    minilm_package: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture, chosen: str
) -> None:
    """Where another embedder is chosen, or none, the package changes nothing, and nothing is logged about it."""
    path = tmp_path / "chat.db"
    async with AsyncMemory(path, worker=False) as memory:
        await say(memory, *SAID)
        await memory.settle()
        made = await count(memory, MINILM)
    async with AsyncMemory(path, worker=False, embedder=chosen) as memory:
        await say(memory, "A heron in the harbour.", session_id="s2")
        await memory.settle()
        assert await count(memory, MINILM) == made
        cosine = (await best(memory))[1]
        assert cosine == (by_static()[1] if chosen == "static" else 0)
    assert "embedder_not_installed" not in caplog.text


@pytest.mark.parametrize(("documents", "expected"), [(embed.BATCH, by_minilm), (embed.BATCH + 1, by_static)])
async def test_documents(
    minilm_package: Installation, tmp_path: Path, documents: int, expected: Callable[[], tuple[str, Any]]
) -> None:
    """Of documents without vectors, MiniLM reads a few when they are searched; many are compared by static vectors."""
    async with AsyncMemory(tmp_path / "chat.db", worker=False) as memory:
        texts = [SAID[0], *(f"Crate {n} holds lamps." for n in range(documents - 1))]
        puts = [DocumentPut(name=f"a/{at}", user_id=USER, value=at, texts=(text,)) for at, text in enumerate(texts)]
        await memory.documents.put(puts)
        (score, first), *_ = await memory.documents.nearest("a/", ASKED)
        assert (first.text, score) == expected()
        await memory.settle()
        (score, first), *_ = await memory.documents.nearest("a/", ASKED)
        assert (first.text, score) == by_minilm()


async def test_by_name(minilm_package: Installation, tmp_path: Path) -> None:
    """`embedder="minilm"` takes the package, too, and static vectors come first."""
    async with AsyncMemory(tmp_path / "chat.db", worker=False, embedder="minilm") as memory:
        await say(memory, *SAID)
        await memory.settle()
        assert await count(memory, STATIC) == await count(memory, MINILM) > 3
        assert await best(memory) == by_minilm()


async def test_a_damaged_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Static vectors go on answering, and the log says what is wrong."""
    folder = tmp_path / SMALL.package
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / SMALL.file).write_bytes((PACKAGE / "src" / SMALL.package / SMALL.file).read_bytes()[:-1])
    monkeypatch.syspath_prepend(tmp_path)
    async with AsyncMemory(tmp_path / "chat.db", worker=False) as memory:
        await say(memory, *SAID)
        assert (await memory.settle()).vectors == 0
        assert await best(memory) == by_static()
    (told,) = [record for record in caplog.records if record.message == "not_embedded"]
    assert told.embedder == MINILM  # type: ignore[attr-defined]
    assert "these are other weights" in told.reason  # type: ignore[attr-defined]


def test_blocking(minilm_package: Installation, tmp_path: Path) -> None:
    """`Memory` uses it as well, with its worker in the background."""
    with Memory(tmp_path / "chat.db") as memory:
        memory.add([{"role": "user", "content": text} for text in SAID], user_id=USER)
        memory.settle()
        hit = memory.search(ASKED, user_id=USER, kinds=["message"], explain=True)[0]
        assert (hit.text, hit.parts["cosine"]) == by_minilm()


PROGRAM = """
import json
from lamina import Memory
with Memory(":memory:", worker=False) as memory:
    memory.add("We got a puppy.", user_id="ann")
    memory.settle()
    (hit, *_) = memory.search("young dog", user_id="ann", kinds=["message"], explain=True)
print(json.dumps(hit.parts["cosine"]))
"""


def test_installed_by_pip(tmp_path: Path) -> None:
    """The package can be built and installed, has all it needs, and is used without a word."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run([*pip, "--disable-pip-version-check", "--target", tmp_path, PACKAGE], check=True)
    (notices,) = tmp_path.glob("lamina_minilm-*.dist-info/licenses")
    assert {path.name for path in notices.iterdir()} == {"LICENSE", "NOTICE"}
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    installed = MiniLmEmbedder(tmp_path / SMALL.package)
    assert json.loads(printed) == pytest.approx(cosine(installed), abs=0.01)
