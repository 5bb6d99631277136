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
    pytest.param("policy.folding", "time", "Decisions are pure", id="clock-in-policy"),
    pytest.param("engine.context", "sqlite3", "The engine knows no driver", id="driver-in-engine"),
    pytest.param("engine.worker", "lamina.storage.sqlite", "The engine knows no driver", id="store-in-engine"),
    pytest.param("interfaces.settings", "lamina.storage.sqlite", "Only wiring", id="backend-in-interface"),
    pytest.param("models.tokens", "sqlite3", "Database drivers", id="driver-in-model"),
    pytest.param("types", "lamina.engine.memory", "Layers", id="value-imports-engine"),
    pytest.param("policy.budget", "lamina.policy.render", "No cycles anywhere", id="cycle"),
    pytest.param("interfaces.logs", "lamina.interfaces.cli.show", "What the faces share", id="shared-imports-face"),
    pytest.param("interfaces.cli.bench", "lamina.interfaces.bench.readers", "Faces do not", id="face-imports-face"),
    pytest.param("interfaces.mcp.server", "lamina.interfaces.cli.show", "Faces do not", id="server-imports-face"),
    pytest.param("interfaces.adapters.openai_agents", "lamina.engine.memory", "Adapters use", id="adapter-goes-deep"),
    pytest.param(
        "interfaces.adapters.langgraph",
        "lamina.interfaces.adapters.langchain",
        "An adapter knows",
        id="adapter-imports-adapter",
    ),
]


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
    file = tmp_path / "src/lamina/policy/folding.py"
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
    assert "lamina.policy.folding -> time (l.1)" in shown
    assert re.search(r"Decisions are pure: [a-zA-Z/, ]+ library BROKEN", shown)
