"""Fit the weights of recall on conversations with questions, and show what each part gains.

    python scripts/fit_recall.py FILE... [--embedder minilm] [--folds 5] [--ablate] [--write]

FILE as for `lamina bench recall`. For each question every message of the conversation is an alternative; the weights
maximise the likelihood of the messages that answer it, with a small price on large weights. Each set counts the same.
Tables are of messages in conversations that were left out of the fit, whole conversations at a time, so they show what
to expect of others; `--write` then fits on all and writes src/lamina/search/weights_static.json, or with
`--embedder minilm` weights_minilm.json, which serve all vectors of whole texts.
"""

import argparse
import asyncio
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from lamina.bench.readers import Conversation, Question, read
from lamina.models.embeddings.minilm import MiniLmEmbedder
from lamina.models.embeddings.static import StaticEmbedder
from lamina.models.offline.offline_extractor import OfflineExtractor
from lamina.search.bm25 import comparable
from lamina.search.explain import PARTS
from lamina.search.index import LIKING, MARKS, STANDING, Entry, Index
from lamina.search.question import nameless, understand
from lamina.search.signals import NAMES, Query, gather
from lamina.search.vectors import pack
from lamina.values.message import Message

WEIGHTS = Path(__file__).parent.parent / "src/lamina/search"
EMBEDDERS: dict[str, Callable[[], StaticEmbedder | MiniLmEmbedder]] = {
    "static": StaticEmbedder,
    "minilm": MiniLmEmbedder,
}
PRICE = 5e-4  # of the square of a weight
ROUNDS = 30  # of Newton's method at the most
SETTLED = 1e-2  # a step smaller than this is the last
BUDGETS = (1000, 2000, 4000)
# Parts stand in for each other: without the words of a message itself, those around it still count. These cut across.
ACROSS = {
    "all by meaning": tuple(name for name in NAMES if "meant" in name),
    "all by words": tuple(name for name in NAMES if name.startswith(("near", "words", "share"))),
    "all around": (*PARTS["neighbours"], *PARTS["session"]),
}
# More of these must never count against a message, whatever their overlap with each other would allow.
NEVER_AGAINST = frozenset(
    name
    for name in NAMES
    if name.startswith(("words_", "near", "meant", "share_", "session_", "speaker", "dated"))
    and not name.endswith(("_length", "_assistant", "_before", "_after", "_2"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question with what speaks for each message of its conversation."""

    set: str
    conversation: str
    table: Any  # messages x (signals of people, signals of an assistant's user)
    gold: Any
    sizes: Any  # characters


class Reader:
    """Turns conversations into examples, as the engine would see them."""

    def __init__(self, embedder: StaticEmbedder | MiniLmEmbedder) -> None:
        self._embedder, self._lexicon, self._extractor = embedder, StaticEmbedder(), OfflineExtractor()
        self._known: dict[str, tuple[Any, bool, bool]] = {}

    def examples(self, name: str, conversation: Conversation) -> Iterator[Example]:
        index, messages = self._index(conversation)
        last = max(message.said_at for message in messages)
        names = tuple(index.speakers)
        for question in conversation.questions:
            gold = np.array([message.id in question.gold for message in messages])
            if gold.any() and question.after is None:
                asked = self._asked(question, last, names)
                signals = gather(index, asked, np.ones(len(index), dtype=np.bool_))
                table = np.zeros((len(messages), 2 * len(NAMES)), dtype=np.float32)
                helped = np.float32(index.assisted)
                table[signals.rows, : len(NAMES)] = (1 - helped) * signals.table
                table[signals.rows, len(NAMES) :] = helped * signals.table
                sizes = np.array([len(message.text) for message in messages])
                yield Example(set=name, conversation=conversation.id, table=table, gold=gold, sizes=sizes)

    def _index(self, conversation: Conversation) -> tuple[Index, list[Any]]:
        index = Index(self._embedder.dimensions, self._lexicon.word_vectors)
        messages: list[Any] = []
        for session in conversation.sessions:
            messages += session.messages
            known = [self._of(message) for message in session.messages]
            index.add(
                Entry(
                    id=message.id,
                    kind="message",
                    text=message.text,
                    at=message.said_at,
                    session=session.id,
                    role=message.role,
                    speaker=message.name,
                    standing=standing,
                    liking=liking,
                )
                for message, (_, standing, liking) in zip(session.messages, known, strict=True)
            )
            made = pack([vector for vector, _, _ in known])
            index.set_vectors(dict(zip((message.id for message in session.messages), made, strict=True)))
        return index, messages

    def _of(self, message: Any) -> tuple[Any, bool, bool]:
        """A message's vector, and whether it holds wishes for all replies or for choices."""
        if message.id not in self._known:
            said = Message(
                id=message.id, session_id="", seq=1, turn=1, role="user", body={}, created_at=message.said_at,
                metadata={}, model=None, tokens=0, text=message.text, digest="",
            )  # fmt: skip
            found = asyncio.run(self._extractor.extract([said])) if message.role == "user" else ()
            marks = {MARKS.get(draft.category) for draft in found}
            vector = self._embedder.vectors([message.text])[0]
            self._known[message.id] = (vector, STANDING in marks, LIKING in marks)
        return self._known[message.id]

    def _asked(self, question: Question, last: datetime, names: Sequence[str]) -> Query:
        read_ = understand(question.text, at=question.asked_at or last, names=names)
        words = comparable(read_.words, self._lexicon.word_vectors)
        vector = self._embedder.vectors([nameless(read_.subject, read_.names)])[0]
        one_space = self._embedder.name == self._lexicon.name
        return Query(question=read_, vector=vector, words=words, one_space=one_space)


def fit(examples: Sequence[Example], columns: Sequence[int]) -> Any:
    """The weights of some columns; those that would count against a message, and must not, count nothing."""
    kept = list(range(len(columns)))
    while True:
        found = _free(examples, [columns[place] for place in kept])
        wrong = {
            place
            for place, weight in zip(kept, found, strict=True)
            if weight < 0 and NAMES[columns[place] % len(NAMES)] in NEVER_AGAINST
        }
        if not wrong:
            break
        kept = [place for place in kept if place not in wrong]
    weights = np.zeros(len(columns))
    weights[kept] = found
    return weights


def _free(examples: Sequence[Example], columns: Sequence[int]) -> Any:
    """The weights of some columns, by Newton's method."""
    table = np.concatenate([example.table[:, columns] for example in examples])
    sizes = np.array([len(example.gold) for example in examples])
    starts = np.cumsum(sizes) - sizes
    of_set = {name: sum(example.set == name for example in examples) for name in {one.set for one in examples}}
    counts = np.array([1 / of_set[example.set] for example in examples], dtype=np.float32)
    wanted = sum(
        count * example.table[example.gold][:, columns].mean(axis=0)
        for count, example in zip(counts, examples, strict=True)
    )

    def shares(given: Any) -> tuple[Any, float]:
        """How much of all is each alternative's, and how unlikely that makes what is wanted."""
        values = table @ given.astype(np.float32)
        tops = np.maximum.reduceat(values, starts)
        raised = np.exp(values - np.repeat(tops, sizes))
        totals = np.add.reduceat(raised, starts)
        loss = float(counts @ (tops + np.log(totals)) - wanted @ given + PRICE * given @ given)
        return raised / np.repeat(totals, sizes), loss

    weights = np.zeros(len(columns))
    share, loss = shares(weights)
    for _ in range(ROUNDS):
        weighted = table * share[:, None]
        means = np.add.reduceat(weighted, starts, axis=0)
        slope = 2 * PRICE * weights - (wanted - counts @ means)
        bend = table.T @ (weighted * np.repeat(counts, sizes)[:, None]) - (means * counts[:, None]).T @ means
        step = np.linalg.solve(bend.astype(np.float64) + 2 * PRICE * np.eye(len(columns)), slope)
        while True:  # a step too long is halved
            share, better = shares(weights - step)
            if better <= loss or np.abs(step).max() < SETTLED:
                break
            step /= 2
        weights, loss = weights - step, better
        if np.abs(step).max() < SETTLED:
            break
    return weights


def measures(example: Example, values: Any) -> dict[str, float]:
    """Recall at 10, and whether all that is wanted is packed into a budget, counted roughly in characters."""
    order = np.argsort(-values, kind="stable")
    found = {"R@10": example.gold[order[:10]].sum() / example.gold.sum()}
    tokens = example.sizes / 4.6 + 6
    packing = np.argsort(np.log(tokens) - values, kind="stable")
    for budget in BUDGETS:
        left, taken = budget * 0.93 - 25, np.zeros(len(values), dtype=np.bool_)
        for place in packing:
            if tokens[place] <= left:
                left -= tokens[place]
                taken[place] = True
        found[f"C{budget}"] = float(taken[example.gold].all())
    return found


def cross_validate(examples: Sequence[Example], columns: Sequence[int], folds: int) -> dict[str, dict[str, float]]:
    """Measures by set, each conversation judged by weights fitted without it."""
    totals: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = sorted({example.conversation for example in examples}, key=lambda name: zlib.crc32(name.encode()))
    fold_of = {name: place % folds for place, name in enumerate(names)}
    for fold in range(folds):
        weights = fit([one for one in examples if fold_of[one.conversation] != fold], columns)
        for example in examples:
            if fold_of[example.conversation] == fold:
                for measure, value in measures(example, example.table[:, columns] @ weights).items():
                    totals[example.set][measure].append(value)
    return {name: {key: 100 * float(np.mean(values)) for key, values in of.items()} for name, of in totals.items()}


def ablate(examples: Sequence[Example], folds: int) -> None:
    """What is lost without each part."""
    whole = cross_validate(examples, range(2 * len(NAMES)), folds)
    print_table("all", whole)
    for part, names in {**PARTS, **ACROSS}.items():
        gone = {NAMES.index(name) for name in names}
        columns = [column for column in range(2 * len(NAMES)) if column % len(NAMES) not in gone]
        without = cross_validate(examples, columns, folds)
        lost = {name: {key: whole[name][key] - value for key, value in of.items()} for name, of in without.items()}
        print_table(f"gain of {part}", lost)


def print_table(title: str, measures: dict[str, dict[str, float]]) -> None:
    for name, of in measures.items():
        print(f"{title:22s} {name:24s}", " ".join(f"{key}={value:5.1f}" for key, value in of.items()), flush=True)


def calibrate(examples: Sequence[Example], weights: Any) -> tuple[float, float]:
    """Slope and offset of how likely a message of some value answers: logistic regression, by Newton's method."""
    values = np.concatenate([example.table @ weights for example in examples])
    gold = np.concatenate([example.gold for example in examples]).astype(float)
    heavy = np.concatenate([np.full(len(example.gold), 1 / len(example.gold)) for example in examples])
    table, found = np.stack([values, np.ones_like(values)], axis=1), np.array([0.5, -8.0])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(table @ found, -30, 30)))
        slope = table.T @ (heavy * (chance - gold))
        bend = (table * (heavy * chance * (1 - chance))[:, None]).T @ table + 1e-6 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        found -= np.clip(step, -1, 1)
    return float(found[0]), float(found[1])


def write_rows(path: Path, rows: dict[str, Any]) -> None:
    """Numbers as JSON, one line for each name."""
    lines = (f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in rows.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def write(examples: Sequence[Example], path: Path) -> None:
    weights = fit(examples, range(2 * len(NAMES)))
    slope, offset = calibrate(examples, weights)
    rows: dict[str, Any] = {"slope": round(slope, 5), "offset": round(offset, 5)}
    for place, name in enumerate(NAMES):  # for people who talk with each other, and for a user with an assistant
        rows[name] = [round(float(weights[place + more]), 4) for more in (0, len(NAMES))]
    write_rows(path, rows)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="static")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    reader, examples = Reader(EMBEDDERS[given.embedder]()), list[Example]()
    for file in given.files:
        data = read(file)
        for place, conversation in enumerate(data.conversations, 1):
            examples += reader.examples(data.name, conversation)
            print(f"\r{data.name}: {place} of {len(data.conversations)} conversations", end="", flush=True)
        print()
    if given.ablate:
        ablate(examples, given.folds)
    elif not given.write:
        print_table("held out", cross_validate(examples, range(2 * len(NAMES)), given.folds))
    if given.write:
        write(examples, WEIGHTS / f"weights_{given.embedder}.json")


if __name__ == "__main__":
    main()
