"""How alike vectors are, computed as PostgreSQL's `<=>` does on the same numbers, so that all stores order alike."""

from collections.abc import Sequence

import numpy as np

_HEAD = 4  # bytes before the numbers of a packed vector: its scale, which no angle depends on


def distances(vector: bytes, kept: Sequence[bytes]) -> list[float | None]:
    """The cosine distance of each; None where there is nothing to compare. Packed numbers add up without rounding."""
    if len(vector) <= _HEAD:
        return [None] * len(kept)
    wanted = np.frombuffer(vector, dtype=np.int8, offset=_HEAD).astype(np.int64)
    own = float(wanted @ wanted)
    fit = [len(one) == len(vector) for one in kept]
    whole = b"".join(one for one, fits in zip(kept, fit, strict=True) if fits)
    table = np.frombuffer(whole, dtype=np.int8).reshape(-1, len(vector))[:, _HEAD:].astype(np.float64)
    lengths = np.einsum("ij,ij->i", table, table)
    alike = table @ wanted.astype(np.float64)
    found = iter(
        None if not length or not own else 1.0 - max(-1.0, min(1.0, dot / np.sqrt(own * length)))
        for dot, length in zip(alike.tolist(), lengths.tolist(), strict=True)
    )
    return [next(found) if fits else None for fits in fit]
