"""Fit how likely a hit answers, on questions that a memory can and cannot answer, and show how well it holds.

    python -m scripts.fit_scores FILE... [--embedder minilm] [--most 60] [--messages 150] [--write]

FILE as for `lamina bench recall`. Texts: the messages that answer a question are right, all others are wrong, and so is
every message of another conversation that is asked the same question, with the names changed. Each question is asked
of the whole conversation, of a few of its sessions, and of a few messages. Tables are of conversations that were left
out of the fit. Facts: half of tests/data/facts/asked.jsonl, asked of people with one to forty facts, alone and beside
the messages of the demo, and of people who said them; the tables are of both halves, the fit is on the first. `--write`
then fits texts on all conversations, and writes src/lamina/search/calibration_static.json, and calibration_words.json
for words alone; with `--embedder minilm` calibration_minilm.json.
"""

import argparse
import itertools
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from lamina.bench.readers import Conversation, Question, read
from lamina.models.embeddings.minilm import MiniLmEmbedder
from lamina.models.embeddings.static import StaticEmbedder
from lamina.search.bm25 import comparable
from lamina.search.calibration import MEASURES, falling, measure
from lamina.search.index import KINDS, Entry, Index
from lamina.search.question import nameless, understand
from lamina.search.ranking import fit_for, score_by_fit
from lamina.search.signals import Query, gather, is_related
from lamina.search.vectors import pack
from scripts.fit_recall import Reader, write_rows

