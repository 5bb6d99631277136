"""Commands that need no memory: the demo, profiles, settings, version."""

from pathlib import Path
from typing import Annotated

import typer

from lamina import __version__
from lamina.cli import display, options
from lamina.cli.command import out
from lamina.cli.demo import run_demo
from lamina.cli.output import Output, is_plain
from lamina.errors import InputError
from lamina.profiles import PROFILES, profile_named, profile_values
from lamina.settings import Settings

commands = typer.Typer()


@commands.command()
def demo(context: typer.Context, as_json: options.Json = False) -> None:
    """Replay an example conversation, and leave its memory in lamina-demo.db, or in the file that --db names."""
    given = context.obj.database or "lamina-demo.db"
    if "://" in given:
        raise InputError("the demo counts bytes in its file; give a path with --db, or leave it out")
    console = Output(quiet=as_json)
    console.soft_wrap = is_plain(console)
    result = run_demo(console, Path(given))
    if as_json:
        out(result, as_json, str)


@commands.command()
def profiles(
    name: Annotated[str | None, typer.Argument(help="Show every value of this profile.")] = None,
    as_json: options.Json = False,
) -> None:
    """List the profiles, or show one."""
    if name is None:
        values = {key: profile_values(profile) for key, profile in PROFILES.items()}
        out(values, as_json, lambda found: "\n".join(sorted(found)))
    else:
        out(profile_values(profile_named(name)), as_json, display.as_json)


@commands.command()
def config(context: typer.Context, as_json: options.Json = False) -> None:
    """Show the current settings."""
    settings: Settings = context.obj.settings
    values = settings.public()
    values["profile"] = profile_values(settings.profile) if settings.profile else None
    out(values, as_json, display.as_json)


@commands.command()
def version(as_json: options.Json = False) -> None:
    """Show the version."""
    out({"lamina": __version__}, as_json, lambda found: found["lamina"])
