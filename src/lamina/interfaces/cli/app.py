"""The command line put together. Each command opens the memory, calls one verb and shows the result."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lamina.errors import InputError, LaminaError
from lamina.interfaces.cli import (
    about,
    bench,
    conversations,
    forgetting,
    known,
    layers,
    moments,
    moving,
    protocol,
    service,
    versions,
    workers,
)
from lamina.interfaces.cli.face import Face, errors
from lamina.interfaces.logs import log_to_stderr
from lamina.interfaces.settings import load_settings

PANELS: Mapping[str, typer.Typer] = {
    "Conversations": conversations.commands,
    "What is known": known.commands,
    "Moments and links": moments.commands,
    "Layers and upkeep": layers.commands,
    "Workers": workers.commands,
    "Service": service.commands,
    "New versions": versions.commands,
    "Forgetting": forgetting.commands,
    "Moving": moving.commands,
    "Serving": protocol.commands,
    "About": about.commands,
    "Measuring": bench.commands,
}

app = typer.Typer(
    name="lamina",
    help="Layered memory for conversations with language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for title, commands in PANELS.items():
    for command in commands.registered_commands:
        command.rich_help_panel = title
    app.add_typer(commands)


def main() -> None:
    """Run the command line; what goes wrong is said in one line."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except LaminaError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except typer._click.exceptions.ClickException as error:  # noqa: SLF001
        error.show()
        sys.exit(error.exit_code)


def tell_version(wanted: bool) -> None:
    """Print the version if asked to, whatever the settings are."""
    if wanted:
        about.version()
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    db: Annotated[str | None, typer.Option("--db", help="Path of the memory file.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A lamina.toml to read.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Whose memories these are.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, as JSON lines.")] = False,
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=tell_version)
    ] = False,
) -> None:
    """Settings come from options, LAMINA_* variables and lamina.toml, in that order."""
    loaded = load_settings(os.environ, config)
    loaded = replace(loaded, database=db or loaded.database, tenant=tenant or loaded.tenant)
    log_to_stderr("info" if verbose else loaded.log_level)
    context.obj = Face(loaded)
