"""Where memories can be in tests: in the process, in a file, in a database of a real PostgreSQL.

One server of each version serves a test process; it is started when a test first asks for it.
"""

import logging

import httpx2
import pytest

from lamina.testing.postgres import Server
from scripts.programs import PGBOUNCER
from tests.bouncer import bouncer
from tests.places import Database, Databases, Files, needed

httpx2._config.DEFAULT_TIMEOUT_CONFIG.read = 60.0  # on a busy machine an answer may take longer than the usual 5 s


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

    return database


@pytest.fixture
def database(databases):
    return databases()


@pytest.fixture(scope="session")
def pooled(servers):
    """A database behind a pgbouncer that hands its three connections on after each transaction."""
    with bouncer(needed(PGBOUNCER), servers()) as between:
        made = Database(between)
        yield made.fresh


@pytest.fixture
def new_database(servers):
    """Databases of their own, for what cannot be undone by emptying tables."""
    return lambda version=18, **options: Database(servers(version), **options)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Gives a place for a memory by name: the same for the same name, a new one for each test."""
    return Files(tmp_path) if request.param == "sqlite" else Databases(request.getfixturevalue("databases"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def any_place(request, tmp_path):
    """The same, also in the process, where a memory is gone when it is closed."""
    if request.param == "memory":
        return lambda _="": ":memory:"
    return Files(tmp_path) if request.param == "sqlite" else Databases(request.getfixturevalue("databases"))


def pytest_runtest_teardown() -> None:
    """Give Lamina's logs back to pytest, where a command that ran in this process had taken them."""
    logger = logging.getLogger("lamina")
    if not logger.propagate:
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
