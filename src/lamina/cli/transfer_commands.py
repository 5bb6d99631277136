"""Commands that bring memories in and take them out: import, export, copy."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from lamina.cli import options
from lamina.cli.command import Opener, Report, console, errors, out, say_error, settle_memory, with_progress
from lamina.counts import count
from lamina.errors import Conflict, InputError, StoreError
from lamina.formats.missing_paths import no_such_path
from lamina.open import grants, has_own_backups, how_to_dump
from lamina.values.report import Backup, Copied, Imported, ImportedFile

commands = typer.Typer()

_REASONS = {
    "deleted": "deleted message",
    "empty": "empty message",
    "hidden": "message that a program wrote, or hid",
    "media": "picture, recording or file in a chat",
    "of weight 0": "message that was not shown",
    "on another branch": "message on another branch of a conversation",
    "reasoning": "reasoning of a model",
}  # in full, for people

_SOURCES = "Files, folders or .zip archives: exports of Lamina, ChatGPT, Claude.ai, WhatsApp, mem0; transcripts."
_TARGETS = "A .jsonl file for everything, a folder for readable JSON, a .md file for one session."


@commands.command("import")
def import_(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help=_SOURCES)],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="User who gets them; default: as in the file.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="Project that gets them; default: as in the file.")
    ] = None,
    me: Annotated[
        list[str] | None,
        typer.Option("--me", help="Your name in a chat of several people (WhatsApp); may be repeated."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--zone", help="Zone of times without one, e.g. Asia/Tokyo; default: this machine's."),
    ] = None,
    no_settle: options.NoSettle = False,
    as_json: options.Json = False,
) -> None:
    """Import chats and memories; what is stored already or was forgotten here is skipped."""
    present, missing = _split_missing(paths)
    with context.obj.memory() as memory:
        done = _with_bytes(
            as_json,
            lambda report: memory.import_(present, user_id=user, project_id=project, me=me, zone=zone, progress=report),
        )
        if not no_settle:
            settle_memory(memory, as_json)
    if as_json:
        out(done, as_json, str)
    else:
        console.print("\n".join(_import_lines(done)), highlight=False, soft_wrap=True)
    for path in missing:
        say_error(no_such_path(path))
    if done.problems or missing:
        raise typer.Exit(1)


def _split_missing(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The paths that are there, and those that are not; if none is there, an error, before a memory is made."""
    missing = [path for path in paths if not path.exists()]
    if len(missing) == len(paths):
        raise InputError("\n".join(map(no_such_path, missing)))
    return [path for path in paths if path not in missing], missing


def _with_bytes(quiet: bool, work: Callable[[Report], Imported]) -> Imported:
    """Run an import with a bar of the bytes that are read of all files."""
    if quiet or not errors.is_terminal:
        return work(lambda _done, _of: None)
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task("importing", total=None)
        return work(lambda done, of: progress.update(task, completed=done, total=of))


def _import_lines(done: Imported) -> list[str]:
    """What came of each file, then of all together."""
    lines = [line for file in done.files for line in _file_lines(file)]
    if done.problems and not (done.sessions or done.facts):
        lines.append("[red]nothing was imported[/]")
        return [*lines, *_left_out(done)]
    others = [(done.facts, "fact"), (done.episodes, "episode"), (done.links, "link")]
    derived = ", ".join(count(number, noun) for number, noun in others if number)
    if done.sessions or done.duplicates or not derived:
        lines.append(f"{_said(done)}, {done.duplicates:,} already stored" if done.sessions else "nothing new")
    lines += [derived] if derived else []
    lines += _left_out(done)
    if done.problems:
        failed = sum(bool(file.problems) for file in done.files)
        lines.append(f"[red]not imported, or not as a whole: {failed:,} of {count(len(done.files), 'file')}[/]")
    return lines


def _left_out(done: Imported) -> list[str]:
    return [f"left out: {times:,} x {escape(_REASONS.get(why, why))}" for why, times in done.skipped.items()]


def _said(found: Imported | ImportedFile) -> str:
    return f"{count(found.messages, 'new message')} in {count(found.sessions, 'session')}"


def _file_lines(file: ImportedFile) -> Iterator[str]:
    name = escape(file.name)
    if file.format is None or (file.problems and not file.sessions):
        yield f"[red]not imported[/] {name}"
    else:
        mark = "[yellow]in part[/]" if file.problems else "[green]imported[/]"
        facts = count(file.facts, "new fact") if file.facts else "nothing new"
        what = _said(file) if file.sessions else facts
        yield f"{mark} {name} ({escape(file.format)}): {what}"
    yield from (f"  [red]{escape(problem)}[/]" for problem in file.problems)
    yield from (f"  {escape(note)}" for note in file.notes)


@commands.command("export")
def export_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help=_TARGETS)],
    session: options.OnlySession = None,
    user: options.OnlyUser = None,
    project: options.OnlyProject = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="Also the vectors of facts and episodes.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write what is stored to a file or a folder."""
    with context.obj.check_exists().memory() as memory:
        size = with_progress(
            "exporting",
            as_json,
            lambda report: memory.export(
                path, session_id=session, user_id=user, project_id=project, embeddings=embeddings, progress=report
            ),
        )
    out(
        {"path": str(path), "bytes": size},
        as_json,
        lambda d: f"wrote {count(d['bytes'], 'byte')} to {escape(d['path'])}",
    )


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
    opener = replace(context.obj, settings=replace(context.obj.settings, database=source)).check_exists(
        "SOURCE is a file or a URL; "
    )
    done: dict[str, Copied] = {}
    for tenant in opener.tenant_names(all_tenants):
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


@commands.command()
def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write a backup of the whole memory to a file, also while it is in use, and check it."""
    opener: Opener = context.obj.check_exists()
    try:
        with opener.memory() as memory:
            done = with_progress(
                "backing up", as_json, lambda report: memory.backup(target, overwrite=overwrite, progress=report)
            )
    except StoreError as error:
        if not has_own_backups(opener.settings.database):
            raise
        raise StoreError(f"{error}. {how_to_dump(opener.settings.database, target)}") from error
    out(done, as_json, _backup_text)


def _backup_text(done: Backup) -> str:
    counted = f"{count(done.messages, 'message')} in {count(done.sessions, 'session')}"
    return f"wrote {count(done.size, 'byte')} to {escape(done.path)}; read again: the file is whole, with {counted}"


@commands.command("grants")
def grants_(context: typer.Context, role: Annotated[str, typer.Argument(help="The role that will use it.")]) -> None:
    """Print the SQL that lets a role use a PostgreSQL store that it does not own."""
    typer.echo(grants(context.obj.settings.database, role))


def _sessions_of(copied: Copied) -> str:
    return f"{count(copied.sessions, 'session')} of {count(copied.users, 'user')}"


def _copy_text(copied: Copied) -> str:
    lines = [f"copied {count(copied.messages, 'message')} in {_sessions_of(copied)}"]
    lines.append("in both: " + ", ".join(f"{table} {number:,}" for table, number in copied.rows.items() if number))
    if copied.changing:
        lines.append(f"still changing: {count(copied.changing, 'user')}; run it again when nobody writes to the source")
    lines += [f"[red]differs:[/] {escape(name)}" for name in copied.differing[:20]]
    lines += [f"[red]{escape(problem.kind)}:[/] {escape(problem.text)}" for problem in copied.problems[:20]]
    lines.append("the same, row by row, and verified" if copied.complete else "[red]not complete[/]")
    return "\n".join(lines)
