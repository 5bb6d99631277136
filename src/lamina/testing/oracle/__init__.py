"""A second, simple store in dictionaries: tests compare the databases with it."""

from lamina.testing.oracle.oracle_store import OracleStore

__all__ = ["OracleStore"]