ROOT = Path(__file__).parent.parent
ASKED = ROOT / "tests/data/facts/asked.jsonl"
STORY = ROOT / "src/lamina/story/conversation.jsonl"
VECTORS = {"static": ("static", "none"), "minilm": ("minilm",)}
WRITTEN = {"static": "calibration_static.json", "none": "calibration_words.json", "minilm": "calibration_minilm.json"}
HITS = 10  # of each question
SETTLED = 1e-6  # a step smaller than this is the last
PRICE = 1e-4  # of the square of a weight
SENTENCES = 0.5  # of the facts with a quote are told as a sentence, without a key
SIZES = (1, 3, 12, 12, 40)  # of people's facts
FOLDS = 5
THRESHOLDS = (0.1, 0.3, 0.5)
EDGES = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
QUESTIONS = 400  # of a set
AT = datetime(2025, 5, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question with the measures of its hits, the best first."""

    vectors: str
    set: str
    conversation: str
    foreign: bool  # asked of a memory that cannot answer
    table: Any
    right: Any


class Asker:
    """Asks questions of an index as the engine would."""

    def __init__(self, embedder: str, minilm: str | None) -> None:
        self.lexicon = StaticEmbedder()
        self.made = MiniLmEmbedder(minilm) if embedder == "minilm" else self.lexicon
        self.reader = Reader(self.made)
        self._vectors = VECTORS[embedder]
        self._made: dict[str, Any] = {}

    def asked(self, text: str, at: datetime, names: Sequence[str] = ()) -> Iterator[tuple[str, Query]]:
        """The question, with each kind of vectors."""
        question = understand(text, at=at, names=names)
        words = comparable(question.words, self.lexicon.word_vectors)
        for vectors in self._vectors:
            vector = None if vectors == "none" else self.vector(nameless(question.subject, question.names))
            one_space = vectors == "static"
            yield vectors, Query(question=question, vector=vector, words=words, one_space=one_space)

    def vector(self, text: str) -> Any:
        if text not in self._made:
            self._made[text] = self.made.vectors([text])[0]
        return self._made[text]

    def index(self, entries: Sequence[Entry]) -> Index:
        index = Index(self.made.dimensions, self.lexicon.word_vectors, self.lexicon.dimensions)
        index.add(entries)
        index.set_vectors({entry.id: pack([self.vector(entry.text)])[0] for entry in entries})
        return index

    def hits(self, index: Index, asked: Query, allowed: Any) -> tuple[Any, Any]:
        """Rows of the best hits, and what was measured of them."""
        signals = gather(index, asked, allowed)
        sums = score_by_fit(signals, index.assisted, fit_for(asked)).values
        order = np.argsort(-sums, kind="stable").astype(np.int32)
        best = order[is_related(signals, signals.around)[order]]
        if not len(best):
            return best, np.zeros((0, len(MEASURES)))
        return signals.rows[best], measure(signals, sums, best, len(asked.question.terms))[best]


def texts(asker: Asker, files: Iterable[str], most: int, messages: int) -> Iterator[Example]:
    for file in files:
        data, chance = read(file), random.Random(1)
        conversations = list(data.conversations)
        chance.shuffle(conversations)
        every = [(one, question) for one in conversations for question in _answerable(one)]
        conversations = conversations[:most]
        each = -(-QUESTIONS // len(conversations))
        for place, one in enumerate(conversations, 1):
            own = _answerable(one)
            chance.shuffle(own)
            others = [pair for pair in every if pair[0].id != one.id]
            foreign = chance.sample(others, min(len(others), len(own[:each])))
            kept = shorten(one, own[:each], messages)
            own = [question for question in own[:each] if question.gold <= kept.session_of().keys()]
            yield from _texts(asker, data.name, kept, own, foreign[: len(own)], chance)
            print(f"\r{data.name}: {place} of {len(conversations)} conversations", end="", flush=True)
        print()


def shorten(one: Conversation, own: Sequence[Question], most: int) -> Conversation:
    """About so many messages of a conversation: the sessions that answer its questions first, then the others."""
    wanted = {key for question in own for key in question.gold}
    kept, size = set[str](), 0
    for session in sorted(one.sessions, key=lambda session: wanted.isdisjoint(m.id for m in session.messages)):
        if size + len(session.messages) <= most:
            kept.add(session.id)
            size += len(session.messages)
    return replace(one, sessions=tuple(session for session in one.sessions if session.id in kept))


def _answerable(one: Conversation) -> list[Question]:
    return [question for question in one.questions if question.gold and question.after is None]


def _texts(
    asker: Asker,
    name: str,
    one: Conversation,
    own: Sequence[Question],
    foreign: Sequence[tuple[Conversation, Question]],
    chance: random.Random,
) -> Iterator[Example]:
    index, messages = asker.reader._index(one)  # noqa: SLF001 - a script beside a script
    last, names = max(message.said_at for message in messages), tuple(index.speakers)
    session = index.session.all
    asked = [(question, False) for question in own]
    asked += [(replace(question, text=_rename(question.text, other, names)), True) for other, question in foreign]
    for question, strange in asked:
        right = np.array([not strange and key in question.gold for key in index.ids])
        some = [int(row) for row in chance.sample(range(len(right)), 3)]
        if not strange:
            some[0] = int(np.flatnonzero(right)[0])
        few = np.isin(session, session[some[: chance.randint(1, 3)]])
        near = np.abs(np.arange(len(right)) - some[0] + chance.randint(-1, 1)) <= chance.randint(1, 3)
        every = np.ones(len(index), dtype=np.bool_)
        for kind, allowed in (("", every), (", a few sessions", few), (", a few messages", near)):
            for vectors, asking in asker.asked(question.text, last, names):
                rows, table = asker.hits(index, asking, allowed)
                yield Example(
                    vectors=vectors,
                    set=name + kind,
                    conversation=one.id,
                    foreign=strange,
                    table=table[:HITS],
                    right=right[rows][:HITS],
                )


def _rename(text: str, other: Conversation, names: Sequence[str]) -> str:
    """A question about the people of one conversation, as if it were about those of another."""
    theirs = sorted({message.name for session in other.sessions for message in session.messages if message.name})
    for name, new in zip(theirs, names, strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", new, text)
    return text


def facts(asker: Asker) -> Iterator[Example]:
    known = [json.loads(line) for line in ASKED.read_text("utf-8").splitlines()]
    story = [json.loads(line) for line in STORY.read_text("utf-8").splitlines()]
    story = [one for one in story if isinstance(one.get("content"), str) and one["content"]][:120]
    for half in ("fit", "held"):
        mine = [one for one in known if one["half"] == half and "key" in one]
        strange = [
            question for one in known if one["half"] == half and "key" not in one for question in one["questions"]
        ]
        for seed in range(2):
            chance = random.Random(seed)
            for size in SIZES:
                for person in people(mine, size, chance):
                    asked = questions(person, mine, strange, chance)
                    for beside in ((), story):
                        yield from _facts(asker, half, person, asked, beside)
            for size in SIZES:
                for person in people([one for one in mine if "quote" in one], size, chance):
                    yield from _said(asker, half, person, questions(person, mine, strange, chance))


def people(mine: Sequence[Any], size: int, chance: random.Random) -> Iterator[list[Any]]:
    """Everybody's facts in groups; no two facts of a group could answer the same question."""
    groups: list[list[Any]] = []
    for one in chance.sample(mine, len(mine)):
        fact = {**one, "bare": "quote" in one and chance.random() < SENTENCES}
        for group in groups:
            if len(group) < size and all(other["family"] != fact["family"] for other in group):
                group.append(fact)
                break
        else:
            groups.append([fact])
    yield from (groups if size > 1 else groups[:12])


def questions(person: Sequence[Any], mine: Sequence[Any], strange: Sequence[str], chance: random.Random) -> Any:
    """What is asked of a person, each with the place of the fact that answers; None: there is none."""
    families = {fact["family"] for fact in person}
    own = [(question, place) for place, fact in enumerate(person) for question in fact["questions"]]
    others = [question for fact in mine if fact["family"] not in families for question in fact["questions"]]
    foreign = chance.sample(others, min(len(others), len(own))) + chance.sample(strange, min(len(strange), len(own)))
    return own + [(question, None) for question in foreign]


def _facts(asker: Asker, half: str, person: Sequence[Any], asked: Any, story: Sequence[Any]) -> Iterator[Example]:
    entries = [
        Entry(
            id=f"m{place}", kind="message", text=one["content"], at=AT - timedelta(days=30) + timedelta(minutes=place),
            session=f"session {one['session_id']}", seq=place, role=one["role"],
        )
        for place, one in enumerate(story)
    ]  # fmt: skip
    entries += [
        Entry(
            id=f"f{place}", kind="fact", text=_text(fact), at=AT - timedelta(days=9) + timedelta(minutes=place),
            session=f"alone f{place}", role="user", key=None if fact["bare"] else fact["key"],
        )
        for place, fact in enumerate(person)
    ]  # fmt: skip
    index = asker.index(entries)
    only = index.kind.all == KINDS.index("fact")
    for kind, allowed in (("facts", only), *((("facts among texts", only | True),) if story else ())):
        for question, place in asked:
            for vectors, asking in asker.asked(question, AT):
                rows, table = asker.hits(index, asking, allowed)
                kept = only[rows]
                right = np.array([index.ids[row] == f"f{place}" for row in rows], dtype=np.bool_)
                yield Example(
                    vectors=vectors,
                    set=kind,
                    conversation=half,
                    foreign=place is None,
                    table=table[kept][:HITS],
                    right=right[kept][:HITS],
                )


def _said(asker: Asker, half: str, person: Sequence[Any], asked: Any) -> Iterator[Example]:
    """The same as messages, one after the other."""
    index = asker.index(
        [
            Entry(
                id=f"m{place}", kind="message", text=f"{fact['quote']}.", at=AT - timedelta(days=9, minutes=-place),
                session="session one", seq=place, role="user",
            )
            for place, fact in enumerate(person)
        ]
    )  # fmt: skip
    for question, place in asked:
        for vectors, asking in asker.asked(question, AT):
            rows, table = asker.hits(index, asking, index.alive.all)
            right = np.array([index.ids[row] == f"m{place}" for row in rows], dtype=np.bool_)
            yield Example(
                vectors=vectors,
                set="said",
                conversation=half,
                foreign=place is None,
                table=table[:HITS],
                right=right[:HITS],
            )


def _text(fact: Any) -> str:
    """As recall has it: category, key and value, and the quote if it says more; or a sentence without a key."""
    key, value, quote = fact["key"], fact["value"], fact.get("quote", "")
    if fact["bare"]:
        return f"{fact['category']} {quote}"
    line = f"{key}: {value}" if key.lower() not in value.lower() else value
    more = quote if value not in quote or len(quote) > len(line) else ""
    return " ".join(filter(None, (fact["category"], line, more)))


def fit(examples: Sequence[Example]) -> Any:
    """Weights of the measures: logistic regression, by Newton's method; each set counts the same."""
    sizes = {name: sum(one.set == name for one in examples) for name in {one.set for one in examples}}
    table = np.concatenate([one.table for one in examples]).astype(np.float64)
    right = np.concatenate([one.right for one in examples]).astype(np.float64)
    heavy = np.concatenate([np.full(len(one.right), 1 / sizes[one.set]) for one in examples])
    heavy /= heavy.mean()
    found, price = np.zeros(len(MEASURES)), PRICE * heavy.sum()
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(table @ found, -30, 30)))
        slope = table.T @ (heavy * (chance - right)) + price * found
        bend = (table * (heavy * chance * (1 - chance))[:, None]).T @ table + price * np.eye(len(found))
        step = np.linalg.solve(bend, slope)
        found -= np.clip(step, -2, 2)
        if np.abs(step).max() < SETTLED:
            break
    return found


