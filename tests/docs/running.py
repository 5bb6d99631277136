"""Running a page: its blocks do what they say, in one folder, from top to bottom."""

import contextlib
import doctest
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, Section, sections
from tests.docs.shell import Shell

ELSEWHERE = ("make ", "pip ", "git ")  # commands that set things up; `make demo` and `make test` are what CI runs
DATABASE = re.compile(r"postgresql://app@db/\w+")  # a database of a server, on pages


class Page:
    """A page that is run section by section, each once; they share a folder, a namespace and a shell."""

    def __init__(self, name: str, text: str, folder: Path, new_database: Callable[[], str] | None = None) -> None:
        self.sections = sections(text)
        self._name = name
        self._folder = folder
        self._new_database = new_database
        self._databases: dict[str, str] = {}
        self._namespace: dict[str, Any] = {"__name__": "page"}
        self._shell = Shell(folder)
        self._passed = 0
        self._wrong: BaseException | None = None  # with the section behind those that passed

    def run(self, number: int) -> None:
        """Run a section, and before it those above it that have not run yet."""
        while self._passed <= number:
            section = self.sections[self._passed]
            if self._wrong is not None and self._passed < number:
                pytest.fail(f"not run: {self._name}#{section.anchor}, which comes before, has failed", pytrace=False)
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
        self._namespace.clear()

    def _run(self, section: Section) -> None:
        with contextlib.chdir(self._folder):
            for block in section.blocks:
                text = DATABASE.sub(self._database, block.text)
                if block.language == "python":
                    self._run_python(block, text)
                elif block.language == "toml":
                    (self._folder / "lamina.toml").write_text(text, "utf-8")
                else:
                    self._run_console(block, text)

    def _run_python(self, block: Block, text: str) -> None:
        code = compile("\n" * (block.line - 1) + text, self._name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self._namespace)
        if printed.getvalue() or block.next_text is not None:
            _check_output(f"{self._name}:{block.line}", block.next_text or "", printed.getvalue())

    def _run_console(self, block: Block, text: str) -> None:
        for command, shown in _commands(text):
            if command.startswith(ELSEWHERE):
                continue
            where = f"{self._name}:{block.line} `{command}`"
            done = self._shell.run(command)
            assert done.code == 0, f"{where} gives {done.code}: {done.err}"
            if shown.strip():
                _check_output(where, shown, done.out)

    def _database(self, found: re.Match[str]) -> str:
        assert self._new_database, "there is no server"
        if found.group() not in self._databases:
            self._databases[found.group()] = self._new_database()
        return self._databases[found.group()]


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown for it."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command.strip(), output


def _check_output(where: str, expected: str, printed: str) -> None:
    want, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n" for text in (expected, printed))
    if not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
        raise AssertionError(f"{where} shows\n{want}\nbut prints\n{got}")
