"""Train the statement reader: `python -m scripts.train_statements [--check]`.

It learns from labelled user messages: the places in `benchmarks/labels/notes.jsonl`, whose words are in the development
sets, our own talks in `benchmarks/labels/talks`, single messages in `benchmarks/labels/lines.jsonl`, and what has no
key in `tests/data/facts`. Conversations marked as unseen are left out. `--check` only says how well it does on
conversations that it was not trained on (five folds). The result is the same on every run.
"""

import argparse
import hashlib
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.notes import DATA, Labelled, Note, labelled, of_facts, of_lines
from lamina.models.embeddings.static_vectors import vectors
from lamina.models.offline.statement_extraction import model
from lamina.models.offline.statement_extraction.clauses import Clause, clauses_of

Floats = NDArray[np.float32]
FOLDS = 5
MIN_TIMES = 4  # a feature that is rarer is not learnt
VECTOR = 3.0  # how much the vector of a clause counts beside single features
RIDGE = {"words": 6.0, "cues": 3.0}  # how much large weights cost
UNSURE = 0.5  # how much a note counts that not every reader would make
TOUCHED = 0.2  # how much a clause counts as none that a note only touches
UNLABELLED = 0.3  # how much a clause counts as none in a message of which only facts are labelled
HALF = 0.5
_MIN_STEP = 1e-6
_MIN_CURVE = 1e-10
_STEPS = 127  # a weight is kept as one of so many steps up or down


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Clauses with what the model sees of them, and what they are."""

    clauses: list[Clause]
    texts: list[str]
    types: NDArray[np.int64]
    counts: Floats
    folds: NDArray[np.int64]


def examples(messages: Sequence[Labelled]) -> Examples:
    found, texts, types, counts, folds = [], [], [], [], []
    for message in messages:
        fold = zlib.crc32(message.talk.encode()) % FOLDS
        for clause in clauses_of(message.text, asked=message.asked):
            kind, count = _type_of(clause, message.notes)
            if any(min(end, clause.end) > max(start, clause.start) for start, end in message.left_out):
                continue
            found.append(clause)
            texts.append(message.text[clause.start : clause.end])
            types.append(model.TYPES.index(kind))
            counts.append(
                count * UNLABELLED if kind == "none" and message.partly and not clause.segment.asks else count
            )
            folds.append(fold)
    return Examples(
        clauses=found,
        texts=texts,
        types=np.array(types),
        counts=np.array(counts, np.float32),
        folds=np.array(folds),
    )


def _type_of(clause: Clause, notes: Sequence[Note]) -> tuple[str, float]:
    """The type of a clause, and how much it counts: that of the note it has most of."""
    length = clause.end - clause.start
    shared = [(min(note.end, clause.end) - max(note.start, clause.start), note) for note in notes]
    inside = [(size, note) for size, note in shared if size >= HALF * min(length, note.end - note.start) and size > 0]
    if inside:
        _, best = max(inside, key=lambda one: one[0])
        return best.type, 1.0 if best.sure else UNSURE
    return "none", TOUCHED if any(size > 0 for size, _ in shared) else 1.0


def features(clause: Clause, name: str) -> list[str]:
    return clause.features + clause.word_features if name == "words" else clause.features


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Which clause has which feature, in the order of clauses and in that of features; and the vectors of clauses."""

    names: list[str]
    columns: NDArray[np.int64]  # features of the first clause, of the second, ...
    row_starts: NDArray[np.int64]
    rows: NDArray[np.int64]  # clauses that have the first feature, the second, ...
    column_starts: NDArray[np.int64]
    vectors: Floats

    @property
    def width(self) -> int:
        """Numbers of weights for a type: of features, vectors and one that is always there."""
        return len(self.names) + int(self.vectors.shape[1]) + 1

    def times(self, weights: Floats) -> Floats:
        """What the weights say for each clause."""
        known = len(self.names)
        sums: Floats = np.add.reduceat(weights[self.columns], self.row_starts)
        sums += self.vectors @ weights[known:-1] + weights[-1]
        return sums

    def back(self, sums: Floats) -> Floats:
        """What each weight has to do with what is said for the clauses."""
        own = np.add.reduceat(sums[self.rows], self.column_starts)
        slope: Floats = np.vstack([own, self.vectors.T @ sums, sums.sum(axis=0)])
        return slope


