"""The commands. Each opens the memory, calls one verb and shows the result, as text or as JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from lamina import Memory, __version__
from lamina.errors import InputError, LaminaError
from lamina.interfaces.cli import show
from lamina.interfaces.cli.demo import run_demo
from lamina.interfaces.logs import log_to_stderr
from lamina.interfaces.settings import NAMES, Settings, load_settings
from lamina.profiles import PROFILES, profile_named, profile_values
from lamina.types import STATUSES, Report, Session, Settled, Status

T = TypeVar("T")
Tell = Callable[[int, int], None]  # how far long work is: done, of how many

app = typer.Typer(
    name="lamina",
    help="Layered memory for conversations with language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
console = Console()
errors = Console(stderr=True)

UserOption = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; default from the settings.")]
OnlyUser = Annotated[str | None, typer.Option("--user", "-u", help="Only this user's; all users' when not given.")]
SessionOption = Annotated[str | None, typer.Option("--session", "-s", help="Which conversation.")]
SessionName = Annotated[str, typer.Argument(help="Id of the session.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ProfileOption = Annotated[str | None, typer.Option("--profile", "-p", help="Build it as this profile would.")]
NoSettle = Annotated[bool, typer.Option("--no-settle", help="Leave folding to a later command.")]


@dataclass(frozen=True, slots=True)
class Face:
    """What every command starts from."""

    settings: Settings

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory the settings name; what is due is done by the commands that say so, not behind them."""
        settings = self.settings
        with Memory(
            settings.database,
            tenant=settings.tenant,
            profile=settings.profile,
            durable=settings.durable,
            worker=False,
            limits=settings.limits(),
            patience=settings.patience(),
        ) as memory:
            yield memory

    def existing(self) -> "Face":
        """The same, sure that there is something to read."""
        path = self.settings.database.removeprefix("sqlite:///")
        if not Path(path).exists():
            raise InputError(f"there is no memory at {path}; `lamina add` or `lamina import` makes one (--db names it)")
        return self

    def user(self, given: str | None) -> str:
        return given or self.settings.user


