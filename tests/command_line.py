"""Two ways to run the command line: as its users do, and quickly in this process."""

import io
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lamina.cli.main import main
from tests.waiting import wait_until

LAMINA = str(Path(sys.executable).with_name("lamina"))
OURS = ("LAMINA", "MEMORY_", "PROMPT_", "DATABASE_URL")


def plain_environ(**more: str) -> dict[str, str]:
    """The environment without any setting of ours but these."""
    return {**{key: value for key, value in os.environ.items() if not key.startswith(OURS)}, **more}


@contextmanager
def service_process(folder: Path, *words: str, **environ: str):
    """`lamina serve` in a folder: the process and its address; what it says is in the file `log` there."""
    log = folder / "log"
    with log.open("w", encoding="utf-8") as errors:
        command = [LAMINA, "serve", "--port", "0", *words]
        process = subprocess.Popen(command, cwd=folder, stderr=errors, env=plain_environ(**environ))
    try:
        found = re.compile(r"serving on (http\S+)\n")
        wait_until(lambda: found.search(log.read_text("utf-8")) or process.poll() is not None)
        address = found.search(log.read_text("utf-8"))
        assert address, log.read_text("utf-8")
        yield process, address[1]
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def lamina(tmp_path):
    """Runs `lamina` in an empty folder; gives the finished process."""

    def run(*words: str, given: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [LAMINA, *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env=plain_environ(**{"COLUMNS": "100", **environ}),
        )

    return run


@dataclass(frozen=True)
class Done:
    """What a command left behind; `out` and `err` with single spaces."""

    code: int
    stdout: str
    stderr: str

    @property
    def out(self) -> str:
        return " ".join(self.stdout.split())

    @property
    def err(self) -> str:
        return " ".join(self.stderr.split())


class Terminal(io.StringIO):
    """Keys typed at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Runs `lamina` in an empty folder, in this process; `keys` are typed at a terminal, `given` is piped in."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)

    def run(*words: str, keys: str | None = None, given: str = "", **environ: str) -> Done:
        with monkeypatch.context() as patched:
            for name, value in {"COLUMNS": "80", **environ}.items():
                patched.setenv(name, value)
            patched.setattr(sys, "argv", ["lamina", *words])
            patched.setattr(sys, "stdin", io.StringIO(given) if keys is None else Terminal(keys))
            with pytest.raises(SystemExit) as stop:
                main()
        printed = capsys.readouterr()
        return Done(int(stop.value.code or 0), printed.out, printed.err)

    return run
