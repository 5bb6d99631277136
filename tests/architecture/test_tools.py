"""The tools of a contributor: the lock file, the targets of the Makefile, the markers of the tests."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements-dev.lock").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def required() -> list[Requirement]:
    """Every package that the project or one of its extras names."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = [Requirement(line) for lines in (PROJECT["project"]["dependencies"], *extras) for line in lines]
    return [requirement for requirement in named if requirement.name not in {"lamina", "lamina-minilm"}]


@pytest.mark.parametrize("requirement", required(), ids=str)
def test_the_lock_pins_what_the_project_asks_for(requirement: Requirement) -> None:
    """Each package stands in the lock, in a version that pyproject.toml allows; else `make lock` was forgotten."""
    pinned = {
        canonicalize_name(found[1]): found[2] for found in re.finditer(r"^([\w.-]+)==([\w.]+)", LOCK, re.MULTILINE)
    }
    assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])


def test_the_extra_names_the_package_of_this_repository() -> None:
    """It asks for the very version of the weights whose hash the code knows."""
    package = tomllib.loads((ROOT / "packages/lamina-minilm/pyproject.toml").read_text("utf-8"))["project"]
    assert PROJECT["project"]["optional-dependencies"]["minilm"] == [f"{package['name']}=={package['version']}"]


def test_the_lock_names_no_host() -> None:
    """It has names and versions only, so that it works with any index."""
    assert [line for line in LOCK.splitlines() if "://" in line or line.startswith("-")] == []


def test_make_help_lists_every_target() -> None:
    """Also what a bare `make` prints."""
    targets = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
    hidden = {"quick-tests"}  # a part of `make quick`
    for words in (["make", "help"], ["make"]):
        listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert re.findall(r"^make ([a-z-]+) ", listed, re.MULTILINE) == [one for one in targets if one not in hidden]


def test_every_marker_is_explained() -> None:
    """A newcomer finds in CONTRIBUTING.md what keeps a test out of `make test`."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]:
        assert f"| `{line.partition(':')[0]}` |" in page


def test_the_targets_of_the_readme_and_the_guide_exist() -> None:
    for page in ("README.md", "CONTRIBUTING.md", ".ci/run"):
        for target in re.findall(r"`?make ([a-z-]+)", (ROOT / page).read_text("utf-8")):
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"{page} names `make {target}`"


def test_the_folders_of_tests_are_named_after_rooms() -> None:
    """Who looks for the tests of a room finds them by its name; `make quick` names folders that exist."""
    rooms = {path.stem for path in (ROOT / "src/lamina").iterdir()}
    others = {"architecture", "data", "docs", "first_hours", "inspector", "invariants"}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}
    assert folders - others <= rooms
    assert set(re.sub(r"\\\n", "", MAKEFILE).partition("\nQUICK := ")[2].partition("\n")[0].split()) <= folders


def test_files_can_be_run_in_any_order() -> None:
    """Fixtures of a folder are found when the run comes back to it."""
    names = ("proxy/test_transactions.py", "test_metrics.py", "proxy/test_guessing_forgotten_text.py")
    files = [f"tests/server/{name}" for name in names]
    command = [sys.executable, "-m", "pytest", "--setup-plan", "-p", "no:cacheprovider", *files]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]


def test_nothing_is_imported_from_a_conftest() -> None:
    """A conftest belongs to pytest: what others use is in a module of its own."""
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"^from tests\S*conftest import", path.read_text("utf-8"), re.MULTILINE), path
