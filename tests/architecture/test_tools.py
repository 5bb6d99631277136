"""The tools of a contributor: the lock file, the targets of the Makefile, the markers of the tests."""

import re
import subprocess
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
    return [requirement for requirement in named if requirement.name != "lamina"]


@pytest.mark.parametrize("requirement", required(), ids=str)
def test_the_lock_pins_what_the_project_asks_for(requirement: Requirement) -> None:
    """Each package stands in the lock, in a version that pyproject.toml allows; else `make lock` was forgotten."""
    pinned = {
        canonicalize_name(found[1]): found[2] for found in re.finditer(r"^([\w.-]+)==([\w.]+)", LOCK, re.MULTILINE)
    }
    assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])


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
