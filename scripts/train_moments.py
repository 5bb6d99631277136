"""Train the model that finds moments, and show how well it does on talks that were left out.

    python -m scripts.train_moments [--data FOLDER] [--talks FOLDER] [--write]

Labels are of whole messages. Which sentence of a message is meant is learnt beside the weights: in each round, the one
that says most for the label. Messages of `labels/notes.jsonl` that nobody marked count as no moments, at half weight.
`--write` trains on everything and writes src/lamina/models/offline/episode_extraction/moment_model.json and its hash.
"""

import argparse
import hashlib
import json
import re
import sys
import zlib
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.moments import DATA, TALKS, Labelled, places, plain, talks, unmarked
from lamina.models.embeddings.static_vectors import vectors
from lamina.models.offline.episode_extraction import moment_model
from lamina.models.offline.episode_extraction.moment_features import observe
from lamina.models.offline.episode_extraction.moment_model import CLASSES, NONE, SCALE

MODEL = Path(moment_model.__file__).with_name(moment_model.FILE)
PRICE = 4.0  # of the square of a weight
VECTOR = 2.0  # how much the vector of a sentence counts beside single features
LEAST = 2  # sentences that must have a feature
ROUNDS = 3
FOLDS = 7
THRESHOLD = 0.43
UNMARKED = 0.5  # weight of a message that nobody marked
STEPS = 150
SETTLED = 1e-5
SMALLEST = 1e-6  # step
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of all messages: their features and vectors, whose they are, and the label of the message."""

    features: tuple[tuple[str, ...], ...]
    vectors: Matrix
    owners: NDArray[np.int64]
    labels: NDArray[np.int64]
    weights: Matrix

    def of(self, owners: set[int]) -> "Sentences":
        keep = [at for at, owner in enumerate(self.owners) if owner in owners]
        return Sentences(
            tuple(self.features[at] for at in keep),
            self.vectors[keep],
            self.owners[keep],
            self.labels[keep],
            self.weights[keep],
        )


def read(rows: Sequence[Labelled]) -> Sentences:
    features: list[tuple[str, ...]] = []
    texts: list[str] = []
    owners: list[int] = []
    labels: list[int] = []
    weights: list[float] = []
    for owner, row in enumerate(rows):
        seen = observe(row.message, row.before)
        for at, (statement, _) in enumerate(seen.sentences):
            if statement:
                features.append(tuple(seen.features(at)))
                texts.append(statement.words)
                owners.append(owner)
                labels.append(CLASSES.index(row.kind or NONE))
                weights.append(1.0 if row.marked else UNMARKED)
    seen_vectors = vectors(texts).astype(np.float64) * VECTOR
    return Sentences(tuple(features), seen_vectors, np.array(owners), np.array(labels), np.array(weights))


def matrix(given: Sentences, names: dict[str, int]) -> Matrix:
    """A row for each sentence: its vector, then zeros and ones; the last column is always one."""
    found = np.zeros((len(given.features), len(names) + 1))
    found[:, -1] = 1
    for row, own in enumerate(given.features):
        found[row, [names[name] for name in own if name in names]] = 1
    return np.hstack([given.vectors, found])


def fit(inputs: Matrix, labels: NDArray[np.int64], weights: Matrix) -> Matrix:
    """Weights of a multinomial regression, by L-BFGS."""
    found = np.zeros((inputs.shape[1], len(CLASSES)))
    truth = np.eye(len(CLASSES))[labels]

    def loss(guess: Matrix) -> tuple[float, Matrix]:
        shares = probabilities(inputs, guess)
        price = guess.copy()
        price[-1] = 0
        log = np.log(shares[np.arange(len(labels)), labels] + 1e-9)
        return (
            float(-(log * weights).sum() + PRICE / 2 * (price**2).sum()),
            inputs.T @ ((shares - truth) * weights[:, None]) + PRICE * price,
        )

    past: deque[tuple[Matrix, Matrix]] = deque(maxlen=8)
    value, slope = loss(found)
    for _ in range(STEPS):
        step = -_direction(slope.ravel(), past).reshape(found.shape)
        size = 1.0
        while True:
            guess = found + size * step
            new_value, new_slope = loss(guess)
            if new_value <= value + 1e-4 * size * float((slope * step).sum()) or size < SMALLEST:
                break
            size /= 2
        moved, turned = (guess - found).ravel(), (new_slope - slope).ravel()
        if moved @ turned > SMALLEST**2:
            past.append((moved, turned))
        settled = abs(value - new_value) < SETTLED * max(1.0, abs(value))
        found, value, slope = guess, new_value, new_slope
        if settled:
            break
    return found


def _direction(slope: Matrix, past: Sequence[tuple[Matrix, Matrix]]) -> Matrix:
    """The slope times an estimate of the inverse curvature."""
    result, shares = slope.copy(), []
    for moved, turned in reversed(past):
        share = (moved @ result) / (moved @ turned)
        shares.append(share)
        result -= share * turned
    if past:
        moved, turned = past[-1]
        result *= (moved @ turned) / (turned @ turned)
    else:
        result *= 1e-3
    for (moved, turned), share in zip(past, reversed(shares), strict=True):
        result += moved * (share - (turned @ result) / (moved @ turned))
    return result


def probabilities(inputs: Matrix, weights: Matrix) -> Matrix:
    scores = inputs @ weights
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
    return shares


def train(given: Sentences) -> tuple[dict[str, int], Matrix]:
    """Names of features with their column, and the weights."""
    counts = Counter(name for own in given.features for name in set(own))
    names = {name: at for at, name in enumerate(sorted(name for name, times in counts.items() if times >= LEAST))}
    inputs = matrix(given, names)
    of_message = Counter(given.owners.tolist())
    shares = np.array([1 / of_message[owner] for owner in given.owners.tolist()])
    weights = given.weights * np.where(given.labels > 0, shares, 1.0)
    found = fit(inputs, given.labels, weights)
    for _ in range(ROUNDS):
        meant = _meant(given, probabilities(inputs, found))
        found = fit(inputs, given.labels, given.weights * np.where((given.labels == 0) | meant, 1.0, 0.0))
    return names, found


def _meant(given: Sentences, shares: Matrix) -> NDArray[np.bool_]:
    """Of each message, the sentence that says most for its label."""
    best: dict[int, int] = {}
    for at, owner in enumerate(given.owners.tolist()):
        label = given.labels[at]
        if owner not in best or shares[at, label] > shares[best[owner], label]:
            best[owner] = at
    meant = np.zeros(len(given.owners), dtype=np.bool_)
    meant[list(best.values())] = True
    return meant


def judge(given: Sentences, names: dict[str, int], weights: Matrix) -> dict[int, tuple[float, str]]:
    """For each message how likely it tells of a moment, and which."""
    found: dict[int, tuple[float, str]] = {}
    shares = probabilities(matrix(given, names), weights)
    for owner, own in zip(given.owners.tolist(), shares, strict=True):
        if owner not in found or 1 - own[0] > found[owner][0]:
            found[owner] = (float(1 - own[0]), CLASSES[1 + int(own[1:].argmax())])
    return found


def left_out(rows: Sequence[Labelled], given: Sentences) -> dict[int, tuple[float, str]]:
    """What a model says of messages of talks that it was not trained on."""
    fold = [zlib.crc32(row.group.encode()) % FOLDS for row in rows]
    found: dict[int, tuple[float, str]] = {}
    for number in range(FOLDS):
        names, weights = train(given.of({at for at, one in enumerate(fold) if one != number}))
        found |= judge(given.of({at for at, one in enumerate(fold) if one == number}), names, weights)
    return found


def report(rows: Sequence[Labelled], found: dict[int, tuple[float, str]], source: str) -> str:
    counts = Counter[str]()
    for at, row in enumerate(rows):
        if row.source != source:
            continue
        probability, kind = found.get(at, (0.0, ""))
        hit = probability >= THRESHOLD
        counts["moments" if row.kind else "others"] += 1
        counts["found"] += bool(hit and row.kind)
        counts["right"] += bool(hit and row.kind == kind)
        counts["junk"] += bool(hit and not row.kind)
    moments, others = max(1, counts["moments"]), max(1, counts["others"])
    return (
        f"{source:10} moments {counts['moments']:4} found {counts['found'] / moments:.2f} "
        f"with the right kind {counts['right'] / moments:.2f}; precision "
        f"{counts['found'] / max(1, counts['found'] + counts['junk']):.2f}; junk {counts['junk']}/{others}"
    )


def write(names: dict[str, int], weights: Matrix) -> None:
    """The model as a file, and its hash in the module that reads it."""
    size = len(weights) - len(names) - 1  # of a vector
    whole = np.rint(weights[size:] * SCALE).astype(int)
    vector = np.rint(weights[:size] * VECTOR * SCALE).astype(int).tolist()
    kept = {name: whole[at].tolist() for name, at in names.items() if whole[at].any()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(kept.items()))
    head = f'"threshold": {THRESHOLD}, "classes": {json.dumps(CLASSES)}, "bias": {json.dumps(whole[-1].tolist())}'
    rows = f'"vector": {json.dumps(vector, separators=(",", ":"))}'
    MODEL.write_text(f'{{{head},\n{rows},\n"weights": {{\n{lines}\n}}}}\n', "utf-8")
    digest = hashlib.sha256(MODEL.read_bytes()).hexdigest()
    module = Path(moment_model.__file__)
    module.write_text(re.sub(r'SHA256 = "\w*"', f'SHA256 = "{digest}"', module.read_text("utf-8")), "utf-8")
    print(f"{MODEL.name}: {len(kept)} features, {MODEL.stat().st_size:,} bytes, sha256 {digest}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="where the data sets are")
    parser.add_argument("--talks", type=Path, default=TALKS, help="where the labelled talks are")
    parser.add_argument("--write", action="store_true", help="write the model")
    asked = parser.parse_args()
    single = [row for name in ("plain", "more", "told") for row in plain(name)]
    rows = [*talks(asked.talks), *single, *places(asked.data), *unmarked(asked.data)]
    given = read(rows)
    if asked.write:
        write(*train(given))
        return 0
    found = left_out(rows, given)
    for source in dict.fromkeys(row.source for row in rows):
        print(report(rows, found, source))
    return 0


if __name__ == "__main__":
    sys.exit(main())
