"""Fixtures of the tests of `lamina bench`."""

from tests.command_line import cli, lamina

__all__ = ["cli", "lamina"]
