"""One file of an import, opened: which format it has, and its records, as often as they are asked for."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lamina.counts import count
from lamina.errors import InputError
from lamina.formats import chatgpt, claude, detect, files, folder_read, unknown_files, whatsapp
from lamina.formats import folder_write as folder
from lamina.formats.foreign_values import require_object
from lamina.formats.importing import Records
from lamina.formats.json_items import ItemReader, Position
from lamina.formats.json_lines import Conversion, Record

_STREAMED: dict[str, tuple[str, detect.ReadOne]] = {  # by the field that tells them
    "mapping": ("ChatGPT", chatgpt.conversation),
    "chat_messages": ("Claude", claude.conversation),
}
_NAMES = {"openai": "ChatGPT", "claude": "Claude", "claude_memories": "memories of Claude",
          "claude_code": "Claude Code", "codex": "Codex", "mem0": "mem0",
          "sharegpt": "ShareGPT", "messages": "chat messages", "lamina": "Lamina"}  # fmt: skip
_END = object()
_START = 4096  # bytes by which a file is recognised
_LOOKED_AT = 20  # lines, of which one at least must be JSON
_MAX_NUMBERS = 20  # of lines that are named
_TOGETHER = 2 * 1024**3  # bytes of a file that is read as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What an import is told besides the files."""

    user_id: str | None = None  # who gets everything
    project_id: str | None = None  # which project does
    me: str | Sequence[str] | None = None  # the speaker of a chat who is the user, by all of their names
    zone: str | None = None  # of times that name none; None: this machine's


@dataclass(slots=True, kw_only=True)
class Opened:
    """A file that is being read; what was left out and what was wrong is complete when all records were read."""

    format: str
    records: Callable[[], Records]
    position: Position
    is_ours: bool = False
    lines: int | None = None  # that could be read, of a file that has one record on each
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def open_file(path: Path, name: str, options: ImportOptions) -> Opened:
    """A file, or a memory folder; UnknownFormat if it is nothing that can be imported."""
    if await asyncio.to_thread(path.is_dir):
        return _listed("Lamina folder", await _read_folder(path), name, path, is_ours=True)
    suffix = path.suffix.lower()
    raw = await asyncio.to_thread(_start, path)
    start = raw.decode("utf-8", "replace")
    if not start.strip("\ufeff \r\n\t"):
        raise detect.EmptyFile(f"{name} is empty; {unknown_files.CAN_BE_IMPORTED}")
    if (kind := unknown_files.binary_kind(raw, name)) is not None:
        raise detect.UnknownFormat(unknown_files.describe(name, kind))
    if suffix == ".txt" and not start.lstrip("\ufeff \n").startswith(("{", "[{")):
        return await _open_chat(path, name, options)
    first = await _first_item(path) if start.lstrip("\ufeff \r\n\t").startswith(("[", "{")) else None
    for mark, (format_, read_one) in _STREAMED.items():
        is_it = mark in first if isinstance(first, dict) else first is None and f'"{mark}"' in start
        if is_it and suffix != ".jsonl":
            return _streamed(format_, read_one, path, name)
    if suffix == ".json" and not await _has_lines(path):
        await asyncio.to_thread(_check_size, path, name)
        return _converted(await _read_json(path, name), name, path)
    lines = await _foreign_lines(path, name)
    if lines is not None:
        opened = _converted(lines.records, name, path)
        lines.tell(opened, name)
        return opened
    position = Position()
    return Opened(format="Lamina", records=lambda: _line_records(path, position), position=position, is_ours=True)


def is_markdown(path: Path) -> bool:
    return path.suffix.lower() == ".md" and path.is_file()


def opened_conversion(format_: str, conversion: Conversion, name: str, path: Path) -> Opened:
    """Records that were made from a file at once."""
    return _listed(format_, conversion, name, path, is_ours=True)