def predict(example: Example, weights: Any) -> Any:
    return falling(1 / (1 + np.exp(-np.clip(example.table @ weights, -9, 9))))


def cross_validate(examples: Sequence[Example]) -> list[tuple[Example, Any]]:
    """Each example with its scores by weights that were fitted without its conversation."""
    names = sorted({one.conversation for one in examples}, key=lambda name: zlib.crc32(name.encode()))
    fold_of = {name: place % FOLDS for place, name in enumerate(names)}
    found: list[tuple[Example, Any]] = []
    for fold in range(FOLDS):
        weights = fit([one for one in examples if fold_of[one.conversation] != fold])
        found += [(one, predict(one, weights)) for one in examples if fold_of[one.conversation] == fold]
    return found


def show(title: str, scored: Sequence[tuple[Example, Any]]) -> None:
    scores = np.concatenate([scores for _, scores in scored])
    right = np.concatenate([one.right for one, _ in scored])
    best = np.array([found[one.right].max() for one, found in scored if one.right.any()])
    strange = np.array([found.max(initial=0.0) for one, found in scored if one.foreign])
    print(f"\n{title}: {len(scored):,} questions, {len(strange):,} of them without an answer")
    print(f"  right answers: {_reaching(scores[right])}")
    print(f"  the best right answer of each question: {_reaching(best)}; median {np.median(best):.2f}")
    print(f"  noise: {_reaching(scores[~right])}")
    print(f"  the best hit of each question without an answer: {_reaching(strange)}")
    for low, high in itertools.pairwise(EDGES):
        among = (scores >= low) & (scores < high)
        if among.any():
            told = f"{np.mean(scores[among]):.3f} predicted, {np.mean(right[among]):.3f} right"
            print(f"  {low:.2f} to {min(high, 1):.2f}: {among.sum():6,} hits, {told}")


