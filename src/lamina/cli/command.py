"""What every command uses: the memory of the settings, progress, output."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lamina import Memory
from lamina.cli import display
from lamina.cli.output import ClosedPipe, Output, is_plain
from lamina.errors import InputError, LaminaError
from lamina.memory import AsyncMemory
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from lamina.tenancy.tenants import Tenants
from lamina.values.report import Settled

T = TypeVar("T")
Report = Callable[[int, int], None]  # how far long work is: done, of how many

console = Output()
errors = Output(stderr=True)


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens the memory that the settings name; every command gets one as `context.obj`."""

    settings: Settings
    database: str | None = None  # as --db names it
    tenant: str | None = None  # as --tenant names it
    quiet: bool = False

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory, without a worker: commands do what is due themselves. A new file that gets nothing is removed."""
        settings, is_new, is_empty = self.settings, self.is_missing(), False
        try:
            with Memory(settings.database, tenant=settings.tenant, worker=False, **settings.options()) as memory:
                try:
                    yield memory
                finally:
                    with suppress(LaminaError):
                        is_empty = is_new and not memory.users()
                self.announce(is_new and not is_empty)
        finally:
            if is_empty:
                self._remove()

    @contextmanager
    def memory_if_any(self) -> Iterator[Memory]:
        """The memory; where there is none, an empty one that is not kept."""
        opener = replace(self, settings=replace(self.settings, database=":memory:")) if self.is_missing() else self
        with opener.memory() as memory:
            yield memory

    def check_exists(self, hint: str = "--db names another one, ") -> "Opener":
        """Raise InputError if there is no file: reading never makes one."""
        if self.is_missing():
            raise InputError(
                f"there is no memory at {self.place}; {hint}`lamina add`, `lamina import` and `lamina demo` make one"
            )
        return self

    def _remove(self) -> None:
        """Remove a file that was made for nothing, unless somebody else has it open by now."""
        path = self.place
        if not Path(f"{path}-wal").exists():
            path.unlink(missing_ok=True)

    @property
    def place(self) -> Path:
        """Where the file of the memory is, or will be."""
        return Path(self._path()).absolute()

    def _path(self) -> str:
        return self.settings.database.removeprefix("sqlite:///")

    def is_missing(self) -> bool:
        path = self._path()
        return "://" not in path and path != ":memory:" and not Path(path).exists()

    def announce(self, is_new: bool) -> None:
        """Say which file was made."""
        if is_new and not self.quiet:
            say(f"made {self.place.name} in {self.place.parent}")

    def tenant_names(self, all_tenants: bool) -> list[str]:
        """The tenant of the settings, or all that have data."""
        if not all_tenants:
            return [self.settings.tenant]
        if self.tenant is not None:
            raise InputError("give --tenant or --all-tenants, not both")
        return self.with_tenants(lambda opened: opened.with_data())

    def for_tenant(self, name: str) -> "Opener":
        return Opener(replace(self.settings, tenant=name))

    def for_each(self, names: Iterable[str], work: Callable[[AsyncMemory], Awaitable[T]]) -> dict[str, T]:
        """What `work` returns for the memory of each of these tenants."""

        async def run(opened: Tenants) -> dict[str, T]:
            return {name: await work(await opened.engine(name)) for name in names}

        return self.with_tenants(run)

    def with_tenants(self, work: Callable[[Tenants], Awaitable[T]]) -> T:
        """What `work` returns, with the memories of all tenants open."""
        settings, is_new = self.settings, self.is_missing()

        async def run() -> T:
            async with tenants(settings.database, tenant=settings.tenant, worker=False, **settings.options()) as opened:
                found = await work(opened)
                self.announce(is_new)
                return found

        try:
            return asyncio.run(run())
        except LaminaError:
            if is_new:
                self._remove()
            raise

    def user(self, given: str | None) -> str | None:
        """The user that was given, or that the settings name; None: the memory decides."""
        return given if given is not None else self.settings.user


def out(value: Any, as_json: bool, render: Callable[[Any], Any], empty: str = "") -> None:
    """Print a value as JSON, or as `render` makes it; if there is nothing in it, as `empty`."""
    if as_json:
        write(display.as_json(value) + "\n")
    else:
        console.print(render(value) if value or not empty else empty)


def write(text: str) -> None:
    """Write to standard output as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ClosedPipe from None


def fit_output() -> None:
    """Where output has no width, do not break its lines."""
    for one in (console, errors):
        one.soft_wrap = is_plain(one)


def ask(
    context: typer.Context,
    as_json: bool,
    work: Callable[[Memory], T],
    render: Callable[[T], Any],
    empty: str = "",
    *,
    settle: bool = False,
) -> T:
    """Print what `work` returns for the memory, which must exist; then fold what is due, if `settle`."""
    with context.obj.check_exists().memory() as memory:
        found = work(memory)
        if settle:
            settle_memory(memory, as_json)
    out(found, as_json, render, empty)
    return found


def with_progress(title: str, quiet: bool, work: Callable[[Report], T]) -> T:
    """Run `work` with a function to which it reports how far it is."""
    if quiet or not errors.is_terminal:
        return work(lambda _done, _of: None)
    with progress_bar(errors, transient=True) as progress:
        task = progress.add_task(title, total=None)
        return work(lambda done, of: progress.update(task, completed=done, total=of or None))


def progress_bar(console: Console, *, transient: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=transient)


def settle_memory(memory: Memory, quiet: bool) -> Settled:
    """Fold what is due."""
    return with_progress("folding", quiet, lambda report: memory.settle(progress=report))


def say(line: str) -> None:
    """Print a line for people, which is not part of the output."""
    errors.print(escape(line), highlight=False, soft_wrap=True)


def say_error(text: str) -> None:
    """Print what went wrong, in one line however long."""
    errors.print(f"[red]error:[/] {escape(text)}", highlight=False, soft_wrap=True)
