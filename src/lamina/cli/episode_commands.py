"""Commands for episodes, and for the links between memories."""

from typing import Annotated, Any

import typer

from lamina.cli import display_knowledge, options
from lamina.cli.command import ask, out
from lamina.cli.named import check_named
from lamina.cli.short_ids import find_memory
from lamina.errors import InputError
from lamina.values.fact import EPISODE_KINDS, LINK_TYPES

commands = typer.Typer()


@commands.command()
def episodes(
    context: typer.Context,
    user: options.User = None,
    session: options.OnlySession = None,
    project: options.InProject = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help=f"Of {', '.join(EPISODE_KINDS)}; may be repeated.")
    ] = None,
    since: options.Since = None,
    until: options.Until = None,
    min_significance: Annotated[
        float, typer.Option("--min-significance", help="At least so significant, 0 to 1.")
    ] = 0.0,
    as_json: options.Json = False,
) -> None:
    """Show the important moments of a user's sessions, oldest first."""
    with context.obj.check_exists().memory() as memory:
        found = memory.episodes(
            context.obj.user(user),
            session_id=session,
            project_id=project,
            kinds=kind or (),
            since=since,
            until=until,
            min_significance=min_significance,
        )
        if not found:
            check_named(memory, context.obj.user(user), session)
    out(found, as_json, display_knowledge.episodes_cards, "no episodes")


@commands.command("add-episode")
def add_episode(
    context: typer.Context,
    session_id: options.SessionId,
    title: Annotated[str, typer.Argument(help="What happened, in a few words.")],
    kind: options.NewKind,
    summary: Annotated[str, typer.Option("--summary", help="What happened, in full.")] = "",
    outcome: Annotated[str | None, typer.Option("--outcome", help="The result.")] = None,
    significance: Annotated[float, typer.Option("--significance", help="From 0 to 1.")] = 0.7,
    valence: Annotated[float, typer.Option("--valence", help="From -1, bad, to 1, good.")] = 0.0,
    first: Annotated[int | None, typer.Option("--first", help="Its first turn; default: the newest.")] = None,
    last: Annotated[int | None, typer.Option("--last", help="Its last turn; default: its first.")] = None,
    as_json: options.Json = False,
) -> None:
    """Store an episode by hand."""
    if last is not None and (first is None or last < first):
        raise InputError("--last needs --first, and must not be before it")
    turns = None if first is None else (first, first if last is None else last)
    with context.obj.check_exists().memory() as memory:
        stored = memory.add_episode(
            session_id,
            _kind(kind),
            title,
            summary=summary,
            outcome=outcome,
            significance=significance,
            valence=valence,
            turns=turns,
        )
    out(stored, as_json, lambda one: display_knowledge.episodes_cards([one]))


def _kind(given: str) -> Any:
    if given not in EPISODE_KINDS:
        raise InputError(f"no kind {given!r}; there are {list(EPISODE_KINDS)}")
    return given


@commands.command()
def arc(context: typer.Context, session_id: options.SessionId, as_json: options.Json = False) -> None:
    """Show the course of a session in episodes; a star marks the most important ones."""
    ask(context, as_json, lambda memory: memory.arc(session_id), display_knowledge.arc)


@commands.command()
def link(
    context: typer.Context,
    source: options.MemoryId,
    target: options.MemoryId,
    type: Annotated[str, typer.Option("--type", help=f"One of {', '.join(LINK_TYPES)}.")] = "related_to",  # noqa: A002
    strength: Annotated[float, typer.Option("--strength", help="From 0 to 1.")] = 1.0,
    user: options.Owner = None,
    as_json: options.Json = False,
) -> None:
    """Link two memories of a user, facts or episodes."""
    with context.obj.check_exists().memory() as memory:
        one, other = (find_memory(context.obj, memory, given, user) for given in (source, target))
        stored = memory.link(one, other, type, strength)
    out(stored, as_json, display_knowledge.link_line)


@commands.command()
def graph(
    context: typer.Context,
    memory_id: options.MemoryId,
    depth: Annotated[int, typer.Option("--depth", help="Maximum number of links from it.")] = 2,
    type: Annotated[list[str] | None, typer.Option("--type", help="Only links of this type; repeatable.")] = None,  # noqa: A002
    user: options.Owner = None,
    as_json: options.Json = False,
) -> None:
    """Show the memories that can be reached from one by links."""
    with context.obj.check_exists().memory() as memory:
        found = memory.graph(find_memory(context.obj, memory, memory_id, user), depth, type or ())
    out(found, as_json, display_knowledge.graph)
