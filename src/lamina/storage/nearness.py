"""How alike vectors are, computed as PostgreSQL's `<=>` does on the same numbers, so that all stores order alike."""

from collections.abc import Sequence

import numpy as np

from lamina.search.vectors import levels_of

_HEAD = 4  # bytes before the numbers of a packed vector: its scale, which no angle depends on


def nearest(vector: bytes, kept: Sequence[tuple[str, bytes]], limit: int) -> list[tuple[float, str]]:
    """The cosine distances and ids of the nearest, best first; what has no direction, or another size, is not there.

    Packed numbers are small whole ones: their products add up in float32 without rounding.
    """
    if len(vector) <= _HEAD or not kept:
        return []
    dimensions = len(vector) - _HEAD
    wanted = levels_of([vector], dimensions)[0].astype(np.float32)
    table = levels_of([one for _, one in kept], dimensions).astype(np.float32)
    lengths = np.einsum("ij,ij->i", table, table).astype(np.float64) * float(wanted @ wanted)
    alike = np.divide(table @ wanted, np.sqrt(lengths), out=np.full(len(kept), -np.inf), where=lengths > 0)
    apart = 1.0 - np.clip(alike, -1.0, 1.0)
    apart[lengths <= 0] = np.inf
    edge = np.partition(apart, limit - 1)[limit - 1] if 0 < limit < len(apart) else np.inf
    chosen = np.flatnonzero((apart <= edge) & np.isfinite(apart)).tolist()
    return sorted((float(apart[place]), kept[place][0]) for place in chosen)[: max(limit, 0)]
