"""Commands for taking a memory to another place."""

from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape

from lamina.interfaces.cli.face import Face, JsonOption, out, with_progress
from lamina.types import Copied
from lamina.wiring import grants

commands = typer.Typer()


@commands.command()
def copy(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="Path or URL of the memory to copy.")],
    target: Annotated[str, typer.Argument(help="Path or URL of an empty store, or of an earlier copy.")],
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often to copy what changed meanwhile.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Copy a memory, row by row, to another store, and compare every row; run it again to go on or to catch up."""
    face = Face(replace(context.obj.settings, database=source)).existing()
    with face.memory() as memory:
        copied = with_progress("copying", as_json, lambda tell: memory.copy_to(target, rounds=rounds, progress=tell))
    out(copied, as_json, _copied)
    if not copied.complete:
        raise typer.Exit(1)


@commands.command("grants")
def grants_(context: typer.Context, role: Annotated[str, typer.Argument(help="Who is to use the store.")]) -> None:
    """Print the SQL that lets a role use a PostgreSQL store that it does not own."""
    typer.echo(grants(context.obj.settings.database, role))


def _copied(copied: Copied) -> str:
    lines = [f"copied {copied.messages:,} messages in {copied.sessions:,} sessions of {copied.users:,} users"]
    lines.append("in both: " + ", ".join(f"{count:,} {table}" for table, count in copied.rows.items() if count))
    if copied.changing:
        lines.append(f"{copied.changing:,} users were still changing: run it again when nobody writes to the source")
    lines += [f"[red]differs:[/] {escape(name)}" for name in copied.differing[:20]]
    lines += [f"[red]{escape(problem.kind)}:[/] {escape(problem.text)}" for problem in copied.problems[:20]]
    lines.append("the same, row by row, and verified" if copied.complete else "[red]not complete[/]")
    return "\n".join(lines)
