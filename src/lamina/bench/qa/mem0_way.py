"""mem0 of the package `mem0ai`, with the reader as its language model and Lamina's static vectors."""

import importlib
import importlib.util
import logging
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from lamina.bench.qa.ways import Material, Setting, Simple, line
from lamina.bench.readers import Message, Question
from lamina.errors import InputError, ModelError
from lamina.models.embeddings.static import StaticEmbedder

_TOP = 200  # memories asked for; as many are kept as the budget holds
_USER = "user"


def check_installed() -> None:
    """Raises InputError where mem0 cannot be imported."""
    if importlib.util.find_spec("mem0") is None:
        raise InputError("mem0 is not installed; get it with: pip install mem0ai, or leave out --baseline mem0")


class Mem0(Simple):
    """Each session is one `add`, with the time before each message; mem0 has no other place for it."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        super().__init__(setting)
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder))  # before it is imported
        logging.getLogger("mem0").setLevel(logging.CRITICAL)  # what fails is in the report
        self._memory = _open(setting, folder)

    def add(self, _session_id: str, messages: Sequence[Message]) -> None:
        given = [{"role": one.role, "content": line(one)} for one in messages]
        try:
            self._memory.add(given, user_id=_USER)
        except Exception as error:  # the package raises errors of many kinds
            raise ModelError(f"mem0 could not add a session: {error}") from error

    def material(self, question: Question, _asked_at: datetime) -> Material:
        try:
            found = self._memory.search(question.text, filters={"user_id": _USER}, top_k=_TOP, threshold=0.0)
        except Exception as error:  # as above
            raise ModelError(f"mem0 could not search: {error}") from error
        kept, left = [], self.setting.budget
        for hit in found["results"]:
            left -= self.setting.counter.count(hit["memory"]) + 1
            if left < 0:
                break
            kept.append(hit["memory"])
        return Material(text="\n".join(kept), found=None)

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()


def _open(setting: Setting, folder: Path) -> Any:
    mem0 = importlib.import_module("mem0")
    base = importlib.import_module("mem0.embeddings.base").EmbeddingBase
    static = StaticEmbedder()
    store = {
        "collection_name": "bench",
        "path": str(folder / "qdrant"),
        "on_disk": True,
        "embedding_model_dims": static.dimensions,
    }
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "llm": {"provider": "openai", "config": dict(setting.mem0_llm)},
            "embedder": {"provider": "openai", "config": {"api_key": "none"}},  # replaced below, never asked
            "history_db_path": str(folder / "history.db"),
        }
    )

    def embed(_self: Any, text: str, _memory_action: str | None = None) -> list[float]:
        return [float(number) for number in static.vectors([text])[0]]

    memory.embedding_model = type("Static", (base,), {"embed": embed})()
    return memory
