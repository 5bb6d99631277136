"""The words that tell what a sentence is about, read once from the data file beside this module."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from lamina.language.words import stem
from lamina.models.offline.word_overlap import folded

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]  # first word -> (words, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Cues with their weights, phrases by their first word, and words that carry little."""

    weights: Mapping[str, float]
    lasting: frozenset[str]
    cues: Phrases
    deferrals: Phrases
    acceptances: Phrases
    openers: Phrases
    asking: frozenset[str]
    stop: frozenset[str]
    common: frozenset[str]  # stems
    headings: Mapping[str, tuple[str, ...]]  # stem of a heading's word -> cues


@cache
def lexicon() -> Lexicon:
    source = resources.files("lamina.models.offline").joinpath("cues_en.toml").read_text("utf-8")
    data = tomllib.loads(source)
    cues = data["cues"]
    phrases = {name: _listed(text) for name, text in data["phrases"].items()}
    return Lexicon(
        weights={name: float(cue["weight"]) for name, cue in cues.items()},
        lasting=frozenset(data["lasting"]),
        cues=_indexed((name, _listed(cue["words"])) for name, cue in cues.items()),
        deferrals=_indexed([("deferral", phrases["deferral"])]),
        acceptances=_indexed([("acceptance", phrases["acceptance"])]),
        openers=_indexed([("opener", phrases["opener"])]),
        asking=frozenset(phrases["asking"]),
        stop=frozenset(data["stop"].split()),
        common=frozenset(stem(word) for word in data["common"].split()),
        headings={stem(word): tuple(names) for word, names in data["headings"].items()},
    )


def _listed(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split(",") if part.strip()]


def _indexed(groups: Iterable[tuple[str, Iterable[str]]]) -> Phrases:
    index: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for label, listed in groups:
        for phrase in listed:
            parts = tuple(folded(part) for part in phrase.split())
            index.setdefault(parts[0], []).append((parts, label))
    return {first: tuple(entries) for first, entries in index.items()}


def labels(tokens: Sequence[str], phrases: Phrases) -> tuple[str, ...]:
    """The labels of all phrases among the folded words, each once, in order of appearance."""
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        for parts, label in phrases.get(token, ()):
            if label not in found and (len(parts) == 1 or tuple(tokens[at : at + len(parts)]) == parts):
                found[label] = None
    return tuple(found)


def leads(tokens: Sequence[str], phrases: Phrases) -> int:
    """How many words the longest of the phrases takes at the very beginning."""
    if not tokens:
        return 0
    return max(
        (len(parts) for parts, _ in phrases.get(tokens[0], ()) if tuple(tokens[: len(parts)]) == parts), default=0
    )
