"""What is true now comes first: `python -m benchmarks.changes [--unseen] [--misses]`.

`labels/changes` has changes: what was said first, what was said or told (in the third person) 30 sessions later, one
question about now, and for some one about before. Between them stand sessions of OASST, if its file is there. Counted are
the questions whose best hit has the value that is asked for and not the other one, and those for which a context of 400
tokens has it. `unseen.jsonl` is only counted, with `--unseen`: nothing was changed after its first count but what the
other file had shown.
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


def others() -> list[Row]:
    """Short messages of real chats; a few plain ones where the file is not there."""
    if not OASST.exists():
        texts = ("How do I cut an onion?", "Cut it in half first.", "Tell me a joke.", "A duck walks into a bar.")
        return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    with gzip.open(OASST, "rt", encoding="utf-8") as file:
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


def count(change: Row, between: Iterator[list[Row]]) -> Iterator[tuple[str, bool, str]]:
    """What is counted of one change: what, whether it is right, and the best hit."""
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
            yield f"{name}, best hit", wanted in text and (name == "before" or other not in text or now in text), text
            context = memory.context(question, user_id="u", session_id="new", budget=400).text
            yield f"{name}, in 400 tokens", wanted in context, text


def _give(memory: Memory, text: str, session: str, *, told: bool) -> None:
    if told:
        memory.remember(text, user_id="u")
        return
    reply = {"role": "assistant", "content": "Noted."}
    memory.add([{"role": "user", "content": text}, reply], user_id="u", session_id=session)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--misses", action="store_true", help="print what is wrong")
    chosen = parser.parse_args()
    path = CHANGES / ("unseen.jsonl" if chosen.unseen else "seen.jsonl")
    messages = others()
    right, every = Counter[str](), Counter[str]()
    for at, line in enumerate(path.read_text("utf-8").splitlines()):
        change = json.loads(line)
        for name, good, text in count(change, stretch(messages, at)):
            every[name] += 1
            right[name] += good
            if chosen.misses and not chosen.unseen and not good:
                print(f"{name}: {change['asked']}  {text[:90]!r}")
    for name, number in every.items():
        print(f"{name:22} {right[name]:3} of {number:3}  {right[name] / number:.2f}")


if __name__ == "__main__":
    main()
