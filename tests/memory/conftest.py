"""Fixtures of the tests of the public surface."""

from tests.command_line import cli, lamina

__all__ = ["cli", "lamina"]
