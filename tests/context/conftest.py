"""Fixtures of the tests of contexts."""

from tests.ship_talk import clock, opened, path, store

__all__ = ["clock", "opened", "path", "store"]
