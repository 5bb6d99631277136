"""Commands for facts: what holds when, why, what held before; and memories told by hand."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from lamina import Memory
from lamina.cli import display, display_knowledge
from lamina.cli.command import (
    AsOf,
    CategoryOption,
    Face,
    ImportanceOption,
    JsonOption,
    KnownAt,
    SinceOption,
    TagOption,
    TypeOption,
    UntilOption,
    UserOption,
    filter_option,
    out,
)
from lamina.cli.display import short
from lamina.cli.short_ids import FactName, WhoseOption, fact_named
from lamina.errors import InputError
from lamina.values.fact import FACT_TYPES, Fact

commands = typer.Typer()

NewTags = Annotated[list[str] | None, typer.Option("--tag", help="A word to find it by; may be repeated.")]
Importance = Annotated[float | None, typer.Option("--importance", help="From 0 to 1; default by type.")]
ValidUntil = Annotated[str | None, typer.Option("--valid-until", help="When it will have ceased to hold.")]


@commands.command()
def facts(
    context: typer.Context,
    user: UserOption = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    status: Annotated[list[str] | None, filter_option("statuses", "--status")] = None,
    type: TypeOption = None,  # noqa: A002 - the word of the glossary
    category: CategoryOption = None,
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    min_importance: ImportanceOption = 0.0,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Only what was said there.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what holds of a user, now or at another time."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.facts(
            face.user(user),
            as_of=as_of,
            known_at=known_at,
            session_id=session,
            statuses=status or (),
            types=type or (),
            categories=category or (),
            tags=tag or (),
            since=since,
            until=until,
            min_importance=min_importance,
        )
    out(found, as_json, lambda f: display_knowledge.facts_table(f) if f else "no facts")


def _of_fact(
    context: typer.Context, fact_id: str, user: str | None, as_json: bool, ask: Callable[[Memory, str], Any],
    render: Callable[[Any], Any],
) -> None:  # fmt: skip
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = ask(memory, fact_named(face, memory, fact_id, user))
    out(found, as_json, render)


@commands.command()
def history(context: typer.Context, fact_id: FactName, user: WhoseOption = None, as_json: JsonOption = False) -> None:
    """Show every value of what a fact is about, in the order they were learnt."""
    _of_fact(context, fact_id, user, as_json, Memory.history, display_knowledge.history_table)


@commands.command()
def why(context: typer.Context, fact_id: FactName, user: WhoseOption = None, as_json: JsonOption = False) -> None:
    """Show where a fact comes from, word for word, and why it stands as it does."""
    _of_fact(context, fact_id, user, as_json, Memory.why, display_knowledge.why)


@commands.command("user-profile")
def user_profile(
    context: typer.Context,
    user: Annotated[str | None, typer.Argument(help="Whose; default from the settings.")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: JsonOption = False,
) -> None:
    """Write what is known of a user as a markdown page, now or at another time."""
    face: Face = context.obj.existing()
    with face.memory() as memory:
        found = memory.user_profile(face.user(user), as_of=as_of, known_at=known_at)
    sys.stdout.write(display.as_json(found.to_dict()) + "\n" if as_json else found.markdown)


@commands.command()
def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    user: UserOption = None,
    type: Annotated[str, typer.Option("--type", help=f"One of {', '.join(FACT_TYPES)}.")] = "fact",  # noqa: A002
    category: Annotated[str | None, typer.Option("--category", help="Default: the type.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="What it is about; it takes the place of what that had.")
    ] = None,
    tag: NewTags = None,
    importance: Importance = None,
    confidence: Annotated[float, typer.Option("--confidence", help="How sure it is, from 0 to 1.")] = 1.0,
    valid_from: Annotated[str | None, typer.Option("--valid-from", help="Since when it holds; default: now.")] = None,
    valid_until: ValidUntil = None,
    as_json: JsonOption = False,
) -> None:
    """Store a memory by hand."""
    face: Face = context.obj
    with face.memory() as memory:
        stored = memory.remember(
            text,
            user_id=face.user(user),
            type=_type(type),
            category=category,
            key=key,
            tags=tag or (),
            importance=importance,
            confidence=confidence,
            valid_from=valid_from,
            valid_until=valid_until,
        )
    out(stored, as_json, _line)


def _type(given: str) -> Any:
    if given not in FACT_TYPES:
        raise InputError(f"no type {given!r}; there are {list(FACT_TYPES)}")
    return given


def _line(fact: Fact) -> Text:
    return Text(f"{short(fact.id)}  {display_knowledge.describe_fact(fact)}  {fact.status}")


@commands.command()
def update(
    context: typer.Context,
    fact_id: FactName,
    value: Annotated[str | None, typer.Argument(help="The new value; default: the old one.")] = None,
    user: WhoseOption = None,
    tag: NewTags = None,
    importance: Annotated[float | None, typer.Option("--importance", help="From 0 to 1.")] = None,
    valid_until: ValidUntil = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new version of a memory; the old one stays in its history."""
    if value is None and not tag and importance is None and valid_until is None:
        raise InputError("nothing to change; give a value, --tag, --importance or --valid-until")

    def change(memory: Memory, found: str) -> Fact:
        return memory.update(found, value, tags=tag or None, importance=importance, valid_until=valid_until)

    _of_fact(context, fact_id, user, as_json, change, _line)


@commands.command()
def promote(context: typer.Context, fact_id: FactName, user: WhoseOption = None, as_json: JsonOption = False) -> None:
    """Make a candidate, or one side of a conflict, the value that holds."""
    _of_fact(context, fact_id, user, as_json, Memory.promote, _line)


@commands.command()
def demote(context: typer.Context, fact_id: FactName, user: WhoseOption = None, as_json: JsonOption = False) -> None:
    """Make a fact a candidate; what held before holds again."""
    _of_fact(context, fact_id, user, as_json, Memory.demote, _line)


@commands.command()
def retract(context: typer.Context, fact_id: FactName, user: WhoseOption = None, as_json: JsonOption = False) -> None:
    """Say that a fact never held; what held before holds again."""
    _of_fact(context, fact_id, user, as_json, Memory.retract, _line)
