"""The import rules of the layout hold, and each of them can fail."""

import re
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts import acyclic_siblings, forbidden, independence, layers

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
KINDS: dict[str, Any] = {
    "acyclic_siblings": acyclic_siblings.AcyclicSiblingsContract,
    "forbidden": forbidden.ForbiddenContract,
    "independence": independence.IndependenceContract,
    "layers": layers.LayersContract,
}


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """What imports what in the package."""
    return grimp.build_graph("lamina", include_external_packages=True, cache_dir=None)


def contracts() -> list[Any]:
    known = read_configuration(str(ROOT / "pyproject.toml"))
    return [
        KINDS[options["type"]](options["name"], known["session_options"], options)
        for options in known["contracts_options"]
    ]


def broken(imports: grimp.ImportGraph) -> list[str]:
    """The names of the contracts that such imports break."""
    return [one.name for one in contracts() if not one.check(graph=deepcopy(imports), verbose=False).kept]


def test_all_contracts_hold(imports):
    assert broken(imports) == []


VIOLATIONS = [
    pytest.param("folding.due", "time", "Decisions are pure", id="clock-in-a-decision"),
    pytest.param("context.build", "sqlite3", "Subjects know no driver", id="driver-in-a-subject"),
    pytest.param("workers.loop", "lamina.storage.sqlite", "Subjects know no driver", id="store-in-a-subject"),
    pytest.param("settings", "lamina.storage.sqlite", "Only open", id="backend-in-settings"),
    pytest.param("models.token_counters", "sqlite3", "Database drivers", id="driver-in-a-model"),
    pytest.param("memory", "psycopg", "Database drivers", id="driver-in-the-memory"),
    pytest.param("tenancy.keys", "sqlite3", "Database drivers", id="driver-in-tenancy"),
    pytest.param("values.message", "lamina.memory", "Layers", id="value-imports-memory"),
    pytest.param("log.window", "lamina.folding.due", "Layers", id="log-imports-folding"),
    pytest.param("context.items", "lamina.context.rendering", "No cycles anywhere", id="cycle"),
    pytest.param("logs", "lamina.cli.display", "Layers", id="shared-imports-interface"),
    pytest.param("cli.bench_commands", "lamina.bench.readers", "Interfaces do not", id="interface-imports-interface"),
    pytest.param("server.mcp.protocol", "lamina.server.rest.pagination", "Interfaces do not", id="mcp-imports-rest"),
    pytest.param("integrations.openai_agents", "lamina.memory", "Integrations use", id="integration-goes-deep"),
    pytest.param(
        "integrations.langgraph",
        "lamina.integrations.langchain",
        "An integration knows",
        id="integration-imports-integration",
    ),
]


SUBJECTS = ("log", "knowledge", "folding", "search", "context", "forgetting", "maintenance", "documents", "formats")
WITH_STORE = frozenset({
    "log.append", "log.conversations", "log.default_user", "log.pages", "folding.fold", "folding.digest",
    "folding.regenerate", "knowledge.facts", "knowledge.consolidate", "knowledge.extract", "knowledge.accesses",
    "search.search", "search.lazy_search", "search.index_cache", "search.embed", "context.build", "forgetting.forget",
    "forgetting.opt_out",
    "forgetting.retention", "formats.export", "formats.transfer", "formats.files", "formats.importing",
    "formats.json_items", "formats.reading", "formats.restore", "formats.sources", "formats.missing_paths",
    "formats.import_circles", "formats.incoming_opt_outs",
    "maintenance.verify", "maintenance.copy", "documents.documents", "documents.nearest",
})  # fmt: skip


def test_each_module_of_a_subject_is_pure_or_named_as_one_that_talks_to_the_store(imports):
    """A new module is pure, unless it is added to the list above."""
    (pure,) = (one for one in contracts() if one.name.startswith("Decisions are pure"))
    decisions = {str(module) for module in pure.source_modules}
    modules = {
        module.removeprefix("lamina.")
        for module in imports.modules
        if module.split(".")[0] == "lamina" and module.split(".")[1:2] and module.split(".")[1] in SUBJECTS
    } - set(SUBJECTS)
    assert modules - WITH_STORE == {name.removeprefix("lamina.") for name in decisions if name.count(".") > 1}


def test_each_contract_has_a_violation_here():
    begun = [str(one.values[2]) for one in VIOLATIONS]
    assert [one.name for one in contracts() if not one.name.startswith(tuple(begun))] == []


@pytest.mark.parametrize(("module", "imported", "contract"), VIOLATIONS)
def test_a_violation_is_caught(imports, module, imported, contract):
    """A deliberate violation of a rule breaks its contract."""
    importer = f"lamina.{module}"
    assert importer in imports.modules
    assert imported in imports.modules
    violated = deepcopy(imports)
    violated.add_import(importer=importer, imported=imported, line_number=1, line_contents=f"import {imported}")
    assert any(name.startswith(contract) for name in broken(violated))


def test_the_command_finds_a_violation_in_a_file(tmp_path):
    """As in `make static`: the contract's name, the module and the line."""
    left_out = shutil.ignore_patterns("__pycache__", "vocabulary", "*.jsonl", "*.npz", "*.js", "*.gz")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file = tmp_path / "src/lamina/folding/due.py"
    file.write_text(f"import time\n{file.read_text('utf-8')}", "utf-8")
    done = subprocess.run(
        [LINT, "--no-cache"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert "lamina.folding.due -> time (l.1)" in shown
    assert re.search(r"Decisions are pure: [a-zA-Z/, ]+ library BROKEN", shown)
