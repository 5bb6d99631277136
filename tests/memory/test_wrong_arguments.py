"""Mistakes of a caller: refused in words that say what would work."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina import AsyncMemory, InputError, Memory
from lamina.open import grants, worker_alive
from lamina.values.fact import FACT_STATUSES


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", worker=False) as memory:
        for number in (1, 2):
            memory.add("I live in Porto.", user_id="ann", session_id=f"s{number}")
        memory.settle()
        yield memory


@pytest.mark.parametrize(
    ("verb", "hint"),
    [
        pytest.param(
            lambda one: one.context("q", user_id="ann", sources="text"), "sources must be a list", id="sources"
        ),
        pytest.param(lambda one: one.sessions(status="gone"), "no status 'gone'; there are", id="status"),
        pytest.param(lambda one: one.sessions(limit=0), "limit must be a whole number of at least 1", id="limit"),
        pytest.param(lambda one: one.messages("s1", "one"), "first and last are message numbers", id="numbers"),
        pytest.param(lambda one: one.milestone("s1", " "), "a milestone needs a title", id="title"),
    ],
)
def test_wrong_arguments(memory: Memory, verb: Callable[[Any], Any], hint: str) -> None:
    """The error says what is wrong with which."""
    with pytest.raises(InputError, match=hint):
        verb(memory)


def test_a_verdict_is_given_on_the_fact_that_stands(memory: Memory) -> None:
    """What only says it again is no fact of its own; the error names the one that is."""
    stands, again = memory.facts("ann", statuses=FACT_STATUSES)
    assert (stands.status, again.status) == ("active", "evidence")
    with pytest.raises(InputError, match=f"only bears on '{stands.id}'; name that one"):
        memory.retract(again.id)


@pytest.mark.parametrize(
    ("location", "options", "hint"),
    [
        pytest.param("", {}, "location must be a path, ':memory:' or a URL", id="nowhere"),
        pytest.param(3, {}, "location must be a path, ':memory:' or a URL .*, not 3", id="number"),
        pytest.param(":memory:", {"summariser": "gpt"}, "summariser must have the verb `summarise`", id="summariser"),
        pytest.param(":memory:", {"now": 3}, "now must be a function that gives the time", id="clock"),
    ],
)
def test_what_cannot_be_opened(location: Any, options: dict[str, Any], hint: str) -> None:
    """A place or a model that is none is refused before anything is opened."""
    with pytest.raises(InputError, match=hint):
        Memory(location, worker=False, **options)


def test_grants_are_for_postgresql(tmp_path: Path) -> None:
    """A file has no roles."""
    with pytest.raises(InputError, match="needs no grants; give the URL of a PostgreSQL store"):
        grants(str(tmp_path / "chat.db"), "reader")


def test_a_memory_that_is_not_open_has_no_other_names() -> None:
    """So that tools which look for names find none."""
    assert not hasattr(AsyncMemory(":memory:"), "nothing")


def test_a_broken_installation_is_not_taken_for_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the driver is missing, getting it would help."""
    monkeypatch.setitem(sys.modules, "lamina.storage.postgres.postgres_store", None)
    with pytest.raises(ModuleNotFoundError, match=r"lamina\.storage\.postgres"):
        Memory("postgresql://localhost/none", worker=False)


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that may not be sent signals is there all the same."""

    def forbidden(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert worker_alive(f"{socket.gethostname()}/1/a")
