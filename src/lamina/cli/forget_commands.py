"""Commands that erase permanently, and show what was erased."""

import functools
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge, options
from lamina.cli.command import Opener, ask, errors, out, with_progress
from lamina.cli.named import check_named
from lamina.cli.short_ids import find_fact
from lamina.errors import InputError, LaminaError
from lamina.text_files import explain_path
from lamina.values.opt_out import OptOut
from lamina.values.receipt import Receipt

commands = typer.Typer()


@commands.command()
def forget(
    context: typer.Context,
    message: Annotated[list[str] | None, typer.Option("--message", help="Id of a message; may be repeated.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="A whole session; with --first and --last a part of it.")
    ] = None,
    first: options.First = None,
    last: options.Last = None,
    fact: Annotated[str | None, typer.Option("--fact", help="Id of a fact, or its beginning or end.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Everything with these words; '-' reads them from standard input.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Everything of this user; with --text, the user to search.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="Everything of this project of a user.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    receipt: Annotated[Path | None, typer.Option("--receipt", help="Also write the receipt to this file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Erase permanently, with everything that was derived from it, and show the receipt."""
    if not any((message, session, fact, text is not None, project, user)):
        raise InputError("say what to forget: --message, --session, --fact, --text, --project or --user")
    confirms = not (dry_run or yes)
    if confirms and (text == "-" or not sys.stdin.isatty()):
        raise InputError("forgetting cannot be undone; give --yes, or look first with --dry-run")
    if session is not None and user is not None:
        raise InputError("a session belongs to one user; give --session or --user, not both")
    if first is not None and last is not None and last < first:
        raise InputError(f"--last {last} is before --first {first}")
    if (first is None) != (last is None) or (first is not None and session is None):
        raise InputError("--first and --last are given together, with --session; nothing was forgotten")
    if receipt is not None and (receipt.is_dir() or not receipt.parent.is_dir()):
        raise InputError(f"{explain_path(receipt, OSError())}; nothing was forgotten")
    opener: Opener = context.obj.check_exists()
    with opener.memory() as memory:
        searched = opener.user(user) if (text is not None and session is None) or project is not None else None
        erase = functools.partial(
            memory.forget,
            message_id=message or None,
            session_id=session,
            first=first,
            last=last,
            fact_id=None if fact is None else find_fact(opener, memory, fact, user=None),
            text=sys.stdin.read().strip("\r\n") if text == "-" else text,
            user_id=user if searched is None else searched,
            project_id=project,
        )
        if confirms:
            planned = erase(dry_run=True)
            _check_user(memory, planned, searched)
            _confirm(planned)
        done = with_progress("forgetting", as_json, lambda report: erase(dry_run=dry_run, progress=report))
        _check_user(memory, done, searched)
    out(done, as_json, display_knowledge.receipt)
    if receipt is not None:
        _write(done, receipt)


def _check_user(memory: Memory, found: Receipt, user: str | None) -> None:
    """Where nothing was found, the user may be misspelt: then it is an error."""
    if display_knowledge.is_empty(found):
        check_named(memory, user)


def _confirm(planned: Receipt) -> None:
    """Show what would be erased, and continue only with a yes."""
    errors.print(display_knowledge.receipt(planned))
    if display_knowledge.is_empty(planned):
        raise typer.Exit
    try:
        answer = errors.input(Text("Forget this permanently? [y/N] "))
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        errors.print("nothing was forgotten")
        raise typer.Exit(1)


def _write(done: Receipt, path: Path) -> None:
    try:
        path.write_text(display.as_json(done) + "\n", "utf-8")
    except OSError as error:
        raise LaminaError(f"{explain_path(path, error)}; the receipt is stored, see `lamina receipts`") from None


@commands.command()
def receipts(context: typer.Context, as_json: options.Json = False) -> None:
    """List the receipts: when something was forgotten and how much, never what."""
    ask(
        context,
        as_json,
        lambda memory: memory.receipts(),
        display_knowledge.receipts_table,
        "nothing was forgotten yet",
    )


@commands.command("opt-out")
def opt_out(
    context: typer.Context,
    user_id: Annotated[str, typer.Argument(help="Who opts out.")],
    drop_log: Annotated[bool, typer.Option("--drop-log", help="Erase the messages, too, and store none.")] = False,
    as_json: options.Json = False,
) -> None:
    """Derive nothing more from what a user says, and erase what was derived."""
    ask(context, as_json, lambda memory: memory.opt_out(user_id, keep_log=not drop_log), display_knowledge.receipt)


@commands.command("opt-in")
def opt_in(
    context: typer.Context,
    user_id: Annotated[str, typer.Argument(help="Who opts in again.")],
    as_json: options.Json = False,
) -> None:
    """End an opt-out: messages that were kept are read again."""
    ask(context, as_json, lambda memory: memory.opt_in(user_id), lambda ended: _say_ended(user_id, ended), settle=True)


def _say_ended(user_id: str, ended: OptOut | None) -> Text:
    return Text(f"{user_id} had not opted out" if ended is None else f"{user_id} has opted in again")


@commands.command("opt-outs")
def opt_outs(context: typer.Context, as_json: options.Json = False) -> None:
    """List who has opted out, and since when."""
    ask(context, as_json, lambda memory: memory.opt_outs(), display_knowledge.opt_outs_table, "nobody has opted out")
