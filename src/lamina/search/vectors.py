"""A vector for each row of a catalogue, and which of them point the way a question does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.search.arrays import Flags, Floats, Growing, levels_of, packed, signs_of, unpacked

EXACT = 20_000  # rows that are all compared; of more, only those whose signs are most alike
_ROUGH = 2_000  # how many those are
_PAGE = 4_096  # rows that are written at once


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
        kept = (self._rows, self._levels, self._lengths, self._signs)
        return sum(array.nbytes for array in kept if array is not None)

    def add(self, many: int) -> None:
        """So many rows of nothing."""
        if self._levels is None and len(self) + many <= EXACT:
            self._rows.add(np.zeros((many, self.dimensions), dtype=np.float32))
        else:
            self._grow(self._packed(), many)

    def put(self, rows: Sequence[int], kept: list[bytes]) -> None:
        """Give rows their vectors, packed as they are stored."""
        if self._levels is None:
            self._rows.all[rows] = unpacked(kept, self.dimensions)
        else:
            self._write(self._levels, rows, kept)

    @property
    def rough(self) -> bool:
        """Whether there are so many that `cosines` leaves some out."""
        return len(self) > EXACT

    def of(self, rows: Any) -> Floats:
        """The vectors of some rows."""
        if self._levels is None:
            return np.asarray(self._rows.all[rows])
        return np.asarray(self._levels.all[rows] / np.maximum(self._lengths.all[rows, None], np.float32(1)))

    def cosines(self, vector: Floats, allowed: Flags) -> Floats:
        """How alike each row is; of very many rows, those whose signs are least alike count as not at all."""
        if not self.rough:
            return np.asarray(self.of(slice(None)) @ vector)
        self._packed()
        found = np.zeros(len(self), dtype=np.float32)
        differing = np.bitwise_count(self._signs.all ^ signs_of(vector[None])[0]).sum(axis=1, dtype=np.int32)
        differing[~allowed] = self.dimensions
        best = np.argpartition(differing, _ROUGH)[:_ROUGH]
        found[best] = self.of(best) @ vector
        return found

    def _packed(self) -> Growing:
        """The rows with a byte for each dimension: from now on, if they were not."""
        if self._levels is None:
            rows, self._rows = self._rows.all, Growing(np.float32, self.dimensions)
            self._levels = Growing(np.int8, self.dimensions)
            self._grow(self._levels, len(rows))
            self._write(self._levels, range(len(rows)), packed(rows))
        return self._levels

    def _grow(self, levels: Growing, many: int) -> None:
        for array in (levels, self._lengths, self._signs):
            array.add(np.zeros((many, *array.all.shape[1:]), dtype=array.all.dtype))

    def _write(self, levels: Growing, rows: Sequence[int], kept: list[bytes]) -> None:
        for first in range(0, len(rows), _PAGE):
            place, found = rows[first : first + _PAGE], levels_of(kept[first : first + _PAGE], self.dimensions)
            levels.all[place] = found
            self._lengths.all[place] = np.linalg.norm(found.astype(np.float32), axis=1)
            self._signs.all[place] = signs_of(found)
