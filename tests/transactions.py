"""Counts the transactions that a piece of work takes on SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def count_transactions() -> Iterator[list[str]]:
    """The statements that began a transaction, on connections that are opened meanwhile; clear it to count anew."""
    begun: list[str] = []
    connect = sqlite3.connect

    def watch(statement: str) -> None:
        if statement.lower().startswith("begin"):
            begun.append(statement)

    def connect_watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(watch)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_watched)
        yield begun
