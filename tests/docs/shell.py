"""A shell for the commands of pages. `lamina` runs in this process, where tables and vectors are loaded already."""

import io
import json
import logging
import os
import re
import selectors
import shlex
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from rich.console import Console

import lamina.search.vectors  # noqa: F401 - threadpoolctl sets a variable of the environment at its first import
from lamina.cli.command import console, errors
from lamina.cli.entry import main
from tests.waiting import CEILING

BIN = Path(sys.executable).parent
SHIM = Path(__file__).with_name("shim.py")
OURS = ("LAMINA_", "MEMORY_", "PROMPT_", "DATABASE_URL")
LOGGERS = ("lamina", "psycopg", "mcp", "uvicorn")  # those that a command gives a handler

SERVING = {"serve", "worker", "mcp"}  # run until they are told to stop, and have the signals for themselves
ENDING = {"--help", "--print"}  # but not with these


@dataclass(frozen=True)
class Asked:
    """The words behind `lamina`, and what the program finds around it."""

    words: list[str]
    folder: str
    environ: dict[str, str]
    given: str = ""


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


class Shell:
    """Runs commands in a folder: `lamina` with plain words at once, everything else by /bin/sh.

    There, `lamina` is a small program that asks this process to run the command.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        beside = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="lamina-")))
        self._listener = self._open.enter_context(socket.socket(socket.AF_UNIX))
        self._listener.bind(str(beside / "socket"))
        self._listener.listen()
        words = shlex.join([sys.executable, "-I", "-S", str(SHIM), str(beside / "socket")])
        (beside / "lamina").write_text(f'#!/bin/sh\nexec {words} "$@"\n', "utf-8")
        (beside / "lamina").chmod(0o755)
        self.environ = environment(dict(os.environ), beside)

    def run(self, command: str) -> Done:
        if command.startswith("lamina ") and not re.search(r"[|<>$;&`]", command):
            return run_lamina(Asked(shlex.split(command)[1:], str(self._folder), self.environ))
        return self._in_shell(command)

    def _in_shell(self, command: str) -> Done:
        with (
            subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self._folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as shell,
            _ended(shell),
        ):
            assert shell.stdout
            assert shell.stderr
            out, err = self._until_closed(shell.stdout.fileno(), shell.stderr.fileno())
            return Done(shell.wait(CEILING), out, err)

    def _until_closed(self, *pipes: int) -> list[str]:
        """What comes through the pipes; meanwhile, run what is asked for."""
        said = dict.fromkeys(pipes, b"")
        with selectors.DefaultSelector() as ready:
            for source in (self._listener.fileno(), *pipes):
                ready.register(source, selectors.EVENT_READ)
            while len(ready.get_map()) > 1:
                events = ready.select(CEILING)
                assert events, f"nothing was heard of the shell for {CEILING} s"
                for key, _ in events:
                    if key.fd not in said:
                        self._answer()
                    elif piece := os.read(key.fd, 1 << 16):
                        said[key.fd] += piece
                    else:
                        ready.unregister(key.fd)
        return [text.decode() for text in said.values()]

    def _answer(self) -> None:
        line, _ = self._listener.accept()
        with line:
            line.settimeout(CEILING)
            asked = Asked(**json.loads(b"".join(iter(lambda: line.recv(1 << 16), b""))))
            line.sendall(json.dumps(asdict(run_lamina(asked))).encode())

    def close(self) -> None:
        self._open.close()


def environment(environ: dict[str, str], beside: Path) -> dict[str, str]:
    """The same without settings of Lamina, for output of a known width; programs of a folder come first."""
    clean = {name: value for name, value in environ.items() if not name.startswith(OURS)}
    path = os.pathsep.join([str(beside), str(BIN), clean.get("PATH", "")])
    return {**clean, "PATH": path, "COLUMNS": "100", "TERM": "dumb"}


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()


def run_lamina(asked: Asked) -> Done:
    """Run the program: in this process, if it ends by itself."""
    words = set(asked.words)
    return _run_program(asked) if words & SERVING and not words & ENDING else _run_here(asked)


def _run_program(asked: Asked) -> Done:
    done = subprocess.run(
        [BIN / "lamina", *asked.words],
        cwd=asked.folder,
        env=asked.environ,
        input=asked.given,
        capture_output=True,
        text=True,
        check=False,
        timeout=CEILING,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _run_here(asked: Asked) -> Done:
    out, err = io.BytesIO(), io.BytesIO()
    with (
        _surroundings(asked),
        redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)),
        redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)),
        _consoles(),
        _logs(),
    ):
        code = _exit_code()
        return Done(code, out.getvalue().decode(), err.getvalue().decode())


def _exit_code() -> int:
    """Do what the console script does, and what Python does at its end."""
    try:
        main()
    except SystemExit as stop:
        if isinstance(stop.code, str):
            sys.stderr.write(f"{stop.code}\n")
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception:  # noqa: BLE001 - what a user would see
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _surroundings(asked: Asked) -> Iterator[None]:
    """Words, standard input, folder and environment of a program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(BIN / "lamina"), *asked.words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked.given.encode()), "utf-8"))
        patch.chdir(asked.folder)
        for name in os.environ.keys() - asked.environ.keys():
            patch.delenv(name)
        for name, value in asked.environ.items():
            patch.setenv(name, value)
        yield


@contextmanager
def _consoles() -> Iterator[None]:
    """Consoles that look anew at what they write to and how wide it is, as at the start of a program."""
    kept = [(one, dict(vars(one))) for one in (console, errors)]
    vars(console).update(vars(Console()))
    vars(errors).update(vars(Console(stderr=True)))
    try:
        yield
    finally:
        for one, state in kept:
            vars(one).clear()
            vars(one).update(state)


@contextmanager
def _logs() -> Iterator[None]:
    """Give the logs back that a command takes to its standard error."""
    kept = [(one, one.handlers, one.level, one.propagate) for one in map(logging.getLogger, LOGGERS)]
    try:
        yield
    finally:
        for one, handlers, level, propagate in kept:
            one.handlers, one.propagate = handlers, propagate
            one.setLevel(level)
