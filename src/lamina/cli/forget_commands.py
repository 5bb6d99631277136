"""Commands that erase for good, and tell what was erased."""

import functools
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from lamina.cli import display, display_knowledge
from lamina.cli.command import Face, JsonOption, errors, out, with_progress
from lamina.cli.short_ids import fact_named
from lamina.errors import InputError, LaminaError
from lamina.values.receipt import Receipt

commands = typer.Typer()


@commands.command()
def forget(
    context: typer.Context,
    message: Annotated[list[str] | None, typer.Option("--message", help="Id of a message; may be repeated.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="A whole conversation, or with --first and --last a part.")
    ] = None,
    first: Annotated[int | None, typer.Option("--first", help="First message number.")] = None,
    last: Annotated[int | None, typer.Option("--last", help="Last message number.")] = None,
    fact: Annotated[str | None, typer.Option("--fact", help="Id of a fact, or its beginning or end.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Everything that has these words; '-' reads them from standard input.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Everything of this user; with --text, only whose it is.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    receipt: Annotated[Path | None, typer.Option("--receipt", help="Also write the receipt to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Erase for good, with all that was derived, write the rest anew, and show the receipt."""
    asks = not (dry_run or yes)
    if asks and (text == "-" or not sys.stdin.isatty()):
        raise InputError("forgetting cannot be undone; say --yes, or look first with --dry-run")
    if session is not None and user is not None:
        raise InputError("a session is of one user anyway; give --session or --user, not both")
    if first is not None and last is not None and last < first:
        raise InputError(f"--last {last} is before --first {first}")
    if receipt is not None and not receipt.parent.is_dir():
        raise InputError(f"{receipt} cannot be written: its folder must exist; nothing was forgotten")
    face: Face = context.obj.existing()
    with face.memory() as memory:
        erase = functools.partial(
            memory.forget,
            message_id=message or None,
            session_id=session,
            first=first,
            last=last,
            fact_id=None if fact is None else fact_named(face, memory, fact, user=None),
            text=_words(text),
            user_id=face.settings.user if text is not None and session is None and user is None else user,
        )
        if asks:
            _ask(erase(dry_run=True))
        done = with_progress("forgetting", as_json, lambda tell: erase(dry_run=dry_run, progress=tell))
    out(done, as_json, display_knowledge.receipt)
    if receipt is not None:
        _write(done, receipt)


def _words(given: str | None) -> str | None:
    return sys.stdin.read().strip("\r\n") if given == "-" else given


def _ask(planned: Receipt) -> None:
    """Show what would go, and go on only if that is wanted."""
    errors.print(display_knowledge.receipt(planned))
    if display_knowledge.is_empty(planned):
        raise typer.Exit
    try:
        answer = errors.input(Text("Forget this for good? [y/N] "))
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        errors.print("nothing was forgotten")
        raise typer.Exit(1)


def _write(done: Receipt, path: Path) -> None:
    try:
        path.write_text(display.as_json(done) + "\n", "utf-8")
    except OSError as error:
        raise LaminaError(f"{path} cannot be written: {error}; the receipt is kept, see `lamina receipts`") from None


@commands.command()
def receipts(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what was forgotten so far: how much and when, never what."""
    with context.obj.existing().memory() as memory:
        found = memory.receipts()
    out(found, as_json, lambda f: display_knowledge.receipts_table(f) if f else "nothing was forgotten yet")
