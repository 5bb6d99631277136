"""A memory for each user of a benchmark, in a file of its own, with the time of what was said as its clock."""

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lamina import Memory
from lamina.bench.recall_run import LATER, Clock
from lamina.errors import BudgetTooSmall
from lamina.values.manifest import Context

_SESSION = "question"  # of contexts; nothing is added to it


class UserMemories:
    """Opened in a folder; may be used from several threads, and again by another process."""

    def __init__(self, folder: Path, *, budget: int = 2000, **options: Any) -> None:
        self._folder, self._budget, self._options = folder, budget, options
        self._open: dict[str, tuple[Memory, Clock]] = {}
        self._lock = threading.Lock()

    def add(self, user_id: str, session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Add messages with `role`, `content` and, where known, `name` and `created_at`; then do what is due."""
        memory, clock = self._memory(user_id)
        said = [message["created_at"] for message in messages if message.get("created_at")]
        clock.at = max(clock.at, *(said or [datetime.now(UTC)]))
        memory.add([dict(message) for message in messages], user_id=user_id, session_id=session_id)
        memory.settle()

    def context(self, user_id: str, question: str, at: datetime | None = None) -> str:
        """What Lamina would put before a question that is asked at a time; by default, just after the last message."""
        memory, clock = self._memory(user_id)
        asked_at = at or clock.at + LATER
        try:
            found = memory.context(question, user_id=user_id, session_id=_SESSION, budget=self._budget, at=asked_at)
        except BudgetTooSmall:
            return ""
        return before_question(found)

    def delete(self, user_id: str) -> None:
        """Remove everything of a user."""
        with self._lock:
            opened = self._open.pop(user_id, None)
            if opened is not None:
                opened[0].close()
            for path in self._folder.glob(f"{self._path(user_id).name}*"):
                path.unlink()

    def close(self) -> None:
        with self._lock:
            for memory, _ in self._open.values():
                memory.close()
            self._open.clear()

    def _memory(self, user_id: str) -> tuple[Memory, Clock]:
        with self._lock:
            if user_id not in self._open:
                self._folder.mkdir(parents=True, exist_ok=True)
                clock = Clock(datetime.fromtimestamp(0, UTC))
                memory = Memory(self._path(user_id), worker=False, now=clock, **self._options)
                clock.at = max([clock.at, *(session.last_at for session in memory.sessions(user_id=user_id))])
                self._open[user_id] = memory, clock
            return self._open[user_id]

    def _path(self, user_id: str) -> Path:
        return self._folder / f"{quote(user_id, safe='')}.db"


def before_question(context: Context) -> str:
    """The text of a context without the question, which is its last message."""
    return "\n\n".join(str(message["content"]) for message in context.messages[:-1])
