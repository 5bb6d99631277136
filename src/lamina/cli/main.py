"""The command line as a whole. Each command opens the memory, calls one verb and shows the result."""

import os
import sys
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
    key_commands,
    regenerate_commands,
    serve_commands,
    summary_commands,
    transfer_commands,
    worker_commands,
)
from lamina.cli.command import Opener, errors
from lamina.errors import InputError, LaminaError
from lamina.logs import log_to_stderr
from lamina.settings import load_settings

PANELS = (
    ("Conversations", conversation_commands.commands),
    ("Facts", fact_commands.commands),
    ("Episodes and links", episode_commands.commands),
    ("Summaries and maintenance", summary_commands.commands),
    ("New versions", regenerate_commands.commands),
    ("Forgetting", forget_commands.commands),
    ("Workers", worker_commands.commands),
    ("Service", serve_commands.commands),
    ("Service", key_commands.commands),
    ("Copy", transfer_commands.commands),
    ("About", about_commands.commands),
    ("Benchmarks", bench_commands.commands),
)

app = typer.Typer(
    name="lamina",
    help="Layered memory for conversations with language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for title, commands in PANELS:
    for command in commands.registered_commands:
        command.rich_help_panel = title
    for group in commands.registered_groups:
        group.rich_help_panel = title
    app.add_typer(commands)


def main() -> None:
    """Run the command line; errors are shown in one line."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except LaminaError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except typer._click.exceptions.ClickException as error:  # noqa: SLF001
        error.show()
        sys.exit(error.exit_code)


def print_version(wanted: bool) -> None:
    """Print the version if asked to, whatever the settings are."""
    if wanted:
        about_commands.version()
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    db: Annotated[str | None, typer.Option("--db", help="Path of the memory file, or a postgresql:// URL.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A lamina.toml to read.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Name of the tenant.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, as JSON lines.")] = False,
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Settings come from options, LAMINA_* variables and lamina.toml, in that order."""
    loaded = load_settings(os.environ, config)
    loaded = replace(loaded, database=db or loaded.database, tenant=tenant or loaded.tenant)
    log_to_stderr("info" if verbose else loaded.log_level)
    context.obj = Opener(loaded)
