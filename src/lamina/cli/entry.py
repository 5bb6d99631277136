"""The `lamina` command: says what to install when the command line's packages are not there."""

import importlib
import importlib.util
import sys

from lamina.errors import MissingExtra


def main() -> None:
    """Run the command line."""
    for package in ("typer", "rich"):
        if importlib.util.find_spec(package) is None:
            sys.exit(f"error: {MissingExtra(package, 'cli')}")
    importlib.import_module("lamina.cli.main").main()
