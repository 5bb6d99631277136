"""Commands for summaries, background work, statistics and maintenance."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape

from lamina import Memory
from lamina.cli import display, display_knowledge, options
from lamina.cli.command import Report, ask, console, out, settle_memory, with_progress
from lamina.cli.named import check_named
from lamina.cli.short_ids import find_summary
from lamina.values.codec import encode
from lamina.values.report import Report as Verification

commands = typer.Typer()


@commands.command()
def summaries(
    context: typer.Context,
    session_id: options.SessionId,
    every: Annotated[bool, typer.Option("--all", help="Also those that were folded into others, or replaced.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the summaries of a session."""
    with context.obj.check_exists().memory() as memory:
        found = memory.summaries(session_id, live=not every)
    out(found, as_json, display.summaries_table, "no summaries yet")


@commands.command()
def zoom(
    context: typer.Context,
    summary_id: Annotated[str, typer.Argument(help="Id of the summary, or its beginning or end.")],
    as_json: options.Json = False,
) -> None:
    """Show the messages that a summary covers."""
    ask(context, as_json, lambda memory: memory.zoom(find_summary(memory, summary_id)), display.messages_table)


@commands.command()
def digest(
    context: typer.Context,
    user: options.User = None,
    project: options.OnlyProject = None,
    as_json: options.Json = False,
) -> None:
    """Show the digest of a user: the summary over the last sessions, for new ones."""
    with context.obj.check_exists().memory() as memory:
        found = memory.digest(context.obj.user(user), project_id=project)
        if found is None:
            check_named(memory, context.obj.user(user))
    out(found, as_json, lambda one: display.summaries_table([one]), "no digest yet")


@commands.command()
def settle(context: typer.Context, as_json: options.Json = False) -> None:
    """Do all work that is due: fold, extract facts and episodes, make vectors."""
    done = ask(context, as_json, lambda memory: settle_memory(memory, as_json), display.settle_line)
    if done.failed:
        raise typer.Exit(1)


@commands.command()
def consolidate(context: typer.Context, user: options.OnlyUser = None, as_json: options.Json = False) -> None:
    """Let unused memories decay, archive faded ones, merge duplicates, drop what has expired."""
    with context.obj.check_exists().memory() as memory:
        check_named(memory, user)
        done = with_progress("consolidating", as_json, lambda report: memory.consolidate(user, progress=report))
    out(done, as_json, display_knowledge.consolidation_line)


@commands.command()
def stats(context: typer.Context, user: options.OnlyUser = None, as_json: options.Json = False) -> None:
    """Show how much is stored, and what the last days have added."""
    with context.obj.check_exists().memory() as memory:
        check_named(memory, user)
        found = memory.stats(user)
    out(found, as_json, display.stats)


@commands.command()
def consistency(context: typer.Context, user: options.User = None, as_json: options.Json = False) -> None:
    """Show where summaries do not agree with the facts."""
    with context.obj.check_exists().memory() as memory:
        name = memory.resolve_user(context.obj.user(user))
        found = memory.consistency(name)
        if not found:
            check_named(memory, context.obj.user(user))
    agree = f"the summaries of {escape(name)} agree with the facts"
    out(found, as_json, display_knowledge.divergences_table, agree)


def _check(context: typer.Context, title: str, as_json: bool, work: Callable[[Memory, Report], Verification]) -> None:
    with context.obj.check_exists().memory() as memory:
        found = with_progress(title, as_json, lambda report: work(memory, report))
    if as_json:
        out({"ok": found.ok, **encode(found)}, as_json, str)
    else:
        display.report(console, found)
    if not found.ok:
        raise typer.Exit(1)


@commands.command()
def verify(context: typer.Context, session: options.OnlySession = None, as_json: options.Json = False) -> None:
    """Check everything that is stored: hashes, coverage, counters, provenance, indexes, receipts."""
    _check(context, "verifying", as_json, lambda memory, report: memory.verify(session, progress=report))


@commands.command()
def repair(context: typer.Context, session: options.OnlySession = None, as_json: options.Json = False) -> None:
    """Rebuild derived data that is damaged."""
    _check(context, "repairing", as_json, lambda memory, report: memory.repair(session, progress=report))
