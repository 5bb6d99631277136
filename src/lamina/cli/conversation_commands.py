"""Commands for messages and sessions: add, context, search, import and export, status."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge, options
from lamina.cli.command import Opener, ask, console, out, settle_memory, with_progress
from lamina.cli.options import filter_option
from lamina.errors import InputError
from lamina.profiles import profile_named
from lamina.search.filters import HIT_KINDS
from lamina.values.report import Imported
from lamina.values.session import STATUSES, Session, Status

commands = typer.Typer()

_SOURCES = "An export (.jsonl, folder, .md), or another tool's file: ChatGPT, ShareGPT, mem0, chat messages, logs."
_TARGETS = "A .jsonl file for everything, a folder for readable JSON, a .md file for one session."


@commands.command()
def add(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The message; '-' reads JSON Lines from standard input.")] = None,
    user: options.User = None,
    session: options.Session = None,
    role: Annotated[str, typer.Option("--role", help="Role of the author.")] = "user",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File of chat messages, one JSON object on each line.")
    ] = None,
    no_settle: options.NoSettle = False,
    as_json: options.Json = False,
) -> None:
    """Append a message, or many, to a session."""
    opener: Opener = context.obj
    messages = _read_messages(text, file, role)
    with opener.memory() as memory:
        added = memory.add(messages, user_id=opener.user(user), session_id=session)
        if not no_settle:
            settle_memory(memory, as_json)
    number = len(added.ids) - len(added.duplicates)
    what = "1 message" if number == 1 else f"{number:,} messages"
    out(added, as_json, lambda _: f"added {what} to [bold]{escape(added.session_id)}[/]")


def _read_messages(text: str | None, file: Path | None, role: str) -> list[Any]:
    if file is None and text is None:
        raise InputError("nothing to add; give a text, '-' for standard input, or --file messages.jsonl")
    if file is None and text != "-":
        return [{"role": role, "content": text}]
    try:
        lines = sys.stdin.read() if file is None else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file or 'standard input'} cannot be read: {error}") from None
    messages = []
    for number, line in enumerate(lines.splitlines(), 1):
        if line.strip():
            try:
                messages.append(json.loads(line))
            except ValueError as error:
                raise InputError(f"line {number} is not JSON: {error}; nothing was added") from None
    return messages


@commands.command("import")
def import_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help=_SOURCES)],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="User who gets them; default: as in the file.")
    ] = None,
    no_settle: options.NoSettle = False,
    as_json: options.Json = False,
) -> None:
    """Import memories from a file or folder; what is stored already or was forgotten here is skipped."""
    with context.obj.memory() as memory:
        done = with_progress("importing", as_json, lambda report: memory.import_(path, user_id=user, progress=report))
        if not no_settle:
            settle_memory(memory, as_json)
    out(done, as_json, _import_text)


def _import_text(done: Imported) -> str:
    lines = [f"{done.messages:,} messages in {done.sessions:,} sessions, {done.duplicates:,} already stored"]
    if done.facts or done.episodes or done.links:
        lines.append(f"{done.facts:,} facts, {done.episodes:,} episodes, {done.links:,} links")
    lines += [f"left out: {times:,} x {escape(reason)}" for reason, times in done.skipped.items()]
    return "\n".join(lines)


@commands.command("export")
def export_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help=_TARGETS)],
    session: options.OnlySession = None,
    user: options.OnlyUser = None,
    as_json: options.Json = False,
) -> None:
    """Write what is stored to a file or a folder."""
    with context.obj.check_exists().memory() as memory:
        size = with_progress(
            "exporting",
            as_json,
            lambda report: memory.export(path, session_id=session, user_id=user, progress=report),
        )
    out({"path": str(path), "bytes": size}, as_json, lambda d: f"wrote {d['bytes']:,} bytes to {escape(d['path'])}")


@commands.command()
def context(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The current message.")] = None,
    user: options.User = None,
    session: options.Session = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Maximum number of tokens.")] = None,
    profile: options.Profile = None,
    system: Annotated[str | None, typer.Option("--system", help="Your own system prompt.")] = None,
    at: options.At = None,
    as_json: options.Json = False,
) -> None:
    """Build the context for the next message, and show what is in it and why."""
    opener: Opener = context.obj.check_exists()
    with opener.memory() as memory:
        built = memory.context(
            query,
            user_id=opener.user(user),
            session_id=session,
            budget=budget,
            profile=None if profile is None else profile_named(profile),
            system=system,
            at=at,
        )
    if as_json:
        out(built, as_json, str)
        return
    console.print(Panel(Text(built.text or "(empty)"), title="context", title_align="left"))
    console.print(display.budget_bar(built))
    console.print(display.coverage_line(built.manifest.coverage))
    for warning in built.manifest.warnings:
        console.print(f"[yellow]{escape(warning)}[/]")


@commands.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, or words to look for.")],
    user: options.User = None,
    session: options.OnlySession = None,
    top: Annotated[int, typer.Option("--top", "-k", help="How many hits.")] = 10,
    kind: Annotated[list[str] | None, filter_option("kinds", "--kind")] = None,
    role: Annotated[str | None, filter_option("role", "--role")] = None,
    type: options.Types = None,  # noqa: A002 - the word of the glossary
    category: options.Categories = None,
    tag: options.Tags = None,
    since: options.Since = None,
    until: options.Until = None,
    min_importance: options.MinImportance = 0.0,
    as_of: options.AsOf = None,
    archived: Annotated[bool, filter_option("archived", "--archived")] = False,
    weight: Annotated[list[str] | None, filter_option("weights", "--weight", metavar="NAME=VALUE")] = None,
    min_score: Annotated[float, filter_option("min_score", "--min-score")] = 0.0,
    at: options.At = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show what each score is made of, and the time of each step.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Find messages, summaries, facts and episodes by words and meaning."""
    opener: Opener = context.obj.check_exists()
    filters: dict[str, Any] = {
        "user_id": opener.user(user),
        "top_k": top,
        "types": type or (),
        "categories": category or (),
        "tags": tag or (),
        "since": since,
        "until": until,
        "min_importance": min_importance,
        "kinds": kind or HIT_KINDS,
        "session_id": session,
        "role": role,
        "as_of": as_of,
        "archived": archived,
        "weights": _weights(weight),
        "min_score": min_score,
        "at": at,
    }
    with opener.memory() as memory:
        explained = memory.search_explained(query, **filters) if explain else None
        hits = (
            memory.search(query, **filters)
            if explained is None
            else [hit for hit in explained.hits if hit.score >= explained.least]
        )
    out(hits, as_json, display.hits_table, "nothing found")
    if explained is not None and not as_json:
        console.print(display.search_line(explained), highlight=False, soft_wrap=True)


