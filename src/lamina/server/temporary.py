"""Folders for what passes through the service; what a killed process has left is cleared away by the next one."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_NAME = "lamina-passing-"
_YOUNG_S = 60  # so old a folder is held by whoever made it, or by nobody


class PassingFolder:
    """A folder that is held until it is removed, or its process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_NAME))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def clear_away() -> None:
    """Remove the folders that nobody holds any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{_NAME}*"):
        with suppress(OSError):  # held, another user's, or gone meanwhile
            _remove_unheld(path)


def _remove_unheld(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.getuid() and time.time() - os.fstat(lock).st_mtime > _YOUNG_S:
            shutil.rmtree(path)
    finally:
        os.close(lock)
