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

from lamina.errors import InputError
from lamina.formats import chatgpt, claude, detect, files, folder_read, whatsapp
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
_TOGETHER = 2 * 1024**3  # bytes of a file that is read as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What an import is told besides the files."""

    user_id: str | None = None  # who gets everything
    me: str | None = None  # the speaker of a chat who is the user
    zone: str | None = None  # of times that name none; None: this machine's


@dataclass(slots=True, kw_only=True)
class Opened:
    """A file that is being read; what was left out and what was wrong is complete when all records were read."""

    format: str
    records: Callable[[], Records]
    position: Position
    is_ours: bool = False
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def open_file(path: Path, name: str, options: ImportOptions) -> Opened:
    """A file, or a memory folder; UnknownFormat if it is nothing that can be imported."""
    if await asyncio.to_thread(path.is_dir):
        return _listed("Lamina folder", await _read_folder(path), name, path, is_ours=True)
    suffix = path.suffix.lower()
    start = await asyncio.to_thread(_start, path)
    if suffix == ".txt" and not start.lstrip("\ufeff \n").startswith(("{", "[{")):
        return await _open_chat(path, name, options)
    first = await _first_item(path) if start.lstrip("\ufeff \r\n\t").startswith(("[", "{")) else None
    for mark, (format_, read_one) in _STREAMED.items():
        is_it = mark in first if isinstance(first, dict) else first is None and f'"{mark}"' in start
        if is_it and suffix != ".jsonl":
            return _streamed(format_, read_one, path, name)
    if suffix == ".json" and not await _has_lines(path):
        await asyncio.to_thread(_check_size, path, name)
        return _converted(await files.read_json(path), name, path)
    foreign_lines = await _foreign_lines(path, name)
    if foreign_lines is not None:
        return _converted(foreign_lines, name, path)
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
        raise detect.UnknownFormat(
            f"{name} begins like no chat that WhatsApp exports; what can be imported:\n{detect.FORMATS}"
        )
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


def _start(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(4096).decode("utf-8", "replace")


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


async def _foreign_lines(source: Path, name: str) -> list[Record] | None:
    """The lines of another tool's file, which are read together; None for lines of our own."""
    found: list[Record] = []
    cut: tuple[int, Record] | None = None
    async for number, record in files.read_lines(source):
        if cut is not None:
            raise InputError(f"{name}, line {cut[0]} {cut[1]['reason']}; nothing was imported")
        unreadable = record.get("type") == "unreadable"
        if not found and (unreadable or detect.detect([record], name) == "lamina"):
            return None
        if unreadable:
            cut = (number, record)  # the last line of a file that is being written may be
        else:
            found.append({key: value for key, value in record.items() if key not in _NOT_NEEDED})
    if cut is not None and not detect.is_transcript(found[0]):
        raise InputError(f"{name}, line {cut[0]} {cut[1]['reason']}; nothing was imported")
    return found


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