def _weights(given: list[str] | None) -> dict[str, float] | None:
    """Weights from texts like `recency=0.5`; the memory checks names and values."""
    if not given:
        return None
    weights = {}
    for pair in given:
        name, _, value = pair.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            raise InputError(f"--weight takes NAME=VALUE, e.g. recency=0.5, not {pair!r}") from None
    return weights


@commands.command()
def sessions(
    context: typer.Context,
    user: options.OnlyUser = None,
    status: Annotated[str | None, typer.Option("--status", help=f"One of {', '.join(STATUSES)}.")] = None,
    as_json: options.Json = False,
) -> None:
    """List sessions."""
    ask(context, as_json, lambda memory: memory.sessions(user, status=_status(status)), display.sessions_table)


def _status(given: str | None) -> Status | None:
    for known in STATUSES:
        if given == known:
            return known
    if given is None:
        return None
    raise InputError(f"no status {given!r}; there are {list(STATUSES)}")


@commands.command()
def session(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Show one session: its layers, recent messages, facts and milestones."""
    with context.obj.check_exists().memory() as memory:
        record = memory.conversation(session_id)
        history = memory.summaries(session_id, live=False)
    if as_json:
        out(record, as_json, str)
        return
    console.print(display.sessions_table([record.session]))
    console.print(display.strata(record.session, history))
    console.print(display.messages_table(record.recent))
    for fact in record.active_facts:
        console.print(Text(f"{fact.category}: {display_knowledge.describe_fact(fact)}", style="magenta"))
    for milestone in record.milestones:
        console.print(Text(f"turn {milestone.turn}: {milestone.title}", style="cyan"))


@commands.command()
def messages(
    context: typer.Context,
    session_id: options.SessionId,
    first: Annotated[int, typer.Option("--first", help="Number of the first message.")] = 1,
    last: options.Last = None,
    as_json: options.Json = False,
) -> None:
    """Show the raw messages of a session."""
    ask(context, as_json, lambda memory: memory.messages(session_id, first, last), display.messages_table)


def _change(context: typer.Context, as_json: bool, change: Callable[[Memory], Session]) -> None:
    ask(context, as_json, change, lambda session: f"[bold]{escape(session.id)}[/] is {session.status}", settle=True)


@commands.command()
def end(
    context: typer.Context,
    session_id: options.SessionId,
    outcome: Annotated[str | None, typer.Option("--outcome", help="The result; it becomes a milestone.")] = None,
    as_json: options.Json = False,
) -> None:
    """End a session: it gets its final summary, and the user's digest is updated."""
    _change(context, as_json, lambda memory: memory.end(session_id, outcome))


@commands.command()
def pause(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Pause a session."""
    _change(context, as_json, lambda memory: memory.pause(session_id))


@commands.command()
def resume(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Make a paused, ended or archived session active again."""
    _change(context, as_json, lambda memory: memory.resume(session_id))


@commands.command()
def archive(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Archive a session; `resume` makes it active again."""
    _change(context, as_json, lambda memory: memory.archive(session_id))
