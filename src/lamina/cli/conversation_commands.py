"""Commands for messages and sessions: add, context, search, status."""

import functools
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge, display_search, options
from lamina.cli.command import Opener, ask, console, errors, out, say, settle_memory, write
from lamina.cli.named import check_named
from lamina.cli.options import filter_option
from lamina.cli.output import Box, is_plain
from lamina.counts import count
from lamina.errors import InputError, NotFound
from lamina.profiles import profile_named
from lamina.search.filters import HIT_KINDS
from lamina.text_files import read_text_file
from lamina.values.hit import Hit
from lamina.values.message import Message
from lamina.values.session import STATUSES, Session, Status

commands = typer.Typer()
_EXAMPLE = '{"role": "user", "content": "hi"}'


@commands.command()
def add(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The message; '-' reads JSON Lines from standard input.")] = None,
    user: options.User = None,
    session: options.Session = None,
    project: options.Project = None,
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
        added = memory.add(messages, user_id=opener.user(user), session_id=session, project_id=project)
        if not no_settle:
            settle_memory(memory, as_json)
    number = len(added.ids) - len(added.duplicates)
    out(added, as_json, lambda _: f"added {count(number, 'message')} to [bold]{escape(added.session_id)}[/]")


def _read_messages(text: str | None, file: Path | None, role: str) -> list[Any]:
    if file is None and text is None:
        raise InputError("nothing to add; give a text, '-' for standard input, or --file messages.jsonl")
    if file is None and text != "-":
        if not str(text).strip():
            raise InputError("the message is empty; nothing was added")
        return [{"role": role, "content": text}]
    if file is not None and text is not None:
        raise InputError("give a text or --file, not both; nothing was added")
    lines = _read_stdin() if file is None else read_text_file(file)
    name, messages = "standard input" if file is None else file, []
    for number, line in enumerate(lines.splitlines(), 1):
        if line.strip():
            try:
                messages.append(json.loads(line))
            except ValueError:
                raise InputError(
                    f"{name}, line {number} is not JSON; each line is a message, such as {_EXAMPLE}; nothing was added"
                ) from None
    if not messages:
        raise InputError(f"{name} has no messages; each line is one, such as {_EXAMPLE}")
    return messages


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InputError("standard input is not text in UTF-8; nothing was added") from None


@commands.command()
def context(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The current message.")] = None,
    user: options.User = None,
    session: options.Session = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="ID",
            help="Recall memories of this project, too; '*': of every project. Default: that of the session.",
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Maximum number of tokens.")] = None,
    profile: options.Profile = None,
    system: Annotated[str | None, typer.Option("--system", help="Your own system prompt.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="Text to answer from; may be repeated.")] = None,
    at: options.At = None,
    mode: Annotated[str, typer.Option("--mode", help="active, or passive: the recent conversation alone.")] = "active",
    as_json: options.Json = False,
) -> None:
    """Build the context for the next message, and show what is in it and why."""
    opener: Opener = context.obj
    if opener.is_missing():
        say(f"note: there is no memory at {opener.place} yet, so nothing is remembered; `lamina add` makes one")
    with opener.memory_if_any() as memory:
        built = memory.context(
            query,
            user_id=opener.user(user),
            session_id=session,
            project_id=project,
            budget=budget,
            profile=None if profile is None else profile_named(profile),
            system=system,
            sources=source or (),
            at=at,
            mode=mode,
        )
        if not as_json and set(built.manifest.sections) <= {"system", "query"}:
            _warn_of_nobody(memory, opener.user(user))
    if as_json:
        out(built, as_json, str)
        return
    figures = console
    if is_plain(console):  # for a program that reads it: nothing but the context
        figures = errors
        write(f"{built.text}\n" if built.text else "")
    else:
        console.print(Box(Text(built.text or "(empty)"), "context"))
    figures.print(display.budget_bar(built))
    figures.print(display.coverage_line(built.manifest.coverage))
    for warning in built.manifest.warnings:
        figures.print(f"[yellow]{escape(warning)}[/]")


def _warn_of_nobody(memory: Memory, user: str | None) -> None:
    """An empty context is right for somebody new, and wrong for a name that is misspelt."""
    try:
        check_named(memory, user)
    except NotFound as error:
        say(f"note: {error}")


@commands.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, or words to look for.")],
    user: options.User = None,
    session: options.OnlySession = None,
    project: options.InProject = None,
    around: Annotated[str | None, filter_option("context", "--context")] = None,
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
    semantic: Annotated[str | None, filter_option("semantic", "--semantic")] = None,
    min_score: Annotated[float, filter_option("min_score", "--min-score")] = 0.0,
    at: options.At = None,
    full: Annotated[bool, typer.Option("--full", help="Show the whole text of each hit.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show what each score is made of, and the time of each step.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Find messages, summaries, facts and episodes by words and meaning."""
    opener: Opener = context.obj.check_exists()
    if not query.strip():
        raise InputError('the query is empty; say what to look for, such as `lamina search "where do I live"`')
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
        "project_id": project,
        "context": around,
        "role": role,
        "as_of": as_of,
        "archived": archived,
        "weights": _weights(weight),
        "semantic": semantic,
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
        if not hits:
            check_named(memory, filters["user_id"], session)
        titles = {} if as_json else _titles(memory, hits)
    render = functools.partial(display_search.hits_cards, query, titles=titles, weighted=bool(weight), full=full)
    out(hits, as_json, render, "nothing found")
    if explained is not None and not as_json:
        console.print(display_search.search_line(explained), highlight=False, soft_wrap=True)


def _titles(memory: Memory, hits: Iterable[Hit]) -> dict[str, str]:
    """The titles of the sessions of these hits that have one."""
    named = {hit.session_id for hit in hits if hit.session_id}
    titles = {session_id: memory.session(session_id).title for session_id in sorted(named)}
    return {session_id: title for session_id, title in titles.items() if title}


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
    project: options.OnlyProject = None,
    status: Annotated[str | None, typer.Option("--status", help=f"One of {', '.join(STATUSES)}.")] = None,
    as_json: options.Json = False,
) -> None:
    """List sessions."""
    with context.obj.check_exists().memory() as memory:
        found = memory.sessions(user, project_id=project, status=_status(status))
        if not found:
            check_named(memory, user)
    out(found, as_json, display.sessions_table, "no sessions")


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
def brief(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Print the summary of a session's older messages, and the last reply that is in it."""
    ask(context, as_json, lambda memory: memory.brief(session_id), display.brief)


@commands.command()
def messages(
    context: typer.Context,
    session_id: options.SessionId,
    first: Annotated[int, typer.Option("--first", help="Number of the first message.")] = 1,
    last: options.Last = None,
    as_json: options.Json = False,
) -> None:
    """Show the raw messages of a session."""
    if first < 1 or (last is not None and last < first):
        raise InputError(f"messages are numbered from 1; --first {first} --last {last or 'newest'} has none")

    def read(memory: Memory) -> list[Message]:
        newest = memory.session(session_id).counters.messages
        if first > newest:
            raise InputError(
                f"session {session_id!r} has {count(newest, 'message')}; --first {first} is behind the newest"
            )
        return memory.messages(session_id, first, last)

    ask(context, as_json, read, display.messages_table)


def _change(context: typer.Context, as_json: bool, change: Callable[[Memory], Session]) -> None:
    ask(context, as_json, change, lambda session: f"[bold]{escape(session.id)}[/] is {session.status}", settle=True)


@commands.command()
def rename(
    context: typer.Context,
    session_id: options.SessionId,
    title: Annotated[str, typer.Argument(help="The title, on one line; '' takes it away.")],
    as_json: options.Json = False,
) -> None:
    """Give a session a title, which is shown wherever sessions are listed."""
    called = "{} is called {!r}".format
    ask(
        context,
        as_json,
        lambda memory: memory.rename(session_id, title),
        lambda session: escape(called(session.id, session.title) if session.title else f"{session.id} has no title"),
    )


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
