"""The blocks of the pages run, and print what the pages show."""

import logging
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import lamina
from lamina.cli.command import console
from tests.docs.pages import LANGUAGES, PAGES, blocks, page_name, sections
from tests.docs.running import Page
from tests.docs.shell import BIN, LOGGERS, Done, Shell
from tests.waiting import CEILING

SECTIONS = [
    pytest.param(page, number, id=f"{page_name(page)}#{section.anchor}", marks=pytest.mark.xdist_group(page_name(page)))
    for page in PAGES
    for number, section in enumerate(sections(page.read_text("utf-8")))
]


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory):
    """Gives a page that is being run; it is closed behind its last section."""
    running: dict[Path, Page] = {}

    def new_database() -> str:
        server = request.getfixturevalue("servers")()
        return str(server.url(server.new_database()))

    def page(path: Path) -> Page:
        if path not in running:
            text = path.read_text("utf-8")
            running[path] = Page(page_name(path), text, tmp_path_factory.mktemp(path.stem), new_database)
        return running[path]

    yield page
    for one in running.values():
        one.close()


@pytest.mark.parametrize(("path", "number"), SECTIONS)
def test_every_block_runs_and_prints_what_the_page_shows(path, number, opened):
    opened(path).run(number)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("```python\nassert 1 == 2\n```\n", "", id="assertion"),
        pytest.param("```python\nprint(1)\n```\n\n```text\n2\n```\n", "but prints\n1", id="output"),
        pytest.param("```python\nprint(1)\n```\n\nSo it goes.\n", "but prints\n1", id="output-not-shown"),
        pytest.param("```python\n1\n```\n```text\n2\n```\n", "but prints", id="shown-not-printed"),
        pytest.param("```console\n$ lamina sing\n```\n", "gives 2", id="command"),
        pytest.param("```sh\n$ lamina version\n9.9.9\n```\n", "shows\n9.9.9", id="command-output"),
        pytest.param("```sh\n$ lamina sing | cat && lamina sing\n```\n", "gives 2", id="command-in-a-shell"),
        pytest.param("```sh\n$ lamina version | cat\n9.9.9\n```\n", "shows\n9.9.9", id="output-in-a-shell"),
        pytest.param("# A\n## B\n```python\nx = 1\n```\n## C\n```python\nassert x == 2\n```\n", "", id="later-section"),
    ],
)
def test_a_page_that_is_wrong_is_caught(text, complaint, tmp_path):
    with closing(Page("page.md", text, tmp_path)) as page, pytest.raises(AssertionError) as caught:
        page.run_all()
    assert complaint in str(caught.value)


THREE = """
# Boats

## In
```python
from pathlib import Path

boats = ["Heron"]
```

## Out
```console
$ echo sails > told
```

## Gone
```python
print(boats, Path("told").read_text())
```
```text
['Heron'] sails
```
"""


def test_a_section_alone_runs_those_before_it_first_and_each_once(tmp_path):
    with closing(Page("page.md", THREE, tmp_path)) as page:
        assert [section.anchor for section in page.sections] == ["in", "out", "gone"]
        page.run(2)
        (tmp_path / "told").unlink()
        for number in (0, 1, 2):
            page.run(number)
        assert not (tmp_path / "told").exists()


def test_a_section_behind_one_that_failed_says_so(tmp_path):
    with closing(Page("page.md", THREE.replace("echo", "exit 3; echo"), tmp_path)) as page:
        page.run(0)
        for _ in range(2):
            with pytest.raises(AssertionError, match="gives 3"):
                page.run(1)
        with pytest.raises(pytest.fail.Exception, match=r"not run: page.md#out, which comes before, has failed"):
            page.run(2)


