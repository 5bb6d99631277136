"""Reads the small pattern language of the grammar files and compiles it to regular expressions.

`word`, `(one|another way)`, `[may be left out]`, `<class of words>`, `{slot}` or `{label:slot}`, `*` for any
characters of a word, `#` for a word with a digit, `#th` for a number with that ending, `^` for the beginning and
`$` for the end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from lamina.errors import ConfigError

_PIECE = re.compile(r"[()\[\]|]|\{[^}]*\}|<[^>]*>|[^\s()\[\]|{}<>]+")
GAP = "gap"  # a slot for whatever stands there
_MAX_WORDS = 14  # of a slot that is not the last


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern: its regular expression and the words it may begin with, None where that is open."""

    regex: str
    heads: frozenset[str] | None
    required: bool = True
    slot: tuple[str, str] | None = None
    inner: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A compiled pattern; a text that it matches has a word of each set in `needed`."""

    source: str
    regex: re.Pattern[str]
    slots: Mapping[str, str]  # label -> kind
    needed: tuple[frozenset[str], ...]
    always: tuple[str, ...] = ()  # kinds of the slots that cannot be left out


def compile_pattern(source: str, classes: Mapping[str, str], *, anywhere: bool = False) -> Pattern:
    """The pattern written in `source`; `classes` are the named groups of words it may use."""
    pieces = _PIECE.findall(source)
    nodes, rest = _sequence(pieces, 0, source, classes)
    if rest != len(pieces):
        raise ConfigError([f"grammar pattern {source!r}: a bracket is closed that was not opened"])
    slots = dict(node.slot for node in _walk(nodes) if node.slot)
    regex = "".join(node.regex for node in nodes)
    if nodes[-1].slot and not nodes[-1].inner:
        regex = "".join(node.regex for node in nodes[:-1]) + f"(?P<{nodes[-1].slot[0]}>.+)"
    start = r"(?<!\S)" if anywhere else ""
    needed = tuple(node.heads for node in nodes if node.required and node.heads)
    always = tuple(node.slot[1] for node in nodes if node.slot)
    return Pattern(source=source, regex=re.compile(start + regex), slots=slots, needed=needed, always=always)


def _walk(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        yield from _walk(node.inner)


def _sequence(pieces: Sequence[str], at: int, source: str, classes: Mapping[str, str]) -> tuple[list[Node], int]:
    nodes: list[Node] = []
    while at < len(pieces) and pieces[at] not in {")", "]", "|"}:
        piece = pieces[at]
        if piece in {"(", "["}:
            node, at = _group(pieces, at, source, classes)
        else:
            node = _single(piece, source, classes)
            at += 1
        nodes.append(node)
    return nodes, at


def _group(pieces: Sequence[str], at: int, source: str, classes: Mapping[str, str]) -> tuple[Node, int]:
    closing = ")" if pieces[at] == "(" else "]"
    ways: list[list[Node]] = []
    while True:
        way, at = _sequence(pieces, at + 1, source, classes)
        ways.append(way)
        if at >= len(pieces):
            raise ConfigError([f"grammar pattern {source!r}: {closing!r} is missing"])
        if pieces[at] == closing:
            break
    regex = "(?:" + "|".join("".join(node.regex for node in way) for way in ways) + ")"
    heads = _heads(ways)
    inner = tuple(node for way in ways for node in way)
    if closing == "]":
        return Node(regex + "?", heads, required=False, inner=inner), at + 1
    return Node(regex, heads, inner=inner), at + 1


def _heads(ways: Sequence[Sequence[Node]]) -> frozenset[str] | None:
    heads: set[str] = set()
    for way in ways:
        first = next((node for node in way if node.required), None)
        if first is None or first.heads is None:
            return None
        heads |= first.heads
    return frozenset(heads)


_FIXED = {"$": (r"\Z", False), "^": (r"(?<!.)", False), "#": (r"\S*\d\S* ", True)}


def _single(piece: str, source: str, classes: Mapping[str, str]) -> Node:
    if piece in _FIXED:
        regex, required = _FIXED[piece]
        return Node(regex, None, required=required)
    if piece.startswith("{"):
        label, _, kind = piece[1:-1].partition(":")
        words = rf"(?:\S+ ){{1,{_MAX_WORDS}}}?"
        return (
            Node(words, None)
            if GAP in {label, kind}
            else Node(f"(?P<{label}>{words})", None, slot=(label, kind or label))
        )
    if piece.startswith("<"):
        if piece[1:-1] not in classes:
            raise ConfigError([f"grammar pattern {source!r}: no class {piece}; there are {sorted(classes)}"])
        return Node(*_word_class(classes[piece[1:-1]]))
    regex = re.escape(piece).replace(r"\*", r"\S*").replace(r"\#", r"\d+") + " "
    return Node(regex, None if "*" in piece or "#" in piece else frozenset((piece,)))


@lru_cache(maxsize=1_024)
def _word_class(listed: str) -> tuple[str, frozenset[str]]:
    phrases = sorted((" ".join(part.split()) for part in listed.split(",") if part.strip()), key=len, reverse=True)
    regex = "(?:" + "|".join(re.escape(phrase) + " " for phrase in phrases) + ")"
    return regex, frozenset(phrase.split()[0] for phrase in phrases)


T = TypeVar("T")


class Index(Generic[T]):
    """Finds, for the words of a clause, the few patterns that may match, in their order."""

    def __init__(self, entries: Sequence[tuple[Pattern, T]]) -> None:
        often = Counter(word for pattern, _ in entries for heads in pattern.needed for word in heads)
        self.entries = tuple(entries)
        self._open: list[int] = []
        self._by_word: dict[str, list[int]] = {}
        for place, (pattern, _) in enumerate(entries):
            heads = min(pattern.needed, key=lambda heads: max(often[word] for word in heads), default=None)
            for word in heads or ():
                self._by_word.setdefault(word, []).append(place)
            if heads is None:
                self._open.append(place)

    def likely(self, words: frozenset[str]) -> list[tuple[Pattern, T]]:
        places = set(self._open)
        for word in self._by_word.keys() & words:
            places.update(self._by_word[word])
        return [self.entries[place] for place in sorted(places)]
