"""Lamina as a memory provider of the Agent Memory Benchmark (vectorize-io/agent-memory-benchmark).

Written to the interface at its commit c0f91a0: `MemoryProvider` with `prepare`, `ingest`, `retrieve`, `cleanup`, and
`Document` with `id`, `content`, `user_id`, `messages`, `timestamp`.

1. Install Lamina in the environment of the benchmark (`uv add lamina`), and copy this file to
   `src/memory_bench/memory/lamina.py`.
2. In `src/memory_bench/memory/__init__.py`, import it and add to `REGISTRY`: `"lamina": LaminaMemoryProvider,`
3. Run it: `uv run amb run --dataset locomo --split locomo10 --memory lamina`

`AMB_LAMINA_BUDGET` is the size of a context in tokens (default: 2000). `k` is not used: a question gets one document,
the context that Lamina builds for it. So modes that compare the ids of documents (`retrieval`) do not apply.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_bench.memory.base import MemoryProvider
from memory_bench.models import Document

from lamina.bench.user_memories import UserMemories

_TURN = re.compile(r"(?:^|\n\n)(?:\[[^\]\n]*\] )?(User|Assistant): ")  # BEAM comes as text, a paragraph a turn
_NOBODY = "nobody"  # whose memory has documents without a user


class LaminaMemoryProvider(MemoryProvider):  # type: ignore[misc]  # not installed here
    name = "lamina"
    description = "Layered memory in one SQLite file for each user, without a language model."
    kind = "local"

    def __init__(self) -> None:
        self._memories: UserMemories | None = None

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True) -> None:
        del unit_ids  # a file is made for each user when it is needed
        folder = store_dir / "lamina"
        self.cleanup()
        if reset:
            shutil.rmtree(folder, ignore_errors=True)
        self._memories = UserMemories(folder, budget=int(os.environ.get("AMB_LAMINA_BUDGET") or 2000))

    def ingest(self, documents: list[Document]) -> None:
        for document in sorted(documents, key=lambda one: one.timestamp or ""):  # in the order of their times
            if messages := list(_messages(document)):
                self._opened().add(document.user_id or _NOBODY, document.id, messages)

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], dict[str, Any] | None]:
        del k
        text = self._opened().context(user_id or _NOBODY, query, _time(query_timestamp))
        documents = [Document(id="context", content=text, user_id=user_id)] if text else []
        return documents, None  # some prompts show a raw response in place of the documents

    def cleanup(self) -> None:
        if self._memories is not None:
            self._memories.close()
            self._memories = None

    def _opened(self) -> UserMemories:
        if self._memories is None:
            raise RuntimeError("prepare() comes first: it says where the memories are")
        return self._memories


def _messages(document: Document) -> Iterator[dict[str, Any]]:
    said = _time(document.timestamp)
    for message in _turns(document):
        if message["content"].strip():
            yield message if said is None else {**message, "created_at": said}


def _turns(document: Document) -> list[dict[str, Any]]:
    """The turns of a document: given as messages, or in its text as JSON, or a paragraph each; else one message."""
    turns: Any = document.messages
    if not turns and document.content.lstrip().startswith("["):
        try:
            turns = json.loads(document.content)
        except ValueError:
            turns = None
    if isinstance(turns, list) and turns and all(isinstance(turn, dict) for turn in turns):
        return [_turn(turn) for turn in turns]
    parts = _TURN.split(document.content)
    if len(parts) == 1:
        return [{"role": "user", "content": document.content}]
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return [{"role": role.lower(), "content": text} for role, text in pairs]


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn with `role` and `content`, or one of LoCoMo with `speaker`, `text` and the caption of a photo."""
    if "speaker" in turn:
        photo = turn.get("blip_caption")
        text = f"{turn.get('text', '')} [shares a photo: {photo}]" if photo else str(turn.get("text", ""))
        return {"role": "user", "name": str(turn["speaker"]), "content": text}
    role = turn.get("role")
    return {"role": role if role in {"user", "assistant"} else "user", "content": str(turn.get("content") or "")}


def _time(written: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(written) if written else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found
