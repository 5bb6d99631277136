"""Real servers with memories to look into, and a real Chromium that looks."""

import os
import re
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from lamina import Memory
from lamina.interfaces.story import sessions
from scripts.programs import CHROMIUM
from tests.inspector.browser import DESK, place, watched
from tests.inspector.memories import ENDLESS, TROUBLED_PROFILE, USER, fill_hostile, fill_many, fill_troubled
from tests.interfaces.conftest import LAMINA, OURS
from tests.places import needed

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser():
    """A Chromium for the tests of one file: while it is open, nobody else can have an event loop in this thread."""
    path = needed(CHROMIUM)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()


def plain_environment(**settings):
    """The environment without settings of ours, but for these."""
    return {**{key: value for key, value in os.environ.items() if not key.startswith(OURS)}, **settings}


def waited_for(process, log):
    """The address of a server, once it says it."""
    address = None
    while address is None:
        assert process.poll() is None, log.read_text("utf-8")
        address = re.search(r"serving on (http\S+)\n", log.read_text("utf-8"))
        time.sleep(0.02)
    return address[1]


@contextmanager
def serving(database, *options, folder=None, **settings):
    """`lamina serve` over a file or a database, as its users run it; gives its address. Its log is beside the file."""
    folder = folder or Path(database).parent
    log = folder / f"{Path(database).name.partition('?')[0]}.log"
    command = [LAMINA, "--db", str(database), "serve", "--port", "0", *options]
    with log.open("w", encoding="utf-8") as told:
        process = subprocess.Popen(command, stderr=told, cwd=folder, env=plain_environment(**settings))
        try:
            yield waited_for(process, log)
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory):
    """The demo's memory: eight months in sessions, the same as one session, and something forgotten."""
    file, told = tmp_path_factory.mktemp("demo") / "demo.db", sessions()
    with Memory(file) as memory:
        for session_id, messages in told.items():
            memory.add(messages, user_id=USER, session_id=session_id)
            memory.end(session_id)
        alike = [{**message, "id": f"one-{message['id']}"} for messages in told.values() for message in messages]
        memory.add(alike, user_id=ENDLESS, session_id=ENDLESS)
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
    """A memory's files in another folder."""
    for part in file.parent.glob(f"{file.name}*"):
        if part.suffix != ".log":
            shutil.copy(part, folder / part.name)
    return folder / file.name


@pytest.fixture
def demo_copy(demo_file, tmp_path):
    """A server over a copy of the demo's memory, to change."""
    with serving(copied(demo_file, tmp_path)) as address:
        yield address


@pytest.fixture(scope="session")
def troubled_file(tmp_path_factory):
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
        made = httpx2.post(f"{address}/v1/keys", json={"name": "reader", "role": "read"}).raise_for_status()
        yield address, made.json()["key"]


@pytest.fixture
def empty(tmp_path):
    """A server over a memory in which there is nothing."""
    with serving(tmp_path / "empty.db") as address:
        yield address


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A server over a memory full of tricks."""
    file = tmp_path_factory.mktemp("hostile") / "hostile.db"
    with Memory(file) as memory:
        fill_hostile(memory)
    with serving(file) as address:
        yield address


@pytest.fixture
def page_at(browser):
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


@pytest.fixture
def key_for():
    """Makes a key of a role beside a running server."""

    def made(file, role):
        done = subprocess.run(
            [LAMINA, "--db", str(file), "keys", "create", f"{role} key", "--role", role],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[0].strip()

    return made
