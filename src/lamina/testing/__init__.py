"""Test doubles and conformance suites, shipped: third parties can test their own stores and models with them.

`lamina.testing.suites` needs pytest and anyio; it is imported only by those who run it.
"""

from lamina.testing.fakes import FakeClock, FakeSummariser, WordCounter

__all__ = ["FakeClock", "FakeSummariser", "WordCounter"]
