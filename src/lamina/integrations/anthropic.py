"""The memory tool of Anthropic's SDK, with its files kept in Lamina."""

import asyncio
import functools
import posixpath
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from lamina import InputError, Memory, MissingExtra
from lamina.values.document import Document, DocumentPut

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise MissingExtra("anthropic", "anthropic") from error

P = ParamSpec("P")
ROOT = "/memories"
_TITLE = "memories"
_MAX_LINES = 999_999
_AROUND = 2  # lines shown before and after a change
_DEPTH = 2  # levels of a listing
_UNIT = 1024


def _answer_errors(verb: Callable[P, str]) -> Callable[P, str]:
    """Turn an InputError into a ToolError, which the model sees."""

    @functools.wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return verb(*args, **kwargs)
        except InputError as error:
            raise ToolError(str(error)) from error

    return call


class LaminaMemoryTool(BetaAbstractMemoryTool):
    """The files under `/memories` of one user, each with its versions; `delete` forgets a file with all of them."""

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._documents = memory.documents
        self._user_id = memory.resolve_user(user_id)
        self._owner = f"{_TITLE}:" + self._user_id.replace("%", "%25").replace("|", "%7C") + "|"

    @_answer_errors
    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        path = _check_path(command.path)
        file = self._file(path)
        if file is not None:
            return _render(command.path, file.text, command.view_range)
        files = {name: len(one.text.encode()) for name, one in self._under(path).items()}
        if not files and path != ROOT:
            raise _missing(command.path)
        head = (
            f"Here're the files and directories up to {_DEPTH} levels deep in {command.path}, excluding hidden items:"
        )
        return "\n".join([head, *_list_files(command.path.rstrip("/"), path, files)])

    @_answer_errors
    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        path = _check_path(command.path)
        if self._exists(path):
            raise ToolError(f"File {command.path} already exists")
        self._check_parents(path)
        self._put(path, command.file_text)
        return f"File created successfully at: {command.path}"

    @_answer_errors
    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        path = _check_path(command.path)
        text, old = self._text(path, command.path), command.old_str
        lines = _lines_of(text, old)
        if not lines:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if text.count(old) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        changed = text.replace(old, command.new_str or "")
        self._put(path, changed)
        first = max(1, lines[0] - _AROUND)
        snippet = _number_lines(changed.split("\n")[first - 1 : lines[0] + _AROUND], first)
        return "\n".join(
            ["The memory file has been edited. Here is the snippet showing the change (with line numbers):", *snippet]
        )

    @_answer_errors
    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        path = _check_path(command.path)
        text = self._text(path, command.path)
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        self._put(path, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {command.path} has been edited."

    @_answer_errors
    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        path = _check_path(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        found = self._at(path)
        if not found:
            raise ToolError(f"The path {command.path} does not exist")
        self._documents.drop([self._owner + file for file in found])
        return f"Successfully deleted {command.path}"

    @_answer_errors
    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        old, new = _check_path(command.old_path), _check_path(command.new_path)
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if self._exists(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        found = self._at(old)
        if not found:
            raise ToolError(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        self._check_parents(new)
        for file in found:
            self._documents.move(self._owner + file, self._owner + new + file.removeprefix(old))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    @_answer_errors
    def clear_all_memory(self) -> str:
        self._documents.drop([self._owner + file for file in self._under(ROOT)])
        return "All memory cleared"

    # files by their whole paths

    def _file(self, path: str) -> Document | None:
        (found,) = self._documents.get([self._owner + path])
        return found

    def _under(self, folder: str) -> dict[str, Document]:
        found = self._documents.under(f"{self._owner}{folder}/")
        return {document.name.removeprefix(self._owner): document for document in found}

    def _at(self, path: str) -> list[str]:
        """The file at a path, or those in the folder there."""
        return [path] if self._file(path) is not None else [*self._under(path)]

    def _exists(self, path: str) -> bool:
        return path == ROOT or bool(self._at(path))

    def _check_parents(self, path: str) -> None:
        while (path := posixpath.dirname(path)) != ROOT:
            if self._file(path) is not None:
                raise ToolError(f"{path} is a file; choose a path that does not go on from it")

    def _text(self, path: str, given: str) -> str:
        file = self._file(path)
        if file is not None:
            return file.text
        if self._exists(path):
            raise ToolError(f"The path {given} is not a file.")
        raise _missing(given)

    def _put(self, path: str, text: str) -> None:
        file = DocumentPut(
            name=self._owner + path,
            user_id=self._user_id,
            value=path,
            texts=(text,),
            agent_id=_TITLE,
            versions=True,
        )
        self._documents.put([file])


class LaminaAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the async client."""

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = LaminaMemoryTool(memory, user_id=user_id)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _check_path(path: Any) -> str:
    """The normalised path, which must be under the root."""
    if not isinstance(path, str) or not f"{path}/".startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if "\0" in path:
        raise ToolError(f"Path {path!r} has a NUL character")
    plain = posixpath.normpath(path)
    if not f"{plain}/".startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return plain


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _render(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MAX_LINES:,} lines.")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:  # noqa: PLR2004 - from and to
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    numbered = "\n".join(_number_lines(lines[first - 1 : last], first))
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def _number_lines(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{len(str(_MAX_LINES))}}\t{line}" for number, line in enumerate(lines, first)]


def _lines_of(text: str, wanted: str) -> list[int]:
    """The numbers of the lines in which each occurrence begins."""
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(wanted, at + 1)
    return found


def _list_files(shown: str, folder: str, files: dict[str, int]) -> list[str]:
    """A folder with what is in it, each with its size; a folder has the size of its files."""
    sizes: dict[tuple[str, ...], int] = {}
    folders = set()
    for name, size in files.items():
        parts = tuple(name.removeprefix(f"{folder}/").split("/"))
        for depth in range(len(parts)):
            sizes[parts[:depth]] = sizes.get(parts[:depth], 0) + size
            folders.add(parts[:depth])
        sizes[parts] = size
    rows = [f"{_readable(sum(files.values()))}\t{shown}"]
    for parts in sorted(sizes):
        if 0 < len(parts) <= _DEPTH and not any(part.startswith(".") for part in parts):
            end = "/" if parts in folders else ""
            rows.append(f"{_readable(sizes[parts])}\t{shown}/{'/'.join(parts)}{end}")
    return rows


def _readable(size: int) -> str:
    amount, unit = float(size), "B"
    for larger in "KMG":
        if amount < _UNIT:
            break
        amount, unit = amount / _UNIT, larger
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"
