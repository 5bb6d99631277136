"""What is kept of whole talks, to be read by a person: `python -m benchmarks.knowledge [TALK…]`.

Each talk of `labels/talks` (without names, those called `unseen-*`) goes into a memory of its own. Printed in Markdown:
each message of a user; below it the memories that were made from it, then the sure notes that no memory has; at the end
the moments and the live summaries. Every memory has `[?]` where a reader writes the verdict; `results/knowledge.md` has
the verdicts on ten talks. With `--verdicts results/knowledge.md`, a memory that has the same words, type and person in
the same message keeps the verdict that it has there.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.notes import LABELS, Labelled, meets, of_talks
from lamina import Memory
from lamina.values.fact import FACT_STATUSES, Episode, Fact
from lamina.values.summary import Summary

_SHORT = 110  # letters of an assistant's message that are printed
_USER = "reader"
VERDICTS = ("good", "type", "unclear", "junk", "twice")
_OPEN = "[?]"
_JUDGED = re.compile(rf"- \w+, (?P<memory>.+) \d\.\d\d `(?P<verdict>{'|'.join(VERDICTS)})`")

Verdicts = Mapping[tuple[str, str, str], str]  # by talk, message and memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("talks", nargs="*", metavar="TALK", help="names of talks, such as a1-billing")
    parser.add_argument(
        "--verdicts", type=Path, help="a page of which the verdicts on memories that are the same are kept"
    )
    asked = parser.parse_args()
    verdicts = {} if asked.verdicts is None else read_verdicts(asked.verdicts.read_text("utf-8"))
    known = sorted(path.stem for path in (LABELS / "talks").glob("*.jsonl"))
    if unknown := sorted(set(asked.talks) - set(known)):
        print(f"no such talk: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    labelled = {one.id: one for one in of_talks()}
    for talk in asked.talks or [name for name in known if name.startswith("unseen-")]:
        print("\n".join(read(talk, labelled, verdicts)), end="\n\n")
    return 0


def read_verdicts(page: str) -> Verdicts:
    """The verdicts of a page that was printed here and judged."""
    found, talk, said = {}, "", ""
    for line in page.splitlines():
        if line.startswith("#"):
            talk = line.lstrip("# ")
        elif line.startswith("**"):
            said = line
        elif judged := _JUDGED.fullmatch(line):
            found[talk, said, judged["memory"]] = f"`{judged['verdict']}`"
    return found


def read(talk: str, labelled: dict[str, Labelled], verdicts: Verdicts) -> Iterator[str]:
    """A talk with what is kept of it."""
    rows = [json.loads(line) for line in (LABELS / "talks" / f"{talk}.jsonl").read_text("utf-8").splitlines()]
    with Memory(":memory:") as memory:
        memory.add([_message(row) for row in rows], user_id=_USER, session_id=talk)
        memory.settle()
        made = defaultdict[str, list[Fact]](list)
        for fact in memory.facts(_USER, statuses=FACT_STATUSES):
            made[fact.message_id or ""].append(fact)
        said, episodes, summaries = memory.messages(talk), memory.episodes(_USER), memory.summaries(talk)
    yield f"## {talk}\n"
    for number, (row, message) in enumerate(zip(rows, said, strict=True)):
        if row["role"] == "user":
            yield from _said(row, labelled[f"{talk}/{number}"], sorted(made[message.id], key=_place), verdicts)
        else:
            yield f"*Assistant: {_shorten(row['text'])}*\n"
    yield from _end(episodes, summaries)


def _message(row: dict[str, Any]) -> dict[str, str]:
    return {"role": row["role"], "content": row["text"]} | ({"name": row["name"]} if "name" in row else {})


def _place(fact: Fact) -> tuple[int, int, str]:
    return fact.start, fact.end, fact.key or ""


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[:_SHORT].rstrip()} …"


def _said(row: dict[str, Any], one: Labelled, facts: list[Fact], verdicts: Verdicts) -> Iterator[str]:
    """A message of the user, what was kept of it, and what was missed."""
    said = f"**{row.get('name', 'User')}:** {' '.join(one.text.split())}"
    yield f"{said}\n"
    missed = [note for note in one.notes if note.sure and not any(meets(note, fact) for fact in facts)]
    for fact in facts:
        memory = _memory(fact)
        verdict = verdicts.get((one.talk, said, memory), _OPEN)
        yield f"- {fact.status}, {memory} {fact.confidence:.2f} {verdict}"
    for note in missed:
        yield f"- missed: {note.type}: “{one.text[note.start : note.end]}” `missed`"
    if facts or missed:
        yield ""


def _memory(fact: Fact) -> str:
    """What is judged of a memory."""
    about = f" (about {fact.about})" if fact.about else ""
    scope = f" (for {fact.scope})" if fact.scope else ""
    asked = f" (asked: “{fact.question}”)" if fact.question else ""
    name = f"{fact.category}/{fact.key}" if fact.key else fact.category
    ended = "" if fact.holds else " (no longer)"
    return f"{name}{about}{scope}{ended}: “{fact.value}”{asked}"


def _end(episodes: list[Episode], summaries: list[Summary]) -> Iterator[str]:
    """The moments and the summaries of a talk."""
    yield "### Moments\n"
    yield from [f"- {one.kind}: {one.title}" for one in episodes] or ["none"]
    yield "\n### Summary\n"
    yield from ["> " + "\n> ".join(one.text.splitlines()) for one in summaries] or ["none"]


if __name__ == "__main__":
    sys.exit(main())
