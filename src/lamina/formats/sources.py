"""The files that an import is asked for: files, folders and archives, and what is in them."""

import asyncio
import os
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from lamina.errors import InputError
from lamina.formats import folder_write as folder
from lamina.formats.missing_paths import no_such_path

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".md", ".txt")
_ARCHIVE = ".zip"
_ACCOUNT, _LIST = "settings of the account", "a list of files or conversations"
_RATINGS, _OTHER = "ratings of answers", "no conversations with the model"
# Files beside conversations in exports of other tools: why they are left out.
_BESIDE = {
    "user.json": _ACCOUNT, "users.json": _ACCOUNT, "user_settings.json": _ACCOUNT,
    "projects.json": "documents of projects, which nobody said",
    "message_feedback.json": _RATINGS, "model_comparisons.json": _RATINGS,
    "shared_conversations.json": _LIST, "export_manifest.json": _LIST, "sessions-index.json": _LIST,
    "manifest.json": _LIST, "group_chats.json": _OTHER, "shopping.json": _OTHER, "sora.json": _OTHER,
    "history.jsonl": "prompts, which are in the transcripts, too",
}  # fmt: skip
_TYPE = "file of a type that is not read: "
_MAX_TYPES = 10  # of files that are counted one by one
_MAX_UNPACKED = 16 << 30  # bytes of an archive's files together
_MAX_RATIO = 200  # to which a file may be compressed; text of chats comes to 5 to 20
_ANY_RATIO = 16 << 20  # bytes up to which it does not matter
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file to import, or a memory folder."""

    path: Path  # of the file, or of the archive that it is in
    name: str  # as it is called in reports
    size: int
    member: str | None = None  # its name in the archive
    is_named: bool = True  # by the caller; else it was found in a folder or an archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is to import."""

    sources: list[Source]  # each once
    failed: list[tuple[Path, InputError]]  # paths that cannot be read
    left_out: Counter[str]  # why files of folders and archives are not looked at


def find(paths: Sequence[Path]) -> Found:
    """The files of these paths."""
    found: dict[tuple[Path, str | None], Source] = {}
    failed: list[tuple[Path, InputError]] = []
    left_out: Counter[str] = Counter()
    for path in paths:
        try:
            for source in _of_path(path, left_out):
                found.setdefault((source.path.resolve(), source.member), source)
        except InputError as error:
            failed.append((path, error))
        except OSError as error:
            failed.append((path, InputError(f"{path} cannot be read: {error.strerror or error}")))
    return Found(sources=list(found.values()), failed=failed, left_out=_with_few_types(left_out))


def _of_path(path: Path, left_out: Counter[str]) -> Iterable[Source]:
    if not path.exists():
        raise InputError(no_such_path(path))
    if path.is_dir():
        return _of_folder(path, left_out)
    if path.suffix.lower() == _ARCHIVE:
        return _of_archive(path, path.name, left_out)
    return [Source(path=path, name=path.name, size=path.stat().st_size)]


def _of_folder(path: Path, left_out: Counter[str]) -> list[Source]:
    """A memory folder is one source; of any other, each file below it that may be one."""
    if _is_memory(path):
        size = sum((path / name).stat().st_size for name in folder.FILES if (path / name).is_file())
        return [Source(path=path, name=path.name, size=size)]
    found: list[Source] = []
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent) / name
            shown = file.relative_to(path).as_posix()
            if name.startswith("."):
                continue
            if file.suffix.lower() == _ARCHIVE:
                found += _of_archive(file, shown, left_out)
            elif reason := _not_wanted(file, shown):
                left_out[reason] += 1
            else:
                found.append(Source(path=file, name=shown, size=file.stat().st_size, is_named=False))
    if not found:
        raise InputError(
            f"{path} has no file that can be imported: {', '.join(_SUFFIXES)} and {_ARCHIVE} are looked at,"
            f" or the files of a memory folder, {list(folder.FILES)}"
        )
    return found


