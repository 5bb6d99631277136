"""Commands for taking a memory to another place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape

from lamina.cli.command import AllTenants, Face, JsonOption, console, out, with_progress
from lamina.errors import Conflict
from lamina.open import grants
from lamina.values.report import Copied

commands = typer.Typer()


@commands.command()
def copy(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="Path or URL of the memory to copy.")],
    target: Annotated[str, typer.Argument(help="Path or URL of an empty store, or of an earlier copy.")],
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often to copy what changed meanwhile.")] = 5,
    all_tenants: AllTenants = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a memory, row by row, to another store, and compare every row; run it again to go on or to catch up."""
    face = Face(replace(context.obj.settings, database=source)).existing()
    if all_tenants:
        copies = _copy_each(
            [face.of_tenant(name) for name in face.whose(context, all_tenants)], target, rounds, as_json
        )
    else:
        copies = [_copy(face, target, rounds, as_json)]
        out(copies[0], as_json, _copied)
    if not all(copied.complete for copied in copies):
        raise typer.Exit(1)


def _copy_each(faces: Sequence[Face], target: str, rounds: int, as_json: bool) -> list[Copied]:
    """One tenant after the other, each told of when it is done."""
    done: dict[str, Copied] = {}
    for face in faces:
        tenant = face.settings.tenant
        try:
            done[tenant] = _copy(face, target, rounds, as_json)
        except Conflict as error:
            raise Conflict(f"tenant {tenant!r}: {error}") from error
        if not as_json:
            console.print(f"[bold]{escape(tenant)}[/]: {_copied(done[tenant])}")
    if as_json or not done:
        out(done, as_json, lambda _: "no tenant has written anything")
    return [*done.values()]


def _copy(face: Face, target: str, rounds: int, as_json: bool) -> Copied:
    with face.memory() as memory:
        title = f"copying {face.settings.tenant}"
        return with_progress(title, as_json, lambda tell: memory.copy_to(target, rounds=rounds, progress=tell))


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
