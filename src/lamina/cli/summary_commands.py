"""Commands for what is made of messages, and for keeping all of it whole."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape

from lamina import Memory
from lamina.cli import display, display_knowledge
from lamina.cli.command import (
    Face,
    JsonOption,
    OnlyUser,
    SessionName,
    SessionOption,
    Tell,
    UserOption,
    console,
    out,
    settled,
    with_progress,
)
from lamina.values.codec import encode
from lamina.values.report import Report, Settled

commands = typer.Typer()


@commands.command()
def summaries(
    context: typer.Context,
    session_id: SessionName,
    every: Annotated[bool, typer.Option("--all", help="Also those that were folded into others, or replaced.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the summaries of a session."""
    with context.obj.existing().memory() as memory:
        found = memory.summaries(session_id, live=not every)
    out(found, as_json, lambda s: display.summaries_table(s) if s else "no summaries yet")


@commands.command()
def zoom(
    context: typer.Context,
    summary_id: Annotated[str, typer.Argument(help="Id of the summary.")],
    as_json: JsonOption = False,
) -> None:
    """Show the raw messages that a summary stands for."""
    with context.obj.existing().memory() as memory:
        found = memory.zoom(summary_id)
    out(found, as_json, display.messages_table)


@commands.command()
def digest(context: typer.Context, user: UserOption = None, as_json: JsonOption = False) -> None:
    """Show what a new session hears of the user's last ones."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.digest(face.user(user))
    out(found, as_json, lambda d: display.summaries_table([d]) if d else "no digest yet")


@commands.command()
def settle(context: typer.Context, as_json: JsonOption = False) -> None:
    """Fold and read everything that is due, and give vectors to what has none."""
    with context.obj.existing().memory() as memory:
        done = settled(memory, as_json)
    out(done, as_json, _settled_line)
    if done.failed:
        raise typer.Exit(1)


def _settled_line(done: Settled) -> str:
    return (
        f"{done.folds} folds, {done.facts} facts, {done.vectors} vectors, {done.digests} digests, "
        f"{done.archived} archived, {len(done.failed)} failed"
    )


@commands.command()
def consolidate(context: typer.Context, user: OnlyUser = None, as_json: JsonOption = False) -> None:
    """Let memories decay, archive the faded, merge what is the same, drop what is past its time."""
    with context.obj.existing().memory() as memory:
        done = with_progress("consolidating", as_json, lambda tell: memory.consolidate(user, progress=tell))
    out(done, as_json, display_knowledge.consolidated)


@commands.command()
def stats(context: typer.Context, user: OnlyUser = None, as_json: JsonOption = False) -> None:
    """Show how much there is of everything, and what the last days have added."""
    with context.obj.existing().memory() as memory:
        found = memory.stats(user)
    out(found, as_json, display.stats)


@commands.command()
def consistency(context: typer.Context, user: UserOption = None, as_json: JsonOption = False) -> None:
    """Show where summaries do not agree with the facts."""
    face: Face = context.obj.existing()
    whose = face.user(user)
    with face.memory() as memory:
        found = memory.consistency(whose)
    agreed = f"the summaries of {escape(whose)} agree with the facts"
    out(found, as_json, lambda f: display_knowledge.divergences_table(f) if f else agreed)


def _reported(context: typer.Context, title: str, as_json: bool, look: Callable[[Memory, Tell], Report]) -> None:
    with context.obj.existing().memory() as memory:
        found = with_progress(title, as_json, lambda tell: look(memory, tell))
    if as_json:
        out({"ok": found.ok, **encode(found)}, as_json, str)
    else:
        display.report(console, found)
    if not found.ok:
        raise typer.Exit(1)


@commands.command()
def verify(context: typer.Context, session: SessionOption = None, as_json: JsonOption = False) -> None:
    """Check that everything stored is whole: digests, coverage, counters, provenance, indexes, receipts."""
    _reported(context, "verifying", as_json, lambda memory, tell: memory.verify(session, progress=tell))


@commands.command()
def repair(context: typer.Context, session: SessionOption = None, as_json: JsonOption = False) -> None:
    """Make anew what is derived and damaged."""
    _reported(context, "repairing", as_json, lambda memory, tell: memory.repair(session, progress=tell))
