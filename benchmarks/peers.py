"""Lamina beside others on the same talk: `python -m benchmarks.peers LOCOMO_FILE [--limit N]`.

Everyone gets the same messages one by one, the same embedder (the static vectors of this package) and the same
questions, in one process and one run, without a language model and with telemetry switched off. R@10 is the
share of the messages that answer a question among the first ten; `packed 2,000` the share of questions with all of
them among the first 50 hits, packed in their order into 2,000 tokens. Times are ratios to Lamina's own.

Peers come from the environment that runs this; one that is not installed says so. mem0 runs with `infer=False`:
with a language model it stores other texts; with `mem0ai[extras]` it also weighs words. Peers are
measured one after another: on a busy machine, ratios of `add` differ several times from run to run.
"""

import argparse
import importlib
import importlib.util
import logging
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

os.environ.update(  # before any of them is imported
    MEM0_TELEMETRY="False",
    ANONYMIZED_TELEMETRY="False",
    LANGSMITH_TRACING="false",
    LANGCHAIN_TRACING_V2="false",
    HF_HUB_OFFLINE="1",
)

from lamina import Memory
from lamina.bench.readers import Conversation, Message, read
from lamina.bench.recall_run import TOP, Plan, replay
from lamina.bench.scoring import Found, score
from lamina.models.embeddings.static import StaticEmbedder
from lamina.models.token_counters import best_counter

BUDGET = 2_000
EMBEDDER = StaticEmbedder()


def embedded(texts: Sequence[str]) -> list[list[float]]:
    return [[float(number) for number in row] for row in EMBEDDER.vectors(texts)]


class Peer(Protocol):
    """One way to store messages and find them again."""

    def add(self, message: Message) -> None: ...

    def ready(self) -> None: ...

    def search(self, query: str) -> list[str]: ...

    def close(self) -> None: ...


class Base:
    """What most peers need not do."""

    def ready(self) -> None:
        """Nothing is due after the appends."""

    def close(self) -> None:
        """Nothing is left open."""


class Lamina(Base):
    def __init__(self, folder: Path, conversation: Conversation) -> None:
        self._memory = Memory(folder / "lamina.db", worker=False, embedder=EMBEDDER)
        self._sessions = conversation.session_of()

    def add(self, message: Message) -> None:
        given = {"id": message.id, "role": message.role, "content": message.text, "created_at": message.said_at}
        named = given if message.name is None else {**given, "name": message.name}
        self._memory.add(named, user_id="u", session_id=self._sessions[message.id])

    def ready(self) -> None:
        self._memory.settle()

    def search(self, query: str) -> list[str]:
        return [hit.id for hit in self._memory.search(query, user_id="u", top_k=TOP, kinds=("message",))]

    def close(self) -> None:
        self._memory.close()


class Mem0(Base):
    """`infer=False` stores messages as they are; the client of its language model is made, and never called."""

    def __init__(self, folder: Path, _: Conversation) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        mem0 = importlib.import_module("mem0")
        base = importlib.import_module("mem0.embeddings.base").EmbeddingBase
        hosted = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "collection_name": "peer",
                        "path": str(folder / "mem0"),
                        "on_disk": True,
                        "embedding_model_dims": EMBEDDER.dimensions,
                    },
                },
                "llm": hosted,
                "embedder": hosted,
                "history_db_path": str(folder / "mem0-history.db"),
            }
        )

        def embed(_self: Any, text: str, _memory_action: str | None = None) -> list[float]:
            return embedded([text])[0]

        self._memory.embedding_model = type("Static", (base,), {"embed": embed})()

    def add(self, message: Message) -> None:
        given = [{"role": message.role, "content": message.text}]
        self._memory.add(given, user_id="u", metadata={"turn": message.id}, infer=False)

    def search(self, query: str) -> list[str]:
        found = self._memory.search(query, filters={"user_id": "u"}, top_k=TOP, threshold=0.0)
        return [hit["metadata"]["turn"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class LangGraph(Base):
    """A store of LangGraph with an index over the text."""

    def __init__(self, folder: Path, _: Conversation) -> None:
        self._open = ExitStack()
        self._store = self._made(folder, {"dims": EMBEDDER.dimensions, "embed": embedded, "fields": ["text"]})

    def _made(self, folder: Path, index: dict[str, Any]) -> Any:
        kind = importlib.import_module("langgraph.store.sqlite").SqliteStore
        store = self._open.enter_context(kind.from_conn_string(str(folder / "langgraph.db"), index=index))
        store.setup()
        return store

    def add(self, message: Message) -> None:
        self._store.put(("u",), message.id, {"text": message.text})

    def search(self, query: str) -> list[str]:
        return [hit.key for hit in self._store.search(("u",), query=query, limit=TOP)]

    def close(self) -> None:
        self._open.close()


class LangGraphInMemory(LangGraph):
    def _made(self, folder: Path, index: dict[str, Any]) -> Any:
        del folder
        return importlib.import_module("langgraph.store.memory").InMemoryStore(index=index)


class Chroma(Base):
    def __init__(self, folder: Path, _: Conversation) -> None:
        chromadb = importlib.import_module("chromadb")
        quiet = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder / "chroma"), settings=quiet)
        self._collection = client.create_collection(
            "peer", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, message: Message) -> None:
        self._collection.add(ids=[message.id], documents=[message.text], embeddings=embedded([message.text]))

    def search(self, query: str) -> list[str]:
        found = self._collection.query(query_embeddings=embedded([query]), n_results=TOP, include=[])
        return [str(one) for one in found["ids"][0]]


