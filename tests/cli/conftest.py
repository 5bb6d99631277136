"""Fixtures of the tests of the command line."""

from tests.command_line import cli, lamina

__all__ = ["cli", "lamina"]
