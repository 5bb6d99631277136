"""The adapters for other benchmarks, called as their pipelines call them.

Neither benchmark is installed here. `memory_bench` below is what an adapter sees of the Agent Memory Benchmark at
commit c0f91a0: the fields of a document, and the verbs of a provider with their parameters. OmniMemEval's clients have
no base class that they must have.
"""

import asyncio
import importlib
import inspect
import json
import sys
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType

import pytest

from benchmarks.adapters.omnimemeval import LaminaClient

# Agent Memory Benchmark


@dataclass
class Document:
    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, str]] | None = None
    timestamp: str | None = None
    context: str | None = None


class MemoryProvider(ABC):
    name: str
    description: str
    kind: str
    concurrency: int = 4
    supports_filters: bool = False

    def initialize(self):
        return None

    def cleanup(self):
        return None

    def prepare(self, store_dir, unit_ids=None, reset=True):
        return None

    @abstractmethod
    def ingest(self, documents): ...

    async def async_ingest(self, documents):
        return await asyncio.to_thread(self.ingest, documents)

    @abstractmethod
    def retrieve(self, query, k=10, user_id=None, query_timestamp=None): ...

    async def async_retrieve(self, query, k=10, user_id=None, query_timestamp=None, filters=None):
        return await asyncio.to_thread(self.retrieve, query, k, user_id, query_timestamp)


@pytest.fixture
def provider_class(monkeypatch):
    """The provider, with the names that the benchmark gives it to import."""
    contents: dict[str, dict[str, type]] = {
        "memory_bench": {},
        "memory_bench.memory": {},
        "memory_bench.memory.base": {"MemoryProvider": MemoryProvider},
        "memory_bench.models": {"Document": Document},
    }
    for name, members in contents.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "benchmarks.adapters.agent_memory_benchmark", raising=False)
    yield importlib.import_module("benchmarks.adapters.agent_memory_benchmark").LaminaMemoryProvider
    sys.modules.pop("benchmarks.adapters.agent_memory_benchmark", None)


LOCOMO = Document(
    id="conv-9_session_1",
    content=json.dumps(
        [
            {
                "speaker": "Ines",
                "dia_id": "D1:1",
                "text": "I bought the red canoe.",
                "blip_caption": "a boat in a shed",
            },
            {"speaker": "Otto", "dia_id": "D1:2", "text": "I passed the radio exam yesterday."},
        ]
    ),
    user_id="conv-9",
    timestamp="2024-03-03T09:05:00+00:00",
)
BEAM = Document(
    id="7_s0_0",
    content="[March-15-2024 | Turn 0] User: The controller runs on port 8081.\n\nIt waters the roses.\n\n"
    "[Turn 1] Assistant: Noted.\n\n[Turn 2] User: The pump is from Bergen.",
    user_id="7",
    timestamp="2024-03-15T00:00:00+00:00",
)
CHAT = Document(
    id="m1",
    content="…",
    user_id="u3",
    messages=[{"role": "user", "content": "My dog is called Nils."}, {"role": "assistant", "content": "Hello Nils."}],
)
PLAIN = Document(id="n1", content="The launch is on 4 July.", user_id=None)


async def ask(provider, question, **more):
    found, raw = await provider.async_retrieve(question, k=10, **more)
    assert raw is None
    return "\n".join(one.content for one in found)


def test_a_provider_has_the_verbs_of_the_benchmark(provider_class):
    """It can be made without arguments, and takes what the runner gives."""
    for verb in ("prepare", "ingest", "retrieve"):
        theirs = inspect.signature(getattr(MemoryProvider, verb)).parameters
        assert list(inspect.signature(getattr(provider_class, verb)).parameters) == list(theirs)
    assert (provider_class.name, provider_class.kind) == ("lamina", "local")


@pytest.mark.anyio
async def test_documents_of_each_kind_are_found_by_their_user_only(provider_class, tmp_path):
    """A session of LoCoMo as JSON, of BEAM as text, messages, and plain text."""
    provider = provider_class()
    provider.initialize()
    provider.prepare(tmp_path / "store", unit_ids={"conv-9", "7", "u3"}, reset=True)
    await provider.async_ingest([LOCOMO, BEAM, CHAT, PLAIN])
    exam = await ask(provider, "When did Otto pass the radio exam?", user_id="conv-9", query_timestamp=LOCOMO.timestamp)
    assert "Otto: I passed the radio exam yesterday." in exam
    assert "2024-03-03" in exam
    assert "a boat in a shed" in await ask(provider, "What is in the shed?", user_id="conv-9")
    port = await ask(provider, "Which port does the controller run on?", user_id="7")
    assert "port 8081" in port
    assert "roses" in await ask(provider, "What does it water?", user_id="7")
    assert "Turn 2" not in await ask(provider, "Where is the pump from?", user_id="7")
    assert "Nils" in await ask(provider, "What is the dog called?", user_id="u3", query_timestamp="not a time")
    assert "4 July" in await ask(provider, "When is the launch?")
    assert "8081" not in await ask(provider, "Which port does the controller run on?", user_id="u3")
    provider.cleanup()


