"""How well facts are found: `python -m benchmarks.facts [--language L] [--unseen] [--misses] [--locomo N]`.

A found fact is right if a labelled one of the same message has the same category and `holds`, the same key where it has
one, the same value (word F1 of at least 0.6 for facts without a key), and their quotes overlap. Each is used once.
`--locomo N` reads all turns of LoCoMo as user messages and prints N random facts with their sentences.
"""

import argparse
import gzip
import json
import random
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamina.language.words import UNSPACED
from lamina.models.offline.fact_extraction.fact_extractor import facts_in
from lamina.protocols.models import FactDraft
from lamina.values.message import Message, Role

FACTS = Path(__file__).parents[1] / "tests" / "data" / "facts"
LOCOMO = Path(__file__).parents[2] / "shared" / "data" / "locomo_dev.jsonl.gz"
ENOUGH = 0.6  # word F1
SAID = datetime(2025, 3, 3, 12, tzinfo=UTC)
_ARTICLES = frozenset(("a", "an", "the", "der", "die", "das", "ein", "eine", "el", "la", "los", "las", "un", "una"))
_MARKS = re.compile(r"[^\w\s%$€£+#/-]")
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over a labelled file, by category, and what went wrong."""

    right: Counter[str]
    wrong: Counter[str]
    missed: Counter[str]
    mistakes: tuple[str, ...]

    def precision(self, category: str | None = None) -> float:
        right, wrong = _count(self.right, category), _count(self.wrong, category)
        return right / max(1, right + wrong)

    def recall(self, category: str | None = None) -> float:
        right, missed = _count(self.right, category), _count(self.missed, category)
        return right / max(1, right + missed)


def _count(counts: Counter[str], category: str | None) -> int:
    return counts[category] if category else counts.total()


def message(text: str, at: datetime = SAID, role: Role = "user", name: str = "m") -> Message:
    return Message(
        id=name,
        session_id="s",
        seq=1,
        turn=1,
        role=role,
        body={"role": role, "content": text},
        created_at=at,
        metadata={},
        model=None,
        tokens=0,
        text=text,
        digest="",
    )


def labelled(language: str | None = None, *, unseen: bool = False) -> Path:
    """The file of labelled messages in a language; without one, the English ones."""
    if language:
        return FACTS / (f"{language}-unseen.jsonl" if unseen else f"{language}.jsonl")
    return FACTS / ("unseen.jsonl" if unseen else "seen.jsonl")


def score(path: Path) -> Score:
    """Runs the extractor over a labelled file."""
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    mistakes: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        said = message(record["text"], role=record.get("role", "user"), name=record["id"])
        found = facts_in(said) if said.role == "user" else []
        hits, left = matched(found, record["facts"], record["text"])
        right.update(draft.category for draft in hits)
        wrong.update(draft.category for draft in found if draft not in hits)
        missed.update(gold["category"] for gold in left)
        mistakes += [f"WRONG  {record['id']} {shown(one)}   | {one.quote}" for one in found if one not in hits]
        mistakes += [f"MISSED {record['id']} {_gold(gold)}   | {record['text'][:160]!r}" for gold in left]
    return Score(right=right, wrong=wrong, missed=missed, mistakes=tuple(mistakes))


def matched(
    found: Sequence[FactDraft], labelled: Iterable[dict[str, Any]], text: str
) -> tuple[list[FactDraft], list[dict[str, Any]]]:
    """The right ones among those found, and the labelled ones that none of them matches."""
    hits: list[FactDraft] = []
    left: list[dict[str, Any]] = []
    for gold in labelled:
        hit = next((draft for draft in found if draft not in hits and same(draft, gold, text)), None)
        if hit:
            hits.append(hit)
        else:
            left.append(gold)
    return hits, left


def same(draft: FactDraft, gold: dict[str, Any], text: str) -> bool:
    if draft.category != gold["category"] or draft.holds != gold.get("holds", True):
        return False
    start = text.find(gold["quote"])
    if start >= 0 and not (draft.start < start + len(gold["quote"]) and start < draft.end):
        return False
    if gold.get("key") is None:
        return draft.key is None and agreement(bare(draft.value), bare(gold["value"])) >= ENOUGH
    return plain(draft.key or "") == plain(gold["key"]) and bare(draft.value) == bare(gold["value"])


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare(text: str) -> list[str]:
    """The words without case, marks and articles; of scripts written without spaces, their characters."""
    spaced = _UNSPACED.sub(r" \g<0> ", _MARKS.sub(" ", plain(text).replace("\u2019", "'")))
    return [word for word in spaced.split() if word not in _ARTICLES]


def agreement(one: Sequence[str], other: Sequence[str]) -> float:
    """F1 of two lists of words."""
    shared = (Counter(one) & Counter(other)).total()
    return 2 * shared / max(1, len(one) + len(other))


def shown(draft: FactDraft) -> str:
    dates = [f"{name} {value:%Y-%m-%d}" for name, value in (("since", draft.since), ("until", draft.until)) if value]
    parts = [draft.category, draft.key or "*", draft.value, *(["(not so)"] if not draft.holds else []), *dates]
    return " / ".join([*parts, *([f"because {draft.reason}"] if draft.reason else [])])


def _gold(gold: dict[str, Any]) -> str:
    return f"{gold['category']} / {gold.get('key') or '*'} / {gold['value']}" + (
        "" if gold.get("holds", True) else " / (not so)"
    )


def report(result: Score) -> None:
    print(f"{'':14}{'precision':>10}{'recall':>9}{'right':>7}{'wrong':>7}{'missed':>8}")
    names = sorted(result.right.keys() | result.wrong.keys() | result.missed.keys())
    for name in [*names, None]:
        counts = [_count(part, name) for part in (result.right, result.wrong, result.missed)]
        print(
            f"{name or 'all':14}{result.precision(name):>10.3f}{result.recall(name):>9.3f}"
            f"{counts[0]:>7}{counts[1]:>7}{counts[2]:>8}"
        )


def locomo(sample: int, path: Path) -> None:
    """Facts in LoCoMo: how many, how fast, and some of them to read."""
    messages = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for turn in json.loads(line)["turns"]:
                said = datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
                messages.append(message(turn["text"], said))
    facts_in(messages[0])
    began = time.process_time()
    found = [(one, draft) for one in messages for draft in facts_in(one)]
    spent = time.process_time() - began
    counts = Counter(draft.category for _, draft in found)
    print(f"{len(found)} facts in {len(messages)} turns: {dict(counts)}")
    print(f"{len(messages) / spent:,.0f} turns a second of processor time")
    for _, draft in random.Random(7).sample(found, min(sample, len(found))):
        print(f"- {shown(draft)}\n      {draft.quote}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", help="score the messages in a language, such as de, instead of the English ones")
    parser.add_argument("--unseen", action="store_true", help="score the file that nobody reads")
    parser.add_argument("--misses", action="store_true", help="print what was wrong or missed; not with --unseen")
    parser.add_argument("--locomo", type=int, metavar="N", help="print N random facts of LoCoMo")
    parser.add_argument("--path", type=Path, default=LOCOMO, help="where LoCoMo is")
    asked = parser.parse_args()
    if asked.unseen and asked.misses:
        print("unseen messages are only run, never read: --misses works without --unseen", file=sys.stderr)
        return 2
    if asked.locomo is not None:
        locomo(asked.locomo, asked.path)
        return 0
    path = labelled(asked.language, unseen=asked.unseen)
    if not path.exists():
        print(f"no labelled messages in {asked.language!r}: {path} does not exist", file=sys.stderr)
        return 2
    result = score(path)
    report(result)
    if asked.misses:
        print("\n".join(result.mistakes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
