"""Lamina as a memory of OmniMemEval (MemTensor/OmniMemEval, "User Memory Evaluation").

Written to the interface at its commit 45bf103: `create_client(lib)` makes a client without arguments; the pipelines
call `add(messages, user_id)`, `search(query, user_id, top_k)`, which gives text, and `delete(user_id)`.

1. Install Lamina in the environment of OmniMemEval, and copy this file to `scripts/client_factory/lamina_client.py`.
2. In `scripts/client_factory/registry.py`, add to `_LIB_CLIENT_REGISTRY`:
   `"lamina": ("lamina_client", "LaminaClient"),`
3. In `scripts/utils/search_helpers.py` (`DEFAULT_SEARCH_DISPATCH`) and in `search_query` of
   `scripts/locomo/locomo_search.py`, add: `"lamina": generic_text_search,`
4. Run it: `./scripts/run_locomo_eval.sh --lib lamina --env .env.lamina`

Two variables of the env file may say more: `OMNIMEMEVAL_LAMINA_FOLDER` (default: lamina-memories) and
`OMNIMEMEVAL_LAMINA_BUDGET`, tokens of a context (default: 2000). `top_k` is not used: a context has as much as its
budget holds, and the benchmark reports the tokens itself. Times come with the messages, as `chat_time`; an unknown
library gets them in this way, and no session, so that each call of `add` is a session of its own.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamina.bench.user_memories import UserMemories


class LaminaClient:
    def __init__(self) -> None:
        folder = Path(os.environ.get("OMNIMEMEVAL_LAMINA_FOLDER") or "lamina-memories")
        self._memories = UserMemories(folder, budget=int(os.environ.get("OMNIMEMEVAL_LAMINA_BUDGET") or 2000))

    def add(self, messages: Sequence[dict[str, Any]], user_id: str, batch_size: int | None = None) -> None:
        del batch_size  # all of a session at once
        if messages:
            self._memories.add(user_id, _session_of(messages), [_message(one) for one in messages])

    def search(self, query: str, user_id: str, top_k: int) -> str:
        del top_k
        return self._memories.context(user_id, query)

    def delete(self, user_id: str) -> None:
        self._memories.delete(user_id)


def _session_of(messages: Sequence[dict[str, Any]]) -> str:
    """The same name for the same messages, so that a step that is run again adds them to the same session."""
    return "session " + hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:16]


def _message(given: dict[str, Any]) -> dict[str, Any]:
    """A message of the benchmark: in LoCoMo, the name stands before the text, too."""
    role = given.get("role") if given.get("role") in {"user", "assistant"} else "user"
    name, content = given.get("name"), str(given["content"])
    found: dict[str, Any] = {"role": role, "content": content.removeprefix(f"{name}: ") if name else content}
    if name:
        found["name"] = name
    if given.get("chat_time"):
        said = datetime.fromisoformat(given["chat_time"])
        found["created_at"] = said if said.tzinfo else said.replace(tzinfo=UTC)
    return found
