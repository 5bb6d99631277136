"""Files out and in: which format a path means."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from lamina.errors import InputError
from lamina.folding import layouts
from lamina.folding.layouts import SessionDocument
from lamina.formats import folder, foreign, whole_files
from lamina.formats.chains import refuse_circles
from lamina.formats.export import Export, Scope
from lamina.formats.folder_reading import read
from lamina.formats.importing import DEFAULT_OWNER, Importing, Records, gone_here
from lamina.formats.lines import Converted, Record, laid_out
from lamina.knowledge.extract import Reader
from lamina.log.messages import main_owner
from lamina.parts import Parts, Progress
from lamina.values.message import ROLES, Span
from lamina.values.report import Imported


class Transfer:
    """Writes memories to files and reads them back."""

    def __init__(self, parts: Parts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader
        self._export = Export(parts)

    # out

    async def write(self, target: Path, session_id: str | None, user_id: str | None, progress: Progress | None) -> int:
        """Write a file, or the files of a folder, each of which is there only once it is whole; returns the bytes."""
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
            raise InputError(f"{target} cannot be written: {error}") from None
        if suffix == ".md":
            raise InputError("a markdown file holds one session; give its session_id, or export to .jsonl")
        raise InputError(
            f"{target} ends in {target.suffix!r}; everything goes to a .jsonl file or, as readable JSON, to a folder "
            "(a name without a suffix, or a folder that exists), one session also to a .md file"
        )

    # in

    async def read(self, source: Path, user_id: str | None, progress: Progress | None, *, whole: bool) -> Imported:
        """Read a file or folder, of Lamina or of another tool; with `whole`, only if no record of it is wrong."""
        gone = await gone_here(self._parts)
        importing = Importing(self._parts, self._reader, user_id, gone)
        checking = Importing(self._parts, self._reader, user_id, gone) if whole else None
        try:
            if await asyncio.to_thread(source.is_dir):
                taken = await self._folder(source)
            elif source.suffix.lower() == ".md":
                taken = await self._markdown(source, user_id)
            elif source.suffix.lower() == ".json" and not await _is_lines(source):
                taken = _converted(whole_files.parsed(await whole_files.text_of(source), source.name), source.name)
            else:
                foreign_lines = await _foreign_lines(source)
                if foreign_lines is None:
                    if checking is not None:
                        await checking.check(_placed(source))
                    await refuse_circles(self._parts.store, _placed(source))
                    return await importing.run(_placed(source), progress, 0, {})
                taken = _converted(foreign_lines, source.name)
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error}") from None
        if checking is not None:
            await checking.check(_named(taken.records, source.name))
        await refuse_circles(self._parts.store, _named(taken.records, source.name))
        records = _named(taken.records, source.name)
        return await importing.run(records, progress, len(taken.records), taken.skipped)

    async def _folder(self, source: Path) -> Converted:
        found = {}
        for name in folder.FILES:
            if await asyncio.to_thread((source / name).is_file):
                found[name] = whole_files.parsed(await whole_files.text_of(source / name), name)
        if not found:
            raise InputError(f"{source} has no file of a memory folder; its files are {list(folder.FILES)}")
        talks = found.get(folder.CONVERSATIONS)
        if isinstance(talks, list) and talks and isinstance(talks[0], dict) and "mapping" in talks[0]:
            return foreign.converted(talks, folder.CONVERSATIONS)  # ChatGPT's file of this name, in its folder
        taken = read(found)
        return _counted(taken) if len(found) == len(folder.FILES) else taken

    async def _markdown(self, source: Path, user_id: str | None) -> Converted:
        """Read a session file back. Its summary, whose messages are gone, becomes the first message of the log."""
        document = layouts.parse_session(await whole_files.text_of(source))
        session = await self._parts.store.session(document.session_id)
        owner = user_id or (session.user_id if session else main_owner(document.session_id) or DEFAULT_OWNER)
        head = {"type": "session", "id": document.session_id, "user_id": owner}
        if document.end is not None:
            head |= {"status": "ended", "ended_at": document.end.isoformat()}
        here = await self._said_here(document)
        if here and here == len(document.messages):
            return Converted(records=[], skipped=Counter({"message that is here under its own id": here}))
        return Converted(records=[head, *_said(document)])

    async def _said_here(self, document: SessionDocument) -> int:
        """How many messages of a session file are those of the session it was written from."""
        numbers = [number for number, _, _ in document.messages]
        if not numbers:
            return 0
        span = Span(first=min(numbers), last=max(numbers))
        stored = {one.seq: one for one in await self._parts.store.messages(document.session_id, span)}
        return sum(number in stored and stored[number].text == text for number, _, text in document.messages)


async def _is_lines(source: Path) -> bool:
    """Whether a file has several objects, one a line, whatever its name says."""
    number = 0
    async for _, record in whole_files.numbered(source):
        number += 1
        if record.get("type") == "unreadable":
            return False
        if number > 1:
            return True
    return False


async def _foreign_lines(source: Path) -> list[Record] | None:
    """The lines of another tool's file, which are read together; None for lines of our own."""
    found: list[Record] = []
    async for number, record in whole_files.numbered(source):
        unreadable = record.get("type") == "unreadable"
        if not found and (unreadable or foreign.recognised([record], source.name) == "lamina"):
            return None
        if unreadable:
            raise InputError(f"line {number} {record['reason']}; nothing was imported")
        found.append(record)
    return found


async def _placed(source: Path) -> Records:
    async for number, record in whole_files.numbered(source):
        yield f"line {number}", record


async def _named(records: Sequence[Record], name: str) -> AsyncIterator[tuple[str, Record]]:
    for record in records:
        yield f"{name}, {record.get('type', 'message')} {record.get('id', '')!r:.80}", record


def _converted(data: Any, name: str) -> Converted:
    if foreign.recognised(data, name) != "lamina":
        return foreign.converted(data, name)
    records = data if isinstance(data, list) else [data]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{name}, item {number} must be an object; nothing was imported")
    return Converted(records=records)


def _counted(taken: Converted) -> Converted:
    """A whole folder's records: what it has of each session is all there is, also if some was taken out by hand."""
    held = Counter((record["type"], str(record.get("session_id"))) for record in taken.records)
    kinds = {"summaries": "summary", "facts": "fact", "episodes": "episode"}
    records = [
        {**record, "holds": {name: held[kind, record["id"]] for name, kind in kinds.items()}}
        if record["type"] == "session"
        else record
        for record in taken.records
    ]
    return Converted(records=records, skipped=taken.skipped)


def _said(document: SessionDocument) -> list[Record]:
    """The messages of a session file."""
    session_id, records = document.session_id, []
    if document.summary:
        about = {"imported": "summary", "version": document.summary_version}
        body = {"role": "system", "content": document.summary}
        summary_id = f"{session_id}:summary-{document.summary_version}"
        records.append(laid_out(session_id, summary_id, body, document.start.isoformat(), about))
    for number, who, text in document.messages:
        at = (document.start + timedelta(seconds=number)).isoformat()
        message_id = f"{session_id}:{number}"
        records.append(laid_out(session_id, message_id, _spoken(who, text, message_id), at, {"number": number}))
    return records


def _spoken(who: str, text: str, call: str) -> dict[str, Any]:
    """A message from its label in a session file: `User`, or `Asha, user`."""
    name, _, last = who.rpartition(", ")
    role = last.lower()
    if role not in ROLES:
        return {"role": "user", "content": text, "name": who}
    message = {"role": role, "content": text}
    if role == "tool":
        message["tool_call_id"] = call
    return {**message, "name": name} if name else message
