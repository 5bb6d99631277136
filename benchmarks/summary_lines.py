"""Lines of summaries to be read by a person: `python -m benchmarks.summary_lines [--seed N] [--part P] [--count N]`.

Talks go through a real memory, each with one of the six profiles; lines of their last summaries are drawn at random.
Who reads them asks of each: could somebody understand it who sees only this line and its date? Talks are those of
`labels/talks` that models may be tuned on, and sessions of LoCoMo, BEAM, OASST, LongMemEval and RealMem if their files
are in the folder of the data. They are cut into parts by a hash of their names, so that lines of another part are of
talks that nobody has read yet.
"""

import argparse
import gzip
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lamina import PROFILES, Memory

DATA = Path(__file__).parents[2] / "shared" / "data"
TALKS = Path(__file__).parent / "labels" / "talks"
PARTS = 12
_BEGIN = datetime(2025, 3, 3, 9, tzinfo=UTC)
_MIN_MESSAGES = 4
_SHARE = {"talk": 0.3, "locomo": 0.2, "beam": 0.1, "oasst": 0.1, "realmem": 0.2, "longmemeval": 0.1}
_DATES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d (%A)", "%B-%d-%Y")
_LAYOUT = re.compile(r"#|---|\*Updated|\s*- \(nothing yet\)|\s*\Z")


@dataclass(frozen=True, slots=True)
class Talk:
    source: str
    name: str
    messages: tuple[dict[str, Any], ...]


def talks(data: Path, *, unseen: bool = False) -> Iterator[Talk]:
    """All talks, in the same order always."""
    for path in sorted(TALKS.glob("*.jsonl")):
        if path.stem.startswith("unseen-") == unseen:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            yield _talk("talk", path.stem, rows, lambda row: row["role"])
    if unseen:
        return
    for source, file in (("locomo", "locomo_dev"), ("beam", "beam_100k_dev"), ("realmem", "realmem_dev")):
        for record in _records(data / f"{file}.jsonl.gz"):
            sessions: dict[str, list[dict[str, Any]]] = {}
            for turn in record["turns"]:
                sessions.setdefault(turn["sess"], []).append(turn)
            role = _first_is_user if source == "locomo" else lambda _: lambda row: row["speaker"].lower()
            for name, rows in sessions.items():
                yield _talk(source, f"{source}-{record['conv_id']}-{name}", rows, role(rows))
    for record in _records(data / "chats_oasst.jsonl.gz"):
        yield _talk("oasst", f"oasst-{record['id']}", record["messages"], lambda row: row["speaker"])
    for record in _records(data / "longmemeval_dev_sessions.jsonl.gz"):
        rows = [{"date": record["date"], **turn} for turn in record["turns"]]
        yield _talk("longmemeval", f"longmemeval-{record['id']}", rows, lambda row: row["role"])


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _first_is_user(rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    return lambda row: "user" if row["speaker"] == rows[0]["speaker"] else "assistant"


def _talk(source: str, name: str, rows: Sequence[dict[str, Any]], role: Callable[[dict[str, Any]], str]) -> Talk:
    said = []
    for place, row in enumerate(rows):
        named = row.get("name") or (row["speaker"] if source == "locomo" else None)
        moment = _moment(row.get("date")) + timedelta(seconds=place)
        message = {"role": role(row), "content": row["text"], "created_at": moment}
        said.append(message | ({"name": named} if named else {}))
    return Talk(source, name, tuple(said))


def _moment(date: str | None) -> datetime:
    for form in _DATES if date else ():
        try:
            return datetime.strptime(str(date), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return _BEGIN


def part_of(name: str, parts: int = PARTS) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % parts


def summarise(talk: Talk, profile: str) -> list[str]:
    """The texts of the live summaries of a talk that has ended."""
    with Memory(":memory:", profile=profile) as memory:
        memory.add(list(talk.messages), user_id="reader", session_id="talk")
        memory.end("talk")
        memory.settle()
        return [summary.text for summary in memory.summaries("talk")]


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if not _LAYOUT.match(line)]


def draw(found: Sequence[Talk], seed: int, count: int) -> Iterator[tuple[Talk, str, str]]:
    """So many talks, each with a profile and one line of its summaries."""
    chance = random.Random(seed)
    profiles = sorted(PROFILES)
    by_source = {source: [one for one in found if one.source == source] for source in _SHARE}
    chosen = [
        talk
        for source, share in _SHARE.items()
        for talk in chance.sample(by_source[source], min(len(by_source[source]), round(count * share)))
    ]
    for place, talk in enumerate(chosen):
        profile = profiles[(place + seed) % len(profiles)]
        lines = [line for text in summarise(talk, profile) for line in lines_of(text)]
        if lines:
            yield talk, profile, chance.choice(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=int, default=0, help=f"which of {PARTS} parts of the talks")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--whole", metavar="TALK", help="print whole summaries of this talk instead")
    parser.add_argument("--profile", default="default")
    asked = parser.parse_args()
    found = [one for one in talks(asked.data) if len(one.messages) >= _MIN_MESSAGES]
    if asked.whole:
        for talk in found:
            if asked.whole == talk.name:
                print("\n\n".join(summarise(talk, asked.profile)))
        return
    part = [one for one in found if part_of(one.name) == asked.part]
    for number, (talk, profile, line) in enumerate(draw(part, asked.seed, asked.count), 1):
        print(f"{number}. {talk.name} ({profile}) {talk.messages[0]['created_at']:%Y-%m-%d}\n   {line}")


if __name__ == "__main__":
    main()
