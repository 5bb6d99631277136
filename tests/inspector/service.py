"""The service behind a page: started, and asked without the page."""

import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.command_line import LAMINA, plain_environ
from tests.waiting import CEILING, wait_until


def ask(method: str, address: str, path: str, *, body: Any = None, key: str | None = None, **asked: Any) -> Any:
    """What the service answers; a refusal is an error."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = f"{address}/v1/{path}"
    answer = httpx2.request(method, url, params=asked, json=body, headers=headers, timeout=CEILING)
    return answer.raise_for_status().json()


def read(address: str, path: str, **asked: Any) -> Any:
    return ask("GET", address, path, **asked)


def post(address: str, path: str, **body: Any) -> Any:
    return ask("POST", address, path, body=body)


def address_in(process, log):
    """The address that a server has logged, if it has."""
    assert process.poll() is None, log.read_text("utf-8")
    return re.search(r"serving on (http\S+)\n", log.read_text("utf-8"))


@contextmanager
def serving(database, *options, folder=None, **settings):
    """`lamina serve` over a file or a database, as its users run it; gives its address. Its log is next to the file."""
    folder = folder or Path(database).parent
    log = folder / f"{Path(database).name.partition('?')[0]}.log"
    command = [LAMINA, "--db", str(database), "serve", "--port", "0", *options]
    with log.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(command, stderr=stderr, cwd=folder, env=plain_environ(**settings))
        try:
            yield wait_until(lambda: address_in(process, log), "a server says its address")[1]
        finally:
            process.terminate()
            process.wait(CEILING)
