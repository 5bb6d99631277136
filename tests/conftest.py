"""Where memories can be in tests: in the process, in a file, in a database of a real PostgreSQL.

One server of each version serves a test process; it is started when a test first asks for it.
"""

import functools
import gc
import logging
import ssl
import sys
import threading
from pathlib import PurePath

import httpx2
import pytest

from lamina.models.embeddings.minilm import installed
from lamina.testing.postgres_server import Server
from scripts.programs import PGBOUNCER
from tests import sizes  # noqa: F401 - loads the profile of Hypothesis
from tests.bouncer import bouncer
from tests.minilm_package import minilm_package  # noqa: F401 - a fixture
from tests.places import Backend, Database, Databases, Files, needed
from tests.waiting import CEILING, wait_until

for kind in ("connect", "read", "write", "pool"):  # on a busy machine an answer may take longer than the usual 5 s
    setattr(httpx2._config.DEFAULT_TIMEOUT_CONFIG, kind, CEILING)
ssl.create_default_context = functools.cache(ssl.create_default_context)  # type: ignore[assignment] # takes 20 ms


def pytest_configure(config) -> None:
    """Keep the files of a folder together: pytest 9.1 loses the fixtures of a folder that it comes back to."""
    if installed() is not None:
        raise pytest.UsageError("most tests expect static vectors: pip uninstall lamina-minilm, they take it from here")
    config.args.sort(key=lambda argument: PurePath(argument.partition("::")[0]).parts)


def pytest_collection_finish() -> None:
    """What was collected stays to the end, and is not looked at again by every collection of garbage."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items) -> None:
    """Mark what needs a PostgreSQL server. A test that runs on several stores runs on a file in `make test`.

    Its other runs are for `make test-all`, but for those on PostgreSQL of tests that are marked `also_postgres`.
    """
    for item in items:
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        backend = next((value for value in given if isinstance(value, Backend)), Backend.SQLITE)
        if backend is Backend.POSTGRES or "servers" in item.fixturenames:
            item.add_marker("postgres")
        wanted = backend is Backend.POSTGRES and item.get_closest_marker("also_postgres")
        if backend is not Backend.SQLITE and not wanted:
            item.add_marker("full")


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def servers():
    started = {}

    def server(version=18):
        if version not in started:
            started[version] = Server(version)
        return started[version]

    yield server
    for one in started.values():
        one.stop()


@pytest.fixture(scope="session")
def databases(servers):
    made = {}

    def database(version=18, **options):
        key = (version, *sorted(options.items()))
        if key not in made:
            made[key] = Database(servers(version), **options)
        return made[key].fresh()

    yield database
    for one in made.values():
        one.close()


@pytest.fixture
def database(databases):
    return databases()


@pytest.fixture(scope="session")
def pooled(servers):
    """A database behind a pgbouncer that hands its three connections on after each transaction."""
    with bouncer(needed(PGBOUNCER), servers()) as between:
        made = Database(between)
        yield made.fresh
        made.close()


@pytest.fixture
def new_database(servers):
    """Databases of their own, for what cannot be undone by emptying tables."""
    made = []

    def database(version=18, **options):
        made.append(Database(servers(version), **options))
        return made[-1]

    yield database
    for one in made:
        one.close()


@pytest.fixture(params=[Backend.SQLITE, Backend.POSTGRES])
def place(request, tmp_path):
    """Gives a place for a memory by name: the same for the same name, a new one for each test."""
    return Files(tmp_path) if request.param is Backend.SQLITE else Databases(request.getfixturevalue("databases"))


@pytest.fixture(params=Backend)
def any_place(request, tmp_path):
    """The same, also in the process, where a memory is gone when it is closed."""
    if request.param is Backend.MEMORY:
        return lambda _="": ":memory:"
    return Files(tmp_path) if request.param is Backend.SQLITE else Databases(request.getfixturevalue("databases"))


def own_threads() -> set[threading.Thread]:
    """Those that a test started without giving them a name."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("Thread-")}


@pytest.fixture(scope="module", autouse=True)
def threads():
    """The threads that a module starts end with it: one that goes on would slow down every test after it."""
    before = own_threads()
    yield
    wait_until(lambda: own_threads() <= before, "all threads of the module have ended")


@pytest.fixture(scope="module", autouse=True)
def applications():
    """Lets applications of a module go at its end: FastAPI keeps their functions in caches, and those keep the rest."""
    yield
    for kept in vars(sys.modules.get("fastapi.dependencies.models", object)).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


def pytest_runtest_teardown() -> None:
    """Give Lamina's logs back to pytest, where a command that ran in this process had taken them."""
    logger = logging.getLogger("lamina")
    if not logger.propagate:
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
