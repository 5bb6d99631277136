"""The command line as a whole. Each command opens the memory, calls one verb and shows the result."""

import os
import sys
import warnings
from typing import Annotated, Any

import typer

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
from lamina.cli.command import fit_output, say
from lamina.cli.command_classes import Command, Group
from lamina.cli.complete import user_names
from lamina.cli.output import ClosedPipe
from lamina.cli.usage_errors import explain, report
from lamina.errors import LaminaError

_PARTS = (
    conversation_commands,
    fact_commands,
    episode_commands,
    summary_commands,
    regenerate_commands,
    forget_commands,
    worker_commands,
    serve_commands,
    key_commands,
    transfer_commands,
    about_commands,
    bench_commands,
)
_INTERRUPTED, _CLOSED_PIPE = 130, 141  # exit codes, as shells give them for the signals


def _adopt(part: typer.Typer) -> None:
    """Make every command of a part one that takes the options of every command."""
    for command in part.registered_commands:
        command.cls = Command
    for group in part.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            _adopt(group.typer_instance)


app = typer.Typer(
    name="lamina",
    cls=Group,
    help="Layered memory for conversations with language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
for _part in _PARTS:
    _adopt(_part.commands)
    app.add_typer(_part.commands)


def main() -> None:
    """Run the command line; errors are shown in one line."""
    fit_output()
    warnings.showwarning = _say_warning
    try:
        code = app(prog_name="lamina", standalone_mode=False) or 0
        sys.stdout.flush()
    except LaminaError as error:
        code = report(error)
    except typer.TyperException as error:
        code = explain(error)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except (ClosedPipe, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still has to write
        code = _CLOSED_PIPE
    sys.exit(code)


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning of the memory in one line, without the place in the source."""
    say(f"warning: {message}")


def print_version(wanted: bool) -> None:
    """Print the version if asked to, whatever the settings are."""
    if wanted:
        about_commands.version()
        raise typer.Exit


@app.callback()
def options_of_every_command(
    db: Annotated[
        list[str] | None,
        typer.Option("--db", metavar="PATH", help="A file or a postgresql:// URL; default: lamina.db."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option("--user", "-u", metavar="NAME", help="Whose memory.", autocompletion=user_names),
    ] = None,
    tenant: Annotated[
        list[str] | None, typer.Option("--tenant", metavar="NAME", help="The tenant; default: default.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="Settings; default: lamina.toml, if there is one."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, as JSON lines.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Settings come from options, LAMINA_* variables and lamina.toml, in that order."""
