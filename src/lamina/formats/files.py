"""Files that get their name only when they are complete, and files read in pieces, without blocking the event loop."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from lamina.errors import InputError
from lamina.formats import json_lines
from lamina.formats.json_items import Position
from lamina.formats.json_lines import Record

_BUFFER = 1_000_000  # characters written at once
_LINES = 500  # read at once


class PartFile:
    """A file that has `.part` after its name until `finish`; if writing fails, an earlier file of that name stays."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._part = target.with_name(target.name + ".part")
        self._buffer: list[str] = []
        self._characters = 0
        self._size = 0

    async def __aenter__(self) -> Self:
        self._file = await asyncio.to_thread(self._open)
        return self

    def _open(self) -> BinaryIO:
        """Create the file, readable by its owner only."""
        self._part.touch(0o600)
        self._part.chmod(0o600)
        return self._part.open("wb")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._file.close)
        await asyncio.to_thread(self._part.unlink, missing_ok=True)

    async def write(self, text: str) -> None:
        self._buffer.append(text)
        self._characters += len(text)
        if self._characters > _BUFFER:
            await self._flush()

    async def _flush(self) -> None:
        text, self._buffer, self._characters = "".join(self._buffer), [], 0
        self._size += await asyncio.to_thread(self._file.write, text.encode())

    async def overwrite_start(self, text: str) -> None:
        """Write over the first bytes of the file, as many as `text` has."""
        await self._flush()
        self._file.seek(0)
        await asyncio.to_thread(self._file.write, text.encode())

    async def finish(self) -> int:
        """Give the file its name; returns its size in bytes."""
        await self._flush()
        await asyncio.to_thread(self._rename)
        return self._size

    def _rename(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.replace(self._target)


async def read_lines(source: Path, position: Position | None = None) -> AsyncIterator[tuple[int, Record]]:
    """The objects on a file's lines, numbered; for a line that cannot be read, a record of the type `unreadable`."""
    number = offset = 0
    while piece := await asyncio.to_thread(_piece, source, offset):
        offset += sum(map(len, piece))
        if position is not None:
            position.bytes = offset
        for raw in piece:
            number += 1
            for record in _read(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw):
                yield number, record


def _piece(source: Path, offset: int) -> list[bytes]:
    """The next lines from an offset; the file is not kept open between two pieces."""
    with source.open("rb") as file:
        file.seek(offset)
        return list(islice(file, _LINES))


def _read(raw: bytes) -> list[Record]:
    try:
        return [record for _, record in json_lines.records([raw.decode()])]
    except UnicodeDecodeError as error:
        return [{"type": "unreadable", "reason": f"is not UTF-8: {error.reason} at byte {error.start}"}]


async def read_text(source: Path) -> str:
    """A whole file as text."""
    try:
        return (await asyncio.to_thread(source.read_bytes)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name} cannot be read: it is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None


async def read_json(source: Path) -> Any:
    """A whole file as JSON."""
    try:
        return json.loads(await read_text(source))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source.name} is not JSON: {error}; a file of JSON Lines must end in .jsonl") from None
