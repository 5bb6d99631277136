"""How much of what a person would note is found: `python -m benchmarks.notes [--unseen] [--misses] [--wrong]`.

Labelled, before any output was seen: 2,200 messages of the development sets (`labels/notes.jsonl` has places and types,
the words are in the data sets) and our own talks (`labels/talks`). A third of the conversations and the talks named
`unseen-*` are unseen: they are only counted, never read (the talks were, once, for `results/knowledge.md`). A memory is
right if it has a good part of a note of its message; a note is found if a memory has a good part of it. Notes that not
every careful reader would make count as right, but not as missed. Intervals are Wilson's, for 95 %. `--language de`
takes the labelled messages in that language (`tests/data/facts/de.jsonl`) instead.
"""

import argparse
import gzip
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import facts
from benchmarks.facts import message
from lamina.language.words import terms
from lamina.models.offline.offline_extractor import drafts_in, last_question
from lamina.profiles import DEFAULT
from lamina.protocols.models import FactDraft
from lamina.values.fact import Fact

LABELS = Path(__file__).parent / "labels"
DATA = Path(__file__).parents[2] / "shared" / "data"
ACTIVE = DEFAULT.promote_confidence  # from which a memory is active, not a candidate
Kept = dict[str, list[FactDraft]]  # memories by message
_MANY = 2
_SHARED = 0.3  # of the shorter of a note and a memory
_SAYING = frozenset(("statement", "several", "correction", "negation", "dated", "script"))
_TYPES = {"project": "entity"}  # what labels call otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A place of a message that is worth noting."""

    start: int
    end: int
    type: str
    sure: bool  # nearly every careful reader would note it


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A message with its notes."""

    id: str
    talk: str  # the conversation it is from
    source: str  # the data set, or "talks"
    unseen: bool
    text: str
    notes: tuple[Note, ...]
    before: str = ""  # the assistant's message just before it
    partly: bool = False  # other notes may be in it that are not labelled
    left_out: tuple[tuple[int, int], ...] = ()  # places that say nothing of the labels

    @property
    def asked(self) -> bool:
        """Whether it answers a question."""
        return last_question(self.before) is not None


def rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(data: Path) -> dict[str, str]:
    """The messages of the development sets by id."""
    found = {
        f"{source}/{row['conv_id']}/{turn['id']}": turn["text"]
        for source, name in (("locomo", "locomo_dev"), ("beam", "beam_100k_dev"), ("realmem", "realmem_dev"))
        for row in rows(data, name)
        for turn in row["turns"]
    }
    for row in rows(data, "longmemeval_dev_sessions"):
        found |= {f"longmemeval/{row['id']}#{number}": turn["text"] for number, turn in enumerate(row["turns"])}
    for row in rows(data, "chats_oasst"):
        found |= {f"oasst/{row['id']}/{number}": turn["text"] for number, turn in enumerate(row["messages"])}
    return found


def labelled(data: Path | None) -> list[Labelled]:
    """Every message that was labelled; without the development sets, those of our own talks."""
    return [*(_of_data_sets(data) if data is not None else ()), *of_talks()]


def _of_data_sets(data: Path) -> Iterator[Labelled]:
    known = texts(data)
    for row in map(json.loads, (LABELS / "notes.jsonl").read_text("utf-8").splitlines()):
        yield Labelled(
            id=row["id"],
            talk=row["id"].rpartition("#")[0] or row["id"].rpartition("/")[0],
            source=row["id"].partition("/")[0],
            unseen=row["unseen"],
            text=known[row["id"]],
            notes=tuple(
                Note(start=one["start"], end=one["end"], type=_TYPES.get(one["type"], one["type"]), sure=one["sure"])
                for one in row["notes"]
            ),
        )


def of_language(language: str) -> list[Labelled]:
    """The labelled messages in another language than English."""
    halves = [(unseen, facts.labelled(language, unseen=unseen)) for unseen in (False, True)]
    return [
        Labelled(
            id=row["id"],
            talk=row["id"],
            source=language,
            unseen=unseen,
            text=row["text"],
            notes=_places(row),
        )
        for unseen, path in halves
        for row in map(json.loads, path.read_text("utf-8").splitlines())
    ]


def _places(row: Mapping[str, Any]) -> tuple[Note, ...]:
    """The notes of a message that are written as quotes."""
    return tuple(
        Note(
            start=row["text"].index(one["quote"]),
            end=row["text"].index(one["quote"]) + len(one["quote"]),
            type=_TYPES.get(one["type"], one["type"]),
            sure=one["sure"],
        )
        for one in row.get("notes", ())
    )


def of_talks() -> Iterator[Labelled]:
    """The users' messages of our own talks."""
    for path in sorted((LABELS / "talks").glob("*.jsonl")):
        before = ""
        for number, row in enumerate(map(json.loads, path.read_text("utf-8").splitlines())):
            if row["role"] == "user":
                yield Labelled(
                    id=f"{path.stem}/{number}",
                    talk=path.stem,
                    source="talks",
                    unseen=path.stem.startswith("unseen-"),
                    text=row["text"],
                    notes=_places(row),
                    before=before,
                )
            before = row["text"] if row["role"] == "assistant" else ""


