"""Arrays that grow, and vectors as they are kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Whole = NDArray[np.int32]
Flags = NDArray[np.bool_]

_LEVELS = 127
_LEAST = 64
_SPARE = 16_384  # rows of room to grow, at the most


class Growing:
    """Rows of one kind that are added at the end, mostly without copying those before."""

    def __init__(self, kind: Any, *shape: int) -> None:
        self._rows = np.zeros((_LEAST, *shape), dtype=kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def all(self) -> NDArray[Any]:
        """The rows, as one array that may be written to; good until the next are added."""
        return self._rows[: self._size]

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def add(self, rows: Any) -> None:
        """Add rows at the end."""
        rows = np.asarray(rows, dtype=self._rows.dtype)
        needed = self._size + len(rows)
        if needed > len(self._rows):
            room = max(needed, len(self._rows) + min(len(self._rows) // 2, _SPARE))
            roomy = np.zeros((room, *self._rows.shape[1:]), dtype=self._rows.dtype)
            roomy[: self._size] = self.all
            self._rows = roomy
        self._rows[self._size : needed] = rows
        self._size = needed


def unit(vectors: Any) -> Floats:
    """Vectors of length 1; one of nothing stays nothing."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    found: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return found


def good_vectors(vectors: Sequence[Sequence[float]], dimensions: int) -> bool:
    """Whether each has so many numbers, all of them finite."""
    return all(len(vector) == dimensions for vector in vectors) and bool(np.isfinite(np.asarray(vectors)).all())


def packed(vectors: Any) -> list[bytes]:
    """Each vector as bytes: its scale, then one signed byte for each dimension."""
    rows = unit(vectors)
    scales = (np.abs(rows).max(axis=1, initial=0.0) / _LEVELS).astype(np.float32)
    safe = np.where(scales > 0, scales, 1.0)[:, None]
    levels = np.rint(rows / safe).astype(np.int8)
    return [scale.tobytes() + row.tobytes() for scale, row in zip(scales, levels, strict=True)]


def unpacked(kept: list[bytes], dimensions: int) -> Floats:
    """Vectors of length 1 from bytes."""
    return unit(levels_of(kept, dimensions).astype(np.float32))


def levels_of(kept: list[bytes], dimensions: int) -> NDArray[np.int8]:
    """The signed bytes of packed vectors, one row each; what has another size counts as nothing."""
    size = 4 + dimensions
    whole = b"".join(row if len(row) == size else bytes(size) for row in kept)
    return np.frombuffer(whole, dtype=np.int8).reshape(len(kept), size)[:, 4:]


def signs_of(vectors: NDArray[Any]) -> Any:
    """The signs of vectors, 64 to a number."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, spare)))).view(np.uint64)


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """The places start, start + 1, … of each stretch, one stretch after the other."""
    total = int(lengths.sum())
    if not total:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(lengths)
    places: NDArray[np.int64] = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return places
