"""Fixtures of the tests of the proxy."""

from tests.http_proxy import between, proxy, quick

__all__ = ["between", "proxy", "quick"]