def of_lines() -> Iterator[Labelled]:
    """Single messages that the statement reader is trained with."""
    for number, row in enumerate(map(json.loads, (LABELS / "lines.jsonl").read_text("utf-8").splitlines())):
        name = f"lines/{number}"
        yield Labelled(id=name, talk=name, source="lines", unseen=False, text=row["text"], notes=_places(row))


def of_facts() -> Iterator[Labelled]:
    """The messages of which only facts are labelled; what has a key is left out."""
    for row in [json.loads(line) for name in ("seen", "chat") for line in (facts.FACTS / f"{name}.jsonl").open()]:
        if row.get("role", "user") == "user":
            found = [(row["text"].find(one["quote"]), one) for one in row["facts"]]
            placed = [(start, start + len(one["quote"]), one) for start, one in found if start >= 0]
            yield Labelled(
                id=f"facts/{row['id']}",
                talk=f"facts/{row['id']}",
                source="facts",
                unseen=False,
                text=row["text"],
                notes=tuple(
                    Note(start=start, end=end, type=one["category"], sure=True)
                    for start, end, one in placed
                    if one.get("key") is None
                ),
                partly=row["kind"] in _SAYING,
                left_out=tuple((start, end) for start, end, one in placed if one.get("key") is not None),
            )


@dataclass(slots=True)
class Count:
    """How many of how many."""

    hits: int = 0
    all: int = 0

    def add(self, *, hit: bool) -> None:
        self.hits += hit
        self.all += 1

    def __str__(self) -> str:
        low, high = wilson(self.hits, self.all)
        return f"{self.hits:>4} of {self.all:>4}  {self.hits / max(1, self.all):.3f} ({low:.2f}-{high:.2f})"