def localiser(zone: str | None) -> tuple[whatsapp.Localise, str]:
    """What gives a local time its zone, and the name of the zone."""
    if zone is None:
        place = os.environ.get("TZ", "").lstrip(":") or Path("/etc/localtime").resolve().as_posix()
        return datetime.astimezone, f"this machine's zone, {place.rpartition('zoneinfo/')[2] or 'UTC'}"
    try:
        known = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"there is no zone {zone!r}; a zone is, e.g., Europe/Lisbon or America/New_York") from None
    return lambda moment: moment.replace(tzinfo=known), zone


# the kinds of files


async def _open_chat(path: Path, name: str, options: ImportOptions) -> Opened:
    await asyncio.to_thread(_check_size, path, name)
    text = await files.read_text(path)
    if not whatsapp.is_chat(text):
        kind = unknown_files.text_kind(text[:_START], name)
        if kind == unknown_files.PLAIN:
            kind = ("plain text, but begins like no chat that WhatsApp exports", "")
        raise detect.UnknownFormat(unknown_files.describe(name, kind))
    localise, zone = localiser(options.zone)
    conversion, notes = await asyncio.to_thread(whatsapp.convert, text, name, options.me, localise)
    opened = _listed("WhatsApp", conversion, name, path)
    opened.notes += [f"times are taken as those of {zone} (--zone)", *notes]
    return opened


def _streamed(format_: str, read_one: detect.ReadOne, path: Path, name: str) -> Opened:
    opened = Opened(format=format_, records=lambda: _stream(opened, read_one, path, name), position=Position())
    return opened


async def _stream(opened: Opened, read_one: detect.ReadOne, path: Path, name: str) -> AsyncIterator[tuple[str, Record]]:
    """The conversations of a list, one by one; one that cannot be read is a fault, and the next one follows."""
    opened.skipped.clear()
    opened.faults.clear()
    items, number = ItemReader(path, opened.position).items(), 0
    while True:
        try:
            item = await asyncio.to_thread(next, items, _END)
            if item is _END:
                return
            number += 1
            place = f"{name}, conversation {number}"
            records = read_one(require_object(item, place), place, opened.skipped)
        except InputError as error:
            if number and str(error).startswith(name):
                opened.faults.append(str(error))
                continue
            opened.faults.append(f"{name} is damaged: {error}; download or copy it again")
            return
        async for record in _with_places(records, name):
            yield record


def _listed(format_: str, conversion: Conversion, name: str, path: Path, *, is_ours: bool = False) -> Opened:
    size = path.stat().st_size if path.is_file() else 0
    opened = Opened(
        format=format_,
        records=lambda: _with_places(conversion.records, name, opened.position, size),
        position=Position(),
        is_ours=is_ours,
        skipped=Counter(conversion.skipped),
    )
    return opened


def _converted(data: Any, name: str, path: Path) -> Opened:
    format_ = detect.detect(data, name)
    if format_ != "lamina":
        return _listed(_NAMES[format_], detect.convert(data, name), name, path)
    records = data if isinstance(data, list) else [data]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{name}, item {number} must be an object; nothing was imported")
    return _listed("Lamina", Conversion(records=records), name, path, is_ours=True)


async def _read_folder(source: Path) -> Conversion:
    names = [name for name in folder.FILES if await asyncio.to_thread((source / name).is_file)]
    found = {name: await files.read_json(source / name) for name in names}
    conversion = folder_read.read(found)
    return _with_counts(conversion) if len(found) == len(folder.FILES) else conversion


def _with_counts(conversion: Conversion) -> Conversion:
    """A complete folder's records: each session gets the number of its items, also if some were taken out by hand."""
    counts = Counter((record["type"], str(record.get("session_id"))) for record in conversion.records)
    kinds = {"summaries": "summary", "facts": "fact", "episodes": "episode"}
    records = [
        {**record, "holds": {name: counts[kind, record["id"]] for name, kind in kinds.items()}}
        if record["type"] == "session"
        else record
        for record in conversion.records
    ]
    return Conversion(records=records, skipped=conversion.skipped)


# reading


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_START)


def _check_size(path: Path, name: str) -> None:
    if (size := path.stat().st_size) > _TOGETHER:
        raise InputError(f"{name} has {size:,} bytes; a file of this format is read as a whole, up to {_TOGETHER:,}")


