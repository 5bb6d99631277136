"""Fixtures of the first hours: the command line as a new user runs it."""

from tests.command_line import lamina

__all__ = ["lamina"]
