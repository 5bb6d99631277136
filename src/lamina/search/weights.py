"""The weights of document 001: meaning, words, recency, importance, use."""

from collections.abc import Mapping
from typing import Any

from lamina.errors import InputError

MIXED = ("semantic", "keyword", "recency", "importance", "access")


def checked_weights(given: Any) -> dict[str, float]:
    """Weights that sum to 1, from some that are given; those not named count nothing."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"weights must name some of {list(MIXED)}, e.g. {{'semantic': 0.7, 'keyword': 0.3}}")
    if unknown := sorted(set(map(str, given)) - set(MIXED)):
        raise InputError(f"no weight {unknown[0]!r}; there are {list(MIXED)}")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise InputError(f"weight {name!r} must be a number of at least 0, not {value!r}")
    total = float(sum(given.values()))
    if not total:
        raise InputError("at least one weight must be above 0")
    return {name: float(given.get(name, 0.0)) / total for name in MIXED}
