"""Where memories can be in tests: in the process, in a file, in a database of a real PostgreSQL.

One server of each version serves a test process; it is started when a test first asks for it.
"""

import pytest

from lamina.testing.postgres import Server
from tests.places import Database, Databases, Files


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