def wilson(hits: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """The interval of a share."""
    if not number:
        return 0.0, 1.0
    share, room = hits / number, z * z / number
    middle = (share + room / 2) / (1 + room)
    half = z * math.sqrt(share * (1 - share) / number + room / (4 * number)) / (1 + room)
    return middle - half, middle + half


def meets(note: Note, draft: FactDraft | Fact) -> bool:
    """Whether a memory and a note are of the same words."""
    shared = min(note.end, draft.end) - max(note.start, draft.start)
    return shared > 0 and shared >= _SHARED * min(note.end - note.start, draft.end - draft.start)


def memories(one: Labelled) -> list[FactDraft]:
    """What is found in a message."""
    before = message(one.before, role="assistant", name="before") if one.before else None
    return drafts_in(message(one.text), before)


def count_points(data: Path) -> None:
    """Print how many of RealMem's memory points that users said are found, by person.

    A point is in its annotator's words: it is found if a memory of the message that it is from has a good part of its
    words, and heard if there is any memory of that message.
    """
    for path in sorted(data.glob("realmem_dev_memories_*.jsonl.gz")):
        found, heard = Count(), Count()
        for row in rows(data, path.name.removesuffix(".jsonl.gz")):
            for point in row["extracted_memory"]:
                if point["source_role_snapshot"] != "User":
                    continue
                drafts = drafts_in(message(point["source_content_snapshot"]))
                kept = [set(terms(draft.value)) for draft in drafts if draft.confidence >= ACTIVE]
                wanted = set(terms(point["content"].rpartition("\u3011")[2])) - {"user"}
                found.add(hit=any(len(own & wanted) >= _SHARED * len(wanted) for own in kept))
                heard.add(hit=bool(kept))
        print(f"{path.name.split('_', 3)[3].partition('.')[0]:14} found {found}   heard {heard}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true", help="the conversations that nobody reads")
    parser.add_argument("--misses", action="store_true", help="print the notes that were not found")
    parser.add_argument("--wrong", action="store_true", help="print the memories that are on no note")
    parser.add_argument("--source", help="only messages of this data set, or of our `talks`")
    parser.add_argument("--language", help="the messages in a language, such as de, instead of the English ones")
    parser.add_argument("--data", type=Path, default=DATA, help="where the development sets are")
    parser.add_argument("--points", action="store_true", help="RealMem's memory points, by person")
    asked = parser.parse_args()
    if asked.points:
        count_points(asked.data)
        return 0
    if asked.unseen and (asked.misses or asked.wrong):
        print("unseen messages are only counted, never read: leave out --misses and --wrong", file=sys.stderr)
        return 2
    known = of_language(asked.language) if asked.language else labelled(asked.data)
    chosen = [one for one in known if one.unseen == asked.unseen]
    for source in sorted({one.source for one in chosen}) if asked.source is None else [asked.source]:
        count([one for one in chosen if one.source == source], source, misses=asked.misses, wrong=asked.wrong)
    if asked.source is None:
        count(chosen, "all")
    return 0


def count(some: Sequence[Labelled], name: str, *, misses: bool = False, wrong: bool = False) -> None:
    """Print what of the notes is found, and what of the found is noted."""
    drafts = {one.id: memories(one) for one in some}
    notes = sum(note.sure for one in some for note in one.notes)
    print(f"\n{name}: {len(some)} messages, {notes} sure notes, {sum(map(len, drafts.values()))} memories")
    for label, least in (("active", ACTIVE), ("with candidates", 0.0)):
        print(label)
        kept = {key: [draft for draft in found if draft.confidence >= least] for key, found in drafts.items()}
        _count(some, kept, misses=misses and not least, wrong=wrong and bool(least))


def _count(some: Sequence[Labelled], kept: Kept, *, misses: bool, wrong: bool) -> None:
    precision, typed = _precision(some, kept, wrong=wrong)
    recall, many = _recall(some, kept, misses=misses)
    for group in sorted(precision.keys() | recall.keys(), key=lambda group: (group != "all", group)):
        print(f"  {group:12} precision {precision.get(group, Count())}   recall {recall.get(group, Count())}")
    print(f"  type right {typed}; sure notes with more than {_MANY} memories: {many}")


def _precision(some: Sequence[Labelled], kept: Kept, *, wrong: bool) -> tuple[dict[str, Count], Count]:
    """By tier and category, how many memories are on a note; and of these, how many have its type."""
    precision, typed = {"all": Count()}, Count()
    for one, draft in [(each, draft) for each in some for draft in kept[each.id]]:
        met = [note for note in one.notes if meets(note, draft)]
        for group in ("all", "statements" if draft.key is None else "keyed facts", draft.category):
            precision.setdefault(group, Count()).add(hit=bool(met))
        if met:
            typed.add(hit=any(note.type == draft.category for note in met))
        elif wrong:
            print(f"  wrong  {draft.confidence:.2f} {draft.category:12} {draft.quote}")
    return precision, typed


def _recall(some: Sequence[Labelled], kept: Kept, *, misses: bool) -> tuple[dict[str, Count], int]:
    """By type, how many sure notes are found; and how many of them have too many memories."""
    recall, many = {"all": Count()}, 0
    for one, note in [(each, note) for each in some for note in each.notes if note.sure]:
        number = sum(meets(note, draft) for draft in kept[one.id])
        many += number > _MANY
        for group in ("all", note.type):
            recall.setdefault(group, Count()).add(hit=number > 0)
        if misses and not number:
            print(f"  missed {note.type:12} {one.text[note.start : note.end]}")
    return recall, many


if __name__ == "__main__":
    sys.exit(main())
