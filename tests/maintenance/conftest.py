"""Fixtures of the tests of verify, repair, copies and statistics."""

from tests.ship_talk import clock, opened, path, store

__all__ = ["clock", "opened", "path", "store"]
