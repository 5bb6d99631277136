"""Vectors of an index: arrays that grow, vectors packed as they are stored, and which point the way a question does."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[np.float32]
Whole = NDArray[np.int32]
Flags = NDArray[np.bool_]

EXACT = 20_000  # rows that are all compared; of more, only those whose signs are most alike
_ROUGH = 2_000  # how many those are
_PAGE = 4_096  # rows that are written at once
_LEVELS = 127
_MIN_ROWS = 64
_MAX_SPARE = 16_384  # rows of room to grow


class Growing:
    """Rows of one kind that are added at the end, mostly without copying those before."""

    def __init__(self, kind: Any, *shape: int) -> None:
        self._rows = np.zeros((_MIN_ROWS, *shape), dtype=kind)
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
            room = max(needed, len(self._rows) + min(len(self._rows) // 2, _MAX_SPARE))
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


def pack(vectors: Any) -> list[bytes]:
    """Each vector as bytes: its scale, then one signed byte for each dimension."""
    rows = unit(vectors)
    scales = (np.abs(rows).max(axis=1, initial=0.0) / _LEVELS).astype(np.float32)
    safe = np.where(scales > 0, scales, 1.0)[:, None]
    levels = np.rint(rows / safe).astype(np.int8)
    return [scale.tobytes() + row.tobytes() for scale, row in zip(scales, levels, strict=True)]


def unpack(packed: list[bytes], dimensions: int) -> Floats:
    """Vectors of length 1 from bytes."""
    return unit(levels_of(packed, dimensions).astype(np.float32))


def levels_of(packed: list[bytes], dimensions: int) -> NDArray[np.int8]:
    """The signed bytes of packed vectors, one row each; what has another size counts as nothing."""
    size = 4 + dimensions
    whole = b"".join(row if len(row) == size else bytes(size) for row in packed)
    return np.frombuffer(whole, dtype=np.int8).reshape(len(packed), size)[:, 4:]


def signs_of(vectors: NDArray[Any]) -> Any:
    """The signs of vectors, 64 to a number."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, spare)))).view(np.uint64)


@cache
def _blas() -> Any:
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Inside, numpy's linear algebra uses one thread: on a busy machine two make small sums many times slower."""
    limited: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limited


class Vectors:
    """Rows of length 1, or of nothing. Of many rows one signed byte is kept for each dimension, and all signs."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._rows = Growing(np.float32, dimensions)  # while there are few
        self._levels: Growing | None = None  # when there are many
        self._lengths = Growing(np.float32)  # of those
        self._signs = Growing(np.uint64, -(-dimensions // 64))  # 64 to a number

    def __len__(self) -> int:
        return len(self._rows) if self._levels is None else len(self._levels)

    @property
    def nbytes(self) -> int:
        arrays = (self._rows, self._levels, self._lengths, self._signs)
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def rough(self) -> bool:
        """Whether there are so many that `cosines` leaves some out."""
        return len(self) > EXACT

    def add(self, many: int) -> None:
        """So many rows of nothing."""
        if self._levels is None and len(self) + many <= EXACT:
            self._rows.add(np.zeros((many, self.dimensions), dtype=np.float32))
        else:
            self._grow(self._pack(), many)

    def put(self, rows: Sequence[int], packed: list[bytes]) -> None:
        """Give rows their vectors, packed as they are stored."""
        if self._levels is None:
            self._rows.all[rows] = unpack(packed, self.dimensions)
        else:
            self._write(self._levels, rows, packed)

    def of(self, rows: Any) -> Floats:
        """The vectors of some rows."""
        if self._levels is None:
            return np.asarray(self._rows.all[rows])
        return np.asarray(self._levels.all[rows] / np.maximum(self._lengths.all[rows, None], np.float32(1)))

    def cosines(self, vector: Floats, allowed: Flags) -> Floats:
        """How alike each row is; of very many rows, those whose signs are least alike count as not at all."""
        if not self.rough:
            return np.asarray(self.of(slice(None)) @ vector)
        self._pack()
        found = np.zeros(len(self), dtype=np.float32)
        differing = np.bitwise_count(self._signs.all ^ signs_of(vector[None])[0]).sum(axis=1, dtype=np.int32)
        differing[~allowed] = self.dimensions
        best = np.argpartition(differing, _ROUGH)[:_ROUGH]
        found[best] = self.of(best) @ vector
        return found

    def _pack(self) -> Growing:
        """The rows with a byte for each dimension: from now on, if they were not."""
        if self._levels is None:
            rows, self._rows = self._rows.all, Growing(np.float32, self.dimensions)
            self._levels = Growing(np.int8, self.dimensions)
            self._grow(self._levels, len(rows))
            self._write(self._levels, range(len(rows)), pack(rows))
        return self._levels

    def _grow(self, levels: Growing, many: int) -> None:
        for array in (levels, self._lengths, self._signs):
            array.add(np.zeros((many, *array.all.shape[1:]), dtype=array.all.dtype))

    def _write(self, levels: Growing, rows: Sequence[int], packed: list[bytes]) -> None:
        for first in range(0, len(rows), _PAGE):
            place, found = rows[first : first + _PAGE], levels_of(packed[first : first + _PAGE], self.dimensions)
            levels.all[place] = found
            self._lengths.all[place] = np.linalg.norm(found.astype(np.float32), axis=1)
            self._signs.all[place] = signs_of(found)