def matrix(some: Examples, name: str) -> Matrix:
    """The features that are learnt."""
    times = Counter(feature for clause in some.clauses for feature in set(features(clause, name)))
    names = sorted(feature for feature, number in times.items() if number >= MIN_TIMES)
    places = {feature: column for column, feature in enumerate(names)}
    listed = [sorted({places[one] for one in features(clause, name) if one in places}) for clause in some.clauses]
    sizes = np.array([len(one) for one in listed])
    columns, rows = np.concatenate([np.array(one) for one in listed]), np.repeat(np.arange(len(listed)), sizes)
    order = np.argsort(columns, kind="stable")
    return Matrix(
        names=names,
        columns=columns,
        row_starts=np.cumsum(sizes) - sizes,
        rows=rows[order],
        column_starts=np.searchsorted(columns[order], np.arange(len(names))),
        vectors=vectors(some.texts) * np.float32(VECTOR) if name == "words" else np.zeros((len(listed), 0), np.float32),
    )


def fit(has: Matrix, types: NDArray[np.int64], counts: Floats, ridge: float) -> Floats:
    """Softmax regression by L-BFGS; a clause that counts nothing is not learnt from."""
    clauses = np.arange(len(types))
    wanted = np.eye(len(model.TYPES), dtype=np.float32)[types] * counts[:, None]

    def loss(weights: Floats) -> tuple[float, Floats]:
        shares = softmax(has.times(weights))
        missed = -(np.log(shares[clauses, types] + 1e-9) * counts).sum()
        slope = has.back(shares * counts[:, None] - wanted) + ridge * weights
        return float(missed + ridge * np.square(weights).sum() / 2), slope

    return _descend(loss, np.zeros((has.width, len(model.TYPES)), np.float32))