def main() -> None:
    """Run the command line; what goes wrong is said in one line."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except LaminaError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except typer.Abort:
        sys.exit(130)
    except typer._click.exceptions.ClickException as error:  # noqa: SLF001
        error.show()
        sys.exit(error.exit_code)


@app.callback()
def settings(
    context: typer.Context,
    db: Annotated[str | None, typer.Option("--db", help="Path of the memory file.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A lamina.toml to read.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Whose memories these are.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, as JSON lines.")] = False,
) -> None:
    """Settings come from options, LAMINA_* variables and lamina.toml, in that order."""
    loaded = load_settings(os.environ, config)
    loaded = replace(loaded, database=db or loaded.database, tenant=tenant or loaded.tenant)
    log_to_stderr("info" if verbose else loaded.log_level)
    context.obj = Face(loaded)


def _out(value: Any, as_json: bool, render: Callable[[Any], Any]) -> None:
    if as_json:
        sys.stdout.write(show.as_json(value) + "\n")
    else:
        console.print(render(value))


def _with_progress(title: str, quiet: bool, work: Callable[[Tell], T]) -> T:
    """Run `work` with a function it may tell how far it is."""
    if quiet or not errors.is_terminal:
        return work(lambda _done, _of: None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(title, total=None)
        return work(lambda done, of: progress.update(task, completed=done, total=of or None))


def _settled(memory: Memory, quiet: bool) -> Settled:
    return _with_progress("folding", quiet, lambda tell: memory.settle(progress=tell))


@app.command()
def demo(
    file: Annotated[Path, typer.Option("--file", help="Where to leave the memory.")] = Path("lamina-demo.db"),
    as_json: JsonOption = False,
) -> None:
    """Replay a bundled conversation, show its layers, and ask about things said long ago."""
    shown = run_demo(Console(quiet=True) if as_json else console, file)
    if as_json:
        _out(shown, as_json, str)


@app.command()
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
            _settled(memory, as_json)
    _out(added, as_json, lambda a: f"added {len(a.ids) - len(a.duplicates)} to [bold]{escape(a.session_id)}[/]")


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


@app.command()
def context(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The current message.")] = None,
    user: UserOption = None,
    session: SessionOption = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Tokens it may have at the most.")] = None,
    profile: ProfileOption = None,
    system: Annotated[str | None, typer.Option("--system", help="Your own system prompt.")] = None,
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
        )
    if as_json:
        _out(built, as_json, str)
        return
    console.print(Panel(Text(built.text or "(empty)"), title="context", title_align="left"))
    console.print(show.budget_bar(built))
    console.print(show.coverage_line(built.manifest.coverage))
    for warning in built.manifest.warnings:
        console.print(f"[yellow]{escape(warning)}[/]")


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    user: UserOption = None,
    top: Annotated[int, typer.Option("--top", "-k", help="How many hits.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Find messages and summaries by their words."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        hits = memory.search(query, user_id=face.user(user), top_k=top)
    _out(hits, as_json, lambda found: show.hits_table(found) if found else "nothing found")


@app.command()
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
    _out(found, as_json, show.sessions_table)


def _status(given: str | None) -> Status | None:
    for known in STATUSES:
        if given == known:
            return known
    if given is None:
        return None
    raise InputError(f"no status {given!r}; there are {list(STATUSES)}")


@app.command()
def session(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Show one session: its layers, recent messages, facts and milestones."""
    with context.obj.existing().memory() as memory:
        record = memory.conversation(session_id)
        history = memory.summaries(session_id, live=False)
    if as_json:
        _out(record, as_json, str)
        return
    console.print(show.sessions_table([record.session]))
    console.print(show.strata(record.session.counters.messages, history))
    console.print(show.messages_table(record.recent))
    for fact in record.active_facts:
        console.print(Text(f"{fact.category}: {fact.quote}", style="magenta"))
    for milestone in record.milestones:
        console.print(Text(f"turn {milestone.turn}: {milestone.title}", style="cyan"))


@app.command()
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
    _out(found, as_json, show.messages_table)


