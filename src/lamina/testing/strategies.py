"""Hostile input as strategies for Hypothesis, which has to be installed."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hypothesis import strategies as st

from lamina.testing.hostile import TEXTS, VALUES

T = TypeVar("T")


def any_text() -> st.SearchStrategy[str]:
    """A text of the list, several in a row, or any characters at all, also such as are no valid Unicode."""
    known = _one_of(TEXTS)
    characters = st.characters(codec=None, exclude_categories=())
    return st.one_of(known, st.lists(known, max_size=3).map(" ".join), st.text(characters, max_size=200))


def any_value() -> st.SearchStrategy[Any]:
    """A JSON value: one of the list, or lists and objects of them."""
    leaves = st.one_of(_one_of(VALUES), any_text(), st.integers(), st.floats())
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text(), inner, max_size=4), max_leaves=8
    )


def _one_of(known: Mapping[str, T]) -> st.SearchStrategy[T]:
    """By its name, which is what Hypothesis shows: the thing itself may be very long."""
    return st.sampled_from(list(known)).map(lambda name: known[name])
