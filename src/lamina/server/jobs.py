"""Work that goes on after its request was answered: what it is, and how far it has come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from pydantic import BaseModel, Field

from lamina.errors import BadRecords, LaminaError, NotFound
from lamina.server.problems import error_detail, is_internal
from lamina.story.load import LoadedDemo, Report
from lamina.values.report import Imported

logger = logging.getLogger(__name__)

JobKind = Literal["demo", "import"]
_MAX_KEPT = 20  # jobs of a tenant that can still be asked about
_MAX_ERROR = 2000  # characters: it may repeat what was in a file


class Job(BaseModel):
    """Work that goes on after its request was answered."""

    id: str
    kind: JobKind
    status: Literal["running", "done", "failed"]
    step: str = Field(description="Of the demo: add, fold, forget. Of an import: read, import.")
    done: int = Field(description="How far the step is.")
    total: int = Field(description="Of how many; 0 where that is not known.")
    started_at: datetime
    demo: LoadedDemo | None = None
    imported: Imported | None = None
    error: str | None = Field(default=None, description="Why it failed, and what would work.")


Work = Callable[[Report], Awaitable[LoadedDemo | Imported]]


@dataclass(slots=True)
class _Entry:
    job: Job
    task: asyncio.Task[LoadedDemo | Imported] | None = None


@dataclass(slots=True)
class Jobs:
    """The jobs of this process, by tenant; the oldest that have ended are dropped."""

    _entries: dict[str, dict[str, _Entry]] = field(default_factory=dict)

    def start(self, tenant: str, kind: JobKind, work: Work) -> Job:
        """Begin it, and return at once."""
        job = Job(
            id=f"job_{uuid4().hex}", kind=kind, status="running", step="", done=0, total=0, started_at=datetime.now(UTC)
        )
        entry = _Entry(job)
        entries = self._of(tenant)
        entries[job.id] = entry

        def report(step: str, done: int, total: int) -> None:
            entry.job = entry.job.model_copy(update={"step": step, "done": done, "total": total})

        async def run() -> LoadedDemo | Imported:
            return await work(report)

        entry.task = asyncio.create_task(run(), name=f"lamina-{kind}")
        entry.task.add_done_callback(lambda task: _end(entry, task))
        ended = [one for one, other in entries.items() if other.job.status != "running"]
        for one in ended[: max(0, len(entries) - _MAX_KEPT)]:
            del entries[one]
        return entry.job

    def running(self, tenant: str, kind: JobKind) -> Job | None:
        """One of a kind that is under way."""
        found = (entry.job for entry in self._of(tenant).values())
        return next((job for job in found if job.kind == kind and job.status == "running"), None)

    def newest(self, tenant: str) -> list[Job]:
        """All of a tenant, the newest first."""
        return [entry.job for entry in [*self._of(tenant).values()][::-1]]

    def get(self, tenant: str, job_id: str) -> Job:
        entry = self._of(tenant).get(job_id)
        if entry is None:
            raise NotFound(
                f"no job {job_id!r}; a process knows its own jobs only, and the last {_MAX_KEPT} of a tenant"
            )
        return entry.job

    def _of(self, tenant: str) -> dict[str, _Entry]:
        return self._entries.setdefault(tenant, {})

    async def close(self) -> None:
        """Stop what is under way; both kinds go on from there when they are begun again."""
        tasks = [entry.task for entries in self._entries.values() for entry in entries.values() if entry.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._entries.clear()


def _end(entry: _Entry, task: asyncio.Task[LoadedDemo | Imported]) -> None:
    """Note what became of it; the task itself, and what it had in hand, is let go."""
    entry.task = None
    if task.cancelled():
        entry.job = entry.job.model_copy(update={"status": "failed", "error": "the service stopped; begin it again"})
        return
    error = task.exception()
    if error is not None:
        entry.job = entry.job.model_copy(update={"status": "failed", "error": _words(entry.job, error)})
        return
    result = task.result()
    what = {"imported": result} if isinstance(result, Imported) else {"demo": result}
    entry.job = entry.job.model_copy(update={"status": "done", **what})


def _words(job: Job, error: BaseException) -> str:
    if not isinstance(error, LaminaError) or is_internal(error):
        logger.warning("job_failed", extra={"job": job.id, "kind": job.kind}, exc_info=error)
    if isinstance(error, BadRecords):
        lines = "\n".join(f"{place}: {why}" for place, why in error.faults[:5])
        return f"{error.count} of the records cannot be imported, and nothing was:\n{lines}"[:_MAX_ERROR]
    if isinstance(error, LaminaError | TimeoutError):
        return error_detail(error)[:_MAX_ERROR]
    return "this is a fault of the service; its log has more under the id of this job"