PEERS: dict[str, tuple[str, Callable[[Path, Conversation], Peer]]] = {  # name -> its package, how it is opened
    "Lamina": ("lamina", Lamina),
    "mem0, infer=False": ("mem0", Mem0),
    "LangGraph SqliteStore": ("langgraph.store.sqlite", LangGraph),
    "LangGraph InMemoryStore": ("langgraph.store.memory", LangGraphInMemory),
    "Chroma": ("chromadb", Chroma),
}


def obstacle(package: str) -> str | None:
    """Why a peer cannot be run here."""
    try:
        found = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a package above it
        found = False
    if not found:
        return "not installed"
    if package == "langgraph.store.sqlite" and not hasattr(sqlite3.Connection, "enable_load_extension"):
        return "not run: the sqlite3 of this Python cannot load extensions, and it needs sqlite-vec"
    return None


@dataclass
class Row:
    """What was measured of one peer, over all conversations."""

    recall: list[float] = field(default_factory=list)
    packed: list[float] = field(default_factory=list)
    add: list[float] = field(default_factory=list)
    later: float = 0.0
    search: list[float] = field(default_factory=list)


def packer() -> Callable[[Sequence[str], dict[str, str]], list[str]]:
    counter = best_counter()

    def packed(ranked: Sequence[str], texts: dict[str, str]) -> list[str]:
        """The hits that fit into the budget, best first; one that does not fit is passed over."""
        left, kept = BUDGET, []
        for message in ranked:
            size = counter.count(texts[message]) + 1  # and the end of the line
            if size <= left:
                left -= size
                kept.append(message)
        return kept

    return packed


def measure(
    open_peer: Callable[[Path, Conversation], Peer], conversation: Conversation, row: Row, folder: Path
) -> None:
    packed = packer()
    messages = [message for session in conversation.sessions for message in session.messages]
    texts = {message.id: message.text for message in messages}
    peer = open_peer(folder, conversation)
    try:
        for message in messages:
            row.add.append(_timed(partial(peer.add, message))[0])
        row.later += _timed(peer.ready)[0]
        peer.search("warm up")
        for question in conversation.questions:
            took, ranked = _timed(partial(peer.search, question.text))
            row.search.append(took)
            found = Found(ranked=ranked, contexts={BUDGET: packed(ranked, texts)})
            measures = score(question, found, conversation.session_of())
            row.recall.append(measures["R@10"])
            row.packed.append(measures[f"C{BUDGET}a"])
    finally:
        peer.close()


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def contexts(conversations: Sequence[Conversation], folder: Path) -> Iterator[float]:
    """Whether all that answers a question stands in Lamina's own context of the same budget."""
    for conversation in conversations:
        asked = {question.id: question for question in conversation.questions}
        for answer in replay(conversation, Plan(budgets=(BUDGET,)), folder).answers:
            found = Found(ranked=answer.ranked, contexts=answer.contexts)
            yield score(asked[answer.question_id], found, conversation.session_of())[f"C{BUDGET}a"]


def report(rows: dict[str, Row | str], in_context: float) -> None:
    print(
        f"{'':26}{'R@10':>7}{'packed 2,000':>14}{'add p50':>10}{'ratio':>7}{'search p50':>12}{'ratio':>7}{'later':>9}"
    )
    ours = rows["Lamina"]
    assert isinstance(ours, Row)
    for name, row in rows.items():
        if isinstance(row, str):
            print(f"{name:26}{row}")
            continue
        add, search = (1000 * statistics.median(taken) for taken in (row.add, row.search))
        print(
            f"{name:26}{100 * statistics.mean(row.recall):>7.1f}{100 * statistics.mean(row.packed):>14.1f}"
            f"{add:>7.2f} ms{add / (1000 * statistics.median(ours.add)):>7.2f}"
            f"{search:>9.2f} ms{search / (1000 * statistics.median(ours.search)):>7.2f}"
            f"{1000 * row.later / len(row.add):>6.2f} ms"
        )
    print(f"{'Lamina, its own context':26}{'':>7}{100 * in_context:>14.1f}")
    print("`ratio`: against Lamina; `later`: work in the background, for each message")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="LoCoMo, or another set that `lamina bench recall` reads")
    parser.add_argument("--limit", type=int, help="at most so many conversations, and questions of each")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    data = read(chosen.file).sample(chosen.limit, chosen.seed)
    logging.getLogger("mem0").setLevel(logging.ERROR)
    rows: dict[str, Row | str] = {}
    embedded(["warm up"])
    for name, (package, open_peer) in PEERS.items():
        if reason := obstacle(package):
            rows[name] = reason
            continue
        rows[name] = row = Row()
        for conversation in data.conversations:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                measure(open_peer, conversation, row, Path(folder))
        print(f"  {name}: {len(row.search):,} questions", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        in_context = statistics.mean(contexts(data.conversations, Path(folder)))
    report(rows, in_context)


if __name__ == "__main__":
    main()
