"""Commands for copying a memory to another store."""

from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape

from lamina.cli import options
from lamina.cli.command import Opener, console, out, with_progress
from lamina.errors import Conflict
from lamina.open import grants
from lamina.values.report import Copied

commands = typer.Typer()


@commands.command()
def copy(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="Path or URL of the memory to copy.")],
    target: Annotated[str, typer.Argument(help="Path or URL of an empty store, or of an earlier copy.")],
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often to copy again what has changed.")] = 5,
    all_tenants: options.AllTenants = False,
    as_json: options.Json = False,
) -> None:
    """Copy a memory row by row to another store, and compare every row; run it again to continue or to update."""
    opener = Opener(replace(context.obj.settings, database=source)).check_exists()
    done: dict[str, Copied] = {}
    for tenant in opener.tenant_names(context, all_tenants):
        try:
            done[tenant] = _copy(opener.for_tenant(tenant), target, rounds, as_json)
        except Conflict as error:
            raise Conflict(f"tenant {tenant!r}: {error}" if all_tenants else str(error)) from error
        if not as_json:
            console.print((f"[bold]{escape(tenant)}[/]: " if all_tenants else "") + _copy_text(done[tenant]))
    if as_json or not done:
        out(done if all_tenants else done[opener.settings.tenant], as_json, lambda _: "no tenant has any data")
    if not all(copied.complete for copied in done.values()):
        raise typer.Exit(1)


def _copy(opener: Opener, target: str, rounds: int, as_json: bool) -> Copied:
    with opener.memory() as memory:
        title = f"copying {opener.settings.tenant}"
        return with_progress(title, as_json, lambda report: memory.copy_to(target, rounds=rounds, progress=report))


@commands.command("grants")
def grants_(context: typer.Context, role: Annotated[str, typer.Argument(help="The role that will use it.")]) -> None:
    """Print the SQL that lets a role use a PostgreSQL store that it does not own."""
    typer.echo(grants(context.obj.settings.database, role))


def _copy_text(copied: Copied) -> str:
    lines = [f"copied {copied.messages:,} messages in {copied.sessions:,} sessions of {copied.users:,} users"]
    lines.append("in both: " + ", ".join(f"{count:,} {table}" for table, count in copied.rows.items() if count))
    if copied.changing:
        lines.append(f"{copied.changing:,} users were still changing: run it again when nobody writes to the source")
    lines += [f"[red]differs:[/] {escape(name)}" for name in copied.differing[:20]]
    lines += [f"[red]{escape(problem.kind)}:[/] {escape(problem.text)}" for problem in copied.problems[:20]]
    lines.append("the same, row by row, and verified" if copied.complete else "[red]not complete[/]")
    return "\n".join(lines)
