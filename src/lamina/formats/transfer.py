"""Export and import of files: which format a path means."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lamina.errors import BadRecords, Conflict, InputError
from lamina.formats import detect, files, session_file
from lamina.formats.export import Export, Scope
from lamina.formats.import_circles import refuse_circles
from lamina.formats.importing import Importer, Records, read_forgotten
from lamina.formats.incoming_opt_outs import RestoreOptOut
from lamina.formats.json_items import Position
from lamina.formats.json_lines import Conversion
from lamina.formats.reading import ImportOptions, Opened, is_markdown, localiser, open_file, opened_conversion
from lamina.formats.restorable import Forgotten
from lamina.formats.sources import Source, find, open_source
from lamina.formats.unknown_files import CAN_BE_IMPORTED
from lamina.knowledge.extract import Reader
from lamina.log.default_user import resolve_user
from lamina.log.messages import main_owner
from lamina.log.pages import single
from lamina.parts import Parts, Progress
from lamina.values.message import Span
from lamina.values.report import Imported, ImportedFile

_MAX_FAULTS = 20  # of one file that are named


class Transfer:
    """Writes memories to files and reads them back."""

    def __init__(self, parts: Parts, reader: Reader, restore_opt_out: RestoreOptOut) -> None:
        self._parts = parts
        self._reader = reader
        self._restore_opt_out = restore_opt_out
        self._export = Export(parts)

    async def write(self, target: Path, **given: Any) -> int:
        """Write a file, or the files of a folder; each gets its name when it is complete. Returns the bytes."""
        scope = Scope(**given)
        session_id = scope.session_id
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

    async def read(
        self,
        paths: Sequence[Path],
        given: Mapping[str, str | None],
        progress: Progress | None,
        *,
        strict: bool,
        whole: bool,
    ) -> Imported:
        """Read files and folders, of Lamina or of other tools; with `whole`, only if no record of them is wrong.

        A file that cannot be read leaves the others as they are, and is named in the outcome; with `strict`, what is
        wrong with the only file is raised.
        """
        options = ImportOptions(**given)
        localiser(options.zone)
        found = await asyncio.to_thread(find, paths)
        sources = found.sources
        if strict and found.failed:
            raise found.failed[0][1]
        if options.user_id is None:
            await self._refuse_nobodys(sources, options)
        run = _Run(self._parts, self._reader, options, await read_forgotten(self._parts), self._restore_opt_out)
        if whole:
            await self._check(sources, run)
        meter = _Meter(progress, sum(source.size for source in sources))
        outcomes = [_left_out(found.left_out), *(_not_read(path.name, error) for path, error in found.failed)]
        for source in sources:
            outcome, error = await self._read_source(source, run, meter)
            if error is not None and strict and len(sources) == 1 and source.is_named:
                raise error
            outcomes.append(outcome)
            meter.finish(source.size)
        return _total(outcomes)

    async def _refuse_nobodys(self, sources: Sequence[Source], options: ImportOptions) -> None:
        """Raise InputError if a file does not say whose it is, and the memory has other users than `default`."""
        try:
            await resolve_user(self._parts.store, None)
        except InputError as error:
            for source in sources:
                if not await self._says_whose(source, options):
                    raise InputError(f"{source.name} does not say whose it is; {error}. Nothing was imported") from None

    async def _says_whose(self, source: Source, options: ImportOptions) -> bool:
        """Whether a file names a user for everything in it; what cannot be read is told when it is imported."""
        try:
            async with open_source(source) as path:
                return await _names_users((await self._open(path, source.name, options)).records())
        except InputError:
            return True

    async def _check(self, sources: Sequence[Source], run: "_Run") -> None:
        """Raise BadRecords if a record of a file is wrong, before anything is imported."""
        for source in sources:
            async with open_source(source) as path:
                try:
                    opened = await self._open(path, source.name, run.options)
                except detect.UnknownFormat:
                    if source.is_named:
                        raise
                    continue
                await run.importer().check(opened.records())
                if opened.faults:
                    raise BadRecords([(source.name, fault) for fault in opened.faults], len(opened.faults))

    async def _read_source(
        self, source: Source, run: "_Run", meter: "_Meter"
    ) -> tuple[Imported, InputError | Conflict | None]:
        """What came of one file, and what was wrong with it."""
        importer, opened = run.importer(), None
        error: InputError | Conflict | None = None
        try:
            async with open_source(source) as path:
                opened = await self._open(path, source.name, run.options)
                if opened.is_ours:
                    await refuse_circles(self._parts.store, opened.records())
                await importer.run(opened.records(), partial(meter.show, opened.position, source.size))
        except (InputError, Conflict) as raised:
            if isinstance(raised, detect.UnknownFormat) and not source.is_named:
                why = "empty" if isinstance(raised, detect.EmptyFile) else "no known format"
                return _left_out({f"{source.name}: {why}": 1}), None
            error = raised
        outcome = importer.outcome(opened.skipped if opened else {})
        faults = [*(opened.faults if opened else ()), *([str(error)] if error else ())]
        file = ImportedFile(
            name=source.name,
            format=opened.format if opened else None,
            sessions=outcome.sessions,
            messages=outcome.messages,
            duplicates=outcome.duplicates,
            facts=outcome.facts,
            notes=(*(opened.notes if opened else ()), *importer.notes),
            problems=_problems(faults, outcome.sessions, opened.lines if opened else None),
        )
        if error is None and file.problems:
            error = InputError("; ".join(file.problems))
        return replace(outcome, files=(file,)), error

    async def _open(self, path: Path, name: str, options: ImportOptions) -> Opened:
        try:
            if await asyncio.to_thread(is_markdown, path):
                conversion = await self._read_markdown(path, options.user_id)
                return opened_conversion("session file", conversion, name, path)
            return await open_file(path, name, options)
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror or error}") from None

    async def _read_markdown(self, source: Path, user_id: str | None) -> Conversion:
        """The session of a markdown file: its messages with their numbers, and its summary as the summary."""
        try:
            file = session_file.read(await files.read_text(source))
        except InputError as error:
            raise detect.UnknownFormat(f"{source.name} is {error}; {CAN_BE_IMPORTED}") from None
        store, parts = self._parts.store, self._parts
        numbers = [number for number, _, _ in file.messages] or [1]
        stored = await store.messages(file.session_id, Span(first=min(numbers), last=max(numbers)))
        if session_file.is_stored(file, stored):
            skipped = Counter({"message that is here under its own id": len(file.messages)})
            return Conversion(records=[], skipped=skipped)
        session = single(await store.sessions(ids=[file.session_id]))
        owner = user_id or (session.user_id if session else main_owner(file.session_id))
        return Conversion(records=list(session_file.records(file, owner, parts.profile, parts.counter)))


@dataclass(slots=True)
class _Meter:
    """How many bytes of all files are read."""

    progress: Progress | None
    total: int
    done: int = 0  # of files that were read to their end

    def show(self, position: Position, size: int) -> None:
        if self.progress is not None:
            self.progress(self.done + min(size, position.bytes), self.total)

    def finish(self, size: int) -> None:
        self.show(Position(size), size)
        self.done += size


@dataclass(frozen=True, slots=True)
class _Run:
    """One import of any number of files."""

    parts: Parts
    reader: Reader
    options: ImportOptions
    forgotten: Forgotten
    restore_opt_out: RestoreOptOut

    def importer(self) -> Importer:
        options = self.options
        return Importer(
            self.parts, self.reader, options.user_id, options.project_id, self.forgotten, self.restore_opt_out
        )


async def _names_users(records: Records) -> bool:
    """Whether there is a user for each message and memory: in its record, or in the record of a session before it."""
    owned: set[str] = set()
    async for _, record in records:
        kind = record.get("type", "message")
        session_id = str(record.get("id" if kind == "session" else "session_id"))
        if isinstance(record.get("user_id"), str):
            owned.add(session_id)
            continue
        is_known = session_id in owned or main_owner(session_id) is not None
        if (kind == "message" and not is_known) or (kind == "fact" and not owned):
            return False
    return True


def _left_out(skipped: Mapping[str, int]) -> Imported:
    return Imported(sessions=0, messages=0, duplicates=0, skipped=skipped)


def _not_read(name: str, error: InputError) -> Imported:
    file = ImportedFile(name=name, problems=(str(error),))
    return Imported(sessions=0, messages=0, duplicates=0, files=(file,))


def _problems(faults: Sequence[str], sessions: int, lines: int | None) -> tuple[str, ...]:
    """What was wrong with a file, and how much of it was imported in spite of that."""
    if not faults:
        return ()
    more = len(faults) - _MAX_FAULTS
    shown = [*faults[:_MAX_FAULTS], *([f"and {more:,} more conversations cannot be read"] if more > 0 else ())]
    if sessions and "was imported" not in faults[-1]:
        shown.append(
            f"the other conversations of the file were imported ({sessions:,})"
            if lines is None
            else f"the other lines of the file were imported ({lines:,})"
        )
    return tuple(shown)


def _total(outcomes: Sequence[Imported]) -> Imported:
    names = ("sessions", "messages", "duplicates", "summaries", "facts", "episodes", "links", "milestones")
    return Imported(
        **{name: sum(getattr(one, name) for one in outcomes) for name in names},
        skipped=dict(sum((Counter(one.skipped) for one in outcomes), Counter[str]())),
        files=tuple(file for one in outcomes for file in one.files),
    )
