"""Export and import of files: which format a path means."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from lamina.errors import InputError
from lamina.folding import layouts
from lamina.folding.layouts import SessionDocument
from lamina.formats import detect, files, folder_read
from lamina.formats import folder_write as folder
from lamina.formats.export import Export, Scope
from lamina.formats.import_circles import refuse_circles
from lamina.formats.importing import DEFAULT_OWNER, Importer, Records, read_forgotten
from lamina.formats.json_lines import Conversion, Record, message_record
from lamina.knowledge.extract import Reader
from lamina.log.messages import main_owner
from lamina.log.pages import single
from lamina.parts import Parts, Progress
from lamina.values.message import ROLES, Span
from lamina.values.report import Imported


class Transfer:
    """Writes memories to files and reads them back."""

    def __init__(self, parts: Parts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader
        self._export = Export(parts)

    async def write(self, target: Path, session_id: str | None, user_id: str | None, progress: Progress | None) -> int:
        """Write a file, or the files of a folder; each gets its name when it is complete. Returns the bytes."""
        scope = Scope(session_id=session_id, user_id=user_id, progress=progress)
        suffix = "" if await asyncio.to_thread(target.is_dir) else target.suffix.lower()
        try:
            if suffix == ".jsonl":
                return await self._export.lines(target, scope)
            if not suffix:
                return await self._export.folder(target, scope)
            if suffix == ".md" and session_id is not None:
                return await self._export.markdown(target, session_id)
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
        if suffix == ".md":
            raise InputError("a markdown file has one session; give its session_id (--session), or export to .jsonl")
        raise InputError(
            f"{target} ends in {target.suffix!r}; everything goes to a .jsonl file or, as readable JSON, to a folder "
            "(a name without a suffix, or a folder that exists), one session also to a .md file"
        )

    async def read(self, source: Path, user_id: str | None, progress: Progress | None, *, whole: bool) -> Imported:
        """Read a file or folder, of Lamina or of another tool; with `whole`, only if no record of it is wrong."""
        forgotten = await read_forgotten(self._parts)
        try:
            conversion = await self._convert(source, user_id)

            def records() -> Records:
                return _line_records(source) if conversion is None else _with_places(conversion.records, source.name)

            if whole:
                await Importer(self._parts, self._reader, user_id, forgotten).check(records())
            await refuse_circles(self._parts.store, records())
            importer = Importer(self._parts, self._reader, user_id, forgotten)
            if conversion is None:
                return await importer.run(records(), progress, 0, {})
            return await importer.run(records(), progress, len(conversion.records), conversion.skipped)
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror or error}") from None

    async def _convert(self, source: Path, user_id: str | None) -> Conversion | None:
        """The records of a file that is read at once; None for our JSON Lines, which are read line by line."""
        if await asyncio.to_thread(source.is_dir):
            return await _read_folder(source)
        if source.suffix.lower() == ".md":
            return await self._read_markdown(source, user_id)
        if source.suffix.lower() == ".json" and not await _has_lines(source):
            return _convert(await files.read_json(source), source.name)
        foreign_lines = await _foreign_lines(source)
        return None if foreign_lines is None else _convert(foreign_lines, source.name)

    async def _read_markdown(self, source: Path, user_id: str | None) -> Conversion:
        """The session of a markdown file. Its summary, whose messages are gone, becomes the first message."""
        document = layouts.parse_session(await files.read_text(source))
        session = single(await self._parts.store.sessions(ids=[document.session_id]))
        owner = user_id or (session.user_id if session else main_owner(document.session_id) or DEFAULT_OWNER)
        head = {"type": "session", "id": document.session_id, "user_id": owner}
        if document.end is not None:
            head |= {"status": "ended", "ended_at": document.end.isoformat()}
        stored = await self._count_stored(document)
        if stored and stored == len(document.messages):
            return Conversion(records=[], skipped=Counter({"message that is here under its own id": stored}))
        return Conversion(records=[head, *_messages(document)])

    async def _count_stored(self, document: SessionDocument) -> int:
        """How many messages of a markdown file are those of the session it was written from."""
        numbers = [number for number, _, _ in document.messages]
        if not numbers:
            return 0
        span = Span(first=min(numbers), last=max(numbers))
        stored = {one.seq: one for one in await self._parts.store.messages(document.session_id, span)}
        return sum(number in stored and stored[number].text == text for number, _, text in document.messages)


async def _read_folder(source: Path) -> Conversion:
    names = [name for name in folder.FILES if await asyncio.to_thread((source / name).is_file)]
    if not names:
        raise InputError(f"{source} has no file of a memory folder; its files are {list(folder.FILES)}")
    found = {name: await files.read_json(source / name) for name in names}
    talks = found.get(folder.CONVERSATIONS)
    if isinstance(talks, list) and talks and isinstance(talks[0], dict) and "mapping" in talks[0]:
        return detect.convert(talks, folder.CONVERSATIONS)  # ChatGPT's file of this name, in its folder
    conversion = folder_read.read(found)
    return _with_counts(conversion) if len(found) == len(folder.FILES) else conversion


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


async def _foreign_lines(source: Path) -> list[Record] | None:
    """The lines of another tool's file, which are read together; None for lines of our own."""
    found: list[Record] = []
    async for number, record in files.read_lines(source):
        unreadable = record.get("type") == "unreadable"
        if not found and (unreadable or detect.detect([record], source.name) == "lamina"):
            return None
        if unreadable:
            raise InputError(f"line {number} {record['reason']}; nothing was imported")
        found.append(record)
    return found


async def _line_records(source: Path) -> Records:
    async for number, record in files.read_lines(source):
        yield f"line {number}", record


async def _with_places(records: Sequence[Record], name: str) -> AsyncIterator[tuple[str, Record]]:
    for record in records:
        yield f"{name}, {record.get('type', 'message')} {record.get('id', '')!r:.80}", record


def _convert(data: Any, name: str) -> Conversion:
    if detect.detect(data, name) != "lamina":
        return detect.convert(data, name)
    records = data if isinstance(data, list) else [data]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{name}, item {number} must be an object; nothing was imported")
    return Conversion(records=records)


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


def _messages(document: SessionDocument) -> list[Record]:
    """The messages of a markdown file."""
    session_id, records = document.session_id, []
    if document.summary:
        metadata = {"imported": "summary", "version": document.summary_version}
        body = {"role": "system", "content": document.summary}
        summary_id = f"{session_id}:summary-{document.summary_version}"
        records.append(message_record(session_id, summary_id, body, document.start.isoformat(), metadata))
    for number, who, text in document.messages:
        at = (document.start + timedelta(seconds=number)).isoformat()
        message_id = f"{session_id}:{number}"
        records.append(message_record(session_id, message_id, _body(who, text, message_id), at, {"number": number}))
    return records


def _body(who: str, text: str, call_id: str) -> dict[str, Any]:
    """A message from its label in a markdown file: `User`, or `Asha, user`."""
    name, _, last = who.rpartition(", ")
    role = last.lower()
    if role not in ROLES:
        return {"role": "user", "content": text, "name": who}
    message = {"role": role, "content": text}
    if role == "tool":
        message["tool_call_id"] = call_id
    return {**message, "name": name} if name else message
