"""Each extra brings all that it is for, and what is missing is named with the extra that brings it."""

import functools
import importlib.metadata
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOOLS = {"dev"}  # extras for work on Lamina itself

# Modules of packages that an extra does not bring cannot be imported; then the code given is run.
WITH_ONLY = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
exec(sys.argv[2])
"""
LIBRARY = """
from lamina import Memory
with Memory("a.db") as memory:
    memory.add("I'm Alex. I prefer Python.", user_id="alex")
    memory.settle()
    assert memory.facts("alex") and memory.search("Python", user_id="alex")
    assert memory.context("which language?", user_id="alex").messages
"""
COMMANDS = """
from typer.testing import CliRunner
from lamina.cli.main import app
for line in (["add", "I prefer tea."], ["search", "tea"], ["context", "tea?"], ["verify"], ["--help"]):
    done = CliRunner().invoke(app, line if line == ["--help"] else ["--db", "b.db", *line])
    assert done.exit_code == 0, (line, done.output, done.exception)
"""
SERVICE = """
import asyncio
from lamina.server import serve
from lamina.server.mcp.mount import mount
from lamina.settings import load_settings
from lamina.cli import serve_commands
assert list(serve_commands._mounts(load_settings({}))) == ["/mcp"]
"""
MINILM = f"""
import sys
sys.path.insert(0, {str(ROOT / "packages/lamina-minilm/src")!r})
from lamina import Memory
with Memory("a.db", worker=False) as memory:
    memory.add("We got a puppy.", user_id="alex")
    assert memory.settle().vectors and memory.search("young dog", user_id="alex")
"""
MCP = """
import sys
from lamina.cli.entry import main
sys.argv = ["lamina", "--db", "a.db", "mcp"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""
WORKS = {
    "": LIBRARY + COMMANDS,
    "minilm": MINILM,
    "mcp": MCP,
    "server": SERVICE,
    "openai": "from lamina.models.llm.endpoint import require_sdk; require_sdk()",
    "openai-agents": "import lamina.integrations.openai_agents",
    "langgraph": "import lamina.integrations.langgraph",
    "langchain": "import lamina.integrations.langchain",
    "llamaindex": "import lamina.integrations.llamaindex",
    "anthropic": "import lamina.integrations.anthropic",
    "bench": "from lamina.bench.plots import check_installed; check_installed()",
    "otel": "import opentelemetry.trace, lamina.tracing",
    "postgres": "import lamina.storage.postgres.postgres_store",
}


@functools.cache
def closure(extra: str) -> frozenset[str]:
    """The distributions that `lamina[extra]` installs, by what they say of themselves."""
    found: set[tuple[str, str]] = set()
    waiting = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else ())]
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        for wanted in ("", *sorted(requirement.extras)):
            if (name, wanted) in found:
                continue
            found.add((name, wanted))
            waiting += _requires(name, wanted)
    return frozenset(name for name, _ in found)


def _requires(name: str, extra: str) -> list[str]:
    if name == "lamina":
        return [*PROJECT["optional-dependencies"].get(extra, ())]
    try:
        given = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:  # not for this machine
        return []
    markers = [(one, Requirement(one).marker) for one in given]
    return [one for one, marker in markers if marker is None or marker.evaluate({"extra": extra})]


def blocked(extra: str) -> list[str]:
    """The modules that nothing in `lamina[extra]` brings."""
    kept = closure(extra) | {"lamina"}
    known = importlib.metadata.packages_distributions()
    return sorted(module for module, owners in known.items() if not {canonicalize_name(one) for one in owners} & kept)


def run(extra: str, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITH_ONLY, json.dumps(blocked(extra)), code]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_each_extra_is_tried():
    """None is added without a line here."""
    assert set(WORKS) - {""} == set(PROJECT["optional-dependencies"]) - TOOLS


@pytest.mark.parametrize("extra", WORKS, ids=lambda extra: extra or "bare")
def test_an_extra_brings_what_it_is_for(extra, tmp_path):
    """With nothing but what `pip install 'lamina[extra]'` installs, that part of Lamina works."""
    done = run(extra, WORKS[extra], tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_extra_brings_nothing_of_the_others():
    """The plain library has no web server, no SDK and no driver."""
    assert not closure("") & {"fastapi", "uvicorn", "mcp", "openai", "anthropic", "psycopg", "matplotlib"}
    assert not closure("mcp") & {"fastapi", "openai", "psycopg"}


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        pytest.param(["serve"], "server", id="serve"),
        pytest.param(["mcp"], "mcp", id="mcp"),
        pytest.param(["mcp", "--http"], "mcp", id="mcp-over-http"),
        pytest.param(["--db", "postgresql://db/x", "stats"], "postgres", id="postgres"),
    ],
)
def test_a_command_without_its_extra_says_what_to_install(line, extra, tmp_path):
    """After `pip install lamina` alone, each command runs or names the line to type."""
    code = f"import sys; from lamina.cli.entry import main; sys.argv = ['lamina', *{line!r}]; main()"
    done = run("", code, tmp_path)
    assert done.returncode in {1, 2}
    assert done.stderr.startswith("error: ")
    assert f"get it with: pip install 'lamina[{extra}]'" in done.stderr


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        pytest.param("openai_agents", "openai-agents", "openai-agents", id="openai-agents"),
        pytest.param("langgraph", "langgraph-checkpoint", "langgraph", id="langgraph"),
        pytest.param("langchain", "langchain-core", "langchain", id="langchain"),
        pytest.param("anthropic", "anthropic", "anthropic", id="anthropic"),
        pytest.param("llamaindex", "llama-index-core", "llamaindex", id="llamaindex"),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(adapter, package, extra, tmp_path):
    """An adapter whose framework is not installed says which extra brings it."""
    done = run("", f"import lamina.integrations.{adapter}", tmp_path)
    assert f"MissingExtra: {package} is not installed; get it with: pip install 'lamina[{extra}]'" in done.stderr


def test_the_service_in_python_names_its_extra(tmp_path):
    """As `lamina serve` does."""
    done = run("", "from lamina.server.app import create_app", tmp_path)
    assert "MissingExtra: fastapi is not installed; get it with: pip install 'lamina[server]'" in done.stderr
