"""Running a page: its blocks do what they say, in one folder, from top to bottom."""

import contextlib
import doctest
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lamina.testing.llm_server import LlmServer
from tests.docs.pages import Block, Section, sections
from tests.docs.shell import Shell

ELSEWHERE = ("make ", "pip ", "git ")  # commands that set things up; `make demo` and `make test` are what CI runs
CLIENT = re.compile(r"\b(OpenAI|Anthropic)\(\)")  # that takes its address and key from the environment
DATABASE = re.compile(r"postgresql://app@db/\w+")  # a database of a server, on pages


class Page:
    """A page that is run section by section, each once; they share a folder, a namespace and a shell."""

    def __init__(self, name: str, text: str, folder: Path, new_database: Callable[[], str] | None = None) -> None:
        self.sections = sections(text)
        self.name = name
        self._folder = folder
        self._new_database = new_database
        self._databases: dict[str, str] = {}
        self.namespace: dict[str, Any] = {"__name__": "page"}
        self._shell = Shell(folder)
        self._endpoint = LlmServer(lambda _asked: "Noted.").__enter__() if CLIENT.search(text) else None
        self._passed = 0
        self._wrong: BaseException | None = None  # with the section behind those that passed

    def run(self, number: int) -> None:
        """Run a section, and before it those above it that have not run yet."""
        while self._passed <= number:
            section = self.sections[self._passed]
            if self._wrong is not None and self._passed < number:
                pytest.fail(f"not run: {self.name}#{section.anchor}, which comes before, has failed", pytrace=False)
            if self._wrong is not None:
                raise self._wrong
            try:
                self._run(section)
            except BaseException as error:
                self._wrong = error
                raise
            self._passed += 1
        if self._passed == len(self.sections):
            self.close()

    def run_all(self) -> None:
        self.run(len(self.sections) - 1)

    def close(self) -> None:
        """Let go of the shell and of what the page has made; its last section does so, too."""
        self._shell.close()
        self.namespace.clear()
        if self._endpoint is not None:
            self._endpoint.__exit__(None, None, None)
            self._endpoint = None

    def _run(self, section: Section) -> None:
        with contextlib.chdir(self._folder), mock.patch.dict(os.environ, self._environment()):
            for block in section.blocks:
                text = DATABASE.sub(self._database, block.text)
                if block.language == "python":
                    self._run_python(block, text)
                elif block.language == "toml":
                    (self._folder / "lamina.toml").write_text(text, "utf-8")
                else:
                    self._run_console(block, text)

    def _environment(self) -> dict[str, str]:
        """Where a client of an LLM finds its server, on a page that has one."""
        return {} if self._endpoint is None else client_environment(self._endpoint)

    def _run_python(self, block: Block, text: str) -> None:
        code = "\n" * (block.line - 1) + text
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self._execute(code)
        if printed.getvalue() or block.next_text is not None:
            self._compare(f"{self.name}:{block.line}", block, block.next_text or "", printed.getvalue())

    def _execute(self, code: str) -> None:
        exec(compile(code, self.name, "exec"), self.namespace)

    def _compare(self, where: str, block: Block, expected: str, printed: str) -> None:
        """What a block of the page, or one of its commands, shows and what it prints."""
        if not is_shown(expected, printed):
            raise AssertionError(f"{where} shows\n{lines(expected)}\nbut prints\n{lines(printed)}")

    def _run_console(self, block: Block, text: str) -> None:
        for command, shown in _commands(text):
            if command.startswith(ELSEWHERE):
                continue
            where = f"{self.name}:{block.line} `{command}`"
            done = self._shell.run(command)
            assert done.code == 0, f"{where} gives {done.code}: {done.err}"
            if shown.strip():
                self._compare(where, block, shown, done.out)

    def _database(self, found: re.Match[str]) -> str:
        assert self._new_database, "there is no server"
        if found.group() not in self._databases:
            self._databases[found.group()] = self._new_database()
        return self._databases[found.group()]


def client_environment(server: LlmServer) -> dict[str, str]:
    """What makes clients of OpenAI and Anthropic use a server on this machine."""
    return {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "test",
        "ANTHROPIC_BASE_URL": server.root,
        "ANTHROPIC_API_KEY": "test",
    }


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown for it."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command.strip(), output


def lines(text: str) -> str:
    """The lines of an output without the spaces behind them."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def is_shown(expected: str, printed: str) -> bool:
    """Whether an output is as the page shows it, where three dots stand for anything."""
    return doctest.OutputChecker().check_output(lines(expected), lines(printed), doctest.ELLIPSIS)
