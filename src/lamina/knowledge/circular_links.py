"""Circular links: chains of what replaces what, or was made from what, must end. Finds those that do not."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from lamina.values.fact import Episode, Fact, Link
from lamina.values.summary import Summary

Steps = dict[str, list[str]]  # from an id to those it comes after
ORDERED = ("supersedes", "part_of", "derived_from")  # links of which a circle makes no sense
_VERBS: Mapping[str, str] = {  # for messages
    "replaces": "replaces",
    "verdict_by": "was merged into",
    "inputs": "was made from",
    "folded_into": "was folded into",
    "merged": "was merged from",
    **{kind: kind.replace("_", " ") for kind in ORDERED},
}
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "fact": ("replaces", "verdict_by"),
    "summary": ("inputs", "folded_into"),
    "episode": ("merged",),
}
_SHOWN = 3  # ids of a circle
_KINDS: Mapping[type, str] = {Fact: "fact", Summary: "summary", Episode: "episode"}


def steps_of(items: Iterable[Fact | Summary | Episode | Link]) -> dict[str, Steps]:
    """The steps from id to id that values tell, by the name of their chain."""
    chains: dict[str, Steps] = {}
    for item in items:
        if isinstance(item, Link):
            add(chains, _link_steps(item.type, item.source, item.target))
        else:
            add(chains, _steps(_KINDS[type(item)], item.id, partial(getattr, item)))
    return chains


def add_record(chains: dict[str, Steps], record: Mapping[str, Any]) -> None:
    """Add the steps that a record of an export tells; what is no id is left to others to refuse."""
    if record.get("type") == "link":
        add(chains, _link_steps(record.get("link_type"), record.get("source"), record.get("target")))
    else:
        add(chains, _steps(record.get("type"), record.get("id"), record.get))


def add(chains: dict[str, Steps], steps: Iterable[tuple[str, str, str]]) -> None:
    for name, item, other in steps:
        chains.setdefault(name, {}).setdefault(item, []).append(other)


def _steps(kind: Any, item: Any, get: Callable[[str], Any]) -> Iterator[tuple[str, str, str]]:
    for name in _FIELDS.get(kind, ()) if isinstance(kind, str) and isinstance(item, str) else ():
        value = get(name)
        for other in value if isinstance(value, list | tuple) else (value,):
            if isinstance(other, str):
                yield name, item, other


def _link_steps(kind: Any, source: Any, target: Any) -> Iterator[tuple[str, str, str]]:
    if kind in ORDERED and isinstance(source, str) and isinstance(target, str):
        yield kind, source, target


def circle(steps: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The ids of a circle in the order of its steps, if there is one."""
    ended: set[str] = set()  # from which every way comes to an end
    for start in steps:
        path: dict[str, None] = {}  # in order
        todo = [(start, False)]
        while todo:
            item, left = todo.pop()
            if left:
                ended.add(item)
                del path[item]
            elif item in path:
                ids = list(path)
                return ids[ids.index(item) :]
            elif item not in ended:
                path[item] = None
                todo.append((item, True))
                todo.extend((other, False) for other in steps.get(item, ()))
    return None


def describe(name: str, ids: list[str]) -> str:
    """A circle in words."""
    if len(ids) == 1:
        return f"{ids[0]!r:.80} {_VERBS[name]} itself"
    way = [*ids[:_SHOWN], *(["..."] if len(ids) > _SHOWN else []), ids[0]]
    return f"{f' {_VERBS[name]} '.join(f'{one!r:.80}' for one in way)}: a circle"


def circles(items: Iterable[Fact | Summary | Episode | Link]) -> Iterator[str]:
    """Each chain of these values that goes in a circle, in words."""
    for name, steps in steps_of(items).items():
        if found := circle(steps):
            yield describe(name, found)
