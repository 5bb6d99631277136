"""What every command starts from and ends with: options, the memory, progress, output."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lamina import Memory
from lamina.cli import display
from lamina.errors import InputError
from lamina.memory import AsyncMemory
from lamina.search.filters import FILTERS
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from lamina.tenancy.tenants import Tenants
from lamina.values.report import Settled

T = TypeVar("T")
Tell = Callable[[int, int], None]  # how far long work is: done, of how many

console = Console()
errors = Console(stderr=True)

UserOption = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; default from the settings.")]
OnlyUser = Annotated[str | None, typer.Option("--user", "-u", help="Only this user's; all users' when not given.")]
SessionOption = Annotated[str | None, typer.Option("--session", "-s", help="Which conversation.")]
SessionName = Annotated[str, typer.Argument(help="Id of the session.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
AllTenants = Annotated[bool, typer.Option("--all-tenants", help="Of all tenants of the store, not of one.")]
NoSettle = Annotated[bool, typer.Option("--no-settle", help="Leave folding to a later command.")]


def filter_option(name: str, *flags: str, **more: Any) -> Any:
    """The option of a filter of searches."""
    field = FILTERS[name]
    several = field.kind in {"choices", "words", "weights"}
    help_ = f"{field.about} {'May be repeated. ' if several else ''}"
    choices = f"One of {', '.join(field.choices)}." if field.choices else ""
    return typer.Option(*flags, help=(help_ + choices).rstrip(), **more)


TypeOption = Annotated[list[str] | None, filter_option("types", "--type")]
CategoryOption = Annotated[list[str] | None, filter_option("categories", "--category")]
TagOption = Annotated[list[str] | None, filter_option("tags", "--tag")]
SinceOption = Annotated[str | None, filter_option("since", "--since")]
UntilOption = Annotated[str | None, filter_option("until", "--until")]
ImportanceOption = Annotated[float, filter_option("min_importance", "--min-importance")]
AsOf = Annotated[str | None, filter_option("as_of", "--as-of")]
At = Annotated[str | None, filter_option("at", "--at")]
KnownAt = Annotated[str | None, typer.Option("--known-at", help="With what was known at this time; default: now.")]


@dataclass(frozen=True, slots=True)
class Face:
    """What every command starts from."""

    settings: Settings

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory the settings name; what is due is done by the commands that say so, not behind them."""
        settings = self.settings
        with Memory(settings.database, tenant=settings.tenant, worker=False, **settings.options()) as memory:
            yield memory

    def existing(self) -> "Face":
        """The same, sure that there is something to read."""
        path = self.settings.database.removeprefix("sqlite:///")
        if "://" not in path and not Path(path).exists():
            raise InputError(f"there is no memory at {path}; `lamina add` or `lamina import` makes one (--db names it)")
        return self

    def whose(self, context: typer.Context, all_tenants: bool) -> list[str]:
        """The tenant, or all that have written something, by name."""
        if not all_tenants:
            return [self.settings.tenant]
        if named_tenant(context) is not None:
            raise InputError("give --tenant or --all-tenants, not both")
        return self.held(lambda held: held.with_data())

    def of_tenant(self, name: str) -> "Face":
        return Face(replace(self.settings, tenant=name))

    def of_each(self, names: Iterable[str], work: Callable[[AsyncMemory], Awaitable[T]]) -> dict[str, T]:
        """What `work` gives for the memory of each of these tenants."""

        async def each(held: Tenants) -> dict[str, T]:
            return {name: await work(await held.engine(name)) for name in names}

        return self.held(each)

    def held(self, work: Callable[[Tenants], Awaitable[T]]) -> T:
        """What `work` gives with the memories of all tenants."""

        async def run() -> T:
            settings = self.settings
            async with tenants(settings.database, tenant=settings.tenant, worker=False, **settings.options()) as held:
                return await work(held)

        return asyncio.run(run())

    def user(self, given: str | None) -> str:
        return given or self.settings.user


def named_tenant(context: typer.Context) -> str | None:
    """The tenant that was given before the command."""
    return context.parent.params.get("tenant") if context.parent else None


def out(value: Any, as_json: bool, render: Callable[[Any], Any]) -> None:
    """Print a value as JSON, or as `render` makes it."""
    if as_json:
        sys.stdout.write(display.as_json(value) + "\n")
    else:
        console.print(render(value))


def with_progress(title: str, quiet: bool, work: Callable[[Tell], T]) -> T:
    """Run `work` with a function it may tell how far it is."""
    if quiet or not errors.is_terminal:
        return work(lambda _done, _of: None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(title, total=None)
        return work(lambda done, of: progress.update(task, completed=done, total=of or None))


def settled(memory: Memory, quiet: bool) -> Settled:
    """Fold what is due."""
    return with_progress("folding", quiet, lambda tell: memory.settle(progress=tell))
