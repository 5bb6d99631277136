"""Phrases that tell of moments that mattered, read once from the `episode_cues_*.toml` beside this module."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lamina.language.words import fold
from lamina.values.fact import EPISODE_KINDS, EpisodeKind

_LIFTS = {"strong": 0.12, "plain": 0.0, "minor": -0.1, "assistant": -0.12}


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase that tells of a kind of moment, and how much that weighs."""

    kind: EpisodeKind
    role: str
    weight: float
    personal: bool  # it begins with who did it
    phrase: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The cues of one language."""

    cues: Mapping[str, tuple[Cue, ...]]  # by a word that must be there
    tones: Mapping[EpisodeKind, float]  # valence of a kind by itself
    lists: Mapping[str, re.Pattern[str]]
    openers: frozenset[str]  # words that only lead to a clause
    conjunctions: frozenset[str]  # begin a clause
    background: frozenset[str]  # conjunctions of clauses that tell what is known already
    subjects: frozenset[str]  # begin a clause after "and"
    objects: frozenset[str]  # last words of cues that are followed by what was decided
    good: frozenset[str]
    bad: frozenset[str]
    negations: frozenset[str]


@cache
def languages() -> tuple[Language, ...]:
    """All languages that there is a file for, by its name."""
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".toml")]
    return tuple(
        _language(tomllib.loads(file.read_text("utf-8"))) for file in sorted(files, key=lambda file: file.name)
    )


def _language(data: Mapping[str, Any]) -> Language:
    lists = {name: _phrases(text) for name, text in data["words"].items()}
    lists[_NEGATION] = _phrases(data["valence"]["negations"])
    kinds = [kind for kind in EPISODE_KINDS if kind in data["kinds"]]
    sets = {name: frozenset(_phrases(data[table][key])) for name, (table, key) in _SETS.items()}
    return Language(
        cues=_index(_cues(kind, data["kinds"][kind], lists) for kind in kinds),
        tones={kind: float(data["kinds"][kind]["valence"]) for kind in kinds},
        lists={name: _any(_phrases(data[table][key]), lists) for name, (table, key) in _LISTS.items()},
        **sets,
    )


# Table and key of the file.
_LISTS = {
    "before": ("vetoes", "before"), "mentions": ("vetoes", "mentions"), "after": ("vetoes", "after"),
    "asks": ("asks", "words"), "reason": ("reasons", "inside"), "leads": ("reasons", "leads"),
    "important": ("important", "words"),
}  # fmt: skip
_SETS = {
    "openers": ("opener", "words"), "objects": ("outcome", "words"), "conjunctions": ("conjunctions", "words"),
    "background": ("conjunctions", "background"), "subjects": ("conjunctions", "subjects"),
    "good": ("valence", "good"), "bad": ("valence", "bad"), "negations": ("valence", "negations"),
}  # fmt: skip


def _phrases(text: str) -> list[str]:
    return [" ".join(fold(part).split()) for part in re.split(r"[,\n]", text) if part.strip()]


Lists = Mapping[str, Sequence[str]]


def _cues(kind: EpisodeKind, table: Mapping[str, Any], lists: Lists) -> Iterator[tuple[frozenset[str], Cue]]:
    for name, lift in _LIFTS.items():
        role = "assistant" if name == "assistant" else "user"
        for phrase in _phrases(table.get(name, "")):
            pattern = re.compile(_expression(phrase, lists))
            yield (
                _trigger_words(phrase, lists),
                Cue(kind, role, float(table["weight"]) + lift, phrase.startswith("{we}"), pattern),
            )


def _index(groups: Iterable[Iterator[tuple[frozenset[str], Cue]]]) -> Mapping[str, tuple[Cue, ...]]:
    index: dict[str, list[Cue]] = {}
    for group in groups:
        for needed, cue in group:
            for word in sorted(needed):
                index.setdefault(word, []).append(cue)
    return {word: tuple(cues) for word, cues in index.items()}


def _any(phrases: Iterable[str], lists: Lists) -> re.Pattern[str]:
    return re.compile("|".join(_expression(phrase, lists) for phrase in phrases))


def _expression(phrase: str, lists: Lists) -> str:
    """A phrase as an expression for a line of words, each with a space behind it; a sentence begins with two."""
    parts = phrase.split()
    expression = "" if parts[0].startswith("^") else "(?<= )"
    negations = "|".join(map(re.escape, lists[_NEGATION]))
    for part in parts:
        if part in _SPECIAL:
            expression += _SPECIAL[part].replace("NEGATIONS", negations)
        else:
            choices = "|".join(re.escape(choice) for choice in _choices(part, lists))
            expression += f"(?:(?:{choices}) )" + ("?" if part.endswith("?") else "")
    return expression


_SPECIAL = {"^^": r"\A  ", "^": r"\A  ?", "$": r"\Z", "..": r"(?:(?!(?:NEGATIONS) )[^ ]+ ){0,4}?"}
_NEGATION = ".."  # the list of what a gap must not have


def _choices(part: str, lists: Lists) -> list[str]:
    found: list[str] = []
    for choice in part.removesuffix("?").split("|"):
        found.extend(lists[choice[1:-1]] if choice.startswith("{") else [choice])
    return found


def _trigger_words(phrase: str, lists: Lists) -> frozenset[str]:
    """The words of a phrase's most telling part: a clause without one of them need not be searched."""
    must = [part for part in phrase.split() if part not in _SPECIAL and not part.endswith("?")]
    telling = max(must, key=lambda part: (not part.startswith("{"), len(part.split("|")[0])))
    return frozenset(choice.split()[0] for choice in _choices(telling, lists))
