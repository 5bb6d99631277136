"""The pages of the documentation, with their sections and blocks."""

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TEXTS = [
    *PAGES,
    *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
]  # with those that have nothing to run

RUN = {"python", "console", "sh", "toml"}
LANGUAGES = {*RUN, "text"}

_FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    line: int  # of its first line of content
    text: str
    next_text: str | None = None  # the text block right behind it: what a python block prints


@dataclass(frozen=True)
class Section:
    """The part of a page under one heading, as far as it is run."""

    anchor: str
    blocks: tuple[Block, ...]


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    found = list(_FENCE.finditer(text))
    behind = {
        block.start(): following["text"]
        for block, following in pairwise(found)
        if following["language"].strip() == "text" and not text[block.end() : following.start()].strip()
    }
    return [
        Block(
            language=block["language"].strip(),
            line=text.count("\n", 0, block.start()) + 2,
            text=block["text"],
            next_text=behind.get(block.start()),
        )
        for block in found
    ]


def prose(text: str) -> str:
    """A page without its blocks, as many lines long."""
    return _FENCE.sub(lambda found: "\n" * found.group().count("\n"), text)


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def sections(text: str) -> list[Section]:
    """The parts of a page that have something to run, in order; each begins at a heading of level 1 to 3."""
    lines = [(0, ""), *((n, line) for n, line in enumerate(prose(text).splitlines(), 1) if re.match("#{1,3} ", line))]
    parts: list[list[Block]] = [[] for _ in lines]
    for block in blocks(text):
        if block.language in RUN:
            parts[bisect([number for number, _ in lines], block.line) - 1].append(block)
    return [Section(slug(line.lstrip("#")), tuple(part)) for (_, line), part in zip(lines, parts, strict=True) if part]


def bodies(page: Path, level: str) -> dict[str, str]:
    """What stands under the headings of that level, by heading."""
    parts = re.split(rf"^{level} (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def body_of(bodies: dict[str, str], name: str) -> str:
    """What stands under the heading that begins with a name set as code: `name …`."""
    found = [body for heading, body in bodies.items() if re.match(rf"`{re.escape(name)}[ (`]", heading)]
    assert len(found) == 1, f"{len(found)} sections for {name!r}; there are {sorted(bodies)}"
    return found[0]
