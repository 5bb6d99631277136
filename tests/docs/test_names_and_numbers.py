"""Names and numbers on the pages are those of the code."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

import lamina
from lamina import errors
from lamina.open import Options
from lamina.profiles import KNOBS, PROFILES, Profile
from lamina.server.metrics import Metrics
from lamina.settings import Settings
from lamina.storage.postgres.postgres_options import PostgresOptions
from lamina.tenancy.changes import EventType
from scripts import profile_tables, value_pages
from tests.docs.pages import DOCS, PAGES, ROOT, TEXTS, bodies, page_name, prose

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_QUOTED = re.compile(r"`(?P<name>[a-z_]+)` \((?P<number>[\d.,]*\d)(?: (?P<unit>[KMG]iB))?[),;]")


def _numbers(text: str) -> list[tuple[str, float]]:
    """What a text says of values, in the form `` `name` (number) ``."""
    return [
        (found["name"], float(found["number"].replace(",", "")) * UNITS.get(found["unit"], 1))
        for found in _QUOTED.finditer(prose(text))
    ]


def _defaults(kind: type) -> dict[str, Any]:
    return {one.name: one.default for one in fields(kind)}


def _value(profile: Profile, name: str) -> Any:
    """A value of a profile, or what its knob sets."""
    found: Any = profile
    for part in KNOBS.get(name, ((name,),))[0]:
        found = getattr(found, part)
    return found


# Profiles


def test_the_tables_of_the_profiles_are_those_of_the_code():
    text = profile_tables.PAGE.read_text("utf-8")
    assert text == profile_tables.page(text), "write them again: python -m scripts.profile_tables"


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_what_the_page_says_of_a_profile_is_in_it(name):
    section = bodies(DOCS / "reference/profiles.md", "##")[f"`{name}`"]
    for value, number in _numbers(section):
        assert _value(PROFILES[name], value) == number, f"{value} of {name}"


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_the_readme_has_the_budget_of_each_profile(name):
    (row,) = re.findall(rf"^\| `{name}` \|.*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert row.endswith(f"| {PROFILES[name].budget:,} |")


# Defaults

KNOWN = {
    **_defaults(PostgresOptions),
    **_defaults(Profile),
    **_defaults(lamina.Limits),
    **_defaults(lamina.Llm),
    **_defaults(Options),
    **_defaults(Settings),
    **_defaults(lamina.Patience),
}
OTHERS = {"parts", "limit", "top_k", "budget"}  # parameters of verbs and routes, not settings


@pytest.mark.parametrize("page", [page for page in TEXTS if page.name != "profiles.md"], ids=page_name)
def test_a_default_that_a_page_gives_is_that_of_the_code(page):
    for name, number in _numbers(page.read_text("utf-8")):
        assert name in KNOWN or name in OTHERS, f"{page_name(page)} gives a number for {name}, which is nowhere"
        assert name in OTHERS or KNOWN[name] == number, f"{page_name(page)} gives {name} as {number}"


@pytest.mark.parametrize("option", fields(PostgresOptions), ids=lambda option: option.name)
def test_every_parameter_of_a_postgresql_url_is_documented_with_its_default(option):
    (row,) = [
        line
        for line in bodies(DOCS / "how-to/postgresql.md", "##")["Settings"].splitlines()
        if f"`lamina_{option.name}`" in line and line.startswith("|")
    ]
    names, default = (cell.strip() for cell in row.split("|")[1:3])
    place = names.split(", ").index(f"`lamina_{option.name}`")
    shown = default.replace("`", "").split(", ")[place]
    assert shown == (
        ""
        if option.default is None
        else f"{option.default:g}"
        if isinstance(option.default, float)
        else str(option.default)
    )


# Values, verbs, errors


def test_the_page_of_values_is_that_of_the_code():
    assert value_pages.PAGE.read_text("utf-8") == value_pages.page(), "write it again: python -m scripts.value_pages"


def _shape(verb: str) -> str:
    """The parameters of a verb as its heading has them."""
    shown: list[str] = []
    for name, parameter in list(inspect.signature(vars(lamina.Memory)[verb]).parameters.items())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(f"**{name}" if parameter.kind is parameter.VAR_KEYWORD else name)
    return ", ".join(shown)


@pytest.mark.parametrize(
    "heading", re.findall(r"^### `(\w+\(.*\))`$", (DOCS / "reference/python.md").read_text("utf-8"), re.MULTILINE)
)
def test_the_heading_of_a_verb_is_its_signature(heading):
    verb, _, rest = heading.partition("(")
    assert f"{verb}({rest}" == f"{verb}({_shape(verb)})"


@pytest.mark.parametrize("verb", sorted(name for name in vars(lamina.Memory) if name[0] != "_"))
def test_a_verb_has_no_documented_parameter_that_it_does_not_take(verb):
    member = vars(lamina.Memory)[verb]
    if not callable(member):
        return
    (section,) = [
        body for head, body in bodies(DOCS / "reference/python.md", "###").items() if re.match(rf"`{verb}[(`]", head)
    ]
    takes = set(inspect.signature(member).parameters)
    for line in re.findall(r"^- (`\w+`(?:, `\w+`)*):", section.split("\n## ")[0], re.MULTILINE):
        for name in re.findall(r"`(\w+)`", line):
            assert name in takes or any(
                name in {f.name for f in fields(value)} for value in value_pages.values().values()
            ), f"{verb} takes no {name}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_fields_that_a_page_reads_of_a_value_exist(page):
    """As in `manifest.coverage` or `Receipt.scrub`, where the first word is a value by its name."""
    kinds = {name.lower(): value for name, value in value_pages.values().items()}
    for owner, field in re.findall(r"`(\w+)\.(\w+)`", prose(page.read_text("utf-8"))):
        if f"{owner}.{field}" not in get_args(EventType) and (value := kinds.get(owner.lower())) is not None:
            assert hasattr(value, field) or field in {one.name for one in fields(value)}, f"{owner}.{field}"


def test_the_tree_of_errors_is_that_of_the_code():
    (tree,) = re.findall(
        r"```text\n(LaminaError\n.*?)```", (DOCS / "reference/python.md").read_text("utf-8"), re.DOTALL
    )
    parents: list[tuple[int, str]] = []
    shown = {}
    for line in tree.splitlines():
        if found := re.match(r"([│├└─ ]*)(\w+)", line):
            depth = len(found[1])
            parents = [one for one in parents if one[0] < depth]
            shown[found[2]] = parents[-1][1] if parents else None
            parents.append((depth, found[2]))
    public = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.LaminaError)
    }
    assert shown == {
        name: None if kind is errors.LaminaError else kind.__mro__[1].__name__
        for name, kind in public.items()
        if name in lamina.__all__
    }


# What is watched


def test_the_metrics_on_the_page_are_those_of_the_code():
    page = (DOCS / "reference/logs-and-metrics.md").read_text("utf-8")
    shown = {
        name for row in re.findall(r"^\| (`lamina_.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    source = Path(inspect.getfile(Metrics)).read_text("utf-8")
    kinds = {"Counter": "_total", "CounterMetricFamily": "_total"}
    made = {
        str(node.args[0].value) + kinds.get(node.func.id, "")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and str(node.args[0].value).startswith("lamina_")
    }
    assert shown == made


def test_every_action_of_the_logs_page_is_logged():
    page = bodies(DOCS / "reference/logs-and-metrics.md", "##")["Logs"]
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    for action in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE):
        assert f'"{action}"' in source, f"nothing logs {action}"


def test_every_event_is_documented():
    page = bodies(DOCS / "reference/rest.md", "##")["Events"]
    assert re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE) == list(get_args(EventType))
