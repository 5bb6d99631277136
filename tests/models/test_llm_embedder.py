"""Vectors from an endpoint: in order, of one size, and never mixed."""

from pathlib import Path
from typing import Any

import pytest

from lamina import Llm, Memory, ModelError
from lamina.models.llm.http_embedder import HttpEmbedder
from lamina.testing.llm_server import Fault, LlmServer, vector_of
from tests.models.endpoints import QUICK, endpoint_to, llm_for

pytestmark = pytest.mark.anyio


async def test_vectors_come_in_order_and_in_batches():
    """150 texts are three requests; an empty text has a vector too."""
    texts = [f"text {number}" for number in range(149)] + [""]
    with LlmServer(dimensions=16) as server:
        async with endpoint_to(server) as endpoint:
            embedder = HttpEmbedder(endpoint)
            assert embedder.dimensions == 0
            vectors = await embedder.embed(texts)
            assert embedder.dimensions == 16
            assert embedder.name == "test-model"
        assert [len(asked.body["input"]) for asked in server.asked("embeddings")] == [64, 64, 22]
        assert server.journal[0].body["encoding_format"] == "float"
    assert vectors[:149] == [vector_of(text, 16) for text in texts[:149]]


async def test_an_answer_out_of_order_is_put_in_order():
    rows = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    with LlmServer().then(Fault(status=200, body={"data": rows})) as server:
        async with endpoint_to(server) as endpoint:
            assert await HttpEmbedder(endpoint).embed(["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]


async def test_a_wrong_size_is_said_in_clear_words():
    """Given as 8, or once known; the size is asked for, and left out where that is refused."""
    with LlmServer(dimensions=16) as server:
        async with endpoint_to(server, dimensions=8) as endpoint:
            embedder = HttpEmbedder(endpoint)
            assert embedder.name == "test-model-8"
            assert len((await embedder.embed(["a"]))[0]) == 8
            server.then(Fault(status=400, body={"error": "dimensions is not supported"}))
            with pytest.raises(ModelError, match="gave a vector of 16 numbers where 8 are expected"):
                await embedder.embed(["a"])


async def test_a_refusal_for_another_reason_changes_nothing():
    """A size that was given is still asked for afterwards."""
    with LlmServer(dimensions=16) as server:
        async with endpoint_to(server, dimensions=8) as endpoint:
            server.then(*[Fault(status=400, body={"error": "no"})] * 2)
            with pytest.raises(ModelError, match="400: no"):
                await HttpEmbedder(endpoint).embed(["a"])
            assert len((await HttpEmbedder(endpoint).embed(["a"]))[0]) == 8


async def test_a_text_that_is_too_long_for_the_server_is_cut():
    """The others of its batch are not."""
    longest = 3_000

    class Strict(LlmServer):
        def _refused(self, asked: Any) -> Fault | None:
            too_long = any(len(text) > longest for text in asked.texts)
            return Fault(status=400, body={"error": "input is too long"}) if too_long else super()._refused(asked)

    with Strict() as server:
        async with endpoint_to(server) as endpoint:
            vectors = await HttpEmbedder(endpoint).embed(["short", "word " * 2_000, "also short"])
    assert vectors[0] == vector_of("short", 64)
    assert vectors[1] == vector_of(("word " * 2_000)[:2_500], 64)
    assert vectors[2] == vector_of("also short", 64)


async def test_a_key_that_is_refused_is_an_error_and_cuts_nothing():
    with LlmServer().then(Fault(status=403, body={"error": "not with this key"})) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="403: not with this key"):
                await HttpEmbedder(endpoint).embed(["a", "b"])
        assert len(server.asked("embeddings")) == 1


async def test_a_server_that_is_down_is_an_error():
    with LlmServer().then(*[Fault(status=503)] * 4) as server:
        async with endpoint_to(server) as endpoint:
            with pytest.raises(ModelError, match="503"):
                await HttpEmbedder(endpoint).embed(["a"])


def test_a_memory_asks_for_the_size_once(tmp_path: Path):
    """Opened again it is known, even if the server is gone; search finds by vectors, and by words without it."""
    with LlmServer(dimensions=32) as server:
        llm = Llm(base_url=server.url, model="emb", **{**QUICK, "retries": 0})
        for text in ("Where is the staging server?", "What is a tern?"):
            with Memory(tmp_path / "chat.db", embedder=llm, worker=False) as memory:
                memory.add(text, user_id="ana", session_id="s1")
                assert memory.settle().vectors == 1
                hits = memory.search("staging server", user_id="ana", explain=True)
                assert hits[0].text == "Where is the staging server?"
        sizes = [asked for asked in server.asked("embeddings") if "dimensions" in asked.text]
        assert len(sizes) == 1
    with Memory(tmp_path / "chat.db", embedder=llm, worker=False) as memory:
        assert memory.search("staging server", user_id="ana")[0].text == "Where is the staging server?"


def test_a_memory_whose_embedder_cannot_be_asked_is_not_opened(tmp_path: Path):
    """Without a size there is no place for vectors: it must be given, or the server there once."""
    with LlmServer() as server:
        llm = llm_for(server, retries=0)
    with pytest.raises(ModelError, match="no connection"):
        Memory(tmp_path / "chat.db", embedder=llm)
    with Memory(tmp_path / "chat.db", embedder=llm_for_gone(llm, dimensions=64), worker=False) as memory:
        memory.add("We meet on Tuesdays.", user_id="ana", session_id="s1")
        assert memory.settle().vectors == 0
        assert memory.search("Tuesdays", user_id="ana")


def llm_for_gone(llm: Llm, **values: Any) -> Llm:
    return Llm(base_url=llm.base_url, model=llm.model, **{**QUICK, "retries": 0, **values})
