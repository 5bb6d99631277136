"""Two ways to run the command line: as its users do, and quickly in this process."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lamina.interfaces.cli.app import main

LAMINA = str(Path(sys.executable).with_name("lamina"))
OURS = ("LAMINA", "MEMORY_", "PROMPT_", "DATABASE_URL")


@pytest.fixture
def lamina(tmp_path):
    """Runs `lamina` in an empty folder; gives the finished process."""

    def run(*words: str, given: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        plain = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        return subprocess.run(
            [LAMINA, *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**plain, "COLUMNS": "100", **environ},
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

    def run(*words: str, keys: str | None = None, given: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["lamina", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(given) if keys is None else Terminal(keys))
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Done(int(stop.value.code or 0), printed.out, printed.err)

    return run
