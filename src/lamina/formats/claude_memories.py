"""What Claude.ai remembers of its user (`memories.json` of its data export), as facts told by hand."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lamina.formats.foreign_values import clean_text, content_hash, object_at, objects
from lamina.formats.json_lines import Conversion, Record, fact_record

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*|\*\*([^*]+?):?\*\*:?")
_BULLET = re.compile(r"(?:[-*\u2022]|\d{1,3}[.)])\s+")
_MAX_TAG = 80


def is_memories(first: dict[str, Any]) -> bool:
    return isinstance(first.get("conversations_memory"), str) or isinstance(first.get("project_memories"), dict)


def convert(data: Any, name: str) -> Conversion:
    """Each paragraph as a fact; the heading above it and the project it is about become tags."""
    skipped: Counter[str] = Counter()
    found: dict[str, Record] = {}
    for _, account in objects(data, name, "account"):
        for scope, text in _texts(account, skipped):
            for heading, paragraph in _paragraphs(text):
                record = _fact(scope, heading, paragraph, skipped)
                found.setdefault(record["id"], record)
    return Conversion(records=list(found.values()), skipped=+skipped)


def _texts(account: dict[str, Any], skipped: Counter[str]) -> Iterator[tuple[str, str]]:
    """What is remembered of all conversations, then of each project."""
    if isinstance(general := account.get("conversations_memory"), str):
        yield "", general
    for project, text in object_at(account, "project_memories").items():
        if isinstance(text, str):
            yield f"project:{project}", text
        else:
            skipped["memory of a project without text"] += 1
    if isinstance(files := account.get("memory_files"), list):
        skipped["memory file of Claude"] += len(files)


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs and items of lists, each with the heading above it."""
    heading, lines = "", list[str]()
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        title = _HEADING.fullmatch(bare)
        if lines and (not bare or title or _BULLET.match(bare)):
            yield heading, " ".join(lines)
            lines = []
        if title:
            heading = title[1] or title[2]
        elif any(map(str.isalnum, bare)):
            lines.append(_BULLET.sub("", bare, count=1))


def _fact(scope: str, heading: str, text: str, skipped: Counter[str]) -> Record:
    tags = [clean_text(tag, skipped)[:_MAX_TAG] for tag in ("claude", heading, scope) if tag]
    return fact_record(
        fact_id=f"claude-memory-{content_hash(scope, text)}",
        fact_type="fact",
        category="fact",
        text=clean_text(text, skipped),
        tags=tags,
        unread=True,
    )
