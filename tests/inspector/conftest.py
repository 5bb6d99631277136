"""Real servers with memories to look into, and a real Chromium that looks.

Each memory is made once, and has one server for all tests that only look; who changes much has a server of its own.
"""

import os
import sqlite3
from contextlib import ExitStack, closing

import pytest
from playwright.sync_api import expect, sync_playwright

from lamina import Memory
from lamina.story import parts
from scripts.programs import CHROMIUM
from tests.inspector.browser import DESK, place, watched
from tests.inspector.memories import (
    ENDLESS,
    TROUBLED_PROFILE,
    USER,
    fill_crowded,
    fill_hostile,
    fill_letters,
    fill_many,
    fill_sessions,
    fill_troubled,
    fill_zones,
)
from tests.inspector.service import post, serving
from tests.places import needed
from tests.waiting import CEILING

expect.set_options(timeout=CEILING * 1000)


@pytest.fixture(scope="session")
def chromium():
    """Where it is; without it nothing is made to look into."""
    return needed(CHROMIUM)


@pytest.fixture(scope="module")
def browser(chromium):
    """A Chromium for the tests of one file: while it is open, nobody else can have an event loop in this thread."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else [], timeout=CEILING * 1000
        )
        yield started
        started.close()


@pytest.fixture
def served():
    """Starts servers for one test; they end after its pages, since who is asked something answers first."""
    with ExitStack() as stack:
        yield lambda *given, **settings: stack.enter_context(serving(*given, **settings))


@pytest.fixture(scope="session")
def demo_file(chromium, tmp_path_factory):
    """The demo's memory: eight months in sessions, the same as one session, and something forgotten."""
    file = tmp_path_factory.mktemp("demo") / "demo.db"
    with Memory(file) as memory:
        for part in parts():
            memory.add(list(part.messages), user_id=part.user_id, session_id=part.session_id)
            memory.rename(part.session_id, part.title)
            if part.ends:
                memory.end(part.session_id)
        memory.settle()
        memory.forget(text="4242", user_id=ENDLESS)
        memory.settle()
    return file


@pytest.fixture(scope="session")
def demo(demo_file):
    """A server over the demo's memory, for tests that only look."""
    with serving(demo_file) as address:
        yield address


def copied(file, folder):
    """A memory in another folder; a server may have it open meanwhile."""
    target = folder / file.name
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("pragma journal_mode = delete")  # it needs no log beside it
    return target


@pytest.fixture
def demo_copy(demo_file, tmp_path):
    """A copy of the demo's memory, to change."""
    return copied(demo_file, tmp_path)


@pytest.fixture(scope="session")
def troubled_file(chromium, tmp_path_factory):
    """A memory in which much is wrong, and one user of whom very much is known."""
    file = tmp_path_factory.mktemp("troubled") / "troubled.db"
    fill_troubled(file)
    with Memory(file, profile=TROUBLED_PROFILE, worker=False) as memory:
        fill_many(memory)
    return file


@pytest.fixture(scope="session")
def troubled(troubled_file, tmp_path_factory):
    """A server over a copy of the troubled memory; a test changes only what no other looks at."""
    with serving(copied(troubled_file, tmp_path_factory.mktemp("serving")), LAMINA_PROFILE=TROUBLED_PROFILE) as address:
        yield address


@pytest.fixture(scope="session")
def read_only(troubled_file, tmp_path_factory):
    """A server that wants a key, over a copy of the troubled memory, and a key that may only read."""
    file = copied(troubled_file, tmp_path_factory.mktemp("read-only"))
    with serving(file, "--no-worker", LAMINA_PROFILE=TROUBLED_PROFILE) as address:
        yield address, post(address, "keys", name="reader", role="read")["key"]


@pytest.fixture(scope="session")
def nothing(chromium, tmp_path_factory):
    """A server over a memory in which there is nothing, for tests that only look."""
    with serving(tmp_path_factory.mktemp("nothing") / "nothing.db") as address:
        yield address


@pytest.fixture
def empty(served, tmp_path):
    """A server over a memory in which there is nothing yet."""
    return served(tmp_path / "empty.db")


@pytest.fixture(scope="session")
def hostile(chromium, tmp_path_factory):
    """A server over a memory full of tricks, with a session of hundreds of summaries."""
    file = tmp_path_factory.mktemp("hostile") / "hostile.db"
    with Memory(file) as memory:
        fill_hostile(memory)
    fill_crowded(file)
    with serving(file) as address:
        yield address


@pytest.fixture(scope="session")
def zones(chromium, tmp_path_factory):
    """A server over a memory of one who travels, one who writes from right to left, and one with many sessions."""
    file = tmp_path_factory.mktemp("zones") / "zones.db"
    with Memory(file, worker=False) as memory:
        fill_zones(memory)
        fill_letters(memory)
        fill_sessions(memory)
    with serving(file, "--no-worker") as address:
        yield address


@pytest.fixture
def page_at(browser, served):
    """Opens a screen of a server; at the end, the page must have asked nobody else and said nothing wrong.

    What is `expected` may be in what it says: a browser notes each refusal of a server as an error.
    """
    with ExitStack() as stack:
        seen = []

        def opened(address, screen, user=None, session=None, *, expected=(), **options):
            page, told = stack.enter_context(watched(browser, address, **options))
            told.expected |= set(expected)
            seen.append(told)
            page.goto(place(address, screen, user, session))
            return page

        yield opened
        for told in seen:
            assert not told.unexpected
            assert not told.outside


@pytest.fixture
def page_of(page_at, demo):
    """Opens a screen on the demo's memory."""

    def opened(screen, user=USER, session=None, width=DESK, **options):
        return page_at(demo, screen, user, session, width=width, **options)

    return opened
