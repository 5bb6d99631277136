"""Fixtures of the tests of the documents."""

from tests.documents.talks import clock, opened

__all__ = ["clock", "opened"]