async def _first_item(path: Path) -> Any:
    """The first item of a list, or what the file is; None if that cannot be read."""
    try:
        return await asyncio.to_thread(next, ItemReader(path, Position()).items(), None)
    except InputError:
        return None


async def _has_lines(source: Path) -> bool:
    """Whether a file has several objects, one on each line, whatever its name."""
    number = 0
    async for _, record in files.read_lines(source):
        number += 1
        if record.get("type") == "unreadable":
            return False
        if number > 1:
            return True
    return False


@dataclass(slots=True)
class _Lines:
    """The lines of another tool's file, and which of them cannot be read."""

    records: list[Record] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)  # number and reason
    number: int = 0  # of lines

    def tell(self, opened: Opened, name: str) -> None:
        """Say which lines were not read. The last one of a transcript may be cut: it is still being written."""
        opened.lines = len(self.records)
        if not self.unreadable:
            return
        numbers = [number for number, _ in self.unreadable]
        if numbers == [self.number] and detect.is_transcript(self.records[0]):
            opened.notes.append(
                f"line {self.number:,}, the last one, is cut and was left out; {count(opened.lines, 'line')} before it"
                " could be read. If a program is still writing the file, import it again later"
            )
            return
        shown = ", ".join(f"{number:,}" for number in numbers[:_MAX_NUMBERS])
        more = "" if len(numbers) <= _MAX_NUMBERS else f" and {len(numbers) - _MAX_NUMBERS:,} more"
        listed = "" if len(numbers) == 1 else f" ({shown}{more})"
        opened.faults.append(
            f"{name}: {len(numbers):,} of {count(self.number, 'line')} cannot be read{listed}:"
            f" line {numbers[0]:,} {self.unreadable[0][1]}"
        )


async def _foreign_lines(source: Path, name: str) -> _Lines | None:
    """The lines of another tool's file, which are read together; None for lines of our own."""
    found = _Lines()
    async for number, record in files.read_lines(source):
        found.number = number
        if record.get("type") == "unreadable":
            found.unreadable.append((number, record["reason"]))
            if not found.records and len(found.unreadable) >= _LOOKED_AT:
                break
            continue
        if not found.records and detect.detect([record], name) == "lamina":
            return None
        found.records.append({key: value for key, value in record.items() if key not in _NOT_NEEDED})
    if not found.records:
        await _refuse_text(source, name, found.unreadable[0])
    return found


async def _refuse_text(source: Path, name: str, first: tuple[int, str]) -> None:
    """Raise what is wrong with a file of which no line can be read."""
    start = (await asyncio.to_thread(_start, source)).decode("utf-8", "replace")
    number, reason = first
    if start.lstrip("\ufeff \r\n\t").startswith(("{", "[")):
        raise InputError(f"{name}, line {number} {reason}; nothing was imported; {unknown_files.CAN_BE_IMPORTED}")
    raise detect.UnknownFormat(unknown_files.describe(name, unknown_files.text_kind(start, name)))


async def _read_json(path: Path, name: str) -> Any:
    """A whole file as JSON; what begins like none is told what it seems to be."""
    try:
        return await files.read_json(path)
    except InputError as error:
        start = (await asyncio.to_thread(_start, path)).decode("utf-8", "replace")
        kind = unknown_files.text_kind(start, name)
        if kind != unknown_files.DAMAGED:
            raise detect.UnknownFormat(unknown_files.describe(name, kind)) from None
        raise InputError(f"{error}; nothing was imported; {unknown_files.CAN_BE_IMPORTED}") from None


_NOT_NEEDED = frozenset({"toolUseResult", "snapshot_data"})  # large, and said in the messages too


async def _line_records(source: Path, position: Position) -> Records:
    async for number, record in files.read_lines(source, position):
        yield f"line {number}", record


async def _with_places(
    records: Sequence[Record], name: str, position: Position | None = None, size: int = 0
) -> AsyncIterator[tuple[str, Record]]:
    for number, record in enumerate(records, 1):
        if position is not None:
            position.bytes = size * number // len(records)
        yield f"{name}, {record.get('type', 'message')} {record.get('id', '')!r:.80}", record
