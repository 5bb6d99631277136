"""Commands for episodes, and for the links between memories."""

from typing import Annotated, Any

import typer
from rich.text import Text

from lamina.cli import display_knowledge
from lamina.cli.command import (
    Face,
    JsonOption,
    SessionName,
    SinceOption,
    UntilOption,
    UserOption,
    out,
)
from lamina.cli.display import short
from lamina.cli.short_ids import MemoryName, WhoseOption, memory_named
from lamina.errors import InputError
from lamina.values.fact import EPISODE_KINDS, LINK_TYPES, Link

commands = typer.Typer()


@commands.command()
def episodes(
    context: typer.Context,
    user: UserOption = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Only of this conversation.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help=f"Of {', '.join(EPISODE_KINDS)}; may be repeated.")
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    min_significance: Annotated[
        float, typer.Option("--min-significance", help="Only those at least so significant, 0 to 1.")
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Show the moments that mattered, in the order they happened."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.episodes(
            face.user(user),
            session_id=session,
            kinds=kind or (),
            since=since,
            until=until,
            min_significance=min_significance,
        )
    out(found, as_json, lambda f: display_knowledge.episodes_table(f) if f else "no episodes")


@commands.command("add-episode")
def add_episode(
    context: typer.Context,
    session_id: SessionName,
    title: Annotated[str, typer.Argument(help="What happened, in a few words.")],
    kind: Annotated[str, typer.Option("--kind", help=f"One of {', '.join(EPISODE_KINDS)}.")],
    summary: Annotated[str, typer.Option("--summary", help="What happened, in full.")] = "",
    outcome: Annotated[str | None, typer.Option("--outcome", help="What came of it.")] = None,
    significance: Annotated[float, typer.Option("--significance", help="From 0 to 1.")] = 0.7,
    valence: Annotated[float, typer.Option("--valence", help="From -1, bad, to 1, good.")] = 0.0,
    first: Annotated[int | None, typer.Option("--first", help="Its first turn; default: the newest.")] = None,
    last: Annotated[int | None, typer.Option("--last", help="Its last turn; default: its first.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Store an episode by hand."""
    if last is not None and (first is None or last < first):
        raise InputError("--last goes with --first, and is not before it")
    with context.obj.existing().memory() as memory:
        stored = memory.add_episode(
            session_id,
            _kind(kind),
            title,
            summary=summary,
            outcome=outcome,
            significance=significance,
            valence=valence,
            turns=None if first is None else (first, first if last is None else last),
        )
    out(stored, as_json, lambda one: display_knowledge.episodes_table([one]))


def _kind(given: str) -> Any:
    if given not in EPISODE_KINDS:
        raise InputError(f"no kind {given!r}; there are {list(EPISODE_KINDS)}")
    return given


@commands.command()
def arc(context: typer.Context, session_id: SessionName, as_json: JsonOption = False) -> None:
    """Show the course of a session in episodes, with the moments that mattered most."""
    with context.obj.existing().memory() as memory:
        found = memory.arc(session_id)
    out(found, as_json, display_knowledge.arc)


@commands.command()
def link(
    context: typer.Context,
    source: MemoryName,
    target: MemoryName,
    type: Annotated[str, typer.Option("--type", help=f"One of {', '.join(LINK_TYPES)}.")] = "related_to",  # noqa: A002
    strength: Annotated[float, typer.Option("--strength", help="From 0 to 1.")] = 1.0,
    user: WhoseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Link two memories of a user, facts or episodes."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        one, other = (memory_named(face, memory, given, user) for given in (source, target))
        made = memory.link(one, other, type, strength)
    out(made, as_json, _line)


def _line(made: Link) -> Text:
    return Text(f"{short(made.source)} {made.type.replace('_', ' ')} {short(made.target)} ({made.strength:g})")


@commands.command()
def graph(
    context: typer.Context,
    memory_id: MemoryName,
    depth: Annotated[int, typer.Option("--depth", help="How many steps from it.")] = 2,
    type: Annotated[list[str] | None, typer.Option("--type", help="Only links of this type; repeatable.")] = None,  # noqa: A002
    user: WhoseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the memories that can be reached from one by their links."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.graph(memory_named(face, memory, memory_id, user), depth, type or ())
    out(found, as_json, display_knowledge.graph)
