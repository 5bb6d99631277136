"""How well moments are found: `python -m benchmarks.moments [--unseen] [--misses] [--read N]`.

`labels/moments/plain.jsonl` has plain messages with the kind of moment that they tell of, or none; `more.jsonl` and
`told.jsonl` (without the words decided, switched, done) have others, `places.jsonl` places in the data sets;
`labels/talks` has whole talks. The model was trained on all of these (`scripts/train_moments.py` counts talks that were
left out). `plain_unseen.jsonl` and talks named `unseen-*` are only counted, never read, with `--unseen`;
`plain_held_out.jsonl`, counted with them, was not trained on, but cues were added after its first count. A moment is
found if the message gives one, and right if it has the kind. Junk are moments in messages that have none. The sign of a
valence is right if it is below -0.15 where the label is -1, above 0.15 where it is 1, and between where it is 0.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.facts import message
from benchmarks.notes import labelled
from lamina.models.offline.episode_extraction.episode_extractor import episode_in
from lamina.protocols.models import EpisodeDraft
from lamina.values.fact import EPISODE_KINDS
from lamina.values.message import Message

LABELS = Path(__file__).parent / "labels"
MOMENTS = LABELS / "moments"
TALKS = LABELS / "talks"
DATA = Path(__file__).parents[2] / "shared" / "data"
BEFORE = 4  # messages before one that are read with it
NEUTRAL = 0.15  # valence
_UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A message of the user with the moment that it tells of."""

    source: str
    group: str  # conversation
    message: Message
    before: tuple[Message, ...] = ()
    kind: str | None = None
    valence: int | None = None
    marked: bool = True  # somebody said so


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def plain(name: str) -> list[Labelled]:
    """The messages of a file of single ones, each with what the assistant said before it."""
    return [
        Labelled(
            source=name,
            group=f"{name}-{number}",
            message=message(row["text"], name="m"),
            before=(message(row["before"], role="assistant", name="b"),) if row.get("before") else (),
            kind=row["kind"],
            valence=row.get("valence"),
        )
        for number, row in enumerate(lines(MOMENTS / f"{name}.jsonl"))
    ]


def talks(folder: Path = TALKS, *, unseen: bool = False) -> list[Labelled]:
    """The messages of users in whole talks that were read for moments."""
    paths = (path for path in sorted(folder.glob("*.jsonl")) if path.name.startswith(_UNSEEN) == unseen)
    return [row for path in paths if any("moment" in row for row in lines(path)) for row in talk(path)]


