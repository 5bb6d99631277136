"""The seam between the engine and a store: plain data in, plain data out."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from lamina.protocols import store as seam

VERBS = {name: verb for name, verb in inspect.getmembers(seam.Store, inspect.isfunction) if not name.startswith("_")}
ROLES = [role for role in seam.Store.__mro__ if role.__module__ == seam.__name__ and role is not seam.Store]
MAX_VERBS = 68  # a store of one's own has to offer them all, so this may only fall


def parts(kind: Any) -> set[Any]:
    """Every type that a type is made of, with the fields of values."""
    found: set[Any] = set()

    def take(one: Any) -> None:
        if one in found or isinstance(one, list | str):
            return
        found.add(one)
        for part in get_args(one):
            take(part)
        if inspect.isclass(one) and (is_dataclass(one) or issubclass(one, tuple)):
            hints = get_type_hints(one)
            names = [field.name for field in fields(one)] if is_dataclass(one) else getattr(one, "_fields", ())
            for name in names:
                take(hints[name])

    take(kind)
    return found


def test_each_verb_has_one_role():
    """And the store has no verbs but those of its roles."""
    verbs = [name for role in ROLES for name in vars(role) if name in VERBS]
    assert sorted(verbs) == sorted(VERBS)
    assert len(VERBS) <= MAX_VERBS


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
def test_a_verb_takes_and_gives_plain_data(verb):
    """No closure goes in or comes out, at any depth, so that a store could be behind a wire."""
    for kind in get_type_hints(verb).values():
        assert Callable not in {get_origin(part) or part for part in parts(kind)}
