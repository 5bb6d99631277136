"""The page that is in the package is what its sources build, and it is small."""

import gzip
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lamina.server.inspector.page_files import PACKAGED

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
TOP = ("index.html", "package-lock.json", "package.json", "sources.ts", "tsconfig.json", "vite.config.ts")
LARGEST = 180_000  # bytes, as they go over the wire


SHARED = {"page.css", "tokens.css"}  # what every screen may use and adapt
PARTS = {"chart.css", "combobox.css", "feed.css", "messages.css", "pieces.css", "proxy.css"}  # a screen may adapt these


def built(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def served():
    """Of the page, what browsers are given."""
    return {name: body for name, body in built(PACKAGED).items() if name == "index.html" or name.startswith("assets/")}


def test_the_page_belongs_to_its_sources():
    """Told by a digest, without Node; `make page` brings both together again."""
    paths = sorted([*TOP, *(path.relative_to(WEB).as_posix() for path in (WEB / "src").rglob("*") if path.is_file())])
    lines = [f"{path}\n{hashlib.sha256((WEB / path).read_bytes()).hexdigest()}\n" for path in paths]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert (PACKAGED / "sources.sha256").read_text("utf-8").strip() == digest, "run `make page`, and commit the page"


@pytest.mark.full
def test_the_sources_are_clean_and_build_the_page_byte_for_byte(tmp_path):
    """Needs Node and what npm fetches; the digest above tells in `make test` whether both belong together."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no Node here: `apt-get install nodejs npm` gets it")
    web = tmp_path / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))

    def run(*words):
        return subprocess.run([npm, *words], cwd=web, capture_output=True, text=True, check=False)

    for _ in range(3):
        done = run("install", "--no-save", "--ignore-scripts")
        if done.returncode == 0:
            break
    else:
        pytest.skip(f"npm could not get what builds the page: {done.stderr.strip()[:500]}")
    done = run("run", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("run", "build", "--", "--outDir", str(tmp_path / "page"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert built(tmp_path / "page") == built(PACKAGED), "run `make page`, and commit the page"


def selectors():
    """The selectors of each style sheet."""
    found = {}
    for sheet in (WEB / "src/style").glob("*.css"):
        text = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", sheet.read_text("utf-8"), flags=re.DOTALL)
        found[sheet.name] = {one.strip() for group in re.findall(r"([^{};]+)\{", text) for one in group.split(",")}
    return found


def test_a_screen_looks_the_same_whichever_was_seen_before():
    """One style sheet has all, and what a screen's own part of it styles by class alone is on no other screen."""
    assert [name for name in served() if name.endswith(".css")] == re.findall(
        r"assets/[\w.-]+\.css", served()["index.html"].decode()
    )
    sheets = selectors()
    for name in sheets.keys() - SHARED:
        own = {one[1:] for one in sheets[name] if re.fullmatch(r"\.[\w-]+", one)}
        for other in sheets.keys() - {name}:
            rules = sheets[other]
            used = {used for rule in rules for used in re.findall(r"\.([\w-]+)", rule)}
            alone = {one[1:] for one in rules if re.fullmatch(r"\.[\w-]+", one)}
            assert not own & (alone if name in PARTS else used), f"{name} and {other}"


def test_the_page_is_small():
    """All of it, with every screen, as it goes over the wire."""
    sizes = {name: len(gzip.compress(body, 9)) for name, body in served().items()}
    assert sum(sizes.values()) <= LARGEST, sizes


def test_the_licences_of_what_is_in_it_come_with_it():
    terms = (PACKAGED / "licences.md").read_text("utf-8")
    assert {"@observablehq/plot", "preact", "d3-shape"} <= set(re.findall(r"^## (\S+) - ", terms, re.MULTILINE))


def test_the_page_names_nobody_else():
    """Nothing in it is fetched from elsewhere: no address but those that name a format."""
    text = b"".join(served().values()).decode()
    assert "//" in text
    names = set(re.findall(r"https?://([\w.-]+)", text))
    assert names <= {"www.w3.org"}
