"""Fixtures of the tests of tenants."""

from tests.ship_talk import clock, opened, path, store

__all__ = ["clock", "opened", "path", "store"]
