"""Temporary folders for exports and imports; those of a killed process are removed by the next one."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_NAME = "lamina-passing-"
_MIN_AGE_S = 60  # of a folder that is removed: a younger one may not be locked yet


class TemporaryFolder:
    """A folder that is locked until it is removed, or its process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_NAME))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale() -> None:
    """Remove folders that no process has locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{_NAME}*"):
        with suppress(OSError):  # locked, another user's, or gone meanwhile
            _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.getuid() and time.time() - os.fstat(lock).st_mtime > _MIN_AGE_S:
            shutil.rmtree(path)
    finally:
        os.close(lock)
