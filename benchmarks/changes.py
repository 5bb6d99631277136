"""What is true now comes first: `python -m benchmarks.changes [--unseen] [--misses]`.

`labels/changes` has changes: what was said first, what was said or told (in the third person) 30 sessions later, one
question about now, and for some one about before. Between them stand sessions of OASST (`--chats`), if it is there.
Counted are the questions whose best hit has the value that is asked for, for questions about before without the newer
one, and those for which a context of 400 tokens has it.

`beside*.jsonl` has pairs that end nothing: another person or thing, a plan, a question, "also". Counted are those whose
first part is marked as ended, or put behind the second.

`thirty.jsonl` has thirty facts about one user. Counted are the questions for which a context of 300 tokens has it.

Files with `unseen` in their name are only counted, with `--unseen`: nothing was changed after their first count but
what the other files had shown.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from lamina import Memory

CHANGES = Path(__file__).parent / "labels" / "changes"
OASST = Path(__file__).parents[2] / "shared" / "data" / "chats_oasst.jsonl.gz"
SESSIONS, EACH = 30, 4  # between the two
_LONGEST = 400  # characters of a message between them
_BEGIN = datetime(2025, 1, 1, 9, tzinfo=UTC)
_DAY = timedelta(days=1)

Row = dict[str, Any]
Counted = tuple[str, bool, str]  # what is counted, whether it is right, and what was found


def others(path: Path) -> list[Row]:
    """Short messages of real chats; a few plain ones where the file is not there."""
    if not path.exists():
        texts = ("How do I cut an onion?", "Cut it in half first.", "Tell me a joke.", "A duck walks into a bar.")
        return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        turns = [turn for line in file for turn in json.loads(line)["messages"]]
    return [
        {"role": turn["speaker"], "content": turn["text"]}
        for turn in turns
        if turn["speaker"] in {"user", "assistant"} and 0 < len(turn["text"]) < _LONGEST
    ]


def stretch(messages: Sequence[Row], at: int) -> Iterator[list[Row]]:
    """Sessions of other talk, not the same for each change."""
    start = at * SESSIONS * EACH
    for session in range(SESSIONS):
        yield [messages[(start + session * EACH + place) % len(messages)] for place in range(EACH)]


def count_change(change: Row, between: Iterator[list[Row]]) -> Iterator[Counted]:
    """What is counted of one change."""
    clock = [_BEGIN]
    with Memory(":memory:", worker=False, now=lambda: clock[0]) as memory:
        _give(memory, change["first"], "first", told=change.get("told", False))
        for number, messages in enumerate(islice(between, SESSIONS)):
            clock[0] += 3 * _DAY
            memory.add(messages, user_id="u", session_id=f"other {number}")
        clock[0] += 3 * _DAY
        _give(memory, change["then"], "then", told=change.get("told", False))
        memory.settle()
        clock[0] += 2 * _DAY
        now, before = change["new"], change["old"]
        for name, question, wanted, other in (
            ("now", change["asked"], now, before),
            *([("before", change["past"], before, now)] if "past" in change else ()),
        ):
            best = next(iter(memory.search(question, user_id="u", top_k=5)), None)
            text = best.text if best else ""
            yield f"{name}, best hit", wanted in text and (name == "now" or other not in text), text
            context = memory.context(question, user_id="u", session_id="new", budget=400).text
            yield f"{name}, in 400 tokens", wanted in context, text


def count_beside(pair: Row) -> Iterator[Counted]:
    """Whether the first of two that end nothing is still true, and was not put behind the second."""
    clock = [_BEGIN]
    told = pair.get("told", False)
    with Memory(":memory:", worker=False, now=lambda: clock[0]) as memory:
        _give(memory, pair["first"], "first", told=told)
        memory.settle()
        first = {fact.id for fact in memory.facts("u")}
        clock[0] += 30 * _DAY
        _give(memory, pair["then"], "then", told=told)
        memory.settle()
        clock[0] += 2 * _DAY
        ended = first & {fact.id for fact in memory.facts("u", statuses=["superseded"])}
        yield "nothing ended", not ended, f"{len(ended)} ended"
        hits = memory.search(pair["asked"], user_id="u", top_k=10)
        lines = memory.context(pair["asked"], user_id="u", session_id="new", budget=400).text.splitlines()
        said = [hit for hit in hits if pair["first"] in hit.text]
        moved = any("validity" in hit.parts for hit in hits) or any(hit.until for hit in said)
        marked = any(pair["kept"] in line and "(until" in line for line in lines)
        yield "not marked, not put behind", not moved and not marked, f"moved {moved}, marked {marked}"


def count_facts(rows: Sequence[Row], *, told: bool) -> Iterator[Counted]:
    """Whether the fact that is asked for is in a context of 300 tokens."""
    how = "told" if told else "said"
    clock = [_BEGIN]
    with Memory(":memory:", worker=False, now=lambda: clock[0]) as memory:
        for number, row in enumerate(rows):
            clock[0] += _DAY
            _give(memory, row["said"], f"day {number}", told=told)
        memory.settle()
        for row in rows:
            text = memory.context(row["asked"], user_id="u", session_id="new", budget=300).text
            yield f"{len(rows)} facts {how}, in 300 tokens", row["value"] in text, row["asked"]


def _give(memory: Memory, text: str, session: str, *, told: bool) -> None:
    if told:
        memory.remember(text, user_id="u")
        return
    reply = {"role": "assistant", "content": "Noted."}
    memory.add([{"role": "user", "content": text}, reply], user_id="u", session_id=session)


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in (CHANGES / name).read_text("utf-8").splitlines()]


def counts(name: str, messages: Sequence[Row]) -> Iterator[tuple[str, Counted]]:
    """What is counted of a file, each with the text that it is about."""
    rows = rows_of(name)
    if name.startswith("thirty"):
        for told in (True, False):
            yield from ((row["said"], one) for row, one in zip(rows, count_facts(rows, told=told), strict=True))
        return
    for at, row in enumerate(rows):
        found = count_beside(row) if name.startswith("beside") else count_change(row, stretch(messages, at))
        yield from ((f"{row['first']} / {row['then']} / {row['asked']}", one) for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--misses", action="store_true", help="print what is wrong")
    parser.add_argument("--only", default="", help="only files whose name has this")
    parser.add_argument("--chats", type=Path, default=OASST, help="chats that stand between")
    chosen = parser.parse_args()
    messages = others(chosen.chats)
    for path in sorted(CHANGES.glob("*.jsonl")):
        if ("unseen" in path.name) != chosen.unseen or chosen.only not in path.name:
            continue
        right, every = Counter[str](), Counter[str]()
        for about, (name, good, text) in counts(path.name, messages):
            every[name] += 1
            right[name] += good
            if chosen.misses and not chosen.unseen and not good:
                print(f"  {name}: {about}  {text[:90]!r}")
        for name, number in every.items():
            print(f"{path.stem:14} {name:30} {right[name]:3} of {number:3}  {right[name] / number:.2f}")


if __name__ == "__main__":
    main()