def softmax(sums: Floats) -> Floats:
    shares: Floats = np.exp(sums - sums.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _descend(loss: Any, at: Floats, rounds: int = 150, memory: int = 8) -> Floats:
    value, slope = loss(at)
    steps: list[tuple[NDArray[np.float64], NDArray[np.float64], float]] = []
    for _ in range(rounds):
        way = _direction(slope.ravel().astype(np.float64), steps).reshape(at.shape)
        size, down = 1.0, float((slope * way).sum())
        while True:
            there = at + (size * way).astype(np.float32)
            next_value, next_slope = loss(there)
            if next_value <= value + 1e-4 * size * down or size < _MIN_STEP:
                break
            size /= 2
        moved = (there - at).ravel().astype(np.float64)
        turned = (next_slope - slope).ravel().astype(np.float64)
        if (product := float(moved @ turned)) > _MIN_CURVE:
            steps = [*steps[1 - memory :], (moved, turned, product)]
        is_done = abs(value - next_value) < 1e-4 * max(1.0, abs(value))
        at, value, slope = there, next_value, next_slope
        if is_done:
            break
    return at


def _direction(slope: NDArray[np.float64], steps: Sequence[tuple[Any, Any, float]]) -> NDArray[np.float64]:
    """The two loops of L-BFGS."""
    way, shares = slope.copy(), []
    for moved, turned, product in reversed(steps):
        share = moved @ way / product
        shares.append(share)
        way -= share * turned
    way *= steps[-1][2] / (steps[-1][1] @ steps[-1][1]) if steps else 1e-3
    for (moved, turned, product), share in zip(steps, reversed(shares), strict=True):
        way += moved * (share - turned @ way / product)
    return -way


def calibrate(odds: NDArray[np.float64], right: NDArray[np.bool_], counts: Floats) -> tuple[float, float]:
    """Scale and shift of the odds that make them probabilities, on clauses that were not trained on."""
    scale, shift = 1.0, 0.0
    for _ in range(50):  # Newton
        sure = 1 / (1 + np.exp(-(scale * odds + shift)))
        missed, bend = (sure - right) * counts, sure * (1 - sure) * counts
        slope = np.array([(missed * odds).sum(), missed.sum()])
        curve = np.array([[(bend * odds * odds).sum(), (bend * odds).sum()], [(bend * odds).sum(), bend.sum()]])
        scale, shift = np.array([scale, shift]) - np.linalg.solve(curve, slope)
    return float(scale), float(shift)


def held_out(some: Examples, has: Matrix, ridge: float) -> Floats:
    """What is said of each clause by a model that has not seen its conversation."""
    sums = np.zeros((len(some.clauses), len(model.TYPES)), np.float32)
    for fold in range(FOLDS):
        own = some.folds == fold
        sums[own] = has.times(fit(has, some.types, np.where(own, np.float32(0), some.counts), ridge))[own]
    return sums


def odds_of(sums: Floats) -> NDArray[np.float64]:
    """Of being a statement of any type."""
    shares = np.log(softmax(sums).astype(np.float64) + 1e-12)
    odds: NDArray[np.float64] = np.logaddexp.reduce(shares[:, 1:], axis=1) - shares[:, 0]
    return odds


def report(some: Examples, sums: Floats, scale: float, shift: float) -> None:
    sure = 1 / (1 + np.exp(-(scale * odds_of(sums) + shift)))
    is_note, whole = some.types > 0, some.counts >= UNSURE
    kinds = 1 + sums[:, 1:].argmax(axis=1)
    for least in (0.4, 0.5, 0.6, 0.7, 0.8):
        taken = (sure >= least) & whole
        right = (taken & is_note).sum()
        precision, recall = right / max(1, taken.sum()), right / max(1, (is_note & whole).sum())
        typed = (kinds == some.types)[taken & is_note].mean()
        print(
            f"  from {least:.1f}: {taken.sum():>5} clauses, precision {precision:.3f}, recall {recall:.3f}, "
            f"type right {typed:.3f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--data", type=Path, default=DATA, help="where the development sets are")
    asked = parser.parse_args()
    known = [*labelled(asked.data), *of_lines(), *of_facts()]
    some = examples([one for one in known if not one.unseen])
    print(f"{len(some.clauses)} clauses, {(some.types > 0).sum()} of them notes")
    stored: dict[str, Any] = {}
    for name, ridge in RIDGE.items():
        has = matrix(some, name)
        sums = held_out(some, has, ridge)
        scale, shift = calibrate(odds_of(sums), some.types > 0, some.counts)
        print(f"{name}: {len(has.names)} features; held out by conversation:")
        report(some, sums, scale, shift)
        if not asked.check:
            stored |= _stored(name, has.names, fit(has, some.types, some.counts, ridge), scale, shift)
    if not asked.check:
        _write(stored)
    return 0


def _stored(name: str, names: Sequence[str], learnt: Floats, scale: float, shift: float) -> dict[str, Any]:
    weights = learnt[: len(names)]
    sizes = np.abs(weights).max(axis=1) / _STEPS
    steps = np.round(weights / np.where(sizes, sizes, 1)[:, None]).astype(np.int8)
    stored = {
        f"{name}_names": np.frombuffer("\n".join(names).encode(), np.uint8),
        f"{name}_steps": steps,
        f"{name}_sizes": sizes.astype(np.float32),
        f"{name}_bias": learnt[-1],
        f"{name}_scale": np.array([scale, shift]),
    }
    return stored | {"vector": learnt[len(names) : -1] * VECTOR} if name == "words" else stored


def _write(stored: dict[str, Any]) -> None:
    folder = Path(model.__file__).parent
    np.savez_compressed(folder / model.FILE, **stored)
    content = (folder / model.FILE).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    source = Path(model.__file__).read_text("utf-8")
    Path(model.__file__).write_text(source.replace(f'SHA256 = "{model.SHA256}"', f'SHA256 = "{digest}"'), "utf-8")
    print(f"{model.FILE}: {len(content):,} bytes, sha256 {digest}")


if __name__ == "__main__":
    sys.exit(main())
