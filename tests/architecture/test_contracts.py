"""The import rules of the layout hold, and each of them can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        pytest.param("policy/folding.py", "import time", "Decisions are pure", id="clock-in-policy"),
        pytest.param("engine/context.py", "import sqlite3", "The engine knows no driver", id="driver-in-engine"),
        pytest.param(
            "engine/worker.py", "import lamina.storage.sqlite", "The engine knows no driver", id="store-in-engine"
        ),
        pytest.param(
            "interfaces/settings.py", "import lamina.storage.sqlite", "Only wiring", id="backend-in-interface"
        ),
        pytest.param("types.py", "import lamina.engine.memory", "Layers", id="value-imports-engine"),
        pytest.param("policy/budget.py", "import lamina.policy.render", "No cycles anywhere", id="cycle"),
        pytest.param(
            "interfaces/logs.py", "import lamina.interfaces.cli.show", "What the faces share", id="shared-imports-face"
        ),
        pytest.param(
            "interfaces/cli/bench.py", "import lamina.interfaces.bench.readers", "Faces do not", id="face-imports-face"
        ),
        pytest.param(
            "interfaces/mcp/server.py", "import lamina.interfaces.cli.show", "Faces do not", id="server-imports-face"
        ),
        pytest.param(
            "interfaces/adapters/openai_agents.py",
            "import lamina.engine.memory",
            "Adapters use",
            id="adapter-goes-deep",
        ),
        pytest.param(
            "interfaces/adapters/langgraph.py",
            "import lamina.interfaces.adapters.langchain",
            "An adapter knows",
            id="adapter-imports-adapter",
        ),
    ],
)
def test_a_violation_is_caught(tmp_path, file, line, contract):
    """A deliberate violation of a rule breaks its contract."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "vocabulary", "*.jsonl")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    broken = tmp_path / "src/lamina" / file
    broken.write_text(f"{line}\n{broken.read_text('utf-8')}", "utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1
    verdict = next(
        part for part in " ".join(done.stdout.split()).split("KEPT") if f"{contract}" in part and "BROKEN" in part
    )
    assert contract in verdict
