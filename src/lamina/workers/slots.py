"""A worker's slots: each has one session at a time, under a name of its own, and notes in the store what it is at."""

import logging
import time
from dataclasses import replace
from datetime import timedelta

from lamina.errors import LaminaError
from lamina.parts import Parts
from lamina.values.report import WorkerNote

logger = logging.getLogger("lamina.worker")

_LONG_GONE = 10  # lease times without a note
_COUNT_SECONDS = 1.0  # counts of what was done are noted no more often


class Slot:
    """Works on a session, and keeps a note of that in the store for others to read."""

    def __init__(self, parts: Parts, owner: str) -> None:
        self.owner = owner
        self._parts = parts
        self._note = WorkerNote(id=owner, started_at=parts.now(), seen_at=parts.now())
        self._noted: WorkerNote | None = None
        self._noted_at = 0.0

    @property
    def busy(self) -> bool:
        return self._note.session_id is not None

    def take(self, session_id: str) -> None:
        self._note = replace(self._note, session_id=session_id, since=self._parts.now())

    def release(self, *, failed: bool) -> None:
        note = self._note
        self._note = replace(note, session_id=None, since=None, done=note.done + 1, failed=note.failed + int(failed))

    async def report(self) -> None:
        """Write the note, if it says something new or is about to be out of date; work goes on without it."""
        age = time.monotonic() - self._noted_at
        news = self._noted is None or self._noted.session_id != self._note.session_id
        counts = self._noted != self._note and age >= _COUNT_SECONDS
        if not news and not counts and age < self._parts.patience.lease_seconds / 3:
            return
        self._noted, self._noted_at = self._note, time.monotonic()
        try:
            await self._parts.store.note_worker(replace(self._note, seen_at=self._parts.now()))
        except LaminaError as error:
            self._noted = None
            logger.info("worker_not_noted", extra={"worker": self.owner, "reason": str(error)})

    async def close(self) -> None:
        """Give back whatever is leased, and take the note away."""
        self._note, self._noted, self._noted_at = replace(self._note, session_id=None, since=None), None, 0.0
        try:
            await self._parts.store.drop_worker(self.owner)
        except LaminaError as error:
            logger.info("worker_not_noted", extra={"worker": self.owner, "reason": str(error)})


def is_gone(parts: Parts, note: WorkerNote) -> bool:
    """Whether a worker is known to be dead, or was not seen for so long that it must be."""
    unseen = parts.now() - note.seen_at
    return not parts.alive(note.id) or unseen > timedelta(seconds=_LONG_GONE * parts.patience.lease_seconds)
