"""The command line put together. Each command opens the memory, calls one verb and shows the result."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lamina.cli import (
    about_commands,
    bench_commands,
    conversation_commands,
    episode_commands,
    fact_commands,
    forget_commands,
    mcp_commands,
    regenerate_commands,
    service_commands,
    summary_commands,
    transfer_commands,
    worker_commands,
)
from lamina.cli.command import Face, errors
from lamina.errors import InputError, LaminaError
from lamina.logs import log_to_stderr
from lamina.settings import load_settings

PANELS: Mapping[str, typer.Typer] = {
    "Conversations": conversation_commands.commands,
    "What is known": fact_commands.commands,
    "Moments and links": episode_commands.commands,
    "Layers and upkeep": summary_commands.commands,
    "Workers": worker_commands.commands,
    "Service": service_commands.commands,
    "New versions": regenerate_commands.commands,
    "Forgetting": forget_commands.commands,
    "Moving": transfer_commands.commands,
    "Serving": mcp_commands.commands,
    "About": about_commands.commands,
    "Measuring": bench_commands.commands,
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
        about_commands.version()
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