def _is_memory(path: Path) -> bool:
    """Whether a folder is one that `export` wrote; other tools have a conversations.json, too."""
    names = [name for name in folder.FILES if (path / name).is_file()]
    if names != [folder.CONVERSATIONS]:
        return bool(names)
    with (path / folder.CONVERSATIONS).open("rb") as file:
        start = file.read(_PIECE)
    return b'"recentMessages"' in start or start.strip() == b"[]"


def _of_archive(path: Path, shown: str, left_out: Counter[str]) -> list[Source]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise InputError(f"{shown} is no archive that can be read ({error}); download it again") from None
    seen = [one for one in members if not one.is_dir() and not _is_hidden(PurePosixPath(one.filename))]
    reasons = {one.filename: _not_wanted(PurePosixPath(one.filename), f"{shown}/{one.filename}") for one in seen}
    wanted = [one for one in seen if reasons[one.filename] is None]
    left_out.update(reason for reason in reasons.values() if reason)
    if not wanted:
        inner = any(PurePosixPath(one.filename).suffix.lower() == _ARCHIVE for one in seen)
        advice = "unpack it, and import the archive that is in it" if inner else "is it the right one?"
        raise InputError(f"{shown} has no file that can be imported, such as conversations.json; {advice}")
    _check_bomb(wanted, shown)
    return [
        Source(path=path, name=f"{shown}/{one.filename}", size=one.file_size, member=one.filename, is_named=False)
        for one in sorted(wanted, key=lambda one: one.filename)
    ]


def _is_hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part != ".." for part in name.parts)


def _not_wanted(name: PurePath, shown: str) -> str | None:
    """Why a file is not looked at; None if it is."""
    if name.name in _BESIDE:
        return f"{shown}: {_BESIDE[name.name]}"
    suffix = name.suffix.lower()
    return None if suffix in _SUFFIXES else f"{_TYPE}{suffix or 'no suffix'}"


def _with_few_types(left_out: Counter[str]) -> Counter[str]:
    """The most frequent types of files one by one, all others together."""
    types = Counter({reason: number for reason, number in left_out.items() if reason.startswith(_TYPE)})
    rare = {reason for reason, _ in types.most_common()[_MAX_TYPES:]}
    kept = Counter({reason: number for reason, number in left_out.items() if reason not in rare})
    return kept + Counter({"file of another type": sum(types[reason] for reason in rare)})


def _check_bomb(members: Sequence[zipfile.ZipInfo], shown: str) -> None:
    total = sum(one.file_size for one in members)
    for one in members:
        if one.file_size > max(_ANY_RATIO, _MAX_RATIO * one.compress_size):
            raise InputError(
                f"{shown} has {one.filename!r}, said to be {one.file_size:,} bytes from {one.compress_size:,}; no "
                "chat is compressed that much. Unpack it yourself if you trust it, and import the file"
            )
    if total > _MAX_UNPACKED:
        raise InputError(f"{shown} has {total:,} bytes; up to {_MAX_UNPACKED:,} are unpacked. Unpack it yourself")


@asynccontextmanager
async def open_source(source: Source) -> AsyncIterator[Path]:
    """The path of a source; a file of an archive is unpacked into a folder of its own, under its last name alone."""
    if source.member is None:
        yield source.path
        return
    with tempfile.TemporaryDirectory(prefix="lamina-import-") as place:
        target = Path(place) / PurePosixPath(source.member).name
        await asyncio.to_thread(_unpack, source, target)
        yield target


def _unpack(source: Source, target: Path) -> None:
    assert source.member is not None
    try:
        with zipfile.ZipFile(source.path) as archive, archive.open(source.member) as packed, target.open("wb") as file:
            while piece := packed.read(_PIECE):  # never more than the size it is said to have: zipfile ends there
                file.write(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        reason = "it has a password" if "password" in str(error) else str(error)
        raise InputError(f"{source.name} cannot be unpacked: {reason}") from None
    except OSError as error:
        free = shutil.disk_usage(target.parent).free
        raise InputError(f"{source.name} cannot be unpacked: {error.strerror or error} ({free:,} bytes free)") from None
