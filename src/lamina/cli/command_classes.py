"""The classes of all commands: options that work before and after a command, help pages, hints for misspelt words."""

import os
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lamina.cli import help_pages
from lamina.cli.command import Opener, say
from lamina.cli.usage_errors import report
from lamina.errors import InputError, LaminaError
from lamina.logs import log_to_stderr
from lamina.settings import load_settings

SHARED = ("db", "user", "tenant", "config", "verbose")  # options of every command
_MEANT = {
    "ask": "search",
    "chat": "add",
    "delete": "forget",
    "find": "search",
    "get": "search",
    "help": "--help",
    "list": "sessions",
    "load": "import",
    "log": "messages",
    "ls": "sessions",
    "profile": "user-profile",
    "query": "search",
    "remove": "forget",
    "rm": "forget",
    "run": "serve",
    "save": "export",
    "show": "session",
    "start": "serve",
    "status": "stats",
    "store": "add",
    "ui": "serve",
    "users": "stats",
    "web": "serve",
}  # fmt: skip - what people type, and what it is here


class Command(TyperCommand):
    """A command that takes the options of every command, too."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_shared(super().get_params(ctx), ctx)

    def invoke(self, ctx: Any) -> Any:
        try:
            return self._run(ctx)
        except LaminaError as error:
            raise typer.Exit(report(error, self.get_params(ctx))) from error

    def _run(self, ctx: Any) -> Any:
        own = {one.name: one for one in self.params if one.param_type_name == "option"}
        given = {name: _values(ctx, name) for name in SHARED}
        for name, values in given.items():
            repeated = name in own and own[name].multiple
            if name != "verbose" and not repeated:
                _check_one(name, values)
            ctx.params.pop(name, None)
            if name in own:
                ctx.params[name] = values if repeated else next(iter(values), None)
        if given["user"] and "user" not in own:
            say(f"note: `{ctx.command_path}` is not about one user; --user changes nothing")
        ctx.obj = _opener(given, quiet=bool(ctx.params.get("as_json")))
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        help_pages.write_command(self, ctx, formatter)


class Group(TyperGroup):
    """A group of commands, which also takes the options of every command."""

    def get_params(self, ctx: Any) -> list[Any]:
        own = super().get_params(ctx)
        return own if ctx.parent is None else _with_shared(own, ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if ctx.resilient_parsing or self.get_command(ctx, args[0]) is not None:
            return super().resolve_command(ctx, args)
        near = get_close_matches(args[0], self.commands, n=2)
        if ctx.parent is None and args[0] in _MEANT:
            near = [_MEANT[args[0]]]
        hint = " or ".join(f"`{ctx.command_path} {name}`" for name in near)
        raise InputError(
            f"no command {args[0]!r}"
            + (f"; did you mean {hint}?" if hint else f"; `{ctx.command_path} --help` lists them")
        )

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if ctx.parent is None:
            help_pages.write_root(self, ctx, formatter)
        else:
            help_pages.write_group(self, ctx, formatter)


def _with_shared(own: list[Any], ctx: Any) -> list[Any]:
    """These parameters, with the options of every command in place of those of the same name, or after them."""
    shared = {one.name: one for one in ctx.find_root().command.params if one.name in SHARED}
    kept = [one for one in own if one.name not in shared]
    return [*kept, *shared.values()]


def _values(ctx: Any, name: str) -> list[str]:
    """The different values that an option was given, before and after the command."""
    found: dict[str, None] = {}
    for one in _chain(ctx):
        given = one.params.get(name)
        found |= dict.fromkeys(given if isinstance(given, list) else [given] if given else [])
    return list(found)


def _chain(ctx: Any) -> Iterator[Any]:
    """The contexts of a command, the outermost first."""
    if ctx.parent is not None:
        yield from _chain(ctx.parent)
    yield ctx


def _check_one(name: str, values: list[str]) -> None:
    if len(values) > 1:
        raise InputError(f"--{name} is given twice: {values[0]!r} and {values[1]!r}; give it once")
    if values and not str(values[0]).strip():
        raise InputError(f"--{name} is empty; give a value, or leave it out")


def _opener(given: dict[str, list[Any]], *, quiet: bool) -> Opener:
    """Opens the memory that options and settings name."""
    database, tenant = (next(iter(given[name]), None) for name in ("db", "tenant"))
    config = next(iter(given["config"]), None)
    loaded = load_settings(os.environ, Path(config) if config else None)
    log_to_stderr("info" if given["verbose"] else loaded.log_level)
    settings = replace(loaded, database=database or loaded.database, tenant=tenant or loaded.tenant)
    return Opener(settings, database=database, tenant=tenant, quiet=quiet)