@app.command()
def summaries(
    context: typer.Context,
    session_id: SessionName,
    every: Annotated[bool, typer.Option("--all", help="Also those that were folded into others.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the summaries of a session."""
    with context.obj.existing().memory() as memory:
        found = memory.summaries(session_id, live=not every)
    _out(found, as_json, lambda s: show.summaries_table(s) if s else "no summaries yet")


@app.command()
def zoom(
    context: typer.Context,
    summary_id: Annotated[str, typer.Argument(help="Id of the summary.")],
    as_json: JsonOption = False,
) -> None:
    """Show the raw messages that a summary stands for."""
    with context.obj.existing().memory() as memory:
        found = memory.zoom(summary_id)
    _out(found, as_json, show.messages_table)


@app.command()
def digest(context: typer.Context, user: UserOption = None, as_json: JsonOption = False) -> None:
    """Show what a new session hears of the user's last ones."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.digest(face.user(user))
    _out(found, as_json, lambda d: show.summaries_table([d]) if d else "no digest yet")


@app.command()
def facts(context: typer.Context, user: UserOption = None, as_json: JsonOption = False) -> None:
    """Show what the user said of themselves, word for word."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.facts(face.user(user))
    _out(found, as_json, lambda f: Text("\n".join(f"{x.category:12} {x.quote}" for x in f) or "no facts yet"))


def _change(context: typer.Context, as_json: bool, change: Callable[[Memory], Session]) -> None:
    with context.obj.existing().memory() as memory:
        changed = change(memory)
        _settled(memory, as_json)
    _out(changed, as_json, lambda s: f"[bold]{escape(s.id)}[/] is {s.status}")


@app.command()
def end(
    context: typer.Context,
    session_id: SessionName,
    outcome: Annotated[str | None, typer.Option("--outcome", help="What came of it; becomes a milestone.")] = None,
    as_json: JsonOption = False,
) -> None:
    """End a session: it gets its final summary and feeds the digest."""
    _change(context, as_json, lambda memory: memory.end(session_id, outcome))


@app.command()
def pause(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Pause a session."""
    _change(context, as_json, lambda memory: memory.pause(session_id))


@app.command()
def resume(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Make a paused, ended or archived session active again."""
    _change(context, as_json, lambda memory: memory.resume(session_id))


@app.command()
def archive(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Archive a session; it can be brought back with `resume`."""
    _change(context, as_json, lambda memory: memory.archive(session_id))


@app.command()
def settle(context: typer.Context, as_json: JsonOption = False) -> None:
    """Fold everything that is due."""
    with context.obj.existing().memory() as memory:
        done = _settled(memory, as_json)
    _out(
        done, as_json, lambda d: f"{d.folds} folds, {d.digests} digests, {d.archived} archived, {len(d.failed)} failed"
    )
    if done.failed:
        raise typer.Exit(1)


def _reported(context: typer.Context, title: str, as_json: bool, look: Callable[[Memory, Tell], Report]) -> None:
    with context.obj.existing().memory() as memory:
        found = _with_progress(title, as_json, lambda tell: look(memory, tell))
    if as_json:
        _out({"ok": found.ok, **show.plain(found)}, as_json, str)
    else:
        show.report(console, found)
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def verify(context: typer.Context, session: SessionOption = None, as_json: JsonOption = False) -> None:
    """Check that everything stored is whole: digests, coverage, counters, provenance, indexes."""
    _reported(context, "verifying", as_json, lambda memory, tell: memory.verify(session, progress=tell))


@app.command()
def repair(context: typer.Context, session: SessionOption = None, as_json: JsonOption = False) -> None:
    """Make anew what is derived and damaged."""
    _reported(context, "repairing", as_json, lambda memory, tell: memory.repair(session, progress=tell))


@app.command("export")
def export_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A .jsonl file for sessions, a .md file for one session.")],
    session: SessionOption = None,
    user: OnlyUser = None,
    as_json: JsonOption = False,
) -> None:
    """Write sessions to a file."""
    with context.obj.existing().memory() as memory:
        size = _with_progress(
            "exporting",
            as_json,
            lambda tell: memory.export(path, session_id=session, user_id=user, progress=tell),
        )
    _out({"path": str(path), "bytes": size}, as_json, lambda d: f"wrote {d['bytes']:,} bytes to {escape(d['path'])}")


@app.command("import")
def import_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A .jsonl export or chat messages, or a session .md file.")],
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose they become; else as the file says.")] = None,
    no_settle: NoSettle = False,
    as_json: JsonOption = False,
) -> None:
    """Read sessions from a file; what is there already is left as it is."""
    with context.obj.memory() as memory:
        taken = _with_progress("importing", as_json, lambda tell: memory.import_(path, user_id=user, progress=tell))
        if not no_settle:
            _settled(memory, as_json)
    _out(
        taken, as_json, lambda t: f"{t.messages:,} messages in {t.sessions:,} sessions, {t.duplicates:,} known already"
    )


@app.command()
def profiles(
    name: Annotated[str | None, typer.Argument(help="Show every value of this profile.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the profiles, or show one."""
    if name is None:
        listed = {key: profile_values(profile) for key, profile in PROFILES.items()}
        _out(listed, as_json, lambda found: "\n".join(sorted(found)))
    else:
        _out(profile_values(profile_named(name)), as_json, show.as_json)


@app.command()
def config(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the settings in force."""
    settings: Settings = context.obj.settings
    values = {name: getattr(settings, name) for name in NAMES}
    values["profile"] = profile_values(settings.profile) if settings.profile else None
    _out(values, as_json, show.as_json)


@app.command()
def version(as_json: JsonOption = False) -> None:
    """Show the version."""
    _out({"lamina": __version__}, as_json, lambda found: found["lamina"])
