"""Fixtures of the tests of the service, its proxy and MCP."""

from tests.command_line import cli, lamina
from tests.http_service import kept, running, service, standing_still

__all__ = ["cli", "kept", "lamina", "running", "service", "standing_still"]
