"""Commands for facts: what is valid when, why, what was valid before; and memories stored by hand."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge, options
from lamina.cli.command import Opener, ask, out, write
from lamina.cli.complete import user_names
from lamina.cli.display import short
from lamina.cli.named import check_named
from lamina.cli.options import filter_option
from lamina.cli.short_ids import find_fact
from lamina.errors import InputError
from lamina.knowledge.told import acknowledge_one
from lamina.values.fact import FACT_TYPES, Fact

commands = typer.Typer()


@commands.command()
def facts(
    context: typer.Context,
    user: options.User = None,
    as_of: options.AsOf = None,
    known_at: options.KnownAt = None,
    about: options.AboutWhom = None,
    project: options.InProject = None,
    status: Annotated[list[str] | None, filter_option("statuses", "--status")] = None,
    type: options.Types = None,  # noqa: A002 - the word of the glossary
    category: options.Categories = None,
    tag: options.Tags = None,
    since: options.Since = None,
    until: options.Until = None,
    min_importance: options.MinImportance = 0.0,
    session: options.OnlySession = None,
    as_json: options.Json = False,
) -> None:
    """Show the facts of a user, as they are now or at another time."""
    with context.obj.check_exists().memory() as memory:
        found = memory.facts(
            context.obj.user(user),
            as_of=as_of,
            known_at=known_at,
            session_id=session,
            about=about,
            project_id=project,
            statuses=status or (),
            types=type or (),
            categories=category or (),
            tags=tag or (),
            since=since,
            until=until,
            min_importance=min_importance,
        )
        if not found:
            check_named(memory, context.obj.user(user), session)
    out(found, as_json, display_knowledge.facts_table, "no facts")


def _with_fact(
    context: typer.Context, fact_id: str, user: str | None, as_json: bool, work: Callable[[Memory, str], Any],
    render: Callable[[Any], Any],
) -> None:  # fmt: skip
    ask(context, as_json, lambda memory: work(memory, find_fact(context.obj, memory, fact_id, user)), render)


@commands.command("user-profile")
def user_profile(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Whose; the same as --user.", autocompletion=user_names)] = None,
    user: options.User = None,
    as_of: options.AsOf = None,
    known_at: options.KnownAt = None,
    project: options.InProject = None,
    as_json: options.Json = False,
) -> None:
    """Print what is known about a user as markdown, now or at another time."""
    if name is not None and user not in {None, name}:
        raise InputError(f"whose profile: {name!r} or {user!r} (--user)? Give one of them")
    opener: Opener = context.obj.check_exists()
    with opener.memory() as memory:
        found = memory.user_profile(opener.user(name or user), as_of=as_of, known_at=known_at, project_id=project)
        if not found.facts:
            check_named(memory, opener.user(name or user))
    write(display.as_json(found.to_dict()) + "\n" if as_json else found.markdown)


@commands.command()
def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    user: options.User = None,
    project: options.Project = None,
    type: options.NewType = None,  # noqa: A002 - the word of the glossary
    category: Annotated[
        str | None, typer.Option("--category", help="Default: what the text says, or the type.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="What it is about, e.g. location; it replaces the value of that key.")
    ] = None,
    tag: options.NewTags = None,
    importance: options.Importance = None,
    confidence: Annotated[float | None, typer.Option("--confidence", help="How certain it is, from 0 to 1.")] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", help="Since when it is valid; default: now.")
    ] = None,
    valid_until: options.ValidUntil = None,
    as_json: options.Json = False,
) -> None:
    """Store a memory by hand, such as "User lives in Ghent"; a new value takes the place of the old one."""
    opener: Opener = context.obj
    with opener.memory() as memory:
        stored = memory.remember_all(
            text,
            user_id=opener.user(user),
            project_id=project,
            type=_type(type),
            category=category,
            key=key,
            tags=tag or (),
            importance=importance,
            confidence=confidence,
            valid_from=valid_from,
            valid_until=valid_until,
        )
    facts = [one.fact for one in stored]
    out(
        facts[0] if len(facts) == 1 else facts,
        as_json,
        lambda _: Text("\n".join(f"{short(one.fact.id)}  {acknowledge_one(one)}" for one in stored)),
    )


def _type(given: str | None) -> Any:
    if given is not None and given not in FACT_TYPES:
        raise InputError(f"no type {given!r}; there are {list(FACT_TYPES)}")
    return given


def _line(fact: Fact) -> Text:
    return Text(f"{short(fact.id)}  {display_knowledge.describe_fact(fact)}  {fact.status}")


@commands.command()
def update(
    context: typer.Context,
    fact_id: options.FactId,
    value: Annotated[str | None, typer.Argument(help="The new value; default: the old one.")] = None,
    user: options.Owner = None,
    tag: options.NewTags = None,
    importance: Annotated[float | None, typer.Option("--importance", help="From 0 to 1.")] = None,
    valid_until: options.ValidUntil = None,
    as_json: options.Json = False,
) -> None:
    """Make a new version of a memory; the old one stays in its history."""
    if value is None and not tag and importance is None and valid_until is None:
        raise InputError("nothing to change; give a value, --tag, --importance or --valid-until")

    def change(memory: Memory, found: str) -> Fact:
        return memory.update(found, value, tags=tag or None, importance=importance, valid_until=valid_until)

    _with_fact(context, fact_id, user, as_json, change, _line)


def _add_command(name: str, verb: Callable[[Memory, str], Any], render: Callable[[Any], Any], about: str) -> None:
    @commands.command(name, help=about)
    def run(
        context: typer.Context, fact_id: options.FactId, user: options.Owner = None, as_json: options.Json = False
    ) -> None:
        _with_fact(context, fact_id, user, as_json, verb, render)


for command in (
    ("history", Memory.history, display_knowledge.history_table, "Show all values that a fact has had, oldest first."),
    ("why", Memory.why, display_knowledge.why, "Show the message that a fact comes from, and why it has its status."),
    ("promote", Memory.promote, _line, "Make a candidate, or one side of a conflict, the current value."),
    ("demote", Memory.demote, _line, "Make a fact a candidate; the value before it is current again."),
    ("retract", Memory.retract, _line, "Mark a fact as never true; the value before it is current again."),
):
    _add_command(*command)
