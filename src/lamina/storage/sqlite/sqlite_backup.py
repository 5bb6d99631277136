"""A backup of a SQLite memory while it is in use: one moment of it, looked through before it gets its name."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from lamina.errors import InputError, StoreError
from lamina.storage.migrations import APPLICATION_ID
from lamina.values.report import Backup

_PAGES = 1024  # copied at once
_COUNTS = "select (select count(*) from sessions), (select count(*) from messages)"

Progress = Callable[[int, int], None]


def back_up(source: Path | sqlite3.Connection, target: Path, *, overwrite: bool, progress: Progress | None) -> Backup:
    """Copy a database to a file by the online backup API; others may write meanwhile.

    It is written beside its place under another name, checked, and then gets its name at once.
    """
    _check_target(source, target, overwrite=overwrite)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
        if isinstance(source, Path):
            with closing(sqlite3.connect(source, isolation_level=None, timeout=30)) as connection:
                counts = _copy(connection, part, progress)
        else:
            counts = _copy(source, part, progress)
        _verify(part, counts)
        size = part.stat().st_size
        _name(part, target, overwrite=overwrite)
    except sqlite3.Error as error:
        raise StoreError(f"{target} could not be written: {error}; nothing was changed") from error
    except FileExistsError:
        raise InputError(f"{target} is there already; give another name, or overwrite it (--overwrite)") from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        for rest in (part, Path(f"{part}-journal"), Path(f"{part}-wal"), Path(f"{part}-shm")):
            with suppress(OSError):
                rest.unlink()
    return Backup(path=str(target), size=size, sessions=counts[0], messages=counts[1])


def _check_target(source: Path | sqlite3.Connection, target: Path, *, overwrite: bool) -> None:
    if "://" in str(target) or str(target).startswith(("postgresql:/", "postgres:/", "sqlite:/")):
        raise InputError(f"a backup is a file, and {target} is a database; `lamina copy` copies a memory to a database")
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the path of a file, e.g. {target / 'lamina-backup.db'}")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be made: there is no folder {target.parent}; make it, or give another path")
    if isinstance(source, Path) and target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"{target} is this memory; give another place for its backup")
    if target.exists() and not overwrite:
        raise InputError(f"{target} is there already; give another name, or overwrite it (--overwrite)")


def _copy(source: sqlite3.Connection, part: Path, progress: Progress | None) -> tuple[int, int]:
    """All pages as they are in one moment: what is written meanwhile is not seen by this transaction."""

    def report(_status: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    source.execute("begin")
    try:
        counts: tuple[int, int] = source.execute(_COUNTS).fetchone()
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            source.backup(copy, pages=_PAGES, progress=report, sleep=0)
            copy.execute("pragma journal_mode = delete")  # the file alone is the whole memory
    finally:
        source.execute("rollback")
    return counts


def _verify(part: Path, counts: tuple[int, int]) -> None:
    """See that the file can be read alone, is whole, and has as much as its source."""
    with closing(sqlite3.connect(f"{part.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
        found = [text for (text,) in copy.execute("pragma integrity_check(5)")]
        if found != ["ok"]:
            raise StoreError(f"the copy is damaged, and so is the memory: {'; '.join(found)}; see `lamina verify`")
        if copy.execute("pragma application_id").fetchone() != (APPLICATION_ID,):
            raise StoreError("the copy is no memory; nothing was written")
        if copy.execute(_COUNTS).fetchone() != counts:
            raise StoreError("the copy has not all that the memory has; nothing was written")


def _name(part: Path, target: Path, *, overwrite: bool) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    if overwrite:
        part.replace(target)
    else:
        os.link(part, target)  # fails if somebody else was quicker
    with suppress(OSError):  # not every system can
        folder = os.open(target.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
