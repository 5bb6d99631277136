"""Commands for messages and sessions: in, out, files, status."""

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
from lamina.cli import display, display_knowledge
from lamina.cli.command import (
    AsOf,
    At,
    CategoryOption,
    Face,
    ImportanceOption,
    JsonOption,
    NoSettle,
    OnlyUser,
    SessionName,
    SessionOption,
    SinceOption,
    TagOption,
    TypeOption,
    UntilOption,
    UserOption,
    console,
    filter_option,
    out,
    settled,
    with_progress,
)
from lamina.errors import InputError
from lamina.profiles import profile_named
from lamina.search.filters import HIT_KINDS
from lamina.values.hit import Explained, Hit
from lamina.values.report import Imported
from lamina.values.session import STATUSES, Session, Status

commands = typer.Typer()

_SOURCES = "An export (.jsonl, folder, .md), or another tool's file: ChatGPT, ShareGPT, mem0, chat messages, logs."
_TARGETS = "A .jsonl file for everything, a folder for readable JSON, a .md file for one session."


@commands.command()
def add(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The message; '-' reads JSON lines from standard input.")] = None,
    user: UserOption = None,
    session: SessionOption = None,
    role: Annotated[str, typer.Option("--role", help="Who says it.")] = "user",
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Chat messages, one JSON object a line.")] = None,
    no_settle: NoSettle = False,
    as_json: JsonOption = False,
) -> None:
    """Append a message, or many, to a session."""
    face: Face = context.obj
    messages = _given_messages(text, file, role)
    with face.memory() as memory:
        added = memory.add(messages, user_id=face.user(user), session_id=session)
        if not no_settle:
            settled(memory, as_json)
    out(added, as_json, lambda a: f"added {len(a.ids) - len(a.duplicates)} to [bold]{escape(a.session_id)}[/]")


def _given_messages(text: str | None, file: Path | None, role: str) -> list[Any]:
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
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose they become; else as the file says.")] = None,
    no_settle: NoSettle = False,
    as_json: JsonOption = False,
) -> None:
    """Read memories from a file or folder; what is here already, and what was forgotten here, is left as it is."""
    with context.obj.memory() as memory:
        taken = with_progress("importing", as_json, lambda tell: memory.import_(path, user_id=user, progress=tell))
        if not no_settle:
            settled(memory, as_json)
    out(taken, as_json, _taken)


def _taken(taken: Imported) -> str:
    lines = [f"{taken.messages:,} messages in {taken.sessions:,} sessions, {taken.duplicates:,} known already"]
    if taken.facts or taken.episodes or taken.links:
        lines.append(f"{taken.facts:,} facts, {taken.episodes:,} episodes, {taken.links:,} links")
    lines += [f"left out: {times:,} x {escape(reason)}" for reason, times in taken.skipped.items()]
    return "\n".join(lines)


@commands.command("export")
def export_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help=_TARGETS)],
    session: SessionOption = None,
    user: OnlyUser = None,
    as_json: JsonOption = False,
) -> None:
    """Write what is stored to a file or a folder."""
    with context.obj.existing().memory() as memory:
        size = with_progress(
            "exporting",
            as_json,
            lambda tell: memory.export(path, session_id=session, user_id=user, progress=tell),
        )
    out({"path": str(path), "bytes": size}, as_json, lambda d: f"wrote {d['bytes']:,} bytes to {escape(d['path'])}")


@commands.command()
def context(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The current message.")] = None,
    user: UserOption = None,
    session: SessionOption = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Tokens it may have at the most.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Build it as this profile would.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="Your own system prompt.")] = None,
    at: At = None,
    as_json: JsonOption = False,
) -> None:
    """Build the context for the next message and show what is in it and why."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        built = memory.context(
            query,
            user_id=face.user(user),
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
    user: UserOption = None,
    session: SessionOption = None,
    top: Annotated[int, typer.Option("--top", "-k", help="How many hits.")] = 10,
    kind: Annotated[list[str] | None, filter_option("kinds", "--kind")] = None,
    role: Annotated[str | None, filter_option("role", "--role")] = None,
    type: TypeOption = None,  # noqa: A002 - the word of the glossary
    category: CategoryOption = None,
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    min_importance: ImportanceOption = 0.0,
    as_of: AsOf = None,
    archived: Annotated[bool, filter_option("archived", "--archived")] = False,
    weight: Annotated[list[str] | None, filter_option("weights", "--weight", metavar="NAME=VALUE")] = None,
    min_score: Annotated[float, filter_option("min_score", "--min-score")] = 0.0,
    at: At = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add the largest parts of the scores, and how it went.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find messages, summaries, facts and episodes by words and meaning."""
    face: Face = context.obj.existing()
    asked: dict[str, Any] = {
        "user_id": face.user(user),
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
    with face.memory() as memory:
        explained = memory.search_explained(query, **asked) if explain else None
        hits = memory.search(query, **asked) if explained is None else _shown(explained)
    out(hits, as_json, lambda found: display.hits_table(found) if found else "nothing found")
    if explained is not None and not as_json:
        console.print(display.search_line(explained), highlight=False, soft_wrap=True)


def _shown(explained: Explained) -> list[Hit]:
    """What `search` shows of it."""
    return [hit for hit in explained.hits if hit.score >= explained.least]


def _weights(given: list[str] | None) -> dict[str, float] | None:
    """Weights from words like `recency=0.5`; what they may be is for the memory to say."""
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
    user: OnlyUser = None,
    status: Annotated[str | None, typer.Option("--status", help=f"One of {', '.join(STATUSES)}.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.sessions(user, status=_status(status))
    out(found, as_json, display.sessions_table)


def _status(given: str | None) -> Status | None:
    for known in STATUSES:
        if given == known:
            return known
    if given is None:
        return None
    raise InputError(f"no status {given!r}; there are {list(STATUSES)}")


@commands.command()
def session(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Show one session: its layers, recent messages, facts and milestones."""
    with context.obj.existing().memory() as memory:
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
    session_id: SessionName,
    first: Annotated[int, typer.Option("--first", help="First message number.")] = 1,
    last: Annotated[int | None, typer.Option("--last", help="Last message number.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the raw messages of a session."""
    with context.obj.existing().memory() as memory:
        found = memory.messages(session_id, first, last)
    out(found, as_json, display.messages_table)


def _change(context: typer.Context, as_json: bool, change: Callable[[Memory], Session]) -> None:
    with context.obj.existing().memory() as memory:
        changed = change(memory)
        settled(memory, as_json)
    out(changed, as_json, lambda s: f"[bold]{escape(s.id)}[/] is {s.status}")


@commands.command()
def end(
    context: typer.Context,
    session_id: SessionName,
    outcome: Annotated[str | None, typer.Option("--outcome", help="What came of it; becomes a milestone.")] = None,
    as_json: JsonOption = False,
) -> None:
    """End a session: it gets its final summary and feeds the digest."""
    _change(context, as_json, lambda memory: memory.end(session_id, outcome))


@commands.command()
def pause(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Pause a session."""
    _change(context, as_json, lambda memory: memory.pause(session_id))


@commands.command()
def resume(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Make a paused, ended or archived session active again."""
    _change(context, as_json, lambda memory: memory.resume(session_id))


@commands.command()
def archive(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Archive a session; it can be brought back with `resume`."""
    _change(context, as_json, lambda memory: memory.archive(session_id))