def talk(path: Path) -> Iterator[Labelled]:
    said: list[Message] = []
    for number, row in enumerate(lines(path)):
        one = message(row["text"], role=row["role"], name=f"m{number}")
        one = replace(one, seq=number + 1, turn=number // 2 + 1)
        if row["role"] == "user":
            moment = row.get("moment") or {}
            yield Labelled(
                source="unseen talks" if path.name.startswith(_UNSEEN) else "talks",
                group=path.stem,
                message=one,
                before=tuple(said[-BEFORE:]),
                kind=moment.get("kind"),
                valence=moment.get("valence"),
            )
        said.append(one)


def places(data: Path) -> list[Labelled]:
    """Messages of the development sets that were read for moments."""
    known = {row["id"]: row for row in lines(MOMENTS / "places.jsonl")}
    return [
        Labelled(
            source="places",
            group=_group(one.id),
            message=message(one.text),
            kind=known[one.id]["kind"],
            valence=known[one.id].get("valence"),
        )
        for one in labelled(data)
        if one.id in known
    ]


def unmarked(data: Path) -> list[Labelled]:
    """The other messages of `notes.jsonl` that are not unseen: mostly no moments."""
    known = {row["id"] for row in lines(MOMENTS / "places.jsonl")}
    return [
        Labelled(source="unmarked", group=_group(one.id), message=message(one.text), marked=False)
        for one in labelled(data)
        if one.source != "talks" and one.id not in known and not one.unseen
    ]


def _group(place: str) -> str:
    return place.split("#", maxsplit=1)[0] if place.startswith("longmemeval") else "/".join(place.split("/")[:2])


def count(rows: Iterable[Labelled]) -> tuple[Counter[str], list[str]]:
    """Counts by kind, and what went wrong."""
    counts, mistakes = Counter[str](), list[str]()
    for row in rows:
        found = episode_in(row.message, row.before)
        counts["all" if row.kind else "none"] += 1
        if row.kind:
            counts[f"all {row.kind}"] += 1
            counts["found"] += found is not None
            counts["right"] += found is not None and found.kind == row.kind
            counts[f"right {row.kind}"] += found is not None and found.kind == row.kind
        else:
            counts["junk"] += found is not None
        if found is not None and row.kind and row.valence is not None:
            counts["valences"] += 1
            counts["signs"] += sign(found.valence) == row.valence
        if (found.kind if found else None) != row.kind:
            mistakes.append(f"{row.kind or '-':17}{shown(found):80} | {row.message.text[:120]!r}")
    return counts, mistakes


def sign(valence: float) -> int:
    return (valence > NEUTRAL) - (valence < -NEUTRAL)


def shown(found: EpisodeDraft | None) -> str:
    if found is None:
        return "-"
    return f"{found.kind:17}{found.valence:+.2f} {found.significance:.2f}  {found.title}"


def report(name: str, counts: Counter[str]) -> None:
    moments, none = max(1, counts["all"]), max(1, counts["none"])
    print(
        f"{name:14} moments {counts['all']:4}  found {counts['found'] / moments:6.1%}  right kind "
        f"{counts['right'] / moments:6.1%}  precision {counts['found'] / max(1, counts['found'] + counts['junk']):6.1%}"
        f"  junk {counts['junk']}/{counts['none']} = {counts['junk'] / none:.1%}"
        f"  sign of valence {counts['signs'] / max(1, counts['valences']):.1%}"
    )
    kinds = (f"{kind} {counts[f'right {kind}']}/{counts[f'all {kind}']}" for kind in EPISODE_KINDS)
    print("               " + ", ".join(kinds))


def speed(rows: Sequence[Labelled]) -> float:
    """Milliseconds of processor time a message."""
    began = time.process_time()
    for row in rows:
        episode_in(row.message, row.before)
    return 1000 * (time.process_time() - began) / max(1, len(rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true", help="count the files that nobody reads")
    parser.add_argument("--misses", action="store_true", help="print what was wrong or missed; not with --unseen")
    parser.add_argument("--read", type=int, metavar="N", help="print N random moments to read")
    parser.add_argument("--talks", type=Path, default=TALKS, help="where the labelled talks are")
    parser.add_argument("--data", type=Path, default=DATA, help="where the data sets are")
    asked = parser.parse_args()
    if asked.unseen and (asked.misses or asked.read):
        print("unseen messages are only counted: --misses and --read work without --unseen", file=sys.stderr)
        return 2
    sets = (
        {
            "plain_unseen": plain("plain_unseen"),
            "held out": plain("plain_held_out"),
            "unseen talks": talks(asked.talks, unseen=True),
        }
        if asked.unseen
        else {**{name: plain(name) for name in ("plain", "more", "told")}, "talks": talks(asked.talks)}
    )
    if asked.read:
        rows = [*sets["talks"], *places(asked.data), *unmarked(asked.data)]
        found = [(row, episode_in(row.message, row.before)) for row in rows]
        hits = [(row, one) for row, one in found if one]
        for row, one in random.Random(11).sample(hits, min(asked.read, len(hits))):
            print(f"{shown(one)}\n      {row.message.text[:200]!r}")
        return 0
    for name, rows in sets.items():
        if not rows:
            continue
        counts, mistakes = count(rows)
        report(name, counts)
        if asked.misses:
            print("\n".join(mistakes))
    if not asked.unseen:
        print(f"{speed(sets['talks'] or sets['plain']):.2f} ms a message")
    return 0


if __name__ == "__main__":
    sys.exit(main())