@pytest.mark.anyio
async def test_a_prepared_store_is_kept_or_emptied(provider_class, tmp_path):
    """As with `--skip-ingestion`: another process finds what was ingested, unless it is told to start again."""
    first = provider_class()
    first.prepare(tmp_path)
    await first.async_ingest([CHAT])
    first.cleanup()
    second = provider_class()
    second.prepare(tmp_path, reset=False)
    assert "Nils" in await ask(second, "What is the dog called?", user_id="u3")
    second.prepare(tmp_path, reset=True)
    assert "Nils" not in await ask(second, "What is the dog called?", user_id="u3")
    second.cleanup()
    with pytest.raises(RuntimeError, match=r"prepare\(\) comes first"):
        second.retrieve("What is the dog called?")


@pytest.mark.anyio
async def test_questions_may_be_asked_at_once(provider_class, tmp_path):
    provider = provider_class()
    provider.prepare(tmp_path)
    await provider.async_ingest([LOCOMO, CHAT])
    users = ["conv-9", "u3"] * 4
    found = await asyncio.gather(*(ask(provider, "What is the dog called?", user_id=user) for user in users))
    assert ["Nils" in text for text in found] == [False, True] * 4
    provider.cleanup()


# OmniMemEval


@pytest.fixture
def omni(tmp_path, monkeypatch):
    """Makes clients as `create_client` does: without arguments."""
    monkeypatch.setenv("OMNIMEMEVAL_LAMINA_FOLDER", str(tmp_path / "memories"))
    return LaminaClient


def session(speaker_is_user):
    """A session of LoCoMo as the pipeline gives it for one of the two speakers, the time put in."""
    said = [("Ines", "I bought the red canoe."), ("Otto", "I passed the radio exam on Monday.")]
    return [
        {
            "role": "user" if name == speaker_is_user else "assistant",
            "name": name,
            "content": f"{name}: {text}",
            "chat_time": "2024-04-17T18:30:00+00:00",
        }
        for name, text in said
    ]


def test_what_one_step_adds_another_step_finds(omni):
    """Ingestion and search are processes of their own, and each makes its client."""
    users = {"Ines": "locomo_exp_user_0_speaker_a_v1", "Otto": "locomo_exp_user_0_speaker_b_v1"}
    ingesting = omni()
    for name, user in users.items():
        ingesting.add(session(name), user)
    found = omni().search("When did Otto pass the radio exam?", users["Otto"], 20)
    assert isinstance(found, str)
    assert "Otto: I passed the radio exam on Monday." in found
    assert "Otto: Otto:" not in found
    assert "2024-04-17" in found
    assert omni().search("When did Otto pass the radio exam?", "somebody else", 20) == ""


def test_a_deleted_user_is_gone_and_others_stay(omni):
    client = omni()
    for user in ("u1", "u1/2"):
        client.add([{"role": "user", "content": "My dog is called Nils."}], user)
    client.delete("u1")
    client.delete("never seen")
    assert client.search("What is the dog called?", "u1", 5) == ""
    assert "Nils" in client.search("What is the dog called?", "u1/2", 5)


def test_questions_of_many_threads_are_answered(omni):
    """The pipeline asks with one client from a pool of threads."""
    client = omni()
    client.add(session("Ines"), "u1")
    client.add([], "u1")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(client.search("Which canoe?", "u1", 5))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["red canoe" in text for text in found] == [True] * 6


def test_the_budget_of_a_context_is_a_setting(omni, monkeypatch):
    client = omni()
    for number in range(30):
        client.add([{"role": "user", "content": f"On day {number} we sailed to island {number}."}], "u1")
    large = client.search("Where did we sail?", "u1", 20)
    monkeypatch.setenv("OMNIMEMEVAL_LAMINA_BUDGET", "200")
    small = omni().search("Where did we sail?", "u1", 20)
    assert 0 < len(small) < len(large) / 2
