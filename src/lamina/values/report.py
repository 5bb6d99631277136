"""Results of long work: checks, imports, copies, the queue and its workers."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import ClassVar

from lamina.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something `verify` found."""

    kind: str
    where: str
    text: str
    derived: bool  # whether `repair` can mend it


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `verify` or `repair` looked at and found."""

    _shown: ClassVar = ("sessions", "messages", "summaries", "facts", "problems")

    sessions: int
    messages: int
    summaries: int
    facts: int
    problems: tuple[Problem, ...]
    mended: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy of a memory did, and what a comparison of every row says of it."""

    _shown: ClassVar = ("users", "sessions", "messages", "differing", "problems")

    users: int  # of whom something was copied
    sessions: int
    messages: int
    rows: Mapping[str, int]  # what the source has now, by table
    differing: tuple[str, ...]  # users, or tables in brackets, that are not the same in both
    changing: int  # users of whom something was still different in the last round: the source is being written to
    problems: tuple[Problem, ...] = ()  # that `verify` finds in the target

    @property
    def complete(self) -> bool:
        return not self.differing and not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was written, and read again: the file is whole and has as much as the memory."""

    path: str
    size: int  # bytes
    sessions: int  # of all tenants
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What `settle` did until nothing was due."""

    folds: int
    digests: int
    archived: int
    failed: tuple[str, ...] = ()  # sessions whose fold could not be made; still due
    facts: int = 0  # that were found
    vectors: int = 0  # that were given


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What came of one file of an import."""

    _shown: ClassVar = ("name", "format", "sessions", "messages", "problems")

    name: str  # a file of an archive has the archive's name before its own
    format: str | None = None  # None: it could not be read
    sessions: int = 0  # that it tells of
    messages: int = 0
    duplicates: int = 0  # messages that were there already
    facts: int = 0
    notes: tuple[str, ...] = ()  # what was assumed, such as the zone of its times
    problems: tuple[str, ...] = ()  # why it, or a part of it, was not imported


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import brought in; what was there already is not counted again."""

    _shown: ClassVar = ("sessions", "messages", "duplicates", "facts", "problems")

    sessions: int  # that the files tell of
    messages: int
    duplicates: int  # messages that were there already
    summaries: int = 0
    facts: int = 0
    episodes: int = 0
    links: int = 0
    milestones: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)  # why something was left out -> how often
    files: tuple[ImportedFile, ...] = ()  # one by one

    @property
    def problems(self) -> tuple[str, ...]:
        """Why files, or parts of them, were not imported."""
        return tuple(problem for file in self.files for problem in file.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A session whose work failed: it waits for its time, or is set aside."""

    _shown: ClassVar = ("session_id", "attempts", "reason")

    session_id: str
    user_id: str
    attempts: int  # that failed in a row
    reason: str  # of the last failure; never what was said
    retry_at: datetime | None  # None: set aside until something new comes, or `retry` asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What there is to do for workers: each session that may be due is counted in one of the first four."""

    _shown: ClassVar = ("pending", "leased", "waiting", "aside", "unembedded")

    pending: int  # may be due, and free
    leased: int  # being worked on
    waiting: int  # failed, and wait for their time
    aside: int  # failed too often: left alone until something new comes
    oldest: datetime | None  # when the longest-waiting pending one was touched
    unembedded: int  # users with something that has no vector yet
    failing: tuple[Failing, ...]  # the worst first, up to 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNote:
    """What a worker told of itself."""

    _shown: ClassVar = ("id", "session_id", "done", "failed", "alive")

    id: str  # the name on its leases: host/pid/letters
    started_at: datetime
    seen_at: datetime
    session_id: str | None = None  # what it is at
    since: datetime | None = None
    done: int = 0  # sessions since it started
    failed: int = 0
    alive: bool = True  # whether it may still be at work, as far as can be known from here

    @property
    def host(self) -> str:
        return self.id.partition("/")[0]

    @property
    def pid(self) -> str:
        return self.id.partition("/")[2].partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldDone:
    """A fold that was made: what it read and wrote, in tokens, and how long it took."""

    layer: int
    tokens_before: int
    tokens_after: int
    seconds: float
    model: str
    fallback: bool  # the offline summariser stood in