def _reaching(scores: Any) -> str:
    return ", ".join(f"{np.mean(scores >= least):.1%} at least {least}" for least in THRESHOLDS)


def tell(said: Sequence[Example], known: Sequence[Example]) -> tuple[Any, Any]:
    """Show how the scores hold, and give the weights for texts and for facts."""
    plain = [one for one in known if one.set == "said" and one.conversation == "fit"]
    held_out = [pair for pair in cross_validate([*said, *plain]) if pair[0].set != "said"]
    for name in dict.fromkeys(one.set for one in said):
        show(name, [pair for pair in held_out if pair[0].set == name])
    show("all texts", held_out)
    of_texts = fit([*said, *plain])
    of_facts = fit([one for one in known if one.conversation == "fit" and one.set != "said"])
    for half in ("fit", "held"):
        for name, weights in (("facts", of_facts), ("facts among texts", of_facts), ("said", of_texts)):
            of_half = [one for one in known if one.conversation == half and one.set == name]
            show(f"{name}, half {half}", [(one, predict(one, weights)) for one in of_half])
    return of_texts, of_facts


def write(path: Path, of_texts: Any, of_facts: Any) -> None:
    rows = zip(MEASURES, of_texts, of_facts, strict=True)
    write_rows(path, {name: [round(float(text), 4), round(float(fact), 4)] for name, text, fact in rows})
    print(f"\nwrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--embedder", choices=VECTORS, default="static")
    parser.add_argument("--most", type=int, default=60, help="conversations of a set")
    parser.add_argument("--messages", type=int, default=10_000, help="of a conversation, for embedders that are slow")
    parser.add_argument("--minilm", help="where MiniLM's weights are, if they are not installed")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    asker = Asker(given.embedder, given.minilm)
    said, known = list(texts(asker, given.files, given.most, given.messages)), list(facts(asker))
    for vectors in VECTORS[given.embedder]:
        print(f"\n# vectors: {vectors}")
        of_texts, of_facts = tell(
            [one for one in said if one.vectors == vectors], [one for one in known if one.vectors == vectors]
        )
        if given.write:
            write(ROOT / "src/lamina/search" / WRITTEN[vectors], of_texts, of_facts)


if __name__ == "__main__":
    main()
