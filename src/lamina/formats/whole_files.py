"""Files that are there only once they are whole, and files read in pieces, without holding up the event loop."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from lamina.errors import InputError
from lamina.formats import lines
from lamina.formats.lines import Record

_PIECE = 1_000_000  # characters written at once
_LINES = 500  # read at once


class PartFile:
    """A file that has `.part` after its name until it is whole; one that fails leaves what was there before."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._part = target.with_name(target.name + ".part")
        self._waiting: list[str] = []
        self._held = 0
        self._size = 0

    async def __aenter__(self) -> Self:
        self._file = await asyncio.to_thread(self._opened)
        return self

    def _opened(self) -> BinaryIO:
        """The file, which nobody else may read."""
        self._part.touch(0o600)
        self._part.chmod(0o600)
        return self._part.open("wb")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._file.close)
        await asyncio.to_thread(self._part.unlink, missing_ok=True)

    async def write(self, text: str) -> None:
        self._waiting.append(text)
        self._held += len(text)
        if self._held > _PIECE:
            await self._flush()

    async def _flush(self) -> None:
        whole, self._waiting, self._held = "".join(self._waiting), [], 0
        self._size += await asyncio.to_thread(self._file.write, whole.encode())

    async def write_first(self, text: str) -> None:
        """Write over the beginning of the file, which has as many bytes."""
        await self._flush()
        self._file.seek(0)
        await asyncio.to_thread(self._file.write, text.encode())

    async def whole(self) -> int:
        """Give the file its name; returns its bytes."""
        await self._flush()
        await asyncio.to_thread(self._name)
        return self._size

    def _name(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.replace(self._target)


async def numbered(source: Path) -> AsyncIterator[tuple[int, Record]]:
    """The objects on a file's lines; one that cannot be read comes as such, after what was read before it."""
    number = at = 0
    while piece := await asyncio.to_thread(_piece, source, at):
        at += sum(map(len, piece))
        for raw in piece:
            number += 1
            for record in _read(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw):
                yield number, record


def _piece(source: Path, at: int) -> list[bytes]:
    """The next lines from a place on; between two pieces the file is not held open."""
    with source.open("rb") as file:
        file.seek(at)
        return list(islice(file, _LINES))


def _read(raw: bytes) -> list[Record]:
    try:
        return [record for _, record in lines.records([raw.decode()])]
    except UnicodeDecodeError as error:
        return [{"type": "unreadable", "reason": f"is not UTF-8: {error.reason} at byte {error.start}"}]


async def text_of(source: Path) -> str:
    """A whole file as text."""
    try:
        return (await asyncio.to_thread(source.read_bytes)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} cannot be read: it is not UTF-8 ({error.reason} at byte {error.start})") from None


def parsed(text: str, name: str) -> Any:
    """A whole file as JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}; JSON Lines go by the name of .jsonl") from None
