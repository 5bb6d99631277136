"""The unused parts of a SQLite file, and zeros written over them.

With `secure_delete` SQLite writes zeros over what it deletes. But when it splits or joins pages, rows move, and copies
of them stay in the unused middle of the page that they left; they are still there when such a row is deleted later. To
write the whole file anew would do away with them, while every writer waits. Here the file is looked through instead,
and what is not zero in an unused part is overwritten in place. SQLite never reads these parts, so that is safe while
others read. The format of the file is documented at https://sqlite.org/fileformat2.html.
"""

import os
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

PENDING_BYTE = 2**30  # its page holds locks, never data
_PAGES = 256  # read at once
_MOST_PAGES = 2**25  # up to here the first byte of a page tells pages of trees from others
_TREES = {2: 12, 5: 12, 10: 8, 13: 8}  # the kinds of pages of trees: bytes of their header


def identity(found: os.stat_result) -> tuple[int, int]:
    """Which file it is, whatever its name."""
    return found.st_dev, found.st_ino


@dataclass(frozen=True, slots=True)
class Layout:
    """What the header of a file says."""

    page: int  # bytes
    usable: int  # bytes of a page
    pages: int
    first_free: int  # page with the first list of free pages

    @property
    def readable(self) -> bool:
        """Whether pages can be told apart."""
        return 0 < self.pages < _MOST_PAGES


class RawFile:
    """A database's file beside SQLite: read and overwritten by offsets, in any thread.

    To close any descriptor of a file drops all locks that the process has on it, SQLite's among them. So there is one
    for each file, and it stays open for as long as anything in this process has the database open. A forked process has
    it as well, so it is read by offsets alone, and has no place that one of them could move.
    """

    _all: ClassVar[dict[str, "RawFile"]] = {}
    _users: ClassVar[Counter[str]] = Counter()
    _registry = threading.Lock()

    def __init__(self, path: str) -> None:
        may_write = os.access(path, os.W_OK)
        self._file = Path(path).open("r+b" if may_write else "rb", buffering=0)  # noqa: SIM115 - see above
        self.identity = identity(os.fstat(self._file.fileno()))

    @classmethod
    def begin(cls, path: Path) -> None:
        """Say that something in this process uses a file."""
        with cls._registry:
            cls._users[os.path.realpath(path)] += 1

    @classmethod
    def end(cls, path: Path) -> None:
        """Say that it does no longer; whoever is the last closes it."""
        name = os.path.realpath(path)
        with cls._registry:
            cls._users[name] -= 1
            if not cls._users[name]:
                del cls._users[name]
                if (last := cls._all.pop(name, None)) is not None:
                    last.close()

    @classmethod
    def of(cls, path: Path) -> "RawFile":
        name = os.path.realpath(path)
        there = identity(os.stat(name))  # noqa: PTH116 - the name is resolved
        with cls._registry:
            known = cls._all.get(name)
            if known is not None and known.identity != there:  # another file has its name now
                known.close()
                known = None
            if known is None:
                known = cls._all[name] = cls(name)
            return known

    def close(self) -> None:
        self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)

    def clear(self, offset: int, size: int) -> None:
        """Write zeros."""
        os.pwrite(self._file.fileno(), bytes(size), offset)

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    # pages

    def layout(self) -> Layout:
        head = self.read(0, 100)
        if len(head) < 100:  # noqa: PLR2004 - nothing was written yet
            return Layout(0, 0, 0, 0)
        (size,) = struct.unpack_from(">H", head, 16)
        size = 65536 if size == 1 else size
        mapped = any(head[52:56])  # pages that say where others are, which look like pages of trees
        count = 0 if mapped or not size else os.fstat(self._file.fileno()).st_size // size
        return Layout(size, size - head[20], count, int.from_bytes(head[32:36], "big"))

    def pages_to_wipe(self) -> list[int]:
        """The pages with old bytes in unused parts, from 1, and all free ones with any."""
        layout = self.layout()
        free = self._free(layout)
        found = []
        for start in range(0, layout.pages, _PAGES):
            data = self.read(start * layout.page, _PAGES * layout.page)
            for at in range(len(data) // layout.page):
                number = start + at + 1
                page = data[at * layout.page : (at + 1) * layout.page]
                if any(page.count(0, a, b) != b - a for a, b in _gaps(page, number, layout, free)):
                    found.append(number)
        return found

    def clean(self, numbers: list[int]) -> None:
        """Write zeros over the unused parts of pages; only while nobody can write, and no log is there to be copied."""
        layout = self.layout()
        free = self._free(layout)
        for number in numbers:
            offset = (number - 1) * layout.page
            page = self.read(offset, layout.page)
            if len(page) < layout.page:  # the file is shorter by now
                continue
            for a, b in _gaps(page, number, layout, free):
                if page.count(0, a, b) != b - a:
                    self.clear(offset + a, b - a)
        self.sync()

    def _free(self, layout: Layout) -> dict[int, int]:
        """The free pages, and how many bytes of each are in use."""
        found: dict[int, int] = {}
        number = layout.first_free
        while 0 < number <= layout.pages and number not in found:
            page = self.read((number - 1) * layout.page, layout.page)
            after, count = struct.unpack_from(">II", page)
            if count > layout.usable // 4 - 2:
                break  # damaged
            found[number] = 8 + 4 * count
            for leaf in struct.unpack_from(f">{count}I", page, 8):
                found.setdefault(leaf, 0)
            number = after
        return found


def _gaps(page: bytes, number: int, layout: Layout, free: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The parts of a page in which nothing is, from and to; none of one that makes no sense."""
    if number == PENDING_BYTE // layout.page + 1:
        return
    if number in free:
        yield free[number], layout.usable
        return
    head = 100 if number == 1 else 0
    if page[head] not in _TREES:
        return
    block, cells, content = struct.unpack_from(">HHH", page, head + 1)
    content = content or 65536
    start = head + _TREES[page[head]] + 2 * cells
    if start > content or content > layout.usable:
        return
    yield start, content
    while content <= block <= layout.usable - 4:  # free blocks, each of which names the next one behind it
        after, size = struct.unpack_from(">HH", page, block)
        if size < 4 or block + size > layout.usable:  # noqa: PLR2004 - the size of its own head
            return
        yield block + 4, block + size
        if after <= block:
            return
        block = after
