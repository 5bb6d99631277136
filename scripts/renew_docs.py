"""Writes what the blocks of pages print into the pages: `python -m scripts.renew_docs docs/explanation/facts.md`.

Only outputs that differ are written. What a person has to mend (a failed assertion, a command that fails) is listed.
"""

import argparse
import ast
import re
import sys
import tempfile
import traceback
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

from lamina.testing.postgres_server import Server
from tests.docs.pages import PAGES, Block, page_name
from tests.docs.running import Page, is_shown, lines

_CHANGING = re.compile(
    r"(?<![0-9a-f])(?=[a-f]*\d)[0-9a-f]{8}(?:[0-9a-f]{24})?(?![0-9a-f])"
)  # ids, whole or their first piece


class Renewal(Page):
    """A page that notes where its outputs differ, and goes on."""

    def __init__(self, path: Path, folder: Path, databases: "Databases") -> None:
        self._text = path.read_text("utf-8")
        self._edits: list[tuple[int, int, str]] = []  # begin, end and new text, in their order
        self._passed_to = 0  # the end of the last output that was looked at
        self.left: list[str] = []  # for a person
        super().__init__(page_name(path), self._text, folder, databases.new)

    @property
    def text(self) -> str:
        """The page with its new outputs."""
        text = self._text
        for begin, end, new in reversed(self._edits):
            text = text[:begin] + new + text[end:]
        return text

    def go(self) -> None:
        with closing(self):
            try:
                self.run_all()
            except Exception as error:  # noqa: BLE001 - whatever a page may raise
                self.left.append(f"{_place(error, self.name)}: {type(error).__name__}: {error}; not run from here on")

    def _execute(self, code: str) -> None:
        """One statement after the other, so that an assertion that fails does not stop the rest."""
        for statement in ast.parse(code).body:
            one = compile(ast.Module([statement], []), self.name, "exec")
            try:
                exec(one, self.namespace)
            except AssertionError as error:
                self.left.append(
                    f"{_place(error, self.name)}: not so: {ast.unparse(statement)}{self._value(statement)}"
                )

    def _value(self, statement: ast.stmt) -> str:
        if not (isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare)):
            return ""
        return f"\n  it is {eval(ast.unparse(statement.test.left), self.namespace)!r}"

    def _compare(self, where: str, block: Block, expected: str, printed: str) -> None:
        inner = len(block.text) if block.language == "python" else 0  # an output stands in a block or behind it
        begin = sum(map(len, self._text.splitlines(keepends=True)[: block.line - 1])) + inner
        found = self._text.find(f"\n{expected}", max(begin, self._passed_to)) + 1 if expected.strip() else 0
        if found:
            self._passed_to = found + len(expected) - 1
        if is_shown(expected, printed):
            return
        if found:
            self._edits.append((found, found + len(expected), renew(expected, printed)))
        else:
            self.left.append(f"{where}: the page has no place for what it prints:\n{lines(printed)}")


class Databases:
    """Databases of a server that is started when a page first needs one."""

    def __init__(self, open_: ExitStack) -> None:
        self._open = open_
        self._server: Server | None = None

    def new(self) -> str:
        if self._server is None:
            self._server = Server(18)
            self._open.callback(self._server.stop)
        return str(self._server.url(self._server.new_database()))


def renew(expected: str, printed: str) -> str:
    """An output as it is now. Lines that still hold stay with their dots; new ones get dots for ids and today."""
    old, new = lines(expected).splitlines(), lines(printed).splitlines()
    holds = {line: next((shown for shown in old if shown.strip(". ") and is_shown(shown, line)), line) for line in new}
    text = "\n".join(holds[line] if holds[line] != line else _without_changing(line) for line in new)
    end = expected[len(expected.rstrip()) :]
    lead = re.match(r" *", printed).group() if printed.strip() else ""  # type: ignore[union-attr]
    return f"{lead}{text}{end}"


def _without_changing(line: str) -> str:
    return _CHANGING.sub("...", line).replace(datetime.now(UTC).date().isoformat(), "...")


def _place(error: BaseException, name: str) -> str:
    rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return f"{name}:{rows[-1]}" if rows else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="which; default all")
    wrong = 0
    with ExitStack() as open_:
        databases = Databases(open_)
        for path in parser.parse_args().pages or PAGES:
            with tempfile.TemporaryDirectory() as folder:
                page = Renewal(path.resolve(), Path(folder), databases)
                page.go()
            if page.text != path.read_text("utf-8"):
                path.write_text(page.text, "utf-8")
                print(f"renewed {page.name}")
            print(*page.left, sep="\n", end="\n" if page.left else "")
            wrong += len(page.left)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