def test_a_heading_in_a_block_begins_no_section():
    text = "## A\n```python\n## B\n1\n```\n```text\n## C\n```\n### D\n```sh\n$ ls\n```\n#### E\n```sh\n$ ls\n```\n"
    assert [(section.anchor, len(section.blocks)) for section in sections(text)] == [("a", 1), ("d", 2)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_is_in_a_section(page):
    text = page.read_text("utf-8")
    kept = [block for section in sections(text) for block in section.blocks]
    assert kept == [block for block in blocks(text) if block.language != "text"]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_says_what_it_is(page):
    """A block in another language, or in none, would not be run."""
    text = page.read_text("utf-8")
    assert text.count("```") == 2 * len(blocks(text))
    assert {block.language for block in blocks(text)} <= LANGUAGES


def test_every_line_of_a_console_block_is_a_command_or_its_output():
    for page in PAGES:
        for block in blocks(page.read_text("utf-8")):
            if block.language in {"console", "sh"}:
                assert block.text.startswith("$ "), f"{page_name(page)}:{block.line} begins without a command"


# The shell that runs their commands


@pytest.fixture
def shell(tmp_path):
    with closing(Shell(tmp_path)) as made:
        yield made


@pytest.mark.parametrize(
    ("command", "code", "out"),
    [
        pytest.param("lamina version", 0, lamina.__version__, id="alone"),
        pytest.param("lamina version | tr . -", 0, lamina.__version__.replace(".", "-"), id="pipe"),
        pytest.param('echo "$(lamina version) $(lamina --version)"', 0, " ".join([lamina.__version__] * 2), id="words"),
        pytest.param("lamina profiles | lamina version", 0, lamina.__version__, id="two-in-a-pipe"),
        pytest.param("lamina profiles default > told; head -c 1 told", 0, "{", id="file"),
        pytest.param("lamina session s1", 2, "", id="fails"),
        pytest.param("lamina session s1 2> told; echo $?; grep -o 'error: there is no memory' told",
                     0, "2\nerror: there is no memory", id="fails-in-a-shell"),
        pytest.param("""echo '{"role": "user", "content": "Ahoi, Jörg"}' | lamina add - -s s1; """
                     "lamina messages s1 | grep -o Ahoi.*",
                     0, "added 1 message to s1\nAhoi, Jörg", id="standard-input"),
        pytest.param("LAMINA_USER=ana lamina config --json | grep -o 'ana'", 0, "ana", id="variable"),
        pytest.param("mkdir inner && cd inner && lamina add hello -s s1 && ls lamina.db", 0,
                     "added 1 message to s1\nlamina.db", id="folder"),
        pytest.param("yes hello | head -n 100000 | lamina add - -s s1; echo $?", 0, "2", id="much-standard-input"),
        pytest.param("lamina profiles --json | grep -m1 -o default", 0, "default", id="reader-that-stops"),
    ],
)  # fmt: skip
def test_a_command_of_a_page_runs_as_in_a_terminal(command, code, out, shell):
    done = shell.run(command)
    assert (done.code, done.out.strip()) == (code, out), done.err


def test_a_command_in_this_process_leaves_nothing_behind_in_it(shell, monkeypatch):
    monkeypatch.setenv("LAMINA_USER", "ana")

    def surroundings():
        loggers = [logging.getLogger(one) for one in LOGGERS]
        logs = [(one.handlers, one.level, one.propagate, one.isEnabledFor(logging.DEBUG)) for one in loggers]
        streams = (sys.argv, sys.stdin, sys.stdout, sys.stderr)
        return logs, streams, dict(os.environ), Path.cwd(), dict(vars(console))

    before = surroundings()
    done = shell.run("lamina --verbose add hello -s s1")
    assert (done.code, done.out) == (0, "added 1 message to s1\n")
    logs = [line for line in done.err.splitlines() if line.startswith('{"time":')]
    (made,) = set(done.err.splitlines()) - set(logs)
    assert made.startswith("made lamina.db in ")
    assert logs
    assert surroundings() == before


def test_the_width_of_a_page_does_not_hang_on_the_terminal_of_the_tests(tmp_path, monkeypatch):
    for columns in ("40", "200"):
        monkeypatch.setattr(console, "_width", int(columns))
        monkeypatch.setenv("COLUMNS", columns)
        with closing(Shell(tmp_path)) as shell:
            shell.run("lamina add hello -s s1")
            top = shell.run("lamina context hello -s s1").out.splitlines()[0]
            assert len(top) == 100


def test_the_installed_program_says_the_same_as_the_one_in_this_process(shell):
    done = subprocess.run(
        [BIN / "lamina", "version"], env=shell.environ, capture_output=True, text=True, check=False, timeout=CEILING
    )
    assert Done(done.returncode, done.stdout, done.stderr) == shell.run("lamina version")
    assert done.stdout == f"{lamina.__version__}\n"
